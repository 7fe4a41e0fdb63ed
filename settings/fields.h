// SPDX-License-Identifier: Apache-2.0
// Declares settings once for all readers and writers. A struct of settings has a function
//
//   void Declare(Fields& fields) {
//     fields.Add("gap", gap, Above(0_ps), "Flowlet gap: a flow may change its path after it.");
//   }
//
// From it, Heddle reads the struct from YAML and reports every mistake (ReadSettings), writes it
// with all defaults (WriteYaml), and describes it (DescribeFields). The initial values of the
// struct's members are the defaults.

#pragma once

#include <fmt/core.h>

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/units.h"
#include "settings/kinds.h"
#include "settings/quantity.h"

namespace heddle {

// Bounds of a quantity.
template <class T>
struct Range {
  std::optional<T> above = std::nullopt;
  std::optional<T> at_least = std::nullopt;
  std::optional<T> at_most = std::nullopt;

  bool Contains(const T& value) const {
    return (!above || value > *above) && (!at_least || value >= *at_least) &&
           (!at_most || value <= *at_most);
  }
  std::string Text() const;  // As in " > 0 <= 16", for descriptions.
  ParseError Parse(std::string_view text, T& value) const;
};

template <class T>
Range<T> Above(T bound) {
  return {.above = bound};
}
template <class T>
Range<T> AtLeast(T bound) {
  return {.at_least = bound};
}
template <class T>
Range<T> Between(T least, T most) {
  return {.at_least = least, .at_most = most};
}

// The values that a scalar may have, for code that describes settings without reading any.
struct ScalarShape {
  enum class Type { kDuration, kRate, kSize, kInteger, kNumber, kBoolean, kText, kPattern, kWord };
  Type type = Type::kWord;
  std::string pattern = {};                    // kPattern: a regular expression (ECMA 262).
  std::vector<std::string> words = {};         // kWord: only these. Others: these, too.
  std::optional<double> above = std::nullopt;  // Bounds of kInteger and kNumber.
  std::optional<double> at_least = std::nullopt;
  std::optional<double> at_most = std::nullopt;
};

// The shape of each type that can be read; TypeName() is its name.
inline ScalarShape ShapeOf(const Duration&) { return {.type = ScalarShape::Type::kDuration}; }
inline ScalarShape ShapeOf(const BitRate&) { return {.type = ScalarShape::Type::kRate}; }
inline ScalarShape ShapeOf(const Bytes&) { return {.type = ScalarShape::Type::kSize}; }
inline ScalarShape ShapeOf(const int64_t&) { return {.type = ScalarShape::Type::kInteger}; }
inline ScalarShape ShapeOf(const double&) { return {.type = ScalarShape::Type::kNumber}; }
inline ScalarShape ShapeOf(const bool&) { return {.type = ScalarShape::Type::kBoolean}; }
inline ScalarShape ShapeOf(const std::string&) { return {.type = ScalarShape::Type::kText}; }

template <class T>
ScalarShape ShapeOf(const T& value, const Range<T>& range) {
  ScalarShape shape = ShapeOf(value);
  if constexpr (std::is_arithmetic_v<T>) {
    const auto bound = [](const std::optional<T>& limit) {
      return limit ? std::optional<double>(static_cast<double>(*limit)) : std::nullopt;
    };
    shape.above = bound(range.above);
    shape.at_least = bound(range.at_least);
    shape.at_most = bound(range.at_most);
  }
  return shape;
}

constexpr std::string_view TypeName(const Duration&) { return "duration"; }
constexpr std::string_view TypeName(const BitRate&) { return "rate"; }
constexpr std::string_view TypeName(const Bytes&) { return "size"; }
constexpr std::string_view TypeName(const int64_t&) { return "integer"; }
constexpr std::string_view TypeName(const double&) { return "number"; }
constexpr std::string_view TypeName(const bool&) { return "true or false"; }
constexpr std::string_view TypeName(const std::string&) { return "text"; }
constexpr std::string_view Article(std::string_view noun) {
  return std::string_view("aeiou").find(noun.front()) == std::string_view::npos ? "a" : "an";
}

template <class T>
ParseError ParseInRange(std::string_view text, T& value, const Range<T>& range) {
  return range.Parse(text, value);
}

template <class T>
struct ScalarFor;

template <class E>
using Choices = std::vector<std::pair<std::string, E>>;

// Returns the word of a value, which must be among the choices.
template <class E>
std::string WordOf(const Choices<E>& choices, E value) {
  for (const auto& [word, choice] : choices) {
    if (choice == value) return word;
  }
  return "";
}

class Fields {
 public:
  enum class Presence { kOptional, kRequired };
  static constexpr Presence kRequired = Presence::kRequired;

  virtual ~Fields() = default;

  // --- For Declare functions ---

  // A quantity: a duration, rate, size, number, text...
  template <class T>
  void Add(std::string_view name, T& value, const std::type_identity_t<Range<T>>& range,
           std::string_view meaning, Presence presence = Presence::kOptional) {
    OnScalar(name, ScalarFor<T>::Of(value, range), presence, meaning);
  }
  template <class T>
  requires std::same_as<T, bool> || std::same_as<T, std::string>
  void Add(std::string_view name, T& value, std::string_view meaning,
           Presence presence = Presence::kOptional) {
    OnScalar(name, ScalarFor<T>::Of(value, {}), presence, meaning);
  }

  // A quantity that follows from others unless it is set. `word` stands for the unset value in
  // files.
  template <class T>
  void AddOr(std::string_view word, std::string_view name, std::optional<T>& value,
             const std::type_identity_t<Range<T>>& range, std::string_view meaning) {
    OnScalar(name, ScalarFor<T>::Or(word, value, range), Presence::kOptional, meaning);
  }
  template <class T>
  void AddOr(std::string_view word, std::string_view name, std::optional<T>& value,
             std::string_view meaning) {
    OnScalar(name, ScalarFor<T>::Or(word, value), Presence::kOptional, meaning);
  }

  // One of several words.
  template <class E>
  void Choice(std::string_view name, E& value, const Choices<std::type_identity_t<E>>& choices,
              std::string_view meaning, Presence presence = Presence::kOptional) {
    std::vector<std::string> words;
    for (const auto& [word, unused] : choices) words.push_back(word);
    const auto choose = [choices, &value](size_t i) { value = choices[i].second; };
    const auto chosen = [choices, &value] {
      size_t i = 0;
      while (i < choices.size() && choices[i].second != value) ++i;
      return i;
    };
    OnScalar(name, ScalarOfWords(words, choose, chosen), presence, meaning);
  }

  // A list of quantities.
  template <class T>
  void List(std::string_view name, std::vector<T>& values,
            const std::type_identity_t<Range<T>>& range, std::string_view meaning,
            Presence presence = Presence::kOptional) {
    OnScalars(
        name, values.size(), [&values](size_t count) { values.assign(count, T{}); },
        [&values, range](size_t i) { return ScalarFor<T>::Of(values[i], range); }, presence,
        meaning, fmt::format("list of {}{}", TypeName(T{}), range.Text()));
  }

  // A struct of settings within settings.
  template <class S>
  void Section(std::string_view name, S& settings, std::string_view meaning,
               Presence presence = Presence::kOptional) {
    OnBlock(name, BlockOf(settings), presence, meaning);
  }
  // One of several kinds, each with settings of its own.
  template <class T>
  void Kind(std::string_view name, Chosen<T>& chosen, const Kinds<T>& kinds,
            std::string_view meaning, Presence presence = Presence::kOptional) {
    OnBlock(name, BlockOf(chosen, kinds), presence, meaning);
  }
  template <class S>
  void Sections(std::string_view name, std::vector<S>& settings, std::string_view meaning) {
    OnBlocks(
        name, settings.size(), [&settings](size_t count) { settings.resize(count); },
        [&settings](size_t i) { return BlockOf(settings[i]); }, Presence::kOptional, meaning);
  }
  template <class T>
  void KindList(std::string_view name, std::vector<Chosen<T>>& chosen, const Kinds<T>& kinds,
                std::string_view meaning, Presence presence = Presence::kOptional) {
    OnBlocks(
        name, chosen.size(), [&chosen](size_t count) { chosen.resize(count); },
        [&chosen, &kinds](size_t i) { return BlockOf(chosen[i], kinds); }, presence, meaning);
  }

  // A rule that concerns several settings; the error is reported at `name`. Call it after them.
  void Require(bool holds, std::string_view name, std::string_view message) {
    if (!holds) OnBrokenRule(name, message);
  }

  // There is no setting `name` here, but a user may look for it. `message` is the error if it is
  // set.
  void Absent(std::string_view name, std::string_view message) { OnAbsent(name, message); }

  // --- For readers and writers of settings ---

  struct Scalar {
    std::string type;
    std::function<ParseError(std::string_view)> parse;
    std::function<std::string()> text;
    bool is_text = false;  // Any text, even one that looks like a number or a word of YAML.
    ScalarShape shape = {};
  };
  struct Block {
    std::function<void(Fields&)> declare;
    const KindNames* kinds = nullptr;  // If not null, the key `kind` chooses one.
    std::function<std::string()> kind;
    std::function<void(const std::string&)> choose;
  };

 protected:
  virtual void OnScalar(std::string_view name, const Scalar& scalar, Presence presence,
                        std::string_view meaning) = 0;
  virtual void OnScalars(std::string_view name, size_t count,
                         const std::function<void(size_t)>& resize,
                         const std::function<Scalar(size_t)>& at, Presence presence,
                         std::string_view meaning, const std::string& type) = 0;
  virtual void OnBlock(std::string_view name, const Block& block, Presence presence,
                       std::string_view meaning) = 0;
  virtual void OnBlocks(std::string_view name, size_t count,
                        const std::function<void(size_t)>& resize,
                        const std::function<Block(size_t)>& at, Presence presence,
                        std::string_view meaning) = 0;
  virtual void OnBrokenRule(std::string_view /*name*/, std::string_view /*message*/) {}
  virtual void OnAbsent(std::string_view /*name*/, std::string_view /*message*/) {}

 private:
  // A scalar that is one of `words`. `chosen` returns the index of the present word, or the number
  // of words if none is chosen.
  static Scalar ScalarOfWords(const std::vector<std::string>& words,
                              const std::function<void(size_t)>& choose,
                              const std::function<size_t()>& chosen);

  template <class S>
  static Block BlockOf(S& settings) {
    return {[&settings](Fields& fields) { settings.Declare(fields); }, nullptr, nullptr, nullptr};
  }
  template <class T>
  static Block BlockOf(Chosen<T>& chosen, const Kinds<T>& kinds) {
    return {[&chosen](Fields& fields) {
              if (chosen.settings) chosen.settings->Declare(fields);
            },
            &kinds, [&chosen] { return chosen.kind; },
            [&chosen, &kinds](const std::string& kind) {
              chosen = kind.empty() && !kinds.Knows(kind) ? Chosen<T>{} : kinds.Make(kind);
            }};
  }
};

// Makes the scalars of quantities of type T, each bound to the variable that holds its value.
template <class T>
struct ScalarFor {
  static Fields::Scalar Of(T& value, const Range<T>& range);
  // For optional values: the text `word` means unset.
  static Fields::Scalar Or(std::string_view word, std::optional<T>& value, const Range<T>& range);
  static Fields::Scalar Or(std::string_view word, std::optional<T>& value);

 private:
  static Fields::Scalar Or(std::string_view word, std::optional<T>& value, std::string_view type,
                           ScalarShape shape,
                           std::function<ParseError(std::string_view, T&)> parse);
};

template <class T>
std::string Range<T>::Text() const {
  std::string text;
  if (above) text += " > " + FormatQuantity(*above);
  if (at_least) text += " >= " + FormatQuantity(*at_least);
  if (at_most) text += " <= " + FormatQuantity(*at_most);
  return text;
}

template <class T>
ParseError Range<T>::Parse(std::string_view text, T& value) const {
  T read{};
  if (ParseError error = ParseQuantity(text, read)) return error;
  if (!Contains(read)) {
    return fmt::format("\"{}\" is out of range; expected {} {}{}", text, Article(TypeName(read)),
                       TypeName(read), Text());
  }
  value = read;
  return std::nullopt;
}

template <class T>
Fields::Scalar ScalarFor<T>::Of(T& value, const Range<T>& range) {
  return {fmt::format("{}{}", TypeName(value), range.Text()),
          [&value, range](std::string_view text) { return range.Parse(text, value); },
          [&value] { return FormatQuantity(value); }, std::same_as<T, std::string>,
          ShapeOf(value, range)};
}

template <class T>
Fields::Scalar ScalarFor<T>::Or(std::string_view word, std::optional<T>& value,
                                const Range<T>& range) {
  return Or(word, value, fmt::format("{}{}", TypeName(T{}), range.Text()), ShapeOf(T{}, range),
            [range](std::string_view text, T& read) { return range.Parse(text, read); });
}

template <class T>
Fields::Scalar ScalarFor<T>::Or(std::string_view word, std::optional<T>& value) {
  return Or(word, value, TypeName(T{}), ShapeOf(T{}),
            [](std::string_view text, T& read) { return ParseQuantity(text, read); });
}

template <class T>
Fields::Scalar ScalarFor<T>::Or(std::string_view word, std::optional<T>& value,
                                std::string_view type, ScalarShape shape,
                                std::function<ParseError(std::string_view, T&)> parse) {
  Fields::Scalar scalar{fmt::format("{}, or {}", type, word), nullptr, nullptr};
  scalar.shape = std::move(shape);
  scalar.shape.words = {std::string(word)};
  scalar.parse = [word = std::string(word), &value,
                  parse = std::move(parse)](std::string_view text) -> ParseError {
    if (text == word) {
      value.reset();
      return std::nullopt;
    }
    T read{};
    if (ParseError error = parse(text, read)) return error;
    value = read;
    return std::nullopt;
  };
  scalar.text = [word = std::string(word), &value] {
    return value ? FormatQuantity(*value) : word;
  };
  return scalar;
}

// Compiled once, in fields.cc: nearly every file with settings uses them.
extern template struct Range<Duration>;
extern template struct Range<BitRate>;
extern template struct Range<Bytes>;
extern template struct Range<int64_t>;
extern template struct Range<double>;
extern template struct Range<bool>;
extern template struct Range<std::string>;
extern template struct ScalarFor<Duration>;
extern template struct ScalarFor<BitRate>;
extern template struct ScalarFor<Bytes>;
extern template struct ScalarFor<int64_t>;
extern template struct ScalarFor<double>;
extern template struct ScalarFor<bool>;
extern template struct ScalarFor<std::string>;

}  // namespace heddle
