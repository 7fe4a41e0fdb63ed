// SPDX-License-Identifier: Apache-2.0
// A host of PDLB that random delays and packets reach, beside a plain model: when it evaluates its
// delays, what it asks the model of completion times, and where its cells end. The delays' contrast
// and the model of completion times have tests of their own.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lb/pdlb/estimator.h"
#include "lb/pdlb/fct_model.h"
#include "tests/support/lb_bench.h"

namespace heddle::pdlb_host_model_test {

constexpr Duration kPeriod = 100_us;  // A look is somewhere in each.
constexpr int kStalePeriods = 3;

struct Rules {
  std::string name;
  std::string settings = {};
  PdlbForm form = PdlbForm::kCorrected;
  SlowRule slow = SlowRule::kAboveLeast;
  double theta = 1.4;
  size_t min_samples = 8;
  int64_t initial = 1;
  int paths = 4;
  double packets = 10'000;
  BitRate rate = 100_Gbps;  // Of the bench's host.
  double queue = 200;       // 20 packets per 10 Gbps.
  bool is_one_way = false;
  bool powers = false;
};
std::ostream& operator<<(std::ostream& os, const Rules& rules) { return os << rules.name; }

class Model {
 public:
  explicit Model(const Rules& rules) : granularity(rules.initial), rules_(rules) {}

  int64_t granularity;
  int64_t evaluations = 0;
  int64_t changes = 0;
  PathContrast contrast;
  bool has_contrast = false;

  void AddSample(Duration delay) {
    latest_.push_back(static_cast<uint32_t>(delay.ps / 1'000));
    if (latest_.size() > 512) latest_.erase(latest_.begin());
    silent_ = 0;
  }
  // The look in the period that ends now.
  void EndPeriod() {
    ++silent_;
    if (latest_.size() >= rules_.min_samples) return Evaluate();
    if (silent_ <= kStalePeriods) return;
    latest_.clear();
    granularity = rules_.initial;
    has_contrast = false;
  }

 private:
  static double Rounded(double value, double step) { return step * std::round(value / step); }

  void Evaluate() {
    contrast = ContrastOf(latest_, rules_.slow, rules_.theta);
    has_contrast = true;
    latest_.clear();
    const double delay_us =
        std::max(contrast.fast_ns < 50'000 ? Rounded(contrast.fast_ns * 1e-3, 0.5)
                                           : Rounded(contrast.fast_ns * 1e-3, 5),
                 0.5);
    PdlbCase given;
    given.packets = rules_.packets;
    given.paths = rules_.paths;
    given.slow_share = Rounded(contrast.slow_share, 0.01);
    given.slowness = Rounded(contrast.slowness, 0.1);
    given.delay = {std::llround(delay_us * 1e6)};
    given.rate = rules_.rate;
    given.max_window = std::max(1.0, PdlbMaxWindow(rules_.rate, given.delay, rules_.queue));
    std::vector<int> sizes = {1, 2, 3, 6, 11, 22, 44};
    if (!rules_.powers) {
      sizes.clear();
      for (int size = 1; size <= 44; ++size) sizes.push_back(size);
    }
    const int64_t best = BestPdlbGranularity(given, rules_.form, sizes);
    ++evaluations;
    changes += best != granularity ? 1 : 0;
    granularity = best;
  }

  const Rules rules_;
  std::vector<uint32_t> latest_;
  int silent_ = 0;  // Periods without a sample.
};

class Play {
 public:
  Play(const Rules& rules, uint64_t seed)
      : rules_(rules),
        rng_(Rng::Stream(seed, "pdlb", 0)),
        paths_(PathsOfWeights({1, 1, 1, 1})),
        host_("{kind: pdlb, stale: 300us" + (rules.settings.empty() ? "" : ", " + rules.settings) +
                  "}",
              paths_, 0, seed),
        model_(rules),
        flow_(host_.Start(1)) {}

  void Step(int period) {
    const Time now = Time{} + kPeriod * period;
    host_.At(now, [](HostView&, HostPolicy&) {});
    if (period > 0) model_.EndPeriod();
    Compare();
    SendCells(now);
    const uint32_t kind = rng_.Below(8);
    const uint32_t samples = kind < 2 ? 0 : kind == 2 ? rng_.Below(20) : rng_.Below(700);
    const uint32_t fast_ns = rng_.Below(2) == 0 ? 8'000 + rng_.Below(50'000) : 100'000;
    const uint32_t slow_percent = rng_.Below(70);
    const uint32_t slowness_tenths = 12 + rng_.Below(40);
    for (uint32_t i = 0; i < samples; ++i) {
      const bool is_slow = rng_.Below(100) < slow_percent;
      const uint32_t ns = fast_ns + rng_.Below(fast_ns / 10);
      Ack(1_ns * int64_t{is_slow ? ns * slowness_tenths / 10 : ns}, now);
    }
  }

  const Model& model() const { return model_; }
  const std::set<int64_t>& granularities() const { return granularities_; }

 private:
  void Ack(Duration delay, Time now) {
    host_.At(now, [&](HostView& view, HostPolicy& policy) {
      Packet ack;
      ack.kind = PacketKind::kAck;
      ack.sent = now - delay;
      // The receiver has measured the one-way delay.
      if (rules_.is_one_way) ack.SetScheme(static_cast<uint32_t>(delay.ps / 1'000));
      policy.OnAck(view, flow_, ack, {});
    });
    model_.AddSample(rules_.is_one_way ? 2 * delay : delay);
    ++samples_;
  }

  // Two cells, or the rest of one and two.
  void SendCells(Time now) {
    const int64_t packets = 2 * model_.granularity + rng_.Below(3);
    for (int64_t i = 0; i < packets; ++i) Send(now);
  }
  void Send(Time now) {
    const uint16_t cell = host_.Send(flow_, 1'460, now).entropy;
    if (in_cell_ >= model_.granularity) {
      EXPECT_NE(cell, cell_);
      in_cell_ = 0;
      ++cells_;
    } else if (has_sent_) {
      EXPECT_EQ(cell, cell_);
    }
    has_sent_ = true;
    cell_ = cell;
    ++in_cell_;
  }

  void Compare() {
    EXPECT_EQ(host_.Count("granularity"), model_.granularity);
    EXPECT_EQ(host_.Count("evaluations"), model_.evaluations);
    EXPECT_EQ(host_.Count("changes"), model_.changes);
    EXPECT_EQ(host_.Count("samples"), samples_);
    EXPECT_EQ(host_.Count("cells"), cells_);
    granularities_.insert(model_.granularity);
    std::map<std::string, double> gauges;
    for (const auto& gauge : host_.policy().Gauges({})) gauges[gauge.name] = gauge.value;
    EXPECT_EQ(gauges["granularity[1]"], static_cast<double>(model_.granularity));
    EXPECT_EQ(gauges.contains("slow_share[1]"), model_.has_contrast);
    if (!model_.has_contrast) return;
    EXPECT_EQ(gauges["slow_share[1]"], model_.contrast.slow_share);
    EXPECT_EQ(gauges["slow_paths[1]"], model_.contrast.slow_share * rules_.paths);
    EXPECT_EQ(gauges["slowness[1]"], model_.contrast.slowness);
  }

  const Rules rules_;
  Rng rng_;
  const PathTable paths_;
  LbHost host_;
  Model model_;
  HostFlow flow_;
  std::set<int64_t> granularities_;
  int64_t samples_ = 0;
  int64_t cells_ = 0;
  int64_t in_cell_ = 0;
  uint16_t cell_ = 0;
  bool has_sent_ = false;
};

class PdlbHostModelTest : public testing::TestWithParam<Rules> {};

TEST_P(PdlbHostModelTest, CutsCellsAsThePlainModelDoes) {
  std::set<int64_t> granularities;
  int64_t evaluations = 0;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    Play play(GetParam(), seed);
    for (int period = 0; period < 60 && !HasFailure(); ++period) play.Step(period);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
    granularities.insert(play.granularities().begin(), play.granularities().end());
    evaluations += play.model().evaluations;
  }
  EXPECT_GT(evaluations, 100);
  EXPECT_GE(granularities.size(), 3u);
}

INSTANTIATE_TEST_SUITE_P(
    All, PdlbHostModelTest,
    testing::Values(
        Rules{.name = "Default"},
        Rules{.name = "OneGigabit",
              .settings = "model_rate: 1Gbps, initial: 7",
              .initial = 7,
              .rate = 1_Gbps,
              .queue = 20},
        Rules{.name = "Settings",
              .settings = "model_paths: 9, model_rate: 10Gbps, model_queue: 3, model_packets: 300, "
                          "min_samples: 40, theta: 2.5",
              .theta = 2.5,
              .min_samples = 40,
              .paths = 9,
              .packets = 300,
              .rate = 10_Gbps,
              .queue = 3},
        Rules{.name = "Published",
              .settings = "form: literal, slow_if: avg2x, sizes: powers, model_rate: 1Gbps",
              .form = PdlbForm::kLiteral,
              .slow = SlowRule::kAboveAverage,
              .rate = 1_Gbps,
              .queue = 20,
              .powers = true},
        // A window of about one packet.
        Rules{.name = "SmallWindows",
              .settings = "model_rate: 1Gbps, model_queue: 0",
              .rate = 1_Gbps,
              .queue = 0},
        Rules{.name = "OneWay",
              .settings = "signal: owd, model_rate: 10Gbps",
              .rate = 10_Gbps,
              .queue = 65,
              .is_one_way = true}),
    [](const auto& its) { return its.param.name; });

}  // namespace heddle::pdlb_host_model_test
