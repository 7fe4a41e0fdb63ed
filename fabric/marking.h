// SPDX-License-Identifier: Apache-2.0
// Decides which packets a queue marks (RFC 3168's CE), by its instantaneous length; ports call it
// at enqueue or dequeue. With one threshold it is DCTCP's K (SIGCOMM 2010, section 3.1). With two
// it is DCQCN's (SIGCOMM 2015, section 3.1): between them the probability grows linearly, and above
// the upper one every packet is marked.

#pragma once

#include <algorithm>
#include <cstdint>

#include "core/random.h"
#include "core/units.h"
#include "fabric/fifo_port.h"

namespace heddle {

struct Marking {
  int64_t above = kUnlimited;  // K or Kmin: up to this length no packet is marked; in the buffer's
                               // unit.
  int64_t all = kUnlimited;    // K or Kmax: above this length all packets are marked; likewise.
  double at_all = 1;           // Pmax: the probability at `all`.
  bool at_dequeue = false;     // The length behind a leaving packet decides, not that at enqueue.
  bool counts_departing = false;  // at_dequeue: that length includes the leaving packet.

  // Returns true if a FIFO port cannot do it: that marks at enqueue with one threshold.
  bool needs_queue() const { return at_dequeue || above != all; }

  // The length that decides about marking a packet of `size` at dequeue. `behind` is the length of
  // the queue behind the packet.
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

// DCTCP's K (SIGCOMM 2010, section 3, gives 20 packets at 1 Gbps and 65 at 10 Gbps): 30 KB up to
// 1 Gbps, 97.5 KB at 10 Gbps, linear in between, then 30 KB per 10 Gbps where that is more.
inline Bytes DefaultMarkingThreshold(BitRate rate) {
  const double gbps = static_cast<double>(rate.bps) * 1e-9;
  if (gbps <= 1) return 30'000_B;
  if (gbps < 10) return {30'000 + static_cast<int64_t>((gbps - 1) / 9 * 67'500)};
  return {std::max<int64_t>(97'500, static_cast<int64_t>(3'000 * gbps))};
}

}  // namespace heddle
