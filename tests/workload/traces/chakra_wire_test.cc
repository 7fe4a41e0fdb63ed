// SPDX-License-Identifier: Apache-2.0
// Chakra traces as protobuf.

#include "workload/traces/chakra_graph.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/chakra_file.h"
#include "tests/support/printers.h"
#include "tests/support/trace_kit.h"

namespace heddle::chakra_wire_test {

using chakra_file::Attribute;
using chakra_file::Bytes;
using chakra_file::Framed;
using chakra_file::kMetadata;
using chakra_file::Node;
using chakra_file::Number;
using chakra_file::Only;
using chakra_file::Read;
using chakra_file::Varint;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;

// The smallest file, as the format's description has it in hexadecimal.
TEST(ChakraWireTest, ReadsTheSmallestFile) {
  const unsigned char bytes[] = {0x07, 0x0a, 0x05, 0x30, 0x2e, 0x30, 0x2e, 0x34, 0x22, 0x08, 0x01,
                                 0x18, 0x05, 0x52, 0x0c, 0x0a, 0x08, 0x63, 0x6f, 0x6d, 0x6d, 0x5f,
                                 0x64, 0x73, 0x74, 0x38, 0x01, 0x52, 0x0e, 0x0a, 0x09, 0x63, 0x6f,
                                 0x6d, 0x6d, 0x5f, 0x73, 0x69, 0x7a, 0x65, 0x48, 0xe8, 0x07};
  const std::string file(reinterpret_cast<const char*>(bytes), sizeof(bytes));
  EXPECT_EQ(file, kMetadata + Node(1, 5,
                                   Attribute("comm_dst", Number(7, 1)) +
                                       Attribute("comm_size", Number(9, 1'000))));
  const ReadTrace read =
      Read({file, kMetadata + Node(4, 6,
                                   Attribute("comm_src", Number(7, 0)) +
                                       Attribute("comm_size", Number(9, 1'000)))});
  EXPECT_THAT(read.errors, IsEmpty());
  EXPECT_EQ(read.Ends()[1], Time{} + StarTimes({.bytes = 1'000}).arrives);
}

// A computation, and a send that depends on it; fields that Heddle does not know, and numbers of
// every type.
TEST(ChakraWireTest, ReadsFieldsOfAllTypes) {
  const std::string fixed = Varint(21 << 3 | 1) + std::string("\xe8\x03\0\0\0\0\0\0", 8);
  const std::string zero = Varint(19 << 3 | 5) + std::string(4, '\0');
  const std::string sender =
      kMetadata +
      Node(9, 5,
           Bytes(5, Varint(7)) + Number(99, 3) + Attribute("comm_dst", Number(17, 2)) +
               Attribute("comm_size", fixed) + Attribute("colour", Bytes(29, "red"))) +
      Node(7, 4, Number(7, 3) + Attribute("is_cpu_op", Number(27, 1)));
  const std::string receiver =
      kMetadata + Node(1, 6, Attribute("comm_src", zero) + Attribute("comm_size", fixed));
  const ReadTrace read = Read({sender, receiver});
  EXPECT_THAT(read.errors, IsEmpty());
  EXPECT_EQ(read.Ends()[1], Time{} + 3_us + StarTimes({.bytes = 1'000}).arrives);
}

// Sends of tags 4 and 3, whose receives stand the other way round.
TEST(ChakraWireTest, MessagesFindEachOtherByTheirTags) {
  const auto message = [](uint64_t id, bool is_send, int64_t bytes, uint64_t tag) {
    return Node(id, is_send ? 5 : 6,
                Attribute(is_send ? "comm_dst" : "comm_src", Number(9, is_send ? 1 : 0)) +
                    Attribute("comm_size", Number(9, static_cast<uint64_t>(bytes))) +
                    Attribute("comm_tag", Number(9, tag)));
  };
  const ReadTrace read = Read({kMetadata + message(1, true, 10, 4) + message(2, true, 20, 3),
                               kMetadata + message(1, false, 20, 3) + message(2, false, 10, 4)});
  EXPECT_THAT(read.errors, IsEmpty());
  EXPECT_EQ(read.graph->At(1, 0).tag, 3);
}

// -1 as a sint64, and as an sfixed32.
TEST(ChakraWireTest, NumbersMayBeNegative) {
  const std::string minus_one = Varint(23 << 3 | 5) + std::string(4, '\xff');
  for (const std::string& number : {Number(17, 1), minus_one}) {
    const auto send = [&](const char* name) {
      return Read({kMetadata +
                   Node(3, 5,
                        Attribute("comm_dst", Number(7, 0)) + Attribute("comm_size", Number(9, 1)) +
                            Attribute(name, number))})
          .errors;
    };
    EXPECT_THAT(send("comm_size"), ElementsAre(" node 3: has no comm_size from 0 on"));
    EXPECT_THAT(send("comm_tag"), ElementsAre(" node 3: has a comm_tag below 0"));
    EXPECT_THAT(send("comm_dst"), ElementsAre(" node 3: comm_dst is no rank of 1"));
  }
}

TEST(ChakraWireTest, RefusesWhatIsNoProtobuf) {
  const std::vector<std::string> bad = {
      Varint(3 << 3 | 3),                              // A type that does not exist.
      Number(1, 7) + Varint(2 << 3) + "\xff",          // A number that does not end.
      Varint(2 << 3) + std::string(10, '\xff') + "1",  // A number that is too long.
      Varint(2 << 3 | 1) + "1234567",                  // Seven bytes of eight.
      Bytes(5, "\xff"),
      Bytes(8, Varint(1 << 3 | 2) + Varint(9)),
      Bytes(9, Varint(1 << 3 | 2) + Varint(9)),
      Number(8, 1),
      Number(9, 1),
      Number(10, 1),
      Number(10, 1) + Number(4, 7)};  // What is behind it does not mend it.
  for (const std::string& node : bad) {
    EXPECT_THAT(Read({kMetadata + Framed(node)}).errors,
                ElementsAre(" message 1 is no node, or cut off"));
  }
  // Tensors with fields of other types are read over.
  const std::string tensors = Number(2, 5) + Bytes(1, "[3]");
  EXPECT_THAT(Read({kMetadata + Node(1, 4, Bytes(8, tensors) + Bytes(9, tensors))}).errors,
              IsEmpty());
}

// Outputs have shapes, too.
TEST(ChakraWireTest, ShapesOfOutputsAreIgnored) {
  EXPECT_THAT(Read({kMetadata + Node(1, 4, Bytes(9, Bytes(2, "[[4]]")))}).warnings,
              ElementsAre("file: ignored: shapes"));
}

TEST(ChakraWireTest, TellsWhatIsWrong) {
  EXPECT_THAT(Read({""}).errors, ElementsAre(" does not begin with Chakra's GlobalMetadata"));
  EXPECT_THAT(Read({kMetadata + "\x05\x08"}).errors,
              ElementsAre(" message 1 is no node, or cut off"));
  EXPECT_THAT(Read({kMetadata + Node(3, 2, "")}).errors,
              ElementsAre(" node 3: accesses memory, which is not modelled; set memory: ignore"));
  EXPECT_THAT(Read({kMetadata + Node(3, 4, Number(5, 8))}).errors,
              ElementsAre(" node 3: depends on node 8, which does not exist"));
  EXPECT_THAT(Read({kMetadata + Node(3, 4, "") + Node(3, 4, "")}).errors,
              ElementsAre(" node 3: has the id of another node"));
  EXPECT_THAT(Read({kMetadata + Node(3, 7, Attribute("comm_type", Number(9, 3)))}).errors,
              ElementsAre(" node 3: gather is not modelled"));
  EXPECT_THAT(Read({kMetadata + Node(3, 5, Attribute("comm_dst", Number(7, 1)))}).errors,
              ElementsAre(" node 3: comm_dst is no rank of 1"));
  EXPECT_THAT(Read({kMetadata + Node(1, 4, Number(5, 2)) + Node(2, 4, Number(5, 1))}).errors,
              ElementsAre(" operations wait for each other: 0:node1 -> 0:node2 -> 0:node1"));
}

TEST(ChakraWireTest, TellsWhichNodesAreNotModelled) {
  const auto errors = [](uint64_t id, uint64_t type, const std::string& rest) {
    return Read({kMetadata + Node(id, type, rest)}).errors;
  };
  const auto collective = [&](uint64_t comm_type) {
    return errors(3, 7, Attribute("comm_type", Number(9, comm_type)));
  };
  EXPECT_THAT(collective(1), ElementsAre(" node 3: reduce is not modelled"));
  EXPECT_THAT(collective(4), ElementsAre(" node 3: scatter is not modelled"));
  EXPECT_THAT(collective(8), ElementsAre(" node 3: reduce-scatter block is not modelled"));
  EXPECT_THAT(collective(10), ElementsAre(" node 3: has no known comm_type"));
  EXPECT_THAT(errors(3, 7, ""), ElementsAre(" node 3: has no known comm_type"));
  EXPECT_THAT(collective(0), ElementsAre(" node 3: has no comm_size, the bytes of the collective"));
  EXPECT_THAT(collective(9), ElementsAre());  // A barrier needs none.
  EXPECT_THAT(errors(3, 8, ""), ElementsAre(" node 3: is of unknown type 8"));
  EXPECT_THAT(errors(3, 3, ""),
              ElementsAre(" node 3: accesses memory, which is not modelled; set memory: ignore"));
  EXPECT_THAT(errors(3, 4, Number(7, 1'000'000'001)),
              ElementsAre(" node 3: takes longer than 1000 s"));
  EXPECT_THAT(errors(3, 5, Attribute("comm_dst", Number(7, 0))),
              ElementsAre(" node 3: has no comm_size from 0 on"));
  EXPECT_THAT(errors(3, 6,
                     Attribute("comm_src", Number(7, 0)) +
                         Attribute("comm_size", Number(17, 1))),  // -1 in zigzag.
              ElementsAre(" node 3: has no comm_size from 0 on"));
  EXPECT_THAT(
      errors(3, 7,
             Attribute("comm_type", Number(9, 0)) +
                 Attribute("comm_size", Number(9, uint64_t{1} << 43))),
      ElementsAre(" node 3: has a comm_size of 8796093022208; expected 0 to 4398046511104"));
}

TEST(ChakraWireTest, MemoryAccessesTakeNoTimeIfIgnored) {
  ChakraSettings settings;
  settings.ignores_memory = true;
  const ReadTrace read =
      Read({kMetadata + Node(1, 2, Number(7, 9)) + Node(2, 4, Number(7, 3) + Number(5, 1))}, false,
           settings);
  EXPECT_THAT(read.errors, IsEmpty());
  EXPECT_EQ(read.Ends()[0], Time{} + 3_us);
}

TEST(ChakraWireTest, StopsAfterTwentyMistakes) {
  std::string file = kMetadata;
  for (uint64_t id = 1; id <= 100; ++id) file += Node(id, 9, "");
  EXPECT_THAT(Read({file}).errors, SizeIs(21));  // And that reading stopped.
}

// One warning for all that is not used.
TEST(ChakraWireTest, NamesWhatItIgnores) {
  const std::string shapes = Bytes(8, Bytes(1, "[3]") + Bytes(2, "[[4, 5]]"));
  const std::string file =
      kMetadata +
      Node(1, 4,
           Number(6, 17) + Number(7, 3) + shapes + Attribute("num_ops", Number(9, 4)) +
               Attribute("involved_dim", Bytes(28, ""))) +
      Node(2, 4, Number(4, 1)) + Node(3, 0, "") + Node(4, 0, "");
  EXPECT_THAT(Read({file}).warnings,
              ElementsAre("file: ignored: shapes, start_time_micros; attributes involved_dim, "
                          "num_ops; ctrl_deps (set ctrl_deps: true to follow them); 2 invalid "
                          "nodes, which finish at once"));
  EXPECT_THAT(Read({kMetadata + Node(1, 4, Attribute("is_cpu_op", Number(27, 1)))}).warnings,
              IsEmpty());
  // Values without shapes.
  EXPECT_THAT(Read({kMetadata + Node(1, 4, Bytes(8, Bytes(1, "[3]")))}).warnings, IsEmpty());
  std::string many = kMetadata;
  for (int i = 0; i < 30; ++i) many += Node(i, 4, Attribute("a" + std::to_string(i), Number(9, 1)));
  const ReadTrace read = Read({many});
  ASSERT_THAT(read.warnings, SizeIs(1));
  EXPECT_THAT(read.warnings.front(), HasSubstr(", ..."));
  EXPECT_THAT(read.warnings.front(), Not(HasSubstr("a9")));
}

TEST(ChakraWireTest, ControlDependenciesCountIfAskedFor) {
  const std::string file = kMetadata +
                           Node(1, 4, Number(7, 5) + Attribute("is_cpu_op", Number(27, 1))) +
                           Node(2, 4, Number(7, 3) + Number(4, 1));
  EXPECT_EQ(Read({file}).Ends()[0], Time{} + 5_us);
  ChakraSettings settings;
  settings.has_ctrl_deps = true;
  EXPECT_EQ(Read({file}, false, settings).Ends()[0], Time{} + 8_us);
}

TEST(ChakraWireTest, StreamsRunOneOperationAtATime) {
  const std::string file = kMetadata + Node(1, 4, Number(7, 5)) + Node(2, 4, Number(7, 3));
  EXPECT_EQ(Read({file}).Ends()[0], Time{} + 8_us);
  ChakraSettings settings;
  settings.limits_streams = false;
  EXPECT_EQ(Read({file}, false, settings).Ends()[0], Time{} + 5_us);
}

// The second message leaves when the first is finished for its sender.
TEST(ChakraWireTest, SendsOfARankFollowEachOther) {
  const auto message = [](uint64_t id, const char* peer) {
    return Node(id, std::string(peer) == "comm_dst" ? 5 : 6,
                Attribute(peer, Number(9, std::string(peer) == "comm_dst" ? 1 : 0)) +
                    Attribute("comm_size", Number(9, 1'000)));
  };
  const std::string sender = kMetadata + message(1, "comm_dst") + message(2, "comm_dst");
  const std::string receiver = kMetadata + message(1, "comm_src") + message(2, "comm_src");
  const MessageTimes times = StarTimes({.bytes = 1'000});
  EXPECT_EQ(Read({sender, receiver}).Ends()[1], Time{} + times.finished + times.arrives);
  ChakraSettings settings;
  settings.limits_streams = false;
  EXPECT_EQ(Read({sender, receiver}, false, settings).Ends()[1], Time{} + times.arrives);
}

// Fields by their numbers in et_def.proto. Each by itself leaves the others as they are.
TEST(ChakraWireTest, EachFieldHasItsPlaceInANode) {
  const auto node = [](const std::string& fields) { return Only(kMetadata + Framed(fields)); };
  EXPECT_THAT(node(""), Pair("", ""));
  EXPECT_THAT(node(Number(1, 0xffffffffffffffff)), Pair("id 18446744073709551615", ""));
  EXPECT_THAT(node(Number(1, 300)), Pair("id 300", ""));
  EXPECT_THAT(node(Bytes(2, "sum")), Pair("name sum", ""));
  EXPECT_THAT(node(Bytes(2, "")), Pair("", ""));
  EXPECT_THAT(node(Number(3, 7)), Pair("type 7", ""));
  EXPECT_THAT(node(Number(4, 7) + Number(4, 128)), Pair("ctrl 7, ctrl 128", ""));
  EXPECT_THAT(node(Bytes(4, Varint(7) + Varint(127))), Pair("ctrl 7, ctrl 127", ""));
  EXPECT_THAT(node(Number(5, 7) + Number(5, 8)), Pair("data 7, data 8", ""));
  EXPECT_THAT(node(Bytes(5, Varint(7) + Varint(16'384))), Pair("data 7, data 16384", ""));
  EXPECT_THAT(node(Bytes(5, "")), Pair("", ""));
  EXPECT_THAT(node(Number(6, 7)), Pair("", "ignored: start_time_micros"));
  EXPECT_THAT(node(Number(7, 7)), Pair("duration 7000000", ""));
  // The inputs of a metadata node, whose type is 1; those of others are not kept.
  EXPECT_THAT(node(Number(3, 1) + Bytes(8, Bytes(1, "[3]"))), Pair("type 1, inputs [3]", ""));
  EXPECT_THAT(node(Bytes(8, Bytes(1, "[3]")) + Number(3, 2)), Pair("type 2", ""));
  EXPECT_THAT(node(Bytes(8, Bytes(1, "[3]"))), Pair("", ""));
  EXPECT_THAT(node(Bytes(8, Bytes(2, "[3]"))), Pair("", "ignored: shapes"));
  EXPECT_THAT(node(Bytes(8, Bytes(2, ""))), Pair("", ""));
  EXPECT_THAT(node(Bytes(8, Bytes(3, "int"))), Pair("", ""));
  EXPECT_THAT(node(Number(3, 1) + Bytes(9, Bytes(1, "[3]"))), Pair("type 1", ""));
  EXPECT_THAT(node(Number(11, 7) + Bytes(12, "x") + Number(16, 3)), Pair("", ""));
  EXPECT_THAT(node(Varint(11 << 3 | 1) + "12345678" + Varint(11 << 3 | 5) + "1234" + Number(1, 5)),
              Pair("id 5", ""));
}

TEST(ChakraWireTest, AttributesHaveTheirPlacesInANode) {
  const auto node = [](const std::string& name, const std::string& value) {
    return Only(kMetadata + Framed(Attribute(name, value)));
  };
  for (const std::string name : {"comm_type", "comm_size", "comm_src", "comm_dst"}) {
    EXPECT_THAT(node(name, Number(9, 5)), Pair(name + " 5", ""));
    EXPECT_THAT(node(name, Number(9, 0)), Pair(name + " 0", ""));
  }
  EXPECT_THAT(node("comm_tag", Number(9, 5)), Pair("tag 5", ""));
  EXPECT_THAT(node("is_cpu_op", Number(27, 1)), Pair("cpu 1", ""));
  EXPECT_THAT(node("is_cpu_op", Number(27, 0)), Pair("", ""));
  EXPECT_THAT(node("pg_name", Bytes(29, "tp")), Pair("group tp", ""));
  EXPECT_THAT(node("pg_name", Bytes(28, "no") + Bytes(30, "no")), Pair("", ""));
  EXPECT_THAT(node("num_ops", Number(9, 5)), Pair("", "ignored: attributes num_ops"));
}

// int32, int64, uint32, uint64, sint32, sint64, fixed32, fixed64, sfixed32, sfixed64 and bool are
// the odd fields from 7 to 27; between them are lists.
TEST(ChakraWireTest, NumbersOfAttributesHaveOneOfElevenTypes) {
  const auto tag = [](const std::string& value) {
    return Only(kMetadata + Framed(Attribute("comm_tag", value))).first;
  };
  for (uint64_t field = 2; field <= 34; ++field) {
    if (field == 29) continue;  // A text.
    const bool is_number = field >= 7 && field <= 27 && field % 2 == 1;
    const bool is_zigzag = field == 15 || field == 17;
    EXPECT_EQ(tag(Number(field, 200)), !is_number  ? ""
                                       : is_zigzag ? "tag 100"
                                                   : "tag 200")
        << field;
    EXPECT_EQ(tag(Number(9, 5) + Bytes(field, "\x07")), "tag 5") << field;
    if (!is_number) {
      EXPECT_EQ(tag(Number(9, 5) + Number(field, 200)), "tag 5") << field;
    }
  }
  for (const uint64_t field : {15, 17}) {
    EXPECT_EQ(tag(Number(field, 5)), "tag -3");
    EXPECT_EQ(tag(Number(field, 0xffffffffffffffff)), "tag -9223372036854775808");
  }
  const std::string bytes = "\x81\x02\x03\x84\x05\x06\x07\x88";
  EXPECT_EQ(tag(Varint(19 << 3 | 5) + bytes.substr(0, 4)), fmt::format("tag {}", 0x84030281));
  EXPECT_EQ(tag(Varint(23 << 3 | 5) + bytes.substr(0, 4)),
            fmt::format("tag {}", static_cast<int32_t>(0x84030281)));
  for (const uint64_t field : {21, 25}) {
    EXPECT_EQ(tag(Varint(field << 3 | 1) + bytes),
              fmt::format("tag {}", static_cast<int64_t>(0x8807060584030281)));
  }
}

// Computations are cut off beyond 1000 s, so that the check of the graph refuses them.
TEST(ChakraWireTest, DurationsAreCutOffBeyondTheLongest) {
  const auto duration = [](uint64_t us) { return Only(kMetadata + Framed(Number(7, us))).first; };
  EXPECT_EQ(duration(999'999'999), "duration 999999999000000");
  EXPECT_EQ(duration(1'000'000'000), "duration 1000000000000000");
  EXPECT_EQ(duration(1'000'000'001), "duration 1000000001000000");
  EXPECT_EQ(duration(1'000'000'002), "duration 1000000001000000");
  EXPECT_EQ(duration(0xffffffffffffffff), "duration 1000000001000000");
}

// A view that ends within a file is read as if the file ended there: whole messages, or a mistake.
TEST(ChakraWireTest, NothingBehindTheEndIsRead) {
  const std::string first = Node(300, 5, Attribute("comm_dst", Number(7, 1)));
  const std::string file = kMetadata + first + Node(2, 4, Number(7, 3) + Bytes(5, Varint(300)));
  for (size_t length = 0; length <= file.size(); ++length) {
    const std::string_view part = std::string_view(file).substr(0, length);
    const auto read = Only(part);
    EXPECT_EQ(read, Only(std::string(part))) << length;
    const bool has_metadata = length >= kMetadata.size();
    const size_t ends = kMetadata.size() + first.size();
    const std::string expected = !has_metadata ? "file: does not begin with Chakra's GlobalMetadata"
                                 : length == kMetadata.size() ? "0 nodes"
                                 : length < ends        ? "file: message 1 is no node, or cut off"
                                 : length == ends       ? "id 300, type 5, comm_dst 1"
                                 : length < file.size() ? "file: message 2 is no node, or cut off"
                                                        : "2 nodes";
    EXPECT_EQ(read.first, expected) << length;
  }
}

TEST(ChakraWireTest, MistakesNameTheNodesName) {
  EXPECT_THAT(Read({kMetadata + Node(3, 9, Bytes(2, "sum"))}).errors,
              ElementsAre(" node 3 (sum): is of unknown type 9"));
  const std::string sixty(60, 'x');
  EXPECT_THAT(Read({kMetadata + Node(3, 9, Bytes(2, sixty + "y"))}).errors,
              ElementsAre(" node 3 (" + sixty + "): is of unknown type 9"));
}

// Both limits of the sizes of collectives, and what is the least group that sends.
TEST(ChakraWireTest, CollectivesHaveLimits) {
  const auto errors = [](uint64_t size) {
    return Read({kMetadata + Node(3, 7,
                                  Attribute("comm_type", Number(9, 9)) +
                                      Attribute("comm_size", Number(9, size)))})
        .errors;
  };
  EXPECT_THAT(errors(0), IsEmpty());
  EXPECT_THAT(errors(uint64_t{1} << 42), IsEmpty());
  EXPECT_THAT(
      errors((uint64_t{1} << 42) + 1),
      ElementsAre(" node 3: has a comm_size of 4398046511105; expected 0 to 4398046511104"));
  EXPECT_THAT(errors(uint64_t{0} - 1),
              ElementsAre(" node 3: has a comm_size of -1; expected 0 to 4398046511104"));
}

// Each comm_type by its number in et_def.proto.
TEST(ChakraWireTest, CollectivesAreThoseOfTheirNumbers) {
  const std::map<uint64_t, std::string> names = {{0, "all_reduce"},     {2, "all_gather"},
                                                 {5, "broadcast"},      {6, "all_to_all"},
                                                 {7, "reduce_scatter"}, {9, "barrier"}};
  for (const auto& [type, name] : names) {
    const std::string member = kMetadata + Node(3, 7,
                                                Attribute("comm_type", Number(9, type)) +
                                                    Attribute("comm_size", Number(9, 600)));
    const ReadTrace read = Read({member, member});
    ASSERT_THAT(read.errors, IsEmpty()) << name;
    EXPECT_EQ(read.graph->collectives()[0].operation.name, name);
    EXPECT_EQ(read.graph->collectives()[0].label, "node3");
  }
}

// As many as twenty, of nodes and of what they depend on.
TEST(ChakraWireTest, StopsAfterTwentyDependenciesThatAreNotThere) {
  std::string deps;
  for (int i = 0; i < 30; ++i) deps += Number(5, 100 + static_cast<uint64_t>(i));
  EXPECT_THAT(Read({kMetadata + Node(1, 4, deps)}).errors, SizeIs(21));
  EXPECT_THAT(Read({kMetadata + Node(1, 4, Number(4, 9))}).errors, IsEmpty());
  ChakraSettings settings;
  settings.has_ctrl_deps = true;
  EXPECT_THAT(Read({kMetadata + Node(1, 4, Number(4, 9))}, false, settings).errors,
              ElementsAre(" node 1: depends on node 9, which does not exist"));
}

TEST(ChakraWireTest, OfManyAttributesSixteenAreNamed) {
  const auto warning = [](int count) {
    std::string attributes;
    for (int i = 0; i < count; ++i) {
      attributes += Attribute(fmt::format("a{:02}", i), Number(9, 1));
    }
    return Read({kMetadata + Node(1, 4, attributes)}).warnings.front();
  };
  EXPECT_THAT(warning(16), testing::EndsWith(", a14, a15"));
  EXPECT_THAT(warning(17), testing::EndsWith(", a14, a15, ..."));
}

// A field leaves what others have said, whatever came before it.
TEST(ChakraWireTest, FieldsOfOtherTypesAreReadOver) {
  const auto node = [](const std::string& fields) {
    return Only(kMetadata + Framed(fields)).first;
  };
  EXPECT_EQ(node(Bytes(2, "sum") + Bytes(12, "x") + Number(1, 5)), "id 5, name sum");
  EXPECT_EQ(node(Number(3, 7) + Number(1, 9) + Bytes(2, "sum")), "id 9, name sum, type 7");
  EXPECT_EQ(node(Attribute("comm_tag", Bytes(40, "x") + Number(1, 6) + Number(9, 5))), "tag 5");
  EXPECT_EQ(node(Attribute("pg_name", Bytes(29, "tp") + Bytes(40, "x") + Number(29, 5))),
            "group tp");
  EXPECT_EQ(node(Number(3, 1) + Bytes(8, Bytes(1, "[3]") + Bytes(3, "int") + Number(1, 5))),
            "type 1, inputs [3]");
}

TEST(ChakraWireTest, TheCpuTheGpuAndMessagesHaveStreamsOfTheirOwn) {
  const ReadTrace read = Read(
      {kMetadata + Node(1, 4, Number(7, 5)) +
       Node(2, 4, Number(7, 5) + Attribute("is_cpu_op", Number(27, 1))) +
       Node(3, 5, Attribute("comm_dst", Number(7, 0)) + Attribute("comm_size", Number(9, 0))) +
       Node(4, 6, Attribute("comm_src", Number(7, 0)) + Attribute("comm_size", Number(9, 0)))});
  ASSERT_THAT(read.errors, IsEmpty());
  std::set<uint32_t> streams;
  for (const uint32_t op : {0u, 1u, 2u}) streams.insert(read.graph->At(0, op).stream);
  EXPECT_EQ(streams.size(), 3u);
  EXPECT_FALSE(streams.contains(kNoStream));
  EXPECT_EQ(read.graph->At(0, 3).stream, kNoStream);  // Receives wait beside all others.
}

TEST(ChakraWireTest, InvalidNodesAndMetadataTakeNoTime) {
  const ReadTrace read = Read({kMetadata + Node(1, 0, "") + Node(2, 1, Number(5, 1))});
  EXPECT_EQ(read.Ends()[0], Time{});
  EXPECT_THAT(read.warnings, ElementsAre("file: ignored: 1 invalid nodes, which finish at once"));
  EXPECT_THAT(Read({kMetadata + Node(1, 4, Number(7, 1'000'000'000))}).errors, IsEmpty());
  ChakraSettings settings;
  settings.ignores_memory = true;
  EXPECT_EQ(
      Read({kMetadata + Node(1, 2, "") + Node(2, 3, Number(5, 1))}, false, settings).Ends()[0],
      Time{});
}

TEST(ChakraWireTest, ControlDependenciesThatAreFollowedAreNotIgnored) {
  ChakraSettings settings;
  settings.has_ctrl_deps = true;
  const std::string file = kMetadata + Node(1, 4, "") + Node(2, 4, Number(4, 1));
  EXPECT_THAT(Read({file}, false, settings).warnings, IsEmpty());
  EXPECT_THAT(Read({file}).warnings, SizeIs(1));
}

// Letters of several bytes are whole, or left out.
TEST(ChakraWireTest, NamesAreCutBetweenLetters) {
  const std::string start(59, 'x');
  EXPECT_THAT(Read({kMetadata + Node(3, 9, Bytes(2, start + "\xc3\xa9"))}).errors,
              ElementsAre(" node 3 (" + start + "): is of unknown type 9"));
  const std::string fits = start.substr(1) + "\xc3\xa9";
  EXPECT_THAT(Read({kMetadata + Node(3, 9, Bytes(2, fits + "y"))}).errors,
              ElementsAre(" node 3 (" + fits + "): is of unknown type 9"));
}

TEST(ChakraWireTest, ANodeHasOneMistake) {
  EXPECT_THAT(Read({kMetadata + Node(3, 4, "") + Node(3, 9, "")}).errors,
              ElementsAre(" node 3: has the id of another node"));
}

}  // namespace heddle::chakra_wire_test
