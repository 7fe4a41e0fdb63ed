// SPDX-License-Identifier: Apache-2.0

#include "study/sweep/selection.h"

#include <absl/strings/str_split.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "core/random.h"
#include "settings/number_text.h"

namespace heddle {
namespace {

// Reads "7-9" or "3".
std::optional<std::pair<size_t, size_t>> ReadSpan(std::string_view text) {
  const size_t dash = text.find('-');
  const auto first = NumberFrom<size_t>(text.substr(0, dash));
  const auto last =
      dash == std::string_view::npos ? first : NumberFrom<size_t>(text.substr(dash + 1));
  if (!first || !last) return std::nullopt;
  return std::pair(*first, *last);
}

}  // namespace

absl::StatusOr<std::vector<size_t>> ParseNumbers(std::string_view text, size_t count) {
  std::set<size_t> points;
  const std::vector<std::string> words = absl::StrSplit(std::string(text), ',');
  for (const std::string& word : words) {
    const auto span = ReadSpan(word);
    if (!span || span->first < 1 || span->second < span->first || span->second > count) {
      return absl::InvalidArgumentError(fmt::format(
          "\"{}\" names no points; expected numbers from 1 to {}, such as 3,7-9", word, count));
    }
    for (size_t number = span->first; number <= span->second; ++number) points.insert(number - 1);
  }
  return std::vector<size_t>(points.begin(), points.end());
}

std::string NumbersText(const std::vector<size_t>& points) {
  std::string text;
  for (size_t i = 0; i < points.size();) {
    size_t end = i + 1;
    while (end < points.size() && points[end] == points[end - 1] + 1) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ",", points[i] + 1);
    if (end > i + 1) text += fmt::format("-{}", points[end - 1] + 1);
    i = end;
  }
  return text;
}

absl::StatusOr<std::vector<size_t>> ParseShard(std::string_view text, size_t count) {
  const size_t slash = text.find('/');
  const auto shard = NumberFrom<size_t>(text.substr(0, slash));
  const size_t shards =
      slash == std::string_view::npos ? 0 : NumberFrom<size_t>(text.substr(slash + 1)).value_or(0);
  if (!shard || *shard < 1 || *shard > shards) {
    return absl::InvalidArgumentError(
        fmt::format("\"{}\" is not a part such as 1/4, 2/4, 3/4 or 4/4", text));
  }
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  Rng rng = Rng::Stream(0, "shards", 0);
  rng.MoveToFront(order, order.size());
  std::vector<size_t> points;
  for (size_t i = *shard - 1; i < count; i += shards) points.push_back(order[i]);
  std::ranges::sort(points);
  return points;
}

}  // namespace heddle
