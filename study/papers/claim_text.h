// SPDX-License-Identifier: Apache-2.0
// A part of a claim in words: what it expects, and what was measured.

#pragma once

#include <string>

#include "study/papers/claims.h"
#include "study/papers/judge.h"

namespace heddle {

// "afct: rps < others"
std::string ExpectedText(const ClaimPart& part, const PaperExperiment& experiment);
// "-12 % +- 3 % (load=0.5: rps, ecmp) to ...", and where the claim does not hold. There are cells.
std::string MeasuredText(const JudgedPart& judged);
// "-12 % +- 3 %", or "-12 % to +40 %" of several comparisons. There are cells.
std::string RangeText(const JudgedPart& judged);
std::string ShortNumber(double value);

}  // namespace heddle
