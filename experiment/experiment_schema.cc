// SPDX-License-Identifier: Apache-2.0

#include "experiment/experiment_schema.h"

#include <fmt/format.h>

#include <string_view>

#include "experiment/experiment.h"
#include "settings/schema.h"

namespace heddle {
namespace {

// The values of a setting: a list, or a range (settings/progression.h).
constexpr std::string_view kAxis = R"({"anyOf": [
  {"type": "array", "minItems": 1},
  {"type": "object", "required": ["from", "to"], "additionalProperties": false,
   "properties": {"from": {"type": ["number", "string"]}, "to": {"type": ["number", "string"]},
                  "step": {"type": ["number", "string"]},
                  "points": {"type": ["integer", "string"], "minimum": 2}, "scale": {"enum": ["linear", "log"]}}}]})";

// The schema of the key `sweep`, which Points reads (experiment/points.h).
ExtraKey SweepKey() {
  return {.name = "sweep",
          .schema = fmt::format(R"({{
    "description": "One run for each combination, as in sweep: {{lb: [ecmp, rps]}}.",
    "type": ["object", "null"],
    "properties": {{
      "together": {{"description": "Settings that change together.", "type": "array",
                   "items": {{"type": "object", "additionalProperties": {0}}}}},
      "exclude": {{"description": "Combinations that are left out.", "type": "array",
                  "items": {{"type": "object", "minProperties": 1}}}},
      "seeds": {{"description": "So many seeds of each, from the experiment's on.",
                "type": ["integer", "string"], "minimum": 1}}}},
    "additionalProperties": {0}}})",
                                kAxis),
          .brings_any = "together"};
}

// The schema of the key `scales`, which ExperimentFile reads.
ExtraKey ScalesKey() {
  return {.name = "scales", .schema = R"({
    "description": "Changes by name, as in {small: {\"workload[0].flows\": 100}}, for --scale small.",
    "type": "object", "propertyNames": {"not": {"const": "full"}},
    "additionalProperties": {"type": "object"}})"};
}

ExtraKey RelativeToKey() {
  return {.name = "relative_to", .schema = R"({
    "description": "Folder where relative paths in this file start, if not its own.",
    "type": "string"})"};
}

}  // namespace

std::string ExperimentSchema() {
  ExperimentSettings settings;
  return SchemaOf("A Heddle experiment", [&](Fields& fields) { settings.Declare(fields); },
                  SweepKey(), {ScalesKey(), RelativeToKey()});
}

}  // namespace heddle
