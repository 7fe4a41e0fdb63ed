// SPDX-License-Identifier: Apache-2.0
// The process groups of Chakra traces: named lists of ranks. They stand in a file of their own, or
// in a metadata node of the trace, as PyTorch records them.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "workload/file_errors.h"
#include "workload/traces/chakra_node.h"

namespace heddle {

// Ranks by pg_name. An empty list: all ranks.
using ChakraGroups = std::map<std::string, std::vector<uint32_t>, std::less<>>;

// Reads {"1": [0, 1], "2": [2, 3]}.
ChakraGroups ReadChakraGroups(std::string_view text, uint32_t ranks, FileErrors& errors);

// Adds the groups that a metadata node declares to `groups`. Its input values hold a list such as
// [{"pg_name": "1", "ranks": [0, 1]}], in quotes and within other lists, as Python writes a list of
// texts. Other values declare none.
void AddDeclaredGroups(const ChakraNode& node, uint32_t ranks, ChakraGroups& groups,
                       FileErrors& errors);

}  // namespace heddle
