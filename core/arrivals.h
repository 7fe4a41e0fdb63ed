// SPDX-License-Identifier: Apache-2.0
// Merges the in-wires of one node in the order (time, in-port, FIFO): a tree of minima over the
// arrival of each wire's front packet, with the port in the low bits of the key, so that a tie goes
// to the lower port. Replacing the first walks one path from leaf to root, without a branch to
// mispredict.

#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <vector>

#include "core/packet.h"
#include "core/units.h"
#include "core/wire.h"

namespace heddle {

class Arrivals {
 public:
  // The wire that arrives at the next free in-port, numbered from 0.
  void Add(const WireTail& tail);

  // The latest arrival that a key can hold, of `ports` wires: 2^61 ps (26 days) divided by their
  // number, rounded up to a power of two.
  static Time LatestFor(size_t ports) { return {kNever.ps >> std::bit_width(ports - 1)}; }

  // When the next packet arrives, kNever if none is on its way; on which port; and the packet.
  Time Next() const { return tree_[1] == kNone ? kNever : Time{tree_[1] >> port_bits_}; }
  PortIndex Port() const { return static_cast<PortIndex>(tree_[1] & (leaves_ - 1)); }
  const Packet& Front() { return heads_[Port()].Front(); }

  // Removes Front().
  void Pop() {
    const PortIndex port = Port();
    Replace(port, heads_[port].Pop());
  }

  // The wire at `port` has a packet again. Returns false if that is known already.
  bool Announce(PortIndex port) {
    if (tree_[static_cast<size_t>(leaves_ + port)] != kNone) return false;
    Replace(port, heads_[port].NextArrival());
    return true;
  }

  // The same between threads: `pushed` packets have been sent, the first of the new ones arrives at
  // `arrival`.
  bool Announce(PortIndex port, Time arrival, uint64_t pushed) {
    heads_[port].Learn(pushed);
    if (tree_[static_cast<size_t>(leaves_ + port)] != kNone) return false;
    Replace(port, arrival);
    return true;
  }

  // Looks at the wire at `port` anew, on which `pushed` packets have been sent. Returns the next
  // arrival on it.
  Time Refresh(PortIndex port, uint64_t pushed) {
    heads_[port].SetTail(pushed);
    const Time arrival = heads_[port].NextArrival();
    Replace(port, arrival);
    return arrival;
  }

  // Asks for the packets at the front of all wires that have any, two of each.
  void Prefetch(Time end) const {
    const int64_t first_later = end == kNever ? kNone : end.ps << port_bits_;
    for (size_t i = 0; i < heads_.size(); ++i) {
      if (tree_[static_cast<size_t>(leaves_) + i] < first_later) heads_[i].Prefetch();
    }
  }

  WireHead& head(PortIndex port) { return heads_[port]; }
  size_t wires() const { return heads_.size(); }

 private:
  static constexpr int64_t kNone = kNever.ps;

  void Replace(PortIndex port, Time at) {
    int64_t key = at == kNever ? kNone : at.ps << port_bits_ | port;
    size_t i = static_cast<size_t>(leaves_ + port);
    tree_[i] = key;
    while (i > 1) {
      key = std::min(key, tree_[i ^ 1]);
      i >>= 1;
      tree_[i] = key;
    }
  }

  std::vector<int64_t> tree_ = std::vector<int64_t>(2, kNone);  // tree_[1] is the root.
  std::vector<WireHead> heads_;
  int64_t leaves_ = 1;  // A power of two.
  int port_bits_ = 0;
};

}  // namespace heddle
