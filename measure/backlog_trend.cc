// SPDX-License-Identifier: Apache-2.0

#include "measure/backlog_trend.h"

#include <algorithm>

namespace heddle {

void BacklogTrend::Begin() {
  const Timeline& timeline = run().plan().timeline;
  if (timeline.links_until == kNever) return;
  const Time until = std::min(timeline.links_until, timeline.t_max);
  from_ = timeline.links_from;
  half_ = until > from_ ? (until - from_) / 2 : Duration{0};
}

// Adds the share of each half in which the flow was in progress. Calls come in the order of
// flows.csv, so the sums do not depend on the threads.
void BacklogTrend::OnEnd(const FlowRecord& record) {
  if (half_ == Duration{0}) return;
  for (size_t half = 0; half < halves_.size(); ++half) {
    const Time begin = from_ + half_ * static_cast<int64_t>(half);
    const Time first = std::max(begin, record.spec.start);
    const Time last = std::min(begin + half_, record.receiver.done);
    if (last <= first) continue;
    const double share = static_cast<double>((last - first).ps) / static_cast<double>(half_.ps);
    halves_[half].flows += share;
    halves_[half].bytes += share * static_cast<double>(record.spec.size);
  }
}

}  // namespace heddle
