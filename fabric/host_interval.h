// SPDX-License-Identifier: Apache-2.0
// The number of the next port, or of the set of next hops, towards each host: computed from the
// host's number, without a table.
//
// In a leaf-spine or a fat-tree without failures, hosts are numbered from leaf to leaf and from pod
// to pod. So the hosts below a switch are an interval, of which each port leads to equally many,
// and all others lie behind all uplinks. A fabric of thousands of hosts has many switches, whose
// tables would not stay in the cache.

#pragma once

#include <cstdint>

#include "core/divider.h"
#include "core/packet.h"

namespace heddle {

// A mask in place of a branch: whether a packet goes up or down follows no pattern, so the branch
// would be mispredicted.
inline uint32_t AllBitsIf(bool condition) { return 0 - static_cast<uint32_t>(condition); }

struct HostInterval {
  uint32_t first = 0;       // The first host,
  uint32_t hosts = 0;       // of so many.
  uint32_t number = 0;      // That of the first host.
  uint32_t other = 0;       // That of all hosts outside.
  Divider hosts_of_number;  // So many hosts in a row have the same; the next ones have one more.

  // All bits if the interval contains `host`, else none.
  uint32_t MaskOf(HostId host) const { return AllBitsIf(host - first < hosts); }
  uint32_t NumberOf(HostId host) const {
    const uint32_t inside = number + hosts_of_number.Quotient(static_cast<uint16_t>(host - first));
    return (inside & MaskOf(host)) | (other & ~MaskOf(host));
  }
  // How many different numbers the hosts inside have.
  uint32_t numbers() const {
    return hosts == 0 ? 0 : hosts_of_number.Quotient(static_cast<uint16_t>(hosts - 1)) + 1;
  }
};

}  // namespace heddle
