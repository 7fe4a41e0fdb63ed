// SPDX-License-Identifier: Apache-2.0
// The transport's data structures against slow and obvious models, over random inputs.

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/random.h"
#include "tests/support/printers.h"
#include "transport/flow_table.h"
#include "transport/judge.h"
#include "transport/rtt.h"
#include "transport/segment_set.h"
#include "transport/tcp/scoreboard.h"

namespace heddle::models_test {

// --- SegmentSet ---

TEST(SegmentSetTest, AgreesWithASetOfNumbers) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    Rng rng = Rng::Stream(seed, "segments", 0);
    SegmentSet set;
    std::set<uint32_t> model;
    uint32_t floor = 0;
    const uint32_t spread = seed % 3 == 0 ? 40 : seed % 3 == 1 ? 300 : 5'000;
    for (int step = 0; step < 500; ++step) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", step " << step);
      const uint32_t draw = rng.Below(100);
      if (draw < 60) {
        const uint32_t first = floor + rng.Below(spread);
        const uint32_t last = first + 1 + rng.Below(draw < 40 ? 3 : 200);
        std::set<uint32_t> added;
        set.Insert(first, last, [&](uint32_t s) { ASSERT_TRUE(added.insert(s).second); });
        for (uint32_t s = first; s < last; ++s)
          ASSERT_EQ(model.insert(s).second, added.contains(s));
      } else if (draw < 95) {
        floor += rng.Below(spread / 4 + 1);
        set.AdvanceTo(floor);
        model.erase(model.begin(), model.lower_bound(floor));
      } else {
        floor = rng.Below(1'000);
        set.Reset(floor);
        model.clear();
      }
      ASSERT_EQ(set.size(), model.size());
      ASSERT_EQ(set.empty(), model.empty());
      const uint32_t probe = floor + rng.Below(spread + 300);
      ASSERT_EQ(set.Contains(probe), model.contains(probe));
      uint32_t missing = probe;
      while (model.contains(missing)) ++missing;
      ASSERT_EQ(set.FirstMissing(probe), missing);
      if (model.contains(probe)) {
        uint32_t start = probe;
        while (start > 0 && model.contains(start - 1)) --start;
        ASSERT_EQ(set.RunAround(probe), std::pair(start, missing));
      }
    }
  }
}

// --- Scoreboard ---

// The definitions of RFC 6675; the model looks at every segment every time.
class SlowScoreboard {
 public:
  struct Segment {
    Time sent;
    bool sacked = false;
    bool lost = false;
    bool sent_again = false;
    bool ever_resent = false;
  };

  uint32_t first = 0;
  std::map<uint32_t, Segment> segments;

  uint32_t end() const { return first + static_cast<uint32_t>(segments.size()); }
  uint32_t pipe() const {
    uint32_t pipe = 0;
    for (const auto& [n, s] : segments) pipe += !s.sacked && (!s.lost || s.sent_again) ? 1 : 0;
    return pipe;
  }
  uint32_t sacked() const {
    return static_cast<uint32_t>(
        std::ranges::count_if(segments, [](const auto& s) { return s.second.sacked; }));
  }
  void MarkLostBySacks(uint32_t dupthresh) {
    uint32_t above = 0;
    for (auto s = segments.rbegin(); s != segments.rend(); ++s) {
      if (s->second.sacked) {
        ++above;
      } else if (above >= dupthresh) {
        s->second.lost = true;
      }
    }
  }
  std::optional<uint32_t> NextLost() const {
    for (const auto& [n, s] : segments) {
      if (s.lost && !s.sent_again) return n;
    }
    return std::nullopt;
  }
  Time Acknowledge(uint32_t upto) {
    const auto end = segments.lower_bound(upto);
    Time sample = kNever;
    for (auto s = segments.begin(); s != end; ++s) {
      if (!s->second.sacked) sample = s->second.sent;
    }
    const bool any_resent =
        std::any_of(segments.begin(), end, [](const auto& s) { return s.second.ever_resent; });
    segments.erase(segments.begin(), end);
    first = upto;
    return any_resent ? kNever : sample;
  }
};

void ExpectSame(Scoreboard& board, const SlowScoreboard& model) {
  ASSERT_EQ(board.first(), model.first);
  ASSERT_EQ(board.end(), model.end());
  ASSERT_EQ(board.pipe(), model.pipe());
  ASSERT_EQ(board.sacked(), model.sacked());
  ASSERT_EQ(board.HasLost(), model.NextLost().has_value());
  if (board.HasLost()) {
    ASSERT_EQ(board.NextLost(), *model.NextLost());
  }
  if (!model.segments.empty()) {
    ASSERT_EQ(board.FirstIsLost(), model.segments.begin()->second.lost);
  }
}

TEST(ScoreboardTest, AgreesWithTheDefinitions) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Rng rng = Rng::Stream(seed, "scoreboard", 0);
    Scoreboard board;
    board.Reset();
    SlowScoreboard model;
    uint32_t tx_id = 0;
    Time now;
    for (int step = 0; step < 800; ++step) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", step " << step);
      now += 1_ns;
      const uint32_t out = board.outstanding();
      const uint32_t draw = rng.Below(100);
      if (draw < 45 || out == 0) {
        board.Append(now, tx_id++);
        model.segments[model.end()] = {.sent = now};
      } else if (draw < 70) {
        const uint32_t from = model.first + rng.Below(out);
        const uint32_t to = from + 1 + rng.Below(4);  // May reach beyond the end.
        uint32_t news = 0;
        for (uint32_t n = from; n < std::min(to, model.end()); ++n) {
          SlowScoreboard::Segment& s = model.segments[n];
          news += s.sacked ? 0 : 1;
          s.sacked = true;
          s.lost = s.sent_again = false;
        }
        ASSERT_EQ(board.Sack(from, to, Time{0}), news);
        board.MarkLostBySacks(3);
        model.MarkLostBySacks(3);
      } else if (draw < 85) {
        if (const std::optional<uint32_t> next = model.NextLost()) {
          board.Resend(*next, now, tx_id++);
          SlowScoreboard::Segment& s = model.segments[*next];
          s.sent = now;
          s.sent_again = s.ever_resent = true;
        }
      } else if (draw < 97) {
        const uint32_t upto = model.first + rng.Below(std::min(out, 6u) + 1);
        ASSERT_EQ(board.Acknowledge(upto, Time{0}), model.Acknowledge(upto));
      } else if (draw < 98) {
        board.MarkAllLost();
        for (auto& [n, s] : model.segments) {
          s.lost = !s.sacked;
          s.sent_again = false;
        }
      } else {
        board.MarkLost(model.first);
        SlowScoreboard::Segment& s = model.segments.begin()->second;
        s.lost = s.lost || !s.sacked;
      }
      ExpectSame(board, model);
      if (HasFatalFailure()) return;
    }
  }
}

// --- FlowTable ---

TEST(FlowTableTest, AgreesWithAMap) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    Rng rng = Rng::Stream(seed, "flows", 0);
    FlowTable table;
    std::map<FlowId, uint32_t> model;
    FlowId next = rng.Below(1'000'000);
    for (uint32_t step = 0; step < 3'000; ++step) {
      const bool fewer = rng.Below(3'000) < step;
      if (model.empty() || !fewer) {
        next += 1 + rng.Below(seed % 2 == 0 ? 1 : 100'000);
        table.Insert(next, step);
        model[next] = step;
      } else {
        const auto gone = std::next(model.begin(), rng.Below(static_cast<uint32_t>(model.size())));
        table.Erase(gone->first);
        ASSERT_EQ(table.Find(gone->first), FlowTable::kAbsent);
        model.erase(gone);
      }
      ASSERT_EQ(table.size(), model.size());
      if (step % 50 != 0) continue;
      for (const auto& [flow, slot] : model) ASSERT_EQ(table.Find(flow), slot);
    }
    ASSERT_EQ(table.Find(next + 1), FlowTable::kAbsent);
  }
}

// --- RttEstimator ---

constexpr RtoLimits kLimits{.min = 1_us, .max = 1_s, .initial = 7_ms, .granularity = 0_ps};

TEST(RttTest, FollowsRfc6298) {
  Rng rng = Rng::Stream(1, "rtt", 0);
  RttEstimator rtt;
  EXPECT_EQ(rtt.Rto(kLimits), 7_ms);
  rtt.Sample(100_us);
  EXPECT_EQ(rtt.srtt(), 100_us);
  EXPECT_EQ(rtt.Rto(kLimits), 300_us);
  double srtt = 100e6;
  double var = 50e6;
  for (int i = 0; i < 1'000; ++i) {
    const double sample = 50e6 + 100e6 * rng.Uniform();
    rtt.Sample({std::llround(sample)});
    var = 0.75 * var + 0.25 * std::abs(srtt - sample);
    srtt = 0.875 * srtt + 0.125 * sample;
    ASSERT_NEAR(static_cast<double>(rtt.srtt().ps), srtt, 20);
    ASSERT_NEAR(static_cast<double>(rtt.Rto(kLimits).ps), srtt + 4 * var, 100);
  }
}

TEST(RttTest, KeepsTheTimeoutWithinItsLimits) {
  RttEstimator rtt;
  rtt.Sample(100_us);
  EXPECT_EQ(rtt.Rto({.min = 1_ms, .max = 2_s, .initial = 0_ps, .granularity = 0_ps}), 1_ms);
  EXPECT_EQ(rtt.Rto({.min = 1_us, .max = 200_us, .initial = 0_ps, .granularity = 0_ps}), 200_us);
  for (int i = 0; i < 200; ++i) rtt.Sample(100_us);
  EXPECT_EQ(rtt.Rto({.min = 1_us, .max = 2_s, .initial = 0_ps, .granularity = 100_us}), 200_us);
}

// --- RetransmissionJudge ---

// Keeps what it is told of fast retransmits.
class JudgeLog final : public FlowLog {
 public:
  void SenderDone(const FlowSpec& /*spec*/, Time /*done*/) override {}
  void Add(const FlowRecord& /*record*/) override {}
  void FastRetransmit(Time at, bool dropped) override { told.emplace_back(at, dropped); }
  ReorderingStats& Reordering(uint16_t /*size_class*/) override { return reordering; }

  std::vector<std::pair<Time, bool>> told;
  ReorderingStats reordering;
};

TEST(JudgeTest, AgreesWithLookingAtEveryDrop) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng = Rng::Stream(seed, "judge", 0);
    RetransmissionJudge judge;
    std::map<uint32_t, Time> drops;
    SenderRecord expected;
    JudgeLog log;
    std::vector<std::pair<Time, bool>> fast_retransmits;
    for (uint32_t tx = 0; tx < 200; ++tx) {
      if (rng.Below(2) == 0) drops[tx] = Time{rng.Below(1'000)};
    }
    Time now;
    for (int i = 0; i < 100; ++i) {
      now += Duration{rng.Below(20)};
      const uint32_t tx = rng.Below(200);
      const bool lost = drops.contains(tx) && drops[tx] < now;
      if (rng.Below(3) == 0) {
        judge.OnFastRetransmit(tx, now);
        expected.fast_retransmits_reorder += lost ? 0 : 1;
        fast_retransmits.emplace_back(now, lost);
      } else {
        judge.OnRetransmission(tx, now);
        ++(lost ? expected.retransmissions_loss : expected.retransmissions_spurious);
      }
    }
    // Notices come in any order, but all of those before 500 are there when that is said.
    for (const auto& [tx, at] : drops) {
      if (at < Time{500}) judge.OnDrop({0, tx, at});
    }
    SenderRecord record;
    judge.Settle(Time{500}, record, log);
    for (const auto& [tx, at] : drops) {
      if (at >= Time{500}) judge.OnDrop({0, tx, at});
    }
    judge.Settle(kNever, record, log);
    EXPECT_EQ(record.retransmissions_loss, expected.retransmissions_loss);
    EXPECT_EQ(record.retransmissions_spurious, expected.retransmissions_spurious);
    EXPECT_EQ(record.fast_retransmits_reorder, expected.fast_retransmits_reorder);
    EXPECT_EQ(log.told, fast_retransmits);
  }
}

TEST(JudgeTest, TakesADropOfTheSameInstantForLater) {
  RetransmissionJudge judge;
  judge.OnRetransmission(3, Time{10});
  judge.OnDrop({0, 3, Time{10}});
  SenderRecord record;
  JudgeLog log;
  judge.Settle(kNever, record, log);
  EXPECT_EQ(record.retransmissions_spurious, 1);
}

// A fast retransmit may concern a copy whose own case has been decided long ago.
TEST(JudgeTest, KnowsDropsOfCopiesThatHaveBeenJudgedBefore) {
  RetransmissionJudge judge;
  judge.OnRetransmission(3, Time{10});
  judge.OnDrop({0, 3, Time{5}});
  SenderRecord record;
  JudgeLog log;
  judge.Settle(kNever, record, log);
  judge.OnFastRetransmit(3, Time{20});
  judge.Settle(kNever, record, log);
  EXPECT_EQ(record.retransmissions_loss, 1);
  EXPECT_EQ(record.fast_retransmits_reorder, 0);
}

TEST(ScoreboardTest, RemembersTheTransmissionBeforeTheLatest) {
  Scoreboard board;
  board.Reset();
  board.Append(Time{1}, 7);
  board.MarkLost(0);
  board.Resend(0, Time{2}, 9);
  EXPECT_EQ(board.At(0).tx_id, 9u);
  EXPECT_EQ(board.At(0).previous_tx_id, 7u);
}

}  // namespace heddle::models_test
