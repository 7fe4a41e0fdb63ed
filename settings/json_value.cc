// SPDX-License-Identifier: Apache-2.0

#include "settings/json_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "settings/yaml.h"

namespace heddle {
namespace {

constexpr size_t kMaxNesting = 32;
constexpr size_t kMaxReason = 200;

// The line of the last token that the parser has read. The parser has looked at one character
// behind a number, which may end the line, so blanks do not count.
class LineCounter {
 public:
  void See(char c) {
    if (c == '\n') {
      ++line_;
    } else if (std::isspace(static_cast<unsigned char>(c)) == 0) {
      line_of_token_ = line_;
    }
  }
  int line() const { return line_of_token_; }

 private:
  int line_ = 1;
  int line_of_token_ = 1;
};

// Hands the parser one character after the other, and counts lines.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  CountingIterator(const char* at, LineCounter& counter) : at_(at), counter_(&counter) {}

  char operator*() const {
    counter_->See(*at_);
    return *at_;
  }
  CountingIterator& operator++() {
    ++at_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++at_;
    return before;
  }
  friend bool operator==(const CountingIterator& a, const CountingIterator& b) {
    return a.at_ == b.at_;
  }

 private:
  const char* at_;
  LineCounter* counter_;
};

// Receives the values that nlohmann's parser reads, one by one. Returning false ends the reading.
class ValueBuilder {
 public:
  ValueBuilder(std::string_view text, const LineCounter& counter, const std::string& source,
               Diagnostics& diagnostics)
      : text_(text), counter_(counter), source_(source), diagnostics_(diagnostics) {}

  Value Take() { return std::move(root_); }

  bool null() { return Add(Value::Kind::kNull, ""); }
  bool boolean(bool value) { return Add(Value::Kind::kScalar, value ? "true" : "false"); }
  bool number_integer(int64_t value) { return Add(Value::Kind::kScalar, fmt::format("{}", value)); }
  bool number_unsigned(uint64_t value) {
    return Add(Value::Kind::kScalar, fmt::format("{}", value));
  }
  bool number_float(double /*value*/, const std::string& text) {
    return Add(Value::Kind::kScalar, text);
  }
  bool string(std::string& text) { return Add(Value::Kind::kScalar, std::move(text)); }
  bool binary(nlohmann::json::binary_t& /*bytes*/) { return false; }  // JSON has none.

  bool start_object(size_t /*members*/) { return Enter(Value::Kind::kMap); }
  bool key(std::string& name) {
    open_.back()->entries.push_back({std::move(name), Here(), Value()});
    return true;
  }
  bool end_object() { return HasEachKeyOnce(*open_.back()) && Leave(); }
  bool start_array(size_t /*items*/) { return Enter(Value::Kind::kList); }
  bool end_array() { return Leave(); }

  // Receives a message such as "[json.exception.parse_error.101] parse error at line 1, column 5:
  // syntax error ...". `position` counts the bytes that have been read.
  bool parse_error(size_t position, const std::string& /*last*/,
                   const nlohmann::json::exception& error) {
    std::string_view message = error.what();
    for (const std::string_view before : {"parse error", ": "}) {
      const size_t at = message.find(before);
      if (at != std::string_view::npos) message.remove_prefix(at + before.size());
    }
    const size_t before = std::min(position > 0 ? position - 1 : 0, text_.size());
    return Fail(PlaceBehind(text_.substr(0, before), source_),
                fmt::format("not valid JSON: {}", message.substr(0, kMaxReason)));
  }

 private:
  Place Here() const { return {{}, counter_.line(), 0}; }

  Value& Next() {
    if (open_.empty()) return root_;
    Value& around = *open_.back();
    return around.kind == Value::Kind::kList ? around.items.emplace_back()
                                             : around.entries.back().value;
  }

  Value& Begin(Value::Kind kind) {
    Value& value = Next();
    value.kind = kind;
    value.place = Here();
    return value;
  }

  bool Add(Value::Kind kind, std::string text) {
    Begin(kind).text = std::move(text);
    return true;
  }

  bool Enter(Value::Kind kind) {
    if (open_.size() == kMaxNesting) {
      return Fail({source_, counter_.line(), 1},
                  fmt::format("nested more than {} deep", kMaxNesting));
    }
    open_.push_back(&Begin(kind));
    return true;
  }

  bool Leave() {
    open_.pop_back();
    return true;
  }

  bool HasEachKeyOnce(const Value& map) {
    std::vector<std::pair<std::string_view, int>> keys;  // With lines.
    for (const Value::Entry& entry : map.entries) {
      keys.emplace_back(entry.key, entry.key_place.line);
    }
    std::ranges::sort(keys);
    const auto twice =
        std::ranges::adjacent_find(keys, {}, [](const auto& key) { return key.first; });
    if (twice == keys.end()) return true;
    return Fail({source_, std::next(twice)->second, 1},
                fmt::format("\"{}\" occurs twice in this object; remove one", twice->first));
  }

  bool Fail(const Place& place, std::string_view message) {
    diagnostics_.Error(place, "", message);
    return false;
  }

  const std::string_view text_;
  const LineCounter& counter_;
  const std::string& source_;
  Diagnostics& diagnostics_;
  Value root_;
  // The objects and arrays that have not ended, from the outermost on. Each is the last value of
  // the one around it, which does not grow meanwhile.
  std::vector<Value*> open_;
};

}  // namespace

std::optional<Value> ParseJsonValue(std::string_view text, const std::string& source,
                                    Diagnostics& diagnostics) {
  LineCounter counter;
  ValueBuilder builder(text, counter, source, diagnostics);
  const CountingIterator begin(text.data(), counter);
  const CountingIterator end(text.data() + text.size(), counter);
  if (!nlohmann::json::sax_parse(begin, end, &builder)) return std::nullopt;
  return builder.Take();
}

}  // namespace heddle
