// SPDX-License-Identifier: Apache-2.0
// The next hops of a switch as its loops for ECMP read them.
//
// To choose a port, a switch reads several tables, and each read needs the result of the one
// before. So EcmpRoutes keeps this chain short: where a group of hosts lies behind one port or
// behind all uplinks, or its hosts behind one port each, and these ports have consecutive numbers,
// one entry for the group gives the port, without a look at the sets of the routing table. So it is
// for all groups of a leaf-spine or a fat-tree without failures or parallel links.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/packet.h"
#include "core/prefetch.h"
#include "fabric/ecmp_hash.h"
#include "fabric/routing_table.h"

namespace heddle {

class EcmpRoutes {
 public:
  struct Hop {
    PortIndex port = 0;
    uint16_t path_part = 0;  // Its term in the id of the path taken.
  };
  // Fields of 32 bits, so that compilers keep it in registers. `count` is the number of next hops
  // to choose from. If it is 0, none is chosen: the packet's set is empty or left out.
  struct Choice {
    uint32_t port;
    uint32_t path_part;
    uint32_t count;

    Hop hop() const { return {static_cast<PortIndex>(port), static_cast<uint16_t>(path_part)}; }
  };

  EcmpRoutes() = default;
  // `table` must outlive this. `path_parts`, by port, are the terms of Hop. `leaves_out`, by set of
  // the table, is true for sets whose packets the caller routes itself.
  EcmpRoutes(const RoutingTable& table, std::span<const uint16_t> path_parts,
             const std::vector<bool>& leaves_out);

  // ECMP's next hop of `packet`, as EcmpPort() chooses it. If not kHashes: the first next hop, and
  // a count of 1 (0 if none is chosen).
  template <bool kHashes>
  [[gnu::always_inline]] Choice Choose(const Packet& packet, uint64_t salt) const {
    const HostGroup at = group_of_host_[packet.dst];
    const Row row = rows_[at.group];
    if (row.kind == kOther) [[unlikely]]
      return ChooseFromSet(packet, kHashes, salt);
    // Without branches, which would be mispredicted: up and down follow no pattern.
    const uint32_t member = at.member & (0u - (row.kind >> 1 & 1u));
    if (!kHashes) return {row.port + member, 0, 1};
    const uint32_t count = 1 + (more_uplinks_ & (0u - (row.kind & 1u)));
    const uint32_t chosen = static_cast<uint32_t>(MapToRange(EcmpHash(packet, salt), count));
    return {row.port + member + chosen, chosen * path_divisor_, count};
  }

  // Returns true if any packet has several next hops.
  bool has_choice() const { return has_choice_; }

  void Prefetch() const { PrefetchElements(rows_); }

 private:
  // Choose() tests the bits of these.
  enum Kind : uint16_t {
    kOne = 0,       // One port.
    kUp = 1,        // All uplinks; `port` is the first.
    kAttached = 2,  // One port for each host of the group; `port` is that of the first.
    kOther = 4,     // Anything else.
  };
  struct Row {
    PortIndex port;
    Kind kind;
  };

  // The sets of the routing table, from which the constructor makes the rows.
  struct Sets {
    const RoutingTable& table;
    std::vector<RoutingTable::Set> sets;  // Those of `table`; those left out have a count of 0.
    std::vector<Hop> hops;                // By index in the table's `ports`.
  };

  bool LeadsTo(size_t i, size_t port, uint32_t path_part) const;
  Row RowOf(uint32_t set) const;
  Row RowOfAttached(uint32_t first, uint32_t members) const;
  Choice ChooseFromSet(const Packet& packet, bool hashes, uint64_t salt) const;

  const HostGroup* group_of_host_ = nullptr;
  std::vector<Row> rows_;      // By group.
  uint32_t more_uplinks_ = 0;  // The number of uplinks minus one; 0 if there are none.
  uint32_t path_divisor_ = 1;
  bool has_choice_ = false;
  std::unique_ptr<const Sets> sets_;  // Apart, as few packets need them.
};

}  // namespace heddle
