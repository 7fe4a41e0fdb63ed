// SPDX-License-Identifier: Apache-2.0
// Which packets a queue marks (RFC 3168's CE), by its instantaneous length. A step: DCTCP's K
// (SIGCOMM 2010, section 3.1). Between two thresholds, with a probability that grows linearly:
// DCQCN's (SIGCOMM 2015, section 3.1); beyond the upper one every packet.

#pragma once

#include <algorithm>
#include <cstdint>

#include "core/random.h"
#include "core/units.h"
#include "fabric/fifo_port.h"

namespace heddle {

struct Marking {
  int64_t above = kUnlimited;     // Up to this length none is marked,
  int64_t all = kUnlimited;       // above this one all are; in the buffer's unit.
  double at_all = 1;              // The probability just below `all`.
  bool at_dequeue = false;        // By the length a packet leaves behind, not by the one it makes.
  bool counts_departing = false;  // at_dequeue: with the packet that leaves counted as well.

  // Whether it takes more than a FIFO port, which marks at enqueue and by a step.
  bool needs_queue() const { return at_dequeue || above != all; }

  // The length that decides at dequeue about a packet of `size` that leaves `behind`.
  int64_t LengthAtDequeue(int64_t behind, int64_t size) const {
    return counts_departing ? behind + size : behind;
  }

  bool Marks(int64_t length, Rng& rng) const {
    if (length <= above) return false;
    if (length > all) return true;
    const double share = static_cast<double>(length - above) / static_cast<double>(all - above);
    return rng.Uniform() < at_all * share;
  }
};

// DCTCP's K (SIGCOMM 2010, section 3.4, gives 20 packets at 1 Gbps and 65 at 10 Gbps): 30 KB up to
// 1 Gbps, 97.5 KB at 10 Gbps, linear in between, then 30 KB per 10 Gbps where that is more.
inline Bytes DefaultMarkingThreshold(BitRate rate) {
  const double gbps = static_cast<double>(rate.bps) * 1e-9;
  if (gbps <= 1) return 30'000_B;
  if (gbps < 10) return {30'000 + static_cast<int64_t>((gbps - 1) / 9 * 67'500)};
  return {std::max<int64_t>(97'500, static_cast<int64_t>(3'000 * gbps))};
}

}  // namespace heddle
