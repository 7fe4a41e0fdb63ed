// SPDX-License-Identifier: Apache-2.0
// A flow keeps its port until a flowlet gap. Then, with probability `move`, it looks for a port in
// a strictly better queue band (uet-htsim).

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/random.h"
#include "lb/parts/flowlets.h"
#include "lb/parts/load_balancer.h"
#include "lb/parts/port_bands.h"
#include "lb/parts/ties.h"

namespace heddle {
namespace {

struct LqFlowletSettings {
  PortBandSettings bands;
  FlowletSettings flowlets{.gap = 10_us};
  double move = 0.5;
};

class LqFlowlet final : public SwitchPolicy {
 public:
  LqFlowlet(const LqFlowletSettings& settings, Rng rng)
      : move_(settings.move), bands_(settings.bands), rng_(rng), flowlets_(settings.flowlets) {}

  Packets asked_about() const override { return Packets::kWithLastUplink; }
  bool only_chooses() const override { return true; }
  void Prefetch(const Packet& packet) const override { flowlets_.Prefetch(packet); }

  void Attach(SwitchView& view) override { bands_.Attach(view.ports()); }

  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex /*in_port*/,
                    const Candidates& candidates) override {
    Flowlets::Slot& slot = flowlets_.Of(packet);
    const bool is_live = candidates.Has(slot.port);
    const bool has_ended = flowlets_.HasEnded(slot, view.now());
    if (has_ended) ++count_;
    // Ties keep the flow's port: an equally good port is no reason to move.
    if (!is_live || (has_ended && rng_.Uniform() < move_)) {
      const PortIndex best = LeastOf(candidates.ports, slot.port, rng_,
                                     [&](PortIndex port) { return bands_.QueueBand(view, port); });
      reroutes_ += slot.port != kNoPort && best != slot.port ? 1 : 0;
      slot.port = best;
    }
    slot.last = view.now();
    return Decision::Forward(slot.port);
  }

  size_t StateBytes() const override { return bands_.memory_bytes() + flowlets_.memory_bytes(); }
  std::vector<Counter> Counters() const override {
    return {{"flowlets", count_}, {"reroutes", reroutes_}, {"table_entries", flowlets_.used()}};
  }

 private:
  const double move_;
  PortBands bands_;
  Rng rng_;
  Flowlets flowlets_;
  int64_t count_ = 0;
  int64_t reroutes_ = 0;
};

class LqFlowletBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& fields) override {
    settings_.bands.Declare(fields);
    settings_.flowlets.Declare(fields);
    fields.Add("move", settings_.move, {.at_least = 0.0, .at_most = 1.0},
               "Probability that a flowlet looks for a better port.");
  }
  std::optional<Duration> flowlet_gap() const override { return settings_.flowlets.gap; }

  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const override {
    return std::make_unique<LqFlowlet>(settings_, Rng::Stream(seed, "lq_flowlet", id));
  }

 private:
  LqFlowletSettings settings_;
};

[[maybe_unused]] const bool registered = LoadBalancers().Add<LqFlowletBalancer>(
    {"lq_flowlet", "After a flowlet gap a flow may move to a port whose queue is in a better band.",
     "The simulator uet-htsim"});

}  // namespace
}  // namespace heddle
