// SPDX-License-Identifier: Apache-2.0
// Gathers the rows of flows that have ended from the recorders of all threads, writes flows.csv,
// tells the instruments of each flow, and adds up totals. The run calls it between windows. The
// order of flows does not depend on the threads.

#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "measure/flow_recorder.h"
#include "measure/instrument_panel.h"

namespace heddle {

struct FlowTotals {
  int64_t messages = 0;           // Messages of jobs that have started, with their bytes, and those
  int64_t messages_measured = 0;  // that are measured.
  int64_t messages_payload = 0;
  int64_t finished = 0;
  int64_t unfinished = 0;        // Measured flows.
  int64_t payload_finished = 0;  // Bytes.
  // Measured flows, in the order of flows.csv. A vector that grows would hold them twice for a
  // moment.
  std::deque<FlowSample> samples;
};

class FlowCollector {
 public:
  // All arguments must outlive the collector. `write` is given flows.csv piece by piece, and
  // returns false if it cannot write it. Flows with ids below `messages_end` are messages of jobs.
  FlowCollector(std::span<const std::unique_ptr<FlowRecorder>> recorders,
                const std::function<bool(std::string_view)>& write, InstrumentPanel& instruments,
                FlowId messages_end)
      : recorders_(recorders),
        write_(write),
        instruments_(instruments),
        messages_end_(messages_end) {}

  void Write(std::string_view text) { writable_ = writable_ && write_(text); }
  bool writable() const { return writable_; }

  // Call it between windows, before the instruments learn what has ended: tells them of messages
  // that have started in the window.
  void TellOfStarts();

  // Call it between windows. Empties the recorders. Rows come window by window as senders end, and
  // in any order within a window.
  void Collect();

  FlowTotals& totals() { return totals_; }

  // How many flows of a query have arrived, and when the last one did. Queries are kept by workload
  // and job.
  struct Query {
    int64_t arrived = 0;
    Time last;
  };
  const std::map<uint16_t, std::vector<Query>>& queries() const { return queries_; }

 private:
  struct Entry {
    const FlowRecorder::Row* row;
    const FlowRecorder* recorder;
  };

  void Take(const FlowRecorder::Row& row);
  void TakeQuery(const FlowRecord& record);

  const std::span<const std::unique_ptr<FlowRecorder>> recorders_;
  const std::function<bool(std::string_view)>& write_;
  InstrumentPanel& instruments_;
  const FlowId messages_end_;
  std::vector<Entry> order_;
  std::vector<FlowSpec> started_;
  FlowTotals totals_;
  std::map<uint16_t, std::vector<Query>> queries_;
  bool writable_ = true;
};

// The sums of the counters of all recorders, by atom of the size classes.
std::vector<ClassCounters> CountersOf(std::span<const std::unique_ptr<FlowRecorder>> recorders);

}  // namespace heddle
