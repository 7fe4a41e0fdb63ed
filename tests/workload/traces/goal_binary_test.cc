// SPDX-License-Identifier: Apache-2.0
// Binary GOAL, from files that tests/support/goal_file.h writes.

#include "workload/traces/goal_binary.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/random.h"
#include "tests/support/goal_file.h"
#include "tests/support/printers.h"
#include "tests/support/trace_kit.h"
#include "workload/traces/goal_text.h"

namespace heddle::goal_binary_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using namespace goal_file;

ReadTrace Read(const std::string& bytes) {
  return ReadTraceWith(
      [&](FileErrors& errors) { return ReadGoalBinary(bytes, GoalSettings(), errors); });
}

const std::vector<Op> kPing = {
    {3, 0, 1'000, 0, {1}}, {1, 1, 10'000, 7, {}, {}, 1}, {2, 1, 2'000, 8, {}}};
const std::vector<Op> kPong = {
    {2, 0, 10'000, 7, {1}}, {3, 0, 500, 0, {2}, {}, 1}, {1, 0, 2'000, 8, {}, {}, 1}};

TEST(GoalBinaryTest, ReadsAPingPong) {
  const ReadTrace read = Read(FileOf({ScheduleOf(kPing), ScheduleOf(kPong)}));
  EXPECT_THAT(read.errors, IsEmpty());
  EXPECT_THAT(read.Ends(), ElementsAre(Time{6'673'760}, Time{4'422'240}));
}

TEST(GoalBinaryTest, AStartMayBeRequired) {
  std::vector<Op> ping = kPing;
  std::swap(ping[0].after, ping[0].after_start);
  EXPECT_EQ(Read(FileOf({ScheduleOf(ping), ScheduleOf(kPong)})).Ends()[0], Time{5'673'760});
}

TEST(GoalBinaryTest, ReadsWildcards) {
  const ReadTrace read = Read(
      FileOf({ScheduleOf({{1, 1, 5, 3, {}}}), ScheduleOf({{2, 0xffffffff, 5, 0xffffffff, {}}})}));
  EXPECT_THAT(read.errors, IsEmpty());
  EXPECT_EQ(read.graph->At(1, 0).peer, kAnyRank);
  EXPECT_EQ(read.graph->At(1, 0).tag, kAnyTag);
}

TEST(GoalBinaryTest, TellsWhatIsWrong) {
  const auto errors = [](const std::vector<Op>& ops) {
    return Read(FileOf({ScheduleOf(ops)})).errors;
  };
  EXPECT_THAT(Read("").errors, ElementsAre(" does not begin as a binary GOAL schedule does"));
  EXPECT_THAT(Read(FileOf({}, 2342)).errors,
              ElementsAre(" is a schedule that LogGOPSim has used up; make it anew"));
  EXPECT_THAT(errors({{4, 0, 1, 0, {}}}), ElementsAre(" rank 0: operation 0 is of unknown type 4"));
  EXPECT_THAT(errors({{1, 7, 1, 0, {}}}),
              ElementsAre(" rank 0: operation 0 has peer 7; there are 1 ranks"));
  EXPECT_THAT(errors({{3, 0, 1, 0, {5}}}),
              ElementsAre(" rank 0: there is no operation 5, which waits for 0"));
  EXPECT_THAT(errors({{3, 0, 1, 0, {1}}, {3, 0, 1, 0, {}}}),
              ElementsAre(" rank 0: operation 1 waits for 0 others, but 1 name it"));
  EXPECT_THAT(errors({{3, 0, 1, 0, {}, {}, 1}}),
              ElementsAre(" rank 0: operation 0 waits for 1 others, but 0 name it"));
  EXPECT_THAT(errors({{3, 0, uint64_t{1} << 63, 0, {}}}), SizeIs(1));
  EXPECT_THAT(errors({{1, 0, 5, 7, {}}}),
              ElementsAre(" 1 send from 0 to 0 with tag 7 has no recv: op0"));
}

TEST(GoalBinaryTest, StopsAfterTwentyMistakes) {
  const std::vector<Op> bad(100, Op{4, 0, 1, 0, {}});
  EXPECT_THAT(Read(FileOf({ScheduleOf(bad), ScheduleOf(bad)})).errors, SizeIs(21));
}

TEST(GoalBinaryTest, NamesTheNicsOfMessages) {
  std::vector<Op> ping = kPing;
  for (Op& op : ping) op.nic = 3;
  const ReadTrace named = Read(FileOf({ScheduleOf(ping), ScheduleOf(kPong)}));
  EXPECT_THAT(named.warnings, IsEmpty());
  EXPECT_EQ(named.graph->At(0, 0).nic, kUnnamedNic);  // A computation.
  EXPECT_EQ(named.graph->At(0, 1).nic, 3);
  EXPECT_EQ(named.graph->At(1, 0).nic, 0);
  const ReadTrace unnamed = Read(FileOf({ScheduleOf(kPing), ScheduleOf(kPong)}));
  EXPECT_EQ(unnamed.graph->At(0, 1).nic, kUnnamedNic);
}

// Wherever the file is cut off, something is missing.
TEST(GoalBinaryTest, RefusesAFileThatIsCutOff) {
  const std::string whole = FileOf({ScheduleOf(kPing), ScheduleOf(kPong)});
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_THAT(Read(whole.substr(0, length)).errors, SizeIs(testing::Ge(1u))) << length;
  }
  EXPECT_THAT(Read(whole.substr(0, 13)).errors, ElementsAre(" ends within its header"));
  EXPECT_THAT(Read(whole.substr(0, 45)).errors,
              ElementsAre(" has 2 ranks, for which it is too short, or they are too many"));
}

// The operations of a graph and what they wait for, in words.
std::vector<std::string> WordsOf(const OperationGraph& graph) {
  std::vector<std::string> words;
  for (uint32_t rank = 0; rank < graph.ranks(); ++rank) {
    for (const Operation& op : graph.OpsOf(rank)) {
      words.push_back(fmt::format("{} {} peer {} bytes {} tag {} time {} stream {} nic {}", rank,
                                  WordOf(op.kind), op.peer, op.bytes, op.tag, op.time.ps, op.stream,
                                  op.nic));
    }
    std::vector<std::string> edges;
    for (const auto& [before, after, at_start] : graph.EdgesOf(rank)) {
      edges.push_back(fmt::format("{}: {} -> {} {}", rank, before, after, at_start));
    }
    std::ranges::sort(edges);
    words.insert(words.end(), edges.begin(), edges.end());
  }
  return words;
}

// Random schedules, written in both forms of GOAL, are the same graph.
TEST(GoalBinaryTest, IsWhatTheTextSays) {
  Rng rng = Rng::Stream(1, "goal", 0);
  for (int round = 0; round < 50; ++round) {
    const uint32_t ranks = 1 + rng.Below(4);
    std::vector<std::string> schedules;
    std::string text = fmt::format("num_ranks {}\n", ranks);
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      std::vector<Op> ops(rng.Below(6));
      text += fmt::format("rank {} {{\n", rank);
      for (size_t i = 0; i < ops.size(); ++i) {
        Op& op = ops[i];
        op = {static_cast<uint8_t>(1 + rng.Below(3)),
              rng.Below(ranks),
              rng.Next() >> 30,
              rng.Below(3) == 0 ? 0xfffffffe : rng.Below(9),
              {}};
        op.cpu = static_cast<uint8_t>(rng.Below(256));
        const std::string cpu = fmt::format("cpu {}", op.cpu);
        if (op.type == 3) {
          text += fmt::format("l{}: calc {} {}\n", i, op.size, cpu);
          continue;
        }
        op.nic = static_cast<uint8_t>(rng.Below(256));
        const bool any_peer = op.type == 2 && rng.Below(3) == 0;
        const bool any_tag = op.type == 2 && rng.Below(3) == 0;
        if (any_peer) op.peer = 0xffffffff;
        if (any_tag) op.tag = 0xffffffff;
        text += fmt::format("l{}: {} {}b {} {} tag {} {} nic {}\n", i,
                            op.type == 1 ? "send" : "recv", op.size, op.type == 1 ? "to" : "from",
                            any_peer ? "-1" : fmt::to_string(op.peer),
                            any_tag ? "-1" : fmt::to_string(op.tag), cpu, op.nic);
      }
      for (uint32_t after = 1; after < ops.size(); ++after) {
        for (uint32_t before = 0; before < after; ++before) {
          const uint32_t kind = rng.Below(4);
          if (kind > 1) continue;
          text += fmt::format("l{} {}requires l{}\n", after, kind == 1 ? "i" : "", before);
          (kind == 1 ? ops[before].after_start : ops[before].after).push_back(after);
          ++ops[after].befores;
        }
      }
      text += "}\n";
      schedules.push_back(ScheduleOf(ops));
    }
    Diagnostics diagnostics;
    FileErrors errors("file", diagnostics);
    const GoalSettings settings{.calc_unit = 1_ps, .o = 3_ps, .O = {}, .g = 2_ps, .S = {}};
    const auto binary = ReadGoalBinary(FileOf(schedules), settings, errors);
    const auto from_text = ReadGoalText(text, settings, errors);
    ASSERT_TRUE(diagnostics.ok()) << diagnostics.Report() << text;
    EXPECT_EQ(WordsOf(*binary), WordsOf(*from_text)) << text;
  }
}

TEST(GoalBinaryTest, ASchedulesHeadIsNeeded) {
  const auto errors = [](const std::string& schedule) { return Read(FileOf({schedule})).errors; };
  const std::string none = ScheduleOf({});
  ASSERT_EQ(none.size(), 8u);  // No operations, and no roots.
  EXPECT_THAT(errors(none), IsEmpty());
  for (size_t length = 0; length < 8; ++length) {
    EXPECT_THAT(errors(none.substr(0, length)),
                ElementsAre(" rank 0: its schedule ends before its 0 operations"))
        << length;
  }
  // Cut off within the roots, or within the last operation.
  const std::string two = ScheduleOf({{3, 0, 1, 0, {}}, {3, 0, 1, 0, {}}});
  for (const size_t length : {size_t{8}, size_t{15}, size_t{16}, two.size() - 1}) {
    EXPECT_THAT(errors(two.substr(0, length)),
                ElementsAre(" rank 0: its schedule ends before its 2 operations"))
        << length;
  }
  EXPECT_THAT(errors(two), IsEmpty());
}

// Places of schedules count from byte 8.
TEST(GoalBinaryTest, SchedulesLieWithinTheFile) {
  const std::string none = ScheduleOf({});
  const auto errors = [&](uint64_t begin, uint64_t end) {
    std::string file = FileOf({none});
    std::string place;
    Put(place, begin, 8);
    Put(place, end, 8);
    file.replace(14, 16, place);
    return Read(file).errors;
  };
  EXPECT_THAT(errors(22, 30), IsEmpty());
  const std::string beyond = " rank 0: its schedule lies beyond the file";
  EXPECT_THAT(errors(22, 31), ElementsAre(beyond));
  EXPECT_THAT(errors(31, 30), ElementsAre(beyond));
  EXPECT_THAT(errors(30, 22), ElementsAre(beyond));
  EXPECT_THAT(errors(uint64_t{0} - 8, 30), ElementsAre(beyond));
  EXPECT_THAT(errors(22, uint64_t{0} - 1), ElementsAre(beyond));
  EXPECT_THAT(errors(30, 30), ElementsAre(" rank 0: its schedule ends before its 0 operations"));
}

TEST(GoalBinaryTest, HasAtLeastOneRankAndSpaceForAll) {
  const auto errors = [](uint64_t ranks, size_t space) {
    std::string file;
    Put(file, 4'223, 8);
    Put(file, ranks, 4);
    return Read(file + std::string(2 + space, '\0')).errors;
  };
  const auto refused = [](uint64_t ranks) {
    return fmt::format(" has {} ranks, for which it is too short, or they are too many", ranks);
  };
  EXPECT_THAT(errors(0, 100), ElementsAre(refused(0)));
  EXPECT_THAT(errors(2, 31), ElementsAre(refused(2)));
  EXPECT_THAT(errors(2, 32), testing::Each(testing::HasSubstr("its schedule ends before")));
  EXPECT_THAT(errors((1 << 20) + 1, 16 * ((1 << 20) + 1)), ElementsAre(refused((1 << 20) + 1)));
  EXPECT_THAT(errors(1 << 20, 16 << 20), SizeIs(21));  // The schedules are wrong, not the number.
}

TEST(GoalBinaryTest, NumbersHaveLimits) {
  const auto errors = [](const Op& op) {
    Diagnostics diagnostics;
    FileErrors trace_errors("file", diagnostics);
    ReadGoalBinary(FileOf({ScheduleOf({op}), ScheduleOf({})}), GoalSettings(), trace_errors);
    return diagnostics.errors();
  };
  const std::string first = "file: rank 0: operation 0 ";
  const uint64_t largest = std::numeric_limits<int64_t>::max();
  EXPECT_THAT(errors({1, 1, largest, 0, {}}), IsEmpty());
  EXPECT_THAT(errors({1, 1, largest + 1, 0, {}}),
              ElementsAre(first + "has a size of 9223372036854775808, which is too large"));
  EXPECT_THAT(errors({0, 0, 1, 0, {}}), ElementsAre(first + "is of unknown type 0"));
  for (const uint8_t type : {uint8_t{1}, uint8_t{2}}) {
    EXPECT_THAT(errors({type, 1, 1, 0, {}}), IsEmpty());
    EXPECT_THAT(errors({type, 2, 1, 0, {}}), ElementsAre(first + "has peer 2; there are 2 ranks"));
  }
  EXPECT_THAT(errors({1, 0xffffffff, 1, 0, {}}),
              ElementsAre(first + "has peer 4294967295; there are 2 ranks"));
  EXPECT_THAT(errors({3, 7, 1'000'000'000'000, 0, {}}), IsEmpty());  // Its peer means nothing.
  EXPECT_THAT(errors({3, 0, 1'000'000'000'001, 0, {}}),
              ElementsAre(first + "takes longer than 1000 s"));
}

// A send with the tag that means any tag of a receive has that very tag.
TEST(GoalBinaryTest, OnlyReceivesTakeAnyTag) {
  const ReadTrace read =
      Read(FileOf({ScheduleOf({{1, 1, 5, 0xffffffff, {}}}), ScheduleOf({{2, 0, 5, 7, {}}})}));
  EXPECT_EQ(read.graph->At(0, 0).tag, 0xffffffff);
  EXPECT_EQ(read.graph->At(1, 0).tag, 7);
}

// The numbers of those that wait for an operation lie behind all operations.
TEST(GoalBinaryTest, DependenciesLieWithinTheSchedule) {
  const std::string schedule = ScheduleOf({{3, 0, 1, 0, {1}}, {3, 0, 1, 0, {}, {}, 1}});
  const size_t count = 4 + 4 + 4 + 4 + 1 + 4 + 8 + 4 + 1 + 1;
  const auto errors = [&](uint64_t how_many, uint64_t first) {
    std::string changed = schedule;
    std::string range;
    Put(range, how_many, 4);
    Put(range, first, 4);
    changed.replace(count, 8, range);
    return Read(FileOf({changed})).errors;
  };
  EXPECT_THAT(errors(1, 0), IsEmpty());
  const std::string beyond = " rank 0: operation 0 names others beyond the schedule";
  for (const auto& [how_many, first] :
       {std::pair<uint64_t, uint64_t>{2, 0}, {1, 1}, {2, 0xffffffff}, {0xffffffff, 1}}) {
    EXPECT_THAT(errors(how_many, first),
                ElementsAre(beyond, " rank 0: operation 1 waits for 1 others, but 0 name it"));
  }
  EXPECT_THAT(errors(0, 1), ElementsAre(" rank 0: operation 1 waits for 1 others, but 0 name it"));
}

// All ranks are looked at, up to twenty mistakes.
TEST(GoalBinaryTest, NamesTheMistakesOfSeveralRanks) {
  const std::string bad = ScheduleOf({{4, 0, 1, 0, {}}});
  EXPECT_THAT(Read(FileOf({bad, "", bad})).errors,
              ElementsAre(" rank 0: operation 0 is of unknown type 4",
                          " rank 1: its schedule ends before its 0 operations",
                          " rank 2: operation 0 is of unknown type 4"));
  const std::vector<uint32_t> nobody(30, 9);
  EXPECT_THAT(Read(FileOf({ScheduleOf({{3, 0, 1, 0, nobody}})})).errors, SizeIs(21));
  const std::vector<Op> waiting(30, Op{3, 0, 1, 0, {}, {}, 1});
  EXPECT_THAT(Read(FileOf({ScheduleOf(waiting)})).errors, SizeIs(21));
}

}  // namespace heddle::goal_binary_test
