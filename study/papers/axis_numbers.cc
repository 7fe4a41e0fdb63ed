// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "settings/quantity.h"
#include "study/papers/judge.h"

namespace heddle {
namespace {

// A number and the kind of its unit.
struct AxisNumber {
  double value = 0;
  char unit = ' ';
  std::string before;  // The label up to the number: "pdlb.granularity=".
};

std::optional<AxisNumber> NumberIn(const std::string& label) {
  const size_t start = label.find_last_of('=') + 1;  // 0 if there is none.
  const std::string before = label.substr(0, start);
  const std::string text = label.substr(start);
  double number = 0;
  Duration duration;
  BitRate rate;
  Bytes bytes;
  if (!ParseQuantity(text, number)) return AxisNumber{number, ' ', before};
  if (!ParseQuantity(text, duration))
    return AxisNumber{static_cast<double>(duration.ps), 's', before};
  if (!ParseQuantity(text, rate)) return AxisNumber{static_cast<double>(rate.bps), 'b', before};
  if (!ParseQuantity(text, bytes)) return AxisNumber{static_cast<double>(bytes.count), 'B', before};
  return std::nullopt;
}

bool AreAlike(const AxisNumber& a, const AxisNumber& b) {
  return a.unit == b.unit && a.before == b.before;
}

}  // namespace

std::vector<double> AxisNumbers(const std::vector<std::string>& labels, bool& are_ranks) {
  std::vector<double> numbers;
  std::vector<double> ranks;
  std::optional<AxisNumber> first;
  are_ranks = false;
  for (const std::string& label : labels) {
    ranks.push_back(static_cast<double>(ranks.size() + 1));
    // An empty list, as of slow paths, counts as 0 in the unit of the others.
    if (label.empty()) {
      numbers.push_back(0);
      continue;
    }
    const auto number = NumberIn(label);
    // Numbers compare only in one unit, and only if no other setting of the labels moves.
    are_ranks |= !number || (first && !AreAlike(*first, *number));
    if (!number) continue;
    if (!first) first = number;
    numbers.push_back(number->value);
  }
  return are_ranks ? ranks : numbers;
}

}  // namespace heddle
