// SPDX-License-Identifier: Apache-2.0
// The nodes of a Chakra execution trace (mlcommons/chakra, schema/protobuf/et_def.proto), as both
// of its forms are read: protobuf messages, and JSON.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"
#include "workload/traces/trace_errors.h"

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
  std::string pg_name;  // The group of ranks; empty: all.
  int line = 0;         // JSON only.
};

// Read the nodes of one rank. Mistakes go to `errors`; then the result is of no use.
std::vector<ChakraNode> ReadChakraWire(std::string_view bytes, TraceErrors& errors);
std::vector<ChakraNode> ReadChakraJson(std::string_view text, TraceErrors& errors);

}  // namespace heddle
