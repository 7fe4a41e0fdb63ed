// SPDX-License-Identifier: Apache-2.0
// The algorithms of the collectives inside training steps and traces, one for each operation.

#pragma once

#include "settings/fields.h"
#include "workload/jobs/collective.h"

namespace heddle {

struct GroupAlgorithms {
  using Algorithm = CollectiveSettings::Algorithm;

  Algorithm all_reduce = Algorithm::kRing;
  Algorithm all_gather = Algorithm::kRing;
  Algorithm reduce_scatter = Algorithm::kRing;
  Algorithm all_to_all = Algorithm::kDirect;
  Algorithm broadcast = Algorithm::kBinomial;

  void Declare(Fields& fields);
  // The first three only.
  void DeclareSums(Fields& fields);

  Algorithm Of(CollectiveSettings::Op op) const;

  friend bool operator==(const GroupAlgorithms&, const GroupAlgorithms&) = default;
};

}  // namespace heddle
