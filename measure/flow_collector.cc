// SPDX-License-Identifier: Apache-2.0

#include "measure/flow_collector.h"

#include <algorithm>
#include <tuple>

namespace heddle {

// Messages start within windows, on any thread.
void FlowCollector::TellOfStarts() {
  started_.clear();
  for (const std::unique_ptr<FlowRecorder>& recorder : recorders_) {
    const std::vector<FlowSpec>& its = recorder->started();
    started_.insert(started_.end(), its.begin(), its.end());
    recorder->ClearStarted();
  }
  std::ranges::sort(started_, {},
                    [](const FlowSpec& spec) { return std::tuple(spec.start, spec.id); });
  for (const FlowSpec& spec : started_) {
    ++totals_.messages;
    totals_.messages_measured += spec.measured ? 1 : 0;
    totals_.messages_payload += spec.size;
    instruments_.OnStart(spec);
  }
}

void FlowCollector::Collect() {
  order_.clear();
  for (const std::unique_ptr<FlowRecorder>& recorder : recorders_) {
    for (const FlowRecorder::Row& row : recorder->rows()) order_.push_back({&row, recorder.get()});
  }
  if (order_.empty()) return;
  std::ranges::sort(order_, {}, [](const Entry& entry) {
    return std::tuple(entry.row->record.sender.done, entry.row->record.spec.id);
  });
  for (const Entry& entry : order_) {
    Write(entry.recorder->TextOf(*entry.row));
    Take(*entry.row);
  }
  for (const std::unique_ptr<FlowRecorder>& recorder : recorders_) recorder->ClearRows();
}

void FlowCollector::Take(const FlowRecorder::Row& row) {
  instruments_.OnEnd(row.record);
  const bool finished = row.sample.fct_ps != kNever.ps;
  totals_.finished += finished ? 1 : 0;
  totals_.payload_finished += finished ? row.sample.size : 0;
  if (row.record.spec.measured) totals_.samples.push_back(row.sample);
  if (row.record.spec.measured && !finished) ++totals_.unfinished;
  // The numbers of jobs that are no queries are in the same column; their flows have the first ids.
  const bool is_query = row.record.spec.job != 0 && row.record.spec.id >= messages_end_;
  if (is_query && row.record.receiver.done != kNever) TakeQuery(row.record);
}

void FlowCollector::TakeQuery(const FlowRecord& record) {
  std::vector<Query>& queries = queries_[record.spec.workload];
  if (queries.size() < record.spec.job) queries.resize(record.spec.job);
  Query& query = queries[record.spec.job - 1];
  ++query.arrived;
  query.last = std::max(query.last, record.receiver.done);
}

std::vector<ClassCounters> CountersOf(std::span<const std::unique_ptr<FlowRecorder>> recorders) {
  std::vector<ClassCounters> all;
  for (const std::unique_ptr<FlowRecorder>& recorder : recorders) {
    all.resize(recorder->counters().size());
    for (size_t atom = 0; atom < all.size(); ++atom) all[atom].Merge(recorder->counters()[atom]);
  }
  return all;
}

}  // namespace heddle
