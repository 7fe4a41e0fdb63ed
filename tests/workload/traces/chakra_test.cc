// SPDX-License-Identifier: Apache-2.0
// Chakra traces in both forms. The protobuf messages are put together here, field by field.

#include "workload/traces/chakra_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/printers.h"
#include "tests/support/trace_kit.h"

namespace heddle {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// --- A writer of protobuf ---

std::string Varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
  return out;
}
std::string Number(uint64_t field, uint64_t value) { return Varint(field << 3) + Varint(value); }
std::string Bytes(uint64_t field, const std::string& bytes) {
  return Varint(field << 3 | 2) + Varint(bytes.size()) + bytes;
}
std::string Framed(const std::string& message) { return Varint(message.size()) + message; }
std::string Attribute(const std::string& name, const std::string& value) {
  return Bytes(10, Bytes(1, name) + value);
}

const std::string kMetadata = Framed(Bytes(1, "0.0.4"));

std::string Node(uint64_t id, uint64_t type, const std::string& rest) {
  return Framed(Number(1, id) + Number(3, type) + rest);
}

ReadTrace Read(const std::vector<std::string>& ranks, bool is_json = false,
               const ChakraSettings& settings = {}) {
  return ReadTraceWith([&](TraceErrors& errors) -> std::optional<OperationGraph> {
    ChakraBuilder builder(settings, static_cast<uint32_t>(ranks.size()));
    for (uint32_t rank = 0; rank < ranks.size(); ++rank) {
      const auto nodes =
          is_json ? ReadChakraJson(ranks[rank], errors) : ReadChakraWire(ranks[rank], errors);
      if (!errors.any()) builder.AddRank(rank, nodes, errors);
    }
    if (errors.any()) return std::nullopt;
    return builder.Take();
  });
}

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

TEST(ChakraWireTest, TellsWhatIsWrong) {
  EXPECT_THAT(Read({""}).errors, ElementsAre(" does not begin with Chakra's GlobalMetadata"));
  EXPECT_THAT(Read({"\x1f\x8b zipped"}).errors,
              ElementsAre(" is compressed by gzip; decompress it"));
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

// --- JSON ---

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
              ElementsAre("3: node 2: there is no group 5 in comm_groups"));
}

TEST(ChakraJsonTest, TellsWhatIsWrong) {
  EXPECT_THAT(Read({"{}"}, true).errors, SizeIs(1));
  EXPECT_THAT(Read({AllReduce(10), AllReduce(20)}, true).errors,
              ElementsAre("3: node 2: is all-reduce of 20 bytes; the first rank of its group has "
                          "all-reduce of 10"));
  EXPECT_THAT(Read({AllReduce(10), "{\"workload_graph\": []}"}, true).errors,
              ElementsAre(" collective node2 of 2 ranks has parts at 1: 0"));
  EXPECT_THAT(Read({"{\"workload_graph\": [\n{\"Id\": -1, \"NodeType\": 4}]}"}, true).errors,
              ElementsAre("2: Id: \"-1\" is no number from 0 on"));
}

}  // namespace
}  // namespace heddle
