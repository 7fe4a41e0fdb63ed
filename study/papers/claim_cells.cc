// SPDX-License-Identifier: Apache-2.0

#include "study/papers/claim_cells.h"

#include <algorithm>
#include <set>
#include <utility>

namespace heddle {
namespace {

// One side of comparisons: points by the choices that they share with the other side, and by those
// in which they differ.
using Steps = std::vector<std::pair<AxisLabels, std::vector<size_t>>>;
using SideIndex = std::vector<std::pair<AxisLabels, Steps>>;

template <class Map, class Key>
auto& EntryOf(Map& map, const Key& key) {
  const auto found = std::ranges::find(map, key, [](const auto& entry) { return entry.first; });
  if (found != map.end()) return found->second;
  return map.emplace_back(key, typename Map::value_type::second_type{}).second;
}

class CellMaker {
 public:
  CellMaker(const ClaimPart& part, const PaperExperiment& experiment, const PaperResults& results,
            const PaperResults& other)
      : part_(part), experiment_(experiment), results_(results), other_(other) {}

  std::vector<ClaimCell> Plain(const std::string& metric) const {
    std::vector<ClaimCell> cells;
    for (const auto& [common, steps] : IndexOf(results_, PointsAt(results_), {})) {
      ClaimCell& cell = cells.emplace_back();
      cell.choices = common;
      cell.values = ValuesOf(results_, metric, steps.front().second, cell);
    }
    return cells;
  }

  std::vector<ClaimCell> Compared() const {
    const std::vector<std::string> axes = results_.WithThoseThatMove(part_.axes);
    std::vector<ClaimCell> cells;
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

 private:
  std::vector<size_t> PointsAt(const PaperResults& results) const {
    std::vector<size_t> points;
    for (size_t i = 0; i < results.points().size(); ++i) {
      if (results.Picks(part_.at, i)) points.push_back(i);
    }
    return points;
  }

  // Returns the common choices, and those of `axes`.
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

  // Returns the points that `at` selects, without those that match a first side or an exception.
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

  static BySeed ValuesOf(const PaperResults& results, const std::string& metric,
                         const std::vector<size_t>& points, ClaimCell& cell) {
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

  const std::string& OtherMetric() const {
    return part_.than_metric.empty() ? part_.metric : part_.than_metric;
  }

  double CombineSides(double a, double b) const {
    if (part_.kind != ClaimKind::kOrdering) return QuantityOf(part_.quantity, a, b);
    return part_.higher ? a - part_.factor * b : b - part_.factor * a;
  }

  ClaimCell CellOf(const AxisLabels& common, const AxisLabels& own_a,
                   const std::vector<size_t>& points_a, const AxisLabels& own_b,
                   const std::vector<size_t>& points_b) const {
    ClaimCell cell;
    cell.choices = common;
    const std::string a = SideText(own_a, experiment_);
    const std::string b = SideText(own_b, experiment_);
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
                const std::vector<std::string>& axes, std::vector<ClaimCell>& cells) const {
    const SideIndex index_b = IndexOf(other_, seconds, axes);
    for (const auto& [common, steps_a] : IndexOf(results_, firsts, axes)) {
      const auto found = std::ranges::find(index_b, common, &SideIndex::value_type::first);
      if (found == index_b.end()) continue;
      for (const auto& [own_a, points_a] : steps_a) {
        for (const auto& [own_b, points_b] : found->second) {
          cells.push_back(CellOf(common, own_a, points_a, own_b, points_b));
        }
      }
    }
  }

  const ClaimPart& part_;
  const PaperExperiment& experiment_;
  const PaperResults& results_;
  const PaperResults& other_;
};

}  // namespace

std::vector<ClaimCell> CellsOf(const ClaimPart& part, const PaperExperiment& experiment,
                               const PaperResults& results, const PaperResults& other) {
  const CellMaker maker(part, experiment, results, other);
  return part.compares() ? maker.Compared() : maker.Plain(part.metric);
}

std::vector<ClaimCell> PlainCells(const ClaimPart& part, const std::string& metric,
                                  const PaperExperiment& experiment, const PaperResults& results) {
  return CellMaker(part, experiment, results, results).Plain(metric);
}

std::string SideText(const AxisLabels& own, const PaperExperiment& experiment) {
  std::string text;
  for (const auto& [axis, label] : own) {
    text += (text.empty() ? "" : "/") + ShownName(label, experiment.names);
  }
  return text;
}

}  // namespace heddle
