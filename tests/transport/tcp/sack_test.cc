// SPDX-License-Identifier: Apache-2.0
// The blocks that ACKs report, against a plain reading of RFC 2018 section 4, for segments that
// arrive in random orders.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "core/random.h"
#include "tests/support/lab.h"
#include "tests/support/scripted_policy.h"

namespace heddle::sack_test {

using Blocks = std::vector<std::pair<uint32_t, uint32_t>>;

// The contents of one ACK.
struct Report {
  uint32_t next = 0;
  Blocks blocks = {};
  bool duplicate = false;

  friend bool operator==(const Report&, const Report&) = default;
};

void PrintTo(const Report& report, std::ostream* out) {
  *out << "next " << report.next << (report.duplicate ? " (duplicate)" : "");
  for (const auto& [first, end] : report.blocks) *out << " [" << first << ", " << end << ")";
}

// The first block has the segment that caused the ACK. The others are those reported last, and
// there are three at most.
class PlainReceiver {
 public:
  explicit PlainReceiver(int64_t size) : size_(size) {}

  Report Take(uint32_t segment) {
    const bool duplicate = segment < next_ || ahead_.contains(segment);
    if (!duplicate) ahead_.insert(segment);
    while (ahead_.contains(next_)) ahead_.erase(next_++);
    if (!duplicate && segment > next_) {
      Remember(segment);
      most_ahead = std::max(most_ahead, Bytes());
    }
    Report report{.next = next_, .duplicate = duplicate};
    for (const uint32_t seen : latest_) {
      if (!ahead_.contains(seen)) continue;
      const auto block = BlockOf(seen);
      if (std::ranges::find(report.blocks, block) == report.blocks.end()) {
        report.blocks.push_back(block);
      }
    }
    return report;
  }

  int64_t most_ahead = 0;  // The most bytes beyond a hole.

 private:
  // All segments have 1460 bytes but the last, which may be shorter.
  int64_t Bytes() const {
    int64_t bytes = 0;
    for (const uint32_t segment : ahead_)
      bytes += std::min<int64_t>(1'460, size_ - segment * 1'460);
    return bytes;
  }

  std::pair<uint32_t, uint32_t> BlockOf(uint32_t segment) const {
    uint32_t first = segment;
    uint32_t end = segment + 1;
    while (ahead_.contains(first - 1)) --first;
    while (ahead_.contains(end)) ++end;
    return {first, end};
  }

  // Keeps one segment of each of the three blocks reported last.
  void Remember(uint32_t segment) {
    const auto [first, end] = BlockOf(segment);
    std::erase_if(latest_, [&, first = first, end = end](uint32_t s) {
      return (s >= first && s < end) || s < next_;
    });
    latest_.insert(latest_.begin(), segment);
    if (latest_.size() > 3) latest_.pop_back();
  }

  const int64_t size_;
  uint32_t next_ = 0;
  std::set<uint32_t> ahead_;
  std::vector<uint32_t> latest_;
};

Report ReportOf(const Packet& ack) {
  Report report{.next = ack.seq, .duplicate = ack.Has(Packet::kDsack)};
  for (const SackBlock& block : ack.ack.sack) {
    if (block.length == 0) break;
    report.blocks.emplace_back(ack.seq + block.start, ack.seq + block.start + block.length);
  }
  return report;
}

// The segments that have passed switch 1, and the ACKs that came back.
struct Seen {
  std::vector<uint32_t> arrived;
  std::vector<Report> reports;

  std::vector<Rule> Watch() {
    return {WatchAt(1, AllData(0),
                    [this](const SwitchView&, const Packet& p) { arrived.push_back(p.seq); }),
            WatchAt(1, AllAcks(0), [this](const SwitchView&, const Packet& p) {
              reports.push_back(ReportOf(p));
            })};
  }
};

// Switch 0 holds some segments back, so that they arrive out of order.
TEST(SackTest, ReportsWhatAPlainReceiverReports) {
  size_t with_three = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng = Rng::Stream(seed, "sack", 0);
    Seen seen;
    std::vector<Rule> rules = seen.Watch();
    const uint32_t segments = 40 + rng.Below(60);
    for (uint32_t segment = 0; segment < segments; ++segment) {
      if (rng.Below(3) == 0) {
        rules.push_back(HoldAt(0, Data(0, segment), 500_ns * (1 + rng.Below(60))));
      }
    }
    Lab lab({.graph = Line(3, {10_Gbps, 1_us}),
             .transport = "{kind: tcp, iw: 200, dupthresh: inf}",
             .switch_policy = Scripted(rules)});
    const int64_t size = 1'460 * int64_t{segments} - 500;
    lab.AddFlow(0, 1, size);
    lab.Run();
    ASSERT_EQ(seen.arrived.size(), segments);
    ASSERT_EQ(seen.reports.size(), seen.arrived.size());
    PlainReceiver plain(size);
    for (size_t i = 0; i < seen.arrived.size(); ++i) {
      const Report expected = plain.Take(seen.arrived[i]);
      ASSERT_EQ(seen.reports[i], expected) << "arrival " << i << ", segment " << seen.arrived[i];
      with_three += expected.blocks.size() == 3 ? 1 : 0;
    }
    EXPECT_EQ(lab.Record(0).receiver.max_out_of_order_bytes, plain.most_ahead);
    EXPECT_EQ(lab.network().host(1).payload_received(), size);
  }
  EXPECT_GT(with_three, 200u);
}

// A timeout that is too short sends segments again: the receiver says of each second copy that it
// is one, and reports no block anew.
TEST(SackTest, SaysOfASecondCopyThatItIsOne) {
  size_t duplicates = 0;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng = Rng::Stream(seed, "sack", 1);
    Seen seen;
    std::vector<Rule> rules = seen.Watch();
    for (uint32_t segment = 0; segment < 60; ++segment) {
      if (rng.Below(3) == 0) {
        rules.push_back(HoldAt(0, Data(0, segment), 1_us * (1 + rng.Below(60))).Times(1));
      }
    }
    Lab lab({.graph = Line(3, {10_Gbps, 1_us}),
             .transport = "{kind: tcp, iw: 60, dupthresh: 3}",
             .switch_policy = Scripted(rules)});
    lab.AddFlow(0, 1, 1'460 * 60);
    lab.Run();
    ASSERT_EQ(seen.reports.size(), seen.arrived.size());
    PlainReceiver plain(1'460 * 60);
    for (size_t i = 0; i < seen.arrived.size(); ++i) {
      const Report expected = plain.Take(seen.arrived[i]);
      ASSERT_EQ(seen.reports[i], expected) << "arrival " << i << ", segment " << seen.arrived[i];
      duplicates += expected.duplicate ? 1 : 0;
    }
    EXPECT_EQ(lab.Record(0).receiver.max_out_of_order_bytes, plain.most_ahead);
    EXPECT_EQ(lab.Record(0).receiver.duplicates, static_cast<int64_t>(seen.arrived.size()) - 60);
  }
  EXPECT_GT(duplicates, 20u);
}

}  // namespace heddle::sack_test
