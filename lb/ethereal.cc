// SPDX-License-Identifier: Apache-2.0
// Ethereal (Addanki et al., arXiv 2407.00550): hosts send each flow on the path that the workload
// has planned for it (workload/jobs/split.h), so that equal flows of a step load all paths alike.
// A flow that times out takes the next path. Flows that nobody has planned are hashed to a path.

#include <algorithm>
#include <cstdint>

#include "core/random.h"
#include "fabric/flow.h"
#include "lb/parts/follow_path.h"
#include "lb/parts/load_balancer.h"

namespace heddle {
namespace {

class EtherealHost final : public HostPolicy {
 public:
  bool sends_packets() const override { return false; }

  void OnFlowStart(HostView& view, HostFlow& flow) override {
    FlowState& state = flow.State<FlowState>();
    const bool is_planned = flow.lane != kNoLane;
    planned_ += is_planned ? 1 : 0;
    state.place = is_planned ? flow.lane : static_cast<uint32_t>(Mix64(flow.tuple_hash) >> 48);
    Place(view, flow);
  }

  void OnSend(HostView& view, HostFlow& flow, Packet& packet) override {
    FlowState& state = flow.State<FlowState>();
    if (state.version != view.PathsVersion()) Find(view, flow);
    packet.path = state.path;
  }

  void OnLoss(HostView& view, HostFlow& flow, LossSign sign) override {
    if (sign != LossSign::kTimeout) return;
    const uint16_t before = flow.State<FlowState>().path;
    ++flow.State<FlowState>().place;
    Place(view, flow);
    reroutes_ += flow.State<FlowState>().path != before ? 1 : 0;
  }

  size_t StateBytes() const override { return sizeof(*this); }
  size_t FlowBytes() const override { return sizeof(FlowState); }
  std::vector<Counter> Counters() const override {
    return {{"planned_flows", planned_}, {"reroutes", reroutes_}};
  }

 private:
  struct FlowState {
    uint32_t place;    // Among the paths; beyond the last one it begins again.
    uint32_t version;  // Of the paths.
    uint16_t path;
  };

  static void Place(HostView& view, HostFlow& flow) {
    FlowState& state = flow.State<FlowState>();
    const std::span<const PathChoice> paths = view.PathsTo(flow.dst);
    state.version = view.PathsVersion();
    state.path = paths.empty() ? kNoPath : paths[state.place % paths.size()].id;
  }

  // When paths have changed, a flow stays on its path as long as that lives.
  void Find(HostView& view, HostFlow& flow) {
    FlowState& state = flow.State<FlowState>();
    const std::span<const PathChoice> paths = view.PathsTo(flow.dst);
    const auto same = std::ranges::find(paths, state.path, &PathChoice::id);
    if (same == paths.end()) {
      ++reroutes_;
      return Place(view, flow);
    }
    state.version = view.PathsVersion();
    state.place = static_cast<uint32_t>(same - paths.begin());
  }

  int64_t planned_ = 0;
  int64_t reroutes_ = 0;
};

class Ethereal final : public LoadBalancer {
 public:
  void Declare(Fields& /*fields*/) override {}

  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const override {
    return std::make_unique<FollowPath>(EcmpSalt(id, seed));
  }
  HostPolicyPtr ForHost(HostId /*id*/, uint64_t /*seed*/) const override {
    return std::make_unique<EtherealHost>();
  }
};

[[maybe_unused]] const bool registered = LoadBalancers().Add<Ethereal>(
    {"ethereal",
     "Flows take the paths that a collective has planned, which carry as much as each other.",
     "Addanki et al., arXiv 2407.00550"});

}  // namespace
}  // namespace heddle
