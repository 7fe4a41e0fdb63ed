// SPDX-License-Identifier: Apache-2.0

#include "study/papers/claim_part.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "study/papers/map_reader.h"

namespace heddle {
namespace {

const std::vector<std::string> kKinds = {"none", "trend",   "ordering", "number",
                                         "zero", "nonzero", "model"};
const std::vector<std::string> kShapes = {"up", "down", "flat", "down_up", "up_down"};
const std::vector<std::string> kQuantities = {"improvement", "gain", "ratio", "difference",
                                              "value"};
const std::vector<std::string> kAmong = {"each", "max", "min", "mean"};

Selection SelectionOf(const Value::Entry& entry) { return {entry}; }

class PartReader {
 public:
  PartReader(const Value& value, const std::string& path, const Metrics& metrics,
             Diagnostics& diagnostics)
      : value_(value),
        map_(value, path, diagnostics),
        metrics_(metrics),
        diagnostics_(diagnostics) {}

  // `others` are keys of the claim around the part, which are read elsewhere.
  ClaimPart Read(const std::vector<std::string>& others) {
    for (const std::string& key : others) map_.Find(key);
    part_.place = value_.place;
    part_.path = map_.path();
    map_.Require("kind", fmt::format("{}", fmt::join(kKinds, " | ")));
    const auto kind = map_.Word("kind", kKinds);
    if (!kind) return part_;
    part_.kind = EnumOf<ClaimKind>(kKinds, *kind);
    ReadKind();
    map_.RefuseOthers();
    return part_;
  }

 private:
  void ReadKind() {
    if (part_.kind == ClaimKind::kNone) {
      part_.because = map_.RequireText("because", "why it cannot be judged");
      map_.Find("metric");
      return;
    }
    part_.metric = MetricAt("metric", metrics_);
    part_.at = map_.Entries("at");
    if (part_.kind == ClaimKind::kTrend) ReadTrend();
    if (part_.kind == ClaimKind::kOrdering) ReadOrdering();
    if (part_.kind == ClaimKind::kNumber) ReadNumber();
    if (part_.kind == ClaimKind::kModel) ReadModel();
  }

  std::string MetricAt(const std::string& key, const Metrics& metrics) {
    const std::string name = map_.RequireText(key, "the name of a metric");
    if (name.empty() || metrics.contains(name)) return name;
    std::vector<std::string> known;
    for (const auto& [metric, unused] : metrics) known.push_back(metric);
    map_.Error(key, fmt::format("no metric is called \"{}\"{}", name, Suggestion(name, known)));
    return name;
  }

  void ReadAlong() { part_.along = map_.RequireText("along", "an axis of the sweep"); }

  void ReadTrend() {
    ReadAlong();
    map_.Require("goes", fmt::format("{}", fmt::join(kShapes, " | ")));
    if (const auto word = map_.Word("goes", kShapes)) part_.goes = EnumOf<Shape>(kShapes, *word);
    if (part_.goes == Shape::kFlat) part_.flat = map_.Number("within").value_or(part_.flat);
    if (map_.Has("of") || map_.Has("than_metric") || map_.Has("than_experiment")) ReadQuantity();
  }

  // --- Sides ---

  void ReadOther() {
    if (map_.Has("than_metric")) part_.than_metric = MetricAt("than_metric", metrics_);
    part_.than_experiment = map_.Text("than_experiment").value_or("");
  }

  bool HasOther() const { return !part_.than_metric.empty() || !part_.than_experiment.empty(); }

  void AddAxis(const std::string& axis) {
    if (std::ranges::find(part_.axes, axis) == part_.axes.end()) part_.axes.push_back(axis);
  }

  // Reads a side: a pattern on the compared axis, or a map from axes to patterns.
  Side SideOf(const Value& value) {
    if (value.kind == Value::Kind::kScalar && value.text == "all") return {};
    if (value.kind == Value::Kind::kMap && value.Find("kind") == nullptr) {
      for (const Value::Entry& entry : value.entries) AddAxis(entry.key);
      return value.entries;
    }
    AddAxis(axis_);
    return SelectionOf({axis_, value.place, value});
  }

  std::vector<Side> SidesOf(const Value& value) {
    std::vector<Side> sides;
    for (const Value& item : ItemsOf(value)) sides.push_back(SideOf(item));
    return sides;
  }

  // `first` and `second` are keys.
  void ReadSides(const std::string& first, const std::string& second) {
    axis_ = map_.Text("axis").value_or("lb");
    ReadOther();
    const Value* of = map_.Find(first);
    part_.firsts = of == nullptr ? std::vector<Side>{Side{}} : SidesOf(*of);
    const Value* over = map_.Find(second);
    if (over == nullptr) {
      if (!HasOther()) {
        map_.Error("", fmt::format("{} is missing; expected: a value of the axis {}, several, or "
                                   "others; or than_metric or than_experiment",
                                   second, axis_));
      }
      part_.axes.clear();
      return;
    }
    part_.against_others = over->kind == Value::Kind::kScalar && over->text == "others";
    if (!part_.against_others) part_.seconds = SidesOf(*over);
    if (const Value* except = map_.Find("except")) part_.except = SidesOf(*except);
  }

  void ReadOrdering() {
    part_.or_equal = map_.Flag("or_equal").value_or(false);
    if (const Value* ascending = map_.Find("ascending")) {
      axis_ = map_.Text("axis").value_or("lb");
      part_.firsts = SidesOf(*ascending);
      part_.neighbours = true;
      if (part_.firsts.size() < 2) map_.Error("ascending", "expected a list of at least two");
      return;
    }
    part_.factor = map_.Number("factor").value_or(1);
    const auto is = map_.Word(
        "is",
        {"higher", "lower"});  // Compares every point with itself by another metric or experiment.
    part_.higher = is ? *is == "higher" : map_.Has("higher");
    if (map_.Has("is") + map_.Has("higher") + map_.Has("lower") != 1) {
      map_.Error("",
                 "expected one of: higher, lower, ascending; or is, with than_metric or "
                 "than_experiment");
    }
    ReadSides(part_.higher ? "higher" : "lower", "than");
  }

  // --- Numbers ---

  void ReadQuantity() {
    const auto word = map_.Word("quantity", kQuantities);
    const bool compares = map_.Has("of") || map_.Has("than_metric") || map_.Has("than_experiment");
    part_.quantity = word       ? EnumOf<Quantity>(kQuantities, *word)
                     : compares ? Quantity::kImprovement
                                : Quantity::kValue;
    if (compares != (part_.quantity != Quantity::kValue)) {
      map_.Error("quantity", compares ? "a value has one side only; remove `of`"
                                      : "needs two sides: of and over, or than_metric");
    }
    if (compares) ReadSides("of", "over");
  }

  void ReadNumber() {
    ReadQuantity();
    if (const auto word = map_.Word("take", kAmong)) part_.take = EnumOf<Among>(kAmong, *word);
    part_.target.at_most = map_.Number("at_most");
    part_.target.at_least = map_.Number("at_least");
    const bool bounded = part_.target.at_most || part_.target.at_least;
    if (bounded == map_.Has("value")) {
      map_.Error("", "expected one of: value; at_most or at_least, or both");
    }
    // For an improvement `within` is in percentage points, for a ratio or value it is a share.
    part_.target.absolute =
        part_.quantity == Quantity::kImprovement || part_.quantity == Quantity::kGain;
    part_.target.within = map_.Number("within").value_or(part_.target.within);
    part_.target.describes = part_.quantity == Quantity::kRatio && !part_.than_metric.empty();
    if (const Value* value = map_.Find("value")) ReadValue(*value);
  }

  void ReadValue(const Value& value) {
    if (value.kind != Value::Kind::kList) {
      part_.target.value = NumberOf(value, map_.PathOf("value"), diagnostics_);
      return;
    }
    if (value.items.size() != 2) {
      return map_.Error("value", "expected a number, or the smallest and the greatest of several");
    }
    part_.take = Among::kRange;
    part_.high_target = part_.target;
    part_.target.value = NumberOf(value.items[0], map_.PathOf("value"), diagnostics_);
    part_.high_target.value = NumberOf(value.items[1], map_.PathOf("value"), diagnostics_);
  }

  void ReadModel() {
    ReadAlong();
    part_.than_metric = MetricAt("than_metric", metrics_);
    part_.correlation_above = map_.Number("correlation_above").value_or(part_.correlation_above);
    part_.interior_minimum = map_.Flag("interior_minimum").value_or(false);
  }

  const Value& value_;
  MapReader map_;
  const Metrics& metrics_;
  Diagnostics& diagnostics_;
  std::string axis_;
  ClaimPart part_;
};

}  // namespace

ClaimPart ReadClaimPart(const Value& value, const std::string& path, const Metrics& metrics,
                        const std::vector<std::string>& others, Diagnostics& diagnostics) {
  return PartReader(value, path, metrics, diagnostics).Read(others);
}

}  // namespace heddle
