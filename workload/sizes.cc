// SPDX-License-Identifier: Apache-2.0

#include "workload/sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "settings/diagnostics.h"
#include "settings/quantity.h"

namespace heddle {
namespace {

constexpr double kLargestFlow = 4e12;
constexpr size_t kMaxCdfBytes = 16 << 20;

int64_t Whole(double bytes) { return std::max<int64_t>(1, std::llround(bytes)); }

// --- Piecewise ---

// The same distribution with everything above `largest` moved to it.
CdfPoints CutAt(const CdfPoints& points, const SizeOptions& options) {
  const double largest = static_cast<double>(options.largest->count);
  CdfPoints cut;
  for (const auto& [x, share] : points) {
    if (x <= largest) {
      cut.emplace_back(x, share);
      continue;
    }
    if (options.interpolation == Interpolation::kLinear && !cut.empty()) {
      const auto [low_x, low_share] = cut.back();
      cut.emplace_back(largest, low_share + (share - low_share) * (largest - low_x) / (x - low_x));
    }
    break;
  }
  if (cut.empty() || cut.back().second < 1) cut.emplace_back(largest, 1.0);
  return cut;
}

class Cdf final : public SizeDistribution {
 public:
  Cdf(CdfPoints points, Interpolation interpolation)
      : points_(std::move(points)), linear_(interpolation == Interpolation::kLinear) {}

  int64_t Sample(Rng& rng) const override {
    const double u = 1 - rng.Uniform();  // In (0, 1].
    const auto upper = std::ranges::lower_bound(points_, u, {}, &CdfPoints::value_type::second);
    if (upper == points_.begin() || !linear_) return Whole(upper->first);
    const auto lower = upper - 1;
    return Whole(lower->first + (upper->first - lower->first) * (u - lower->second) /
                                    (upper->second - lower->second));
  }

  double mean() const override {
    double mean = points_.front().first * points_.front().second;
    for (size_t i = 1; i < points_.size(); ++i) {
      const double low = linear_ ? points_[i - 1].first : points_[i].first;
      mean += (low + points_[i].first) / 2 * (points_[i].second - points_[i - 1].second);
    }
    return mean;
  }

  double ShareAbove(double bytes) const override {
    const auto upper = std::ranges::upper_bound(points_, bytes, {}, &CdfPoints::value_type::first);
    if (upper == points_.end()) return 0;
    if (upper == points_.begin()) return 1;
    const auto lower = upper - 1;
    if (!linear_) return 1 - lower->second;
    return 1 - (lower->second + (upper->second - lower->second) * (bytes - lower->first) /
                                    (upper->first - lower->first));
  }

  int64_t max() const override { return Whole(points_.back().first); }

 private:
  const CdfPoints points_;
  const bool linear_;
};

// --- Formulas ---

// Pareto from `low`, bounded by `high` (infinity: not), samples cut to `largest` and, as its tail
// has no end, to kLargestFlow.
class Pareto final : public SizeDistribution {
 public:
  Pareto(double low, double high, double shape, double largest)
      : low_(low),
        shape_(shape),
        tail_(std::isinf(high) ? 0 : std::pow(low / high, shape)),
        largest_(std::min({high, largest, kLargestFlow})) {}

  int64_t Sample(Rng& rng) const override {
    const double u = tail_ + (1 - tail_) * (1 - rng.Uniform());  // The untruncated share above.
    return Whole(std::min(largest_, low_ * std::pow(u, -1 / shape_)));
  }

  // The integral of the share above, cut at the largest.
  double mean() const override {
    if (largest_ <= low_) return largest_;
    return low_ + (Area() - tail_ * (largest_ - low_)) / (1 - tail_);
  }

  double ShareAbove(double bytes) const override {
    if (bytes >= largest_) return 0;
    if (bytes < low_) return 1;
    return (std::pow(low_ / bytes, shape_) - tail_) / (1 - tail_);
  }

  int64_t max() const override { return Whole(largest_); }

 private:
  // Below the untruncated share above, from `low` to the largest.
  double Area() const {
    if (shape_ == 1) return low_ * std::log(largest_ / low_);
    const double scale = std::pow(low_, shape_);
    const double end = std::pow(low_, 1 - shape_);
    // A factor of a steep distribution is beyond a double. The other ones keep the last digits that
    // they have always had, which decide when flows start.
    if (!std::isfinite(scale) || !std::isnormal(end)) {
      return low_ * (std::pow(largest_ / low_, 1 - shape_) - 1) / (1 - shape_);
    }
    return scale * (std::pow(largest_, 1 - shape_) - end) / (1 - shape_);
  }

  const double low_;
  const double shape_;
  const double tail_;
  const double largest_;
};

// The shares of four classes of size, log-uniform inside each: 100 B to 10 KB, to 100 KB, to 1 MB,
// and 1 to 30 MB.
class Classes final : public SizeDistribution {
 public:
  Classes(const std::array<double, 4>& shares, double largest)
      : shares_(shares), largest_(largest) {}

  int64_t Sample(Rng& rng) const override {
    double u = rng.Uniform();
    size_t c = 0;
    while (c < 3 && u >= shares_[c]) u -= shares_[c++];
    while (shares_[c] == 0) --c;  // Rounding may have gone one too far.
    const double size = kEdges[c] * std::pow(kEdges[c + 1] / kEdges[c], rng.Uniform());
    return Whole(std::min(size, largest_));
  }

  double mean() const override {
    double mean = 0;
    for (size_t c = 0; c < 4; ++c) {
      const double low = std::min(kEdges[c], largest_);
      const double high = std::min(kEdges[c + 1], largest_);
      const double width = std::log(kEdges[c + 1] / kEdges[c]);
      const double inside =
          high > low ? (high - low + high * std::log(kEdges[c + 1] / high)) / width : largest_;
      mean += shares_[c] * inside;
    }
    return mean;
  }

  double ShareAbove(double bytes) const override {
    if (bytes >= largest_) return 0;
    double above = 0;
    for (size_t c = 0; c < 4; ++c) {
      const double at = std::clamp(bytes, kEdges[c], kEdges[c + 1]);
      above += shares_[c] * std::log(kEdges[c + 1] / at) / std::log(kEdges[c + 1] / kEdges[c]);
    }
    return above;
  }

  int64_t max() const override { return Whole(std::min(largest_, kEdges[4])); }

 private:
  static constexpr std::array<double, 5> kEdges = {1e2, 1e4, 1e5, 1e6, 3e7};
  const std::array<double, 4> shares_;
  const double largest_;
};

class Mix final : public SizeDistribution {
 public:
  Mix(double share, std::unique_ptr<SizeDistribution> first,
      std::unique_ptr<SizeDistribution> second)
      : share_(share), first_(std::move(first)), second_(std::move(second)) {}

  int64_t Sample(Rng& rng) const override {
    return rng.Uniform() < share_ ? first_->Sample(rng) : second_->Sample(rng);
  }
  double mean() const override { return share_ * first_->mean() + (1 - share_) * second_->mean(); }
  double ShareAbove(double bytes) const override {
    return share_ * first_->ShareAbove(bytes) + (1 - share_) * second_->ShareAbove(bytes);
  }
  int64_t max() const override { return std::max(first_->max(), second_->max()); }

 private:
  const double share_;
  const std::unique_ptr<SizeDistribution> first_;
  const std::unique_ptr<SizeDistribution> second_;
};

// --- Reading ---

// Reads "name:argument:argument..." from the left.
class SizeParser {
 public:
  SizeParser(std::string_view text, const SizeOptions& options, FilesRead& files,
             std::string& error)
      : rest_(text), options_(options), files_(files), error_(error) {}

  std::unique_ptr<SizeDistribution> ParseAll() {
    auto sizes = Parse(0);
    if (sizes && !rest_.empty()) return Fail(fmt::format("\"{}\" is left over", rest_));
    return sizes;
  }

 private:
  std::unique_ptr<SizeDistribution> Parse(int depth) {
    const std::string name(NextWord());
    for (const SizeTable& table : SizeTables()) {
      if (table.name == name) return MakeCdf(table.points, options_);
    }
    if (name == "fixed") return ParseFixed();
    if (name == "uniform") return ParseUniform();
    if (name == "pareto") return ParsePareto();
    if (name == "pareto_bounded") return ParseBoundedPareto();
    if (name == "classes") return ParseClasses();
    if (name == "mix") return ParseMix(depth);
    if (name == "file") return ParseFile();
    std::vector<std::string> known;
    for (const SizeTable& table : SizeTables()) known.emplace_back(table.name);
    for (const char* form :
         {"fixed", "uniform", "pareto", "pareto_bounded", "classes", "mix", "file"}) {
      known.emplace_back(form);
    }
    return Fail(
        fmt::format("no size distribution is called \"{}\"{}", name, Suggestion(name, known)));
  }

  std::unique_ptr<SizeDistribution> ParseFixed() {
    double size = 0;
    if (!NextSize("fixed:SIZE", size)) return nullptr;
    return MakeCdf({{size, 0}, {size, 1}}, options_);
  }

  std::unique_ptr<SizeDistribution> ParseUniform() {
    double low = 0;
    double high = 0;
    if (!NextSize("uniform:SIZE:SIZE", low) || !NextSize("uniform:SIZE:SIZE", high)) return nullptr;
    if (low > high) return Fail("the first size of uniform is larger than the second");
    return MakeCdf({{low, 0}, {high, 1}}, options_);
  }

  std::unique_ptr<SizeDistribution> ParsePareto() {
    double mean = 0;
    double shape = 0;
    if (!NextSize("pareto:MEAN:SHAPE", mean) || !NextNumber("pareto:MEAN:SHAPE", shape)) {
      return nullptr;
    }
    if (shape <= 1 || shape > 100) return Fail("pareto needs a shape above 1, or it has no mean");
    return std::make_unique<Pareto>(mean * (shape - 1) / shape,
                                    std::numeric_limits<double>::infinity(), shape, Largest());
  }

  std::unique_ptr<SizeDistribution> ParseBoundedPareto() {
    constexpr std::string_view kForm = "pareto_bounded:MIN:MAX:SHAPE";
    double low = 0;
    double high = 0;
    double shape = 0;
    if (!NextSize(kForm, low) || !NextSize(kForm, high) || !NextNumber(kForm, shape)) {
      return nullptr;
    }
    if (low >= high) return Fail("the least size of pareto_bounded is not below the largest");
    if (shape <= 0 || shape > 100) return Fail("pareto_bounded needs a shape above 0");
    return std::make_unique<Pareto>(low, high, shape, Largest());
  }

  std::unique_ptr<SizeDistribution> ParseClasses() {
    std::array<double, 4> shares{};
    double sum = 0;
    for (double& share : shares) {
      if (!NextNumber("classes:S:M:L:XL", share)) return nullptr;
      if (share < 0) return Fail("a share is negative");
      sum += share;
    }
    // Shares may be given in percent.
    if (std::abs(sum - 1) > 1e-9 && std::abs(sum - 100) > 1e-7) {
      return Fail(fmt::format("the shares of classes sum to {:g}; expected 1 or 100", sum));
    }
    for (double& share : shares) share /= sum;
    return std::make_unique<Classes>(shares, Largest());
  }

  std::unique_ptr<SizeDistribution> ParseMix(int depth) {
    double share = 0;
    if (depth > 8) return Fail("mix is nested too deep");
    if (!NextNumber("mix:SHARE:FIRST:SECOND", share)) return nullptr;
    if (share < 0 || share > 1) return Fail("the share of mix is not between 0 and 1");
    auto first = Parse(depth + 1);
    if (!first) return nullptr;
    auto second = Parse(depth + 1);
    if (!second) return nullptr;
    return std::make_unique<Mix>(share, std::move(first), std::move(second));
  }

  std::unique_ptr<SizeDistribution> ParseFile() {
    const std::string path(std::exchange(rest_, {}));
    if (path.empty()) return Fail("file: needs a path, as in file:my_sizes.cdf");
    std::string message;
    const std::optional<std::string> text = files_.Read(path, kMaxCdfBytes, message);
    if (!text) return Fail(fmt::format("{} {}", path, message));
    const CdfPoints points = ParseCdf(*text, path, error_);
    if (points.empty()) return nullptr;
    return MakeCdf(points, options_);
  }

  std::string_view NextWord() {
    const size_t colon = rest_.find(':');
    const std::string_view word = rest_.substr(0, colon);
    rest_ = colon == std::string_view::npos ? std::string_view() : rest_.substr(colon + 1);
    return word;
  }

  bool NextSize(std::string_view form, double& size) {
    const std::string_view word = NextWord();
    Bytes bytes;
    if (const ParseError wrong = ParseQuantity(word, bytes)) {
      Fail(fmt::format("{}; expected {}", *wrong, form));
      return false;
    }
    if (bytes.count < 1 || static_cast<double>(bytes.count) > kLargestFlow) {
      Fail(fmt::format("the size \"{}\" is out of range; expected 1B to 4TB", word));
      return false;
    }
    size = static_cast<double>(bytes.count);
    return true;
  }

  bool NextNumber(std::string_view form, double& number) {
    if (const ParseError wrong = ParseQuantity(NextWord(), number)) {
      Fail(fmt::format("{}; expected {}", *wrong, form));
      return false;
    }
    return true;
  }

  std::unique_ptr<SizeDistribution> Fail(std::string message) {
    error_ = std::move(message);
    return nullptr;
  }

  double Largest() const {
    return options_.largest ? static_cast<double>(options_.largest->count)
                            : std::numeric_limits<double>::infinity();
  }

  std::string_view rest_;
  const SizeOptions& options_;
  FilesRead& files_;
  std::string& error_;
};

// The numbers of one line of a CDF file, without its comment; false if there is something else.
bool ReadNumbers(std::string_view line, std::vector<double>& numbers) {
  line = line.substr(0, line.find('#'));
  constexpr std::string_view kBlanks = " \t\r,";
  for (;;) {
    const size_t start = line.find_first_not_of(kBlanks);
    if (start == std::string_view::npos) return true;
    line.remove_prefix(start);
    const std::string_view word = line.substr(0, line.find_first_of(kBlanks));
    double number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc() || end != word.data() + word.size() || !std::isfinite(number)) {
      return false;
    }
    numbers.push_back(number);
    line.remove_prefix(word.size());
  }
}

// What is wrong with a point after `points`, if anything.
std::string CheckPoint(const CdfPoints& points, double x, double share) {
  if (x < 0 || x > kLargestFlow) return fmt::format("the size {} is out of range", x);
  if (share < 0 || share > 100) return fmt::format("the share {} is out of range", share);
  if (points.empty()) return "";
  if (x < points.back().first) return fmt::format("the size {} is less than the one before", x);
  if (share < points.back().second) {
    return fmt::format("the share {} is less than the one before", share);
  }
  return "";
}

}  // namespace

double SizeDistribution::MeanPackets(int64_t mss) const {
  // One packet for every multiple of the MSS that a flow exceeds.
  double packets = 1;
  for (int64_t k = 1; k * mss < max(); ++k) {
    const double share = ShareAbove(static_cast<double>(k * mss));
    packets += share;
    if (k > 10'000'000 || share < 1e-12) break;
  }
  return packets;
}

int64_t SizeDistribution::LargeFlow() const {
  int64_t low = 1;
  int64_t high = max();
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (ShareAbove(static_cast<double>(middle)) > 0.01) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

CdfPoints ParseCdf(const std::string& text, const std::string& source, std::string& error) {
  CdfPoints points;
  const auto fail = [&](int line, std::string_view what) {
    error = fmt::format("{}:{}: {}", source, line, what);
    return CdfPoints();
  };
  int line_number = 0;
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find('\n', start), text.size());
    ++line_number;
    std::vector<double> numbers;
    if (!ReadNumbers(std::string_view(text).substr(start, end - start), numbers) ||
        numbers.size() == 1 || numbers.size() > 3) {
      return fail(line_number, "expected a size in bytes and the share of flows up to it");
    }
    start = end + 1;
    if (numbers.empty()) continue;
    if (const std::string wrong = CheckPoint(points, numbers.front(), numbers.back());
        !wrong.empty()) {
      return fail(line_number, wrong);
    }
    points.emplace_back(numbers.front(), numbers.back());
  }
  if (points.size() < 2) return fail(line_number, "a CDF needs at least two points");
  const double last = points.back().second;
  if (last != 1 && last != 100) return fail(line_number, "the last share is neither 1 nor 100");
  if (points.back().first < 1) return fail(line_number, "all flows are empty");
  for (auto& [x, share] : points) share /= last;
  return points;
}

std::unique_ptr<SizeDistribution> MakeCdf(const CdfPoints& points, const SizeOptions& options) {
  return std::make_unique<Cdf>(options.largest ? CutAt(points, options) : points,
                               options.interpolation);
}

std::unique_ptr<SizeDistribution> ParseSizes(std::string_view text, const SizeOptions& options,
                                             FilesRead& files, std::string& error) {
  return SizeParser(text, options, files, error).ParseAll();
}

}  // namespace heddle
