// SPDX-License-Identifier: Apache-2.0
// LetFlow (Vanini et al., NSDI 2017). A flow keeps its port until a flowlet gap, then draws one at
// random. If the gap is above the largest difference in path delay, no packet overtakes an earlier
// one of its flow. The draw ignores congestion on purpose: a slow path stretches the gaps between
// packets, which ends flowlets early and so moves traffic off that path.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/random.h"
#include "lb/parts/flowlets.h"
#include "lb/parts/load_balancer.h"

namespace heddle {
namespace {

class LetFlow final : public SwitchPolicy {
 public:
  LetFlow(const FlowletSettings& settings, Rng rng) : rng_(rng), flowlets_(settings) {}

  Packets asked_about() const override { return Packets::kWithLastUplink; }
  bool only_chooses() const override { return true; }

  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex /*in_port*/,
                    const Candidates& candidates) override {
    Flowlets::Slot& slot = flowlets_.Of(packet);
    const bool has_ended = flowlets_.HasEnded(slot, view.now());
    if (has_ended || !candidates.Has(slot.port)) {
      const PortIndex before = slot.port;
      // The draw may return the same port again.
      slot.port = candidates.ports[rng_.Below(static_cast<uint32_t>(candidates.ports.size()))];
      ++count_;
      reroutes_ += before != kNoPort && before != slot.port ? 1 : 0;
    }
    slot.last = view.now();
    return Decision::Forward(slot.port);
  }

  size_t StateBytes() const override { return flowlets_.memory_bytes(); }
  std::vector<Counter> Counters() const override {
    return {{"flowlets", count_}, {"reroutes", reroutes_}, {"table_entries", flowlets_.used()}};
  }

 private:
  Rng rng_;
  Flowlets flowlets_;
  int64_t count_ = 0;
  int64_t reroutes_ = 0;
};

class LetFlowBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& fields) override { settings_.Declare(fields); }
  std::optional<Duration> flowlet_gap() const override { return settings_.gap; }

  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const override {
    return std::make_unique<LetFlow>(settings_, Rng::Stream(seed, "letflow", id));
  }

 private:
  FlowletSettings settings_;
};

[[maybe_unused]] const bool registered = LoadBalancers().Add<LetFlowBalancer>(
    {"letflow", "A flow draws a new random path after each flowlet gap.",
     "Vanini et al., NSDI 2017"});

}  // namespace
}  // namespace heddle
