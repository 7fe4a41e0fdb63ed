// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <optional>

#include "settings/quantity.h"
#include "study/papers/judge.h"

namespace heddle {
namespace {

// A number and the kind of its unit.
struct AxisNumber {
  double value = 0;
  char unit = ' ';
};

std::optional<AxisNumber> NumberIn(const std::string& label) {
  // A label with several settings yields no number: the text behind the last "=" counts only alone.
  const size_t equals = label.find_last_of('=');
  const std::string text = equals == std::string::npos ? label : label.substr(equals + 1);
  double number = 0;
  Duration duration;
  BitRate rate;
  Bytes bytes;
  if (!ParseQuantity(text, number)) return AxisNumber{number, ' '};
  if (!ParseQuantity(text, duration)) return AxisNumber{static_cast<double>(duration.ps), 's'};
  if (!ParseQuantity(text, rate)) return AxisNumber{static_cast<double>(rate.bps), 'b'};
  if (!ParseQuantity(text, bytes)) return AxisNumber{static_cast<double>(bytes.count), 'B'};
  return std::nullopt;
}

}  // namespace

std::vector<double> AxisNumbers(const std::vector<std::string>& labels, bool& are_ranks) {
  std::vector<double> numbers;
  std::vector<double> ranks;
  std::optional<char> unit;
  are_ranks = false;
  for (const std::string& label : labels) {
    ranks.push_back(static_cast<double>(ranks.size() + 1));
    // An empty list, as of slow paths, counts as 0 in the unit of the others.
    if (label.empty()) {
      numbers.push_back(0);
      continue;
    }
    const auto number = NumberIn(label);
    are_ranks |= !number || (unit && *unit != number->unit);
    if (!number) continue;
    unit = number->unit;
    numbers.push_back(number->value);
  }
  return are_ranks ? ranks : numbers;
}

}  // namespace heddle
