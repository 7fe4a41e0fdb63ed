// SPDX-License-Identifier: Apache-2.0

#include "settings/json.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstddef>

#include "settings/number_text.h"
#include "settings/yaml.h"

namespace heddle {
namespace {

constexpr int kMaxDepth = 32;

class JsonReader {
 public:
  explicit JsonReader(std::string_view text) : rest_(text) {}

  std::optional<FlatJson> Read() {
    if (!ReadValue("", 0)) return std::nullopt;
    SkipSpace();
    if (!rest_.empty()) return std::nullopt;
    return std::move(flat_);
  }

 private:
  void SkipSpace() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
  }

  bool Take(char c) {
    SkipSpace();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool ReadValue(const std::string& path, int depth) {
    if (depth > kMaxDepth) return false;
    if (Take('{')) return ReadObject(path, depth);
    if (Take('[')) return ReadList(path, depth);
    if (Take('"')) return ReadString(flat_[path]);
    return ReadWord(flat_[path]);
  }

  bool ReadObject(const std::string& path, int depth) {
    if (Take('}')) return true;
    do {
      std::string key;
      if (!Take('"') || !ReadString(key) || !Take(':')) return false;
      if (!ReadValue(path.empty() ? key : path + "." + key, depth + 1)) return false;
    } while (Take(','));
    return Take('}');
  }

  bool ReadList(const std::string& path, int depth) {
    if (Take(']')) return true;
    size_t i = 0;
    do {
      if (!ReadValue(fmt::format("{}[{}]", path, i++), depth + 1)) return false;
    } while (Take(','));
    return Take(']');
  }

  // Behind the first quote. Of \u escapes only those that QuoteJson writes, below 0x20.
  bool ReadString(std::string& string) {
    while (!rest_.empty()) {
      char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '"') return true;
      if (c == '\\' && !ReadEscape(c)) return false;
      string += c;
    }
    return false;
  }

  bool ReadEscape(char& c) {
    if (rest_.empty()) return false;
    c = rest_.front();
    rest_.remove_prefix(1);
    if (c != 'u') return c == '"' || c == '\\';
    if (rest_.size() < 4) return false;
    unsigned code = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + 4, code, 16);
    if (error != std::errc() || end != rest_.data() + 4 || code >= 0x20) return false;
    rest_.remove_prefix(4);
    c = static_cast<char>(code);
    return true;
  }

  bool ReadWord(std::string& word) {
    SkipSpace();
    const size_t length = std::min(rest_.find_first_of(",]} \t\r\n"), rest_.size());
    word = rest_.substr(0, length);
    rest_.remove_prefix(length);
    if (word == "null") return word.clear(), true;
    return word == "true" || word == "false" || NumberFrom<double>(word);
  }

  std::string_view rest_;
  FlatJson flat_;
};

}  // namespace

std::optional<FlatJson> ParseJson(std::string_view text) { return JsonReader(text).Read(); }

std::string JsonObject(const JsonMembers& members) {
  std::string json;
  for (const auto& [key, value] : members) {
    json += fmt::format("{}{}:{}", json.empty() ? "" : ",", QuoteJson(key), value);
  }
  return "{" + json + "}";
}

std::string JsonArray(const std::vector<std::string>& items) {
  return fmt::format("[{}]", fmt::join(items, ","));
}

std::string JsonStrings(const std::vector<std::string>& texts) {
  std::vector<std::string> items;
  for (const std::string& text : texts) items.push_back(QuoteJson(text));
  return JsonArray(items);
}

std::string JsonNumber(double number) {
  return std::isfinite(number) ? fmt::format("{}", number) : "null";
}

std::string IndentJson(std::string_view json) {
  std::string out;
  size_t depth = 0;
  bool quoted = false;
  const auto line = [&] { out += "\n" + std::string(2 * depth, ' '); };
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (quoted) {
      out += c;
      if (c == '\\') out += json[++i];
      quoted = c != '"';
      continue;
    }
    if (c == ' ' || c == '\n') continue;
    quoted = c == '"';
    const bool opens = c == '{' || c == '[';
    const bool closes = c == '}' || c == ']';
    const bool is_empty = closes && (json[i - 1] == '{' || json[i - 1] == '[');
    if (closes) --depth;
    if (closes && !is_empty) line();
    out += c;
    if (opens) ++depth;
    const bool stays_empty = opens && (json[i + 1] == '}' || json[i + 1] == ']');
    if ((opens && !stays_empty) || c == ',') line();
    if (c == ':') out += ' ';
  }
  return out + "\n";
}

}  // namespace heddle
