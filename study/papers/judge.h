// SPDX-License-Identifier: Apache-2.0
// Judges claims by results: finds the comparisons that a claim is about, judges each of them with
// study/papers/findings.h, and puts the result into words.

#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "study/papers/claims.h"
#include "study/papers/findings.h"
#include "study/papers/paper_results.h"

namespace heddle {

// One comparison that was judged.
struct JudgedCell {
  std::string where;  // "load=0.5: rps, ecmp"
  Finding finding;
  double relative =
      0;  // The mean as a share of the value that it is relative to; NaN if there is none.
};

struct JudgedPart {
  ClaimVerdict verdict = ClaimVerdict::kUnjudged;
  std::string expected;
  std::string measured;
  std::string range;   // The same in short, without the places.
  std::string reason;  // The reason if it cannot be judged.
  std::vector<JudgedCell> cells;

  size_t CountOf(Outcome outcome) const;
};

struct JudgedClaim {
  ClaimVerdict verdict = ClaimVerdict::kUnjudged;
  std::vector<JudgedPart> parts;

  // Comparisons of all parts: "5 of 6".
  size_t agreeing() const;
  size_t all() const;
  std::string Expected() const;
  std::string Measured() const;
  std::string Range() const;
  std::string Reason() const;
};

// Returns the results of another experiment of the paper, which must exist.
using OtherResults = std::function<const PaperResults&(const std::string& experiment)>;

JudgedClaim JudgeClaim(const Claim& claim, const PaperExperiment& experiment,
                       const PaperResults& results, const OtherResults& others);

// Returns the numbers in an axis's labels: of "0.5", of "100us", 8 for "pdlb.granularity=8", 0 for
// an empty label. Of a label with several settings the last one counts. Returns ranks instead if a
// label has no number, if their units differ, or if another setting than the last one differs.
std::vector<double> AxisNumbers(const std::vector<std::string>& labels, bool& are_ranks);

// Returns the metrics that a claim needs, from its own experiment and from others.
std::vector<std::string> MetricsOf(const Claim& claim);

}  // namespace heddle
