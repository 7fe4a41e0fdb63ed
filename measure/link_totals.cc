// SPDX-License-Identifier: Apache-2.0

#include "measure/link_totals.h"

#include <cstddef>
#include <memory>
#include <utility>

#include "measure/table.h"
#include "measure/tier_name.h"

namespace heddle {
namespace {

struct LinkRow {
  size_t id;
  const LinkUse& use;
  const Graph& graph;
  double interval_ps;

  double util() const {
    return interval_ps > 0 ? static_cast<double>(use.sent.busy_ps) / interval_ps : 0;
  }
};

constexpr Column<LinkRow> kLinkColumns[] = {
    {"link_id", [](const LinkRow& row) { return row.id; }},
    {"node", [](const LinkRow& row) { return row.graph.NameOf(row.use.vertex); }},
    {"port", [](const LinkRow& row) { return row.use.port; }},
    {"peer", [](const LinkRow& row) { return row.graph.NameOf(row.use.peer); }},
    {"tier", [](const LinkRow& row) { return TierName(row.graph, row.use.vertex, row.use.peer); }},
    {"rate_bps", [](const LinkRow& row) { return row.use.rate.bps; }},
    {"wire_bytes", [](const LinkRow& row) { return row.use.sent.wire_bytes; }},
    {"payload_bytes", [](const LinkRow& row) { return row.use.sent.payload_bytes; }},
    {"pkts", [](const LinkRow& row) { return row.use.sent.packets; }},
    {"busy_ps", [](const LinkRow& row) { return row.use.sent.busy_ps; }},
    {"util", [](const LinkRow& row) { return row.util(); }},
    {"paused_ps", [](const LinkRow& row) { return row.use.pauses.paused.ps; }},
    {"blocked_ps", [](const LinkRow& row) { return row.use.pauses.blocked.ps; }},
    {"pause_rx", [](const LinkRow& row) { return row.use.pauses.pauses; }},
    {"resume_rx", [](const LinkRow& row) { return row.use.pauses.resumes; }},
    {"pause_tx", [](const LinkRow& row) { return row.use.pauses.pauses_sent; }},
    {"resume_tx", [](const LinkRow& row) { return row.use.pauses.resumes_sent; }}};

}  // namespace

void LinkTotals::OnStart(const FlowSpec& spec) {
  const Timeline& timeline = run().plan().timeline;
  if (spec.start >= timeline.links_from && spec.start < timeline.links_until) {
    load_.payload_offered += spec.size;
  }
}

void LinkTotals::Start(Time now) {
  load_.from = now;
  load_.links = LinksAt(now);
  load_.payload_carried = -PayloadReceived();
  AddBackground(-1);
}

void LinkTotals::Stop(Time now) {
  load_.until = now;
  std::vector<LinkUse> links = LinksAt(now);
  for (size_t i = 0; i < links.size(); ++i) {
    FifoPort::Counters& sent = links[i].sent;
    const FifoPort::Counters& before = load_.links[i].sent;
    sent.packets -= before.packets;
    sent.wire_bytes -= before.wire_bytes;
    sent.payload_bytes -= before.payload_bytes;
    sent.busy_ps -= before.busy_ps;
    links[i].pauses -= load_.links[i].pauses;
  }
  load_.links = std::move(links);
  load_.payload_carried += PayloadReceived();
  AddBackground(1);
}

void LinkTotals::Write(RunNotes& /*notes*/) {
  const double interval_ps = static_cast<double>((load_.until - load_.from).ps);
  std::string csv = Table(kLinkColumns).Header();
  for (size_t id = 0; id < load_.links.size(); ++id) {
    Table(kLinkColumns).Append(csv, {id, load_.links[id], network().graph(), interval_ps});
  }
  run().Write("links.csv", csv);
}

std::vector<LinkUse> LinkTotals::LinksAt(Time now) {
  std::vector<LinkUse> links;
  for (const Network::Egress& egress : network().egresses()) {
    links.push_back({egress.vertex, egress.port, egress.peer, egress.rate, egress.fifo->SentBy(now),
                     network().PausesOf(egress, now)});
  }
  return links;
}

int64_t LinkTotals::PayloadReceived() {
  int64_t bytes = 0;
  for (size_t h = 0; h < network().hosts(); ++h) bytes += network().host(h).payload_received();
  return bytes;
}

// Adds the bytes that the background has sent and received so far; with a `sign` of -1 subtracts
// them.
void LinkTotals::AddBackground(int64_t sign) {
  for (const std::unique_ptr<Udp>& udp : network().background()) {
    load_.background_offered += sign * udp->wire_sent();
    load_.background_carried += sign * udp->wire_received();
  }
}

}  // namespace heddle
