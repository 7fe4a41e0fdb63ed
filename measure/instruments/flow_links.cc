// SPDX-License-Identifier: Apache-2.0
// measure.flow_links: the links behind switches that each flow's data packets took, and the queues
// that they met there.
//
// The instrument wraps the policy of each switch. The wrapper is told when a port accepts or drops
// a packet. Runs that do not ask for it have no wrapper.

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/subflow_id.h"
#include "fabric/around_policy.h"
#include "measure/instruments.h"
#include "measure/table.h"

namespace heddle {
namespace {

// The data packets of a flow at one port.
struct Passage {
  int64_t packets = 0;
  int64_t dropped = 0;
  int64_t queue_sum = 0;  // Of the bytes that each accepted packet found, its own included.
  int64_t queue_max = 0;
};

// Notes the passages at one switch.
class Watch final : public AroundSwitchPolicy {
 public:
  explicit Watch(SwitchPolicyPtr scheme) : AroundSwitchPolicy(std::move(scheme)) {}

  void OnEnqueue(SwitchView& view, Packet& packet, PortIndex port) override {
    if (IsWhole(packet)) {
      Passage& passage = At(packet, port);
      const int64_t queue = view.Unsent(port).count;
      ++passage.packets;
      passage.queue_sum += queue;
      passage.queue_max = std::max(passage.queue_max, queue);
    }
    AroundSwitchPolicy::OnEnqueue(view, packet, port);
  }

  void OnDropped(SwitchView& view, const Packet& packet, PortIndex port) override {
    if (IsWhole(packet)) ++At(packet, port).dropped;
    AroundSwitchPolicy::OnDropped(view, packet, port);
  }

  void OnCut(SwitchView& view, Packet& packet, PortIndex port) override {
    ++At(packet, port).dropped;
    AroundSwitchPolicy::OnCut(view, packet, port);
  }

  // Not the header of a trimmed packet.
  static bool IsWhole(const Packet& packet) {
    return packet.kind == PacketKind::kData && !packet.Has(Packet::kTrimmed);
  }

  using Passages = absl::flat_hash_map<std::pair<FlowId, PortIndex>, Passage>;
  const Passages& passages() const { return passages_; }

 private:
  // A flow's subflows count together.
  Passage& At(const Packet& packet, PortIndex port) {
    return passages_[{ConnectionOf(packet.flow), port}];
  }

  Passages passages_;
};

struct FlowLinkRow {
  FlowId flow;
  const Network::Egress* egress;
  const Graph* graph;
  size_t link;
  Passage passage;
};

constexpr Column<FlowLinkRow> kFlowLinksColumns[] = {
    {"flow_id", [](const FlowLinkRow& row) { return row.flow; }},
    {"link_id", [](const FlowLinkRow& row) { return row.link; }},
    {"node", [](const FlowLinkRow& row) { return row.graph->NameOf(row.egress->vertex); }},
    {"port", [](const FlowLinkRow& row) { return row.egress->port; }},
    {"peer", [](const FlowLinkRow& row) { return row.graph->NameOf(row.egress->peer); }},
    {"pkts", [](const FlowLinkRow& row) { return row.passage.packets; }},
    {"dropped", [](const FlowLinkRow& row) { return row.passage.dropped; }},
    {"queue_mean_bytes",
     [](const FlowLinkRow& row) -> std::optional<double> {
       if (row.passage.packets == 0) return std::nullopt;
       return static_cast<double>(row.passage.queue_sum) / static_cast<double>(row.passage.packets);
     }},
    {"queue_max_bytes", [](const FlowLinkRow& row) { return row.passage.queue_max; }}};

class FlowLinks final : public Instrument {
 public:
  explicit FlowLinks(const RunPlan& /*plan*/) {}

  SwitchPolicyPtr Around(SwitchPolicyPtr scheme) override {
    auto watch = std::make_unique<Watch>(std::move(scheme));
    watches_.push_back(watch.get());
    return watch;
  }

  void Finish(Time /*end*/, RunNotes& /*notes*/) override {
    const Graph& graph = network().graph();
    std::vector<FlowLinkRow> rows;
    for (size_t s = 0; s < watches_.size(); ++s) {
      const VertexId vertex = graph.VertexOfSwitch(static_cast<SwitchId>(s));
      for (const auto& [at, passage] : watches_[s]->passages()) {
        const size_t link = network().EgressOf(vertex, at.second);
        rows.push_back({at.first, &network().egresses()[link], &graph, link, passage});
      }
    }
    std::ranges::sort(rows, {},
                      [](const FlowLinkRow& row) { return std::pair(row.flow, row.link); });
    run().Write("flow_links.csv", Table(kFlowLinksColumns).Text(rows));
  }

 private:
  std::vector<Watch*> watches_;  // By switch.
};

[[maybe_unused]] const bool registered = RegisterOption<FlowLinks>(
    {.name = "flow_links", .place = InstrumentPlace::kMeasure, .order = 25},
    "flow_links.csv: the links that each flow's data packets take behind switches, and the queues "
    "and drops that they meet there.");

}  // namespace
}  // namespace heddle
