// SPDX-License-Identifier: Apache-2.0

#include "core/arrivals.h"

#include <bit>

namespace heddle {

void Arrivals::Add(const WireTail& tail) {
  heads_.emplace_back(&tail);
  const size_t leaves = std::bit_ceil(heads_.size());
  leaves_ = static_cast<int64_t>(leaves);
  port_bits_ = std::countr_zero(leaves);
  tree_.assign(2 * leaves, kNone);
}

}  // namespace heddle
