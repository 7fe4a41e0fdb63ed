// SPDX-License-Identifier: Apache-2.0

#include "experiment/experiment_schema.h"

#include <string>

#include "experiment/experiment.h"
#include "settings/schema.h"

namespace heddle {
namespace {

// From settings to lists of their values, or to ranges (experiment/points.h,
// settings/progression.h).
ExtraKey SweepKey() {
  const std::string axis =
      R"({"anyOf":[{"type":"array","minItems":1},{"type":"object","required":["from","to"],)"
      R"("properties":{"from":{"type":["number","string"]},"to":{"type":["number","string"]},)"
      R"("step":{"type":["number","string"]},"points":{"type":"integer","minimum":2},)"
      R"("scale":{"enum":["linear","log"]}},"additionalProperties":false}]})";
  return {"sweep",
          R"({"description":"One run for each combination, as in sweep: {lb: [ecmp, rps]}.",)"
          R"("type":["object","null"],"properties":{)"
          R"("seeds":{"description":"How many seeds, from the experiment's on.",)"
          R"("type":"integer","minimum":1},)"
          R"("together":{"description":"Settings that take their next values together.",)"
          R"("type":"array","items":{"type":"object","additionalProperties":)" +
              axis +
              R"(}},"exclude":{"description":"Combinations to leave out.",)"
              R"("type":"array","items":{"type":"object"}}},"additionalProperties":)" +
              axis + "}"};
}

}  // namespace

std::string ExperimentSchema() {
  ExperimentSettings settings;
  return SchemaOf(
      "A Heddle experiment", [&](Fields& fields) { settings.Declare(fields); }, SweepKey());
}

}  // namespace heddle
