// SPDX-License-Identifier: Apache-2.0
// PLB, protective load balancing (Qureshi et al., SIGCOMM 2022), with the rules and constants of
// Linux (net/ipv4/tcp_plb.c). A round of a flow is congested if at least a share of the delivered
// bytes was marked. After `rehash_rounds` congested rounds in a row, the host changes the flow's
// entropy, which enters the hash of every switch; fewer rounds suffice when nothing is in flight.
// After a retransmission timeout the entropy changes at once, and for a time nothing but another
// timeout changes it again.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/random.h"
#include "lb/parts/follow_path.h"
#include "lb/parts/load_balancer.h"

namespace heddle {
namespace {

constexpr uint32_t kEntropies = 65'536;
constexpr int64_t kShareUnit = 256;  // Linux counts shares in 1/256.

struct PlbSettings {
  int64_t threshold = 128;
  int64_t idle_rounds = 3;
  int64_t rehash_rounds = 12;
  Duration suspend = 60_s;
  Duration move_every{0};
  std::optional<Duration> round;
};

class PlbHost final : public HostPolicy {
 public:
  PlbHost(const PlbSettings& settings, Rng rng) : settings_(settings), rng_(rng) {}

  bool sends_packets() const override { return false; }

  void OnFlowStart(HostView& /*view*/, HostFlow& flow) override {
    flow.State<FlowState>() = FlowState();
  }

  void OnSend(HostView& view, HostFlow& flow, Packet& packet) override {
    FlowState& state = flow.State<FlowState>();
    if (IsIdle(state)) MoveIfCongested(state, view.now());
    state.next_seq = std::max(state.next_seq, packet.seq + 1);
    packet.entropy = state.entropy;
  }

  void OnAck(HostView& view, HostFlow& flow, const Packet& ack, const AckNews& news) override {
    FlowState& state = flow.State<FlowState>();
    BeginRound(state, view.now());
    state.acked = std::max(state.acked, ack.seq);
    const uint32_t bytes = Delivered(state, news);
    state.delivered += bytes;
    state.marked += news.ecn_echo ? bytes : 0;
    if (RoundIsOver(state, view.now())) EndRound(state, view.now());
  }

  void OnLoss(HostView& view, HostFlow& flow, LossSign sign) override {
    if (sign != LossSign::kTimeout) return;
    FlowState& state = flow.State<FlowState>();
    Move(state);
    ++after_timeouts_;
    const double extra = rng_.Uniform() * static_cast<double>(settings_.suspend.ps);
    state.still_until = view.now() + settings_.suspend + Duration{static_cast<int64_t>(extra)};
  }

  size_t StateBytes() const override { return sizeof(rng_); }
  size_t FlowBytes() const override { return sizeof(FlowState); }
  std::vector<Counter> Counters() const override {
    return {
        {"reroutes", reroutes_}, {"idle_reroutes", idle_}, {"timeout_reroutes", after_timeouts_}};
  }

 private:
  struct FlowState {
    Time still_until{};       // Congestion does not move the flow before this time.
    Time round_ends_at{};     // Rounds of a fixed length; 0: the next ACK begins a round.
    uint32_t next_seq = 0;    // Above everything sent.
    uint32_t acked = 0;       // Everything below has been acknowledged.
    uint32_t round_ends = 0;  // Rounds of a window; 0: the next ACK begins a round.
    uint32_t delivered = 0;   // Bytes delivered in this round,
    uint32_t marked = 0;      // and those of them whose ACKs echo a mark.
    uint32_t sacked = 0;      // Bytes delivered above `acked`.
    uint16_t congested_rounds = 0;
    uint16_t entropy = 0;  // 0: the path that ECMP would give the flow.
  };

  static bool IsIdle(const FlowState& state) { return state.acked >= state.next_seq; }

  // Counts each byte once. A cumulative ACK also covers bytes that SACKs have delivered before.
  static uint32_t Delivered(FlowState& state, const AckNews& news) {
    const auto acked = static_cast<uint32_t>(news.newly_acked);
    const auto newly_sacked = static_cast<uint32_t>(news.newly_sacked);
    const uint32_t known = std::min(state.sacked, acked);
    state.sacked += newly_sacked - known;
    return acked - known + newly_sacked;
  }

  void BeginRound(FlowState& state, Time now) const {
    if (settings_.round) {
      if (state.round_ends_at == Time{}) state.round_ends_at = now + *settings_.round;
    } else if (state.round_ends == 0) {
      state.round_ends = state.next_seq;
    }
  }

  bool RoundIsOver(const FlowState& state, Time now) const {
    if (state.delivered == 0) return false;
    return settings_.round ? now >= state.round_ends_at : state.acked >= state.round_ends;
  }

  // Rounds count on while the flow must stay.
  void EndRound(FlowState& state, Time now) {
    const int64_t share = kShareUnit * state.marked / state.delivered;
    const int64_t rounds = share < settings_.threshold ? 0 : state.congested_rounds + 1;
    state.congested_rounds = static_cast<uint16_t>(std::min(rounds, settings_.rehash_rounds));
    state.delivered = state.marked = 0;
    state.round_ends = 0;
    state.round_ends_at = Time{};
    MoveIfCongested(state, now);
    if (!IsIdle(state)) BeginRound(state, now);
  }

  void MoveIfCongested(FlowState& state, Time now) {
    const bool by_idle = settings_.idle_rounds > 0 && IsIdle(state) &&
                         state.congested_rounds >= settings_.idle_rounds;
    if (!by_idle && state.congested_rounds < settings_.rehash_rounds) return;
    if (now < state.still_until) return;
    idle_ += state.congested_rounds < settings_.rehash_rounds ? 1 : 0;
    Move(state);
    state.still_until = now + settings_.move_every;
  }

  void Move(FlowState& state) {
    const uint32_t step = 1 + rng_.Below(kEntropies - 1);
    state.entropy = static_cast<uint16_t>(state.entropy + step);
    state.congested_rounds = 0;
    ++reroutes_;
  }

  const PlbSettings settings_;
  Rng rng_;
  int64_t reroutes_ = 0;
  int64_t idle_ = 0;
  int64_t after_timeouts_ = 0;
};

class PlbBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& fields) override {
    fields.Add("threshold", settings_.threshold, Between<int64_t>(1, kShareUnit),
               "A round is congested if at least this many 256ths of its bytes were marked.");
    fields.Add("idle_rounds", settings_.idle_rounds, Between<int64_t>(0, 1'000),
               "A flow with nothing in flight moves after this many congested rounds in a row. "
               "0: it does not.");
    fields.Add("rehash_rounds", settings_.rehash_rounds, Between<int64_t>(1, 1'000),
               "Any flow moves after this many congested rounds in a row.");
    fields.Add("suspend", settings_.suspend, {.above = Duration{0}, .at_most = 1'000_s},
               "After a retransmission timeout congestion does not move the flow for this time, "
               "and up to as long again, drawn at random. For runs of milliseconds set 10ms.");
    fields.Add("move_every", settings_.move_every, {.at_least = Duration{0}, .at_most = 1'000_s},
               "The least time from one move because of congestion to the next.");
    fields.AddOr("window", "round", settings_.round, {.above = Duration{0}, .at_most = 10_s},
                 "Length of a round. window: until everything that had been sent when the round "
                 "began is acknowledged.");
  }

  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const override {
    return std::make_unique<FollowPath>(EcmpSalt(id, seed));  // Hashes packets that name no path.
  }
  HostPolicyPtr ForHost(HostId id, uint64_t seed) const override {
    return std::make_unique<PlbHost>(settings_, Rng::Stream(seed, "plb", id));
  }

 private:
  PlbSettings settings_;
};

[[maybe_unused]] const bool registered = LoadBalancers().Add<PlbBalancer>(
    {"plb",
     "Hosts change a flow's entropy, which switches hash, after congested round trips in a row.",
     "Qureshi et al., SIGCOMM 2022"});

}  // namespace
}  // namespace heddle
