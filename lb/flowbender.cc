// SPDX-License-Identifier: Apache-2.0
// FlowBender (Kabbani et al., CoNEXT 2014). In each round trip a host counts how many of a flow's
// ACKs echo an ECN mark. If their share is above a threshold in `rounds` round trips in a row, or
// the flow has a retransmission timeout, the host changes a number V that enters the hash of every
// switch: the flow takes another path.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/random.h"
#include "lb/parts/follow_path.h"
#include "lb/parts/load_balancer.h"

namespace heddle {
namespace {

enum class Change { kRandom, kNext };

struct FlowBenderSettings {
  double marked_above = 0.05;
  int64_t rounds = 1;
  int64_t values = 8;
  Change change = Change::kRandom;
};

class FlowBenderHost final : public HostPolicy {
 public:
  FlowBenderHost(const FlowBenderSettings& settings, Rng rng) : settings_(settings), rng_(rng) {}

  bool sends_packets() const override { return false; }

  void OnFlowStart(HostView& /*view*/, HostFlow& flow) override {
    flow.State<FlowState>() = FlowState();
  }

  void OnSend(HostView& /*view*/, HostFlow& flow, Packet& packet) override {
    FlowState& state = flow.State<FlowState>();
    state.next_seq = std::max(state.next_seq, packet.seq + 1);
    packet.entropy = state.value;
  }

  void OnAck(HostView& /*view*/, HostFlow& flow, const Packet& ack, const AckNews& news) override {
    FlowState& state = flow.State<FlowState>();
    if (state.round_ends == 0) state.round_ends = state.next_seq;
    ++state.acks;
    state.marked += news.ecn_echo ? 1 : 0;
    // Everything sent before the round began is acknowledged.
    if (ack.seq >= state.round_ends) EndRound(state, ack.seq);
  }

  void OnLoss(HostView& /*view*/, HostFlow& flow, LossSign sign) override {
    if (sign == LossSign::kTimeout) Bend(flow.State<FlowState>());
  }

  size_t StateBytes() const override { return sizeof(rng_); }
  size_t FlowBytes() const override { return sizeof(FlowState); }
  std::vector<Counter> Counters() const override { return {{"reroutes", reroutes_}}; }

 private:
  struct FlowState {
    uint32_t next_seq = 0;
    uint32_t round_ends = 0;  // 0: a round begins with the next ACK.
    uint32_t acks = 0;        // ACKs in this round,
    uint32_t marked = 0;      // and those of them that echo a mark.
    uint32_t congested_rounds = 0;
    uint16_t value = 0;  // V. 0: the path that ECMP would give the flow.
  };

  void EndRound(FlowState& state, uint32_t acked) {
    const bool is_congested = state.marked > settings_.marked_above * state.acks;
    state.congested_rounds = is_congested ? state.congested_rounds + 1 : 0;
    if (state.congested_rounds >= settings_.rounds) Bend(state);
    state.acks = state.marked = 0;
    // With nothing in flight no ACK can end a round yet.
    state.round_ends = acked < state.next_seq ? state.next_seq : 0;
  }

  void Bend(FlowState& state) {
    const uint32_t values = static_cast<uint32_t>(settings_.values);
    const uint32_t step = settings_.change == Change::kNext ? 1 : 1 + rng_.Below(values - 1);
    state.value = static_cast<uint16_t>((state.value + step) % values);
    // The counts are for the path that the flow leaves.
    state.congested_rounds = state.acks = state.marked = 0;
    state.round_ends = 0;
    ++reroutes_;
  }

  const FlowBenderSettings settings_;
  Rng rng_;
  int64_t reroutes_ = 0;
};

class FlowBenderBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& fields) override {
    fields.Add("marked_above", settings_.marked_above, {.at_least = 0.0, .at_most = 1.0},
               "A round trip is congested if a larger share of its ACKs echo a mark (T).");
    fields.Add("rounds", settings_.rounds, Between<int64_t>(1, 1'000),
               "A flow moves after this many congested round trips in a row (N).");
    fields.Add("values", settings_.values, Between<int64_t>(2, 65'536),
               "Number of values of the entropy, the number that switches hash with the 5-tuple.");
    fields.Choice("change", settings_.change,
                  {{"random", Change::kRandom}, {"next", Change::kNext}},
                  "The next entropy of a flow: a random other one, or the next in order.");
  }

  bool reorders() const override { return true; }

  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const override {
    return std::make_unique<FollowPath>(EcmpSalt(id, seed));  // Hashes packets that name no path.
  }
  HostPolicyPtr ForHost(HostId id, uint64_t seed) const override {
    return std::make_unique<FlowBenderHost>(settings_, Rng::Stream(seed, "flowbender", id));
  }

 private:
  FlowBenderSettings settings_;
};

[[maybe_unused]] const bool registered =
    LoadBalancers().Add<FlowBenderBalancer>({"flowbender",
                                             "Hosts change a flow's entropy, which switches hash, "
                                             "when too many of its ACKs echo ECN marks.",
                                             "Kabbani et al., CoNEXT 2014"});

}  // namespace
}  // namespace heddle
