// SPDX-License-Identifier: Apache-2.0
// REPS, recycled entropy packet spraying (Bonato et al., EuroSys 2026, algorithms 1 and 2). Each
// packet carries an entropy, which enters the hash of every switch and comes back with its ACK. The
// sender stores the last few that came back without an ECN mark and uses each again, so packets
// follow paths with room. If none is stored it draws one. After a retransmission timeout without
// congestion it freezes: it reuses only its stored entropies, whose paths are known to work.
//
// With trimming switches, a timeout counts as a failure in any case, since congestion is reported
// by headers of trimmed packets. Without them, a timeout counts as a failure if round trips were
// short. As in the paper's artefact, the longest round trip counts since the beginning of a window
// of about two retransmission timeouts: the first sample after the window's end begins the next.

#include <algorithm>
#include <array>
#include <cstddef>
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

struct RepsSettings {
  int64_t entropies = 65'536;
  int64_t buffer = 8;
  int64_t uses = 1;
  bool freeze = true;
  Duration freeze_for = 10_ms;
  double freeze_below = 1.65;
  std::optional<Duration> rtt_window;  // Not set: it follows from the fabric.
};

// The settings and the values that follow from the fabric.
struct RepsRules : RepsSettings {
  Duration base_rtt{};
  int64_t rtt_window_ps = 0;
  bool trims = false;
  int64_t window = 1;  // Packets: the bandwidth-delay product of a host link.
};

constexpr size_t kMostKept = 8;
// Packets that explore after a freeze with trimming, in uet-htsim (August 2025).
constexpr uint16_t kExplorersOfUet = 16;

// The header of ACKs, about the data packet that they answer.
struct RepsEcho {
  uint16_t entropy;
  bool is_set;
  bool marked;
};

// The state of a connection: the circular buffer of the paper. Usable entries lie before `head`,
// the oldest first.
struct RepsFlow {
  std::array<uint16_t, kMostKept> kept;
  int64_t frozen_until_ps;  // 0: it is not frozen.
  int64_t window_ends_ps;   // Of the longest round trip.
  uint32_t longest_rtt_ns;  // In this window; 0: no sample yet.
  uint16_t explore;         // Packets that still draw a new entropy.
  uint8_t head : 4;         // The place of the next entry to store.
  uint8_t cursor : 4;       // The next entry to use while frozen.
  uint8_t usable : 4;       // Entries not used since they came back.
  uint8_t filled : 4;       // Entries ever stored, up to the buffer's size.
};

class RepsHost final : public HostPolicy {
 public:
  RepsHost(const RepsRules& rules, Rng rng)
      : rules_(rules), size_(static_cast<uint8_t>(rules.buffer)), rng_(rng) {}

  bool sends_packets() const override { return false; }

  void OnFlowStart(HostView& /*view*/, HostFlow& flow) override {
    RepsFlow& state = flow.State<RepsFlow>();
    state = RepsFlow();
    state.explore = Explorers();
  }

  void OnSend(HostView& view, HostFlow& flow, Packet& packet) override {
    RepsFlow& state = flow.State<RepsFlow>();
    packet.entropy = Next(state, view.now());
    ++sent_;
  }

  // An ACK carries its data packet's entropy, so ACKs take varying paths too.
  void OnSendAck(HostView& /*view*/, const Packet& data, Packet& ack) override {
    ack.entropy = data.entropy;
    const bool is_whole = !data.Has(Packet::kTrimmed);
    ack.SetScheme(RepsEcho{data.entropy, is_whole, data.Has(Packet::kCe)});
  }

  void OnAck(HostView& view, HostFlow& flow, const Packet& ack, const AckNews& /*news*/) override {
    RepsFlow& state = flow.State<RepsFlow>();
    NoteRoundTrip(state, view.now(), view.now() - ack.sent);
    const RepsEcho echo = ack.Scheme<RepsEcho>();
    if (echo.is_set && !echo.marked) Keep(state, echo.entropy);
    Thaw(state, view.now());
  }

  void OnLoss(HostView& view, HostFlow& flow, LossSign sign) override {
    if (sign != LossSign::kTimeout) return;
    RepsFlow& state = flow.State<RepsFlow>();
    const double longest = state.longest_rtt_ns * 1e3;
    const bool was_idle =
        longest > 0 && longest < rules_.freeze_below * static_cast<double>(rules_.base_rtt.ps);
    if (!rules_.freeze || !(was_idle || rules_.trims) || state.frozen_until_ps != 0 ||
        state.explore > 0)
      return;
    state.frozen_until_ps = (view.now() + rules_.freeze_for).ps;
    state.cursor = 0;
    ++freezes_;
  }

  size_t StateBytes() const override { return sizeof(rng_); }
  size_t FlowBytes() const override { return sizeof(RepsFlow); }
  std::vector<Counter> Counters() const override {
    return {{"recycled", recycled_}, {"drawn", sent_ - recycled_}, {"freezes", freezes_}};
  }

 private:
  void NoteRoundTrip(RepsFlow& state, Time now, Duration rtt) const {
    if (now.ps > state.window_ends_ps) {
      state.window_ends_ps = now.ps + rules_.rtt_window_ps;
      state.longest_rtt_ns = 0;
    }
    const int64_t ns = rtt.ps / 1'000;
    state.longest_rtt_ns =
        static_cast<uint32_t>(std::clamp<int64_t>(ns, state.longest_rtt_ns, int64_t{0xffff'ffff}));
  }

  // Returns the packets of a bandwidth-delay product.
  uint16_t Explorers() const {
    return static_cast<uint16_t>(std::clamp<int64_t>(rules_.window, 1, 0xffff));
  }

  uint16_t Next(RepsFlow& state, Time now) {
    Thaw(state, now);
    if (state.explore > 0) {
      --state.explore;
      return Draw();
    }
    if (state.frozen_until_ps != 0 && state.filled > 0) {
      const uint16_t entropy = state.kept[state.cursor % state.filled];
      state.cursor = static_cast<uint8_t>((state.cursor + 1) % state.filled) & 0xf;
      ++recycled_;
      return entropy;
    }
    if (state.usable == 0) return Draw();
    const size_t oldest = (state.head + size_ - state.usable) % size_;
    state.usable = static_cast<uint8_t>(state.usable - 1) & 0xf;
    ++recycled_;
    return state.kept[oldest];
  }

  void Keep(RepsFlow& state, uint16_t entropy) {
    for (int64_t use = 0; use < rules_.uses; ++use) {
      state.kept[state.head] = entropy;
      state.head = static_cast<uint8_t>((state.head + 1) % size_) & 0xf;
      state.usable = static_cast<uint8_t>(std::min<int>(state.usable + 1, size_)) & 0xf;
      state.filled = static_cast<uint8_t>(std::min<int>(state.filled + 1, size_)) & 0xf;
    }
  }

  // Ends a freeze: the stored entropies are old by then, so the sender draws new ones.
  void Thaw(RepsFlow& state, Time now) {
    if (state.frozen_until_ps == 0 || now.ps <= state.frozen_until_ps) return;
    state.frozen_until_ps = 0;
    state.head = state.cursor = state.usable = state.filled = 0;
    state.explore = rules_.trims ? kExplorersOfUet : Explorers();
  }

  uint16_t Draw() {
    return static_cast<uint16_t>(rng_.Below(static_cast<uint32_t>(rules_.entropies)));
  }

  const RepsRules rules_;
  const uint8_t size_;  // The buffer's size.
  Rng rng_;
  int64_t sent_ = 0;
  int64_t recycled_ = 0;
  int64_t freezes_ = 0;
};

class RepsBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& fields) override {
    fields.Add("entropies", rules_.entropies, Between<int64_t>(1, 65'536),
               "Number of values of an entropy; 256 are enough, 32 cost a few percent.");
    fields.Add("buffer", rules_.buffer, Between<int64_t>(1, kMostKept),
               "Entropies that a connection keeps.");
    fields.Add(
        "uses", rules_.uses, Between<int64_t>(1, kMostKept),
        "How often a returned entropy is used; more than 1 if an ACK answers several packets.");
    fields.Add(
        "freeze", rules_.freeze,
        "After a timeout that congestion does not explain, cycle through the kept entropies.");
    fields.Add("freeze_for", rules_.freeze_for, {.above = Duration{0}, .at_most = 1000_s},
               "Time for which the kept entropies are cycled through after a failure.");
    fields.Add("freeze_below", rules_.freeze_below, {.at_least = 1.0, .at_most = 1e6},
               "Without trimming: a timeout is a failure if no round trip of this window of "
               "rtt_window was longer than this many idle round trips.");
    fields.AddOr("auto", "rtt_window", rules_.rtt_window, {.above = Duration{0}, .at_most = 1000_s},
                 "How long the longest round trip counts: about two retransmission timeouts of the "
                 "transport. auto: two times the longest idle round trip and five times the delay "
                 "of a queue from which on all packets are marked, as in the paper's artefact; set "
                 "it for transports "
                 "with a longer timeout.");
  }
  bool reorders() const override { return true; }

  void Prepare(const FabricShape& fabric, std::string_view /*path*/,
               Diagnostics& /*diagnostics*/) override {
    rules_.trims = fabric.trims;
    rules_.base_rtt = fabric.base_rtt;
    rules_.window = fabric.base_rtt / SerializationDelay(fabric.packet, fabric.host_rate);
    // The artefact's timeout is a round trip and the time of four full queues; all packets are
    // marked from 80 % of a queue.
    const Duration timeout = fabric.base_rtt + 5 * fabric.all_marked_delay;
    rules_.rtt_window_ps = rules_.rtt_window.value_or(2 * timeout).ps;
  }

  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const override {
    return std::make_unique<FollowPath>(EcmpSalt(id, seed));  // Hashes packets that name no path.
  }
  HostPolicyPtr ForHost(HostId id, uint64_t seed) const override {
    return std::make_unique<RepsHost>(rules_, Rng::Stream(seed, "reps", id));
  }

 private:
  RepsRules rules_;
};

[[maybe_unused]] const bool registered =
    LoadBalancers().Add<RepsBalancer>({"reps",
                                       "Hosts spray packets by entropies, and reuse the entropies "
                                       "that came back without an ECN mark.",
                                       "Bonato et al., EuroSys 2026"});

}  // namespace
}  // namespace heddle
