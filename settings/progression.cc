// SPDX-License-Identifier: Apache-2.0

#include "settings/progression.h"

#include <absl/numeric/int128.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <initializer_list>
#include <optional>
#include <string>

#include "settings/number_text.h"
#include "settings/quantity.h"

namespace heddle {
namespace {

constexpr int64_t kMaxValues = 10'000;
constexpr int kMaxStepDigits = 12;  // Digits of a number as written: all products fit 128 bits.
constexpr int kExtraDigits = 6;     // Further digits that an exact decimal may have.
constexpr int kRoundedDigits = 4;   // Significant digits without an exact decimal.

// The number digits / 10^scale, with the text written behind it.
struct Amount {
  absl::int128 digits = 0;
  int scale = 0;
  std::string unit;
};

// Moves the point of `amount` by the exponent in `text`, such as "e-4". Returns false if `text` is
// no exponent.
bool MovePoint(Amount& amount, std::string_view text) {
  if (text.size() < 2 || (text.front() != 'e' && text.front() != 'E')) return false;
  const bool plus = text[1] == '+';
  text.remove_prefix(plus ? 2 : 1);
  if (plus && text.starts_with('-')) return false;
  const auto exponent = NumberFrom<int>(text);
  if (!exponent || std::abs(*exponent) > kMaxStepDigits) return false;
  amount.scale -= *exponent;
  for (; amount.scale < 0; ++amount.scale) amount.digits *= 10;
  return amount.scale <= kMaxStepDigits;
}

std::optional<Amount> ReadAmount(std::string_view text) {
  Amount amount;
  const bool negative = text.starts_with('-');
  size_t i = negative ? 1 : 0;
  bool point = false;
  int digits = 0;
  for (; i < text.size(); ++i) {
    if (text[i] == '.' && !point) {
      point = true;
    } else if (text[i] >= '0' && text[i] <= '9') {
      amount.digits = amount.digits * 10 + (text[i] - '0');
      amount.scale += point ? 1 : 0;
      if (++digits > kMaxStepDigits) return std::nullopt;
    } else {
      break;
    }
  }
  if (digits == 0) return std::nullopt;
  if (negative) amount.digits = -amount.digits;
  if (MovePoint(amount, text.substr(i))) return amount;
  amount.unit = text.substr(i);
  // "1/16" is a number, too, but no decimal.
  if (amount.unit.find_first_of("/0123456789") != std::string::npos) return std::nullopt;
  return amount;
}

// Reads a quantity in its base unit: 10us and 1ms both become picoseconds.
template <class Quantity>
std::optional<Amount> InBaseUnit(const std::string& text, int64_t Quantity::*count,
                                 const std::string& unit) {
  Quantity quantity;
  if (ParseQuantity(text, quantity)) return std::nullopt;
  return Amount{quantity.*count, 0, unit};
}

std::optional<Amount> InBaseUnit(const std::string& text) {
  if (auto amount = InBaseUnit<Duration>(text, &Duration::ps, "ps")) return amount;
  if (auto amount = InBaseUnit<BitRate>(text, &BitRate::bps, "bps")) return amount;
  return InBaseUnit<Bytes>(text, &Bytes::count, "B");
}

void Rescale(Amount& amount, int scale) {
  for (; amount.scale < scale; ++amount.scale) amount.digits *= 10;
}

void DropZeros(Amount& amount) {
  for (; amount.scale > 0 && amount.digits % 10 == 0; --amount.scale) amount.digits /= 10;
}

double ToDouble(const Amount& amount) {
  return static_cast<double>(amount.digits) / std::pow(10.0, amount.scale);
}

std::string Text(Amount amount) {
  DropZeros(amount);
  const bool negative = amount.digits < 0;
  absl::int128 rest = negative ? -amount.digits : amount.digits;
  std::string text;
  for (int digit = 0; rest > 0 || digit <= amount.scale; ++digit, rest /= 10) {
    if (digit > 0 && digit == amount.scale) text += '.';
    text += static_cast<char>('0' + static_cast<int>(rest % 10));
  }
  if (negative) text += '-';
  std::ranges::reverse(text);
  return text + amount.unit;
}

// Writes base units in the largest unit that leaves a whole number; other units stay as the user
// wrote them.
std::string ShortText(const Amount& amount, bool in_base_unit) {
  if (!in_base_unit || amount.scale != 0) return Text(amount);
  const int64_t count = static_cast<int64_t>(amount.digits);
  if (amount.unit == "ps") return FormatQuantity(Duration{count});
  if (amount.unit == "bps") return FormatQuantity(BitRate{count});
  return FormatQuantity(Bytes{count});
}

// Rounds by writing "1.235e+07" and reading it again.
Amount Rounded(double value, const std::string& unit) {
  const std::string text = fmt::format("{:.{}e}", value, kRoundedDigits - 1);
  const size_t e = text.find('e');
  Amount amount = ReadAmount(text.substr(0, e)).value();
  amount.unit = unit;
  int exponent = std::atoi(text.c_str() + e + 1);
  DropZeros(amount);
  for (; exponent > 0 && amount.scale > 0; --exponent) --amount.scale;
  for (; exponent > 0; --exponent) amount.digits *= 10;
  amount.scale -= exponent;
  return amount;
}

class RangeReader {
 public:
  RangeReader(const Value& range, std::string_view path, Diagnostics& diagnostics)
      : range_(range), path_(path), diagnostics_(diagnostics) {}

  std::vector<Value> Read() {
    static const std::vector<std::string> kKeys = {"from", "to", "step", "points", "scale"};
    for (const Value::Entry& entry : range_.entries) {
      if (std::ranges::find(kKeys, entry.key) != kKeys.end()) continue;
      Fail(entry.key_place, entry.key, "unknown key of a range" + Suggestion(entry.key, kKeys));
    }
    const Value* step = range_.Find("step");
    const Value* points = range_.Find("points");
    if ((step == nullptr) == (points == nullptr)) {
      Fail(range_.place, "", "a range needs either a step or a number of points");
    }
    if (!ReadAmounts(step) || failed_) return {};
    return Values(step != nullptr ? BySteps() : ByPoints(*points));
  }

 private:
  void Fail(const Place& place, std::string_view key, std::string_view message) {
    failed_ = true;
    diagnostics_.Error(place, key.empty() ? path_ : fmt::format("{}.{}", path_, key), message);
  }

  bool ReadAmount(std::string_view key, Amount& amount) {
    const Value* value = range_.Find(key);
    if (value == nullptr) {
      Fail(range_.place, key, "is missing; a range is written as {from: 0.1, to: 0.9, step: 0.1}");
      return false;
    }
    const auto read = heddle::ReadAmount(value->text);
    if (value->kind != Value::Kind::kScalar || !read) {
      Fail(value->place, key,
           fmt::format("{} is not a decimal number, or one with a unit", Describe(*value)));
      return false;
    }
    amount = *read;
    return true;
  }

  bool ReadAmounts(const Value* step) {
    const bool read = ReadAmount("from", from_) && ReadAmount("to", to_) &&
                      (step == nullptr || ReadAmount("step", step_));
    if (!read || !ShareAUnit(step)) return false;
    const int scale = std::max({from_.scale, to_.scale, step_.scale});
    for (Amount* amount : {&from_, &to_, &step_}) Rescale(*amount, scale);
    if (from_.digits < to_.digits) return true;
    Fail(range_.Find("to")->place, "to", "must be larger than from");
    return false;
  }

  bool ShareAUnit(const Value* step) {
    if (from_.unit == to_.unit && (step == nullptr || step_.unit == to_.unit)) return true;
    in_base_unit_ = true;
    const auto convert = [&](const Value* value, Amount& amount) {
      const auto converted = value == nullptr ? Amount{} : InBaseUnit(value->text);
      if (converted) amount = *converted;
      return converted && (value == nullptr || converted->unit == from_.unit);
    };
    if (convert(range_.Find("from"), from_) && convert(range_.Find("to"), to_) &&
        convert(step, step_)) {
      return true;
    }
    Fail(range_.place, "", "the numbers of a range need units of one kind, or none");
    return false;
  }

  std::vector<Amount> BySteps() {
    const Place& place = range_.Find("step")->place;
    if (step_.digits <= 0) {
      Fail(place, "step", "must be larger than zero");
      return {};
    }
    const absl::int128 span = to_.digits - from_.digits;
    if (span / step_.digits >= kMaxValues) return TooMany(place, "step");
    const int64_t steps = static_cast<int64_t>(span / step_.digits);
    std::vector<Amount> amounts;
    for (int64_t i = 0; i <= steps; ++i) {
      amounts.push_back({from_.digits + i * step_.digits, from_.scale, from_.unit});
    }
    if (span % step_.digits != 0) {
      Fail(place, "step",
           fmt::format("does not lead to {}; the last value would be {}", range_.Find("to")->text,
                       ShortText(amounts.back(), in_base_unit_)));
    }
    return amounts;
  }

  std::vector<Amount> ByPoints(const Value& points) {
    int64_t count = 0;
    if (ParseQuantity(points.text, count) || count < 2) {
      Fail(points.place, "points",
           fmt::format("{} is not a whole number of at least 2", Describe(points)));
      return {};
    }
    if (count > kMaxValues) return TooMany(points.place, "points");
    const Value* scale = range_.Find("scale");
    const bool log = scale != nullptr && scale->text == "log";
    if (scale != nullptr && !log && scale->text != "linear") {
      Fail(scale->place, "scale", fmt::format("{} is neither linear nor log", Describe(*scale)));
    }
    if (log && from_.digits <= 0) {
      Fail(range_.Find("from")->place, "from", "must be larger than zero for a logarithmic scale");
    }
    if (failed_) return {};
    std::vector<Amount> amounts = {from_};
    for (int64_t i = 1; i + 1 < count; ++i) {
      amounts.push_back(log ? OnLogScale(i, count - 1) : OnLine(i, count - 1));
    }
    amounts.push_back(to_);
    return amounts;
  }

  Amount OnLogScale(int64_t i, int64_t steps) const {
    const double share = static_cast<double>(i) / static_cast<double>(steps);
    return Rounded(ToDouble(from_) * std::pow(ToDouble(to_) / ToDouble(from_), share), from_.unit);
  }

  Amount OnLine(int64_t i, int64_t steps) const {
    Amount amount{(to_.digits - from_.digits) * i, from_.scale, from_.unit};
    for (int extra = 0; extra < kExtraDigits && amount.digits % steps != 0; ++extra) {
      Rescale(amount, amount.scale + 1);
    }
    Amount start = from_;
    Rescale(start, amount.scale);
    const absl::int128 rest = amount.digits % steps;
    amount.digits = start.digits + amount.digits / steps;
    if (rest == 0) return amount;
    return Rounded(ToDouble(amount), amount.unit);
  }

  std::vector<Amount> TooMany(const Place& place, std::string_view key) {
    Fail(place, key, fmt::format("makes more than {} values", kMaxValues));
    return {};
  }

  std::vector<Value> Values(const std::vector<Amount>& amounts) const {
    std::vector<Value> values;
    if (failed_) return values;
    for (const Amount& amount : amounts) {
      values.push_back(Value::Scalar(ShortText(amount, in_base_unit_), range_.place));
    }
    return values;
  }

  const Value& range_;
  const std::string path_;
  Diagnostics& diagnostics_;
  Amount from_;
  Amount to_;
  Amount step_;
  bool in_base_unit_ = false;
  bool failed_ = false;
};

}  // namespace

std::vector<Value> Progression(const Value& range, std::string_view path,
                               Diagnostics& diagnostics) {
  return RangeReader(range, path, diagnostics).Read();
}

}  // namespace heddle
