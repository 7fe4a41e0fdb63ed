// SPDX-License-Identifier: Apache-2.0
// Binary GOAL, written here byte by byte as the format's description has it.

#include "workload/traces/goal_binary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/printers.h"
#include "tests/support/trace_kit.h"

namespace heddle::goal_binary_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

void Put(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> 8 * i & 0xff));
}

struct Op {
  uint8_t type;  // 1 send, 2 recv, 3 calc.
  uint32_t peer;
  uint64_t size;
  uint32_t tag;
  std::vector<uint32_t> after;             // Operations that require it,
  std::vector<uint32_t> after_start = {};  // and that irequire it.
  uint32_t befores = 0;
  uint8_t nic = 0;
};

std::string ScheduleOf(const std::vector<Op>& ops) {
  std::string out;
  std::vector<uint32_t> roots;
  for (uint32_t i = 0; i < ops.size(); ++i) {
    if (ops[i].befores == 0) roots.push_back(i);
  }
  Put(out, ops.size(), 4);
  Put(out, roots.size(), 4);
  for (const uint32_t root : roots) Put(out, root, 4);
  std::vector<uint32_t> numbers;
  for (const Op& op : ops) {
    Put(out, op.befores, 4);
    Put(out, op.type, 1);
    Put(out, op.peer, 4);
    Put(out, op.size, 8);
    Put(out, op.tag, 4);
    Put(out, 0, 1);
    Put(out, op.nic, 1);
    for (const std::vector<uint32_t>* list : {&op.after, &op.after_start}) {
      Put(out, list->size(), 4);
      Put(out, numbers.size(), 4);
      numbers.insert(numbers.end(), list->begin(), list->end());
    }
  }
  for (const uint32_t number : numbers) Put(out, number, 4);
  return out;
}

std::string FileOf(const std::vector<std::string>& schedules, uint64_t magic = 4223) {
  std::string out;
  Put(out, magic, 8);
  Put(out, schedules.size(), 4);
  Put(out, 0, 2);
  uint64_t at = 4 + 2 + 16 * schedules.size();  // From byte 8 on.
  for (const std::string& schedule : schedules) {
    Put(out, at, 8);
    Put(out, at += schedule.size(), 8);
  }
  for (const std::string& schedule : schedules) out += schedule;
  return out;
}

ReadTrace Read(const std::string& bytes) {
  return ReadTraceWith(
      [&](TraceErrors& errors) { return ReadGoalBinary(bytes, GoalSettings(), errors); });
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

}  // namespace heddle::goal_binary_test
