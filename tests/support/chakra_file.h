// SPDX-License-Identifier: Apache-2.0
// Writes Chakra traces, the protobuf messages field by field, and reads those of both forms.

#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/trace_kit.h"
#include "workload/traces/chakra_graph.h"

namespace heddle::chakra_file {

inline std::string Varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
  return out;
}
inline std::string Number(uint64_t field, uint64_t value) {
  return Varint(field << 3) + Varint(value);
}
inline std::string Bytes(uint64_t field, const std::string& bytes) {
  return Varint(field << 3 | 2) + Varint(bytes.size()) + bytes;
}
inline std::string Framed(const std::string& message) { return Varint(message.size()) + message; }
inline std::string Attribute(const std::string& name, const std::string& value) {
  return Bytes(10, Bytes(1, name) + value);
}

inline const std::string kMetadata = Framed(Bytes(1, "0.0.4"));

inline std::string Node(uint64_t id, uint64_t type, const std::string& rest) {
  return Framed(Number(1, id) + Number(3, type) + rest);
}

inline ReadTrace Read(const std::vector<std::string>& ranks, bool is_json = false,
                      const ChakraSettings& settings = {}) {
  return ReadTraceWith([&](FileErrors& errors) -> std::optional<OperationGraph> {
    ChakraBuilder builder(settings, static_cast<uint32_t>(ranks.size()));
    for (uint32_t rank = 0; rank < ranks.size(); ++rank) {
      const auto nodes = is_json ? ReadChakraJson(ranks[rank], builder.ignored(), errors)
                                 : ReadChakraWire(ranks[rank], builder.ignored(), errors);
      if (!errors.any()) builder.AddRank(rank, nodes, errors);
    }
    if (errors.any()) return std::nullopt;
    const std::string ignored = builder.ignored().Text();
    if (!ignored.empty()) errors.Warn(0, ignored);
    return builder.Take();
  });
}

// Describes a node by all that differs from an id of 0 and a type of 0.
inline std::string Described(const ChakraNode& node) {
  std::string text;
  const auto add = [&](const std::string& name, const auto& value) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, value);
  };
  if (node.id != 0) add("id", node.id);
  if (!node.name.empty()) add("name", node.name);
  if (node.type != 0) add("type", node.type);
  if (node.duration != Duration{0}) add("duration", node.duration.ps);
  for (const uint64_t dep : node.data_deps) add("data", dep);
  for (const uint64_t dep : node.ctrl_deps) add("ctrl", dep);
  if (node.is_cpu_op) add("cpu", 1);
  if (node.comm_type) add("comm_type", *node.comm_type);
  if (node.comm_size) add("comm_size", *node.comm_size);
  if (node.comm_src) add("comm_src", *node.comm_src);
  if (node.comm_dst) add("comm_dst", *node.comm_dst);
  if (node.comm_tag != 0) add("tag", node.comm_tag);
  if (!node.pg_name.empty()) add("group", node.pg_name);
  if (!node.input_values.empty()) add("inputs", node.input_values);
  if (node.line != 0) add("line", node.line);
  return text;
}

// The one node of a file, or its error; and what is ignored.
inline std::pair<std::string, std::string> Only(std::string_view file, bool is_json = false) {
  Diagnostics diagnostics;
  FileErrors errors("file", diagnostics);
  ChakraIgnored ignored;
  const auto nodes =
      is_json ? ReadChakraJson(file, ignored, errors) : ReadChakraWire(file, ignored, errors);
  if (errors.any()) return {diagnostics.errors().front(), ""};
  return {nodes.size() == 1 ? Described(nodes[0]) : fmt::format("{} nodes", nodes.size()),
          ignored.Text()};
}

}  // namespace heddle::chakra_file
