// SPDX-License-Identifier: Apache-2.0
// The messages of a mixture-of-experts layer: each token goes to the ranks of the experts that are
// to process it (dispatch), and its results come back (combine). Some experts are more popular than
// others, so an all-to-all of such a layer is uneven.

#pragma once

#include <cstdint>
#include <vector>

#include "core/units.h"
#include "settings/fields.h"

namespace heddle {

struct MoeSettings {
  enum class Routing { kExpected, kSampled };
  enum class Direction { kDispatch, kCombine };

  int64_t tokens = 0;  // Per rank; 0: no such layer.
  int64_t top_k = 2;
  int64_t hidden = 4096;
  Bytes element{2};
  int64_t experts = 8;
  double skew = 0;
  Routing routing = Routing::kExpected;
  Direction direction = Direction::kDispatch;

  void Declare(Fields& fields);

  bool is_on() const { return tokens > 0; }
  // The bytes that one rank sends in a dispatch, those for its own experts included.
  int64_t BytesOfRank() const { return tokens * top_k * hidden * element.count; }
};

// The bytes from each rank to each other, by source, then destination. Popularity and samples are
// drawn from streams of `seed` and `job`.
std::vector<int64_t> MoeTraffic(const MoeSettings& moe, uint32_t ranks, uint64_t seed,
                                uint32_t job);

}  // namespace heddle
