// SPDX-License-Identifier: Apache-2.0
// Chakra traces as JSON.

#include "workload/traces/chakra_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/chakra_file.h"
#include "tests/support/printers.h"
#include "tests/support/trace_kit.h"

namespace heddle::chakra_json_test {

using chakra_file::Bytes;
using chakra_file::Only;
using chakra_file::Read;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

std::string AllReduce(int size, const std::string& more = "") {
  return "{\"workload_graph\": [\n{\"Id\": 1, \"NodeType\": 4, \"runtime\": 2, \"data_deps\": "
         "[]},\n"
         "{\"Id\": 2, \"NodeType\": 7, \"data_deps\": [1], \"comm_type\": 0, \"comm_size\": " +
         std::to_string(size) + more + "}]}";
}

// A ring of two ranks: two steps of half of the buffer.
TEST(ChakraJsonTest, ReadsCollectives) {
  const ReadTrace read = Read({AllReduce(20'000), AllReduce(20'000)}, true);
  EXPECT_THAT(read.errors, IsEmpty());
  EXPECT_EQ(read.Ends()[0], Time{} + 2_us + 2 * StarTimes({.bytes = 10'000}).arrives);
}

TEST(ChakraJsonTest, CollectivesMayBeOfGroups) {
  ChakraSettings settings;
  settings.groups["5"] = {2, 0};
  const std::string member = AllReduce(20'000, ", \"pg_name\": \"5\"");
  const ReadTrace read = Read({member, "{\"workload_graph\": []}", member}, true, settings);
  EXPECT_THAT(read.errors, IsEmpty());
  EXPECT_EQ(read.Ends()[2], Time{} + 2_us + 2 * StarTimes({.bytes = 10'000}).arrives);
  EXPECT_EQ(read.Ends()[1], Time{});
  EXPECT_THAT(Read({member, member}, true).errors,
              ElementsAre("3: node 2: there is no group 5 in comm_groups, nor in the trace"));
  settings.groups["5"] = {2, 1};
  EXPECT_THAT(Read({member, member, member}, true, settings).errors,
              ElementsAre("3: node 2: rank 0 is not in group 5"));
}

// The i-th collective of a group at each rank is the same one, whatever else a rank does before.
TEST(ChakraJsonTest, CollectivesOfAGroupAreCounted) {
  const std::string two =
      "{\"workload_graph\": [\n"
      "{\"Id\": 1, \"NodeType\": 7, \"comm_type\": 0, \"comm_size\": 20000},\n"
      "{\"Id\": 2, \"NodeType\": 7, \"comm_type\": 2, \"comm_size\": 5000, "
      "\"data_deps\": [1]}]}";
  const ReadTrace read = Read({two, two}, true);
  ASSERT_THAT(read.errors, IsEmpty());
  const auto collectives = read.graph->collectives();
  ASSERT_THAT(collectives, SizeIs(2));
  EXPECT_EQ(collectives[0].turn, 0u);
  EXPECT_EQ(collectives[0].group_name, "0");
  EXPECT_EQ(collectives[0].operation.name, "all_reduce");
  EXPECT_EQ(collectives[0].operation.bytes, 20'000);
  EXPECT_EQ(collectives[1].turn, 1u);
  EXPECT_EQ(collectives[1].operation.name, "all_gather");
  EXPECT_EQ(collectives[1].operation.bytes, 2 * 5'000);  // Each rank contributes so much.
  EXPECT_EQ(read.Ends()[0], Time{} + 2 * StarTimes({.bytes = 10'000}).arrives +
                                StarTimes({.bytes = 5'000}).arrives);
}

TEST(ChakraJsonTest, CollectivesHaveTheChosenAlgorithms) {
  ChakraSettings settings;
  settings.algorithms.all_reduce = CollectiveSettings::Algorithm::kRecursiveDoubling;
  const ReadTrace read = Read({AllReduce(20'000), AllReduce(20'000)}, true, settings);
  EXPECT_THAT(read.errors, IsEmpty());
  EXPECT_EQ(read.graph->collectives()[0].operation.algorithm, "recursive_doubling");
  // One step in which the whole buffer is exchanged.
  EXPECT_EQ(read.Ends()[0], Time{} + 2_us + StarTimes({.bytes = 20'000}).arrives);
}

std::string AllToAll(int size) {
  std::string text = AllReduce(size);
  return text.replace(text.find("\"comm_type\": 0"), 14, "\"comm_type\": 6");
}

TEST(ChakraJsonTest, RefusesAlgorithmsThatDoNotGoWithAGroup) {
  ChakraSettings settings;
  settings.algorithms.all_to_all = CollectiveSettings::Algorithm::kPairwise;
  EXPECT_THAT(Read({AllToAll(300), AllToAll(300), AllToAll(300)}, true, settings).errors,
              ElementsAre("3: node 2: pairwise needs a power of two of ranks, not 3; use shift"));
  const std::string two =
      "{\"workload_graph\": [\n{\"Id\": 1, \"NodeType\": 7, \"comm_type\": 6, \"comm_size\": "
      "300},\n"
      "{\"Id\": 2, \"NodeType\": 7, \"comm_type\": 6, \"comm_size\": 300}]}";
  EXPECT_THAT(Read({two, two, two}, true, settings).errors, SizeIs(2));  // Each of rank 0.
  EXPECT_THAT(Read(std::vector<std::string>(257, AllToAll(300)), true).errors,
              ElementsAre("3: node 2: is among 257 ranks; direct sends to all of them at once; "
                          "set algorithms: {all_to_all: shift}"));
}

// Bytes are scaled, and rounded, as those of sends are; see TracesTest for those.
TEST(ChakraJsonTest, CollectivesAreScaled) {
  ChakraSettings settings;
  settings.scale = 0.5;
  const ReadTrace read = Read({AllReduce(20'000), AllReduce(20'000)}, true, settings);
  EXPECT_EQ(read.graph->collectives()[0].operation.bytes, 10'000);
  EXPECT_EQ(read.graph->collectives()[0].schedule->Totals().bytes, 4 * 5'000);
}

// A computation of the CPU runs beside one of the GPU.
TEST(ChakraJsonTest, KnowsOperationsOfTheCpu) {
  const auto end = [](const std::string& is_cpu_op) {
    return Read({"{\"workload_graph\": [{\"Id\": 1, \"NodeType\": 4, \"runtime\": 2},"
                 "{\"Id\": 2, \"NodeType\": 4, \"runtime\": 3, \"is_cpu_op\": " +
                 is_cpu_op + "}]}"},
                true)
        .Ends()[0];
  };
  EXPECT_EQ(end("true"), Time{} + 3_us);
  EXPECT_EQ(end("1"), Time{} + 3_us);
  EXPECT_EQ(end("false"), Time{} + 5_us);
  EXPECT_EQ(end("0"), Time{} + 5_us);
}

// A collective of one rank has nothing to do.
TEST(ChakraJsonTest, AGroupOfOneRankSendsNothing) {
  const ReadTrace read = Read({AllReduce(20'000)}, true);
  EXPECT_THAT(read.errors, IsEmpty());
  EXPECT_EQ(read.Ends()[0], Time{} + 2_us);
}

TEST(ChakraJsonTest, TellsWhichPartsAreMissingOrNoNumbers) {
  const auto errors = [](const std::string& node) {
    return Read({"{\"workload_graph\": [\n{" + node + "}]}"}, true).errors;
  };
  EXPECT_THAT(errors("\"NodeType\": 4"), ElementsAre("2: a node has no Id"));
  EXPECT_THAT(errors("\"Id\": 1"), ElementsAre("2: a node has no NodeType"));
  EXPECT_THAT(errors("\"Id\": 1, \"NodeType\": 4, \"runtime\": \"long\""),
              ElementsAre("2: runtime: \"long\" is no number of microseconds"));
  EXPECT_THAT(errors("\"Id\": 1, \"NodeType\": 4, \"runtime\": -1"),
              ElementsAre("2: runtime: \"-1\" is no number of microseconds"));
  EXPECT_THAT(errors("\"Id\": 1, \"NodeType\": 4, \"runtime\": null"), IsEmpty());
  std::string many = "\"NodeType\": 4}";
  for (int i = 0; i < 99; ++i) many += ",{\"NodeType\": 4}";
  EXPECT_THAT(errors(many + ",{\"Id\": 1, \"NodeType\": 4"), SizeIs(21));
}

TEST(ChakraJsonTest, TellsWhatIsWrong) {
  EXPECT_THAT(Read({"{}"}, true).errors, SizeIs(1));
  EXPECT_THAT(Read({AllReduce(10), AllReduce(20)}, true).errors,
              ElementsAre("3: node 2: is all-reduce of 20 bytes; the first rank of its group has "
                          "all-reduce of 10"));
  EXPECT_THAT(Read({AllReduce(10), "{\"workload_graph\": []}"}, true).errors,
              ElementsAre("3: all_reduce 1 of group 0 needs an operation of each of its 2 ranks; "
                          "rank 1 has none, unlike 0:node2"));
  EXPECT_THAT(Read({"{\"workload_graph\": [\n{\"Id\": -1, \"NodeType\": 4}]}"}, true).errors,
              ElementsAre("2: Id: \"-1\" is no number from 0 on"));
}

TEST(ChakraJsonTest, EachKeyHasItsPlaceInANode) {
  const auto node = [](const std::string& more) {
    return Only("{\"workload_graph\": [{\"Id\": 3, \"NodeType\": 0" + more + "}]}", true);
  };
  EXPECT_THAT(node(""), Pair("id 3, line 1", ""));
  EXPECT_THAT(node(", \"Name\": \"sum\""), Pair("id 3, name sum, line 1", ""));
  EXPECT_THAT(node(", \"runtime\": 2.5"), Pair("id 3, duration 2500000, line 1", ""));
  EXPECT_THAT(node(", \"runtime\": 0"), Pair("id 3, line 1", ""));
  EXPECT_THAT(node(", \"data_deps\": [7, 0]"), Pair("id 3, data 7, data 0, line 1", ""));
  EXPECT_THAT(node(", \"ctrl_deps\": [7, 0]"), Pair("id 3, ctrl 7, ctrl 0, line 1", ""));
  EXPECT_THAT(node(", \"pg_name\": \"tp\""), Pair("id 3, group tp, line 1", ""));
  EXPECT_THAT(node(", \"comm_tag\": 5"), Pair("id 3, tag 5, line 1", ""));
  for (const std::string key : {"comm_type", "comm_size", "comm_src", "comm_dst"}) {
    EXPECT_THAT(node(", \"" + key + "\": 5"), Pair("id 3, " + key + " 5, line 1", ""));
    EXPECT_THAT(node(", \"" + key + "\": 0"), Pair("id 3, " + key + " 0, line 1", ""));
    EXPECT_THAT(node(", \"" + key + "\": null"), Pair("id 3, line 1", ""));
    EXPECT_THAT(node(", \"" + key + "\": -1"),
                Pair("file:1:1: " + key + ": \"-1\" is no number from 0 on", ""));
    EXPECT_THAT(node(", \"" + key + "\": \"x\""),
                Pair("file:1:1: " + key + ": \"x\" is no number from 0 on", ""));
  }
  EXPECT_THAT(node(", \"data_deps\": [-1]"),
              Pair("file:1:1: data_deps: \"-1\" is no number from 0 on", ""));
  EXPECT_THAT(node(", \"inputs\": {\"values\": \"[3]\"}"), Pair("id 3, inputs [3], line 1", ""));
  EXPECT_THAT(node(", \"inputs\": {\"shapes\": 4}"), Pair("id 3, line 1", ""));
  EXPECT_THAT(node(", \"is_cpu_op\": true"), Pair("id 3, cpu 1, line 1", ""));
  EXPECT_THAT(node(", \"colour\": 1"), Pair("id 3, line 1", "ignored: attributes colour"));
}

TEST(ChakraJsonTest, NeedsAListOfNodes) {
  const auto errors = [](const std::string& text) { return Read({text}, true).errors; };
  EXPECT_THAT(errors("{}"), ElementsAre("1: has no list workload_graph"));
  EXPECT_THAT(errors("\n{\"workload_graph\": 5}"), ElementsAre("2: has no list workload_graph"));
  EXPECT_THAT(errors("{\"workload_graph\": [\n5 6]}"), ElementsAre(HasSubstr("not valid JSON")));
  EXPECT_THAT(errors("{\"workload_graph\": []}"), IsEmpty());
}

// All ranks of a group perform the same operation of the same size; none is a size of 0, of which a
// collective has a byte.
TEST(ChakraJsonTest, CollectivesOfAGroupAreAlike) {
  EXPECT_THAT(Read({AllReduce(300), AllToAll(300)}, true).errors,
              ElementsAre("3: node 2: is all-to-all of 300 bytes; the first rank of its group has "
                          "all-reduce of 300"));
  EXPECT_THAT(Read({AllReduce(0), AllReduce(1)}, true).errors,
              ElementsAre("3: node 2: is all-reduce of 1 bytes; the first rank of its group has "
                          "all-reduce of 0"));
  const ReadTrace read = Read({AllReduce(0), AllReduce(0)}, true);
  ASSERT_THAT(read.errors, IsEmpty());
  EXPECT_EQ(read.graph->collectives()[0].operation.bytes, 1);
}

}  // namespace heddle::chakra_json_test
