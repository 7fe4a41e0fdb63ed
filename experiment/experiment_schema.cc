// SPDX-License-Identifier: Apache-2.0

#include "experiment/experiment_schema.h"

#include <fmt/format.h>

#include <string_view>

#include "experiment/experiment.h"
#include "experiment/resolved.h"
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
      "together": {{"description": "Settings that take their next values together.", "type": "array",
                   "items": {{"type": "object", "additionalProperties": {0}}}}},
      "exclude": {{"description": "Combinations to leave out.", "type": "array",
                  "items": {{"type": "object", "minProperties": 1}}}},
      "seeds": {{"description": "The number of seeds for each combination, from the experiment's seed on.",
                "type": ["integer", "string"], "minimum": 1}},
      "labels": {{"description": "What tables and figures show for values, as in {{lb: {{letflow: LetFlow}}}}.",
                 "type": "object", "additionalProperties":
                 {{"type": "object", "additionalProperties": {{"type": ["string", "number", "boolean"]}}}}}}}},
    "additionalProperties": {0}}})",
                                kAxis),
          .brings_any = "together"};
}

// The schema of the key `scales`, which ExperimentFile reads.
ExtraKey ScalesKey() {
  return {.name = "scales", .schema = R"({
    "description": "Named changes of settings, such as {small: {\"workload[0].flows\": 100}} for --scale small.",
    "type": "object", "propertyNames": {"not": {"const": "full"}},
    "additionalProperties": {"type": "object"}})"};
}

ExtraKey RelativeToKey() {
  return {.name = "relative_to", .schema = R"({
    "description": "Folder from which relative paths in this file start; by default the file's folder.",
    "type": "string"})"};
}

ExtraKey ResolvedKey() {
  return {.name = kResolvedSection, .schema = R"({
    "description": "What the settings of a run came to, as Heddle writes it to run.yaml; it is not read.",
    "type": "object"})"};
}

}  // namespace

std::string ExperimentSchema() {
  ExperimentSettings settings;
  return SchemaOf("A Heddle experiment", [&](Fields& fields) { settings.Declare(fields); },
                  SweepKey(), {ScalesKey(), RelativeToKey(), ResolvedKey()});
}

}  // namespace heddle
