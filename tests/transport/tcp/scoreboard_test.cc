// SPDX-License-Identifier: Apache-2.0
// Scoreboard against a plain list of segments whose counts are made anew for every question, over
// random transmissions, ACKs, SACKs and losses.

#include "transport/tcp/scoreboard.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>

#include "core/random.h"
#include "tests/support/printers.h"

namespace heddle::scoreboard_test {

struct PlainSegment {
  Time sent;
  uint32_t tx_id;
  uint32_t previous_tx_id = 0;
  bool sacked = false;
  bool lost = false;
  bool sent_again = false;
  bool ever_retransmitted = false;
};

class PlainBoard {
 public:
  uint32_t first = 0;
  std::deque<PlainSegment> segments;

  uint32_t end() const { return first + static_cast<uint32_t>(segments.size()); }
  PlainSegment& At(uint32_t s) { return segments[s - first]; }

  template <class Is>
  uint32_t Count(const Is& is) const {
    return static_cast<uint32_t>(std::ranges::count_if(segments, is));
  }
  // RFC 6675: SetPipe() of the segments.
  uint32_t Pipe() const {
    return Count([](const PlainSegment& s) { return !s.sacked && (!s.lost || s.sent_again); });
  }
  uint32_t Sacked() const {
    return Count([](const PlainSegment& s) { return s.sacked; });
  }
  static bool Waits(const PlainSegment& s) { return s.lost && !s.sent_again; }

  void Resend(uint32_t s, Time now, uint32_t tx_id) {
    PlainSegment& its = At(s);
    its.previous_tx_id = its.tx_id;
    its.tx_id = tx_id;
    its.sent = now;
    its.ever_retransmitted = true;
    if (its.lost) its.sent_again = true;
  }

  Time Acknowledge(uint32_t next) {
    Time sample = kNever;
    bool any_again = false;
    for (; first < next; ++first) {
      any_again |= segments.front().ever_retransmitted;
      if (!segments.front().sacked) sample = segments.front().sent;
      segments.pop_front();
    }
    return any_again ? kNever : sample;
  }

  uint32_t Sack(uint32_t from, uint32_t to) {
    uint32_t news = 0;
    for (uint32_t s = std::max(from, first); s < std::min(to, end()); ++s) {
      if (At(s).sacked) continue;
      ++news;
      At(s).sacked = true;
      At(s).lost = At(s).sent_again = false;
    }
    return news;
  }

  // RFC 6675: IsLost() by the number of SACKed segments above.
  void MarkLostBySacks(uint32_t dupthresh) {
    for (uint32_t s = first; s < end(); ++s) {
      uint32_t above = 0;
      for (uint32_t other = s + 1; other < end(); ++other) above += At(other).sacked ? 1 : 0;
      if (above >= dupthresh && !At(s).sacked) At(s).lost = true;
    }
  }
  void MarkLatestCopyLost(uint32_t s) {
    if (At(s).sacked) return;
    At(s).lost = true;
    At(s).sent_again = false;
  }
  void MarkAllLost() {
    for (PlainSegment& s : segments) {
      s.lost = !s.sacked;
      s.sent_again = false;
    }
  }
};

void ExpectSame(Scoreboard& board, PlainBoard& plain) {
  ASSERT_EQ(board.first(), plain.first);
  ASSERT_EQ(board.end(), plain.end());
  ASSERT_EQ(board.outstanding(), plain.segments.size());
  ASSERT_EQ(board.pipe(), plain.Pipe());
  ASSERT_EQ(board.sacked(), plain.Sacked());
  const auto waiting = std::ranges::find_if(plain.segments, PlainBoard::Waits);
  ASSERT_EQ(board.HasLost(), waiting != plain.segments.end());
  if (board.HasLost()) {
    ASSERT_EQ(board.NextLost(),
              plain.first + static_cast<uint32_t>(waiting - plain.segments.begin()));
  }
  ASSERT_EQ(board.FirstIsLost(), !plain.segments.empty() && plain.segments.front().lost);
  uint32_t highest = plain.first;
  for (uint32_t s = plain.first; s < plain.end(); ++s) {
    const PlainSegment& its = plain.At(s);
    if (!its.sacked) highest = s;
    ASSERT_EQ(board.IsSacked(s), its.sacked) << s;
    ASSERT_EQ(board.At(s).lost, its.lost) << s;
    ASSERT_EQ(board.At(s).sent_again, its.sent_again) << s;
    ASSERT_EQ(board.At(s).ever_retransmitted, its.ever_retransmitted) << s;
    ASSERT_EQ(board.At(s).sent, its.sent) << s;
    ASSERT_EQ(board.At(s).tx_id, its.tx_id) << s;
    ASSERT_EQ(board.At(s).previous_tx_id, its.previous_tx_id) << s;
  }
  if (plain.Sacked() < plain.segments.size()) {
    ASSERT_EQ(board.HighestUnsacked(), highest);
  }
}

class Comparison {
 public:
  explicit Comparison(uint64_t seed)
      : rng_(Rng::Stream(seed, "board", 0)), dupthresh_(1 + rng_.Below(5)) {
    board_.Reset();
  }

  void Step() {
    now_ = now_ + 1_ns * (1 + rng_.Below(9));
    switch (rng_.Below(8)) {
      case 0:
      case 1:
        for (uint32_t n = rng_.Below(6); n-- > 0;) Append();
        break;
      case 2:
        Acknowledge();
        break;
      case 3:
      case 4:
        Sack();
        break;
      case 5:
        Resend();
        break;
      case 6:
        if (!plain_.segments.empty()) MarkOne();
        break;
      default:
        if (rng_.Below(6) > 0) break;
        board_.MarkAllLost();
        plain_.MarkAllLost();
    }
    ASSERT_NO_FATAL_FAILURE(ExpectSame(board_, plain_));
  }

 private:
  uint32_t Any() {
    return plain_.first + rng_.Below(static_cast<uint32_t>(plain_.segments.size()));
  }

  void Append() {
    board_.Append(now_, tx_id_);
    plain_.segments.push_back({now_, tx_id_});
    ++tx_id_;
  }
  void Acknowledge() {
    const uint32_t reach = std::min<uint32_t>(8, plain_.end() - plain_.first);
    const uint32_t next = plain_.first + rng_.Below(reach + 1);
    ASSERT_EQ(board_.Acknowledge(next, now_), plain_.Acknowledge(next));
  }
  // Blocks may lie partly below the first segment and beyond the last.
  void Sack() {
    const uint32_t low = plain_.first > 3 ? plain_.first - 3 : 0;
    const uint32_t from = low + rng_.Below(plain_.end() - low + 2);
    const uint32_t to = from + 1 + rng_.Below(5);
    const uint32_t news = plain_.Sack(from, to);
    ASSERT_EQ(board_.Sack(from, to, now_), news);
    if (news == 0) return;
    board_.MarkLostBySacks(dupthresh_);
    plain_.MarkLostBySacks(dupthresh_);
  }
  void Resend() {
    if (plain_.segments.empty()) return;
    const uint32_t segment = board_.HasLost() && rng_.Below(4) > 0 ? board_.NextLost() : Any();
    if (plain_.At(segment).sacked) return;
    board_.Resend(segment, now_, tx_id_);
    plain_.Resend(segment, now_, tx_id_);
    ++tx_id_;
  }
  void MarkOne() {
    const uint32_t segment = Any();
    if (rng_.Below(2) == 0) {
      board_.MarkLost(segment);
      if (!plain_.At(segment).sacked) plain_.At(segment).lost = true;
    } else if (!plain_.At(segment).sacked) {
      board_.MarkLatestCopyLost(segment);
      plain_.MarkLatestCopyLost(segment);
    }
  }

  Rng rng_;
  const uint32_t dupthresh_;
  Scoreboard board_;
  PlainBoard plain_;
  Time now_;
  uint32_t tx_id_ = 0;
};

TEST(ScoreboardTest, KnowsWhatAPlainListKnows) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Comparison comparison(seed);
    for (int step = 0; step < 400; ++step) ASSERT_NO_FATAL_FAILURE(comparison.Step()) << step;
  }
}

TEST(ScoreboardTest, KnowsNothingOfTheFlowBefore) {
  Scoreboard board;
  for (uint32_t n = 0; n < 9; ++n) board.Append(Time{} + 1_ns, n);
  board.Sack(5, 9, Time{} + 2_ns);
  board.MarkLostBySacks(3);
  board.Resend(1, Time{} + 3_ns, 9);
  board.Reset();
  PlainBoard plain;
  ASSERT_NO_FATAL_FAILURE(ExpectSame(board, plain));
  for (uint32_t n = 0; n < 9; ++n) {
    board.Append(Time{} + 1_ns, n);
    plain.segments.push_back({Time{} + 1_ns, n});
  }
  EXPECT_EQ(board.Sack(2, 4, Time{} + 5_ns), plain.Sack(2, 4));
  board.MarkLostBySacks(1);
  plain.MarkLostBySacks(1);
  ASSERT_NO_FATAL_FAILURE(ExpectSame(board, plain));
}

// Memory follows the segments outstanding, not those of the whole flow.
TEST(ScoreboardTest, TakesNoMoreMemoryLateInAFlow) {
  Scoreboard board;
  board.Reset();
  for (uint32_t n = 0; n < 50'000; ++n) {
    board.Append(Time{} + 1_ns * n, n);
    if (n >= 3) board.Acknowledge(n - 2, Time{} + 1_ns * n);
  }
  board.Sack(49'999, 50'000, Time{} + 1_ms);
  EXPECT_EQ(board.memory_bytes(), 4 * sizeof(Scoreboard::Segment) + 2 * 8);
}

// A ring of segments of 24 bytes doubles from 4 places; one word of the SACKed is worth two.
TEST(ScoreboardTest, TakesMemoryForTheMostSegmentsOutstanding) {
  Scoreboard board;
  board.Reset();
  EXPECT_EQ(board.memory_bytes(), 0u);
  for (uint32_t n = 0; n < 9; ++n) board.Append(Time{}, n);
  EXPECT_EQ(board.memory_bytes(), 16 * sizeof(Scoreboard::Segment));
  board.Sack(3, 4, Time{});
  EXPECT_EQ(board.memory_bytes(), 16 * sizeof(Scoreboard::Segment) + 2 * 8);
}

}  // namespace heddle::scoreboard_test
