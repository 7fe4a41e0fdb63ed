// SPDX-License-Identifier: Apache-2.0

#include "settings/yaml.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>

#include "settings/files.h"
#include "settings/json.h"
#include "settings/status.h"
#include "settings/utf8.h"

namespace heddle {
namespace {

constexpr size_t kMaxFileBytes = 4 << 20;
constexpr int kMaxYamlValues = 100'000;  // An alias counts each time it is used.
constexpr int kMaxYamlDepth = 32;

class Converter {
 public:
  Converter(const std::string& source, Diagnostics& diagnostics)
      : source_(source), diagnostics_(diagnostics) {}

  Value Convert(const YAML::Node& node, const std::string& path, int depth) {
    Value value;
    value.place = PlaceOf(node.Mark());
    if (++values_ > kMaxYamlValues || depth > kMaxYamlDepth) {
      if (!too_large_) RefuseSize(value.place, path);
      return value;
    }
    // yaml-cpp tags plain scalars "?" and quoted ones "!"; the user wrote every other tag.
    const std::string& tag = node.Tag();
    if (!tag.empty() && tag != "?" && tag != "!") {
      Refuse(value.place, path, fmt::format("the tag {} is not supported; remove it", tag));
    }
    switch (node.Type()) {
      case YAML::NodeType::Undefined:
      case YAML::NodeType::Null:
        break;
      case YAML::NodeType::Scalar:
        value.kind = Value::Kind::kScalar;
        value.text = node.Scalar();
        break;
      case YAML::NodeType::Sequence:
        ConvertList(node, path, depth, value);
        break;
      case YAML::NodeType::Map:
        ConvertMap(node, path, depth, value);
        break;
    }
    return value;
  }

  bool refused() const { return refused_; }

 private:
  void ConvertList(const YAML::Node& node, const std::string& path, int depth, Value& value) {
    value.kind = Value::Kind::kList;
    for (size_t i = 0; i < node.size() && !too_large_; ++i) {
      value.items.push_back(Convert(node[i], fmt::format("{}[{}]", path, i), depth + 1));
    }
  }

  void ConvertMap(const YAML::Node& node, const std::string& path, int depth, Value& value) {
    value.kind = Value::Kind::kMap;
    std::set<std::string_view> keys;  // Views into the node.
    for (const auto& entry : node) {
      if (too_large_) return;
      const Place place = PlaceOf(entry.first.Mark());
      if (!entry.first.IsScalar()) {
        Refuse(place, path, "a key must be a word");
        continue;
      }
      const std::string& key = entry.first.Scalar();
      const std::string key_path = path.empty() ? key : path + "." + key;
      if (key == "<<") {
        Refuse(place, key_path, "merge keys are not supported; write the keys out");
        continue;
      }
      if (!keys.insert(key).second) {
        diagnostics_.Error(place, key_path, "occurs twice in this map; remove one");
        continue;
      }
      value.entries.push_back({key, place, Convert(entry.second, key_path, depth + 1)});
    }
  }

  void Refuse(const Place& place, const std::string& path, const std::string& message) {
    refused_ = true;
    diagnostics_.Error(place, path, message);
  }

  void RefuseSize(const Place& place, const std::string& path) {
    too_large_ = true;
    Refuse(place, path,
           fmt::format("the document is too large: more than {} values, or nested more than {} "
                       "deep; are there aliases of aliases?",
                       kMaxYamlValues, kMaxYamlDepth));
  }

  Place PlaceOf(const YAML::Mark& mark) const {
    if (mark.is_null()) return {source_, 0, 0};
    return {source_, mark.line + 1, mark.column + 1};
  }

  const std::string& source_;
  Diagnostics& diagnostics_;
  int values_ = 0;
  bool refused_ = false;    // The meaning is unclear, so nothing is returned.
  bool too_large_ = false;  // Reading stops.
};

// Checks a text before it is loaded: the parser recurses as deep as values nest, and loading all
// documents at once never ends on some texts (yaml-cpp issue 1040: a comma behind the document).
class Inspector final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) {
      throw YAML::ParserException(
          mark, "several documents (---), or a stray bracket or comma; one document is expected");
    }
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& /*tag*/,
                       YAML::anchor_t /*anchor*/, YAML::EmitterStyle::value /*style*/) override {
    Enter(mark);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                  YAML::EmitterStyle::value /*style*/) override {
    Enter(mark);
  }
  void OnSequenceEnd() override { --depth_; }
  void OnMapEnd() override { --depth_; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& /*mark*/, YAML::anchor_t /*anchor*/) override {}
  void OnAlias(const YAML::Mark& /*mark*/, YAML::anchor_t /*anchor*/) override {}
  void OnScalar(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                const std::string& /*value*/) override {}

 private:
  void Enter(const YAML::Mark& mark) {
    if (++depth_ > kMaxYamlDepth) {
      throw YAML::ParserException(mark, fmt::format("nested more than {} deep", kMaxYamlDepth));
    }
  }

  int documents_ = 0;
  int depth_ = 0;
};

// Loads the one document in `text`; null if there is none.
YAML::Node Load(std::string text) {
  // yaml-cpp 0.7 takes the end of a text for the end of a quotation if a line ends there, too.
  const size_t last = text.find_last_not_of(" \t");
  if (last != std::string::npos && (text[last] == '\n' || text[last] == '\r')) {
    text.resize(last + 1);
    text += "# End.";
  }
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  Inspector inspector;
  while (parser.HandleNextDocument(inspector)) {
  }
  return YAML::Load(text);
}

// The first line with a tab before its first word; 0 if there is none. The parser's message rarely
// names the tab.
int LineIndentedWithTab(const std::string& text) {
  int line = 1;
  bool indentation = true;
  for (const char c : text) {
    if (indentation && c == '\t') return line;
    line += c == '\n' ? 1 : 0;
    indentation = c == '\n' || (indentation && c == ' ');
  }
  return 0;
}

// A hint on a likely cause: `{workload[0].load: 1}` has a list where YAML expects the end of the
// map.
std::string_view HintOn(std::string_view message) {
  return message == "end of map flow not found"
             ? "; within { }, keys with brackets need quotes, as in {\"workload[0].load\": 0.5}"
             : "";
}

}  // namespace

std::optional<Value> ParseYaml(const std::string& text, const std::string& source,
                               Diagnostics& diagnostics) {
  if (text.find('\0') != std::string::npos) {
    diagnostics.Error({source, 0, 0}, "", "is not a text file");
    return std::nullopt;
  }
  if (const size_t valid = ValidUtf8(text); valid < text.size()) {
    diagnostics.Error(PlaceBehind(std::string_view(text).substr(0, valid), source), "",
                      "is not valid UTF-8; save the file in that encoding");
    return std::nullopt;
  }
  try {
    const YAML::Node document = Load(text);
    Value value;
    value.place = {source, 1, 1};
    Converter converter(source, diagnostics);
    if (!document.IsNull()) value = converter.Convert(document, "", 0);
    if (converter.refused()) return std::nullopt;
    return value;
  } catch (const YAML::Exception& error) {
    Place place{source, 0, 0};
    if (!error.mark.is_null()) place = {source, error.mark.line + 1, error.mark.column + 1};
    if (const int line = LineIndentedWithTab(text); line > 0 && line <= place.line) {
      diagnostics.Error({source, line, 1}, "", "not valid YAML: indented with a tab; use spaces");
      return std::nullopt;
    }
    diagnostics.Error(place, "", fmt::format("not valid YAML: {}{}", error.msg, HintOn(error.msg)));
    return std::nullopt;
  }
}

std::optional<Value> ReadYamlFile(const std::string& path, Diagnostics& diagnostics) {
  const absl::StatusOr<std::string> text = ReadTextFile(path, kMaxFileBytes);
  if (!text.ok()) {
    diagnostics.Error({path, 0, 0}, "", MessageOf(text.status()));
    return std::nullopt;
  }
  return ParseYaml(*text, path, diagnostics);
}

Place PlaceBehind(std::string_view text, const std::string& source) {
  const size_t line_end = text.rfind('\n');
  const std::string_view line = text.substr(line_end == std::string_view::npos ? 0 : line_end + 1);
  const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; };
  return {source, static_cast<int>(std::ranges::count(text, '\n')) + 1,
          static_cast<int>(std::ranges::count_if(line, begins)) + 1};
}

std::string QuoteYaml(std::string_view text) {
  const bool plain =
      !text.empty() && text.size() < 100 && text.find(": ") == std::string_view::npos &&
      std::isalnum(static_cast<unsigned char>(text.front())) && text.back() != ':' &&
      std::ranges::all_of(text, [](unsigned char c) {
        return std::isalnum(c) ||
               std::string_view("_-./:+").find(static_cast<char>(c)) != std::string_view::npos;
      });
  static constexpr std::string_view kWords[] = {
      "yes",  "no",   "on",   "off",  "true",  "false", "y",   "n",     "null",
      "Null", "NULL", "True", "Yes",  "No",    "On",    "Off", "False", "YES",
      "NO",   "ON",   "OFF",  "TRUE", "FALSE", "Y",     "N"};
  if (plain && std::ranges::find(kWords, text) == std::end(kWords)) return std::string(text);
  return QuoteJson(text);
}

}  // namespace heddle
