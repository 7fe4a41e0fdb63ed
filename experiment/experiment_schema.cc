// SPDX-License-Identifier: Apache-2.0

#include "experiment/experiment_schema.h"

#include "experiment/experiment.h"
#include "settings/schema.h"

namespace heddle {
namespace {

// From settings to lists of their values.
ExtraKey SweepKey() {
  return {"sweep",
          R"({"description":"One run for each combination, as in sweep: {lb: [ecmp, rps]}.",)"
          R"("type":["object","null"],"additionalProperties":{"type":"array","minItems":1}})"};
}

}  // namespace

std::string ExperimentSchema() {
  ExperimentSettings settings;
  return SchemaOf(
      "A Heddle experiment", [&](Fields& fields) { settings.Declare(fields); }, SweepKey());
}

}  // namespace heddle
