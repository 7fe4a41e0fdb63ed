// SPDX-License-Identifier: Apache-2.0
// The pacer of a host with receiver-driven congestion control (RCCC) beside a plain model, which
// sees each packet that arrives and says when the next pull leaves, for which flow, and how much it
// grants.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/lab.h"
#include "tests/support/rccc_kit.h"
#include "tests/support/scripted_policy.h"
#include "transport/uet/uet_ack.h"
#include "transport/uet/uet_credit.h"

namespace heddle::rccc_model_test {

using rccc::kLink;
using rccc::kTrims;

constexpr int64_t kMss = 4'086;
constexpr int64_t kFull = 4'150;

struct Scenario {
  std::string name;
  std::string transport;
  std::string grants;  // wished, whole or arrivals
  int64_t quantum = 256;
  int64_t pull = 64;  // Quanta.
  std::string port = kTrims;
  std::vector<int64_t> sizes = {1'000'000, 1, 5'000, 700'001, 300'000, 400'000};
  double loss = 0;  // Of data and of pulls.
};

void PrintTo(const Scenario& scenario, std::ostream* out) { *out << scenario.name; }

class PacerModel {
 public:
  explicit PacerModel(const Scenario& scenario) : rules_(scenario) {
    for (const int64_t size : scenario.sizes) flows_.push_back({.size = size});
  }

  // A data packet, the header of one or a request to send.
  void OnArrival(Time now, const Packet& packet) {
    FireSilently(now);
    Flow& its = flows_[packet.flow];
    const bool is_request = packet.kind == PacketKind::kSyn;
    const bool is_loss = is_request || packet.Has(Packet::kTrimmed);
    if (!is_loss && its.arrived.insert(packet.seq).second) its.bytes += packet.data.payload;
    if (its.bytes == its.size) return;
    if (rules_.grants == "arrivals") {
      ++its.target;
      return Join(now, packet.flow);
    }
    const uint32_t wish = PullTarget(packet);
    const bool more = static_cast<int32_t>(wish - its.target) > 0;
    if (more) its.target = wish;
    const bool goes_first = is_loss && rules_.grants == "whole";
    if (goes_first) {
      const int64_t quanta = (kFull + rules_.quantum - 1) / rules_.quantum;
      if (its.repairs == 0) repairs_.push_back(packet.flow);
      its.repairs += quanta;
      Arm(now);
    }
    if (more || (is_loss && !goes_first)) Join(now, packet.flow);
  }

  void OnPull(Time now, const Packet& pull) {
    SCOPED_TRACE(fmt::format("pull at {} ps", now.ps));
    FireSilently(now);
    EXPECT_EQ(now, due_);
    const std::optional<FlowId> flow = Grant(now);
    ASSERT_TRUE(flow);
    EXPECT_EQ(pull.flow, *flow);
    EXPECT_EQ(pull.pull.granted, flows_[*flow].granted);
    EXPECT_EQ(pull.entropy, flows_[*flow].entropy);
    EXPECT_EQ(pull.bytes, 64);
    ++pulls_;
  }
  int64_t pulls() const { return pulls_; }

 private:
  struct Flow {
    int64_t size;
    std::set<uint32_t> arrived{};
    int64_t bytes = 0;
    uint32_t target = 0;
    uint32_t granted = 0;
    uint16_t entropy = 0;
    int64_t repairs = 0;
    bool is_active = false;
    bool is_idle = false;

    bool is_complete() const { return bytes == size; }
    int64_t missing() const { return static_cast<int32_t>(target - granted); }
  };

  void Join(Time now, FlowId flow) {
    if (std::exchange(flows_[flow].is_active, true)) return;
    active_.push_back(flow);
    Arm(now);
  }
  void Arm(Time now) {
    if (!due_) due_ = std::max(now, free_from_);
  }

  // A timer that finds no flow to pull leaves no trace.
  void FireSilently(Time now) { EXPECT_FALSE(due_ && *due_ < now && Grant(*due_)); }

  // The timer fires. Returns the flow that is pulled.
  std::optional<FlowId> Grant(Time now) {
    due_.reset();
    const auto [flow, quanta, behind] = Choose();
    if (!flow) return std::nullopt;
    Flow& its = flows_[*flow];
    its.granted += static_cast<uint32_t>(quanta);
    its.entropy = static_cast<uint16_t>((its.entropy + 1) % 128);
    free_from_ = now + TimeOf(behind);
    Requeue(*flow);
    if (!repairs_.empty() || !active_.empty() || !idle_.empty()) Arm(free_from_);
    return flow;
  }

  enum class From { kRepairs, kActive, kIdle };
  struct Choice {
    std::optional<FlowId> flow = std::nullopt;
    int64_t quanta = 0;
    int64_t behind = 0;  // Quanta whose time passes before the next pull.
  };
  Choice Choose() {
    while (const std::optional<FlowId> flow = Take(repairs_)) {
      if (flows_[*flow].is_complete()) continue;
      from_ = From::kRepairs;
      return {flow, rules_.pull, rules_.pull};
    }
    while (const std::optional<FlowId> flow = Take(active_)) {
      if (flows_[*flow].is_complete()) continue;
      from_ = From::kActive;
      const int64_t wanted = std::clamp<int64_t>(flows_[*flow].missing(), 0, rules_.pull);
      const int64_t quanta = rules_.grants == "whole" ? rules_.pull : wanted;
      return {flow, quanta, quanta == 0 ? 4 : quanta};
    }
    // In advance, up to a greatest window.
    constexpr int64_t kMost = static_cast<int64_t>(1.5 * 4'674'240e-12 * 100e9 / 8);
    while (const std::optional<FlowId> flow = Take(idle_)) {
      Flow& its = flows_[*flow];
      if (its.is_complete()) continue;
      its.is_idle = -its.missing() < kMost / rules_.quantum;
      if (!its.is_idle) continue;
      from_ = From::kIdle;
      return {flow, rules_.pull, rules_.pull};
    }
    return {};
  }
  void Requeue(FlowId flow) {
    Flow& its = flows_[flow];
    switch (from_) {
      case From::kRepairs:
        its.repairs = std::max<int64_t>(its.repairs - rules_.pull, 0);
        if (its.repairs > 0) repairs_.push_back(flow);
        return;
      case From::kIdle:
        return idle_.push_back(flow);
      case From::kActive:
        its.is_active = its.missing() > 0;
        if (its.is_active) {
          active_.push_back(flow);
        } else if (!its.is_idle && rules_.grants != "arrivals") {
          its.is_idle = true;
          idle_.push_back(flow);
        }
    }
  }
  static std::optional<FlowId> Take(std::deque<FlowId>& flows) {
    if (flows.empty()) return std::nullopt;
    const FlowId flow = flows.front();
    flows.pop_front();
    return flow;
  }

  // The time of so many quanta on the line, of which pulls fill 99 %; EQDS and NDP pace by packets.
  Duration TimeOf(int64_t quanta) const {
    double bits = static_cast<double>(8 * quanta * rules_.quantum) / 0.99;
    if (rules_.grants == "whole") {
      bits = 0.99 * 8 * (kFull + 38) * static_cast<double>(rules_.pull * rules_.quantum) / 4'096;
    } else if (rules_.grants == "arrivals") {
      bits = 8 * kFull / 0.99;
    }
    return Duration{static_cast<int64_t>(bits * 1e12 / 100e9)};
  }

  const Scenario& rules_;
  std::vector<Flow> flows_;
  std::deque<FlowId> repairs_;
  std::deque<FlowId> active_;
  std::deque<FlowId> idle_;
  From from_ = From::kActive;
  std::optional<Time> due_;
  Time free_from_{};
  int64_t pulls_ = 0;
};

class BesidePacer final : public HostPolicy {
 public:
  explicit BesidePacer(PacerModel& model) : model_(model) {}
  void OnData(HostView& view, const Packet& data) override { model_.OnArrival(view.now(), data); }
  // Each request to send is answered at once, and data may be.
  void OnSendAck(HostView& view, const Packet& data, Packet&) override {
    if (data.kind == PacketKind::kSyn) model_.OnArrival(view.now(), data);
  }
  void OnSendCnp(HostView& view, uint16_t, Packet& pull) override {
    model_.OnPull(view.now(), pull);
  }
  size_t StateBytes() const override { return 0; }

 private:
  PacerModel& model_;
};

class RcccModelTest : public testing::TestWithParam<Scenario> {};

// Three hosts send to one.
TEST_P(RcccModelTest, PullsAsTheRulesSay) {
  const Scenario& scenario = GetParam();
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    PacerModel model(scenario);
    Lab lab({.graph = Star(4, kLink),
             .transport = scenario.transport,
             .port = scenario.port,
             .switch_policy = Scripted(
                 {DropAt(0, WithProbability(scenario.loss, seed, Anything(PacketKind::kData))),
                  DropAt(0, WithProbability(scenario.loss, seed + 9, Anything(PacketKind::kCnp)))}),
             .host_policy = [&](HostId host) -> HostPolicyPtr {
               if (host != 3) return nullptr;
               return std::make_unique<BesidePacer>(model);
             }});
    for (size_t i = 0; i < scenario.sizes.size(); ++i) {
      lab.AddFlow(static_cast<HostId>(i % 3), 3, scenario.sizes[i], Time{} + i * 3_us);
    }
    lab.Run(Time{} + 1_s);
    ASSERT_TRUE(lab.finished());
    EXPECT_GT(model.pulls(), 100);
    if (HasFailure()) return;
  }
}

const std::string kRest = "kind: uet, framing: uet_htsim, ";

INSTANTIATE_TEST_SUITE_P(
    Networks, RcccModelTest,
    testing::Values(
        Scenario{.name = "CreditAlone",
                 .transport = "{" + kRest + "cc: none, receiver: rccc}",
                 .grants = "wished"},
        Scenario{.name = "CreditAloneLosesPackets",
                 .transport = "{" + kRest + "cc: none, receiver: rccc, rto: 100us}",
                 .grants = "wished",
                 .loss = 0.02},
        Scenario{.name = "BesideNscc",
                 .transport = "{" + kRest +
                              "cc: nscc, receiver: rccc, rto: 100us, rccc: {quantum: 512B, pull: "
                              "20}}",
                 .grants = "wished",
                 .quantum = 512,
                 .pull = 20,
                 .loss = 0.01},
        Scenario{.name = "Eqds",
                 .transport = "{" + kRest + "preset: eqds}",
                 .grants = "whole",
                 .quantum = 512,
                 .pull = 8},
        Scenario{.name = "EqdsLosesPackets",
                 .transport = "{" + kRest + "preset: eqds, rto: 100us}",
                 .grants = "whole",
                 .quantum = 512,
                 .pull = 8,
                 .loss = 0.02},
        Scenario{.name = "Ndp",
                 .transport = "{" + kRest + "preset: ndp, rto: 200us}",
                 .grants = "arrivals",
                 .quantum = 1,
                 .pull = 1,
                 .loss = 0.01}),
    [](const auto& test) { return test.param.name; });

}  // namespace heddle::rccc_model_test
