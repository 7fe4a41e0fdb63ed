// SPDX-License-Identifier: Apache-2.0
// How messages are laid on paths and split, and that a schedule with parts does what it does
// without.

#include "workload/jobs/split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "core/random.h"
#include "tests/support/printers.h"
#include "workload/jobs/collective.h"
#include "workload/jobs/critical_path.h"

namespace heddle::split_test {

using Op = CollectiveSettings::Op;
using Algorithm = CollectiveSettings::Algorithm;

TEST(SplitEvenlyTest, IsThatOfTheTable) {
  const auto of = [](uint32_t flows, uint32_t paths) {
    const EqualSplit split = SplitEvenly(flows, paths);
    return std::tuple(split.whole, split.split, split.split > 0 ? split.parts : 0, split.flows());
  };
  EXPECT_EQ(of(10, 4), std::tuple(8u, 2u, 2u, 12u));
  EXPECT_EQ(of(1, 8), std::tuple(0u, 1u, 8u, 8u));
  EXPECT_EQ(of(7, 8), std::tuple(0u, 7u, 8u, 56u));
  EXPECT_EQ(of(12, 8), std::tuple(8u, 4u, 2u, 16u));
  EXPECT_EQ(of(3, 4), std::tuple(0u, 3u, 4u, 12u));
  EXPECT_EQ(of(8, 4), std::tuple(8u, 0u, 0u, 8u));
}

// Every path gets as many shares of a flow as every other.
TEST(SplitEvenlyTest, LoadsAllPathsAlike) {
  for (uint32_t flows = 1; flows <= 40; ++flows) {
    for (uint32_t paths = 1; paths <= 40; ++paths) {
      const EqualSplit split = SplitEvenly(flows, paths);
      ASSERT_EQ(split.whole + split.split, flows);
      ASSERT_EQ(split.whole % paths, 0u);
      ASSERT_EQ(split.split * split.parts % paths, 0u) << flows << " on " << paths;
      ASSERT_LE(split.parts, paths);
    }
  }
}

constexpr int64_t kMss = 1'000;

// Leaves of `hosts` hosts each, with `paths` paths between any two.
std::shared_ptr<const PathTable> Paths(size_t leaves, size_t hosts, uint16_t paths) {
  std::vector<uint16_t> leaf_of_host;
  for (size_t h = 0; h < leaves * hosts; ++h) {
    leaf_of_host.push_back(static_cast<uint16_t>(h / hosts));
  }
  auto table = std::make_shared<PathTable>(leaf_of_host, leaves);
  std::vector<PathChoice> choices;
  for (uint16_t path = 0; path < paths; ++path) choices.push_back({path, 1});
  for (size_t a = 0; a < leaves; ++a) {
    for (size_t b = 0; b < leaves; ++b) {
      if (a != b) table->Set(a, b, choices);
    }
  }
  return table;
}

struct Case {
  CollectiveSettings collective;
  size_t leaves;
  size_t hosts;  // Of a leaf.
  uint16_t paths;
  SplitSettings::Scope scope = SplitSettings::Scope::kLeaf;

  uint32_t ranks() const { return static_cast<uint32_t>(leaves * hosts); }
  std::unique_ptr<const Schedule> Whole() const {
    return collective.Resolved(ranks(), 1).Make(ranks(), 1, 1);
  }
  std::unique_ptr<const Schedule> Parts() const {
    std::vector<HostId> host_of_rank;
    for (uint32_t rank = 0; rank < ranks(); ++rank) {
      host_of_rank.push_back(static_cast<HostId>(rank));
    }
    return MakeSplit(Whole(), {.scope = scope,
                               .is_one_step = collective.is_one_step(),
                               .mss = kMss,
                               .host_of_rank = host_of_rank,
                               .paths = Paths(leaves, hosts, paths),
                               .seed = 1,
                               .job = 1});
  }
};

CollectiveSettings AllToAll(int64_t size) {
  CollectiveSettings settings;
  settings.op = Op::kAllToAll;
  settings.size = Bytes{size};
  return settings;
}
CollectiveSettings Ring(int64_t size) {
  CollectiveSettings settings;
  settings.op = Op::kAllReduce;
  settings.algorithm = Algorithm::kRing;
  settings.size = Bytes{size};
  return settings;
}

// Runs all ranks; messages arrive in random order. Returns the numbers of all messages.
class Play {
 public:
  explicit Play(const Schedule& schedule) : schedule_(schedule) {
    for (uint32_t rank = 0; rank < schedule.ranks(); ++rank) {
      programs_.push_back(schedule.ProgramOf(rank));
      actions_.emplace_back(*this);
    }
  }

  std::vector<uint64_t> Run() {
    numbers_.clear();
    for (size_t rank = 0; rank < programs_.size(); ++rank) programs_[rank]->Begin(actions_[rank]);
    while (!under_way_.empty()) {
      std::swap(under_way_[rng_.Below(static_cast<uint32_t>(under_way_.size()))],
                under_way_.back());
      const auto [is_arrival, number] = under_way_.back();
      under_way_.pop_back();
      const Message message = schedule_.MessageOf(number);
      const uint32_t rank = is_arrival ? message.dst : message.src;
      if (is_arrival) {
        programs_[rank]->OnReceived(number, actions_[rank]);
        continue;
      }
      auto& open = open_[rank];
      if (--open[message.dst] == 0) open.erase(message.dst);
      programs_[rank]->OnSent(number, actions_[rank]);
    }
    for (const auto& program : programs_) EXPECT_TRUE(program->finished());
    return numbers_;
  }

  // If senders wait for their messages: the most receivers to which a rank sent parts at a time.
  size_t most_open() const { return most_open_; }

 private:
  class Actions final : public RankActions {
   public:
    explicit Actions(Play& play) : play_(play) {}
    void Send(uint64_t number) override {
      play_.numbers_.push_back(number);
      play_.under_way_.emplace_back(true, number);
      if (!play_.schedule_.waits_for_sends()) return;
      play_.under_way_.emplace_back(false, number);
      const Message message = play_.schedule_.MessageOf(number);
      auto& open = play_.open_[message.src];
      ++open[message.dst];
      play_.most_open_ = std::max(play_.most_open_, open.size());
    }
    void Compute(uint32_t, Duration, uint64_t) override { ADD_FAILURE(); }

   private:
    Play& play_;
  };

  const Schedule& schedule_;
  Rng rng_ = Rng::Stream(5, "play", 0);
  std::vector<std::unique_ptr<RankProgram>> programs_;
  std::vector<Actions> actions_;
  std::vector<std::pair<bool, uint64_t>> under_way_;
  std::vector<uint64_t> numbers_;
  std::map<uint32_t, std::map<uint32_t, int>> open_;  // Parts by sender and receiver.
  size_t most_open_ = 0;
};

using Pair = std::pair<size_t, size_t>;  // Leaves, or a host and a leaf.

// The bytes of each path in each step between two leaves; and the messages there.
struct Load {
  std::map<std::tuple<uint32_t, Pair>, std::vector<int64_t>> bytes;
  std::map<std::tuple<uint32_t, Pair>, int64_t> messages;
};
Load LoadOf(const Case& job, const Schedule& parts, const std::vector<uint64_t>& numbers) {
  Load load;
  for (const uint64_t number : numbers) {
    const Message message = parts.MessageOf(number);
    const size_t from = message.src / job.hosts;
    const size_t to = message.dst / job.hosts;
    if (from == to) {
      EXPECT_EQ(message.lane, kNoLane);
      continue;
    }
    const bool by_host = job.scope == SplitSettings::Scope::kHost;
    const uint32_t step = job.collective.is_one_step() ? 0 : message.step;
    const auto key = std::tuple(step, Pair{by_host ? message.src : from, to});
    std::vector<int64_t>& bytes = load.bytes[key];
    bytes.resize(job.paths);
    bytes.at(message.lane) += message.bytes;
    ++load.messages[key];
  }
  return load;
}

std::vector<Case> Cases() {
  return {{AllToAll(12 * 50'000), 3, 4, 5},
          {AllToAll(12 * 50'000), 3, 4, 7},
          {AllToAll(8 * 2'000), 4, 2, 8},
          {AllToAll(6 * 123'456), 2, 3, 4},
          {Ring(12 * 100'000), 3, 4, 8},
          {Ring(12 * 777'777), 3, 4, 3},
          {AllToAll(6 * 20'000), 6, 1, 3},  // Every message is alone in its group.
          {AllToAll(6 * 20'000), 6, 1, 1},
          {AllToAll(6 * 2'001), 6, 1, 5},   // Three packets, the last of one byte.
          {AllToAll(8 * 20'000), 2, 4, 4},  // None is split: 16 messages, 4 paths.
          {Ring(6 * 20'000), 6, 1, 4},
          {AllToAll(12 * 50'000), 3, 4, 5, SplitSettings::Scope::kHost}};
}

TEST(SplitTest, EveryPathCarriesAsMuchWithinAPacketForEachMessage) {
  for (const Case& job : Cases()) {
    const auto whole = job.Whole();
    const auto parts = job.Parts();
    const Load load = LoadOf(job, *parts, Play(*parts).Run());
    const Load unsplit = [&] {
      Load its;
      for (const uint64_t number : Play(*whole).Run()) {
        const Message message = whole->MessageOf(number);
        const bool by_host = job.scope == SplitSettings::Scope::kHost;
        const uint32_t step = job.collective.is_one_step() ? 0 : message.step;
        const size_t from = by_host ? message.src : message.src / job.hosts;
        ++its.messages[std::tuple(step, Pair{from, message.dst / job.hosts})];
      }
      return its;
    }();
    ASSERT_FALSE(load.bytes.empty());
    for (const auto& [key, bytes] : load.bytes) {
      const auto [least, most] = std::ranges::minmax(bytes);
      EXPECT_LE(most - least, unsplit.messages.at(key) * kMss);
    }
  }
}

// Nothing is lost or sent twice, and parts are whole packets but for the last one.
TEST(SplitTest, PartsMakeUpTheirMessages) {
  for (const Case& job : Cases()) {
    const auto whole = job.Whole();
    const auto parts = job.Parts();
    const uint64_t most = parts->slots() / whole->slots();
    std::map<uint64_t, std::vector<int64_t>> bytes;
    std::map<uint64_t, std::set<uint32_t>> channels;
    std::map<uint64_t, std::set<uint16_t>> lanes;
    for (const uint64_t number : Play(*parts).Run()) {
      const Message part = parts->MessageOf(number);
      bytes[number / most].push_back(part.bytes);
      EXPECT_TRUE(channels[number / most].insert(part.channel).second);
      if (part.lane == kNoLane) continue;
      EXPECT_TRUE(lanes[number / most].insert(part.lane).second);
    }
    std::map<uint64_t, int64_t> sizes;
    for (const uint64_t index : Play(*whole).Run()) sizes[index] = whole->MessageOf(index).bytes;
    ASSERT_EQ(bytes.size(), sizes.size());
    for (auto& [index, its] : bytes) {
      int64_t sum = 0;
      int64_t broken = 0;
      for (const int64_t part : its) {
        EXPECT_GT(part, 0);
        sum += part;
        broken += part % kMss != 0 ? 1 : 0;
      }
      EXPECT_EQ(sum, sizes.at(index));
      EXPECT_LE(broken, 1);
    }
  }
}

// What comes to each rank has numbers of its own, as many as the schedule says.
TEST(SplitTest, ArrivalsAreNumbered) {
  for (const Case& job : Cases()) {
    const auto parts = job.Parts();
    std::vector<std::set<uint64_t>> ordinals(job.ranks());
    for (const uint64_t number : Play(*parts).Run()) {
      const uint32_t rank = parts->MessageOf(number).dst;
      EXPECT_LT(parts->OrdinalOf(number), parts->IncomingOf(rank));
      EXPECT_TRUE(ordinals[rank].insert(parts->OrdinalOf(number)).second);
    }
    double messages = 0;
    for (uint32_t rank = 0; rank < job.ranks(); ++rank) {
      EXPECT_EQ(ordinals[rank].size(), parts->ArrivalsAt(rank));
      messages += static_cast<double>(ordinals[rank].size());
    }
    EXPECT_DOUBLE_EQ(parts->Totals().messages, messages);
    EXPECT_EQ(parts->ranks(), job.ranks());
    EXPECT_DOUBLE_EQ(parts->Totals().bytes, job.Whole()->Totals().bytes);
  }
}

// A message's number is that of the whole one times the most parts of a message. Where messages
// need no parts, nothing changes but the paths.
TEST(SplitTest, NumbersLeaveRoomForTheMostParts) {
  for (const Case& job : Cases()) {
    const auto whole = job.Whole();
    const auto parts = job.Parts();
    // By step and leaves, or by host and leaf: messages of as many packets.
    std::map<std::tuple<uint32_t, uint32_t, size_t, size_t, int64_t>, uint32_t> groups;
    for (const uint64_t index : Play(*whole).Run()) {
      const Message its = whole->MessageOf(index);
      if (its.src / job.hosts == its.dst / job.hosts) continue;
      const bool by_host = job.scope == SplitSettings::Scope::kHost;
      const bool one_step = job.collective.is_one_step();
      ++groups[{one_step ? 0 : its.step, one_step ? 0 : its.turn,
                by_host ? its.src : its.src / job.hosts, its.dst / job.hosts,
                (its.bytes + kMss - 1) / kMss}];
    }
    uint64_t most = 1;
    for (const auto& [key, count] : groups) {
      const EqualSplit split = SplitEvenly(count, job.paths);
      const int64_t packets = std::get<4>(key);  // No part is empty.
      if (split.split > 0) most = std::max<uint64_t>(most, std::min<int64_t>(split.parts, packets));
    }
    EXPECT_EQ(parts->slots(), most * whole->slots());
    for (uint32_t rank = 0; rank < job.ranks(); ++rank) {
      EXPECT_EQ(parts->IncomingOf(rank), most * whole->IncomingOf(rank));
    }
  }
}

// Parts differ by a packet at most.
TEST(SplitTest, PartsAreEqualButForAPacket) {
  for (const Case& job : Cases()) {
    const auto parts = job.Parts();
    const uint64_t most = parts->slots() / job.Whole()->slots();
    std::map<uint64_t, std::vector<int64_t>> packets;  // By message.
    std::map<uint64_t, std::vector<uint16_t>> lanes;
    for (const uint64_t number : Play(*parts).Run()) {
      const Message part = parts->MessageOf(number);
      packets[number / most].push_back((part.bytes + kMss - 1) / kMss);
      lanes[number / most].push_back(part.lane);
    }
    for (const auto& [index, its] : packets) {
      const auto [least, largest] = std::ranges::minmax(its);
      EXPECT_LE(largest - least, 1);
      // The parts of a message take paths that follow each other.
      for (size_t i = 1; i < its.size(); ++i) {
        EXPECT_EQ(lanes[index][i], (lanes[index][i - 1] + 1) % job.paths);
      }
    }
  }
}

// Whole messages and parts of a group take the paths in turn, whatever the first one is. It is
// drawn for each job.
TEST(SplitTest, TheFirstPathIsDrawn) {
  std::set<uint16_t> first;
  for (uint32_t number = 0; number < 40; ++number) {
    const Case job{AllToAll(2 * 20'000), 2, 1, 4};
    const auto parts = MakeSplit(job.Whole(), {.is_one_step = true,
                                               .mss = kMss,
                                               .host_of_rank = {0, 1},
                                               .paths = Paths(2, 1, 4),
                                               .seed = 1,
                                               .job = number});
    first.insert(parts->MessageOf(0).lane);
    EXPECT_EQ(parts->MessageOf(0).lane, (parts->MessageOf(1).lane + 3) % 4);
  }
  EXPECT_EQ(first, (std::set<uint16_t>{0, 1, 2, 3}));
}

// Two of three messages stay whole on two paths. Which one is split is drawn for each job, too.
TEST(SplitTest, WhatIsSplitIsDrawn) {
  std::set<uint64_t> split;
  for (uint32_t number = 0; number < 40; ++number) {
    const Case job{AllToAll(4 * 20'000), 2, 2, 2, SplitSettings::Scope::kLeaf};
    std::vector<HostId> hosts = {0, 1, 1, 1};  // Three messages from host 0 to the other leaf.
    const auto parts = MakeSplit(job.Whole(), {.is_one_step = true,
                                               .mss = kMss,
                                               .host_of_rank = hosts,
                                               .paths = Paths(2, 1, 2),
                                               .seed = 1,
                                               .job = number});
    uint64_t whole = 0;
    for (uint64_t index = 0; index < 3; ++index) {
      const int64_t bytes = parts->MessageOf(2 * index).bytes;
      EXPECT_TRUE(bytes == 20'000 || bytes == 10'000);
      whole += bytes == 20'000 ? 1 : 0;
      if (bytes == 10'000) split.insert(index);
    }
    EXPECT_EQ(whole, 2u);
  }
  EXPECT_EQ(split, (std::set<uint64_t>{0, 1, 2}));
}

// Parts that travel beside each other take the time of one message; sums take as long as without.
TEST(SplitTest, TheCriticalPathIsThatOfWholeMessages) {
  const auto times = [](const Message&) { return MessageTimes{10_us, 15_us}; };
  for (Case job : Cases()) {
    if (job.collective.op == Op::kAllReduce) job.collective.reduce_rate = 1_Gbps;
    EXPECT_EQ(CriticalPath(*job.Parts(), times), CriticalPath(*job.Whole(), times));
  }
}

TEST(SplitTest, EveryIterationRunsToItsEnd) {
  Case job{AllToAll(8 * 20'000), 4, 2, 8};
  job.collective.window = 2;  // A message goes when all parts of an earlier one have ended.
  const auto parts = job.Parts();
  Play play(*parts);
  const std::vector<uint64_t> first = play.Run();
  std::vector<uint64_t> again = play.Run();
  EXPECT_TRUE(std::ranges::is_permutation(first, again));
  EXPECT_EQ(play.most_open(), 2u);
}

}  // namespace heddle::split_test
