// SPDX-License-Identifier: Apache-2.0

#include "study/papers/claim_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "settings/wording.h"
#include "study/papers/claim_cells.h"

namespace heddle {
namespace {

constexpr size_t kMostNamed = 3;  // The most places that a text lists.

std::string WithInterval(double mean, double half_width) {
  if (std::isnan(half_width)) return ShortNumber(mean);
  return fmt::format("{} +- {}", ShortNumber(mean), fmt::format("{:.2g}", half_width));
}

std::string Percent(double share) { return fmt::format("{:+.3g} %", 100 * share); }

class Expectation {
 public:
  Expectation(const ClaimPart& part, const PaperExperiment& experiment)
      : part_(part), experiment_(experiment) {}

  std::string Text() const {
    static const std::vector<std::string> kShapesText = {"up", "down", "flat", "down, then up",
                                                         "up, then down"};
    switch (part_.kind) {
      case ClaimKind::kNone:
        return "";
      case ClaimKind::kZero:
        return part_.metric + " is 0";
      case ClaimKind::kNonzero:
        return part_.metric + " is not 0";
      case ClaimKind::kTrend:
        return fmt::format("{}{}: {} along {}", part_.metric,
                           part_.compares() ? " (" + NumberText() + ")" : "",
                           kShapesText[static_cast<size_t>(part_.goes)], AlongText());
      case ClaimKind::kNumber:
        return fmt::format("{}: {} {}", part_.metric, NumberText(), TargetText());
      case ClaimKind::kModel:
        return fmt::format("{} as {} along {}", part_.metric, part_.than_metric, AlongText());
      case ClaimKind::kOrdering:
        break;
    }
    if (part_.neighbours) return part_.metric + ": " + Ascending();
    return fmt::format("{}: {} {}{}{}", part_.metric, SidesText(part_.firsts),
                       part_.higher ? ">" : "<", part_.or_equal ? "= " : " ", OtherText());
  }

 private:
  std::string SidesText(const std::vector<Side>& sides) const {
    std::string text;
    for (const Side& side : sides) {
      AxisLabels choices;
      for (const Value::Entry& entry : side) {
        choices.emplace_back(entry.key, ChoiceLabel(entry.value));
      }
      text += (text.empty() ? "" : ", ") +
              (side.empty() ? "each point" : SideText(choices, experiment_));
    }
    return text;
  }

  std::string OtherText() const {
    std::string text = part_.against_others ? "others" : SidesText(part_.seconds);
    if (!part_.than_metric.empty()) text += (text.empty() ? "" : ", ") + part_.than_metric;
    if (!part_.than_experiment.empty()) {
      text += (text.empty() ? "in " : " in ") + part_.than_experiment;
    }
    return text;
  }

  std::string AlongText() const { return LastPart(part_.along); }

  std::string TargetText() const {
    if (part_.take == Among::kRange) {
      return fmt::format("{} to {}", *part_.target.value, *part_.high_target.value);
    }
    std::string text;
    if (part_.target.value) text = fmt::format("{}", *part_.target.value);
    if (part_.target.at_least) text += fmt::format(">= {}", *part_.target.at_least);
    if (part_.target.at_most) {
      text += fmt::format("{}<= {}", text.empty() ? "" : ", ", *part_.target.at_most);
    }
    return text;
  }

  std::string NumberText() const {
    static const std::vector<std::string> kQuantitiesText = {"improvement", "gain", "ratio",
                                                             "difference", "value"};
    static const std::vector<std::string> kAmongText = {"", "greatest ", "least ", "mean ", ""};
    std::string text = kAmongText[static_cast<size_t>(part_.take)] +
                       kQuantitiesText[static_cast<size_t>(part_.quantity)];
    if (part_.compares()) {
      text += fmt::format(" of {} over {}", SidesText(part_.firsts), OtherText());
    }
    return text;
  }

  std::string Ascending() const {
    std::string text;
    for (const Side& side : part_.firsts) text += (text.empty() ? "" : " < ") + SidesText({side});
    return text;
  }

  const ClaimPart& part_;
  const PaperExperiment& experiment_;
};

constexpr double kManyTimes = 10;  // Above this, percentages have too many digits.

// Returns true if a result is shown as a share of the compared value. If that value is almost zero,
// neither percentages nor multiples say anything.
bool IsShare(const JudgedCell& cell) {
  constexpr double kTooMany = 1000;
  return std::isfinite(cell.relative) && cell.finding.mean != 0 && cell.relative > -kManyTimes &&
         cell.relative < kTooMany;
}

// Returns "15 times".
std::string TimesText(const JudgedCell& cell) {
  return PlainNumber(1 + cell.relative, 3) + " times";
}

// Returns "+12 %" or "15 times", without an interval.
std::string BareMeasure(const JudgedCell& cell) {
  if (!IsShare(cell)) return ShortNumber(cell.finding.mean);
  if (cell.relative < kManyTimes) return Percent(cell.relative);
  return TimesText(cell);
}

// Returns "+12 % +- 3 %" or "15 times +- 0.8".
std::string Measure(const JudgedCell& cell) {
  const Finding& finding = cell.finding;
  if (!IsShare(cell)) return WithInterval(finding.mean, finding.half_width);
  const double half_width = std::abs(cell.relative / finding.mean) * finding.half_width;
  const bool is_known = !std::isnan(half_width);
  if (cell.relative < kManyTimes) {
    return Percent(cell.relative) + (is_known ? fmt::format(" +- {:.2g} %", 100 * half_width) : "");
  }
  return TimesText(cell) + (is_known ? fmt::format(" +- {:.2g}", half_width) : "");
}

// Returns the comparisons with the least and the greatest result; nothing if none has a number.
std::optional<std::pair<JudgedCell, JudgedCell>> LeastAndMost(const JudgedPart& judged) {
  const auto key = [](const JudgedCell& cell) {
    return std::isfinite(cell.relative) ? cell.relative : cell.finding.mean;
  };
  // Cells without a number cannot be ordered.
  std::vector<JudgedCell> cells = judged.cells;
  std::erase_if(cells, [&](const JudgedCell& cell) { return std::isnan(key(cell)); });
  if (cells.empty()) return std::nullopt;
  const auto [least, most] = std::ranges::minmax_element(cells, {}, key);
  return std::pair(*least, *most);
}

// Returns a text such as "+12 % (load=0.1) to +40 % (load=0.8)".
std::string Extremes(const JudgedPart& judged) {
  const auto ends = LeastAndMost(judged);
  if (!ends) return "no number";
  const auto& [least, most] = *ends;
  if (judged.cells.size() == 1) {
    const std::string& where = judged.cells.front().where;
    return Measure(least) + (where.empty() ? "" : fmt::format(" ({})", where));
  }
  if (Measure(least) == Measure(most)) return Measure(least) + " everywhere";
  return fmt::format("{} ({}) to {} ({})", Measure(least), least.where, Measure(most), most.where);
}

// Returns a text that says where the claim does not hold.
std::string Exceptions(const JudgedPart& judged) {
  std::string text;
  for (const Outcome outcome : {Outcome::kAgainst, Outcome::kUndecided, Outcome::kInDirection}) {
    const size_t count = judged.CountOf(outcome);
    if (count == 0 || count == judged.cells.size()) continue;
    static const std::map<Outcome, std::string> kWords = {
        {Outcome::kAgainst, "against it"},
        {Outcome::kUndecided, "undecided"},
        {Outcome::kInDirection, "less than claimed"}};
    text += fmt::format("; {} {}:", count, kWords.at(outcome));
    size_t named = 0;
    for (const JudgedCell& cell : judged.cells) {
      if (cell.finding.outcome != outcome || named >= kMostNamed) continue;
      text += fmt::format("{} {} ({})", named++ > 0 ? "," : "", cell.where, Measure(cell));
    }
    if (count > kMostNamed) text += " and others";
  }
  return text;
}

}  // namespace

std::string ShortNumber(double value) { return fmt::format("{:.3g}", value); }

std::string ExpectedText(const ClaimPart& part, const PaperExperiment& experiment) {
  return Expectation(part, experiment).Text();
}

std::string RangeText(const JudgedPart& judged) {
  const auto ends = LeastAndMost(judged);
  if (!ends) return "no number";
  const auto& [least, most] = *ends;
  const bool is_one = judged.cells.size() == 1 || Measure(least) == Measure(most);
  if (is_one) return Measure(least);
  return fmt::format("{} to {}", BareMeasure(least), BareMeasure(most));
}

std::string MeasuredText(const JudgedPart& judged) { return Extremes(judged) + Exceptions(judged); }

}  // namespace heddle
