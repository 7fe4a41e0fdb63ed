// SPDX-License-Identifier: Apache-2.0
// Collectives as an experiment sets them, and the algorithms of each operation.

#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/experiment_kit.h"
#include "workload/jobs/collective.h"
#include "workload/jobs/job.h"

namespace heddle::collective_kit {

using Algorithm = CollectiveSettings::Algorithm;
using Op = CollectiveSettings::Op;

struct OpAlgorithm {
  std::string op;
  std::string algorithm;
  Op its_op;
  Algorithm its_algorithm;

  // The start of a job's settings.
  std::string Text() const {
    const std::string size = op == "barrier" ? "" : ", size: 1MB";
    const bool in_servers = algorithm == "hierarchical" || algorithm == "rail";
    return fmt::format("op: {}, algorithm: {}{}{}", op, algorithm, size,
                       in_servers ? ", group_size: 2" : "");
  }
};

// Each operation with its algorithms; the first is the default.
inline const std::vector<OpAlgorithm>& Pairs() {
  static const std::vector<OpAlgorithm> pairs = {
      {"all_reduce", "ring", Op::kAllReduce, Algorithm::kRing},
      {"all_reduce", "bidirectional", Op::kAllReduce, Algorithm::kBidirectional},
      {"all_reduce", "halving_doubling", Op::kAllReduce, Algorithm::kHalvingDoubling},
      {"all_reduce", "recursive_doubling", Op::kAllReduce, Algorithm::kRecursiveDoubling},
      {"all_reduce", "tree", Op::kAllReduce, Algorithm::kTree},
      {"all_reduce", "double_tree", Op::kAllReduce, Algorithm::kDoubleTree},
      {"all_reduce", "hierarchical", Op::kAllReduce, Algorithm::kHierarchical},
      {"all_gather", "ring", Op::kAllGather, Algorithm::kRing},
      {"all_gather", "pat", Op::kAllGather, Algorithm::kPat},
      {"all_gather", "bruck", Op::kAllGather, Algorithm::kBruck},
      {"reduce_scatter", "ring", Op::kReduceScatter, Algorithm::kRing},
      {"reduce_scatter", "pat", Op::kReduceScatter, Algorithm::kPat},
      {"all_to_all", "direct", Op::kAllToAll, Algorithm::kDirect},
      {"all_to_all", "pairwise", Op::kAllToAll, Algorithm::kPairwise},
      {"all_to_all", "shift", Op::kAllToAll, Algorithm::kShift},
      {"all_to_all", "bruck", Op::kAllToAll, Algorithm::kBruck},
      {"all_to_all", "rail", Op::kAllToAll, Algorithm::kRail},
      {"broadcast", "binomial", Op::kBroadcast, Algorithm::kBinomial},
      {"broadcast", "chain", Op::kBroadcast, Algorithm::kChain},
      {"broadcast", "tree", Op::kBroadcast, Algorithm::kTree},
      {"barrier", "dissemination", Op::kBarrier, Algorithm::kDissemination}};
  return pairs;
}

inline std::string JobOf(uint32_t ranks, const std::string& job) {
  return fmt::format("{{kind: collective, ranks: {}, {}}}", ranks, job);
}
// The errors of a job of `ranks` ranks, each on a host of its own.
inline std::string Errors(const std::string& job, uint32_t ranks = 8) {
  return WorkloadErrors(JobOf(ranks, job), StageOf(2, (ranks + 1) / 2));
}
inline std::unique_ptr<Job> Made(const std::string& job, uint32_t ranks = 8) {
  return WorkloadFrom(JobOf(ranks, job), StageOf(2, (ranks + 1) / 2)).settings->MakeJob(1);
}

}  // namespace heddle::collective_kit
