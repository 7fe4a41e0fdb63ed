// SPDX-License-Identifier: Apache-2.0
// Puts a part of a claim into words: what it expects, and what was measured. The judge calls it.

#pragma once

#include <string>

#include "study/papers/claims.h"
#include "study/papers/judge.h"

namespace heddle {

// Returns a text such as "afct: rps < others".
std::string ExpectedText(const ClaimPart& part, const PaperExperiment& experiment);
// Returns a text such as "-12 % +- 3 % (load=0.5: rps, ecmp) to ...", and where the claim does not
// hold. `judged` must have cells.
std::string MeasuredText(const JudgedPart& judged);
// Returns "-12 % +- 3 %", or "-12 % to +40 %" for several comparisons. `judged` must have cells.
std::string RangeText(const JudgedPart& judged);
std::string ShortNumber(double value);

}  // namespace heddle
