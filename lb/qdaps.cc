// SPDX-License-Identifier: Apache-2.0
// QDAPS (Huang et al., ICNP 2018): a packet takes a port that it leaves no earlier than the
// previous packet of its flow, so that spraying over local queues of unequal length keeps the
// order. This is a reconstruction from the principle, and from one line about it in other papers.

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
  kRemaining,  // The rest of the previous packet's wait.
  kLiteral,    // Its whole wait, as if it had arrived only now.
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
  bool only_chooses() const override { return true; }

  void Attach(SwitchView& view) override { waits_.resize(view.ports()); }

  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex /*in_port*/,
                    const Candidates& candidates) override {
    // A flow that has packets in a queue is remembered, however long they wait.
    const auto waits = [&](const Flow& its, Time /*last*/) { return its.leaves > view.now(); };
    auto [flow, is_new] = flows_.Touch(packet, view.now(), waits);
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
    Time leaves;       // When the last bit of its last packet leaves.
    Duration wait{0};  // That packet's wait when it arrived.
    PortIndex port = kNoPort;
  };

  Duration Needed(const Flow& flow, Time now) const {
    return need_ == Need::kLiteral ? flow.wait : flow.leaves - now;
  }

  // Returns the port with the shortest wait of at least `least`. If there is none, returns the
  // previous packet's port, where the packet cannot overtake. The wait at a paused port is unknown:
  // a flow may stay on such a port, but does not move to it.
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
    fields.Choice(
        "need", settings_.need, {{"remaining", Need::kRemaining}, {"literal", Need::kLiteral}},
        "Shortest wait of a packet. remaining: until the flow's previous packet has left, which is "
        "the exact condition; literal: as long as the previous packet had to wait, as other papers "
        "describe the rule, so that flows drift to longer queues.");
  }
  bool reorders() const override { return true; }
  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const override {
    return std::make_unique<Qdaps>(settings_, Rng::Stream(seed, "qdaps", id));
  }

 private:
  QdapsSettings settings_;
};

[[maybe_unused]] const bool registered =
    LoadBalancers().Add<QdapsBalancer>({"qdaps",
                                        "Every packet takes the shortest queue that it leaves "
                                        "after the previous packet of its flow; a reconstruction.",
                                        "Huang et al., ICNP 2018"});

}  // namespace
}  // namespace heddle
