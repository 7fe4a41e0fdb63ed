// SPDX-License-Identifier: Apache-2.0
// Makes a graph of the Chakra traces of all ranks: computations, messages, and collectives over
// groups of ranks, which are performed by the default algorithm of each operation.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "workload/jobs/operation_graph.h"
#include "workload/traces/chakra_node.h"
#include "workload/traces/trace_errors.h"

namespace heddle {

struct ChakraSettings {
  bool ignores_memory = false;  // Memory loads and stores take no time; else they are refused.
  bool has_ctrl_deps = false;   // Nodes wait for their ctrl_deps, too.
  bool limits_streams = true;   // A rank does one CPU operation, one computation of its GPU and
                                // one communication at a time, besides receives.
  // By pg_name; the others are of all ranks.
  std::map<std::string, std::vector<uint32_t>, std::less<>> groups;
};

class ChakraBuilder {
 public:
  ChakraBuilder(ChakraSettings settings, uint32_t ranks);

  // Adds the nodes of a rank; all ranks follow each other. Mistakes in its file go to `errors`.
  void AddRank(uint32_t rank, const std::vector<ChakraNode>& nodes, TraceErrors& errors);

  OperationGraph Take() { return std::move(graph_); }

 private:
  struct Collective {
    uint32_t number;
    int64_t type;
    int64_t size;
  };

  std::optional<uint32_t> Add(uint32_t rank, const ChakraNode& node, TraceErrors& errors);
  std::optional<uint32_t> AddMessage(uint32_t rank, const ChakraNode& node, TraceErrors& errors);
  std::optional<uint32_t> AddCollective(uint32_t rank, const ChakraNode& node, TraceErrors& errors);
  std::optional<uint32_t> Join(uint32_t rank, const ChakraNode& node,
                               const std::vector<uint32_t>& group, TraceErrors& errors);
  std::shared_ptr<const Schedule> ScheduleOf(int64_t type, int64_t size, uint32_t ranks);
  uint32_t Computation(uint32_t rank, const ChakraNode& node);
  uint32_t stream(uint32_t number) const { return settings_.limits_streams ? number : kNoStream; }

  const ChakraSettings settings_;
  OperationGraph graph_;
  std::vector<uint32_t> all_;                                       // The group of all ranks.
  std::map<std::pair<std::string, uint32_t>, Collective> started_;  // By group and turn.
  std::map<std::pair<std::string, uint32_t>, uint32_t> turns_;      // By group and rank.
  std::map<std::tuple<int64_t, int64_t, uint32_t>, std::shared_ptr<const Schedule>> schedules_;
};

}  // namespace heddle
