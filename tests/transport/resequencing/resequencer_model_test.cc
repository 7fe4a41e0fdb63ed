// SPDX-License-Identifier: Apache-2.0
// Compares resequencers with slow ones whose rules are plain to see, over random arrivals.

#include "transport/resequencing/resequencer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/random.h"
#include "tests/support/printers.h"
#include "tests/support/resequencer_kit.h"
#include "transport/resequencing/resequencing.h"

namespace heddle::resequencer_model_test {

using namespace resequencer_kit;

// Flows over paths of different delays, from a segment on. One packet in `per_loss` is lost, and
// some are sent again.
std::vector<Arrival> RandomArrivals(Rng& rng, uint32_t slots, uint32_t first = 0,
                                    uint32_t per_loss = 40) {
  std::vector<Arrival> arrivals;
  const uint32_t skew = 1 + rng.Below(300'000);
  for (uint32_t slot = 0; slot < slots; ++slot) {
    for (uint32_t s = first; s < first + 150; ++s) {
      if (rng.Below(per_loss) == 0) continue;
      const Time sent = Time{} + Duration{(s - first) * int64_t{10'000}};
      arrivals.push_back({sent + Duration{rng.Below(4) * int64_t{skew}}, s, s / 10, slot});
      if (rng.Below(20) == 0) {
        arrivals.push_back({sent + Duration{1 + rng.Below(900'000)}, s, s / 10, slot});
      }
    }
  }
  std::ranges::sort(arrivals, {},
                    [](const Arrival& a) { return std::tuple(a.at, a.slot, a.segment); });
  for (uint32_t i = 0; i < arrivals.size(); ++i) arrivals[i].number = i;
  return arrivals;
}

// Both get the same packets, and hand up the same ones at the same times.
template <class Slow>
void ExpectAlike(Receiver& receiver, Slow& slow, const std::vector<Arrival>& arrivals) {
  for (const Arrival& arrival : arrivals) {
    receiver.Arrive(arrival);
    slow.Arrive(arrival);
  }
  receiver.Finish();
  slow.Expire(kNever - 1_s);
  ASSERT_EQ(Numbers(receiver.Take()), Numbers(slow.up));
}

// A fixed timeout and limits, with a sorted map for each flow.
class SlowTimeout {
 public:
  SlowTimeout(Duration timeout, size_t flow_packets, int64_t host_bytes)
      : timeout_(timeout), flow_packets_(flow_packets), host_bytes_(host_bytes) {}

  void Arrive(const Arrival& a) {
    Expire(a.at - 1_ps);
    Flow& flow = flows_[a.slot];
    if (a.segment < flow.expected) return HandUp(a, a.at);
    flow.held.emplace(a.segment, a);
    int64_t bytes = 0;
    for (const auto& [slot, other] : flows_)
      bytes += kBytes * static_cast<int64_t>(other.held.size());
    if (a.segment > flow.expected && (flow.held.size() > flow_packets_ || bytes > host_bytes_)) {
      flow.expected = flow.held.rbegin()->first;
    }
    Drain(flow, a.at);
  }

  void Expire(Time now) {
    for (;;) {
      Flow* due = nullptr;
      Time first = kNever;
      for (auto& [slot, flow] : flows_) {
        for (const auto& [segment, a] : flow.held) {
          if (a.at + timeout_ < first) {
            first = a.at + timeout_;
            due = &flow;
          }
        }
      }
      if (first > now || due == nullptr) return;
      due->expected = due->held.rbegin()->first;
      Drain(*due, first);
    }
  }

  std::vector<Up> up;

 private:
  struct Flow {
    uint32_t expected = 0;
    std::multimap<uint32_t, Arrival> held;
  };

  void HandUp(const Arrival& a, Time now) {
    up.push_back({(now - Time{}).ps / 1'000, a.segment, a.slot, a.number});
  }
  void Drain(Flow& flow, Time now) {
    while (!flow.held.empty() && flow.held.begin()->first <= flow.expected) {
      const Arrival a = flow.held.begin()->second;
      flow.held.erase(flow.held.begin());
      HandUp(a, now);
      flow.expected = std::max(flow.expected, a.segment + 1);
    }
  }

  const Duration timeout_;
  const size_t flow_packets_;
  const int64_t host_bytes_;
  std::map<uint32_t, Flow> flows_;
};

TEST(ResequencerStressTest, ATimeoutDoesAsASlowOneDoes) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Rng rng = Rng::Stream(seed, "resequencer", 0);
    const Duration timeout{1 + rng.Below(600'000)};
    const int64_t packets = 1 + rng.Below(60);
    const int64_t bytes = kBytes * int64_t{1 + rng.Below(120)};
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", timeout " << timeout.ps << " ps, "
                                    << packets << " packets, " << bytes << " bytes");
    Receiver receiver("{kind: timeout, timeout: " + std::to_string(timeout.ps) +
                      "ps, flow_packets: " + std::to_string(packets) +
                      ", host_bytes: " + std::to_string(bytes) + "B}");
    SlowTimeout slow(timeout, static_cast<size_t>(packets), bytes);
    ASSERT_NO_FATAL_FAILURE(ExpectAlike(receiver, slow, RandomArrivals(rng, 3)));
    EXPECT_LE(receiver.Stats().flow_max_packets, packets);
    EXPECT_LE(receiver.Stats().max_bytes, bytes);
  }
}

// JUGGLER by the rules of juggler.h, with a sorted map for each flow.
class SlowJuggler {
 public:
  SlowJuggler(Duration in_order, Duration behind_hole, size_t table)
      : in_order_(in_order), behind_hole_(behind_hole), table_(table) {}

  void Arrive(const Arrival& a) {
    Expire(a.at - 1_ps);
    if (!flows_.contains(a.slot)) {
      if (flows_.size() == table_) Evict(a.at);
      flows_[a.slot] = {.is_building = true, .expected = a.segment, .since = ++changes_};
    }
    Flow& flow = flows_[a.slot];
    if (flow.lost) {
      HandUp(flow, a, a.at);
      if (flow.lost == a.segment) flow.lost.reset();
    } else {
      Merge(flow, a);
    }
    if (flow.lost) return;
    const bool was_quiet = std::exchange(flow.is_quiet, flow.held.empty());
    if (flow.is_quiet || was_quiet) flow.since = ++changes_;
  }

  void Expire(Time now) {
    for (;;) {
      Flow* due = nullptr;
      Time first = kNever;
      for (auto& [slot, flow] : flows_) {
        if (Deadline(flow) >= first) continue;
        first = Deadline(flow);
        due = &flow;
      }
      if (first > now || due == nullptr) return;
      if (IsInOrder(*due)) {
        HandUpRun(*due, first);
        due->is_quiet = due->held.empty();
        if (due->is_quiet) due->since = ++changes_;
      } else {
        due->lost = due->expected;
        while (!due->held.empty()) HandUpFirst(*due, first);
      }
    }
  }

  std::vector<Up> up;
  int64_t evictions = 0;

 private:
  struct Flow {
    bool is_building = false;
    bool is_quiet = false;  // Post merge.
    uint32_t expected = 0;
    std::optional<uint32_t> lost = {};
    std::multimap<uint32_t, Arrival> held = {};
    int64_t since = 0;
  };

  static bool IsInOrder(const Flow& flow) {
    return !flow.held.empty() && flow.held.begin()->first <= flow.expected;
  }
  Time Deadline(const Flow& flow) const {
    Time oldest = kNever;
    for (const auto& [segment, a] : flow.held) oldest = std::min(oldest, a.at);
    if (oldest == kNever) return kNever;
    return oldest + (IsInOrder(flow) ? in_order_ : behind_hole_);
  }
  void Merge(Flow& flow, const Arrival& a) {
    if (flow.is_building) flow.expected = std::min(flow.expected, a.segment);
    if (a.segment < flow.expected) return HandUp(flow, a, a.at);
    flow.held.emplace(a.segment, a);
    int64_t bytes = 0;
    for (uint32_t s = flow.expected; flow.held.contains(s); ++s) bytes += 1'460;
    const bool is_now = a.segment == flow.expected && in_order_ == Duration{0};
    if (is_now || bytes >= 65'536 || (IsInOrder(flow) && Deadline(flow) <= a.at)) {
      HandUpRun(flow, a.at);
    }
  }
  void Evict(Time now) {
    ++evictions;
    const auto rank = [](const auto& entry) {
      return std::pair(!entry.second.is_quiet, entry.second.since);
    };
    const auto victim = std::ranges::min_element(flows_, {}, rank);
    while (!victim->second.held.empty()) HandUpFirst(victim->second, now);
    flows_.erase(victim);
  }
  void HandUpRun(Flow& flow, Time now) {
    while (IsInOrder(flow)) HandUpFirst(flow, now);
  }
  void HandUp(Flow& flow, const Arrival& a, Time now) {
    up.push_back({(now - Time{}).ps / 1'000, a.segment, a.slot, a.number});
    flow.is_building = false;
    flow.expected = std::max(flow.expected, a.segment + 1);
  }
  void HandUpFirst(Flow& flow, Time now) {
    const Arrival a = flow.held.begin()->second;
    flow.held.erase(flow.held.begin());
    HandUp(flow, a, now);
  }

  const Duration in_order_;
  const Duration behind_hole_;
  const size_t table_;
  std::map<uint32_t, Flow> flows_;  // Those in the table.
  int64_t changes_ = 0;
};

TEST(ResequencerStressTest, JugglerDoesAsASlowOneDoes) {
  int64_t evictions = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng = Rng::Stream(seed, "juggler", 0);
    const bool merges = seed % 4 == 1;  // 64 KB in order come before the timeout.
    const Duration timeout{(1 + rng.Below(600'000)) * (merges ? 10 : 1)};
    const Duration in_order{seed % 2 == 0 ? 0 : rng.Below(static_cast<uint32_t>(timeout.ps))};
    const uint32_t slots = 1 + rng.Below(4);
    const uint32_t table = 1 + rng.Below(slots);
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", timeouts " << in_order.ps << " and "
                                    << timeout.ps << " ps, " << table << " of " << slots);
    Receiver receiver("{kind: juggler, inseq_timeout: " + std::to_string(in_order.ps) +
                      "ps, ofo_timeout: " + std::to_string(timeout.ps) +
                      "ps, flows: " + std::to_string(table) + "}");
    SlowJuggler slow(in_order, timeout, table);
    const uint32_t first = seed % 3 == 0 ? 0 : 100;  // Or the flow is seen late.
    const std::vector<Arrival> arrivals = RandomArrivals(rng, slots, first, merges ? 400 : 40);
    ASSERT_NO_FATAL_FAILURE(ExpectAlike(receiver, slow, arrivals));
    EXPECT_EQ(receiver.Stats().evictions, slow.evictions);
    evictions += slow.evictions;
  }
  EXPECT_GT(evictions, 1'000);
}

// Presto's GRO of one flow, with alpha, beta and the gain as they are set.
class SlowPresto {
 public:
  SlowPresto(double alpha, double beta, double gain, Duration initial)
      : alpha_(alpha), beta_(beta), gain_(gain), wait_(static_cast<double>(initial.ps)) {}

  void Arrive(const Arrival& a) {
    Expire(a.at - 1_ps);
    now_ = a.at;
    if (a.segment < expected_) {
      up.push_back({(a.at - Time{}).ps / 1'000, a.segment, a.slot, a.number});
      return;
    }
    const Time oldest = Oldest();
    held_.emplace(a.segment, a);
    if (a.segment > expected_ && a.cell > cell_) return;
    // The packet that has just come goes up first, then all packets behind it.
    const auto mine = std::ranges::find_if(
        held_, [&](const auto& entry) { return entry.second.number == a.number; });
    held_.erase(mine);
    HandUp(a, a.at);
    if (!HandUpWhatFollows(a.at)) return;
    wait_ += gain_ * (static_cast<double>((a.at - oldest).ps) - wait_);
  }

  void Expire(Time now) {
    while (!held_.empty()) {
      // A wait that has become shorter may end a time that has passed already.
      const Time at = std::max({Oldest() + Part(alpha_), merged_until_, now_});
      if (at > now) return;
      now_ = at;
      const Time quiet = LastAddition() + Part(1 / beta_);
      if (quiet > at) {
        merged_until_ = quiet;
        continue;
      }
      const Arrival front = held_.begin()->second;
      held_.erase(held_.begin());
      HandUp(front, at);
      HandUpWhatFollows(at);
      ++timeouts;
    }
  }

  std::vector<Up> up;
  int64_t timeouts = 0;

 private:
  Time Oldest() const {
    Time oldest = kNever;
    for (const auto& [segment, a] : held_) oldest = std::min(oldest, a.at);
    return oldest;
  }
  Duration Part(double factor) const { return {static_cast<int64_t>(wait_ * factor)}; }
  // To the run of segments that the lowest one held begins, within its cell. Of several copies of
  // a segment the first counts.
  Time LastAddition() const {
    Time last;
    const Arrival& front = held_.begin()->second;
    for (uint32_t s = front.segment; held_.contains(s); ++s) {
      const Arrival& a = held_.lower_bound(s)->second;
      if (a.cell != front.cell) break;
      last = std::max(last, a.at);
    }
    return last;
  }
  bool HandUpWhatFollows(Time now) {
    bool any = false;
    while (!held_.empty() &&
           (held_.begin()->first <= expected_ || held_.begin()->second.cell <= cell_)) {
      const Arrival a = held_.begin()->second;
      held_.erase(held_.begin());
      HandUp(a, now);
      any = true;
    }
    return any;
  }
  void HandUp(const Arrival& a, Time now) {
    up.push_back({(now - Time{}).ps / 1'000, a.segment, a.slot, a.number});
    expected_ = std::max(expected_, a.segment + 1);
    cell_ = std::max(cell_, a.cell);
    merged_until_ = Time{};
  }

  const double alpha_;
  const double beta_;
  const double gain_;
  double wait_;
  uint32_t expected_ = 0;
  uint32_t cell_ = 0;
  Time now_;
  Time merged_until_;
  std::multimap<uint32_t, Arrival> held_;
};

TEST(ResequencerStressTest, PrestosGroDoesAsASlowOneDoes) {
  int64_t timeouts = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng = Rng::Stream(seed, "presto", 0);
    const double alpha = 0.25 * (1 + rng.Below(12));
    const double beta = 0.5 * (1 + rng.Below(6));
    const double gain = 0.125 * (1 + rng.Below(8));
    const Duration initial{1 + rng.Below(200'000)};
    const std::string yaml = "{kind: presto_gro, alpha: " + std::to_string(alpha) +
                             ", beta: " + std::to_string(beta) + ", gain: " + std::to_string(gain) +
                             ", initial: " + std::to_string(initial.ps) + "ps}";
    SCOPED_TRACE(testing::Message() << yaml << ", seed " << seed);
    Receiver receiver(yaml);
    SlowPresto slow(alpha, beta, gain, initial);
    ASSERT_NO_FATAL_FAILURE(ExpectAlike(receiver, slow, RandomArrivals(rng, 1)));
    EXPECT_EQ(receiver.Stats().timeouts, slow.timeouts);
    timeouts += slow.timeouts;
  }
  EXPECT_GT(timeouts, 500);
}

// The same packets come to a slot for the first time, and a while after its flow has ended.
TEST(ResequencerStressTest, ALaterFlowOfASlotIsTreatedAsTheFirst) {
  for (const std::string yaml :
       {"{kind: timeout, timeout: 100ns, flow_packets: 20}",
        "{kind: juggler, inseq_timeout: 30ns, ofo_timeout: 100ns, flows: 1}",
        "{kind: presto_gro, initial: 100ns}"}) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      SCOPED_TRACE(testing::Message() << yaml << ", seed " << seed);
      Rng rng = Rng::Stream(seed, "slots", 0);
      const std::vector<Arrival> arrivals = RandomArrivals(rng, 1);
      Receiver receiver(yaml);
      std::vector<Up> ups[2];
      for (const int64_t flow : {0, 1}) {
        const Time start = Time{} + flow * 1_ms;
        for (Arrival arrival : arrivals) {
          arrival.at = start + (arrival.at - Time{});
          receiver.Arrive(arrival);
        }
        (*receiver).Close(0, receiver.now());
        (*receiver).Open(0);
        ups[flow] = receiver.Take();
        for (Up& up : ups[flow]) up.ns -= (start - Time{}).ps / 1'000;
      }
      ASSERT_EQ(Numbers(ups[0]), Numbers(ups[1]));
      EXPECT_EQ(receiver.Stats().evictions, 0);
    }
  }
}

// Every packet goes up once, and none waits for longer than it may.
TEST(ResequencerStressTest, LosesNothingAndKeepsItsLimits) {
  struct Case {
    std::string yaml;
    Duration longest;
  };
  for (const Case& c :
       {Case{"{kind: timeout, timeout: 200ns}", 200_ns},
        Case{"{kind: juggler, ofo_timeout: 200ns, flows: 2}", 200_ns},
        Case{"{kind: juggler, inseq_timeout: 60ns, ofo_timeout: 200ns, flows: 3, flow_packets: 9}",
             200_ns},
        Case{"{kind: presto_gro, initial: 100ns, flow_packets: 20}", 1_s}}) {
    int64_t overflows = 0;
    for (uint64_t seed = 0; seed < 50; ++seed) {
      SCOPED_TRACE(testing::Message() << c.yaml << ", seed " << seed);
      Rng rng = Rng::Stream(seed, "limits", 0);
      Receiver receiver(c.yaml);
      const std::vector<Arrival> arrivals = RandomArrivals(rng, 4);
      for (const Arrival& arrival : arrivals) receiver.Arrive(arrival);
      receiver.Finish();
      std::vector<uint32_t> numbers;
      for (const Up& up : receiver.Take()) numbers.push_back(up.number);
      std::ranges::sort(numbers);
      ASSERT_EQ(numbers.size(), arrivals.size());
      for (uint32_t i = 0; i < numbers.size(); ++i) ASSERT_EQ(numbers[i], i);
      const ResequencingStats stats = receiver.Stats();
      EXPECT_EQ(stats.waiting, 0);
      EXPECT_EQ(stats.held, stats.hold_ps.count());
      EXPECT_GT(stats.held, 0);
      EXPECT_LE(stats.hold_ps.max(), c.longest.ps);
      EXPECT_NEAR(stats.byte_ps, stats.hold_ps.mean() * static_cast<double>(stats.held) * kBytes,
                  1e-6 * stats.byte_ps);
      overflows += stats.overflows;
    }
    EXPECT_EQ(overflows > 0, c.yaml.find("flow_packets") != std::string::npos) << c.yaml;
  }
}

}  // namespace heddle::resequencer_model_test
