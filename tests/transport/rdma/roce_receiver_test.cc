// SPDX-License-Identifier: Apache-2.0
// Compares the answers and counts of a RoCE receiver with those of plain receivers, for packets
// that are lost and overtaken at random.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "core/random.h"
#include "tests/support/lab.h"
#include "tests/support/scripted_policy.h"

namespace heddle::roce_receiver_test {

struct Answer {
  bool is_nack = false;
  uint32_t next = 0;
  uint32_t trigger = 0;  // NACKs: the packet that came instead.

  friend bool operator==(const Answer&, const Answer&) = default;
};
void PrintTo(const Answer& answer, std::ostream* out) {
  *out << (answer.is_nack ? "NACK " : "ACK ") << answer.next;
  if (answer.is_nack) *out << " for " << answer.trigger;
}

// Counts that both kinds of receivers have.
struct Counts {
  int64_t duplicates = 0;
  int64_t discarded = 0;
  int64_t reordered = 0;  // First arrivals below the highest packet that has arrived.
  int64_t most_ahead = 0;

  friend bool operator==(const Counts&, const Counts&) = default;
};
void PrintTo(const Counts& counts, std::ostream* out) {
  *out << counts.duplicates << " duplicates, " << counts.discarded << " discarded, "
       << counts.reordered << " reordered, " << counts.most_ahead << " bytes ahead";
}

enum class Recovery { kGoBackN, kIrn, kSelective };

class PlainReceiver {
 public:
  PlainReceiver(Recovery recovery, int64_t packets, int64_t size, int64_t mss, int ack_interval)
      : recovery_(recovery),
        packets_(packets),
        size_(size),
        mss_(mss),
        ack_interval_(ack_interval) {}

  void Take(uint32_t packet) {
    if (seen_.insert(packet).second) {
      counts.reordered += packet < highest_ ? 1 : 0;
      highest_ = std::max(highest_, packet + 1);
    }
    recovery_ == Recovery::kGoBackN ? TakeInOrder(packet) : TakeAny(packet);
  }

  std::vector<Answer> answers;
  Counts counts;

 private:
  void TakeInOrder(uint32_t packet) {
    if (packet > next_) {
      ++counts.discarded;
      if (!asked_) Say({true, next_, packet});
      asked_ = true;
      return;
    }
    if (packet < next_) {
      ++counts.duplicates;
      return Say({false, next_});
    }
    ++next_;
    asked_ = false;
    if (++unanswered_ == ack_interval_ || next_ == packets_) Say({false, next_});
  }

  void TakeAny(uint32_t packet) {
    const uint32_t before = next_;
    const bool is_known = packet < next_ || ahead_.contains(packet);
    if (is_known) {
      ++counts.duplicates;
    } else {
      ahead_.insert(packet);
      const bool expected = packet == next_;
      while (ahead_.contains(next_)) ahead_.erase(next_++);
      int64_t bytes = 0;
      for (const uint32_t held : ahead_) bytes += held + 1 == packets_ ? size_ - held * mss_ : mss_;
      if (!expected) counts.most_ahead = std::max(counts.most_ahead, bytes);
    }
    if (recovery_ == Recovery::kSelective) return AskOnce(packet, is_known, next_ - before);
    // A packet beyond a hole is reported, again too.
    const bool beyond = packet > next_;
    Say({beyond, next_, beyond ? packet : 0});
  }

  void AskOnce(uint32_t packet, bool is_known, uint32_t taken) {
    if (is_known) return Say({false, next_});
    if (taken == 0) {
      if (!asked_) Say({true, next_, packet});
      asked_ = true;
      return;
    }
    asked_ = false;
    unanswered_ += static_cast<int>(taken);
    if (unanswered_ >= ack_interval_ || next_ == packets_) Say({false, next_});
  }

  void Say(const Answer& answer) {
    answers.push_back(answer);
    unanswered_ = 0;
  }

  const Recovery recovery_;
  const int64_t packets_;
  const int64_t size_;
  const int64_t mss_;
  const int ack_interval_;
  std::set<uint32_t> seen_;
  std::set<uint32_t> ahead_;
  uint32_t highest_ = 0;
  uint32_t next_ = 0;
  bool asked_ = false;
  int unanswered_ = 0;
};

void Compare(const std::string& more, Recovery recovery, int ack_interval, uint64_t seed) {
  SCOPED_TRACE(testing::Message() << more << ", seed " << seed);
  constexpr int64_t kMss = 1'000;
  constexpr int64_t kSize = 150 * kMss - 377;
  std::vector<uint32_t> arrived;
  std::vector<Answer> answers;
  const auto note_answer = [&](const SwitchView&, const Packet& p) {
    const bool is_nack = p.kind == PacketKind::kNack;
    answers.push_back({is_nack, p.seq, is_nack ? p.nack.trigger : 0});
  };
  const auto is_answer = [](const Packet& p) {
    return p.kind == PacketKind::kAck || p.kind == PacketKind::kNack;
  };
  const std::vector<Rule> rules = {
      WatchAt(1, AllData(0), [&](const SwitchView&, const Packet& p) { arrived.push_back(p.seq); }),
      WatchAt(1, is_answer, note_answer), DropAt(0, WithProbability(0.02, seed, AllData(0))),
      DropAt(0, WithProbability(0.05, seed + 50, is_answer)),
      HoldAt(0, WithProbability(0.1, seed + 100, AllData(0)), 700_ns)};
  Lab lab({.graph = Line(3, {100_Gbps, 1_us}),
           .transport = "{kind: rocev2, framing: ns3_rdma, cc: none, " + more + "}",
           .switch_policy = Scripted(rules)});
  lab.AddFlow(0, 1, kSize);
  lab.Run();
  ASSERT_TRUE(lab.finished());
  PlainReceiver plain(recovery, 150, kSize, kMss, ack_interval);
  for (const uint32_t packet : arrived) plain.Take(packet);
  ASSERT_EQ(answers, plain.answers);
  const ReceiverRecord& record = lab.Record(0).receiver;
  EXPECT_EQ((Counts{record.duplicates, record.discarded, record.reordered_seq,
                    record.max_out_of_order_bytes}),
            plain.counts);
  EXPECT_EQ(record.packets, static_cast<int64_t>(arrived.size()));
  EXPECT_EQ(lab.network().host(1).payload_received(), kSize);
  EXPECT_EQ(lab.network().host(0).payload_received(), 0);
}

TEST(RoceReceiverTest, AnswersAsAPlainReceiverDoes) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    Compare("rto: 100us", Recovery::kGoBackN, 1, seed);
    Compare("rto: 100us, ack_interval: 7", Recovery::kGoBackN, 7, seed);
    Compare("recovery: irn, bdp: 40KB", Recovery::kIrn, 1, seed);
    Compare("recovery: sr, rto: 100us", Recovery::kSelective, 1, seed);
    Compare("recovery: sr, rto: 100us, ack_interval: 7", Recovery::kSelective, 7, seed);
  }
}

}  // namespace heddle::roce_receiver_test
