// SPDX-License-Identifier: Apache-2.0
// QDAPS (Huang et al., ICNP 2018): a packet takes a port from which it leaves no earlier than the
// packet of its flow before it, so that spraying over local queues of unequal length does not
// reorder. A reconstruction: from the principle, and the one line that other papers give to it.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/random.h"
#include "lb/parts/flow_table.h"
#include "lb/parts/load_balancer.h"
#include "lb/parts/ties.h"

namespace heddle {
namespace {

enum class Need {
  kRemaining,  // What is left of the wait of the packet before.
  kLiteral,    // Its whole wait, as if it had only now come.
};

struct QdapsSettings {
  FlowTableSettings table{.age = 1_ms};
  Need need = Need::kRemaining;
};

class Qdaps final : public SwitchPolicy {
 public:
  Qdaps(const QdapsSettings& settings, Rng rng)
      : need_(settings.need), rng_(rng), flows_(settings.table) {}

  Packets asked_about() const override { return Packets::kWithLastUplink; }

  void Attach(SwitchView& view) override { waits_.resize(view.ports()); }

  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex /*in_port*/,
                    const Candidates& candidates) override {
    auto [flow, is_new] = flows_.Touch(packet, view.now());
    const bool is_live = candidates.Has(flow.port);
    const Duration least =
        is_new || !is_live ? Duration{0} : std::max(Duration{0}, Needed(flow, view.now()));
    const PortIndex port = PortFor(view, packet, candidates, flow.port, is_live, least);
    if (!is_new && port != flow.port) ++reroutes_;
    flow.port = port;
    flow.wait = view.QueueingDelay(port);
    flow.leaves = view.now() + flow.wait + view.TimeToSend(port, view.WireBytes(packet));
    return Decision::Forward(port);
  }

  size_t StateBytes() const override { return flows_.memory_bytes(); }
  std::vector<Counter> Counters() const override {
    return {{"reroutes", reroutes_},
            {"table_entries", static_cast<int64_t>(flows_.used())},
            {"table_evictions", flows_.evictions()}};
  }

 private:
  struct Flow {
    Time leaves;       // When the last bit of its last packet will have left.
    Duration wait{0};  // Of that packet, as it came.
    PortIndex port = kNoPort;
  };

  Duration Needed(const Flow& flow, Time now) const {
    return need_ == Need::kLiteral ? flow.wait : flow.leaves - now;
  }

  // The shortest wait of at least `least`; if none is that long, the port of the packet before,
  // behind which it cannot overtake. How long a paused port makes a packet wait is not known, so a
  // flow keeps to one, but does not go there.
  PortIndex PortFor(const SwitchView& view, const Packet& packet, const Candidates& candidates,
                    PortIndex previous, bool is_live, Duration least) {
    for (const PortIndex port : candidates.ports) {
      const Duration its = view.QueueingDelay(port);
      const bool is_feasible =
          (its >= least) & ((port == previous) | !view.IsPaused(port, packet.priority));
      waits_[port] = is_feasible ? its : Duration{kNever.ps};
    }
    const PortIndex best =
        LeastOf(candidates.ports, previous, rng_, [this](PortIndex port) { return waits_[port]; });
    if (is_live && waits_[best] == Duration{kNever.ps}) return previous;
    return best;
  }

  const Need need_;
  Rng rng_;
  AgedFlowTable<Flow> flows_;
  std::vector<Duration> waits_;  // Scratch, by port.
  int64_t reroutes_ = 0;
};

class QdapsBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& fields) override {
    settings_.table.Declare(fields);
    fields.Choice("need", settings_.need,
                  {{"remaining", Need::kRemaining}, {"literal", Need::kLiteral}},
                  "How long a packet must wait at least. remaining: until the one before it has "
                  "left, which is the exact condition; literal: as long as that one had to, as "
                  "other papers describe the rule, so that flows drift to longer queues.");
  }
  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const override {
    return std::make_unique<Qdaps>(settings_, Rng::Stream(seed, "qdaps", id));
  }

 private:
  QdapsSettings settings_;
};

[[maybe_unused]] const bool registered = LoadBalancers().Add<QdapsBalancer>(
    {"qdaps",
     "Every packet takes the shortest queue that it leaves after the packet of its flow before it; "
     "a reconstruction.",
     "Huang et al., ICNP 2018"});

}  // namespace
}  // namespace heddle
