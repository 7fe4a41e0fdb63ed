// SPDX-License-Identifier: Apache-2.0

#include "cli/compare_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "settings/csv.h"
#include "settings/wording.h"

namespace heddle {
namespace {

double Percent(const ComparedMetric& metric) {
  return 100 * metric.difference.mean() / metric.a.mean();
}

// Returns four digits for the terminal, or all before the point if there are more; "-" for NaN.
std::string Short(double value) {
  if (!std::isfinite(value)) return "-";
  return std::abs(value) < 9999.5 ? fmt::format("{:.4g}", value) : fmt::format("{:.0f}", value);
}

std::string Exact(double value) { return std::isnan(value) ? "" : fmt::format("{}", value); }

// Returns the other axes' values, as in "load=0.3, spines=4".
std::string ChoicesText(const ComparedSides& sides, const std::vector<std::string>& choices) {
  std::string text;
  for (size_t i = 0; i < sides.axes.size(); ++i) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", sides.axes[i],
                        sides.labels.Shown(sides.axes[i], choices[i]));
  }
  return text;
}

// Prints the settings that differ at a combination that both sides have.
void PrintDifferences(const std::vector<SettingDifference>& differences) {
  constexpr size_t kMost = 20;
  if (differences.empty()) fmt::print("Their experiments have the same settings.\n");
  for (size_t i = 0; i < std::min(differences.size(), kMost); ++i) {
    const SettingDifference& one = differences[i];
    fmt::print("{:17}{}: A {}, B {}\n", i == 0 ? "They differ in" : "", one.key, one.a, one.b);
  }
  if (differences.size() > kMost) {
    fmt::print("{:17}and {}\n", "", CountedNoun(differences.size() - kMost, "more setting"));
  }
}

void PrintRow(const ComparedMetric& metric) {
  const double half_width = metric.difference.half_width();
  const double mean = metric.difference.mean();
  const std::string interval =
      std::isnan(half_width)
          ? "-"
          : fmt::format("{} to {}", Short(mean - half_width), Short(mean + half_width));
  fmt::print("{:24} {:>10} {:>10} {:>11} {:>23} {:>8} {:>6}  {}\n", metric.metric,
             Short(metric.a.mean()), Short(metric.b.mean()), Short(mean), interval,
             std::isfinite(Percent(metric)) ? fmt::format("{:+.1f}", Percent(metric)) : "-",
             metric.difference.count(), NameOf(Judge(metric.metric, metric.difference)));
}

// Returns the combinations that any side shares with the reference, in the order found.
std::vector<std::vector<std::string>> CombinationsOf(const ComparedSides& sides) {
  std::vector<std::vector<std::string>> found;
  for (const OtherSide& side : sides.others) {
    for (const Comparison& comparison : side.comparisons) {
      if (std::ranges::find(found, comparison.choices) == found.end()) {
        found.push_back(comparison.choices);
      }
    }
  }
  return found;
}

// Returns the comparison of each of the other sides at a combination; null where there is none.
std::vector<const Comparison*> At(const ComparedSides& sides,
                                  const std::vector<std::string>& choices) {
  std::vector<const Comparison*> comparisons;
  for (const OtherSide& side : sides.others) {
    const auto found = std::ranges::find(side.comparisons, choices, &Comparison::choices);
    comparisons.push_back(found == side.comparisons.end() ? nullptr : &*found);
  }
  return comparisons;
}

// Returns the change as in "-6.2 % +- 1.3 better". It is in percent, unless the reference is 0.
std::string ChangeText(const ComparedMetric& metric) {
  const double mean = metric.difference.mean();
  if (!std::isfinite(mean)) return "-";
  const double half_width = metric.difference.half_width();
  const double to_percent = 100 / std::abs(metric.a.mean());
  const bool is_relative = std::isfinite(to_percent);
  std::string text = is_relative ? fmt::format("{:+.1f} %", to_percent * mean)
                                 : (mean < 0 ? "" : "+") + Short(mean);
  if (std::isfinite(half_width)) {
    text += is_relative ? fmt::format(" +- {:.1f}", to_percent * half_width)
                        : " +- " + Short(half_width);
  }
  return fmt::format("{} {}", text, NameOf(Judge(metric.metric, metric.difference)));
}

using Row = std::vector<std::string>;

// Adds two rows: the means, and the changes against the reference.
void AddMetric(size_t metric, const std::vector<const Comparison*>& comparisons,
               std::vector<Row>& rows) {
  Row means = {"", ""};
  Row changes = {"", ""};
  int64_t most = 0;  // The reference's mean is over the most seeds that a side shares with it.
  for (const Comparison* comparison : comparisons) {
    if (comparison == nullptr) {
      means.emplace_back("-");
      changes.emplace_back("");
      continue;
    }
    const ComparedMetric& one = comparison->metrics[metric];
    means[0] = one.metric;
    if (one.a.count() > most) means[1] = Short(one.a.mean());
    most = std::max(most, one.a.count());
    means.push_back(Short(one.b.mean()));
    changes.push_back(ChangeText(one));
  }
  if (means[1].empty()) means[1] = "-";
  rows.push_back(std::move(means));
  rows.push_back(std::move(changes));
}

std::vector<Row> RowsAt(const ComparedSides& sides, const std::vector<std::string>& choices) {
  std::vector<Row> rows = {{"", sides.reference.shown}};
  Row seeds = {"seeds", ""};
  const std::vector<const Comparison*> comparisons = At(sides, choices);
  for (size_t i = 0; i < comparisons.size(); ++i) {
    rows[0].push_back(sides.others[i].shown);
    seeds.push_back(fmt::format("{}", comparisons[i] == nullptr ? 0 : comparisons[i]->paired));
  }
  const auto any = std::ranges::find_if(comparisons, [](const Comparison* c) { return c; });
  for (size_t metric = 0; metric < (*any)->metrics.size(); ++metric) {
    AddMetric(metric, comparisons, rows);
  }
  rows.push_back(std::move(seeds));
  return rows;
}

// Prints the first column to the left, the others to the right.
void PrintRows(const std::vector<Row>& rows) {
  const auto width = [](const std::string& cell) {  // In characters of UTF-8.
    return std::ranges::count_if(cell, [](char c) { return (c & 0xC0) != 0x80; });
  };
  for (const Row& row : rows) {
    std::string line = fmt::format("{:24}", row[0]);
    for (size_t column = 1; column < row.size(); ++column) {
      std::ptrdiff_t widest = 0;
      for (const Row& other : rows) widest = std::max(widest, width(other[column]));
      line += fmt::format("  {:>{}}", row[column], widest);
    }
    fmt::print("{}\n", line.substr(0, line.find_last_not_of(' ') + 1));
  }
}

}  // namespace

void PrintTwo(const ComparedSides& sides, bool are_sweeps,
              const std::vector<SettingDifference>& differences) {
  const auto line = [](const NamedSide& side) {
    return side.shown == side.name ? side.name : fmt::format("{} ({})", side.shown, side.name);
  };
  fmt::print("A: {}\nB: {}\n", line(sides.reference), line(sides.others.front()));
  if (are_sweeps) PrintDifferences(differences);
  for (const Comparison& comparison : sides.others.front().comparisons) {
    const std::string choices = ChoicesText(sides, comparison.choices);
    fmt::print("\n{}{}{:24} {:>10} {:>10} {:>11} {:>23} {:>8} {:>6}  {}\n", choices,
               choices.empty() ? "" : "\n", "", "A", "B", "B - A", "95 % interval", "%", "seeds",
               "B is");
    for (const ComparedMetric& metric : comparison.metrics) PrintRow(metric);
  }
}

void PrintMany(const ComparedSides& sides) {
  fmt::print(
      "Reference: {}. Below each mean is its change against the reference at the same seeds, with "
      "the 95 % interval.\n",
      sides.reference.shown);
  for (const std::vector<std::string>& choices : CombinationsOf(sides)) {
    const std::string text = ChoicesText(sides, choices);
    fmt::print("\n{}{}", text, text.empty() ? "" : "\n");
    PrintRows(RowsAt(sides, choices));
  }
}

void PrintCsv(const ComparedSides& sides, const CompareOptions& options) {
  for (const std::string& axis : sides.axes) fmt::print("{},", CsvCell(axis));
  fmt::print("class_set,class,metric,a,b,a_mean,b_mean,difference,ci95,percent,seeds,verdict\n");
  for (const std::vector<std::string>& choices : CombinationsOf(sides)) {
    const std::vector<const Comparison*> comparisons = At(sides, choices);
    for (size_t i = 0; i < comparisons.size(); ++i) {
      if (comparisons[i] == nullptr) continue;
      for (const ComparedMetric& metric : comparisons[i]->metrics) {
        for (const std::string& choice : choices) fmt::print("{},", CsvCell(choice));
        fmt::print("{},{},{},{},{},{},{},{},{},{},{},{}\n", options.class_set, options.size_class,
                   metric.metric, CsvCell(sides.reference.name), CsvCell(sides.others[i].name),
                   Exact(metric.a.mean()), Exact(metric.b.mean()), Exact(metric.difference.mean()),
                   Exact(metric.difference.half_width()), Exact(Percent(metric)),
                   metric.difference.count(), NameOf(Judge(metric.metric, metric.difference)));
      }
    }
  }
}

}  // namespace heddle
