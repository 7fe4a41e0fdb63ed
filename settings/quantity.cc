// SPDX-License-Identifier: Apache-2.0

#include "settings/quantity.h"

#include <absl/numeric/int128.h>
#include <absl/strings/match.h>
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <span>

#include "settings/number_text.h"

namespace heddle {
namespace {

struct Unit {
  std::string_view name;
  int64_t factor;
};

// Ascending.
constexpr Unit kDurations[] = {
    {"ps", 1}, {"ns", 1'000}, {"us", 1'000'000}, {"ms", 1'000'000'000}, {"s", 1'000'000'000'000}};
constexpr Unit kRates[] = {{"bps", 1},
                           {"Kbps", 1'000},
                           {"Mbps", 1'000'000},
                           {"Gbps", 1'000'000'000},
                           {"Tbps", 1'000'000'000'000}};
constexpr Unit kSizes[] = {
    {"B", 1},         {"KB", 1'000},         {"KiB", 1 << 10}, {"MB", 1'000'000},
    {"MiB", 1 << 20}, {"GB", 1'000'000'000}, {"GiB", 1 << 30}, {"TB", 1'000'000'000'000}};
constexpr int64_t kLargest = std::numeric_limits<int64_t>::max() / 4;

std::string UnitNames(std::span<const Unit> units) {
  std::string names;
  for (const Unit& unit : units) names += fmt::format("{}{}", names.empty() ? "" : ", ", unit.name);
  return names;
}

// Returns a suggestion if `text` is a unit but for upper and lower case; "" otherwise.
std::string MeantUnit(std::string_view text, std::span<const Unit> units) {
  for (const Unit& unit : units) {
    if (absl::EqualsIgnoreCase(std::string(text), std::string(unit.name))) {
      return fmt::format("; did you mean \"{}\"?", unit.name);
    }
  }
  return "";
}

// A decimal number: its digits, and how many of them stand behind the point.
struct Decimal {
  absl::int128 digits = 0;
  int scale = 0;
  size_t length = 0;       // Length of the number in the text; 0: there is no number.
  bool too_large = false;  // Too many digits before the point for any quantity.
  bool too_fine = false;   // Too many digits behind the point.
};

// Numbers with this many digits fit 128 bits, even times the largest factor.
constexpr int kMaxDigits = 24;

Decimal ReadDecimal(std::string_view text) {
  Decimal number;
  const size_t first_digit = text.starts_with('-') ? 1 : 0;
  size_t i = first_digit;
  size_t point = std::string_view::npos;
  int zeros = 0;   // Zeros behind the point that count only if a digit follows.
  int digits = 0;  // Without leading zeros.
  const auto append = [&](int digit) {
    digits += digits > 0 || digit != 0 ? 1 : 0;
    if (digits <= kMaxDigits && number.scale <= kMaxDigits) {
      number.digits = number.digits * 10 + digit;
    }
  };
  for (; i < text.size(); ++i) {
    const int digit = text[i] - '0';
    if (text[i] == '.' && point == std::string_view::npos && i > first_digit) {
      point = i;
    } else if (digit < 0 || digit > 9) {
      break;
    } else if (point == std::string_view::npos) {
      append(digit);
      number.too_large = digits > kMaxDigits;
    } else if (digit == 0) {
      ++zeros;
    } else {
      number.scale += zeros + 1;
      for (; zeros > 0; --zeros) append(0);
      append(digit);
      number.too_fine = digits > kMaxDigits || number.scale > kMaxDigits;
    }
  }
  if (first_digit == 1) number.digits = -number.digits;
  const bool ends_in_digit = i > first_digit && i - 1 != point;
  number.length = ends_in_digit ? i : 0;
  return number;
}

// The unit to suggest for a number without one. The larger the number, the smaller the unit, so
// that the suggestion has a magnitude that occurs.
struct Guess {
  int64_t below;
  std::string_view unit;
};
constexpr int64_t kAnyNumber = std::numeric_limits<int64_t>::max();
constexpr Guess kDurationGuesses[] = {{10'000, "us"}, {1'000'000'000, "ns"}, {kAnyNumber, "ps"}};
constexpr Guess kRateGuesses[] = {{1'000, "Gbps"}, {1'000'000, "Mbps"}, {kAnyNumber, "bps"}};
constexpr Guess kSizeGuesses[] = {{1'000, "KB"}, {kAnyNumber, "B"}};

struct Dimension {
  std::span<const Unit> units;
  std::span<const Guess> guesses;
  std::string_view example;
};
constexpr Dimension kDurationIn{kDurations, kDurationGuesses, "10us"};
constexpr Dimension kRateIn{kRates, kRateGuesses, "100Gbps"};
constexpr Dimension kSizeIn{kSizes, kSizeGuesses, "100KB"};

std::string FormatWithUnit(int64_t value, std::span<const Unit> units);
ParseError ParseWithUnit(std::string_view text, const Dimension& in, int64_t& value);

// Suggests how to write a number that has no unit: with the guessed unit, and with a larger one
// where that is shorter.
std::string Suggestions(std::string_view text, const Decimal& number, const Dimension& in) {
  absl::int128 whole = number.digits < 0 ? -number.digits : number.digits;
  for (int i = 0; i < number.scale && i <= kMaxDigits; ++i) whole /= 10;
  const Guess* guess = &in.guesses.front();
  while (guess != &in.guesses.back() && whole >= guess->below) ++guess;
  const std::string plain = fmt::format("{}{}", text, guess->unit);
  int64_t value = 0;
  if (ParseWithUnit(plain, in, value)) return fmt::format("\"{}\"", plain);
  const std::string shorter = FormatWithUnit(value, in.units);
  if (shorter.size() >= plain.size()) return fmt::format("\"{}\"", plain);
  return fmt::format("\"{}\" or \"{}\"", plain, shorter);
}

ParseError ParseWithUnit(std::string_view text, const Dimension& in, int64_t& value) {
  const std::span<const Unit> units = in.units;
  const std::string names = UnitNames(units);
  const Decimal number = ReadDecimal(text);
  if (number.length == 0) {
    return fmt::format("\"{}\" is not a number with a unit, such as \"{}\" (units: {})", text,
                       in.example, names);
  }
  const std::string_view suffix = text.substr(number.length);
  if (suffix.empty()) {
    return fmt::format("\"{}\" has no unit; write {} (units: {})", text,
                       Suggestions(text, number, in), names);
  }
  for (const Unit& unit : units) {
    if (suffix != unit.name) continue;
    if (number.too_large) return fmt::format("\"{}\" is too large", text);
    if (number.too_fine) {
      return fmt::format("\"{}\" is not a whole number of {}", text, units.front().name);
    }
    absl::int128 scaled = number.digits * unit.factor;
    for (int i = 0; i < number.scale; ++i) {
      if (scaled % 10 != 0) {
        return fmt::format("\"{}\" is not a whole number of {}", text, units.front().name);
      }
      scaled /= 10;
    }
    if (scaled > kLargest || scaled < -absl::int128(kLargest)) {
      return fmt::format("\"{}\" is too large", text);
    }
    value = static_cast<int64_t>(scaled);
    return std::nullopt;
  }
  return fmt::format("\"{}\" has an unknown unit \"{}\"{} (units: {}, written without a space)",
                     text, suffix, MeantUnit(suffix, units), names);
}

std::string FormatWithUnit(int64_t value, std::span<const Unit> units) {
  const Unit* best = &units.front();
  for (const Unit& unit : units) {
    if (value != 0 && value % unit.factor == 0 && unit.name.find('i') == std::string_view::npos) {
      best = &unit;
    }
  }
  return fmt::format("{}{}", value / best->factor, best->name);
}

std::string RoundWithUnit(int64_t value, std::span<const Unit> units) {
  const Unit* best = &units.front();
  for (const Unit& unit : units) {
    if (std::abs(value) >= unit.factor) best = &unit;
  }
  return fmt::format("{:.5g}{}", static_cast<double>(value) / static_cast<double>(best->factor),
                     best->name);
}

// Returns a suggestion for a percentage; "" otherwise.
std::string ShareMeant(std::string_view text) {
  if (!text.ends_with('%')) return "";
  const auto percent = NumberFrom<double>(text.substr(0, text.size() - 1));
  if (!percent || !std::isfinite(*percent)) return "";
  return fmt::format("; write {:.6g}", *percent / 100);
}

ParseError ParseDouble(std::string_view text, double& value) {
  // Refuses exponents without digits, hexadecimal and "inf".
  const auto number = NumberFrom<double>(text);
  if (!number || !std::isfinite(*number)) {
    return fmt::format("\"{}\" is not a number{}", text, ShareMeant(text));
  }
  value = *number;
  return std::nullopt;
}

}  // namespace

ParseError ParseQuantity(std::string_view text, Duration& value) {
  return ParseWithUnit(text, kDurationIn, value.ps);
}

ParseError ParseQuantity(std::string_view text, BitRate& value) {
  return ParseWithUnit(text, kRateIn, value.bps);
}

ParseError ParseQuantity(std::string_view text, Bytes& value) {
  return ParseWithUnit(text, kSizeIn, value.count);
}

ParseError ParseQuantity(std::string_view text, int64_t& value) {
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) {
    return fmt::format("\"{}\" is not a whole number in decimal digits", text);
  }
  if (digits.size() > 1 && digits.front() == '0') {
    return fmt::format("\"{}\" starts with a zero, which some read as octal; remove it", text);
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value > kLargest || value < -kLargest) {
    return fmt::format("\"{}\" is too large", text);
  }
  return std::nullopt;
}

ParseError ParseQuantity(std::string_view text, double& value) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return ParseDouble(text, value);
  double numerator = 0;
  double denominator = 0;
  if (ParseDouble(text.substr(0, slash), numerator) ||
      ParseDouble(text.substr(slash + 1), denominator) || denominator == 0) {
    return fmt::format("\"{}\" is not a number or a fraction", text);
  }
  value = numerator / denominator;
  if (!std::isfinite(value)) return fmt::format("\"{}\" is too large", text);
  return std::nullopt;
}

ParseError ParseQuantity(std::string_view text, bool& value) {
  if (text != "true" && text != "false") {
    return fmt::format("\"{}\" is neither true nor false", text);
  }
  value = text == "true";
  return std::nullopt;
}

ParseError ParseQuantity(std::string_view text, std::string& value) {
  value = std::string(text);
  return std::nullopt;
}

std::string FormatQuantity(Duration value) { return FormatWithUnit(value.ps, kDurations); }
std::string RoundedQuantity(Duration value) { return RoundWithUnit(value.ps, kDurations); }
std::string FormatQuantity(BitRate value) { return FormatWithUnit(value.bps, kRates); }
std::string FormatQuantity(Bytes value) { return FormatWithUnit(value.count, kSizes); }
std::string FormatQuantity(int64_t value) { return fmt::format("{}", value); }
std::string FormatQuantity(double value) { return fmt::format("{}", value); }
std::string FormatQuantity(bool value) { return value ? "true" : "false"; }
std::string FormatQuantity(const std::string& value) { return value; }

}  // namespace heddle
