// SPDX-License-Identifier: Apache-2.0
// Reads one part of a claim from claims.yaml: which points it compares, and how it is judged. The
// reader of claims.yaml (claims.cc) calls it for each part. Mistakes are reported to the
// diagnostics, with their place in the file; it doesn't check axes, since these are known only
// later.

#pragma once

#include <string>
#include <vector>

#include "settings/diagnostics.h"
#include "settings/value.h"
#include "study/papers/claims.h"

namespace heddle {

// `others` are keys of the claim around the part, which are read elsewhere.
ClaimPart ReadClaimPart(const Value& value, const std::string& path, const Metrics& metrics,
                        const std::vector<std::string>& others, Diagnostics& diagnostics);

}  // namespace heddle
