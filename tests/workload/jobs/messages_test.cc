// SPDX-License-Identifier: Apache-2.0
// When ranks send each message of a collective, and which ones they miss. The conditions are
// written down here a second time, one by one and without counters, and compared with the programs
// after every event.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/random.h"
#include "tests/support/printers.h"
#include "tests/support/timed_play.h"
#include "workload/jobs/barrier.h"
#include "workload/jobs/collective.h"
#include "workload/jobs/rail_all_to_all.h"
#include "workload/jobs/split.h"
#include "workload/jobs/transfer_time.h"

namespace heddle::messages_test {

using ::testing::UnorderedElementsAreArray;

using Op = CollectiveSettings::Op;
using Algorithm = CollectiveSettings::Algorithm;
using More = std::function<void(CollectiveSettings&, uint32_t n)>;

// --- Cases ---

struct Case {
  std::string name;
  Op op;
  Algorithm algorithm;
  More more = nullptr;

  CollectiveSettings Settings(uint32_t n) const {
    CollectiveSettings settings;
    settings.op = op;
    settings.algorithm = algorithm;
    settings.size = Bytes{1'000 * int64_t{n} + 7};
    if (more != nullptr) more(settings, n);
    return settings;
  }
  bool Exists(uint32_t n) const {
    if (algorithm == Algorithm::kPairwise) return std::has_single_bit(n);
    return algorithm != Algorithm::kRail || (n > 3 && (n % 2 == 0 || n % 3 == 0));
  }
};

constexpr BitRate kSumRate = 8_Gbps;  // A byte takes 1 ns.

std::vector<Case> Cases() {
  const More in_pieces = [](CollectiveSettings& its, uint32_t n) {
    its.channels = 2;
    its.chunk = Bytes{its.size.count / n / 3 + 1};  // Two pieces of a channel, or more.
  };
  const More slowly = [=](CollectiveSettings& its, uint32_t n) {
    in_pieces(its, n);
    its.reduce_rate = kSumRate;
  };
  const More once_received = [](CollectiveSettings& its, uint32_t) {
    its.wait = CollectiveSettings::Wait::kRecv;
  };
  const auto window = [](int64_t most, CollectiveSettings::PeerOrder order) {
    return [=](CollectiveSettings& its, uint32_t) {
      its.window = most;
      its.peer_order = order;
    };
  };
  const More holes = [](CollectiveSettings& its, uint32_t n) {  // Some pairs have no message.
    std::vector<int64_t> traffic(size_t{n} * n);
    for (size_t i = 0; i < traffic.size(); ++i) traffic[i] = i % 3 == 1 ? 0 : 100 + int64_t(i);
    its.size = Bytes{0};
    its.matrix = "m.csv";
    its.traffic = std::make_shared<const std::vector<int64_t>>(std::move(traffic));
    its.window = 2;
  };
  const auto in_servers = [](bool merges) {
    return [=](CollectiveSettings& its, uint32_t n) {
      its.group_size = n % 3 == 0 && n > 3 ? 3 : 2;
      its.merge = merges;
    };
  };
  const More from_another = [](CollectiveSettings& its, uint32_t n) { its.root = n / 2; };
  using Order = CollectiveSettings::PeerOrder;
  return {{"all-reduce ring", Op::kAllReduce, Algorithm::kRing, in_pieces},
          {"all-reduce bidirectional", Op::kAllReduce, Algorithm::kBidirectional, slowly},
          {"all-reduce halving_doubling", Op::kAllReduce, Algorithm::kHalvingDoubling},
          {"all-reduce recursive_doubling", Op::kAllReduce, Algorithm::kRecursiveDoubling},
          {"all-reduce tree", Op::kAllReduce, Algorithm::kTree, in_pieces},
          {"all-reduce double_tree", Op::kAllReduce, Algorithm::kDoubleTree, slowly},
          {"all-gather pat", Op::kAllGather, Algorithm::kPat, in_pieces},
          {"all-gather bruck", Op::kAllGather, Algorithm::kBruck},
          {"reduce-scatter ring", Op::kReduceScatter, Algorithm::kRing},
          {"reduce-scatter pat", Op::kReduceScatter, Algorithm::kPat, slowly},
          {"all-to-all direct", Op::kAllToAll, Algorithm::kDirect},
          {"all-to-all direct, one", Op::kAllToAll, Algorithm::kDirect, window(1, Order::kRound)},
          {"all-to-all direct, two", Op::kAllToAll, Algorithm::kDirect, window(2, Order::kNccl)},
          {"all-to-all direct, five", Op::kAllToAll, Algorithm::kDirect, window(5, Order::kRandom)},
          {"all-to-all by a matrix", Op::kAllToAll, Algorithm::kDirect, holes},
          {"all-to-all shift", Op::kAllToAll, Algorithm::kShift},
          {"all-to-all shift, recv", Op::kAllToAll, Algorithm::kShift, once_received},
          {"all-to-all pairwise", Op::kAllToAll, Algorithm::kPairwise},
          {"all-to-all bruck", Op::kAllToAll, Algorithm::kBruck},
          {"all-to-all rail", Op::kAllToAll, Algorithm::kRail, in_servers(false)},
          {"all-to-all rail, merged", Op::kAllToAll, Algorithm::kRail, in_servers(true)},
          {"broadcast binomial", Op::kBroadcast, Algorithm::kBinomial, from_another},
          {"broadcast chain", Op::kBroadcast, Algorithm::kChain, in_pieces},
          {"broadcast tree", Op::kBroadcast, Algorithm::kTree, from_another},
          {"barrier", Op::kBarrier, Algorithm::kDissemination}};
}

// Returns true if a step waits for the message that the rank has sent in the step before.
bool WaitsForSends(const CollectiveSettings& settings) {
  using Wait = CollectiveSettings::Wait;
  const bool exchanges =
      settings.algorithm == Algorithm::kShift || settings.algorithm == Algorithm::kPairwise;
  return settings.wait == Wait::kBoth || (settings.wait == Wait::kAuto && exchanges);
}

bool IsTree(Algorithm algorithm) {
  return algorithm == Algorithm::kTree || algorithm == Algorithm::kDoubleTree ||
         algorithm == Algorithm::kChain;
}

// --- All messages of a schedule, and what has become of them ---

struct Known {
  Message message;
  std::tuple<uint64_t, uint32_t, uint32_t> lane;  // Messages of a lane need each other.
  bool is_of_barrier = false;
  bool is_sent = false;
  bool is_ended = false;    // It is finished for its sender.
  bool has_come = false;    // To its receiver, which may still add it up.
  bool is_arrived = false;  // And has been added up.
};
using AllKnown = std::map<uint64_t, Known>;  // By number.

AllKnown MessagesOf(const Schedule& schedule, const CollectiveSettings& settings) {
  AllKnown known;
  const TimedPlay play(schedule, StarTimes);
  uint32_t steps = 0;
  const uint64_t slots = schedule.work().slots();  // The barrier's messages are beyond.
  for (const auto& [at, index] : play.sent()) {
    if (index < slots) steps = std::max(steps, schedule.MessageOf(index).step + 1);
  }
  for (const auto& [at, index] : play.sent()) {
    Known its;
    its.message = schedule.MessageOf(index);
    its.is_of_barrier = index >= slots;
    const Message& message = its.message;
    if (its.is_of_barrier) {
      its.lane = {slots, 0, 0};
    } else if (IsTree(settings.algorithm)) {
      its.lane = {0, message.channel, message.turn};
    } else if (settings.algorithm == Algorithm::kDirect || settings.algorithm == Algorithm::kRail) {
      its.lane = {index, 0, 0};
    } else {
      its.lane = {0, message.channel, (message.turn - message.step) / steps};
    }
    EXPECT_TRUE(known.emplace(index, its).second) << "message " << index << " is sent twice";
  }
  return known;
}

using Related = std::vector<std::vector<const Known*>>;  // By rank: all that come or leave.

// Returns true if the message's sender may send it: by the definition of its algorithm, all that
// must come before has happened.
bool MaySend(const CollectiveSettings& settings, uint32_t n, const Related& related,
             const Known& its) {
  const Message& m = its.message;
  for (const Known* one : related[m.src]) {
    const Known& other = *one;
    const Message& o = other.message;
    const bool comes = o.dst == m.src && !other.is_arrived;
    const bool leaves = o.src == m.src && !other.is_ended;
    if (other.is_of_barrier && !its.is_of_barrier) continue;
    if (its.is_of_barrier && !other.is_of_barrier) {
      // The rank has finished its work.
      if (comes || (o.src == m.src && !other.is_sent)) return false;
    } else if (its.is_of_barrier) {
      // The steps of a barrier, in which no rank waits for its own messages.
      if (comes && o.step < m.step) return false;
    } else if (settings.algorithm == Algorithm::kDirect) {
      // Message i waits for the end of message i - window.
      const int64_t window = settings.window.value_or(n);
      if (leaves && o.step + window <= m.step) return false;
    } else if (settings.algorithm == Algorithm::kRail) {
      // What is handed over for the server of m.dst: from all ranks, or from the one whose bytes
      // the message has.
      const uint32_t g = static_cast<uint32_t>(*settings.group_size);
      const uint32_t far = (m.dst / g + n / g - m.src / g) % (n / g) - 1;
      if (m.step != 1 || o.step != 0 || o.turn != far || !comes) continue;
      const uint32_t origin = m.src / g * g + (m.src % g + g - m.turn) % g;
      if (settings.merge || o.src == origin) return false;
    } else if (IsTree(settings.algorithm)) {
      // Up: once all children have sent. Down: once the parent has, or at the root all children.
      if (other.lane == its.lane && comes && (m.step == 1 || o.step == 0)) return false;
    } else if (other.lane == its.lane && o.step < m.step) {
      if (comes || (leaves && WaitsForSends(settings))) return false;
    }
  }
  return true;
}

// --- Running a schedule beside its conditions ---

class Watched {
 public:
  // `most`: the parts of a message, if the schedule splits those of `whole`.
  Watched(const Schedule& whole, const Schedule& schedule, CollectiveSettings settings,
          uint64_t seed)
      : n_(whole.ranks()),
        schedule_(schedule),
        settings_(std::move(settings)),
        most_(&whole == &schedule ? 1 : schedule.slots() / whole.slots()),
        messages_(MessagesOf(whole, settings_)),
        all_(messages_),
        rng_(Rng::Stream(seed, "watched", 0)) {
    for (uint32_t rank = 0; rank < n_; ++rank) {
      programs_.push_back(schedule.ProgramOf(rank));
      actions_.emplace_back(*this, rank);
    }
  }

  // Begins an iteration and lets `events` happen, or all.
  void Run(std::optional<int> events = std::nullopt) {
    all_ = messages_;
    right_.clear();
    related_.assign(n_, {});
    for (const auto& [index, its] : all_) {
      related_[its.message.src].push_back(&its);
      related_[its.message.dst].push_back(&its);
    }
    events_.clear();
    sent_.clear();
    open_parts_.clear();
    for (uint32_t rank = 0; rank < n_; ++rank) programs_[rank]->Begin(actions_[rank]);
    for (uint32_t rank = 0; rank < n_; ++rank) Check(rank);
    for (int i = 0; !events_.empty() && i != events; ++i) {
      std::swap(events_[rng_.Below(static_cast<uint32_t>(events_.size()))], events_.back());
      const Event event = events_.back();
      events_.pop_back();
      Handle(event);
      Check(event.rank);
    }
  }

  bool finished() const {
    return std::ranges::all_of(programs_, [](const auto& its) { return its->finished(); });
  }

 private:
  enum class Kind { kReceived, kSent, kComputed };
  struct Event {
    Kind kind;
    uint32_t rank;
    uint64_t number;
  };
  class Actions final : public RankActions {
   public:
    Actions(Watched& all, uint32_t rank) : all_(all), rank_(rank) {}
    void Send(uint64_t number) override { all_.Send(rank_, number); }
    void Compute(uint32_t stream, Duration time, uint64_t op) override {
      all_.Compute(rank_, stream, time, op);
    }

   private:
    Watched& all_;
    const uint32_t rank_;
  };

  void Send(uint32_t rank, uint64_t number) {
    const auto found = all_.find(number / most_);
    ASSERT_NE(found, all_.end());
    ASSERT_EQ(found->second.message.src, rank);
    EXPECT_TRUE(sent_.insert(number).second) << "sent twice";
    found->second.is_sent = true;
    ++open_parts_[{Kind::kReceived, number / most_}];
    events_.push_back({Kind::kReceived, found->second.message.dst, number});
    if (!schedule_.waits_for_sends()) return;
    ++open_parts_[{Kind::kSent, number / most_}];
    events_.push_back({Kind::kSent, rank, number});
  }

  void Compute(uint32_t rank, uint32_t stream, Duration time, uint64_t op) {
    const Known& its = all_.at(op);
    EXPECT_TRUE(settings_.reduce_rate);
    EXPECT_EQ(its.message.dst, rank);
    EXPECT_EQ(stream, 0u);
    EXPECT_EQ(time, its.message.bytes * 1_ns);
    EXPECT_TRUE(its.has_come && !its.is_arrived);
    events_.push_back({Kind::kComputed, rank, op});
  }

  // All parts of a message must have come.
  void Handle(const Event& event) {
    RankProgram& program = *programs_[event.rank];
    Actions& actions = actions_[event.rank];
    if (event.kind == Kind::kComputed) {
      all_.at(event.number).is_arrived = true;
      return program.OnComputed(event.number, actions);
    }
    Known& its = all_.at(event.number / most_);
    const bool is_last = --open_parts_[{event.kind, event.number / most_}] == 0;
    if (event.kind == Kind::kSent) {
      its.is_ended = is_last;
      return program.OnSent(event.number, actions);
    }
    its.has_come = is_last;
    its.is_arrived = is_last && !Adds(its);
    program.OnReceived(event.number, actions);
  }

  // Returns true if the receiver adds the message to its own data, which takes time.
  bool Adds(const Known& its) const {
    if (!settings_.reduce_rate || its.is_of_barrier) return false;
    if (IsTree(settings_.algorithm)) return its.message.step == 0;
    return settings_.op == Op::kReduceScatter || its.message.step < n_ - 1;  // Rings and pat.
  }

  void Check(uint32_t rank) {
    bool is_over = true;
    bool is_done = true;
    for (const Known* its : related_[rank]) {
      const bool leaves = its->message.src == rank;
      const bool has_happened = leaves ? its->is_sent : its->is_arrived;
      is_done = is_done && has_happened;
      is_over = is_over && (has_happened || its->is_of_barrier);
      if (!leaves || right_.contains(its)) continue;
      ASSERT_EQ(its->is_sent, MaySend(settings_, n_, related_, *its))
          << "step " << its->message.step << " to rank " << its->message.dst;
      if (its->is_sent) right_.insert(its);
    }
    ASSERT_EQ(programs_[rank]->finished(), is_done) << "rank " << rank;
    ASSERT_EQ(programs_[rank]->is_over(), is_over) << "rank " << rank;
  }

  const uint32_t n_;
  const Schedule& schedule_;
  const CollectiveSettings settings_;
  const uint64_t most_;
  const AllKnown messages_;  // None of which has been sent.
  AllKnown all_;
  Related related_;               // To all_.
  std::set<const Known*> right_;  // Sent, and allowed to be.
  Rng rng_;
  std::vector<std::unique_ptr<RankProgram>> programs_;
  std::vector<Actions> actions_;
  std::vector<Event> events_;
  std::map<std::pair<Kind, uint64_t>, int> open_parts_;  // That have not come, or not ended.
  std::set<uint64_t> sent_;
};

TEST(MessagesTest, LeaveOnceAllThatTheyNeedHasCome) {
  for (const Case& its : Cases()) {
    for (uint32_t n = 2; n <= 9; ++n) {
      if (!its.Exists(n)) continue;
      SCOPED_TRACE(fmt::format("{}, {} ranks", its.name, n));
      const CollectiveSettings settings = its.Settings(n);
      const std::unique_ptr<Schedule> schedule = settings.Make(n, 1, 1);
      Watched watched(*schedule, *schedule, settings, n);
      watched.Run();
      EXPECT_TRUE(watched.finished());
      // A new iteration forgets the last one, even one that has not come to its end.
      watched.Run(static_cast<int>(n));
      watched.Run(static_cast<int>(3 * n));
      watched.Run();
      EXPECT_TRUE(watched.finished());
      if (HasFatalFailure()) return;
    }
  }
}

// Ranks of the same cases, with a barrier behind.
TEST(MessagesTest, OfABarrierLeaveOnceTheWorkIsDone) {
  for (const Case& its : Cases()) {
    for (uint32_t n = 2; n <= 5; ++n) {
      if (!its.Exists(n)) continue;
      SCOPED_TRACE(fmt::format("{}, {} ranks", its.name, n));
      const CollectiveSettings settings = its.Settings(n);
      const auto schedule = MakeWithBarrier(settings.Make(n, 1, 1));
      Watched watched(*schedule, *schedule, settings, n);
      watched.Run();
      EXPECT_TRUE(watched.finished());
      watched.Run(static_cast<int>(n));
      watched.Run(static_cast<int>(2 * schedule->slots() / 3));
      watched.Run();
      EXPECT_TRUE(watched.finished());
      if (HasFatalFailure()) return;
    }
  }
}

// Two leaves with three paths between them. A message is there when all its parts are.
std::unique_ptr<Schedule> InParts(std::unique_ptr<const Schedule> whole, uint32_t n,
                                  bool one_step) {
  std::vector<uint16_t> leaf_of_host;
  std::vector<HostId> hosts;
  for (uint32_t host = 0; host < n; ++host) {
    leaf_of_host.push_back(host < n / 2 ? 0 : 1);
    hosts.push_back(static_cast<HostId>(host));
  }
  auto paths = std::make_shared<PathTable>(leaf_of_host, 2);
  for (const size_t from : {0, 1}) paths->Set(from, 1 - from, {{0, 1}, {1, 1}, {2, 1}});
  return MakeSplit(
      std::move(whole),
      {.is_one_step = one_step, .mss = 200, .host_of_rank = hosts, .paths = paths, .job = 1});
}

bool CanBeSplit(const Case& its) {
  return !IsTree(its.algorithm) && its.algorithm != Algorithm::kRail && its.op != Op::kBarrier;
}

TEST(MessagesTest, InPartsLeaveOnceAllPartsOfOthersHaveCome) {
  for (const Case& its : Cases()) {
    for (uint32_t n = 2; n <= 6; ++n) {
      if (!its.Exists(n) || !CanBeSplit(its)) continue;
      SCOPED_TRACE(fmt::format("{}, {} ranks", its.name, n));
      const CollectiveSettings settings = its.Settings(n);
      const auto whole = settings.Make(n, 1, 1);
      const auto parts = InParts(settings.Make(n, 1, 1), n, settings.is_one_step());
      EXPECT_EQ(parts->waits_for_sends(), whole->waits_for_sends());
      Watched watched(*whole, *parts, settings, n);
      watched.Run();
      EXPECT_TRUE(watched.finished());
      watched.Run(static_cast<int>(n));
      watched.Run(static_cast<int>(3 * n));
      watched.Run();
      EXPECT_TRUE(watched.finished());
      if (HasFatalFailure()) return;
    }
  }
}

// A rank that never waits for its messages need not hear of their ends.
TEST(MessagesTest, OnlySomeWaitForEarlierOnesOfTheSameRank) {
  for (const Case& its : Cases()) {
    for (uint32_t n = 2; n <= 9; ++n) {
      if (!its.Exists(n)) continue;
      const CollectiveSettings settings = its.Settings(n);
      const bool waits = its.algorithm == Algorithm::kDirect ? settings.window.value_or(n) < n - 1
                                                             : WaitsForSends(settings);
      EXPECT_EQ(settings.Make(n, 1, 1)->waits_for_sends(), waits) << its.name << ", " << n;
    }
  }
}

// --- What is missing ---

// Of each lane the messages of the first step in which one is missing: none of them needs another.
std::set<uint64_t> FirstMissing(const AllKnown& all, uint32_t rank) {
  std::map<std::tuple<uint64_t, uint32_t, uint32_t>, uint32_t> first;
  for (const auto& [index, its] : all) {
    if (its.message.dst != rank || its.is_arrived) continue;
    const auto at = first.emplace(its.lane, its.message.step).first;
    at->second = std::min(at->second, its.message.step);
  }
  std::set<uint64_t> missing;
  for (const auto& [index, its] : all) {
    if (its.message.dst != rank || its.is_arrived) continue;
    if (its.message.step == first.at(its.lane)) missing.insert(index);
  }
  return missing;
}

// Lets a random part of all messages arrive.
void Draw(AllKnown& all, Rng& rng) {
  const uint32_t share = rng.Below(5);
  for (auto& [index, its] : all) its.is_arrived = rng.Below(4) < share;
}

TEST(MessagesTest, AreMissedIfNothingElseMustComeBefore) {
  for (const Case& its : Cases()) {
    for (uint32_t n = 2; n <= 9; ++n) {
      if (!its.Exists(n)) continue;
      SCOPED_TRACE(fmt::format("{}, {} ranks", its.name, n));
      const CollectiveSettings settings = its.Settings(n);
      const std::unique_ptr<Schedule> schedule = settings.Make(n, 1, 1);
      AllKnown all = MessagesOf(*schedule, settings);
      Rng rng = Rng::Stream(n, "arrived", 0);
      for (int i = 0; i < 10; ++i) {
        Draw(all, rng);
        for (uint32_t rank = 0; rank < n; ++rank) {
          const auto missing =
              schedule->MissingAt(rank, [&](uint64_t index) { return all.at(index).is_arrived; });
          ASSERT_THAT(missing, UnorderedElementsAreArray(FirstMissing(all, rank)));
        }
      }
    }
  }
}

// Those of the barrier are missed by a rank that has all others.
TEST(MessagesTest, OfABarrierAreMissedLast) {
  for (const Case& its : Cases()) {
    for (uint32_t n = 2; n <= 5; ++n) {
      if (!its.Exists(n)) continue;
      SCOPED_TRACE(fmt::format("{}, {} ranks", its.name, n));
      const CollectiveSettings settings = its.Settings(n);
      const auto schedule = MakeWithBarrier(settings.Make(n, 1, 1));
      AllKnown all = MessagesOf(*schedule, settings);
      Rng rng = Rng::Stream(n, "arrived", 0);
      for (int i = 0; i < 10; ++i) {
        Draw(all, rng);
        for (uint32_t rank = 0; rank < n; ++rank) {
          if (i % 2 == 0) {  // All of the work is there.
            for (auto& [index, one] : all) one.is_arrived = one.is_arrived || !one.is_of_barrier;
          }
          std::set<uint64_t> expected = FirstMissing(all, rank);
          const auto is_of_barrier = [&](uint64_t index) { return all.at(index).is_of_barrier; };
          if (!std::ranges::all_of(expected, is_of_barrier)) std::erase_if(expected, is_of_barrier);
          const auto missing =
              schedule->MissingAt(rank, [&](uint64_t index) { return all.at(index).is_arrived; });
          ASSERT_THAT(missing, UnorderedElementsAreArray(expected));
        }
      }
    }
  }
}

// Of a message in parts, the first part that is not there.
TEST(MessagesTest, InPartsAreMissedByTheirFirstMissingPart) {
  for (const Case& its : Cases()) {
    for (uint32_t n = 2; n <= 6; ++n) {
      if (!its.Exists(n) || !CanBeSplit(its)) continue;
      SCOPED_TRACE(fmt::format("{}, {} ranks", its.name, n));
      const CollectiveSettings settings = its.Settings(n);
      const auto whole = settings.Make(n, 1, 1);
      const auto parts = InParts(settings.Make(n, 1, 1), n, settings.is_one_step());
      const uint64_t most = parts->slots() / whole->slots();
      std::map<uint64_t, bool> has_arrived;  // By part.
      const TimedPlay play(*parts, StarTimes);
      for (const auto& [at, number] : play.sent()) has_arrived[number] = false;
      AllKnown all = MessagesOf(*whole, settings);
      Rng rng = Rng::Stream(n, "arrived", 0);
      for (int i = 0; i < 10; ++i) {
        for (auto& [index, one] : all) one.is_arrived = true;
        for (auto& [number, has] : has_arrived) {
          has = rng.Below(4) > 0;
          Known& one = all.at(number / most);
          one.is_arrived = one.is_arrived && has;
        }
        for (uint32_t rank = 0; rank < n; ++rank) {
          std::set<uint64_t> expected;
          for (const uint64_t index : FirstMissing(all, rank)) {
            uint64_t number = index * most;
            while (has_arrived.at(number)) ++number;
            expected.insert(number);
          }
          const auto missing =
              parts->MissingAt(rank, [&](uint64_t number) { return has_arrived.at(number); });
          ASSERT_THAT(missing, UnorderedElementsAreArray(expected));
        }
      }
    }
  }
}

}  // namespace heddle::messages_test
