// SPDX-License-Identifier: Apache-2.0
// FLARE (Kandula et al., CCR 37(2), 2007). Each packet adds its bytes as tokens to the paths of its
// destination, in proportion to what each should carry, and takes as many tokens from the path that
// it uses. At a flowlet gap longer than the difference of the paths' delays, a flow may move to the
// path with the most tokens. So the shares are met to within one flowlet, and delivery stays in
// order.
//
// The leaf where flows begin keeps the tokens, per destination leaf, as the paper's edge of a
// wide-area network does; switches above hash. The paper measures how much the paths differ in
// delay; here the gap is a setting.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/random.h"
#include "fabric/ecmp_hash.h"
#include "lb/parts/flowlets.h"
#include "lb/parts/load_balancer.h"
#include "lb/parts/ties.h"

namespace heddle {
namespace {

enum class Shares { kEqual, kCapacity };

struct FlareSettings {
  std::optional<Duration> gap;
  int64_t slots = 1'000;
  FlowletDetector detector = FlowletDetector::kTimestamp;
  Shares shares = Shares::kEqual;
  Duration rescale_every = 10_ms;
};

class Flare final : public SwitchPolicy {
 public:
  Flare(const FlareSettings& settings, Duration gap, uint64_t salt, Rng rng)
      : shares_(settings.shares),
        rescale_every_(settings.rescale_every),
        salt_(salt),
        rng_(rng),
        flowlets_({.gap = gap, .slots = settings.slots, .detector = settings.detector}) {}

  Packets asked_about() const override { return Packets::kWithLastUplink; }
  bool wants_next_hops() const override { return shares_ == Shares::kCapacity; }
  bool only_chooses() const override { return true; }

  void Attach(SwitchView& view) override {
    if (view.tier() == 0)
      towards_.assign(view.leaves(), Tokens{0, 0, std::vector<double>(view.ports())});
  }

  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex /*in_port*/,
                    const Candidates& candidates) override {
    if (view.tier() > 0) {
      return Decision::Forward(EcmpPort(packet, salt_, candidates.ports));
    }
    Tokens& tokens = towards_[view.LeafOf(packet.dst)];
    BringUpToDate(tokens, view.now(), candidates.version);
    const double bytes = static_cast<double>(view.WireBytes(packet).count);
    Earn(view, packet, candidates, tokens, bytes);
    const PortIndex port = PortFor(view, packet, candidates, tokens);
    tokens.by_port[port] -= bytes;
    return Decision::Forward(port);
  }

  size_t StateBytes() const override {
    size_t bytes = flowlets_.memory_bytes() + sizeof(salt_);
    for (const Tokens& tokens : towards_) bytes += tokens.by_port.size() * sizeof(double);
    return bytes;
  }
  std::vector<Counter> Counters() const override {
    return {
        {"flowlets", flowlet_count_}, {"reroutes", reroutes_}, {"table_entries", flowlets_.used()}};
  }

 private:
  // The tokens of the paths to one leaf, in bytes. They sum to 0, as a packet takes what it adds.
  struct Tokens {
    uint32_t version;    // Version of the candidates that the tokens are for.
    int64_t rescalings;  // How often the tokens have been halved so far.
    std::vector<double> by_port;
  };

  // Halves the tokens from time to time, so that old differences are not made up for in a burst.
  void BringUpToDate(Tokens& tokens, Time now, uint32_t version) {
    const int64_t due = now.ps / rescale_every_.ps;
    if (tokens.version != version) {
      std::ranges::fill(tokens.by_port, 0.0);  // Paths have come or gone.
    } else if (due > tokens.rescalings) {
      const int64_t halvings = std::min<int64_t>(due - tokens.rescalings, 62);
      const double keep = 1.0 / static_cast<double>(int64_t{1} << halvings);
      for (double& in_hand : tokens.by_port) in_hand *= keep;
    }
    tokens.version = version;
    tokens.rescalings = due;
  }

  void Earn(const SwitchView& view, const Packet& packet, const Candidates& candidates,
            Tokens& tokens, double bytes) const {
    if (shares_ == Shares::kEqual) {
      const double share = bytes / static_cast<double>(candidates.ports.size());
      for (const PortIndex port : candidates.ports) tokens.by_port[port] += share;
      return;
    }
    const std::span<const NextHop> next_hops = view.NextHopsTo(packet.dst);
    double total = 0;
    for (const NextHop& next_hop : next_hops) total += static_cast<double>(next_hop.capacity);
    for (size_t i = 0; i < candidates.ports.size(); ++i) {
      const double share = static_cast<double>(next_hops[i].capacity) / total;
      tokens.by_port[candidates.ports[i]] += share * bytes;
    }
  }

  PortIndex PortFor(const SwitchView& view, const Packet& packet, const Candidates& candidates,
                    const Tokens& tokens) {
    Flowlets::Slot& slot = flowlets_.Of(packet);
    const bool has_ended = flowlets_.HasEnded(slot, view.now());
    if (has_ended || !candidates.Has(slot.port)) {
      const PortIndex before = slot.port;
      slot.port = LeastOf(candidates.ports, before, rng_,
                          [&](PortIndex port) { return -tokens.by_port[port]; });
      ++flowlet_count_;
      reroutes_ += before != kNoPort && before != slot.port ? 1 : 0;
    }
    slot.last = view.now();
    return slot.port;
  }

  const Shares shares_;
  const Duration rescale_every_;
  const uint64_t salt_;
  Rng rng_;
  Flowlets flowlets_;
  std::vector<Tokens> towards_;  // By leaf; empty above the leaves.
  int64_t flowlet_count_ = 0;
  int64_t reroutes_ = 0;
};

class FlareBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& fields) override {
    fields.AddOr("auto", "gap", settings_.gap, {.above = Duration{0}, .at_most = 10_s},
                 "Flowlet gap: a flow may change its path after an idle time longer than this; if "
                 "the delays of paths differ by less, delivery is in order. auto: the delay of the "
                 "longest queue without ECN marks, or a round trip if no queue marks.");
    fields.Add(
        "slots", settings_.slots, Between<int64_t>(1, 1 << 26),
        "Entries of each leaf's flowlet table; flows that share an entry share their flowlets.");
    fields.Choice(
        "detector", settings_.detector,
        {{"timestamp", FlowletDetector::kTimestamp}, {"age_bit", FlowletDetector::kAgeBit}},
        "timestamp: a flowlet ends after exactly the gap; age_bit: after one to two gaps, by a "
        "periodic sweep.");
    fields.Choice("shares", settings_.shares,
                  {{"equal", Shares::kEqual}, {"capacity", Shares::kCapacity}},
                  "Target load of paths: equal, or in proportion to their capacities.");
    fields.Add("rescale_every", settings_.rescale_every, {.at_least = 1_us, .at_most = 1000_s},
               "Period after which the bytes that paths are behind or ahead of their share are "
               "halved; 500ms is for wide-area networks.");
  }

  void Prepare(const FabricShape& fabric, std::string_view /*path*/,
               Diagnostics& /*diagnostics*/) override {
    const Duration queue =
        fabric.marking_delay > Duration{0} ? fabric.marking_delay : fabric.base_rtt;
    gap_ = settings_.gap.value_or(queue);
  }

  std::optional<Duration> flowlet_gap() const override { return gap_; }

  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const override {
    return std::make_unique<Flare>(settings_, gap_, EcmpSalt(id, seed),
                                   Rng::Stream(seed, "flare", id));
  }

 private:
  FlareSettings settings_;
  Duration gap_ = FabricShape{}.marking_delay;
};

[[maybe_unused]] const bool registered = LoadBalancers().Add<FlareBalancer>(
    {"flare", "Leaves give each flowlet to the path that is furthest below its share of the bytes.",
     "Kandula et al., CCR 2007"});

}  // namespace
}  // namespace heddle
