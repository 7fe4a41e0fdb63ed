// SPDX-License-Identifier: Apache-2.0

#include "study/papers/draw.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "settings/status.h"
#include "study/papers/judge.h"

namespace heddle {
namespace {

class Drawer {
 public:
  Drawer(const Figure& figure, const PaperExperiment& experiment, const PaperResults& results,
         Diagnostics& diagnostics)
      : figure_(figure), experiment_(experiment), results_(results), diagnostics_(diagnostics) {
    const Metric& metric = *experiment.metrics.at(figure.metrics.front());
    drawn_ = {&figure,      metric.label, figure.normalise_to ? "" : metric.unit,
              NormalText(), true,         {}};
    for (size_t i = 0; i < results.points().size(); ++i) {
      if (results.Picks(figure.at, i)) points_.push_back(i);
    }
    if (!figure.x.empty()) x_axes_ = results.WithThoseThatMove({figure.x});
    if (!figure.x.empty()) NumberX();
    FindNamedAxes();
  }

  DrawnFigure Draw() {
    for (const std::string& metric : figure_.metrics) {
      const size_t first = drawn_.lines.size();
      for (const auto& [choices, points] : LinesOf()) DrawLine(metric, choices, points);
      if (!experiment_.metrics.at(metric)->model.empty()) MergeFrom(first);
    }
    return std::move(drawn_);
  }

 private:
  using Line = std::pair<AxisLabels, std::vector<size_t>>;

  void NumberX() {
    labels_ = results_.LabelsOf(figure_.x);
    bool are_ranks = false;
    numbers_ = AxisNumbers(labels_, are_ranks);
    drawn_.x_is_number = !are_ranks;
    if (figure_.x_values.empty()) return;
    // A scale may have fewer values than the file, and the figure's x values are for those of the
    // file.
    if (figure_.x_values.size() != labels_.size()) {
      Diagnostics ignored;
      const auto all = AxesOf(experiment_, ignored);
      std::vector<std::string> known = all ? LabelsIn(*all) : std::vector<std::string>{};
      if (known.size() != figure_.x_values.size()) {
        return diagnostics_.Error(figure_.place, figure_.path + ".x_values",
                                  fmt::format("has {} values, but {} has {}",
                                              figure_.x_values.size(), figure_.x, known.size()));
      }
      for (size_t i = 0; i < labels_.size(); ++i) {
        const auto at = static_cast<size_t>(std::ranges::find(known, labels_[i]) - known.begin());
        if (at < known.size()) numbers_[i] = figure_.x_values[at];
      }
    } else {
      numbers_ = figure_.x_values;
    }
    drawn_.x_is_number = true;
  }

  std::vector<std::string> LabelsIn(const Points& points) const {
    std::vector<std::string> labels;
    for (size_t i = 0; i < points.size(); ++i) {
      const Value* value = points.ChoiceOf(i, figure_.x);
      const std::string label = value == nullptr ? "" : ChoiceLabel(*value);
      if (!Contains(labels, label)) labels.push_back(label);
    }
    return labels;
  }

  // A line is named by the axes asked for, and by others along which its points differ.
  void FindNamedAxes() {
    std::map<std::string, std::set<std::string>> labels;
    for (const size_t point : points_) {
      for (const auto& [axis, label] : results_.points()[point].choices) {
        labels[axis].insert(label);
      }
    }
    for (const auto& [axis, of_axis] : labels) {
      if (Contains(x_axes_, axis)) continue;
      if (of_axis.size() > 1 || Contains(figure_.lines, axis)) named_.push_back(axis);
    }
  }

  std::vector<Line> LinesOf() const {
    std::vector<Line> lines;
    for (const size_t point : points_) {
      AxisLabels choices = results_.points()[point].choices;
      std::erase_if(choices, [&](const auto& choice) { return !Contains(named_, choice.first); });
      const auto found = std::ranges::find(lines, choices, &Line::first);
      if (found != lines.end()) {
        found->second.push_back(point);
      } else {
        lines.push_back({choices, {point}});
      }
    }
    return lines;
  }

  std::string NameOf(const std::string& metric, const AxisLabels& choices) const {
    std::string name;
    for (const auto& [axis, label] : choices) {
      const std::string shown = ShownName(label, experiment_.names);
      const bool is_line = Contains(figure_.lines, axis);
      name += name.empty() ? "" : ", ";
      name += is_line ? shown : LastPart(axis) + "=" + shown;
    }
    const std::string& label = experiment_.metrics.at(metric)->label;
    if (name.empty()) return label;
    return figure_.metrics.size() == 1 ? name : fmt::format("{} ({})", name, label);
  }

  void DrawLine(const std::string& metric, const AxisLabels& choices,
                const std::vector<size_t>& points) {
    DrawnLine line{NameOf(metric, choices), metric, {}};
    for (const size_t point : points) {
      figure_.kind == FigureKind::kTime ? AddSeries(metric, point, line)
                                        : AddValue(metric, point, line);
    }
    std::ranges::stable_sort(line.points, {}, &DrawnPoint::x);
    drawn_.lines.push_back(std::move(line));
  }

  // A model does not depend on settings that only simulations have, such as the load balancer.
  void MergeFrom(size_t first) {
    const auto begin = drawn_.lines.begin() + static_cast<std::ptrdiff_t>(first);
    const bool are_same = std::all_of(begin, drawn_.lines.end(), [&](const DrawnLine& line) {
      return line.points == begin->points;
    });
    if (!are_same || drawn_.lines.size() < first + 2) return;
    drawn_.lines.resize(first + 1);
    drawn_.lines.back().name = experiment_.metrics.at(drawn_.lines.back().metric)->label;
  }

  // Returns the shown name of the line that is 1, such as "LetFlow".
  std::string NormalText() const {
    if (!figure_.normalise_to) return "";
    std::vector<std::string> names;
    for (const Value::Entry& entry : *figure_.normalise_to) {
      names.push_back(ShownName(ChoiceLabel(entry.value), experiment_.names));
    }
    return fmt::format("{}", fmt::join(names, ", "));
  }

  static DrawnPoint& PointAt(DrawnLine& line, double x, const std::string& text) {
    for (DrawnPoint& point : line.points) {
      if (point.x == x && point.x_text == text) return point;
    }
    return line.points.emplace_back(x, text);
  }

  std::string XLabelOf(size_t point) const {
    for (const auto& [axis, label] : results_.points()[point].choices) {
      if (axis == figure_.x) return label;
    }
    return "";
  }

  void AddValue(const std::string& metric, size_t point, DrawnLine& line) {
    const Reading& reading = results_.ValuesOf(metric)[point];
    if (!reading.value) return;
    const std::string label = XLabelOf(point);
    const auto index = static_cast<size_t>(std::ranges::find(labels_, label) - labels_.begin());
    const double x = index < numbers_.size() ? numbers_[index] * figure_.x_scale : 0;
    const std::optional<double> normal = NormalOf(metric, point);
    if (!normal) return;
    PointAt(line, x, ShownName(label, experiment_.names)).values[results_.points()[point].seed] =
        *reading.value / *normal;
  }

  // Returns the divisor of a point: the value of the same seed on the line that is 1.
  std::optional<double> NormalOf(const std::string& metric, size_t point) const {
    if (!figure_.normalise_to) return 1;
    const PaperResults::Point& of = results_.points()[point];
    for (const size_t other : points_) {
      if (results_.points()[other].seed != of.seed ||
          !results_.Picks(*figure_.normalise_to, other)) {
        continue;
      }
      if (OtherAxesOf(results_.points()[other]) != OtherAxesOf(of)) continue;
      return results_.ValuesOf(metric)[other].value;
    }
    return std::nullopt;
  }

  AxisLabels OtherAxesOf(const PaperResults::Point& point) const {
    AxisLabels choices = point.choices;
    std::erase_if(choices, [&](const auto& choice) {
      return std::ranges::find(*figure_.normalise_to, choice.first, &Value::Entry::key) !=
             figure_.normalise_to->end();
    });
    return choices;
  }

  void AddSeries(const std::string& metric, size_t point, DrawnLine& line) {
    if (!results_.HasResult(results_.points()[point])) return;
    const Metric& of = *experiment_.metrics.at(metric);
    const auto series = results_.ReadSeries(of, point);
    if (!series.ok()) {
      if (!diagnostics_.IsSound(of.path)) return;
      return diagnostics_.Error(of.place, of.path, MessageOf(series.status()));
    }
    std::map<double, size_t> known;
    for (size_t i = 0; i < line.points.size(); ++i) known.emplace(line.points[i].x, i);
    for (const SeriesPoint& at : *series) {
      const auto [place, is_new] = known.emplace(at.x * figure_.x_scale, line.points.size());
      if (is_new) line.points.push_back({place->first, "", {}});
      line.points[place->second].values[results_.points()[point].seed] = at.value;
    }
  }

  const Figure& figure_;
  const PaperExperiment& experiment_;
  const PaperResults& results_;
  Diagnostics& diagnostics_;
  DrawnFigure drawn_;
  std::vector<size_t> points_;
  std::vector<std::string> x_axes_;
  std::vector<std::string> labels_;  // The labels of x.
  std::vector<double> numbers_;      // The positions of the labels on the x-axis.
  std::vector<std::string> named_;
};

}  // namespace

DrawnFigure Draw(const Figure& figure, const PaperExperiment& experiment,
                 const PaperResults& results, Diagnostics& diagnostics) {
  return Drawer(figure, experiment, results, diagnostics).Draw();
}

}  // namespace heddle
