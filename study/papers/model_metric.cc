// SPDX-License-Identifier: Apache-2.0

#include "study/papers/model_metric.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <utility>

#include "core/units.h"
#include "settings/patch.h"
#include "settings/reader.h"
#include "study/papers/model_inputs.h"

namespace heddle {
namespace {

// A model's predictions, by columns of `heddle model`.
using Predictions = std::vector<std::pair<std::string, double>>;

double Milliseconds(Duration duration) { return Seconds(duration) * 1e3; }

Predictions Ask(const PdlbInputs& inputs) {
  const PdlbPrediction found =
      PredictPdlb(inputs.Case(), static_cast<int>(inputs.granularity), inputs.form);
  return {{"mean_window", found.mean_window},
          {"mean_cells", found.mean_cells},
          {"fct_ms", Milliseconds(found.fct)}};
}

Predictions Ask(const TrInputs& inputs) {
  const TrPrediction found = PredictTr(inputs.Case());
  return {{"p_fr", found.disorder},
          {"window", found.window},
          {"round_us", Microseconds(found.round)},
          {"f_rps_ms", Milliseconds(found.f_rps)},
          {"f_tr_ms", Milliseconds(found.f_tr)},
          {"f_tr_consistent_ms", Milliseconds(found.f_tr_consistent)}};
}

template <class Inputs>
Predictions Run(const Value& settings, Diagnostics& diagnostics) {
  Inputs inputs;
  ReadSettings(
      settings, [&](Fields& fields) { inputs.Declare(fields); }, diagnostics);
  return diagnostics.ok() ? Ask(inputs) : Predictions{};
}

struct Model {
  std::string name;
  std::function<Predictions(const Value&, Diagnostics&)> run;
};

const std::array<Model, 2>& Models() {
  static const std::array<Model, 2> kModels = {Model{"pdlb", Run<PdlbInputs>},
                                               Model{"tr", Run<TrInputs>}};
  return kModels;
}

Value MapAt(const Place& place) {
  Value map;
  map.kind = Value::Kind::kMap;
  map.place = place;
  return map;
}

std::optional<double> Column(const Metric& metric, const Predictions& predictions,
                             Diagnostics& diagnostics) {
  std::vector<std::string> known;
  for (const auto& [name, value] : predictions) {
    if (name == metric.column) return value;
    known.push_back(name);
  }
  if (diagnostics.ok()) {
    diagnostics.Error(metric.place, metric.path + ".column",
                      fmt::format("the model predicts no \"{}\"{}", metric.column,
                                  Suggestion(metric.column, known)));
  }
  return std::nullopt;
}

std::optional<double> RunWith(const Metric& metric, const Value& settings,
                              Diagnostics& diagnostics) {
  const auto model = std::ranges::find(Models(), metric.model, &Model::name);
  return Column(metric, model->run(settings, diagnostics), diagnostics);
}

// Returns the input's value for a point with this document.
absl::StatusOr<Value> InputOf(const ModelInput& input, const Value& document) {
  if (input.setting.empty()) return input.value;
  const Value* setting = FindPath(document, input.setting);
  if (setting == nullptr || setting->kind != Value::Kind::kScalar) {
    return absl::NotFoundError(
        fmt::format("the point's document has no value at {}", input.setting));
  }
  if (input.values.empty()) return Value::Scalar(setting->text, input.value.place);
  const auto meaning = input.values.find(setting->text);
  if (meaning != input.values.end()) return Value::Scalar(meaning->second, input.value.place);
  return absl::NotFoundError(
      fmt::format("values: has no entry for {} = {}", input.setting, setting->text));
}

}  // namespace

std::vector<std::string> ModelNames() {
  std::vector<std::string> names;
  for (const Model& model : Models()) names.push_back(model.name);
  return names;
}

// Inputs that depend on a point keep their defaults here.
void CheckModel(const Metric& metric, Diagnostics& diagnostics) {
  Diagnostics problems;
  Value settings = MapAt(metric.place);
  for (const ModelInput& input : metric.inputs) {
    if (input.setting.empty()) {
      settings.entries.push_back({input.name, input.value.place, input.value});
    }
  }
  RunWith(metric, settings, problems);
  diagnostics.Take(problems);
}

absl::StatusOr<double> Predict(const Metric& metric, const Value& document) {
  Value settings = MapAt(metric.place);
  for (const ModelInput& input : metric.inputs) {
    const auto value = InputOf(input, document);
    if (!value.ok()) return value.status();
    settings.entries.push_back({input.name, input.value.place, *value});
  }
  Diagnostics problems;
  const auto predicted = RunWith(metric, settings, problems);
  if (!problems.ok()) return absl::InvalidArgumentError(problems.errors().front());
  return *predicted;
}

}  // namespace heddle
