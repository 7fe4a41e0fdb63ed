// SPDX-License-Identifier: Apache-2.0
// trimming.csv: the packets that each switch port has trimmed, over the whole run.

#include <cstdint>
#include <memory>
#include <string>

#include "measure/instruments.h"
#include "measure/table.h"
#include "measure/tier_name.h"

namespace heddle {
namespace {

struct TrimRow {
  const Network::Egress& egress;
  const Graph& graph;
  const TrimTotals& totals;
};

constexpr Column<TrimRow> kTrimmingColumns[] = {
    {"node", [](const TrimRow& row) { return row.graph.NameOf(row.egress.vertex); }},
    {"port", [](const TrimRow& row) { return row.egress.port; }},
    {"peer", [](const TrimRow& row) { return row.graph.NameOf(row.egress.peer); }},
    {"tier",
     [](const TrimRow& row) { return TierName(row.graph, row.egress.vertex, row.egress.peer); }},
    {"trimmed", [](const TrimRow& row) { return row.totals.trimmed; }},
    {"trimmed_newest", [](const TrimRow& row) { return row.totals.trimmed_newest; }},
    {"cut_bytes", [](const TrimRow& row) { return row.totals.cut_bytes; }},
    {"trim_full", [](const TrimRow& row) { return row.totals.header_full; }},
    {"returned", [](const TrimRow& row) { return row.totals.returned; }},
    {"high_peak_bytes", [](const TrimRow& row) { return row.totals.header_peak; }}};

class TrimTable final : public Instrument {
 public:
  void Finish(Time /*end*/, RunNotes& /*notes*/) override {
    std::string csv = Table(kTrimmingColumns).Header();
    const Graph& graph = network().graph();
    for (const Network::Egress& egress : network().egresses()) {
      if (graph.IsHost(egress.vertex)) continue;
      const QueuedPorts* queued = network().switches()[graph.SwitchAt(egress.vertex)]->queued();
      Table(kTrimmingColumns).Append(csv, {egress, graph, queued->trimming()->totals(egress.port)});
    }
    run().Write("trimming.csv", csv);
  }
};

[[maybe_unused]] const bool registered =
    RegisterForRuns("trimming", [](const RunPlan& plan) -> std::unique_ptr<Instrument> {
      const bool trims = plan.trim != nullptr && plan.trim->on() && plan.transport->can_trim();
      return trims ? std::make_unique<TrimTable>() : nullptr;
    });

}  // namespace
}  // namespace heddle
