// SPDX-License-Identifier: Apache-2.0

#include "settings/diagnostics.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

#include "settings/patch.h"
#include "settings/wording.h"

namespace heddle {
namespace {

// Escapes control characters, which would break the line or control the terminal.
std::string Printable(std::string_view text) {
  std::string printable;
  for (const char c : text) {
    const bool is_control = (c >= 0 && c < ' ') || c == '\x7f';
    if (is_control) {
      printable += c == '\n' ? "\\n" : fmt::format("\\x{:02x}", static_cast<unsigned>(c));
    } else {
      printable += c;
    }
  }
  return printable;
}

std::string Line(const Place& place, std::string_view path, std::string_view message) {
  std::string line = place.source;
  if (place.line > 0) line += fmt::format(":{}:{}", place.line, place.column);
  if (!path.empty()) line += fmt::format(": {}", path);
  return Printable(line + fmt::format(": {}", message));
}

// The path of the map or list around `path`: a.b[0] for a.b[0].c, then a.b, a and "".
std::string_view Parent(std::string_view path) {
  const size_t cut = path.find_last_of(".[");
  return cut == std::string_view::npos ? std::string_view() : path.substr(0, cut);
}

// The number of letters to insert, remove or replace, and of neighbours to swap (the distance of
// Damerau and Levenshtein, where no letter changes twice).
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> two_above(b.size() + 1);
  std::vector<size_t> above(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  std::iota(above.begin(), above.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, above[j] + 1, row[j - 1] + 1});
      const bool are_swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (are_swapped) row[j] = std::min(row[j], two_above[j - 2] + 1);
    }
    std::swap(two_above, above);
    std::swap(above, row);
  }
  return above.back();
}

}  // namespace

void Diagnostics::Error(const Place& place, std::string_view path, std::string_view message) {
  errors_.push_back({place, std::string(path), Line(place, path, message)});
}

void Diagnostics::Warning(const Place& place, std::string_view path, std::string_view message) {
  warnings_.push_back(Line(place, path, message));
}

void Diagnostics::Note(std::string_view path, const Place& place) {
  places_.insert_or_assign(std::string(path), place);
}

void Diagnostics::ErrorAt(std::string_view path, std::string_view message) {
  Error(PlaceOf(path), path, message);
}

void Diagnostics::WarningAt(std::string_view path, std::string_view message) {
  Warning(PlaceOf(path), path, message);
}

const Place& Diagnostics::PlaceOf(std::string_view path) const {
  static const Place nowhere{"experiment", 0, 0};
  for (std::string_view around = path;; around = Parent(around)) {
    if (const auto place = places_.find(around); place != places_.end()) return place->second;
    if (around.empty()) return nowhere;
  }
}

bool Diagnostics::IsSound(std::string_view path) const {
  return std::ranges::none_of(errors_,
                              [&](const Problem& problem) { return IsWithin(problem.path, path); });
}

void Diagnostics::Take(const Diagnostics& other) {
  for (const Problem& problem : other.errors_) Take(problem);
  TakeWarnings(other);
}

void Diagnostics::Take(const Problem& error) {
  const bool known = std::ranges::find(errors_, error.line, &Problem::line) != errors_.end();
  if (!known) errors_.push_back(error);
}

void Diagnostics::TakeWarnings(const Diagnostics& other) {
  for (const std::string& line : other.warnings_) {
    if (std::ranges::find(warnings_, line) == warnings_.end()) warnings_.push_back(line);
  }
}

std::vector<std::string> Diagnostics::errors() const {
  std::map<std::string, size_t> sources;  // In the order of their first error.
  for (const Problem& problem : errors_) sources.emplace(problem.place.source, sources.size());
  std::vector<const Problem*> sorted;
  for (const Problem& problem : errors_) sorted.push_back(&problem);
  std::ranges::stable_sort(sorted, {}, [&](const Problem* problem) {
    const Place& place = problem->place;
    return std::tuple(sources.at(place.source), place.line, place.column);
  });
  std::vector<std::string> lines;
  for (const Problem* problem : sorted) lines.push_back(problem->line);
  return lines;
}

std::string Diagnostics::Report() const {
  std::string report;
  for (const std::string& error : errors()) report += error + "\n";
  return report + CountedNoun(errors_.size(), "error") + "\n";
}

const std::string* Nearest(std::string_view name, const std::vector<std::string>& known) {
  const std::string* nearest = nullptr;
  size_t least = std::min<size_t>(3, name.size() / 2 + 1);  // Further words are no misspelling.
  for (const std::string& candidate : known) {
    // The difference in length is a lower bound, and spares most candidates.
    const auto [shorter, longer] = std::minmax({name.size(), candidate.size()});
    if (longer - shorter >= least) continue;
    const size_t distance = EditDistance(name, candidate);
    if (distance >= least) continue;
    least = distance;
    nearest = &candidate;
  }
  return nearest;
}

std::string Suggestion(std::string_view name, const std::vector<std::string>& known) {
  const std::string* nearest = Nearest(name, known);
  constexpr size_t kMost = 64;  // A network may have thousands of links.
  const std::span<const std::string> listed(known.data(), std::min(known.size(), kMost));
  std::string all = fmt::format("{}", fmt::join(listed, ", "));
  if (known.size() > kMost) all += fmt::format(" and {} more", known.size() - kMost);
  if (nearest == nullptr) return fmt::format("; expected one of: {}", all);
  return fmt::format("; did you mean \"{}\"? (known: {})", *nearest, all);
}

}  // namespace heddle
