// SPDX-License-Identifier: Apache-2.0

#include "papers/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace heddle {
namespace {

constexpr size_t kMostNamed = 3;  // Places that a text lists.

// Points that differ in their seed alone, or pairs of such.
struct Cell {
  AxisLabels choices;   // Of the axes that are not compared.
  std::string sides;    // "rps, ecmp"; empty if nothing is compared.
  BySeed values;        // Of the metric, of the quantity, or the difference.
  BySeed references;    // What a difference is relative to.
  std::string unknown;  // Why some values are missing.
  size_t missing = 0;   // Points without results.
};

// One side of comparisons: points by what they have in common with the other side, and by what
// they differ in.
using Steps = std::vector<std::pair<AxisLabels, std::vector<size_t>>>;
using SideIndex = std::vector<std::pair<AxisLabels, Steps>>;

template <class Map, class Key>
auto& EntryOf(Map& map, const Key& key) {
  const auto found = std::ranges::find(map, key, [](const auto& entry) { return entry.first; });
  if (found != map.end()) return found->second;
  return map.emplace_back(key, typename Map::value_type::second_type{}).second;
}

bool Contains(const std::vector<std::string>& list, const std::string& item) {
  return std::ranges::find(list, item) != list.end();
}

std::string Short(double value) { return fmt::format("{:.3g}", value); }

std::string WithInterval(double mean, double half_width) {
  if (std::isnan(half_width)) return Short(mean);
  return fmt::format("{} +- {}", Short(mean), fmt::format("{:.2g}", half_width));
}

std::string Percent(double share) { return fmt::format("{:+.3g} %", 100 * share); }

class PartJudge {
 public:
  PartJudge(const ClaimPart& part, const PaperExperiment& experiment, const PaperResults& results,
            const PaperResults& other)
      : part_(part), experiment_(experiment), results_(results), other_(other) {}

  JudgedPart Judge() {
    judged_.expected = Expected();
    if (part_.kind == ClaimKind::kNone) {
      judged_.reason = part_.because;
      return judged_;
    }
    std::vector<Cell> cells = part_.compares() ? ComparedCells() : PlainCells(part_.metric);
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
  // --- Which points ---

  std::vector<size_t> PointsAt(const PaperResults& results) const {
    std::vector<size_t> points;
    for (size_t i = 0; i < results.points().size(); ++i) {
      if (results.Picks(part_.at, i)) points.push_back(i);
    }
    return points;
  }

  // Common choices, and those of `axes`.
  static std::pair<AxisLabels, AxisLabels> Divide(const PaperResults::Point& point,
                                                  const std::vector<std::string>& axes) {
    std::pair<AxisLabels, AxisLabels> divided;
    for (const auto& choice : point.choices) {
      (Contains(axes, choice.first) ? divided.second : divided.first).push_back(choice);
    }
    return divided;
  }

  static SideIndex IndexOf(const PaperResults& results, const std::vector<size_t>& points,
                           const std::vector<std::string>& axes) {
    SideIndex index;
    for (const size_t point : points) {
      const auto [common, own] = Divide(results.points()[point], axes);
      EntryOf(EntryOf(index, common), own).push_back(point);
    }
    return index;
  }

  std::vector<size_t> Picked(const PaperResults& results, const Side& side) const {
    std::vector<size_t> points = PointsAt(results);
    std::erase_if(points, [&](size_t point) { return !results.Picks(side, point); });
    return points;
  }

  // All that `at` leaves but what is of the first sides' kinds, and what is excepted.
  std::vector<size_t> Others() const {
    std::set<std::vector<std::string>> kinds;
    for (const Side& first : part_.firsts) {
      for (const size_t point : Picked(results_, first)) {
        kinds.insert(results_.KindsAt(part_.axes, point));
      }
    }
    std::vector<size_t> points = PointsAt(other_);
    std::erase_if(points, [&](size_t point) {
      const bool excepted = std::ranges::any_of(
          part_.except, [&](const Side& side) { return other_.Picks(side, point); });
      return excepted || kinds.contains(other_.KindsAt(part_.axes, point));
    });
    return points;
  }

  // --- Values ---

  static BySeed ValuesOf(const PaperResults& results, const std::string& metric,
                         const std::vector<size_t>& points, Cell& cell) {
    BySeed values;
    for (const size_t point : points) {
      const Reading& reading = results.ValuesOf(metric)[point];
      if (reading.value) {
        values[results.points()[point].seed] = *reading.value;
      } else if (!reading.has_result) {
        ++cell.missing;
      } else if (cell.unknown.empty()) {
        cell.unknown = reading.error;
      }
    }
    return values;
  }

  std::vector<Cell> PlainCells(const std::string& metric) const {
    std::vector<Cell> cells;
    for (const auto& [common, steps] : IndexOf(results_, PointsAt(results_), {})) {
      Cell& cell = cells.emplace_back();
      cell.choices = common;
      cell.values = ValuesOf(results_, metric, steps.front().second, cell);
    }
    return cells;
  }

  std::string SideText(const AxisLabels& own) const {
    std::string text;
    for (const auto& [axis, label] : own) {
      text += (text.empty() ? "" : "/") + ShownName(label, experiment_.names);
    }
    return text;
  }

  const std::string& OtherMetric() const {
    return part_.than_metric.empty() ? part_.metric : part_.than_metric;
  }

  double CombineSides(double a, double b) const {
    if (part_.kind != ClaimKind::kOrdering) return QuantityOf(part_.quantity, a, b);
    return part_.higher ? a - part_.factor * b : b - part_.factor * a;
  }

  Cell Compared(const AxisLabels& common, const AxisLabels& own_a,
                const std::vector<size_t>& points_a, const AxisLabels& own_b,
                const std::vector<size_t>& points_b) const {
    Cell cell;
    cell.choices = common;
    const std::string a = SideText(own_a);
    const std::string b = SideText(own_b);
    cell.sides = a + (a.empty() || b.empty() ? "" : ", ") + b;
    const BySeed of_a = ValuesOf(results_, part_.metric, points_a, cell);
    const BySeed of_b = ValuesOf(other_, OtherMetric(), points_b, cell);
    for (const auto& [seed, value] : of_a) {
      const auto counterpart = of_b.find(seed);
      if (counterpart == of_b.end()) continue;
      cell.values[seed] = CombineSides(value, counterpart->second);
      cell.references[seed] = counterpart->second;
    }
    if (cell.values.empty() && cell.missing == 0 && cell.unknown.empty()) {
      cell.unknown = "the two sides have no seed in common";
    }
    return cell;
  }

  void AddPairs(const std::vector<size_t>& firsts, const std::vector<size_t>& seconds,
                const std::vector<std::string>& axes, std::vector<Cell>& cells) const {
    const SideIndex index_b = IndexOf(other_, seconds, axes);
    for (const auto& [common, steps_a] : IndexOf(results_, firsts, axes)) {
      const auto found = std::ranges::find(index_b, common, &SideIndex::value_type::first);
      if (found == index_b.end()) continue;
      for (const auto& [own_a, points_a] : steps_a) {
        for (const auto& [own_b, points_b] : found->second) {
          cells.push_back(Compared(common, own_a, points_a, own_b, points_b));
        }
      }
    }
  }

  std::vector<Cell> ComparedCells() const {
    const std::vector<std::string> axes = results_.WithThoseThatMove(part_.axes);
    std::vector<Cell> cells;
    for (size_t i = 0; i < part_.firsts.size(); ++i) {
      const std::vector<size_t> firsts = Picked(results_, part_.firsts[i]);
      if (part_.neighbours) {
        if (i + 1 == part_.firsts.size()) break;
        AddPairs(firsts, Picked(other_, part_.firsts[i + 1]), axes, cells);
      } else if (part_.against_others) {
        AddPairs(firsts, Others(), axes, cells);
      } else if (part_.seconds.empty()) {
        AddPairs(firsts, Picked(other_, part_.firsts[i]), axes, cells);
      }
      for (const Side& second : part_.seconds) {
        AddPairs(firsts, Picked(other_, second), axes, cells);
      }
    }
    return cells;
  }

  // False, with a reason, if the claim cannot be judged for lack of values.
  bool ExplainMissing(const std::vector<Cell>& cells) {
    if (cells.empty()) judged_.reason = "there are no such points at this scale";
    size_t missing = 0;
    for (const Cell& cell : cells) {
      missing += cell.missing;
      if (!cell.unknown.empty() && judged_.reason.empty()) judged_.reason = cell.unknown;
    }
    if (missing > 0) {
      const size_t all = results_.points().size();
      judged_.reason = results_.CountResults() == 0
                           ? "it has not been run"
                           : fmt::format("{} of the experiment's {} points have no results",
                                         all - results_.CountResults(), all);
    }
    return judged_.reason.empty();
  }

  // --- Judging ---

  std::vector<Finding> Findings() const {
    std::vector<Finding> findings;
    for (const JudgedCell& cell : judged_.cells) findings.push_back(cell.finding);
    return findings;
  }

  std::string Where(const AxisLabels& choices, const std::string& sides) const {
    const std::string text = TextOf(choices, experiment_.names);
    return text + (text.empty() || sides.empty() ? "" : ": ") + sides;
  }

  void Add(const Cell& cell, Finding finding, double relative = std::nan("")) {
    judged_.cells.push_back({Where(cell.choices, cell.sides), std::move(finding), relative});
  }

  void JudgeZeros(const std::vector<Cell>& cells) {
    for (const Cell& cell : cells) {
      Finding finding = Measured(cell.values);
      const bool is_zero =
          std::ranges::all_of(cell.values, [](const auto& value) { return value.second == 0; });
      const bool holds = is_zero == (part_.kind == ClaimKind::kZero);
      if (finding.reason.empty()) finding.outcome = holds ? Outcome::kFor : Outcome::kAgainst;
      Add(cell, std::move(finding));
    }
  }

  void JudgeOrdering(const std::vector<Cell>& cells) {
    for (const Cell& cell : cells) {
      Finding finding = JudgeSign(cell.values);
      if (part_.or_equal && finding.outcome == Outcome::kUndecided) {
        finding.outcome = Outcome::kFor;
      }
      // Shown is the first side by the second, whichever was to be higher.
      if (!part_.higher) finding.mean = -finding.mean;
      const double relative = finding.mean / std::abs(Over(cell.references).mean());
      Add(cell, std::move(finding), relative);
    }
  }

  // Cells in a row along `along`.
  struct Row {
    AxisLabels choices;
    std::string sides;
    std::vector<double> x;
    std::vector<const Cell*> cells;
  };

  std::vector<Row> RowsOf(const std::vector<Cell>& cells) {
    const std::vector<std::string> axes = results_.WithThoseThatMove({part_.along});
    const std::vector<std::string> labels = results_.LabelsOf(part_.along);
    bool are_ranks = false;
    const std::vector<double> numbers = AxisNumbers(labels, are_ranks);
    std::vector<Row> rows;
    for (const Cell& cell : cells) {
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

  void JudgeTrends(const std::vector<Cell>& cells) {
    for (const Row& row : RowsOf(cells)) {
      Cell whole;
      whole.choices = row.choices;
      whole.sides = row.sides;
      const std::vector<BySeed> y = ValuesInCommon(row);
      Finding finding = JudgeTrend(row.x, y, part_.goes, part_.flat);
      double sum = 0;
      for (const BySeed& at : y) sum += Over(at).mean();
      const bool is_share = part_.goes == Shape::kFlat;
      const double relative =
          is_share ? finding.mean : finding.mean / std::abs(sum / static_cast<double>(y.size()));
      Add(whole, std::move(finding), relative);
    }
  }

  // Of the seeds that all of the row have.
  static std::vector<BySeed> ValuesInCommon(const Row& row) {
    std::vector<BySeed> values;
    for (const Cell* cell : row.cells) values.push_back(cell->values);
    for (BySeed& at : values) {
      std::erase_if(at, [&](const auto& value) {
        return std::ranges::any_of(
            row.cells, [&](const Cell* cell) { return !cell->values.contains(value.first); });
      });
    }
    return values;
  }

  void JudgeNumbers(const std::vector<Cell>& cells) {
    if (part_.take == Among::kMean) return JudgeMean(cells);
    for (const Cell& cell : cells) {
      Add(cell, JudgeNumber(cell.values, part_.quantity, part_.target));
    }
    if (part_.take == Among::kEach) return;
    const auto by_mean = [](const JudgedCell& cell) { return cell.finding.mean; };
    const auto least = std::ranges::min_element(judged_.cells, {}, by_mean);
    const auto most = std::ranges::max_element(judged_.cells, {}, by_mean);
    std::vector<JudgedCell> chosen;
    if (part_.take != Among::kMax) chosen.push_back(*least);
    if (part_.take != Among::kMin) chosen.push_back(*most);
    if (part_.take == Among::kRange) {
      const Cell& greatest = cells[static_cast<size_t>(most - judged_.cells.begin())];
      chosen.back().finding = JudgeNumber(greatest.values, part_.quantity, part_.high_target);
    }
    judged_.cells = chosen;
    judged_.verdict = Combine(Findings());
  }

  // Over the cells in each seed, then over seeds.
  void JudgeMean(const std::vector<Cell>& cells) {
    Cell mean;
    std::map<std::string, size_t> counts;
    for (const Cell& cell : cells) {
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

  void JudgeModel(const std::vector<Cell>& cells) {
    const std::vector<Cell> predicted = PlainCells(part_.than_metric);
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
      finding.reason = "a constant has no rank correlation";
    } else if (finding.mean > part_.correlation_above) {
      finding.outcome = has_shape ? Outcome::kFor : Outcome::kInDirection;
    } else if (finding.mean < -part_.correlation_above) {
      finding.outcome = Outcome::kAgainst;
    } else {
      finding.outcome = Outcome::kUndecided;
    }
    Cell whole;
    whole.choices = row.choices;
    Add(whole, std::move(finding));
  }

  // --- In words ---

  std::string SidesText(const std::vector<Side>& sides) const {
    std::string text;
    for (const Side& side : sides) {
      AxisLabels choices;
      for (const Value::Entry& entry : side) {
        choices.emplace_back(entry.key, ChoiceLabel(entry.value));
      }
      text += (text.empty() ? "" : ", ") + (side.empty() ? "each point" : SideText(choices));
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

  std::string AlongText() const { return part_.along.substr(part_.along.find_last_of('.') + 1); }

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
    static const std::vector<std::string> kQuantities = {"improvement", "gain", "ratio",
                                                         "difference", "value"};
    static const std::vector<std::string> kAmong = {"", "greatest ", "least ", "mean ", ""};
    std::string text =
        kAmong[static_cast<size_t>(part_.take)] + kQuantities[static_cast<size_t>(part_.quantity)];
    if (part_.compares()) {
      text += fmt::format(" of {} over {}", SidesText(part_.firsts), OtherText());
    }
    return text;
  }

  std::string Expected() const {
    static const std::vector<std::string> kShapes = {"up", "down", "flat", "down, then up",
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
                           kShapes[static_cast<size_t>(part_.goes)], AlongText());
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

  std::string Ascending() const {
    std::string text;
    for (const Side& side : part_.firsts) text += (text.empty() ? "" : " < ") + SidesText({side});
    return text;
  }

  std::string Measure(const JudgedCell& cell) const {
    const Finding& finding = cell.finding;
    // Of what is next to nothing percentages say nothing.
    const bool is_share =
        std::isfinite(cell.relative) && std::abs(cell.relative) < 10 && finding.mean != 0;
    if (!is_share) return WithInterval(finding.mean, finding.half_width);
    const double scale = std::abs(cell.relative / finding.mean);
    const std::string interval =
        std::isnan(finding.half_width)
            ? ""
            : fmt::format(" +- {:.2g} %", 100 * scale * finding.half_width);
    return Percent(cell.relative) + interval;
  }

  // "+12 % to +40 %", or each where there are few.
  std::string Range() const {
    const auto key = [](const JudgedCell& cell) {
      return std::isfinite(cell.relative) ? cell.relative : cell.finding.mean;
    };
    const auto [least, most] = std::ranges::minmax_element(judged_.cells, {}, key);
    if (judged_.cells.size() == 1) {
      const std::string& where = judged_.cells.front().where;
      return Measure(*least) + (where.empty() ? "" : fmt::format(" ({})", where));
    }
    if (Measure(*least) == Measure(*most)) return Measure(*least) + " everywhere";
    return fmt::format("{} ({}) to {} ({})", Measure(*least), least->where, Measure(*most),
                       most->where);
  }

  // Where the claim does not hold.
  std::string Exceptions() const {
    std::string text;
    for (const Outcome outcome : {Outcome::kAgainst, Outcome::kUndecided, Outcome::kInDirection}) {
      const size_t count = judged_.CountOf(outcome);
      if (count == 0 || count == judged_.cells.size()) continue;
      static const std::map<Outcome, std::string> kWords = {
          {Outcome::kAgainst, "against it"},
          {Outcome::kUndecided, "undecided"},
          {Outcome::kInDirection, "less than claimed"}};
      text += fmt::format("; {} {}:", count, kWords.at(outcome));
      size_t named = 0;
      for (const JudgedCell& cell : judged_.cells) {
        if (cell.finding.outcome != outcome || named >= kMostNamed) continue;
        text += fmt::format("{} {} ({})", named++ > 0 ? "," : "", cell.where, Measure(cell));
      }
      if (count > kMostNamed) text += " and others";
    }
    return text;
  }

  void Explain() {
    if (judged_.cells.empty()) return;
    judged_.measured = Range() + Exceptions();
    if (part_.kind == ClaimKind::kModel) {
      judged_.measured = fmt::format("rank correlation {}; simulated by predicted {} to {}",
                                     judged_.measured, Short(least_ratio_), Short(greatest_ratio_));
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
  double least_ratio_ = std::numeric_limits<double>::infinity();
  double greatest_ratio_ = 0;
};

// The texts of parts, numbered if there are several.
template <class Text>
std::string Joined(const std::vector<JudgedPart>& parts, const Text& text) {
  std::string joined;
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string& of_part = text(parts[i]);
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
    // Verdicts ascend.
    judged.verdict = std::max(judged.verdict, judged.parts.back().verdict);
  }
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
