// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <string>

#include "settings/json.h"
#include "settings/patch.h"
#include "settings/writer.h"
#include "settings/yaml.h"
#include "tests/fuzz/checks.h"
#include "tests/fuzz/targets.h"

namespace heddle {
namespace {

// YAML reads a key of more than 1024 bytes only if a question mark is before it; no setting has
// such a name, so no such document is ever written.
bool HasLongKeys(const Value& value) {
  constexpr size_t kLong = 160;  // Escaped, it is up to six times as long.
  return std::ranges::any_of(value.items, HasLongKeys) ||
         std::ranges::any_of(value.entries, [](const Value::Entry& entry) {
           return entry.key.size() > kLong || HasLongKeys(entry.value);
         });
}

void RequireReadsBack(const Value& document) {
  if (HasLongKeys(document)) return;
  const std::string written = WriteYaml(document);
  Diagnostics diagnostics;
  const std::optional<Value> again = ParseYaml(written, "written.yaml", diagnostics);
  Require(again.has_value() && diagnostics.ok(),
          "what is written can be read: " + diagnostics.Report() + written);
  Require(AreEqual(document, *again), "what is written reads the same: " + written);
}

}  // namespace

void FuzzYaml(FuzzInput input) {
  Diagnostics diagnostics;
  const std::optional<Value> document = ParseYaml(TextOf(input), "fuzz.yaml", diagnostics);
  RequirePlaces(diagnostics);
  Require(document || !diagnostics.ok(), "a document that is refused has an error");
  if (document && document->kind == Value::Kind::kMap) RequireReadsBack(*document);
}

void FuzzArgument(FuzzInput input) {
  static const Value document = [] {
    Diagnostics diagnostics;
    return ParseYaml(
               "seed: 1\nlb: {kind: letflow, gap: 1us}\nworkload: [{load: 0.5}, [1, 2], null]\n",
               "fuzz.yaml", diagnostics)
        .value();
  }();
  const std::string argument = TextOf(input);
  Value patched = document;
  Diagnostics diagnostics;
  PatchFromArgument(patched, argument, diagnostics);
  RequirePlaces(diagnostics);
  if (!diagnostics.ok()) return;
  const std::string path = argument.substr(0, argument.find('='));
  const std::optional<Value> value = ValueOfArgument(argument, diagnostics);
  const Value* set = FindPath(patched, path);
  Require(value && set != nullptr, "what has been set is there");
  Require(AreEqual(*value, *set), "what has been set is what was given");
  RequireReadsBack(patched);
}

void FuzzJson(FuzzInput input) {
  const absl::StatusOr<FlatJson> flat = ParseJson(TextOf(input));
  if (!flat.ok()) {
    Require(!flat.status().message().empty(), "what is refused has an error");
    return;
  }
  JsonMembers members;
  for (const auto& [path, text] : *flat) members.emplace_back(path, QuoteJson(text));
  const std::string json = JsonObject(members);
  Require(*ParseJson(json) == *flat, "what is written reads the same: " + json);
  Require(*ParseJson(IndentJson(json)) == *flat, "and so it does line by line");
}

}  // namespace heddle
