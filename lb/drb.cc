// SPDX-License-Identifier: Apache-2.0
// Digit-reversal bouncing (Cao et al., CoNEXT 2013): for each destination host, a host sends
// successive packets through different core switches. In their order the lowest tier's choice
// changes with every packet, and the next tier's when all of those have had their turn. So links
// differ by at most one packet of a host pair. Receivers restore the order: set
// transport.resequencing.
//
// This is the order of path ids, whose lowest digit is the leaf's uplink.

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/random.h"
#include "lb/parts/follow_path.h"
#include "lb/parts/load_balancer.h"
#include "lb/parts/path_orders.h"

namespace heddle {
namespace {

class DrbHost final : public HostPolicy {
 public:
  DrbHost(PathWeights weights, Rng rng) : rng_(rng), orders_(weights) {}

  bool sends_packets() const override { return false; }

  void OnFlowStart(HostView& view, HostFlow& flow) override {
    flow.State<Pair*>() = &PairWith(view, flow.dst);
  }
  void OnSend(HostView& view, HostFlow& flow, Packet& packet) override {
    Pair& pair = *flow.State<Pair*>();
    if (pair.version != view.PathsVersion()) Route(view, flow.dst, pair);
    Bounce(pair, kData, packet);
  }
  void OnSendAck(HostView& view, const Packet& /*data*/, Packet& ack) override {
    SendBack(view, ack);
  }
  void OnSendCnp(HostView& view, uint16_t /*taken*/, Packet& cnp) override { SendBack(view, cnp); }

  // Counts two counters for each host that this one has sent to.
  size_t StateBytes() const override {
    return sizeof(rng_) + pairs_.size() * 2 * sizeof(uint16_t) + orders_.memory_bytes();
  }
  size_t FlowBytes() const override { return sizeof(Pair*); }

 private:
  // Data and returning packets take turns separately: if they alternated, all data would take the
  // even paths.
  enum Turn { kData, kBack };
  struct Pair {
    const std::vector<uint16_t>* order = nullptr;
    uint32_t version = 0;  // Version of the paths in `order`.
    std::array<uint32_t, 2> next = {};
  };

  Pair& PairWith(const HostView& view, HostId other) {
    const auto [entry, is_new] = pairs_.try_emplace(other);
    Pair& pair = entry->second;
    if (!is_new && pair.version == view.PathsVersion()) return pair;
    Route(view, other, pair);
    // A random start keeps hosts from meeting at the same core switch.
    if (is_new && !pair.order->empty()) {
      const uint32_t n = static_cast<uint32_t>(pair.order->size());
      pair.next = {rng_.Below(n), rng_.Below(n)};
    }
    return pair;
  }

  void Route(const HostView& view, HostId other, Pair& pair) {
    pair.version = view.PathsVersion();
    pair.order = &orders_.To(view, other);
    for (uint32_t& next : pair.next) {
      if (next >= pair.order->size()) next = 0;
    }
  }

  void SendBack(const HostView& view, Packet& packet) {
    Bounce(PairWith(view, packet.dst), kBack, packet);
  }

  static void Bounce(Pair& pair, Turn turn, Packet& packet) {
    if (pair.order->empty()) return;
    uint32_t& next = pair.next[turn];
    packet.path = (*pair.order)[next];
    next = next + 1 == pair.order->size() ? 0 : next + 1;
  }

  Rng rng_;
  PathOrders orders_;
  std::unordered_map<HostId, Pair> pairs_;  // For lookup only; its elements do not move.
};

class DrbBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& fields) override {
    fields.Choice("weights", weights_,
                  {{"equal", PathWeights::kEqual}, {"capacity", PathWeights::kCapacity}},
                  "equal: all paths take equal turns, as published; capacity: in proportion to a "
                  "path's slowest link.");
  }
  bool reorders() const override { return true; }

  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const override {
    return std::make_unique<FollowPath>(EcmpSalt(id, seed));
  }
  HostPolicyPtr ForHost(HostId id, uint64_t seed) const override {
    return std::make_unique<DrbHost>(weights_, Rng::Stream(seed, "drb", id));
  }

 private:
  PathWeights weights_ = PathWeights::kEqual;
};

[[maybe_unused]] const bool registered = LoadBalancers().Add<DrbBalancer>(
    {"drb", "Hosts send the packets of each pair by all core switches in turn, digits reversed.",
     "Cao et al., CoNEXT 2013"});

}  // namespace
}  // namespace heddle
