// SPDX-License-Identifier: Apache-2.0

#include "workload/sizes.h"

#include <absl/strings/str_split.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "settings/diagnostics.h"
#include "settings/files_read.h"
#include "settings/number_text.h"
#include "settings/quantity.h"
#include "settings/status.h"
#include "settings/wording.h"

namespace heddle {
namespace {

constexpr double kLargestFlow = 4e12;
constexpr size_t kMaxCdfBytes = 16 << 20;

int64_t Whole(double bytes) { return std::max<int64_t>(1, std::llround(bytes)); }

// --- Piecewise ---

// Returns the same distribution with everything above `largest` moved to it.
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
    // A steep distribution has a factor beyond a double. Other distributions keep the last digits
    // that they have always had, because these decide when flows start.
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

using Parsed = absl::StatusOr<std::unique_ptr<SizeDistribution>>;

// Reads "name:argument:argument..." from the left.
class SizeParser {
 public:
  SizeParser(std::string_view text, const SizeOptions& options, FilesRead& files)
      : rest_(text), options_(options), files_(files) {}

  Parsed ParseAll() {
    auto sizes = Parse(0);
    if (sizes.ok() && !rest_.empty()) return Refuse(fmt::format("\"{}\" is left over", rest_));
    return sizes;
  }

 private:
  Parsed Parse(int depth) {
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
    return Refuse(
        fmt::format("no size distribution is called \"{}\"{}", name, Suggestion(name, known)));
  }

  Parsed ParseFixed() {
    double size = 0;
    if (absl::Status status = NextSize("fixed:SIZE", size); !status.ok()) return status;
    return MakeCdf({{size, 0}, {size, 1}}, options_);
  }

  Parsed ParseUniform() {
    double low = 0;
    double high = 0;
    absl::Status status = NextSize("uniform:SIZE:SIZE", low);
    if (status.ok()) status = NextSize("uniform:SIZE:SIZE", high);
    if (!status.ok()) return status;
    if (low > high) return Refuse("the first size of uniform is larger than the second");
    return MakeCdf({{low, 0}, {high, 1}}, options_);
  }

  Parsed ParsePareto() {
    double mean = 0;
    double shape = 0;
    absl::Status status = NextSize("pareto:MEAN:SHAPE", mean);
    if (status.ok()) status = NextNumber("pareto:MEAN:SHAPE", shape);
    if (!status.ok()) return status;
    if (shape <= 1 || shape > 100) return Refuse("pareto needs a shape above 1, or it has no mean");
    return std::make_unique<Pareto>(mean * (shape - 1) / shape,
                                    std::numeric_limits<double>::infinity(), shape, Largest());
  }

  Parsed ParseBoundedPareto() {
    constexpr std::string_view kForm = "pareto_bounded:MIN:MAX:SHAPE";
    double low = 0;
    double high = 0;
    double shape = 0;
    absl::Status status = NextSize(kForm, low);
    if (status.ok()) status = NextSize(kForm, high);
    if (status.ok()) status = NextNumber(kForm, shape);
    if (!status.ok()) return status;
    if (low >= high) return Refuse("the least size of pareto_bounded is not below the largest");
    if (shape <= 0 || shape > 100) return Refuse("pareto_bounded needs a shape above 0");
    return std::make_unique<Pareto>(low, high, shape, Largest());
  }

  Parsed ParseClasses() {
    std::array<double, 4> shares{};
    double sum = 0;
    for (double& share : shares) {
      if (absl::Status status = NextNumber("classes:S:M:L:XL", share); !status.ok()) return status;
      if (share < 0) return Refuse("a share is negative");
      sum += share;
    }
    // Shares may be given in percent.
    if (std::abs(sum - 1) > 1e-9 && std::abs(sum - 100) > 1e-7) {
      return Refuse(fmt::format("the shares of classes sum to {:g}; expected 1 or 100", sum));
    }
    for (double& share : shares) share /= sum;
    return std::make_unique<Classes>(shares, Largest());
  }

  Parsed ParseMix(int depth) {
    double share = 0;
    if (depth > 8) return Refuse("mix is nested too deep");
    if (absl::Status status = NextNumber("mix:SHARE:FIRST:SECOND", share); !status.ok()) {
      return status;
    }
    if (share < 0 || share > 1) return Refuse("the share of mix is not between 0 and 1");
    auto first = Parse(depth + 1);
    if (!first.ok()) return first;
    auto second = Parse(depth + 1);
    if (!second.ok()) return second;
    return std::make_unique<Mix>(share, *std::move(first), *std::move(second));
  }

  Parsed ParseFile() {
    const std::string path(std::exchange(rest_, {}));
    if (path.empty()) return Refuse("file: needs a path, as in file:my_sizes.cdf");
    const absl::StatusOr<std::string> text = files_.Read(path, kMaxCdfBytes);
    if (!text.ok()) return Within(text.status(), path, " ");
    const absl::StatusOr<CdfPoints> points = ParseCdf(*text, path);
    if (!points.ok()) return points.status();
    return MakeCdf(*points, options_);
  }

  std::string_view NextWord() {
    const size_t colon = rest_.find(':');
    const std::string_view word = rest_.substr(0, colon);
    rest_ = colon == std::string_view::npos ? std::string_view() : rest_.substr(colon + 1);
    return word;
  }

  absl::Status NextSize(std::string_view form, double& size) {
    const std::string_view word = NextWord();
    Bytes bytes;
    if (const ParseError wrong = ParseQuantity(word, bytes)) {
      return Refuse(fmt::format("{}; expected {}", *wrong, form));
    }
    if (bytes.count < 1 || static_cast<double>(bytes.count) > kLargestFlow) {
      return Refuse(fmt::format("the size \"{}\" is out of range; expected 1B to 4TB", word));
    }
    size = static_cast<double>(bytes.count);
    return absl::OkStatus();
  }

  absl::Status NextNumber(std::string_view form, double& number) {
    if (const ParseError wrong = ParseQuantity(NextWord(), number)) {
      return Refuse(fmt::format("{}; expected {}", *wrong, form));
    }
    return absl::OkStatus();
  }

  static absl::Status Refuse(const std::string& message) {
    return absl::InvalidArgumentError(message);
  }

  double Largest() const {
    return options_.largest ? static_cast<double>(options_.largest->count)
                            : std::numeric_limits<double>::infinity();
  }

  std::string_view rest_;
  const SizeOptions& options_;
  FilesRead& files_;
};

// Returns the numbers of one line of a CDF file, without its comment; nothing if there is something
// else.
std::optional<std::vector<double>> NumbersOf(std::string_view line) {
  std::vector<double> numbers;
  const std::vector<std::string> words = absl::StrSplit(
      std::string(line.substr(0, line.find('#'))), absl::ByAnyChar(" \t\r,"), absl::SkipEmpty());
  for (const std::string& word : words) {
    const auto number = NumberFrom<double>(word);
    if (!number || !std::isfinite(*number)) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

// Returns an error if the point may not follow `points`.
absl::Status CheckPoint(const CdfPoints& points, double x, double share) {
  const auto refuse = [](const std::string& why) { return absl::InvalidArgumentError(why); };
  if (x < 0 || x > kLargestFlow) return refuse(fmt::format("the size {} is out of range", x));
  if (share < 0 || share > 100) return refuse(fmt::format("the share {} is out of range", share));
  if (points.empty()) return absl::OkStatus();
  if (x < points.back().first) {
    return refuse(fmt::format("the size {} is less than the one before", x));
  }
  if (share < points.back().second) {
    return refuse(fmt::format("the share {} is less than the one before", share));
  }
  return absl::OkStatus();
}

// The mistakes in a CDF file, each with its line, up to a number that a user may want to read.
class CdfProblems {
 public:
  explicit CdfProblems(std::string source) : source_(std::move(source)) {}

  // Ignores an OK status.
  void Add(const absl::Status& status, int line) {
    if (status.ok()) return;
    const std::string place = fmt::format("{}:{}", source_, line);
    if (++count_ <= kMost) lines_.push_back(MessageOf(Within(status, place)));
  }

  bool empty() const { return count_ == 0; }

  // Returns an error with a line for each mistake.
  absl::Status status() const {
    std::string text = fmt::format("{}", fmt::join(lines_, "\n"));
    if (count_ > kMost) {
      text += fmt::format("\n{}: and {}", source_, CountedNoun(count_ - kMost, "more mistake"));
    }
    return absl::InvalidArgumentError(text);
  }

 private:
  static constexpr size_t kMost = 20;

  const std::string source_;
  std::vector<std::string> lines_;
  size_t count_ = 0;
};

// Adds the point of a line to the CDF, if the line has one.
absl::Status ReadPoint(std::string_view line, CdfPoints& points) {
  const auto numbers = NumbersOf(line);
  if (!numbers || numbers->size() == 1 || numbers->size() > 3) {
    return absl::InvalidArgumentError("expected a size in bytes and the share of flows up to it");
  }
  if (numbers->empty()) return absl::OkStatus();
  absl::Status status = CheckPoint(points, numbers->front(), numbers->back());
  if (status.ok()) points.emplace_back(numbers->front(), numbers->back());
  return status;
}

// Checks a whole CDF, of which each point has been checked.
absl::Status CheckWhole(const CdfPoints& points) {
  if (points.size() < 2) return absl::InvalidArgumentError("a CDF needs at least two points");
  if (points.back().second != 1 && points.back().second != 100) {
    return absl::InvalidArgumentError("the last share is neither 1 nor 100");
  }
  if (points.back().first < 1) return absl::InvalidArgumentError("all flows are empty");
  return absl::OkStatus();
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

absl::StatusOr<CdfPoints> ParseCdf(const std::string& text, const std::string& source) {
  CdfPoints points;
  CdfProblems problems(source);
  int line_number = 0;
  bool last_is_read = true;
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find('\n', start), text.size());
    const absl::Status status =
        ReadPoint(std::string_view(text).substr(start, end - start), points);
    problems.Add(status, ++line_number);
    last_is_read = status.ok();
    start = end + 1;
  }
  if (last_is_read && (problems.empty() || points.size() > 1)) {
    problems.Add(CheckWhole(points), line_number);
  }
  if (!problems.empty()) return problems.status();
  const double last = points.back().second;
  for (auto& [x, share] : points) share /= last;
  return points;
}

std::unique_ptr<SizeDistribution> MakeCdf(const CdfPoints& points, const SizeOptions& options) {
  return std::make_unique<Cdf>(options.largest ? CutAt(points, options) : points,
                               options.interpolation);
}

absl::StatusOr<std::unique_ptr<SizeDistribution>> ParseSizes(std::string_view text,
                                                             const SizeOptions& options,
                                                             FilesRead& files) {
  return SizeParser(text, options, files).ParseAll();
}

}  // namespace heddle
