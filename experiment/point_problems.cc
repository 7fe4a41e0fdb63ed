// SPDX-License-Identifier: Apache-2.0

#include "experiment/point_problems.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "settings/patch.h"
#include "settings/wording.h"

namespace heddle {
namespace {

// The number of errors that are explained. Explaining one takes a look at all points, and a user
// with so many errors knows enough after the first ones.
constexpr size_t kMostExplained = 64;

std::string ChoicesText(const std::vector<std::pair<std::string, std::string>>& choices) {
  std::string text;
  for (const auto& [key, value] : choices) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", key, value);
  }
  return text;
}

}  // namespace

void PointProblems::Take(const Diagnostics& problems, size_t point) {
  for (const Diagnostics::Problem& problem : problems.problems()) {
    const auto [known, is_new] = index_.emplace(problem.line, found_.size());
    if (is_new) found_.push_back({problem, {}});
    std::vector<size_t>& points = found_[known->second].points;
    if (points.empty() || points.back() != point) points.push_back(point);
  }
}

// Returns the choices that all `points` share.
PointProblems::Choices PointProblems::SharedChoices(const std::vector<size_t>& points) const {
  Choices shared = choices_[points.front()];
  for (const size_t point : points) {
    const Choices& choices = choices_[point];
    std::erase_if(shared, [&](const auto& choice) {
      return std::ranges::find(choices, choice) == choices.end();
    });
  }
  return shared;
}

// Returns true if exactly `count` points have all of `choices`.
bool PointProblems::AreAllWith(const Choices& choices, size_t count) const {
  for (const Choices& of_point : choices_) {
    const bool has_all = std::ranges::all_of(choices, [&](const auto& choice) {
      return std::ranges::find(of_point, choice) != of_point.end();
    });
    if (has_all && count-- == 0) return false;
  }
  return count == 0;
}

// Returns true if exactly the points with the value at the error's place have the error.
bool PointProblems::ExplainsItself(const Found& found) const {
  const std::pair<std::string, std::string>* owner = nullptr;  // The innermost axis around it.
  for (const auto& choice : choices_[found.points.front()]) {
    if (!IsWithin(found.problem.path, choice.first)) continue;
    if (owner == nullptr || owner->first.size() < choice.first.size()) owner = &choice;
  }
  if (owner == nullptr) return false;
  const bool all_have_it = std::ranges::all_of(found.points, [&](size_t point) {
    return std::ranges::find(choices_[point], *owner) != choices_[point].end();
  });
  return all_have_it && AreAllWith({*owner}, found.points.size());
}

std::string PointProblems::WhereText(const Found& found) const {
  const size_t count = found.points.size();
  if (count == points_.size() || ExplainsItself(found)) return "";
  constexpr std::string_view kRemedy = "sweep.exclude leaves points out";
  const Choices shared = SharedChoices(found.points);
  if (!shared.empty() && AreAllWith(shared, count)) {
    return fmt::format("; in all points with {}; {}", ChoicesText(shared), kRemedy);
  }
  const std::string more =
      count > 1 ? fmt::format(" (and in {})", CountedNoun(count - 1, "more point")) : "";
  return fmt::format("; in {}{}; {}", ChoicesText(choices_[found.points.front()]), more, kRemedy);
}

void PointProblems::Report(Diagnostics& diagnostics) {
  if (found_.empty()) return;
  choices_.clear();
  for (size_t point = 0; point < points_.size(); ++point) {
    choices_.push_back(points_.ChoicesOf(point));
  }
  size_t explained = 0;
  for (const Found& found : found_) {
    Diagnostics::Problem problem = found.problem;
    if (explained++ < kMostExplained) problem.line += WhereText(found);
    diagnostics.Take(problem);
  }
}

}  // namespace heddle
