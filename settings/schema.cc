// SPDX-License-Identifier: Apache-2.0

#include "settings/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "settings/json.h"
#include "settings/nameless_kind.h"
#include "settings/yaml.h"

namespace heddle {
namespace {

using Type = ScalarShape::Type;

// --- Scalars ---

// A decimal number with a unit, as settings/quantity.h reads it.
std::string WithUnit(std::string_view units) {
  return JsonObject({{"type", "\"string\""},
                     {"pattern", QuoteJson(fmt::format("^-?[0-9]+(\\.[0-9]+)?({})$", units))}});
}

// A number, or a number in quotes. Bounds apply only to numbers without quotes.
std::string Numeric(std::string_view type, std::string_view pattern, const ScalarShape& shape) {
  JsonMembers members = {{"type", QuoteJson(type)}};
  const auto add = [&](const char* key, const std::optional<double>& bound) {
    if (bound) members.emplace_back(key, fmt::format("{}", *bound));
  };
  add("exclusiveMinimum", shape.above);
  add("minimum", shape.at_least);
  add("maximum", shape.at_most);
  return JsonObject(
      {{"anyOf", JsonArray({JsonObject(members), JsonObject({{"type", "\"string\""},
                                                             {"pattern", QuoteJson(pattern)}})})}});
}

constexpr std::string_view kInteger = "^-?(0|[1-9][0-9]*)$";
constexpr std::string_view kDecimal = "-?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][-+]?[0-9]+)?";

std::string Quantity(const ScalarShape& shape) {
  switch (shape.type) {
    case Type::kDuration:
      return WithUnit("ps|ns|us|ms|s");
    case Type::kRate:
      return WithUnit("bps|Kbps|Mbps|Gbps|Tbps");
    case Type::kSize:
      return WithUnit("B|KB|KiB|MB|MiB|GB|GiB|TB");
    case Type::kInteger:
      return Numeric("integer", kInteger, shape);
    case Type::kNumber:
      return Numeric("number", fmt::format("^{0}(/{0})?$", kDecimal), shape);
    case Type::kBoolean:
      return "{\"enum\":[true,false,\"true\",\"false\"]}";
    case Type::kPattern:
      return JsonObject({{"type", "\"string\""}, {"pattern", QuoteJson(shape.pattern)}});
    case Type::kText:
      return "{\"type\":[\"string\",\"number\",\"boolean\"]}";
    case Type::kWord:
      break;
  }
  return "false";
}

// Adds the forms in which YAML may read a word that is not quoted.
void AddForms(const std::string& word, std::vector<std::string>& forms) {
  forms.push_back(QuoteJson(word));
  const bool is_number = !word.empty() && word.size() < 10 &&
                         word.find_first_not_of("0123456789") == std::string::npos;
  if (word == "true" || word == "false" || is_number) forms.push_back(word);
}

std::string OfScalar(const ScalarShape& shape) {
  std::vector<std::string> forms;
  for (const std::string& word : shape.words) AddForms(word, forms);
  const std::string words = JsonObject({{"enum", JsonArray(forms)}});
  if (shape.type == Type::kWord) return words;
  if (shape.words.empty()) return Quantity(shape);
  return JsonObject({{"anyOf", JsonArray({Quantity(shape), words})}});
}

// A default as a user would type it.
std::string Typed(const ScalarShape& shape, const std::string& text) {
  const bool is_word = std::ranges::find(shape.words, text) != shape.words.end();
  const bool is_plain =
      shape.type == Type::kInteger || shape.type == Type::kNumber || shape.type == Type::kBoolean;
  return is_plain && !is_word ? text : QuoteJson(text);
}

// Adds `members` at the front of `schema`, which is an object.
std::string With(const JsonMembers& members, const std::string& schema) {
  const std::string front = JsonObject(members);
  if (schema == "{}") return front;
  return front.substr(0, front.size() - 1) + (members.empty() ? "" : ",") + schema.substr(1);
}

// --- Maps ---

// The schemas of kinds, by the name that references use.
using Definitions = std::map<std::string, std::string>;

class SchemaWriter final : public Fields {
 public:
  explicit SchemaWriter(Definitions& definitions) : definitions_(definitions) {}

  JsonMembers& properties() { return properties_; }
  const std::vector<std::string>& required() const { return required_; }

 protected:
  void OnScalar(std::string_view name, const Scalar& scalar, Presence presence,
                std::string_view meaning) override {
    JsonMembers notes = {{"description", Described(meaning, scalar.type)}};
    const std::string preset = presence == Presence::kRequired ? "" : scalar.text();
    if (!preset.empty()) notes.emplace_back("default", Typed(scalar.shape, preset));
    Add(name, presence, With(notes, OfScalar(scalar.shape)));
  }

  void OnScalars(std::string_view name, size_t count, const std::function<void(size_t)>& resize,
                 const std::function<Scalar(size_t)>& at, Presence presence,
                 std::string_view meaning, const std::string& type) override {
    JsonMembers notes = {{"description", Described(meaning, type)}, {"type", "\"array\""}};
    std::vector<std::string> preset;
    for (size_t i = 0; i < count; ++i) preset.push_back(Typed(at(i).shape, at(i).text()));
    if (presence == Presence::kOptional) notes.emplace_back("default", JsonArray(preset));
    resize(1);  // Makes an element to describe; these settings are not used.
    notes.emplace_back("items", OfScalar(at(0).shape));
    Add(name, presence, JsonObject(notes));
  }

  void OnBlock(std::string_view name, const Block& block, Presence presence,
               std::string_view meaning) override {
    const JsonMembers notes = {{"description", QuoteJson(meaning)}};
    Add(name, presence, With(notes, OfBlock(block)));
  }

  void OnBlocks(std::string_view name, size_t /*count*/, const std::function<void(size_t)>& resize,
                const std::function<Block(size_t)>& at, Presence presence,
                std::string_view meaning) override {
    resize(1);
    Add(name, presence,
        JsonObject({{"description", QuoteJson(meaning)},
                    {"type", "\"array\""},
                    {"items", OfBlock(at(0))}}));
  }

 private:
  static std::string Described(std::string_view meaning, std::string_view type) {
    return QuoteJson(fmt::format("{} ({})", meaning, type));
  }

  void Add(std::string_view name, Presence presence, const std::string& schema) {
    properties_.emplace_back(name, schema);
    if (presence == Presence::kRequired) required_.emplace_back(name);
  }

  std::string OfBlock(const Block& block) {
    if (block.kinds != nullptr) return OfKinds(block);
    return MapOf(block, {}, {});
  }

  // The schema of a map, of one kind or without kinds.
  std::string MapOf(const Block& block, const JsonMembers& kind, const JsonMembers& required) {
    SchemaWriter inner(definitions_);
    inner.properties_ = kind;
    block.declare(inner);
    JsonMembers members = {{"type", "\"object\""},
                           {"properties", JsonObject(inner.properties_)},
                           {"additionalProperties", "false"}};
    members.insert(members.end(), required.begin(), required.end());
    return JsonObject(members);
  }

  // The schema of a choice among kinds. A name alone is short for a map with only `kind`.
  std::string OfKinds(const Block& block) {
    const std::vector<std::string> names = NamesToWrite(*block.kinds);
    const std::string chosen = block.kind();
    std::vector<std::string> forms = {JsonObject({{"enum", JsonStrings(names)}})};
    if (HasNamelessKind(*block.kinds)) {
      block.choose("");
      forms.push_back(MapOf(block, {}, {}));
    }
    for (const std::string& kind : names) {
      std::string name = fmt::format("{}.{}", block.kinds->noun(), kind);
      std::ranges::replace(name, ' ', '_');
      if (definitions_.try_emplace(name).second) {
        block.choose(kind);
        definitions_[name] = MapOf(block, {{"kind", JsonObject({{"const", QuoteJson(kind)}})}},
                                   {{"required", "[\"kind\"]"}});
      }
      forms.push_back(JsonObject({{"$ref", QuoteJson("#/definitions/" + name)}}));
    }
    block.choose(chosen);  // Restored, because other settings may depend on it.
    return JsonObject({{"oneOf", JsonArray(forms)}});
  }

  Definitions& definitions_;
  JsonMembers properties_;
  std::vector<std::string> required_;
};

// Requires that `key` is present, or that a sweep has it or a key inside it.
std::string RequiredOrSwept(const std::string& key, const ExtraKey& sweep) {
  const std::string pattern = fmt::format("^({}($|[.\\[])|{}$)", key, sweep.brings_any);
  const std::string no_other = JsonObject(
      {{"propertyNames", JsonObject({{"not", JsonObject({{"pattern", QuoteJson(pattern)}})}})}});
  const std::string swept =
      JsonObject({{"required", JsonStrings({sweep.name})},
                  {"properties", JsonObject({{sweep.name, JsonObject({{"not", no_other}})}})}});
  return JsonObject(
      {{"anyOf", JsonArray({JsonObject({{"required", JsonStrings({key})}}), swept})}});
}

}  // namespace

std::string SchemaOf(std::string_view title, const std::function<void(Fields&)>& declare,
                     const ExtraKey& sweep, const std::vector<ExtraKey>& others) {
  Definitions definitions;
  SchemaWriter writer(definitions);
  declare(writer);
  writer.properties().emplace_back(sweep.name, sweep.schema);
  for (const ExtraKey& other : others) writer.properties().emplace_back(other.name, other.schema);
  std::vector<std::string> required;
  for (const std::string& key : writer.required()) {
    required.push_back(RequiredOrSwept(key, sweep));
  }
  return IndentJson(
      JsonObject({{"$schema", "\"http://json-schema.org/draft-07/schema#\""},
                  {"title", QuoteJson(title)},
                  {"type", "\"object\""},
                  {"properties", JsonObject(writer.properties())},
                  {"additionalProperties", "false"},
                  {"allOf", JsonArray(required)},
                  {"definitions", JsonObject({definitions.begin(), definitions.end()})}}));
}

}  // namespace heddle
