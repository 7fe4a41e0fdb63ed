// SPDX-License-Identifier: Apache-2.0

#include "measure/flow_recorder.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <iterator>

#include "core/check.h"

namespace heddle {

std::string FlowsHeader(bool listed_ids) {
  const std::string_view columns =
      "flow_id,src,dst,sport,dport,class,transport,size_bytes,start_ps,rx_done_ps,tx_done_ps,"
      "fct_rx_ns,fct_tx_ns,ideal_rx_ns,ideal_tx_ns,slowdown,hops,pkts,pkts_sent,retx,"
      "retx_spurious,retx_loss,rto,fast_retx,dupack3_reorder,nack,cnp,ecn_marked,reordered_net,"
      "reordered_seq,max_extent,max_degree,ooo_max_bytes,pause_blocked_ns,paths_used,"
      "path_switches,job,iter,step,measured,finished";
  return fmt::format("{}{}\n", columns, listed_ids ? ",id" : "");
}

void AppendExact(std::string& out, int64_t ps, int digits) {
  int64_t unit = 1;
  for (int i = 0; i < digits; ++i) unit *= 10;
  auto end = fmt::format_to(std::back_inserter(out), FMT_COMPILE("{}"), ps / unit);
  int64_t rest = ps % unit;
  if (rest == 0) return;
  int width = digits;
  for (; rest % 10 == 0; rest /= 10) --width;
  fmt::format_to(end, FMT_COMPILE(".{:0{}}"), rest, width);
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
      ideal_(*context.routing, context.sizes),
      counters_(context.classes->atoms()),
      // One more for the packets of flows that are not measured.
      reordering_(context.classes->atoms() + 1) {}

void FlowRecorder::SenderDone(const FlowSpec& spec, Time done) {
  ++done_;
  if (context_.keeps_senders_done) senders_done_.push_back(spec.id);
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
  const SenderRecord& sender = record.sender;
  const ReceiverRecord& receiver = record.receiver;
  const IdealFct::Times ideal = ideal_.Of(spec.src, spec.dst, spec.size);
  const bool received = receiver.done != kNever;
  const bool finished = received && sender.done != kNever;
  const Duration fct_rx = receiver.done - spec.start;
  const double slowdown = static_cast<double>(fct_rx.ps) / static_cast<double>(ideal.rx.ps);
  HEDDLE_CHECK(!received || fct_rx >= ideal.least,
               "flow {} took {} ps, less than the {} ps that it needs on an idle network", spec.id,
               fct_rx.ps, ideal.least.ps);
  if (spec.measured) counters_[context_.classes->AtomOf(spec.size)].Add(record);

  const ClassSet& set = context_.classes->sets().back();
  const size_t begin = text_.size();
  auto out = std::back_inserter(text_);
  fmt::format_to(out, FMT_COMPILE("{},{},{},{},{},{},{},{},{},"), spec.id, spec.src, spec.dst,
                 spec.sport, spec.dport, set.labels[set.IndexOf(spec.size)], context_.transport,
                 spec.size, spec.start.ps);
  if (received) fmt::format_to(out, FMT_COMPILE("{}"), receiver.done.ps);
  text_ += ',';
  if (sender.done != kNever) fmt::format_to(out, FMT_COMPILE("{}"), sender.done.ps);
  text_ += ',';
  if (received) AppendExact(text_, fct_rx.ps, 3);
  text_ += ',';
  if (sender.done != kNever) AppendExact(text_, (sender.done - spec.start).ps, 3);
  text_ += ',';
  AppendExact(text_, ideal.rx.ps, 3);
  text_ += ',';
  AppendExact(text_, ideal.tx.ps, 3);
  text_ += ',';
  if (received) fmt::format_to(out, FMT_COMPILE("{}"), slowdown);
  fmt::format_to(out, FMT_COMPILE(",{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},"),
                 receiver.hops, sender.packets, sender.packets_sent, sender.retransmissions,
                 sender.retransmissions_spurious, sender.retransmissions_loss, sender.timeouts,
                 sender.fast_retransmits, sender.fast_retransmits_reorder, sender.nacks,
                 sender.cnps, receiver.ce_marked, receiver.reordered_net, receiver.reordered_seq,
                 receiver.max_extent, receiver.max_degree, receiver.max_out_of_order_bytes);
  AppendExact(text_, sender.pause_blocked.ps, 3);
  fmt::format_to(out, FMT_COMPILE(",{},{},{},0,0,{},{}"), receiver.paths_used,
                 receiver.path_switches, spec.job, spec.measured ? 1 : 0, finished ? 1 : 0);
  if (context_.listed_ids != nullptr) {
    text_ += ',';
    const std::optional<int64_t> id = (*context_.listed_ids)[spec.id];
    if (id) fmt::format_to(out, FMT_COMPILE("{}"), *id);
  }
  text_ += '\n';
  rows_.push_back({.tx_done = sender.done,
                   .id = spec.id,
                   .text_begin = static_cast<uint32_t>(begin),
                   .text_end = static_cast<uint32_t>(text_.size()),
                   .sample = {spec.size, finished ? fct_rx.ps : kNever.ps, slowdown, spec.start.ps},
                   .job = spec.job,
                   .workload = spec.workload,
                   .measured = spec.measured,
                   .rx_done = receiver.done});
}

}  // namespace heddle
