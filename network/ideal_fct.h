// SPDX-License-Identifier: Apache-2.0
// Computes the ideal FCT: the time that a flow takes alone on an idle network, with all its packets
// ready at the start. It is the pipeline of store-and-forward links at line rate, without handshake
// or window. It is the denominator of slowdown.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/packet.h"
#include "core/units.h"
#include "topo/path_classes.h"
#include "topo/routing.h"
#include "transport/packet_sizes.h"

namespace heddle {

// Returns the time of a flow of `packets` packets over `path`; each packet takes `wire` bytes on
// the wire, but the last one `last_wire`. Exact, rounded down to a picosecond.
Duration PipelineTime(std::span<const Channel> path, int64_t packets, int64_t wire,
                      int64_t last_wire);

class IdealFct {
 public:
  // `routing` must outlive this. With `may_detour`, links may fail: a flow may then take a path
  // with more links, which may be faster than all shortest paths, or move to another link of its
  // host. This changes `least` only. With
  // `spreads`, a flow uses all links of its hosts at once, as the subflows of MPTCP do: between
  // hosts with several links `rx` is `least` then.
  IdealFct(const Routing& routing, const PacketSizes& sizes, bool may_detour = false,
           bool spreads = false);

  struct Times {
    Duration rx;     // Until the receiver has all bytes, on the best shortest path.
    Duration tx;     // Until the last ACK is back, on the best shortest path.
    Duration least;  // No flow can be faster than this, even if it uses several paths at once.
  };

  Times Of(HostId src, HostId dst, int64_t size);

 private:
  // The classes of the paths between two hosts, one for each switch where packets may begin.
  using Ways = std::vector<PathClasses::Class>;

  Ways WaysBetween(HostId src, HostId dst);
  Duration Best(HostId src, HostId dst, const Ways& ways, int64_t packets, int64_t wire,
                int64_t last_wire);
  // The links of `src` that a flow may use at once.
  int64_t LinksAtOnce(HostId src, const Ways& ways) const;
  // The least time of a packet over the links between the hosts' own ones.
  double Crossing(const Ways& ways, int64_t bytes);
  double Sharing(const Ways& ways, int64_t bytes);
  Duration LeastOverAll(HostId src, HostId dst, const Ways& ways, int64_t packets, int64_t wire,
                        int64_t last_wire);

  const Routing& routing_;
  const PacketSizes sizes_;
  const bool may_detour_;
  const bool spreads_;
  Channel fastest_;  // If may_detour_: the highest rate and the least delay between two switches.
  PathClasses classes_;
  std::vector<double> capacities_;  // By class of paths, in bit/s; 0: not yet known.
  std::vector<Channel> path_;       // Scratch.
};

}  // namespace heddle
