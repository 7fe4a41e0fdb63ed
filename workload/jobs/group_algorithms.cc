// SPDX-License-Identifier: Apache-2.0

#include "workload/jobs/group_algorithms.h"

namespace heddle {

using Algorithm = CollectiveSettings::Algorithm;

void GroupAlgorithms::DeclareSums(Fields& fields) {
  fields.Choice("all_reduce", all_reduce,
                {{"ring", Algorithm::kRing},
                 {"bidirectional", Algorithm::kBidirectional},
                 {"halving_doubling", Algorithm::kHalvingDoubling},
                 {"recursive_doubling", Algorithm::kRecursiveDoubling},
                 {"tree", Algorithm::kTree},
                 {"double_tree", Algorithm::kDoubleTree}},
                "How ranks sum up.");
  fields.Choice(
      "all_gather", all_gather,
      {{"ring", Algorithm::kRing}, {"pat", Algorithm::kPat}, {"bruck", Algorithm::kBruck}},
      "How ranks gather.");
  fields.Choice("reduce_scatter", reduce_scatter,
                {{"ring", Algorithm::kRing}, {"pat", Algorithm::kPat}},
                "How ranks sum up and scatter.");
}

void GroupAlgorithms::Declare(Fields& fields) {
  DeclareSums(fields);
  fields.Choice("all_to_all", all_to_all,
                {{"direct", Algorithm::kDirect},
                 {"pairwise", Algorithm::kPairwise},
                 {"shift", Algorithm::kShift},
                 {"bruck", Algorithm::kBruck}},
                "How ranks exchange blocks.");
  fields.Choice("broadcast", broadcast,
                {{"binomial", Algorithm::kBinomial},
                 {"chain", Algorithm::kChain},
                 {"tree", Algorithm::kTree}},
                "How ranks pass on what one of them has.");
}

Algorithm GroupAlgorithms::Of(CollectiveSettings::Op op) const {
  using Op = CollectiveSettings::Op;
  switch (op) {
    case Op::kAllReduce:
      return all_reduce;
    case Op::kAllGather:
      return all_gather;
    case Op::kReduceScatter:
      return reduce_scatter;
    case Op::kAllToAll:
      return all_to_all;
    case Op::kBroadcast:
      return broadcast;
    case Op::kBarrier:
      break;
  }
  return Algorithm::kAuto;
}

}  // namespace heddle
