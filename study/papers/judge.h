// SPDX-License-Identifier: Apache-2.0
// Judges claims by results: finds the comparisons that a claim is about, lets
// study/papers/statistics.h say what each of them says, and puts it into words.

#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "study/papers/claims.h"
#include "study/papers/paper_results.h"
#include "study/papers/statistics.h"

namespace heddle {

// One comparison that was judged.
struct JudgedCell {
  std::string where;  // "load=0.5: rps, ecmp"
  Finding finding;
  double relative = 0;  // The mean, by what it is relative to; not a number if there is no such.
};

struct JudgedPart {
  ClaimVerdict verdict = ClaimVerdict::kUnjudged;
  std::string expected;
  std::string measured;
  std::string range;   // The same in short, without where.
  std::string reason;  // Why it cannot be judged.
  std::vector<JudgedCell> cells;

  size_t CountOf(Outcome outcome) const;
};

struct JudgedClaim {
  ClaimVerdict verdict = ClaimVerdict::kUnjudged;
  std::vector<JudgedPart> parts;

  // Of all parts: "5 of 6".
  size_t agreeing() const;
  size_t all() const;
  std::string Expected() const;
  std::string Measured() const;
  std::string Range() const;
  std::string Reason() const;
};

// Finds the results of another experiment of the paper, which are there.
using OtherResults = std::function<const PaperResults&(const std::string& experiment)>;

JudgedClaim JudgeClaim(const Claim& claim, const PaperExperiment& experiment,
                       const PaperResults& results, const OtherResults& others);

// The numbers behind labels of an axis: "0.5", "100us", "8" of "pdlb.granularity=8", 0 of an empty
// one; their ranks if one of them has none, or they are of different kinds.
std::vector<double> AxisNumbers(const std::vector<std::string>& labels, bool& are_ranks);

// The metrics that a claim needs of its own experiment, and of others.
std::vector<std::string> MetricsOf(const Claim& claim);

}  // namespace heddle
