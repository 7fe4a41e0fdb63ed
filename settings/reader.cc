// SPDX-License-Identifier: Apache-2.0

#include "settings/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "settings/nameless_kind.h"
#include "settings/writer.h"

namespace heddle {
namespace {

constexpr std::string_view kKind = "kind";
constexpr std::string_view kListOfMaps = "a list of maps";

class Reader final : public Fields {
 public:
  Reader(const Value& map, std::string path, bool may_sweep, Diagnostics& diagnostics)
      : map_(map), path_(std::move(path)), may_sweep_(may_sweep), diagnostics_(diagnostics) {
    diagnostics_.Note(path_, map.place);
  }

  void AlsoKnow(const std::vector<std::string>& keys) { elsewhere_ = keys; }

  // Reads all of `block`, which is one of several kinds if it has kinds.
  void Read(const Block& block) {
    if (block.kinds != nullptr && !ChooseKind(block)) return;
    block.declare(*this);
    ReportUnknownKeys();
    ReportBrokenRules();
  }

 protected:
  void OnScalar(std::string_view name, const Scalar& scalar, Presence presence,
                std::string_view /*meaning*/) override {
    const Value* value = Find(name, presence, scalar.type);
    if (value != nullptr) ReadScalar(*value, PathOf(name), scalar);
  }

  void OnScalars(std::string_view name, size_t /*count*/, const std::function<void(size_t)>& resize,
                 const std::function<Scalar(size_t)>& at, Presence presence,
                 std::string_view /*meaning*/, const std::string& type) override {
    const Value* value = Find(name, presence, type);
    if (value == nullptr || !IsList(*value, PathOf(name), "a " + type)) return;
    resize(value->items.size());
    for (size_t i = 0; i < value->items.size(); ++i) {
      ReadScalar(value->items[i], fmt::format("{}[{}]", PathOf(name), i), at(i));
    }
  }

  void OnBlock(std::string_view name, const Block& block, Presence presence,
               std::string_view /*meaning*/) override {
    const Value* value = Find(name, presence, "a map");
    if (value != nullptr) ReadBlock(*value, PathOf(name), block);
  }

  void OnBlocks(std::string_view name, size_t /*count*/, const std::function<void(size_t)>& resize,
                const std::function<Block(size_t)>& at, Presence presence,
                std::string_view /*meaning*/) override {
    const Value* value = Find(name, presence, kListOfMaps);
    if (value == nullptr || !IsList(*value, PathOf(name), kListOfMaps)) return;
    resize(value->items.size());
    for (size_t i = 0; i < value->items.size(); ++i) {
      ReadBlock(value->items[i], fmt::format("{}[{}]", PathOf(name), i), at(i));
    }
  }

  void OnBrokenRule(std::string_view name, std::string_view message) override {
    broken_rules_.emplace_back(PathOf(name), message);
  }
  void OnAbsent(std::string_view name, std::string_view message) override {
    absent_.emplace_back(name, message);
  }

 private:
  std::string PathOf(std::string_view name) const {
    return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
  }

  void Fail(const Place& place, std::string_view path, std::string_view message) {
    failed_ = true;
    diagnostics_.Error(place, path, message);
  }

  const Value* Find(std::string_view name, Presence presence, std::string_view type) {
    declared_.emplace_back(name);
    const Value* value = map_.Find(name);
    if (value == nullptr && presence == Presence::kRequired) {
      Fail(map_.place, PathOf(name),
           fmt::format("is missing; expected: {}{}", type, HintOnNewElement()));
    }
    if (value != nullptr) diagnostics_.Note(PathOf(name), value->place);
    return value;
  }

  // --set workload[1].load=0.5 adds an element if there is only workload[0]. That is rarely meant.
  std::string HintOnNewElement() const {
    const bool is_new =
        path_.ends_with(']') && map_.place.source.starts_with(fmt::format("--set {}.", path_));
    return is_new ? fmt::format("; there is no {} to change, so --set adds it", path_) : "";
  }

  void ReadScalar(const Value& value, const std::string& path, const Scalar& scalar) {
    diagnostics_.Note(path, value.place);
    if (value.kind != Value::Kind::kScalar) {
      return Fail(value.place, path,
                  fmt::format("{} where a value is expected: {}{}", Describe(value), scalar.type,
                              SweepHint(value, path)));
    }
    if (const ParseError error = scalar.parse(value.text)) Fail(value.place, path, *error);
  }

  bool IsList(const Value& value, const std::string& path, std::string_view type) {
    if (value.kind == Value::Kind::kList) return true;
    Fail(value.place, path,
         fmt::format("{} where {} is expected{}", Describe(value), type, HintOnList(value, type)));
    return false;
  }

  static std::string HintOnList(const Value& value, std::string_view type) {
    const bool of_maps = type == kListOfMaps;
    if (value.kind == Value::Kind::kMap && of_maps) {
      return "; write it as the only entry of a list: [{...}]";
    }
    const bool is_item = value.kind == Value::Kind::kScalar && !of_maps;
    return is_item ? fmt::format("; write [{}]", value.text) : "";
  }

  // Users who want to compare several values try to list them.
  std::string SweepHint(const Value& value, const std::string& path) const {
    if (!may_sweep_ || value.kind != Value::Kind::kList || path.ends_with(']')) return "";
    return fmt::format(
        "; for one run with each of several values, list them below sweep: (\"{0}: [...]\" there, "
        "or "
        "--set 'sweep.{0}=[...]')",
        path);
  }

  void ReadBlock(const Value& value, const std::string& path, const Block& block) {
    if (block.kinds != nullptr && value.kind == Value::Kind::kScalar) {
      // `lb: ecmp` is short for `lb: {kind: ecmp}`.
      Value map;
      map.kind = Value::Kind::kMap;
      map.place = value.place;
      map.entries.push_back({std::string(kKind), value.place, value});
      return ReadBlock(map, path, block);
    }
    if (value.kind != Value::Kind::kMap) {
      return Fail(
          value.place, path,
          fmt::format("{} where a map is expected{}", Describe(value), SweepHint(value, path)));
    }
    Reader(value, path, may_sweep_, diagnostics_).Read(block);
  }

  bool ChooseKind(const Block& block) {
    const std::vector<std::string> names = NamesToWrite(*block.kinds);
    const bool may_lack = HasNamelessKind(*block.kinds);
    const Value* kind = Find(kKind, may_lack ? Presence::kOptional : Presence::kRequired,
                             fmt::format("{}", fmt::join(names, " | ")));
    if (kind == nullptr) {
      if (may_lack) {
        block.choose("");
      } else {
        ReportKeysOfNoKind(block, names);
      }
      return may_lack;
    }
    if (kind->kind != Value::Kind::kScalar || !std::ranges::binary_search(names, kind->text)) {
      Fail(kind->place, PathOf(kKind), UnknownKind(*block.kinds, *kind, names));
      // Further mistakes are looked for as if the name had been spelt right.
      const std::string* meant = Nearest(kind->text, names);
      if (meant != nullptr) block.choose(*meant);
      return meant != nullptr;
    }
    block.choose(kind->text);
    return true;
  }

  // Without a kind, the other keys may be right if any kind has them.
  void ReportKeysOfNoKind(const Block& block, const std::vector<std::string>& names) {
    const std::vector<std::string> known = KeysOfAllKinds(block, names);
    for (const Value::Entry& entry : map_.entries) {
      if (std::ranges::find(known, entry.key) != known.end()) continue;
      const std::string* nearest = Nearest(entry.key, known);
      std::string meant = nearest == nullptr ? "" : *nearest;
      if (std::ranges::binary_search(names, entry.value.text)) meant = kKind;
      Fail(entry.key_place, PathOf(entry.key),
           meant.empty() ? "unknown key" : fmt::format("unknown key; did you mean \"{}\"?", meant));
    }
  }

  static std::vector<std::string> KeysOfAllKinds(const Block& block,
                                                 const std::vector<std::string>& names) {
    const std::string chosen = block.kind();
    std::vector<std::string> keys = {std::string(kKind)};
    for (const std::string& name : names) {
      block.choose(name);
      for (const FieldInfo& field : DescribeFields(block.declare)) {
        keys.push_back(field.path.substr(0, field.path.find_first_of(".[")));
      }
    }
    block.choose(std::ranges::binary_search(names, chosen) ? chosen : "");
    return keys;
  }

  static std::string UnknownKind(const KindNames& kinds, const Value& kind,
                                 const std::vector<std::string>& names) {
    if (kind.kind != Value::Kind::kScalar) {
      return fmt::format("expected the name of one {}, got {}", kinds.noun(), Describe(kind));
    }
    const std::string why = kinds.WhyNot(kind.text);
    if (!why.empty()) return fmt::format("\"{}\" {}", kind.text, why);
    return fmt::format("no {} is called {}{}", kinds.noun(), Describe(kind),
                       Suggestion(kind.text, names));
  }

  void ReportUnknownKeys() {
    std::vector<std::string> known = declared_;
    known.insert(known.end(), elsewhere_.begin(), elsewhere_.end());
    for (const Value::Entry& entry : map_.entries) {
      if (std::ranges::find(declared_, entry.key) != declared_.end()) continue;
      const auto absent = std::ranges::find(absent_, entry.key, &AbsentKey::first);
      Fail(entry.key_place, PathOf(entry.key),
           absent != absent_.end() ? absent->second : "unknown key" + Suggestion(entry.key, known));
    }
  }

  // Reports broken rules only if the settings were read without a mistake, such as a misspelt key.
  void ReportBrokenRules() {
    if (failed_) return;
    for (const auto& [path, message] : broken_rules_) {
      if (diagnostics_.IsSound(path)) diagnostics_.ErrorAt(path, message);
    }
  }

  using AbsentKey = std::pair<std::string, std::string>;  // The key, and why it is not there.

  const Value& map_;
  const std::string path_;
  const bool may_sweep_;  // The document may have a sweep.
  Diagnostics& diagnostics_;
  std::vector<std::string> declared_;
  std::vector<AbsentKey> absent_;
  std::vector<std::string> elsewhere_;
  std::vector<std::pair<std::string, std::string>> broken_rules_;  // Paths and messages.
  bool failed_ = false;  // A setting of this map itself is wrong.
};

}  // namespace

void ReadSettings(const Value& document, const std::function<void(Fields&)>& declare,
                  Diagnostics& diagnostics, const std::vector<std::string>& elsewhere) {
  if (document.kind != Value::Kind::kMap) {
    diagnostics.Error(document.place, "",
                      fmt::format("{} where a map of settings is expected", Describe(document)));
    return;
  }
  const bool may_sweep = std::ranges::find(elsewhere, "sweep") != elsewhere.end();
  Reader reader(document, "", may_sweep, diagnostics);
  reader.AlsoKnow(elsewhere);
  reader.Read({declare, nullptr, nullptr, nullptr});
}

}  // namespace heddle
