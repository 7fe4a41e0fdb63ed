// SPDX-License-Identifier: Apache-2.0
// Records of flows, pauses, reordering and resequencing begin with nothing counted, and add up.

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "fabric/flow.h"
#include "fabric/pause_log.h"
#include "fabric/pause_meter.h"
#include "fabric/reordering.h"
#include "fabric/resequencing.h"
#include "tests/support/printers.h"

namespace heddle::records_test {

TEST(RecordsTest, OfAFlowBeginWithNothing) {
  const FlowRecord record;
  EXPECT_EQ(record.spec.sport, 0);
  EXPECT_EQ(record.spec.dport, 0);
  EXPECT_EQ(record.spec.workload, 0);
  EXPECT_EQ(record.spec.size_class, 0);
  EXPECT_TRUE(record.spec.measured);
  EXPECT_EQ(record.spec.job, 0u);
  EXPECT_EQ(record.spec.size, 1);
  const SenderRecord& sender = record.sender;
  EXPECT_EQ(sender.done, kNever);
  EXPECT_EQ(record.receiver.done, kNever);
  EXPECT_EQ(sender.pause_blocked, Duration{0});
  const ReceiverRecord& receiver = record.receiver;
  for (const int64_t count : {sender.packets,
                              sender.packets_sent,
                              sender.retransmissions,
                              sender.retransmissions_spurious,
                              sender.retransmissions_loss,
                              int64_t{sender.timeouts},
                              int64_t{sender.fast_retransmits},
                              int64_t{sender.fast_retransmits_reorder},
                              int64_t{sender.nacks},
                              int64_t{sender.cnps},
                              receiver.packets,
                              receiver.duplicates,
                              receiver.discarded,
                              receiver.ce_marked,
                              receiver.max_out_of_order_bytes,
                              receiver.reordered_net,
                              receiver.reordered_seq,
                              int64_t{receiver.max_extent},
                              int64_t{receiver.max_degree},
                              int64_t{receiver.paths_used},
                              int64_t{receiver.path_switches},
                              int64_t{receiver.hops}}) {
    EXPECT_EQ(count, 0);
  }
}

// Totals are those of all bits together; the classes that wait count only if they are paused.
TEST(PauseMeterTest, AddsUpPausedAndBlockedTime) {
  PauseMeter meter;
  const Time start = Time{} + 10_us;
  for (const int64_t count : {meter.counts().pauses, meter.counts().resumes,
                              meter.counts().pauses_sent, meter.counts().resumes_sent}) {
    EXPECT_EQ(count, 0);
  }
  EXPECT_EQ(meter.Until(start).paused, 0_ps);
  EXPECT_EQ(meter.Until(start).blocked, 0_ps);
  meter.Set(0b010, 0b100, start + 1_us);  // Another class waits.
  meter.Set(0b110, 0b100, start + 3_us);
  EXPECT_EQ(meter.Until(start + 4_us).paused, 3_us);
  EXPECT_EQ(meter.Until(start + 4_us).blocked, 1_us);
  meter.Set(0b100, 0b000, start + 6_us);
  meter.Set(0b000, 0b111, start + 7_us);
  meter.Set(0b001, 0b111, start + 9_us);
  PauseTotals totals = meter.Until(start + 10_us);
  EXPECT_EQ(totals.paused, 7_us);
  EXPECT_EQ(totals.blocked, 4_us);
  totals.pauses = 9;
  totals.resumes = 8;
  totals.pauses_sent = 7;
  totals.resumes_sent = 6;
  totals -= {.paused = 1_us,
             .blocked = 2_us,
             .pauses = 1,
             .resumes = 2,
             .pauses_sent = 3,
             .resumes_sent = 4};
  EXPECT_EQ(totals.paused, 6_us);
  EXPECT_EQ(totals.blocked, 2_us);
  EXPECT_EQ(totals.pauses, 8);
  EXPECT_EQ(totals.resumes, 6);
  EXPECT_EQ(totals.pauses_sent, 4);
  EXPECT_EQ(totals.resumes_sent, 2);
}

// Classes 2 and 3 of port 1 are paused; 3 waits from 15 us on, and then until its pause ends. Class
// 0 of port 0 is paused at the end.
TEST(PauseLogTest, HasEachPauseByClassAndThoseUnderWay) {
  PauseLog log(2);
  const auto at = [](int64_t us) { return Time{} + us * 1_us; };
  log.Set(1, 0b1100, 0b0001, at(10));
  log.Set(1, 0b1100, 0b1000, at(15));
  log.Set(1, 0b1000, 0b0000, at(17));
  log.Set(0, 0b0001, 0b0001, at(18));
  const auto text = [](const std::vector<PauseInterval>& pauses) {
    std::vector<std::vector<int64_t>> all;
    for (const PauseInterval& p : pauses) {
      all.push_back(
          {p.port, p.cls, p.start.ps / 1'000'000, p.end.ps / 1'000'000, p.blocked.ps / 1'000'000});
    }
    return all;
  };
  using All = std::vector<std::vector<int64_t>>;
  EXPECT_EQ(text(log.ended()), (All{{1, 2, 10, 17, 0}}));
  std::vector<PauseInterval> open;
  log.AddOpen(at(20), open);
  EXPECT_EQ(text(open), (All{{0, 0, 18, 20, 2}, {1, 3, 10, 20, 5}}));
  log.AddOpen(at(21), open);  // Reading changes nothing.
  EXPECT_EQ(text(open),
            (All{{0, 0, 18, 20, 2}, {1, 3, 10, 20, 5}, {0, 0, 18, 21, 3}, {1, 3, 10, 21, 6}}));
  log.Set(1, 0, 0b1111, at(22));
  log.Set(0, 0, 0, at(23));
  EXPECT_EQ(text(log.ended()), (All{{1, 2, 10, 17, 0}, {1, 3, 10, 22, 7}, {0, 0, 18, 23, 5}}));
  open.clear();
  log.AddOpen(at(30), open);
  EXPECT_TRUE(open.empty());
}

std::vector<int64_t> CountsOf(const ResequencingStats& s) {
  return {s.packets,         s.held,
          s.waiting,         s.late,
          s.hold_ps.count(), s.max_packets,
          s.max_bytes,       s.flow_max_packets,
          s.flow_max_bytes,  static_cast<int64_t>(s.byte_ps),
          s.timeouts,        s.overflows,
          s.evictions};
}

ResequencingStats StatsFrom(int64_t first) {
  ResequencingStats stats{.packets = first,
                          .held = first + 1,
                          .waiting = first + 2,
                          .late = first + 3,
                          .hold_ps = {},
                          .max_packets = first + 5,
                          .max_bytes = first + 6,
                          .flow_max_packets = first + 7,
                          .flow_max_bytes = first + 8,
                          .byte_ps = static_cast<double>(first + 9),
                          .timeouts = first + 10,
                          .overflows = first + 11,
                          .evictions = first + 12};
  for (int64_t i = 0; i < first + 4; ++i) stats.hold_ps.Add(i);
  return stats;
}

// Counts of hosts add up; the most at one host is the largest of them.
TEST(ResequencingStatsTest, AddUpOrKeepTheLargest) {
  ResequencingStats sum;
  for (const int64_t count : CountsOf(sum)) EXPECT_EQ(count, 0);
  sum.Merge({});
  for (const int64_t count : CountsOf(sum)) EXPECT_EQ(count, 0);
  sum.Merge(StatsFrom(100));
  EXPECT_EQ(CountsOf(sum), (std::vector<int64_t>{100, 101, 102, 103, 104, 105, 106, 107, 108, 109,
                                                 110, 111, 112}));
  sum.Merge(StatsFrom(20));
  EXPECT_EQ(CountsOf(sum), (std::vector<int64_t>{120, 122, 124, 126, 128, 105, 106, 107, 108, 138,
                                                 140, 142, 144}));
  sum.Merge(StatsFrom(300));
  EXPECT_EQ(CountsOf(sum), (std::vector<int64_t>{420, 423, 426, 429, 432, 305, 306, 307, 308, 447,
                                                 450, 453, 456}));
}

}  // namespace heddle::records_test
