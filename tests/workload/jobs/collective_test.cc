// SPDX-License-Identifier: Apache-2.0
// What the settings of collectives do.

#include "workload/jobs/collective.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/support/collective_kit.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/printers.h"
#include "tests/support/settings_from.h"
#include "tests/support/timed_play.h"
#include "workload/jobs/graph_schedule.h"
#include "workload/jobs/group_algorithms.h"
#include "workload/jobs/job.h"
#include "workload/jobs/nccl.h"
#include "workload/jobs/operation_graph.h"

namespace heddle::collective_test {

using namespace collective_kit;
using ::testing::HasSubstr;

// Message sizes of a job, each with its number of messages.
std::map<int64_t, int> SizesOf(const Job& job) {
  std::map<int64_t, int> sizes;
  const TimedPlay play(job.schedule(), StarTimes);
  for (const auto& [at, index] : play.sent()) ++sizes[job.schedule().MessageOf(index).bytes];
  return sizes;
}
std::set<uint32_t> ChannelsOf(const Job& job) {
  std::set<uint32_t> channels;
  const TimedPlay play(job.schedule(), StarTimes);
  for (const auto& [at, index] : play.sent()) {
    channels.insert(job.schedule().MessageOf(index).channel);
  }
  return channels;
}
std::set<uint32_t> Numbers(uint32_t count) {
  std::set<uint32_t> numbers;
  for (uint32_t i = 0; i < count; ++i) numbers.insert(i);
  return numbers;
}

using Sizes = std::map<int64_t, int>;

TEST(CollectiveSettingsTest, ChannelsAndChunksCutTheBuffer) {
  // 8 ranks: 2 * 7 steps of 8 messages each.
  EXPECT_EQ(SizesOf(*Made("op: all_reduce, size: 8000B")), (Sizes{{1'000, 112}}));
  EXPECT_EQ(SizesOf(*Made("op: all_reduce, size: 8000B, channels: 4")), (Sizes{{250, 4 * 112}}));
  // Pieces of 8 blocks of 400 bytes, and the rest of 1,600.
  EXPECT_EQ(SizesOf(*Made("op: all_reduce, size: 8000B, chunk: 400B")),
            (Sizes{{400, 2 * 112}, {200, 112}}));
  EXPECT_EQ(SizesOf(*Made("op: all_reduce, size: 8000B, chunk: 500B")), (Sizes{{500, 2 * 112}}));
  EXPECT_EQ(SizesOf(*Made("op: all_reduce, size: 8000B, chunk: 1000B")), (Sizes{{1'000, 112}}));
  // Trees have two messages for each of 7 links, and pieces of the size itself.
  EXPECT_EQ(SizesOf(*Made("op: all_reduce, size: 1000B, algorithm: tree, chunk: 300B")),
            (Sizes{{300, 3 * 14}, {100, 14}}));
  EXPECT_EQ(SizesOf(*Made("op: broadcast, size: 900B, algorithm: chain, chunk: 300B")),
            (Sizes{{300, 3 * 7}}));
}

// Channels are numbered without gaps, so that those of other schedules fit behind them. Rings in
// two directions and double trees have two for each channel.
TEST(CollectiveSettingsTest, ChannelsAreNumberedFromZero) {
  const std::string sum = "op: all_reduce, size: 80KB, channels: 3, algorithm: ";
  EXPECT_EQ(ChannelsOf(*Made(sum + "ring")), Numbers(3));
  EXPECT_EQ(ChannelsOf(*Made(sum + "bidirectional")), Numbers(6));
  EXPECT_EQ(ChannelsOf(*Made(sum + "tree")), Numbers(3));
  EXPECT_EQ(ChannelsOf(*Made(sum + "double_tree")), Numbers(6));
  EXPECT_EQ(ChannelsOf(*Made(sum + "hierarchical, group_size: 2")), Numbers(3));
  EXPECT_EQ(ChannelsOf(*Made("op: all_to_all, size: 80KB")), Numbers(1));
  EXPECT_EQ(ChannelsOf(*Made("op: all_to_all, size: 80KB, algorithm: rail, group_size: 2")),
            Numbers(1));
  EXPECT_EQ(ChannelsOf(*Made("op: broadcast, size: 80KB, algorithm: chain, channels: 2")),
            Numbers(2));
}

// Messages of a connection leave in the order of their turns.
TEST(CollectiveSettingsTest, TheMessagesOfAChannelAreInOrder) {
  for (const OpAlgorithm& pair : Pairs()) {
    const bool has_channels = pair.algorithm != "direct" && pair.algorithm != "rail";
    const auto job = Made(pair.Text() + (has_channels ? ", channels: 2" : ""));
    const Schedule& schedule = job->schedule();
    using Connection = std::tuple<uint32_t, uint32_t, uint32_t>;
    std::map<Connection, uint32_t> last;
    const TimedPlay play(schedule, StarTimes);
    for (const auto& [at, index] : play.sent()) {
      const Message its = schedule.MessageOf(index);
      const auto [before, is_first] =
          last.emplace(Connection{its.src, its.dst, its.channel}, its.turn);
      if (is_first) continue;
      EXPECT_LT(before->second, its.turn) << pair.Text();
      before->second = its.turn;
    }
  }
}

// How many messages of the connection come before: in trees, pieces; along rails, those to be
// handed on to other servers.
TEST(CollectiveSettingsTest, TurnsCountTheMessagesOfAConnection) {
  for (const std::string job :
       {"op: all_reduce, size: 9KB, algorithm: double_tree, channels: 2, chunk: 1KB",
        "op: broadcast, size: 9KB, algorithm: chain, chunk: 1KB",
        "op: broadcast, size: 9KB, algorithm: tree, chunk: 1KB", "op: all_to_all, size: 9KB",
        "op: all_to_all, size: 9KB, algorithm: rail, group_size: 2",
        "op: all_to_all, size: 9KB, algorithm: rail, group_size: 4, merge: false",
        "op: all_reduce, size: 9KB, chunk: 300B"}) {
    const auto made = Made(job);
    std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::set<uint32_t>> turns;
    const TimedPlay play(made->schedule(), StarTimes);
    for (const auto& [at, index] : play.sent()) {
      const Message its = made->schedule().MessageOf(index);
      auto& its_turns = turns[{its.src, its.dst, its.channel}];
      EXPECT_TRUE(its_turns.insert(its.turn).second);
    }
    for (const auto& [connection, its] : turns) {
      EXPECT_EQ(its, Numbers(static_cast<uint32_t>(its.size()))) << job;
    }
  }
}

// Handed to a rank of the own server, sent to another server, or within the server.
TEST(CollectiveSettingsTest, RailsHaveThreePhases) {
  for (const bool merges : {true, false}) {
    const auto job = Made(fmt::format(
        "op: all_to_all, size: 8000B, algorithm: rail, group_size: 4, merge: {}", merges));
    std::map<std::tuple<uint32_t, bool, int64_t>, int> messages;
    const TimedPlay play(job->schedule(), StarTimes);
    for (const auto& [at, index] : play.sent()) {
      const Message its = job->schedule().MessageOf(index);
      ++messages[{its.step, its.src / 4 == its.dst / 4, its.bytes}];
    }
    EXPECT_EQ(messages, (std::map<std::tuple<uint32_t, bool, int64_t>, int>{
                            {{0, true, 1'000}, 8 * 3},
                            {{1, false, merges ? 4'000 : 1'000}, merges ? 8 : 8 * 4},
                            {{2, true, 1'000}, 8 * 3}}));
  }
}

// A rank's first message of each channel goes a stride ahead, the strides being the first numbers
// that have no common divisor with the ranks. If there are fewer than channels, they come again.
TEST(CollectiveSettingsTest, RingsHaveStrides) {
  const auto strides = [](uint32_t ranks, uint32_t channels) {
    const auto job =
        Made(fmt::format("op: all_gather, size: 1MB, ring_order: stride, channels: {}", channels),
             ranks);
    std::vector<uint32_t> found(channels);
    const TimedPlay play(job->schedule(), StarTimes);
    for (const auto& [at, index] : play.sent()) {
      const Message its = job->schedule().MessageOf(index);
      const uint32_t stride = (its.dst + ranks - its.src) % ranks;
      EXPECT_TRUE(found[its.channel] == 0 || found[its.channel] == stride);
      found[its.channel] = stride;
    }
    return found;
  };
  EXPECT_EQ(strides(2, 2), (std::vector<uint32_t>{1, 1}));
  EXPECT_EQ(strides(5, 6), (std::vector<uint32_t>{1, 2, 3, 4, 1, 2}));
  EXPECT_EQ(strides(6, 5), (std::vector<uint32_t>{1, 5, 1, 5, 1}));
  EXPECT_EQ(strides(8, 4), (std::vector<uint32_t>{1, 3, 5, 7}));
  EXPECT_EQ(strides(9, 3), (std::vector<uint32_t>{1, 2, 4}));
}

// Without a window, or with one of all others, a rank sends all at once.
TEST(CollectiveSettingsTest, AWindowLimitsWhatIsUnderWay) {
  for (const std::string window : {"auto", "1", "3", "7", "8", "4294967297"}) {
    const auto job = Made("op: all_to_all, size: 8KB, window: " + window);
    std::vector<int> at_start(8);
    const TimedPlay play(job->schedule(), StarTimes);
    for (const auto& [at, index] : play.sent()) {
      if (at == Time{}) ++at_start[job->schedule().MessageOf(index).src];
    }
    const int most = window == "1" ? 1 : window == "3" ? 3 : 7;
    EXPECT_EQ(at_start, std::vector<int>(8, most)) << window;
    EXPECT_EQ(job->schedule().waits_for_sends(), most < 7) << window;  // All seven need no end.
  }
}

// NCCL's order (src/init.cc): groups of gcd(ranks, 8) ranks, one group after the other. The
// distances between groups are 0, 1, 3, 6, 10, ... modulo the next power of two; a distance without
// a group is left out.
TEST(CollectiveSettingsTest, PeersAreInTheOrderThatIsAskedFor) {
  const auto peers_of = [](const std::string& order, uint32_t ranks, uint32_t rank) {
    const auto job = Made("op: all_to_all, size: 1MB, peers: " + order, ranks);
    std::vector<uint32_t> peers(ranks - 1);
    const TimedPlay play(job->schedule(), StarTimes);
    for (const auto& [at, index] : play.sent()) {
      const Message its = job->schedule().MessageOf(index);
      if (its.src == rank) peers.at(its.step) = its.dst;
    }
    return peers;
  };
  using Peers = std::vector<uint32_t>;
  EXPECT_EQ(peers_of("round", 5, 3), (Peers{4, 0, 1, 2}));
  // One group of eight.
  EXPECT_EQ(peers_of("nccl", 8, 6), (Peers{7, 0, 1, 2, 3, 4, 5}));
  // Three groups of four; distances 0, 1, (3,) 2.
  EXPECT_EQ(peers_of("nccl", 12, 5), (Peers{6, 7, 4, 9, 10, 11, 8, 1, 2, 3, 0}));
  // Seven groups of two; distances 0, 1, 3, 6, 2, (7,) 5, 4.
  EXPECT_EQ(peers_of("nccl", 14, 0), (Peers{1, 2, 3, 6, 7, 12, 13, 4, 5, 10, 11, 8, 9}));
  EXPECT_NE(peers_of("random", 12, 5), peers_of("round", 12, 5));
}

// Orders of other jobs and other seeds are others; experts, too.
TEST(CollectiveSettingsTest, RandomDrawsDependOnJobAndSeed) {
  for (const std::string job : {"op: all_to_all, size: 1MB, peers: random",
                                "op: all_to_all, moe: {tokens: 100, skew: 1}"}) {
    const auto messages = [&](uint64_t seed, uint32_t number) {
      Stage stage = StageOf(2, 8);
      stage.seed = seed;
      const auto made = WorkloadFrom(JobOf(16, job), stage).settings->MakeJob(number);
      std::vector<std::pair<uint32_t, int64_t>> all;
      for (uint64_t index = 0; index < made->schedule().slots(); ++index) {
        const Message its = made->schedule().MessageOf(index);
        all.emplace_back(its.dst, its.bytes);
      }
      return all;
    };
    EXPECT_EQ(messages(1, 1), messages(1, 1));
    EXPECT_NE(messages(1, 1), messages(1, 2));
    EXPECT_NE(messages(1, 1), messages(2, 1));
  }
}

// The words of the manual.
TEST(CollectiveSettingsTest, WordsMeanWhatTheySay) {
  using Its = CollectiveSettings;
  using Moe = MoeSettings;
  const std::vector<std::pair<std::string, bool (*)(const Its&)>> words = {
      {"ring_order: same", [](const Its& its) { return its.ring_order == Its::RingOrder::kSame; }},
      {"ring_order: stride",
       [](const Its& its) { return its.ring_order == Its::RingOrder::kStride; }},
      {"peers: round", [](const Its& its) { return its.peer_order == Its::PeerOrder::kRound; }},
      {"peers: nccl", [](const Its& its) { return its.peer_order == Its::PeerOrder::kNccl; }},
      {"peers: random", [](const Its& its) { return its.peer_order == Its::PeerOrder::kRandom; }},
      {"wait: both", [](const Its& its) { return its.wait == Its::Wait::kBoth; }},
      {"wait: recv", [](const Its& its) { return its.wait == Its::Wait::kRecv; }},
      {"preset: none", [](const Its& its) { return its.preset == Its::Preset::kNone; }},
      {"preset: nccl", [](const Its& its) { return its.preset == Its::Preset::kNccl; }},
      {"protocol: simple", [](const Its& its) { return its.protocol == NcclProtocol::kSimple; }},
      {"protocol: ll", [](const Its& its) { return its.protocol == NcclProtocol::kLl; }},
      {"protocol: ll128", [](const Its& its) { return its.protocol == NcclProtocol::kLl128; }},
      {"split: off", [](const Its& its) { return its.split == Its::Split::kOff; }},
      {"split: leaf", [](const Its& its) { return its.split == Its::Split::kLeaf; }},
      {"split: host", [](const Its& its) { return its.split == Its::Split::kHost; }},
      {"step_latency: none", [](const Its& its) { return !its.step_latency; }},
      {"step_latency: nccl", [](const Its& its) { return its.step_latency; }},
      {"merge: false", [](const Its& its) { return !its.merge; }},
      {"matrix: m.csv", [](const Its& its) { return its.matrix == "m.csv"; }},
      {"moe: {routing: expected}",
       [](const Its& its) { return its.moe.routing == Moe::Routing::kExpected; }},
      {"moe: {routing: sampled}",
       [](const Its& its) { return its.moe.routing == Moe::Routing::kSampled; }},
      {"moe: {direction: dispatch}",
       [](const Its& its) { return its.moe.direction == Moe::Direction::kDispatch; }},
      {"moe: {direction: combine}",
       [](const Its& its) { return its.moe.direction == Moe::Direction::kCombine; }}};
  for (const auto& [word, holds] : words) {
    CollectiveSettings settings;
    ReadTestSettings("{op: barrier, " + word + "}", [&](Fields& its) { settings.Declare(its); });
    EXPECT_TRUE(holds(settings)) << word;
  }
}

// Half of the next power of two of ranks, so many blocks at most.
TEST(CollectiveSettingsTest, PatAggregatesAsManyBlocksAsItMay) {
  const std::string pat = "op: all_gather, algorithm: pat, size: 1MB";
  for (const auto& [ranks, most] : {std::pair(2u, 1), {3u, 2}, {6u, 4}, {8u, 4}, {12u, 8}}) {
    const auto aggregate = fmt::format(", aggregate: {}", most);
    EXPECT_EQ(SizesOf(*Made(pat, ranks)), SizesOf(*Made(pat + aggregate, ranks))) << ranks;
  }
  EXPECT_NE(SizesOf(*Made(pat, 8)), SizesOf(*Made(pat + ", aggregate: 2", 8)));
}

// A graph of nothing but one collective is the collective.
TEST(CollectiveSettingsTest, AreTheSameWithinAGraph) {
  constexpr uint32_t kRanks = 8;
  for (const OpAlgorithm& pair : Pairs()) {
    if (pair.algorithm == "hierarchical") continue;  // It is a graph itself.
    CollectiveSettings settings;
    settings.op = pair.its_op;
    settings.algorithm = pair.its_algorithm;
    settings.size = Bytes{pair.op == "barrier" ? 0 : 1'000'001};
    settings.group_size = 2;
    settings.window = 2;
    settings.reduce_rate = 5_Gbps;
    const std::shared_ptr<const Schedule> alone = settings.Make(kRanks, 1, 1);
    auto graph = std::make_shared<OperationGraph>(kRanks);
    graph->AddCollective({alone, {0, 1, 2, 3, 4, 5, 6, 7}, 0, ""});
    for (uint32_t rank = 0; rank < kRanks; ++rank) graph->AddPart(rank, 0);
    const auto within = MakeGraphSchedule(graph);
    SCOPED_TRACE(pair.Text());
    EXPECT_EQ(TimedPlay(*within, StarTimes).ends(), TimedPlay(*alone, StarTimes).ends());
    EXPECT_EQ(within->waits_for_sends(), alone->waits_for_sends());
    EXPECT_EQ(within->Totals().messages, alone->Totals().messages);
    EXPECT_EQ(within->Totals().bytes, alone->Totals().bytes);
    EXPECT_EQ(within->Totals().bytes_of_rank, alone->Totals().bytes_of_rank);
    EXPECT_EQ(within->Totals().largest, alone->Totals().largest);
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      EXPECT_EQ(within->ArrivalsAt(rank), alone->ArrivalsAt(rank));
      EXPECT_EQ(within->IncomingOf(rank), alone->IncomingOf(rank));
    }
  }
}

// --- NCCL ---

TEST(CollectiveNcclTest, FillsInWhatIsNotSet) {
  const std::map<Algorithm, NcclShape> shapes = {
      {Algorithm::kRing, NcclShape::kRing},   {Algorithm::kTree, NcclShape::kTree},
      {Algorithm::kPat, NcclShape::kPat},     {Algorithm::kDoubleTree, NcclShape::kTree},
      {Algorithm::kChain, NcclShape::kChain}, {Algorithm::kDirect, NcclShape::kDirect}};
  for (const OpAlgorithm& pair : Pairs()) {
    if (!shapes.contains(pair.its_algorithm)) continue;
    const NcclShape shape = shapes.at(pair.its_algorithm);
    for (const NcclProtocol protocol :
         {NcclProtocol::kSimple, NcclProtocol::kLl, NcclProtocol::kLl128}) {
      CollectiveSettings settings;
      settings.op = pair.its_op;
      settings.algorithm = pair.its_algorithm;
      settings.size = 12_MB;
      settings.protocol = protocol;
      EXPECT_EQ(settings.nccl_shape(), shape);
      // Without the preset, only servers follow from elsewhere.
      const CollectiveSettings plain = settings.Resolved(16, 4);
      EXPECT_EQ(plain.size, 12_MB);
      EXPECT_EQ(plain.group_size, 4);
      EXPECT_FALSE(plain.channels || plain.chunk || plain.window);

      settings.preset = CollectiveSettings::Preset::kNccl;
      const CollectiveSettings its = settings.Resolved(16, 4);
      EXPECT_EQ(its.size.count, NcclWireBytes(protocol, 12'000'000));
      if (shape == NcclShape::kDirect) {
        EXPECT_EQ(its.window, 8);
        EXPECT_FALSE(its.channels || its.chunk);
        settings.window = 3;
        EXPECT_EQ(settings.Resolved(16, 4).window, 3);
        continue;
      }
      EXPECT_FALSE(its.window);
      EXPECT_EQ(its.channels, 2);
      NcclCollective collective{.protocol = protocol,
                                .shape = shape,
                                .bytes = 12'000'000,
                                .channels = 2,
                                .ranks = 16,
                                .server = 4,
                                .scatters = pair.op == "reduce_scatter"};
      EXPECT_EQ(its.chunk->count, NcclMessage(collective)) << pair.Text();
      settings.channels = 5;
      collective.channels = 5;
      EXPECT_EQ(settings.Resolved(16, 4).channels, 5);
      EXPECT_EQ(settings.Resolved(16, 4).chunk->count, NcclMessage(collective));
      settings.chunk = 77_B;
      settings.group_size = 8;
      EXPECT_EQ(settings.Resolved(16, 4).chunk, 77_B);
      EXPECT_EQ(settings.Resolved(16, 4).group_size, 8);
    }
  }
}

// Of 16 MiB on two channels, a reduce-scatter's chunk is a 32nd, an all-gather's a 64th, as
// nccl_test.cc has it.
TEST(CollectiveNcclTest, PatHasShorterChunksIfItGathers) {
  for (const auto& [op, chunk] : {std::pair(Op::kReduceScatter, 512), {Op::kAllGather, 256}}) {
    CollectiveSettings settings;
    settings.op = op;
    settings.algorithm = Algorithm::kPat;
    settings.size = Bytes{16 << 20};
    settings.preset = CollectiveSettings::Preset::kNccl;
    EXPECT_EQ(settings.Resolved(64, 1).chunk->count, chunk * 1'024);
  }
}

// The preset limits what is unfinished on a connection, unless the user says otherwise; the
// latencies of steps come on top of the user's.
TEST(CollectiveNcclTest, LimitsConnectionsAndDelaysSteps) {
  const std::string ring = "op: all_reduce, size: 1MB";
  EXPECT_EQ(Made(ring)->settings().unfinished, 0u);
  EXPECT_EQ(Made(ring + ", preset: nccl")->settings().unfinished, 4u);
  EXPECT_EQ(Made(ring + ", preset: nccl, protocol: ll")->settings().unfinished, 8u);
  EXPECT_EQ(Made(ring + ", preset: nccl, algorithm: tree")->settings().unfinished, 8u);
  EXPECT_EQ(Made(ring + ", preset: nccl, unfinished: 3")->settings().unfinished, 3u);
  EXPECT_EQ(Made(ring + ", preset: nccl, connections: free")->settings().unfinished, 0u);
  EXPECT_EQ(Made(ring + ", step_latency: nccl")->settings().unfinished, 0u);

  const auto latency = [&](const std::string& more) {
    const auto job = Made(ring + more);
    return std::pair(job->settings().overhead, job->settings().local_overhead);
  };
  EXPECT_EQ(latency(""), std::pair(0_ns, 0_ns));
  EXPECT_EQ(latency(", preset: nccl"), std::pair(0_ns, 0_ns));
  EXPECT_EQ(latency(", step_latency: nccl"), std::pair(14_us, 3'400_ns));
  EXPECT_EQ(latency(", step_latency: nccl, protocol: ll"), std::pair(2'700_ns, 600_ns));
  EXPECT_EQ(latency(", step_latency: nccl, algorithm: tree"), std::pair(14_us, 4_us));
  const auto with_overhead = Made(ring + ", step_latency: nccl, overhead: 1us");
  const auto overhead_alone = Made(ring + ", overhead: 1us");
  EXPECT_EQ(with_overhead->settings().overhead, overhead_alone->settings().overhead + 14_us);
  EXPECT_EQ(with_overhead->settings().local_overhead,
            overhead_alone->settings().local_overhead + 3'400_ns);
}

// --- Algorithms of training steps and traces ---

TEST(GroupAlgorithmsTest, HaveThoseOfTheirOperations) {
  GroupAlgorithms algorithms;
  EXPECT_EQ(algorithms.Of(Op::kAllReduce), Algorithm::kRing);
  EXPECT_EQ(algorithms.Of(Op::kAllGather), Algorithm::kRing);
  EXPECT_EQ(algorithms.Of(Op::kReduceScatter), Algorithm::kRing);
  EXPECT_EQ(algorithms.Of(Op::kAllToAll), Algorithm::kDirect);
  EXPECT_EQ(algorithms.Of(Op::kBroadcast), Algorithm::kBinomial);
  EXPECT_EQ(algorithms.Of(Op::kBarrier), Algorithm::kAuto);
}

// All that have no servers, for training steps without those of all-to-all and broadcast.
TEST(GroupAlgorithmsTest, AreReadByTheirNames) {
  for (const OpAlgorithm& pair : Pairs()) {
    if (pair.op == "barrier" || pair.algorithm == "hierarchical" || pair.algorithm == "rail") {
      continue;
    }
    const std::string yaml = pair.op + ": " + pair.algorithm;
    GroupAlgorithms algorithms;
    ReadTestSettings(yaml, [&](Fields& fields) { algorithms.Declare(fields); });
    EXPECT_EQ(algorithms.Of(pair.its_op), pair.its_algorithm) << yaml;
    if (pair.op == "all_to_all" || pair.op == "broadcast") continue;
    GroupAlgorithms sums;
    ReadTestSettings(yaml, [&](Fields& fields) { sums.DeclareSums(fields); });
    EXPECT_EQ(sums, algorithms) << yaml;
  }
}

}  // namespace heddle::collective_test
