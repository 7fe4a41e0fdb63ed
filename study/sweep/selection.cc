// SPDX-License-Identifier: Apache-2.0

#include "study/sweep/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "core/random.h"
#include "settings/number_text.h"

namespace heddle {
namespace {

// "7-9" or "3".
std::optional<std::pair<size_t, size_t>> ReadSpan(std::string_view text) {
  const size_t dash = text.find('-');
  const auto first = NumberFrom<size_t>(text.substr(0, dash));
  const auto last =
      dash == std::string_view::npos ? first : NumberFrom<size_t>(text.substr(dash + 1));
  if (!first || !last) return std::nullopt;
  return std::pair(*first, *last);
}

}  // namespace

std::optional<std::vector<size_t>> ParseNumbers(std::string_view text, size_t count,
                                                std::string& error) {
  std::set<size_t> points;
  for (std::string_view rest = text; error.empty();) {
    const size_t comma = std::min(rest.find(','), rest.size());
    const auto span = ReadSpan(rest.substr(0, comma));
    if (!span || span->first < 1 || span->second < span->first || span->second > count) {
      error = fmt::format("\"{}\" names no points; expected numbers from 1 to {}, such as 3,7-9",
                          rest.substr(0, comma), count);
      return std::nullopt;
    }
    for (size_t number = span->first; number <= span->second; ++number) points.insert(number - 1);
    if (comma == rest.size()) break;
    rest.remove_prefix(comma + 1);
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

std::optional<std::vector<size_t>> ParseShard(std::string_view text, size_t count,
                                              std::string& error) {
  const size_t slash = text.find('/');
  const auto shard = NumberFrom<size_t>(text.substr(0, slash));
  const auto shards =
      slash == std::string_view::npos ? std::nullopt : NumberFrom<size_t>(text.substr(slash + 1));
  if (!shard || !shards || *shard < 1 || *shard > *shards) {
    error = fmt::format("\"{}\" is not a part such as 1/4, 2/4, 3/4 or 4/4", text);
    return std::nullopt;
  }
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  Rng rng = Rng::Stream(0, "shards", 0);
  rng.MoveToFront(order, order.size());
  std::vector<size_t> points;
  for (size_t i = *shard - 1; i < count; i += *shards) points.push_back(order[i]);
  std::ranges::sort(points);
  return points;
}

}  // namespace heddle
