// SPDX-License-Identifier: Apache-2.0
// Makes a graph of the Chakra traces of all ranks: computations, messages, and collectives over
// groups of ranks, which are performed by an algorithm for each operation.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "workload/file_errors.h"
#include "workload/jobs/group_algorithms.h"
#include "workload/jobs/operation_graph.h"
#include "workload/traces/chakra_groups.h"
#include "workload/traces/chakra_node.h"

namespace heddle {

struct ChakraSettings {
  bool ignores_memory = false;  // Memory loads and stores take no time; else they are refused.
  bool has_ctrl_deps = false;   // Nodes wait for their ctrl_deps, too.
  bool limits_streams = true;   // A rank does one CPU operation, one computation of its GPU and
                                // one communication at a time, besides receives.
  ChakraGroups groups;          // They go before those that the trace declares.
  GroupAlgorithms algorithms;
  double scale = 1;  // Of the sizes of collectives.
};

class ChakraBuilder {
 public:
  ChakraBuilder(ChakraSettings settings, uint32_t ranks);

  // Adds the nodes of a rank; all ranks follow each other. Mistakes in its file go to `errors`.
  void AddRank(uint32_t rank, const std::vector<ChakraNode>& nodes, FileErrors& errors);

  OperationGraph Take() { return std::move(graph_); }

  // What the files have that is not used; the readers of nodes add to it.
  ChakraIgnored& ignored() { return ignored_; }

 private:
  struct Collective {
    uint32_t number;
    int64_t type;
    int64_t size;
  };
  struct Made {
    std::shared_ptr<const Schedule> schedule;
    JobOperation operation;
  };
  // Two groups of one name with other ranks are different ones.
  using GroupKey = std::pair<std::string, std::vector<uint32_t>>;

  std::optional<uint32_t> Add(uint32_t rank, const ChakraNode& node, FileErrors& errors);
  std::optional<uint32_t> AddMessage(uint32_t rank, const ChakraNode& node, FileErrors& errors);
  std::optional<uint32_t> AddCollective(uint32_t rank, const ChakraNode& node, FileErrors& errors);
  // The ranks of a node's group; null with an error if there is none.
  const std::vector<uint32_t>* GroupOf(uint32_t rank, const ChakraNode& node,
                                       FileErrors& errors) const;
  std::optional<uint32_t> Join(uint32_t rank, const ChakraNode& node,
                               const std::vector<uint32_t>& group, FileErrors& errors);
  // Returns null with an error if the algorithm does not go with so many ranks.
  const Made* Make(const ChakraNode& node, int64_t size, uint32_t ranks, FileErrors& errors);
  uint32_t Computation(uint32_t rank, const ChakraNode& node);
  uint32_t stream(uint32_t number) const { return settings_.limits_streams ? number : kNoStream; }

  const ChakraSettings settings_;
  OperationGraph graph_;
  std::vector<uint32_t> all_;                   // The group of all ranks.
  ChakraGroups declared_;                       // By the rank that is being added.
  std::map<GroupKey, uint32_t> group_numbers_;  // In the order of their first collectives.
  std::map<std::pair<uint32_t, uint32_t>, Collective> started_;  // By group and turn.
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> turns_;      // By group and rank.
  std::map<std::tuple<int64_t, int64_t, uint32_t>, Made> made_;  // By type, size and ranks.
  ChakraIgnored ignored_;
};

// "node 7 of rank 0": an operation of a graph that a ChakraBuilder has made.
std::string NodeNameOf(const OperationGraph& graph, uint32_t rank, uint32_t op);

}  // namespace heddle
