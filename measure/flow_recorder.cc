// SPDX-License-Identifier: Apache-2.0

#include "measure/flow_recorder.h"

#include <algorithm>

#include "core/check.h"
#include "measure/table.h"

namespace heddle {

namespace {

// A flow's record, and all else that its row in flows.csv needs.
struct FlowRow {
  const FlowRecord& record;
  std::string_view size_class;
  std::string_view transport;
  IdealFct::Times ideal;
  std::optional<Duration> fct_rx;  // Not set if not all bytes have arrived.
  std::optional<Duration> fct_tx;  // Not set if not all bytes have been acknowledged.
  double slowdown;
  std::optional<int64_t> listed_id;

  bool finished() const { return fct_rx && fct_tx; }
};

std::optional<int64_t> Instant(const std::optional<Duration>& reached, Time at) {
  return reached ? std::optional<int64_t>(at.ps) : std::nullopt;
}
std::optional<Nanoseconds> Took(const std::optional<Duration>& time) {
  return time ? std::optional<Nanoseconds>(InNs(*time)) : std::nullopt;
}

constexpr Column<FlowRow> kColumns[] = {
    {"flow_id", [](const FlowRow& row) { return row.record.spec.id; }},
    {"src", [](const FlowRow& row) { return row.record.spec.src; }},
    {"dst", [](const FlowRow& row) { return row.record.spec.dst; }},
    {"sport", [](const FlowRow& row) { return row.record.spec.sport; }},
    {"dport", [](const FlowRow& row) { return row.record.spec.dport; }},
    {"class", [](const FlowRow& row) { return row.size_class; }},
    {"transport", [](const FlowRow& row) { return row.transport; }},
    {"size_bytes", [](const FlowRow& row) { return row.record.spec.size; }},
    {"start_ps", [](const FlowRow& row) { return row.record.spec.start.ps; }},
    {"rx_done_ps",
     [](const FlowRow& row) { return Instant(row.fct_rx, row.record.receiver.done); }},
    {"tx_done_ps", [](const FlowRow& row) { return Instant(row.fct_tx, row.record.sender.done); }},
    {"fct_rx_ns", [](const FlowRow& row) { return Took(row.fct_rx); }},
    {"fct_tx_ns", [](const FlowRow& row) { return Took(row.fct_tx); }},
    {"ideal_rx_ns", [](const FlowRow& row) { return InNs(row.ideal.rx); }},
    {"ideal_tx_ns", [](const FlowRow& row) { return InNs(row.ideal.tx); }},
    {"slowdown",
     [](const FlowRow& row) {
       return row.fct_rx ? std::optional<double>(row.slowdown) : std::nullopt;
     }},
    {"hops", [](const FlowRow& row) { return row.record.receiver.hops; }},
    {"pkts", [](const FlowRow& row) { return row.record.sender.packets; }},
    {"pkts_sent", [](const FlowRow& row) { return row.record.sender.packets_sent; }},
    {"retx", [](const FlowRow& row) { return row.record.sender.retransmissions; }},
    {"retx_spurious",
     [](const FlowRow& row) { return row.record.sender.retransmissions_spurious; }},
    {"retx_loss", [](const FlowRow& row) { return row.record.sender.retransmissions_loss; }},
    {"rto", [](const FlowRow& row) { return row.record.sender.timeouts; }},
    {"fast_retx", [](const FlowRow& row) { return row.record.sender.fast_retransmits; }},
    {"dupack3_reorder",
     [](const FlowRow& row) { return row.record.sender.fast_retransmits_reorder; }},
    {"nack", [](const FlowRow& row) { return row.record.sender.nacks; }},
    {"cnp", [](const FlowRow& row) { return row.record.sender.cnps; }},
    {"ecn_marked", [](const FlowRow& row) { return row.record.receiver.ce_marked; }},
    {"reordered_net", [](const FlowRow& row) { return row.record.receiver.reordered_net; }},
    {"reordered_seq", [](const FlowRow& row) { return row.record.receiver.reordered_seq; }},
    {"max_extent", [](const FlowRow& row) { return row.record.receiver.max_extent; }},
    {"max_degree", [](const FlowRow& row) { return row.record.receiver.max_degree; }},
    {"ooo_max_bytes",
     [](const FlowRow& row) { return row.record.receiver.max_out_of_order_bytes; }},
    {"pause_blocked_ns", [](const FlowRow& row) { return InNs(row.record.sender.pause_blocked); }},
    {"paths_used", [](const FlowRow& row) { return row.record.receiver.paths_used; }},
    {"path_switches", [](const FlowRow& row) { return row.record.receiver.path_switches; }},
    {"job", [](const FlowRow& row) { return row.record.spec.job; }},
    {"iter", [](const FlowRow& row) { return row.record.spec.iter; }},
    {"step", [](const FlowRow& row) { return row.record.spec.step; }},
    {"measured", [](const FlowRow& row) { return row.record.spec.measured; }},
    {"finished", [](const FlowRow& row) { return row.finished(); }}};

// With subflows. A subflow sends each of its segments as new once, and again as a retransmission;
// so what remains beyond the segments of the flow was sent by another subflow before.
constexpr Column<FlowRow> kSubflowColumns[] = {
    {"reinjected",
     [](const FlowRow& row) {
       const SenderRecord& sender = row.record.sender;
       const int64_t more = sender.packets_sent - sender.retransmissions - sender.packets;
       return row.fct_tx ? std::optional<int64_t>(more) : std::nullopt;
     }},
    {"dup_data", [](const FlowRow& row) { return row.record.receiver.duplicates; }}};

constexpr Column<FlowRow> kIdColumn[] = {{"id", [](const FlowRow& row) { return row.listed_id; }}};

// Replaces the line end by a comma, before the next table appends.
void ContinueLine(std::string& csv) { csv.back() = ','; }

}  // namespace

std::string FlowsHeader(bool listed_ids, bool has_subflows) {
  std::string csv = Table(kColumns).Header();
  if (has_subflows) {
    ContinueLine(csv);
    csv += Table(kSubflowColumns).Header();
  }
  if (listed_ids) {
    ContinueLine(csv);
    csv += Table(kIdColumn).Header();
  }
  return csv;
}

void ClassCounters::Add(const FlowRecord& record) {
  packets_received += record.receiver.packets;
  packets_sent += record.sender.packets_sent;
  reordered += record.receiver.reordered_net;
  flows_with_reordering += record.receiver.reordered_net > 0 ? 1 : 0;
  fast_retransmits_reorder += record.sender.fast_retransmits_reorder;
  retransmissions += record.sender.retransmissions;
  retransmissions_spurious += record.sender.retransmissions_spurious;
  retransmissions_loss += record.sender.retransmissions_loss;
  timeouts += record.sender.timeouts;
  path_switches += record.receiver.path_switches;
}

void ClassCounters::Merge(const ClassCounters& other) {
  packets_received += other.packets_received;
  packets_sent += other.packets_sent;
  reordered += other.reordered;
  flows_with_reordering += other.flows_with_reordering;
  fast_retransmits_reorder += other.fast_retransmits_reorder;
  retransmissions += other.retransmissions;
  retransmissions_spurious += other.retransmissions_spurious;
  retransmissions_loss += other.retransmissions_loss;
  timeouts += other.timeouts;
  path_switches += other.path_switches;
}

FlowRecorder::FlowRecorder(const Context& context)
    : context_(context),
      ideal_(*context.routing, context.sizes, context.may_detour, context.spreads),
      counters_(context.classes->atoms()),
      // One more entry for the packets of flows that are not measured.
      reordering_(context.classes->atoms() + 1) {}

void FlowRecorder::SenderDone(const FlowSpec& spec, Time done) {
  ++done_;
  if (keeps_senders_done_) senders_done_.push_back(spec.id);
  if (!spec.measured) return;
  ++measured_done_;
  last_measured_done_ = std::max(last_measured_done_, done);
}

void FlowRecorder::ClearRows() {
  rows_.clear();
  text_.clear();
}

void FlowRecorder::Add(const FlowRecord& record) {
  const FlowSpec& spec = record.spec;
  const ClassSet& set = context_.classes->sets().back();
  FlowRow row{.record = record,
              .size_class = set.labels[set.IndexOf(spec.size)],
              .transport = context_.transport,
              .ideal = ideal_.Of(spec.src, spec.dst, spec.size),
              .fct_rx = std::nullopt,
              .fct_tx = std::nullopt,
              .slowdown = 0,
              .listed_id = std::nullopt};
  if (record.sender.done != kNever) row.fct_tx = record.sender.done - spec.start;
  if (record.receiver.done != kNever) {
    row.fct_rx = record.receiver.done - spec.start;
    row.slowdown = static_cast<double>(row.fct_rx->ps) / static_cast<double>(row.ideal.rx.ps);
    HEDDLE_CHECK(*row.fct_rx >= row.ideal.least,
                 "flow {} took {} ps, less than the {} ps that it needs on an idle network",
                 spec.id, row.fct_rx->ps, row.ideal.least.ps);
  }
  const bool has_id = context_.listed_ids != nullptr;
  if (has_id && spec.id >= context_.first_listed) {
    row.listed_id = (*context_.listed_ids)[spec.id - context_.first_listed];
  }
  if (spec.measured) counters_[context_.classes->AtomOf(spec.size)].Add(record);
  const size_t begin = text_.size();
  Table(kColumns).Append(text_, row);
  if (context_.has_subflows) {
    ContinueLine(text_);
    Table(kSubflowColumns).Append(text_, row);
  }
  if (has_id) {
    ContinueLine(text_);
    Table(kIdColumn).Append(text_, row);
  }
  rows_.push_back({.record = record,
                   .sample = {spec.size, row.finished() ? row.fct_rx->ps : kNever.ps, row.slowdown,
                              spec.start.ps},
                   .text_begin = static_cast<uint32_t>(begin),
                   .text_end = static_cast<uint32_t>(text_.size())});
}

}  // namespace heddle
