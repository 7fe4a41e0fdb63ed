// SPDX-License-Identifier: Apache-2.0
// The nodes of a Chakra execution trace (mlcommons/chakra, schema/protobuf/et_def.proto), as both
// of its forms are read: protobuf messages, and JSON.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"
#include "workload/file_errors.h"

namespace heddle {

struct ChakraNode {
  uint64_t id = 0;
  std::string name;
  int64_t type = 0;
  Duration duration{0};
  std::vector<uint64_t> data_deps;
  std::vector<uint64_t> ctrl_deps;
  bool is_cpu_op = false;
  std::optional<int64_t> comm_type;
  std::optional<int64_t> comm_size;
  std::optional<int64_t> comm_src;
  std::optional<int64_t> comm_dst;
  int64_t comm_tag = 0;
  std::string pg_name;       // The group of ranks; empty: all.
  std::string input_values;  // Metadata nodes; they may declare groups.
  int line = 0;              // JSON only.
};

// What a trace says and Heddle does not use.
struct ChakraIgnored {
  std::set<std::string, std::less<>> fields;      // "start_time_micros"
  std::set<std::string, std::less<>> attributes;  // That Heddle does not know.

  bool has_ctrl_deps = false;
  uint64_t invalid_nodes = 0;

  // "ignored: start_time_micros; attributes num_ops, tensor_size"; empty if nothing is.
  std::string Text() const;

  static constexpr size_t kMostAttributes = 1'000;
  void NoteAttribute(std::string_view name) {
    if (attributes.size() < kMostAttributes && !attributes.contains(name)) {
      attributes.emplace(name);
    }
  }
  void NoteField(std::string_view name) {
    if (!fields.contains(name)) fields.emplace(name);
  }
};

// Read the nodes of one rank, and add to `ignored`. Mistakes go to `errors`; then the result is of
// no use.
std::vector<ChakraNode> ReadChakraWire(std::string_view bytes, ChakraIgnored& ignored,
                                       FileErrors& errors);
std::vector<ChakraNode> ReadChakraJson(std::string_view text, ChakraIgnored& ignored,
                                       FileErrors& errors);

}  // namespace heddle
