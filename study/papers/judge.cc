// SPDX-License-Identifier: Apache-2.0

#include "study/papers/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "settings/wording.h"
#include "study/papers/claim_cells.h"
#include "study/papers/claim_text.h"

namespace heddle {
namespace {

class PartJudge {
 public:
  PartJudge(const ClaimPart& part, const PaperExperiment& experiment, const PaperResults& results,
            const PaperResults& other)
      : part_(part), experiment_(experiment), results_(results), other_(other) {}

  JudgedPart Judge() {
    judged_.expected = ExpectedText(part_, experiment_);
    if (part_.kind == ClaimKind::kNone) {
      judged_.reason = part_.because;
      return judged_;
    }
    const std::vector<ClaimCell> cells = CellsOf(part_, experiment_, results_, other_);
    if (!ExplainMissing(cells)) return judged_;
    switch (part_.kind) {
      case ClaimKind::kZero:
      case ClaimKind::kNonzero:
        JudgeZeros(cells);
        break;
      case ClaimKind::kOrdering:
        JudgeOrdering(cells);
        break;
      case ClaimKind::kTrend:
        JudgeTrends(cells);
        break;
      case ClaimKind::kNumber:
        JudgeNumbers(cells);
        break;
      case ClaimKind::kModel:
        JudgeModel(cells);
        break;
      case ClaimKind::kNone:
        break;
    }
    if (part_.kind != ClaimKind::kNumber || part_.take == Among::kEach) {
      judged_.verdict = Combine(Findings());
    }
    Explain();
    return judged_;
  }

 private:
  // False, with a reason, if the claim cannot be judged for lack of values.
  bool ExplainMissing(const std::vector<ClaimCell>& cells) {
    if (cells.empty()) judged_.reason = "no point of the claim exists at this scale";
    size_t missing = 0;
    for (const ClaimCell& cell : cells) {
      missing += cell.missing;
      if (!cell.unknown.empty() && judged_.reason.empty()) judged_.reason = cell.unknown;
    }
    if (missing > 0) {
      const size_t all = results_.points().size();
      judged_.reason = results_.CountResults() == 0
                           ? "it has not been run"
                           : fmt::format("{} of the experiment's {} {} no results",
                                         all - results_.CountResults(), CountedNoun(all, "point"),
                                         all == 1 ? "has" : "have");
    }
    return judged_.reason.empty();
  }

  std::vector<Finding> Findings() const {
    std::vector<Finding> findings;
    for (const JudgedCell& cell : judged_.cells) findings.push_back(cell.finding);
    return findings;
  }

  std::string Where(const AxisLabels& choices, const std::string& sides) const {
    const std::string text = TextOf(choices, experiment_.names);
    return text + (text.empty() || sides.empty() ? "" : ": ") + sides;
  }

  void Add(const ClaimCell& cell, Finding finding, double relative = std::nan("")) {
    judged_.cells.push_back({Where(cell.choices, cell.sides), std::move(finding), relative});
  }

  void JudgeZeros(const std::vector<ClaimCell>& cells) {
    for (const ClaimCell& cell : cells) {
      Finding finding = Measured(cell.values);
      const bool is_zero =
          std::ranges::all_of(cell.values, [](const auto& value) { return value.second == 0; });
      const bool holds = is_zero == (part_.kind == ClaimKind::kZero);
      if (finding.reason.empty()) finding.outcome = holds ? Outcome::kFor : Outcome::kAgainst;
      Add(cell, std::move(finding));
    }
  }

  void JudgeOrdering(const std::vector<ClaimCell>& cells) {
    for (const ClaimCell& cell : cells) {
      Finding finding = JudgeSign(cell.values);
      // The text shows the first side relative to the second, whichever should be higher.
      if (!part_.higher) finding.mean = -finding.mean;
      const double relative = finding.mean / std::abs(Over(cell.references).mean());
      finding = WithLeastEffect(std::move(finding), relative);
      if (part_.or_equal && finding.outcome == Outcome::kUndecided) {
        finding.outcome = Outcome::kFor;
      }
      Add(cell, std::move(finding), relative);
    }
  }

  // Cells in a row along `along`.
  struct Row {
    AxisLabels choices;
    std::string sides;
    std::vector<double> x;
    std::vector<const ClaimCell*> cells;
  };

  std::vector<Row> RowsOf(const std::vector<ClaimCell>& cells) {
    const std::vector<std::string> axes = results_.WithThoseThatMove({part_.along});
    const std::vector<std::string> labels = results_.LabelsOf(part_.along);
    bool are_ranks = false;
    const std::vector<double> numbers = AxisNumbers(labels, are_ranks);
    std::vector<Row> rows;
    for (const ClaimCell& cell : cells) {
      AxisLabels rest = cell.choices;
      std::string label;
      for (const auto& [axis, value] : cell.choices) {
        if (axis == part_.along) label = value;
      }
      std::erase_if(rest, [&](const auto& choice) { return Contains(axes, choice.first); });
      Row& row = RowOf(rows, rest, cell.sides);
      const auto at = std::ranges::find(labels, label) - labels.begin();
      const double x = numbers[static_cast<size_t>(at)];
      const auto place = std::ranges::lower_bound(row.x, x) - row.x.begin();
      row.x.insert(row.x.begin() + place, x);
      row.cells.insert(row.cells.begin() + place, &cell);
    }
    return rows;
  }

  static Row& RowOf(std::vector<Row>& rows, const AxisLabels& choices, const std::string& sides) {
    for (Row& row : rows) {
      if (row.choices == choices && row.sides == sides) return row;
    }
    return rows.emplace_back(choices, sides);
  }

  void JudgeTrends(const std::vector<ClaimCell>& cells) {
    for (const Row& row : RowsOf(cells)) {
      ClaimCell whole;
      whole.choices = row.choices;
      whole.sides = row.sides;
      const std::vector<BySeed> y = ValuesInCommon(row);
      Finding finding = JudgeTrend(row.x, y, part_.goes, part_.flat);
      double sum = 0;
      for (const BySeed& at : y) sum += Over(at).mean();
      const bool is_share = part_.goes == Shape::kFlat;
      const double relative =
          is_share ? finding.mean : finding.mean / std::abs(sum / static_cast<double>(y.size()));
      if (!is_share) finding = WithLeastEffect(std::move(finding), relative);
      Add(whole, std::move(finding), relative);
    }
  }

  // Returns the values at seeds that all cells of the row have.
  static std::vector<BySeed> ValuesInCommon(const Row& row) {
    std::vector<BySeed> values;
    for (const ClaimCell* cell : row.cells) values.push_back(cell->values);
    for (BySeed& at : values) {
      std::erase_if(at, [&](const auto& value) {
        return std::ranges::any_of(
            row.cells, [&](const ClaimCell* cell) { return !cell->values.contains(value.first); });
      });
    }
    return values;
  }

  void JudgeNumbers(const std::vector<ClaimCell>& cells) {
    if (part_.take == Among::kMean) return JudgeMean(cells);
    for (const ClaimCell& cell : cells) {
      Add(cell, JudgeNumber(cell.values, part_.quantity, part_.target));
    }
    if (part_.take == Among::kEach) return;
    // Cells without a number cannot be ordered.
    std::vector<size_t> ordered;
    for (size_t i = 0; i < cells.size(); ++i) {
      if (!std::isnan(judged_.cells[i].finding.mean)) ordered.push_back(i);
    }
    left_out_ = cells.size() - ordered.size();
    if (ordered.empty()) {
      judged_.cells.resize(1);
      judged_.verdict = Combine(Findings());
      return;
    }
    const auto by_mean = [&](size_t i) { return judged_.cells[i].finding.mean; };
    const size_t least = *std::ranges::min_element(ordered, {}, by_mean);
    const size_t most = *std::ranges::max_element(ordered, {}, by_mean);
    std::vector<JudgedCell> chosen;
    if (part_.take != Among::kMax) chosen.push_back(judged_.cells[least]);
    if (part_.take != Among::kMin) chosen.push_back(judged_.cells[most]);
    if (part_.take == Among::kRange) {
      chosen.back().finding = JudgeNumber(cells[most].values, part_.quantity, part_.high_target);
    }
    judged_.cells = chosen;
    judged_.verdict = Combine(Findings());
  }

  // Judges the mean over the cells of each seed, then over seeds.
  void JudgeMean(const std::vector<ClaimCell>& cells) {
    ClaimCell mean;
    std::map<std::string, size_t> counts;
    for (const ClaimCell& cell : cells) {
      for (const auto& [seed, value] : cell.values) {
        mean.values[seed] += value / static_cast<double>(cells.size());
        ++counts[seed];
      }
    }
    std::erase_if(mean.values,
                  [&](const auto& value) { return counts.at(value.first) < cells.size(); });
    Add(mean, JudgeNumber(mean.values, part_.quantity, part_.target));
    judged_.cells.back().where = fmt::format("mean of {}", cells.size());
    judged_.verdict = Combine(Findings());
  }

  void JudgeModel(const std::vector<ClaimCell>& cells) {
    const std::vector<ClaimCell> predicted =
        PlainCells(part_, part_.than_metric, experiment_, results_);
    if (!ExplainMissing(predicted)) return;
    const std::vector<Row> rows = RowsOf(cells);
    const std::vector<Row> model_rows = RowsOf(predicted);
    for (size_t i = 0; i < rows.size(); ++i) JudgeRow(rows[i], model_rows[i]);
  }

  void JudgeRow(const Row& row, const Row& model) {
    std::vector<double> simulated;
    std::vector<double> predicted;
    for (size_t i = 0; i < row.cells.size(); ++i) {
      simulated.push_back(Over(row.cells[i]->values).mean());
      predicted.push_back(Over(model.cells[i]->values).mean());
      least_ratio_ = std::min(least_ratio_, simulated.back() / predicted.back());
      greatest_ratio_ = std::max(greatest_ratio_, simulated.back() / predicted.back());
    }
    Finding finding;
    finding.mean = RankCorrelation(simulated, predicted);
    finding.half_width = std::nan("");
    const bool has_shape =
        !part_.interior_minimum || (HasInnerMinimum(simulated) && HasInnerMinimum(predicted));
    if (std::isnan(finding.mean)) {
      finding.reason = "the rank correlation of a constant is undefined";
    } else if (finding.mean > part_.correlation_above) {
      finding.outcome = has_shape ? Outcome::kFor : Outcome::kInDirection;
    } else if (finding.mean < -part_.correlation_above) {
      finding.outcome = Outcome::kAgainst;
    } else {
      finding.outcome = Outcome::kUndecided;
    }
    ClaimCell whole;
    whole.choices = row.choices;
    Add(whole, std::move(finding));
  }

  void Explain() {
    if (judged_.cells.empty()) return;
    judged_.measured = MeasuredText(judged_);
    judged_.range = RangeText(judged_);
    if (left_out_ > 0) {
      judged_.measured += fmt::format("; {} left out, where zero is divided by zero", left_out_);
    }
    if (part_.kind == ClaimKind::kModel) {
      judged_.measured =
          fmt::format("rank correlation {}; simulated by predicted {} to {}", judged_.measured,
                      ShortNumber(least_ratio_), ShortNumber(greatest_ratio_));
    }
    for (const JudgedCell& cell : judged_.cells) {
      if (cell.finding.outcome != Outcome::kUnknown || !judged_.reason.empty()) continue;
      judged_.reason =
          cell.where.empty() ? cell.finding.reason : cell.where + ": " + cell.finding.reason;
    }
  }

  const ClaimPart& part_;
  const PaperExperiment& experiment_;
  const PaperResults& results_;
  const PaperResults& other_;
  JudgedPart judged_;
  size_t left_out_ = 0;  // Comparisons without a number, from which an extreme cannot be chosen.
  double least_ratio_ = std::numeric_limits<double>::infinity();
  double greatest_ratio_ = 0;
};

// Returns the texts of parts, numbered if there are several.
template <class Text>
std::string Joined(const std::vector<JudgedPart>& parts, const Text& text) {
  std::string joined;
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string of_part = text(parts[i]);
    if (of_part.empty()) continue;
    joined += joined.empty() ? "" : "; ";
    if (parts.size() > 1) joined += fmt::format("({}) ", i + 1);
    joined += of_part;
  }
  return joined;
}

}  // namespace

size_t JudgedPart::CountOf(Outcome outcome) const {
  return static_cast<size_t>(std::ranges::count_if(
      cells, [&](const JudgedCell& cell) { return cell.finding.outcome == outcome; }));
}

size_t JudgedClaim::agreeing() const {
  size_t count = 0;
  for (const JudgedPart& part : parts) count += part.CountOf(Outcome::kFor);
  return count;
}

size_t JudgedClaim::all() const {
  size_t count = 0;
  for (const JudgedPart& part : parts) count += part.cells.size();
  return count;
}

std::string JudgedClaim::Expected() const {
  return Joined(parts, [](const JudgedPart& part) { return part.expected; });
}

std::string JudgedClaim::Measured() const {
  return Joined(parts, [](const JudgedPart& part) { return part.measured; });
}

std::string JudgedClaim::Range() const {
  return Joined(parts, [](const JudgedPart& part) { return part.range; });
}

std::string JudgedClaim::Reason() const {
  return Joined(parts, [](const JudgedPart& part) { return part.reason; });
}

JudgedClaim JudgeClaim(const Claim& claim, const PaperExperiment& experiment,
                       const PaperResults& results, const OtherResults& others) {
  JudgedClaim judged;
  judged.verdict = ClaimVerdict::kReproduced;
  for (const ClaimPart& part : claim.parts) {
    const PaperResults& other =
        part.than_experiment.empty() ? results : others(part.than_experiment);
    judged.parts.push_back(PartJudge(part, experiment, results, other).Judge());
    judged.verdict = std::max(judged.verdict, judged.parts.back().verdict);
  }
  const bool some_against =
      judged.verdict == ClaimVerdict::kContradicted || judged.verdict == ClaimVerdict::kMixed;
  if (some_against) judged.verdict = ContradictedOrMixed(judged.agreeing(), judged.all());
  return judged;
}

std::vector<std::string> MetricsOf(const Claim& claim) {
  std::vector<std::string> metrics;
  for (const ClaimPart& part : claim.parts) {
    if (!part.metric.empty()) metrics.push_back(part.metric);
    if (!part.than_metric.empty()) metrics.push_back(part.than_metric);
  }
  return metrics;
}

}  // namespace heddle
