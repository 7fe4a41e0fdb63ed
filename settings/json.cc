// SPDX-License-Identifier: Apache-2.0

#include "settings/json.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>

namespace heddle {
namespace {

constexpr size_t kMaxJsonDepth = 32;
constexpr size_t kMaxMessage = 200;

// Receives the values that nlohmann's parser reads, one by one. The parser's own tree would turn
// numbers into doubles, but Heddle copies the numbers into other tables exactly as written.
// Returning false ends the reading.
class Flattener {
 public:
  FlatJson Take() { return std::move(flat_); }
  const std::string& error() const { return error_; }

  bool null() { return Add(""); }
  bool boolean(bool value) { return Add(value ? "true" : "false"); }
  bool number_integer(int64_t value) { return Add(fmt::format("{}", value)); }
  bool number_unsigned(uint64_t value) { return Add(fmt::format("{}", value)); }
  bool number_float(double /*value*/, const std::string& text) { return Add(text); }
  bool string(std::string& text) { return Add(std::move(text)); }
  bool binary(nlohmann::json::binary_t& /*bytes*/) { return Fail("has bytes"); }

  bool start_object(size_t /*members*/) { return Enter(std::nullopt); }
  bool key(std::string& name) {
    Level& level = levels_.back();
    level.member = level.path.empty() ? name : level.path + "." + name;
    return true;
  }
  bool end_object() { return Leave(); }
  bool start_array(size_t /*items*/) { return Enter(0); }
  bool end_array() { return Leave(); }

  // Receives a message such as "[json.exception.parse_error.101] parse error at line 1, column 5:
  // ...".
  bool parse_error(size_t /*position*/, const std::string& /*last*/,
                   const nlohmann::json::exception& error) {
    const std::string_view message = error.what();
    const size_t place = message.find("line ");
    return Fail(message.substr(place == std::string_view::npos ? 0 : place, kMaxMessage));
  }

 private:
  struct Level {
    std::string path;
    std::string member;          // In an object: the path of the current member.
    std::optional<size_t> item;  // In an array: the number of the next item.
  };

  std::string NextPath() {
    if (levels_.empty()) return "";
    Level& level = levels_.back();
    return level.item ? fmt::format("{}[{}]", level.path, (*level.item)++) : level.member;
  }

  bool Add(std::string text) {
    const auto [added, is_new] = flat_.emplace(NextPath(), std::move(text));
    return is_new || Fail(fmt::format("{} occurs twice", added->first));
  }

  bool Enter(std::optional<size_t> first_item) {
    if (levels_.size() == kMaxJsonDepth)
      return Fail(fmt::format("nests more than {} deep", kMaxJsonDepth));
    levels_.push_back({NextPath(), "", first_item});
    return true;
  }

  bool Leave() {
    levels_.pop_back();
    return true;
  }

  bool Fail(std::string_view error) {
    error_ = error;
    return false;
  }

  FlatJson flat_;
  std::vector<Level> levels_;
  std::string error_;
};

}  // namespace

absl::StatusOr<FlatJson> ParseJson(std::string_view text) {
  Flattener flattener;
  if (nlohmann::json::sax_parse(text, &flattener)) return flattener.Take();
  return absl::InvalidArgumentError(flattener.error());
}

std::string QuoteJson(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

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

namespace {

// Lays out valid JSON.
class Indenter {
 public:
  Indenter(std::string_view json, JsonArrays arrays) : json_(json), arrays_(arrays) {}

  std::string Indented() {
    for (; at_ < json_.size(); ++at_) {
      const char c = json_[at_];
      if (c == '"') {
        CopyString();
      } else if (c == '{' || c == '[') {
        Open(c);
      } else if (c == '}' || c == ']') {
        Close(c);
      } else if (c == ',') {
        out_ += breaks_.back() ? "," : ", ";
        if (breaks_.back()) BreakLine();
      } else if (c == ':') {
        out_ += ": ";
      } else if (c != ' ' && c != '\n') {
        out_ += c;
      }
    }
    return out_ + "\n";
  }

 private:
  void CopyString() {
    size_t end = at_ + 1;
    while (json_[end] != '"') end += json_[end] == '\\' ? 2 : 1;
    out_ += json_.substr(at_, end + 1 - at_);
    at_ = end;
  }

  void Open(char c) {
    breaks_.push_back(c == '{' || arrays_ == JsonArrays::kLineByLine);
    out_ += c;
    const bool is_empty = json_[at_ + 1] == '}' || json_[at_ + 1] == ']';
    if (breaks_.back() && !is_empty) BreakLine();
  }

  void Close(char c) {
    const bool breaks = breaks_.back();
    const bool is_empty = json_[at_ - 1] == '{' || json_[at_ - 1] == '[';
    breaks_.pop_back();
    if (breaks && !is_empty) BreakLine();
    out_ += c;
  }

  void BreakLine() {
    out_ += '\n';
    out_.append(2 * breaks_.size(), ' ');
  }

  const std::string_view json_;
  const JsonArrays arrays_;
  size_t at_ = 0;
  std::string out_;
  std::vector<bool> breaks_;  // For each open array and object: its items have lines.
};

}  // namespace

std::string IndentJson(std::string_view json, JsonArrays arrays) {
  return Indenter(json, arrays).Indented();
}

}  // namespace heddle
