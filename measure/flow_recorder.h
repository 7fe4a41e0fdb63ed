// SPDX-License-Identifier: Apache-2.0
// Records flows that have ended: for each a row of flows.csv, and the samples that summaries need.
// Each thread of the engine fills a recorder of its own. Between windows the collector empties
// them, in an order that does not depend on the threads.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/flow.h"
#include "measure/size_classes.h"
#include "network/ideal_fct.h"

namespace heddle {

// The values of a measured flow that percentiles need.
struct FlowSample {
  int64_t size;
  int64_t fct_ps;  // kNever.ps: unfinished.
  double slowdown;
  int64_t start_ps;
};

// Counts of measured flows, for one atom of the size classes.
struct ClassCounters {
  int64_t packets_received = 0;
  int64_t packets_sent = 0;
  int64_t reordered = 0;
  int64_t flows_with_reordering = 0;
  int64_t fast_retransmits_reorder = 0;
  int64_t retransmissions = 0;
  int64_t retransmissions_spurious = 0;
  int64_t retransmissions_loss = 0;
  int64_t timeouts = 0;
  int64_t path_switches = 0;

  void Add(const FlowRecord& record);
  void Merge(const ClassCounters& other);
};

class FlowRecorder final : public FlowLog {
 public:
  // The data that rows are made from; `routing` outlives the recorder.
  struct Context {
    const SizeClasses* classes;
    const Routing* routing;
    PacketSizes sizes;
    std::string transport;
    bool has_subflows = false;  // The transport's.
    bool spreads = false;       // Likewise.
    bool may_detour = false;    // Links fail, and flows then take other paths.
    // The ids that flow lists give, by flow id; null if no list gives any.
    const std::vector<std::optional<int64_t>>* listed_ids = nullptr;
    FlowId first_listed = 0;  // The flow of the first of them.
  };
  explicit FlowRecorder(const Context& context);

  // An instrument calls these before the run if it needs each fast retransmit, or each flow whose
  // sender is done.
  void KeepFastRetransmits() { keeps_fast_retransmits_ = true; }
  void KeepSendersDone() { keeps_senders_done_ = true; }

  void MessageStarted(const FlowSpec& spec) override { started_.push_back(spec); }
  void SenderDone(const FlowSpec& spec, Time done) override;
  void Add(const FlowRecord& record) override;
  ReorderingStats& Reordering(uint16_t size_class) override { return reordering_[size_class]; }

  void FastRetransmit(Time at, bool dropped) override {
    if (keeps_fast_retransmits_) fast_retransmits_.push_back({at, dropped});
  }

  // A fast retransmit of a flow of this thread; `dropped` if its segment had been dropped. The list
  // is in no particular order.
  struct FastRetransmitAt {
    Time at;
    bool dropped;
  };
  const std::vector<FastRetransmitAt>& fast_retransmits() const { return fast_retransmits_; }

  // Messages that have started since the last ClearStarted(), in no particular order.
  const std::vector<FlowSpec>& started() const { return started_; }
  void ClearStarted() { started_.clear(); }

  // Flows whose sender is done, since the last ClearSendersDone(), in no particular order.
  const std::vector<FlowId>& senders_done() const { return senders_done_; }
  void ClearSendersDone() { senders_done_.clear(); }

  // A row in flows.csv, which is sorted by the sender's end, then by id.
  struct Row {
    FlowRecord record;
    FlowSample sample;
    uint32_t text_begin;  // An offset in text_.
    uint32_t text_end;
  };
  const std::vector<Row>& rows() const { return rows_; }
  std::string_view TextOf(const Row& row) const {
    return std::string_view(text_).substr(row.text_begin, row.text_end - row.text_begin);
  }
  void ClearRows();

  int64_t measured_done() const { return measured_done_; }
  int64_t done() const { return done_; }
  Time last_measured_done() const { return last_measured_done_; }
  const std::vector<ClassCounters>& counters() const { return counters_; }
  const std::vector<ReorderingStats>& reordering() const { return reordering_; }

 private:
  const Context context_;
  IdealFct ideal_;
  bool keeps_fast_retransmits_ = false;
  bool keeps_senders_done_ = false;
  std::vector<Row> rows_;
  std::string text_;
  std::vector<ClassCounters> counters_;  // By atom of the size classes.
  std::vector<ReorderingStats>
      reordering_;  // By atom, and one more for flows that are not measured.
  std::vector<FastRetransmitAt> fast_retransmits_;
  std::vector<FlowSpec> started_;
  std::vector<FlowId> senders_done_;
  int64_t measured_done_ = 0;
  int64_t done_ = 0;
  Time last_measured_done_;
};

// Returns the header of flows.csv with its line end. `listed_ids` adds the column for ids that flow
// lists give.
std::string FlowsHeader(bool listed_ids, bool has_subflows);

}  // namespace heddle
