// SPDX-License-Identifier: Apache-2.0
// The groups that Chakra traces declare.

#include "workload/traces/chakra_graph.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/chakra_file.h"
#include "tests/support/printers.h"
#include "tests/support/trace_kit.h"
#include "workload/traces/chakra_groups.h"

namespace heddle::chakra_groups_test {

using chakra_file::Attribute;
using chakra_file::Bytes;
using chakra_file::kMetadata;
using chakra_file::Node;
using chakra_file::Number;
using chakra_file::Read;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::StartsWith;

// A trace of one collective whose metadata node has `values`.
std::string Declaring(const std::string& values, const std::string& group) {
  return kMetadata + Node(1, 1, Bytes(2, "## process_group:init ##") + Bytes(8, Bytes(1, values))) +
         Node(2, 7,
              Attribute("comm_type", Number(9, 0)) + Attribute("comm_size", Number(9, 20'000)) +
                  Attribute("pg_name", Bytes(29, group)));
}

TEST(ChakraGroupsTest, MetadataNodesDeclareThem) {
  const std::string json =
      R"([{"pg_name": "0", "pg_desc": "default_pg", "ranks": []}, {"pg_name": "5", "ranks": [0, 2]}])";
  std::string escaped;
  for (const char c : json) escaped += c == '"' ? std::string("\\\"") : std::string(1, c);
  const Time ends = Time{} + 2 * StarTimes({.bytes = 10'000}).arrives;
  // As PyTorch's recorder and its converters write it.
  for (const std::string& values :
       {json, "['" + json + "']", "[\"" + escaped + "\"]", "[[" + json + "]]", "'" + json + "'"}) {
    const std::string member = Declaring(values, "5");
    const ReadTrace read = Read({member, kMetadata, member});
    EXPECT_THAT(read.errors, IsEmpty()) << values;
    if (!read.graph) continue;
    EXPECT_THAT(read.Ends(), ElementsAre(ends, Time{}, ends)) << values;
    EXPECT_EQ(read.graph->collectives()[0].group_name, "5");
  }
  // An empty list of ranks: all.
  const std::string all = Declaring("['" + json + "']", "0");
  EXPECT_EQ(Read({all, all, all}).graph->collectives()[0].group, (std::vector<uint32_t>{0, 1, 2}));
}

// Ranks may give one name to groups of their own.
TEST(ChakraGroupsTest, OneNameMayBeThatOfSeveral) {
  const auto of = [](const char* ranks) {
    return Declaring(std::string(R"([{"pg_name": "tp", "ranks": )") + ranks + "}]", "tp");
  };
  const ReadTrace read = Read({of("[0, 1]"), of("[0, 1]"), of("[2, 3]"), of("[2, 3]")});
  EXPECT_THAT(read.errors, IsEmpty());
  ASSERT_THAT(read.graph->collectives(), SizeIs(2));
  EXPECT_EQ(read.graph->collectives()[1].group, (std::vector<uint32_t>{2, 3}));
  EXPECT_EQ(read.graph->collectives()[1].turn, 0u);
}

TEST(ChakraGroupsTest, TellWhatIsWrong) {
  const auto errors = [](const std::string& values) {
    return Read({Declaring(values, "0"), Declaring(values, "0")}).errors;
  };
  EXPECT_THAT(errors("[{\"pg_name\": "),
              ElementsAre(" node 1: expected a JSON list of groups, with pg_name and ranks"));
  EXPECT_THAT(errors(R"({"pg_name": "1"})"),
              ElementsAre(" node 1: expected a JSON list of groups, with pg_name and ranks"));
  EXPECT_THAT(errors(R"([{"pg_name": "1", "ranks": [0, 2]}])"),
              ElementsAre(" node 1: group 1: \"2\" is no rank of 2"));
  EXPECT_THAT(errors(R"([{"pg_name": "1", "ranks": [0, 0]}])"),
              ElementsAre(" node 1: group 1: rank 0 is there twice"));
  EXPECT_THAT(errors(R"([{"name": "pg_name"}])"), ElementsAre(" node 1: a group has no pg_name"));
  EXPECT_THAT(errors("[3, 4]"), IsEmpty());  // Declares nothing.
}

ChakraGroups GroupsFrom(const std::string& text, std::vector<std::string>& errors) {
  ChakraGroups groups;
  errors = ReadTraceWith([&](FileErrors& its) -> std::optional<OperationGraph> {
             groups = ReadChakraGroups(text, 4, its);
             return std::nullopt;
           }).errors;
  return groups;
}

TEST(ChakraGroupsTest, MayStandInAFile) {
  std::vector<std::string> errors;
  EXPECT_THAT(GroupsFrom(R"({"1": [0, 3], "all": []})", errors),
              ElementsAre(Pair("1", ElementsAre(0, 3)), Pair("all", IsEmpty())));
  EXPECT_THAT(errors, IsEmpty());
  GroupsFrom("{\"1\": [0, 4],\n\"2\": [1, 1],\n\"3\": 2}", errors);
  EXPECT_THAT(errors, ElementsAre(StartsWith("1:"), StartsWith("2:"), StartsWith("3:")));
  EXPECT_THAT(errors[0], HasSubstr("group 1: \"4\" is no rank of 4"));
  EXPECT_THAT(errors[1], HasSubstr("group 2: rank 1 is there twice"));
  EXPECT_THAT(errors[2], HasSubstr("group 3: expected a list of ranks, found \"2\""));
  GroupsFrom("[1, 2]", errors);
  EXPECT_THAT(errors, ElementsAre(" has no map of groups such as {\"1\": [0, 1]}"));
  std::string many = "{\"1\": [";
  for (int i = 0; i < 50; ++i) many += "9, ";
  GroupsFrom(many + "9]}", errors);
  EXPECT_THAT(errors, SizeIs(21));
}

// What one rank declares is not known at the others.
TEST(ChakraGroupsTest, BelongToTheRankThatDeclaresThem) {
  const std::string declared = R"([{"pg_name": "tp", "ranks": [0, 1]}])";
  const std::string use = kMetadata + Node(2, 7,
                                           Attribute("comm_type", Number(9, 0)) +
                                               Attribute("comm_size", Number(9, 20'000)) +
                                               Attribute("pg_name", Bytes(29, "tp")));
  EXPECT_THAT(Read({Declaring(declared, "tp"), use}).errors,
              ElementsAre(" node 2: there is no group tp in comm_groups, nor in the trace"));
  EXPECT_THAT(Read({Declaring(declared, "tp"), Declaring(declared, "tp")}).errors, IsEmpty());
}

// The file of groups goes before the trace, and may say that group 0 is not all ranks.
TEST(ChakraGroupsTest, ThoseOfTheFileGoFirst) {
  const std::string declared = R"([{"pg_name": "tp", "ranks": [0, 1, 2]}])";
  ChakraSettings settings;
  settings.groups["tp"] = {1, 0};
  const std::string member = Declaring(declared, "tp");
  const ReadTrace read = Read({member, member, kMetadata}, false, settings);
  EXPECT_THAT(read.errors, IsEmpty());
  EXPECT_EQ(read.graph->collectives()[0].group, (std::vector<uint32_t>{1, 0}));
  settings.groups["0"] = {2, 0};
  const std::string of_0 = Declaring(declared, "0");
  EXPECT_EQ(Read({of_0, kMetadata, of_0}, false, settings).graph->collectives()[0].group,
            (std::vector<uint32_t>{2, 0}));
}

TEST(ChakraGroupsTest, AFileOfGroupsIsJson) {
  std::vector<std::string> errors;
  EXPECT_THAT(GroupsFrom("{\"1\": [0, 1]", errors), IsEmpty());
  EXPECT_THAT(errors, ElementsAre(HasSubstr("not valid JSON")));
  EXPECT_THAT(GroupsFrom("{\"1\": [-1, 0, 3, 4, \"x\"]}", errors),
              ElementsAre(Pair("1", ElementsAre(0, 3))));
  EXPECT_THAT(errors,
              ElementsAre("1: group 1: \"-1\" is no rank of 4", "1: group 1: \"4\" is no rank of 4",
                          "1: group 1: \"x\" is no rank of 4"));
  EXPECT_THAT(GroupsFrom("{}", errors), IsEmpty());
  EXPECT_THAT(errors, IsEmpty());
  std::string many = "{";
  for (int i = 0; i < 30; ++i) many += fmt::format("\"{}\": 5, ", i);
  GroupsFrom(many + "\"x\": 5}", errors);
  EXPECT_THAT(errors, SizeIs(21));
}

// A quote behind a backslash does not end the text; one at the very end is none.
TEST(ChakraGroupsTest, QuotedValuesEndAtTheirQuote) {
  const auto errors = [](const std::string& values) {
    return Read({kMetadata + Node(1, 1, Bytes(8, Bytes(1, values)))}).errors;
  };
  const std::string_view expected =
      " node 1: expected a JSON list of groups, with pg_name and ranks";
  EXPECT_THAT(errors(R"('[{"pg_name": "a", "ranks": [0]}]' more)"), IsEmpty());
  EXPECT_THAT(errors(R"("[{\"pg_name\": \"a\"}]", "x")"), IsEmpty());
  EXPECT_THAT(errors(R"('[{"pg_name": "a"}])"), IsEmpty());  // The end of the values is one, too.
  EXPECT_THAT(errors(R"('[{"pg_name": "a"}]\)"), testing::Not(IsEmpty()));
  EXPECT_THAT(errors("pg_name"), ElementsAre(expected));
  EXPECT_THAT(errors(R"([[{"pg_name": "a"}], [{"pg_name": "b"}]])"), testing::Not(IsEmpty()));
}

// Without quotes around them, values are JSON as they stand.
TEST(ChakraGroupsTest, BackslashesOfPlainValuesAreTheirOwn) {
  EXPECT_THAT(Read({Declaring(R"([{"pg_name": "a\"b", "ranks": [0]}])", "a\"b")}).errors,
              IsEmpty());
}

TEST(ChakraIgnoredTest, RemembersAThousandAttributes) {
  ChakraIgnored ignored;
  for (int i = 0; i < 1'500; ++i) ignored.NoteAttribute(std::to_string(i));
  EXPECT_EQ(ignored.attributes.size(), 1'000u);
  EXPECT_TRUE(ignored.attributes.contains("999"));
}

}  // namespace heddle::chakra_groups_test
