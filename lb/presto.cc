// SPDX-License-Identifier: Apache-2.0
// Presto (He et al., SIGCOMM 2015), the sending side: the host cuts each flow into flowcells of 64
// KB and sends them over all paths in turn. The receiving side is a resequencer, which hides the
// reordering at cell boundaries from TCP (transport/resequencing/presto_gro.h).

#include <cstdint>
#include <vector>

#include "core/random.h"
#include "lb/parts/follow_path.h"
#include "lb/parts/load_balancer.h"
#include "lb/parts/path_orders.h"

namespace heddle {
namespace {

struct PrestoSettings {
  Bytes cell{65'536};
  PathWeights weights = PathWeights::kCapacity;
};

class PrestoHost final : public HostPolicy {
 public:
  PrestoHost(const PrestoSettings& settings, Rng rng)
      : settings_(settings), rng_(rng), orders_(settings.weights) {}

  bool sends_packets() const override { return false; }

  void OnFlowStart(HostView& view, HostFlow& flow) override {
    State& state = flow.State<State>();
    Route(view, flow, state);
    // A random start keeps flows from colliding on the first path.
    if (!state.order->empty()) {
      state.next = rng_.Below(static_cast<uint32_t>(state.order->size()));
    }
  }

  void OnSend(HostView& view, HostFlow& flow, Packet& packet) override {
    State& state = flow.State<State>();
    if (state.version != view.PathsVersion()) Route(view, flow, state);
    if (state.order->empty()) return;
    const int64_t bytes = packet.data.payload;
    if (state.bytes + bytes > settings_.cell.count) {
      state.bytes = 0;
      state.next = static_cast<uint32_t>((state.next + 1) % state.order->size());
      ++state.cell;
      ++cells_;
    }
    state.bytes += bytes;
    packet.path = (*state.order)[state.next];
    reroutes_ += flow.bytes_sent > 0 && packet.path != state.path ? 1 : 0;
    state.path = packet.path;
    packet.SetScheme(state.cell);
  }

  size_t StateBytes() const override { return sizeof(rng_) + orders_.memory_bytes(); }
  size_t FlowBytes() const override { return sizeof(State); }
  std::vector<Counter> Counters() const override {
    return {{"reroutes", reroutes_}, {"cells", cells_}};
  }

 private:
  struct State {
    const std::vector<uint16_t>* order;
    int64_t bytes;     // Bytes of the current cell.
    uint32_t next;     // The current cell's index in `order`.
    uint32_t version;  // Version of the paths that `order` was made from.
    uint32_t cell;
    uint16_t path;  // The path of the latest packet.
  };

  void Route(HostView& view, const HostFlow& flow, State& state) {
    state.version = view.PathsVersion();
    state.order = &orders_.To(view, flow.dst);
    if (state.next >= state.order->size()) state.next = 0;
  }

  const PrestoSettings settings_;
  Rng rng_;
  PathOrders orders_;
  int64_t cells_ = 0;
  int64_t reroutes_ = 0;
};

class PrestoBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& fields) override {
    fields.Add("cell", settings_.cell, {.at_least = 1_B, .at_most = Bytes{1'000'000'000}},
               "Payload bytes that stay on one path.");
    fields.Choice("weights", settings_.weights,
                  {{"capacity", PathWeights::kCapacity}, {"equal", PathWeights::kEqual}},
                  "capacity: paths take turns in proportion to their slowest link, as the paper's "
                  "controller arranges; equal: one cell each.");
  }
  bool reorders() const override { return true; }

  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const override {
    return std::make_unique<FollowPath>(EcmpSalt(id, seed));
  }
  HostPolicyPtr ForHost(HostId id, uint64_t seed) const override {
    return std::make_unique<PrestoHost>(settings_, Rng::Stream(seed, "presto", id));
  }

 private:
  PrestoSettings settings_;
};

[[maybe_unused]] const bool registered = LoadBalancers().Add<PrestoBalancer>(
    {"presto", "Hosts send their flows in cells of 64 KiB over all paths in turn.",
     "He et al., SIGCOMM 2015"});

}  // namespace
}  // namespace heddle
