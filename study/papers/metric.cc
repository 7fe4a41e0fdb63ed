// SPDX-License-Identifier: Apache-2.0

#include "study/papers/metric.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "settings/number_text.h"
#include "study/papers/map_reader.h"
#include "study/papers/model_metric.h"

namespace heddle {
namespace {

const std::vector<std::string> kTakes = {"value", "sum", "mean", "min", "max",
                                         "std",   "p50", "p95",  "p99", "count"};

// Returns true if the texts or their numbers are equal: 1 equals 1.0.
bool AreSame(std::string_view a, std::string_view b) {
  if (a == b) return true;
  const auto number = NumberFrom<double>(a);
  return number && number == NumberFrom<double>(b);
}

class Reader {
 public:
  Reader(const std::vector<Value::Entry>& entries, std::string path, const Metrics& known,
         Diagnostics& diagnostics)
      : entries_(entries), path_(std::move(path)), known_(known), diagnostics_(diagnostics) {}

  Metrics Read() {
    for (const Value::Entry& entry : entries_) Named(entry.key, entry.key_place, path_);
    return std::move(metrics_);
  }

 private:
  using Pointer = std::shared_ptr<const Metric>;

  // Returns the metric called `name`; null, with an error, if there is none.
  Pointer Named(const std::string& name, const Place& place, const std::string& path) {
    if (const auto found = metrics_.find(name); found != metrics_.end()) return found->second;
    const auto entry = std::ranges::find(entries_, name, &Value::Entry::key);
    if (entry == entries_.end()) return Known(name, place, path);
    if (!under_way_.insert(name).second) {
      diagnostics_.Error(place, path, fmt::format("\"{}\" is defined by itself", name));
      return nullptr;
    }
    Pointer metric = One(entry->value, path_ + "." + name);
    under_way_.erase(name);
    metrics_.emplace(name, metric);
    return metric;
  }

  Pointer Known(const std::string& name, const Place& place, const std::string& path) {
    if (const auto found = known_.find(name); found != known_.end()) return found->second;
    std::vector<std::string> names;
    for (const Value::Entry& entry : entries_) names.push_back(entry.key);
    for (const auto& [known, unused] : known_) names.push_back(known);
    diagnostics_.Error(place, path,
                       fmt::format("no metric is called \"{}\"{}", name, Suggestion(name, names)));
    return nullptr;
  }

  // Reads a metric, or the name of one.
  Pointer Any(const Value& value, const std::string& path) {
    if (value.kind == Value::Kind::kScalar) return Named(value.text, value.place, path);
    return One(value, path);
  }

  Pointer One(const Value& value, const std::string& path) {
    auto metric = std::make_shared<Metric>();
    MapReader map(value, path, diagnostics_);
    metric->place = value.place;
    metric->path = path;
    metric->label = map.Text("label").value_or(LastPart(path));
    metric->unit = map.Text("unit").value_or("");
    ReadSource(map, *metric);
    metric->plus = Terms(map, "plus");
    metric->minus = Terms(map, "minus");
    metric->divide_by = Terms(map, "divide_by");
    metric->or_less = Terms(map, "or_less");
    metric->or_more = Terms(map, "or_more");
    metric->scale = map.Number("scale").value_or(1);
    map.RefuseOthers();
    return metric;
  }

  void ReadSource(MapReader& map, Metric& metric) {
    metric.file = map.Text("file").value_or("");
    metric.model = map.Word("model", ModelNames()).value_or("");
    if (const Value* of = map.Find("of")) metric.of = Any(*of, map.PathOf("of"));
    if (map.Has("file") + map.Has("model") + map.Has("of") != 1) {
      diagnostics_.Error(metric.place, metric.path,
                         "expected one of: file, such as summary.csv; of, another metric; model");
    }
    if (map.Has("file")) ReadRows(map, metric);
    if (map.Has("model")) ReadModel(map, metric);
  }

  void ReadRows(MapReader& map, Metric& metric) {
    if (metric.file.find('/') != std::string::npos)
      map.Error("file", "expected a name, not a path");
    if (const auto word = map.Word("take", kTakes)) {
      metric.take = static_cast<Take>(std::ranges::find(kTakes, *word) - kTakes.begin());
    }
    metric.column = metric.take == Take::kCount ? map.Text("column").value_or("")
                                                : map.RequireText("column", "the name of one");
    for (const Value::Entry& entry : map.Entries("where")) {
      metric.where.push_back(ReadCondition(entry, map.PathOf("where") + "." + entry.key));
    }
    metric.group = map.Texts("group");
    metric.empty = map.Number("empty");
    metric.x = map.Text("x").value_or("");
    const bool is_json = metric.file.ends_with(".json");
    for (const char* key : {"where", "group", "x"}) {
      if (is_json && map.Has(key)) map.Error(key, "a JSON file has no rows");
    }
  }

  Condition ReadCondition(const Value::Entry& entry, const std::string& path) {
    Condition condition;
    condition.column = entry.key;
    if (entry.value.kind != Value::Kind::kMap) {
      condition.values = Texts(entry.value, path);
      return condition;
    }
    MapReader map(entry.value, path, diagnostics_);
    condition.above = map.Number("above");
    condition.up_to = map.Number("up_to");
    condition.not_any = map.Texts("not");
    map.RefuseOthers();
    return condition;
  }

  std::vector<std::string> Texts(const Value& value, const std::string& path) {
    std::vector<std::string> texts;
    for (const Value& item : ItemsOf(value)) {
      if (const auto text = TextOf(item, path, diagnostics_)) texts.push_back(*text);
    }
    return texts;
  }

  Metric::Terms Terms(MapReader& map, const std::string& key) {
    Metric::Terms terms;
    const Value* value = map.Find(key);
    if (value == nullptr) return terms;
    for (const Value& item : ItemsOf(*value)) {
      if (Pointer term = Any(item, map.PathOf(key))) terms.push_back(std::move(term));
    }
    return terms;
  }

  void ReadModel(MapReader& map, Metric& metric) {
    metric.column = map.RequireText("column", "a column of heddle model's output");
    for (const Value::Entry& entry : map.Entries("set")) {
      metric.inputs.push_back(ReadInput(entry, map.PathOf("set") + "." + entry.key));
    }
    if (!metric.model.empty()) CheckModel(metric, diagnostics_);
  }

  ModelInput ReadInput(const Value::Entry& entry, const std::string& path) {
    ModelInput input{entry.key, entry.value, "", {}};
    if (entry.value.kind != Value::Kind::kMap) return input;
    MapReader map(entry.value, path, diagnostics_);
    input.setting = map.RequireText("setting", "the path of a setting, such as workload[0].flows");
    for (const Value::Entry& meaning : map.Entries("values")) {
      const std::string where = map.PathOf("values") + "." + meaning.key;
      input.values[meaning.key] = TextOf(meaning.value, where, diagnostics_).value_or("");
    }
    map.RefuseOthers();
    return input;
  }

  const std::vector<Value::Entry>& entries_;
  const std::string path_;
  const Metrics& known_;
  Diagnostics& diagnostics_;
  Metrics metrics_;
  std::set<std::string> under_way_;
};

}  // namespace

std::string LastPart(const std::string& path) { return path.substr(path.find_last_of('.') + 1); }

bool Condition::Holds(std::string_view cell) const {
  const auto is_cell = [&](const std::string& value) { return AreSame(value, cell); };
  if (!values.empty() && std::ranges::none_of(values, is_cell)) return false;
  if (std::ranges::any_of(not_any, is_cell)) return false;
  if (!above && !up_to) return true;
  const auto number = NumberFrom<double>(cell);
  return number && (!above || *number > *above) && (!up_to || *number <= *up_to);
}

Metrics ReadMetrics(const std::vector<Value::Entry>& entries, const std::string& path,
                    const Metrics& known, Diagnostics& diagnostics) {
  return Reader(entries, path, known, diagnostics).Read();
}

}  // namespace heddle
