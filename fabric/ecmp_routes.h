// SPDX-License-Identifier: Apache-2.0
// The next hops of a switch as its loops for ECMP read them.
//
// To choose a port, a switch reads several tables, and each read needs the result of the one
// before. So EcmpRoutes keeps this chain short: where a group of hosts lies behind one port or
// behind all uplinks, or its hosts behind one port each, and these ports have consecutive numbers,
// one entry for the group gives the port, without a look at the sets of the routing table.
//
// If the sets follow from the hosts' numbers (fabric/host_interval.h), it needs no table at all.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/packet.h"
#include "core/prefetch.h"
#include "fabric/ecmp_hash.h"
#include "fabric/host_interval.h"
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
    if (ports_) [[likely]] {
      const uint32_t more = more_outside_ & ~ports_->MaskOf(packet.dst);
      return ChooseFrom<kHashes>(ports_->NumberOf(packet.dst), more, packet, salt);
    }
    const HostGroup at = group_of_host_[packet.dst];
    const Row row = rows_[at.group];
    if (row.kind == kOther) [[unlikely]]
      return ChooseFromSet(packet, kHashes, salt);
    const uint32_t member = at.member & AllBitsIf(row.kind == kAttached);
    const uint32_t more = more_uplinks_ & AllBitsIf(row.kind == kUp);
    return ChooseFrom<kHashes>(row.port + member, more, packet, salt);
  }

  // Returns true if any packet has several next hops.
  bool has_choice() const { return has_choice_; }
  // Returns true if Choose() reads tables.
  bool needs_tables() const { return !ports_; }

  void Prefetch() const {
    if (needs_tables()) PrefetchElements(rows_);
  }

 private:
  enum Kind : uint16_t {
    kOne,       // One port.
    kUp,        // All uplinks; `port` is the first.
    kAttached,  // One port for each host of the group; `port` is that of the first.
    kOther,     // Anything else.
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

  // Chooses from `port` and the `more` ports behind it.
  template <bool kHashes>
  [[gnu::always_inline]] Choice ChooseFrom(uint32_t port, uint32_t more, const Packet& packet,
                                           uint64_t salt) const {
    if (!kHashes) return {port, 0, 1};
    const uint32_t count = 1 + more;
    const uint32_t chosen = static_cast<uint32_t>(MapToRange(EcmpHash(packet, salt), count));
    return {port + chosen, chosen * path_divisor_, count};
  }

  bool LeadsTo(size_t i, size_t port, uint32_t path_part) const;
  Row RowOf(uint32_t set) const;
  Row RowOfAttached(uint32_t first, uint32_t members) const;
  void FindPorts();
  Choice ChooseFromSet(const Packet& packet, bool hashes, uint64_t salt) const;

  std::optional<HostInterval> ports_;  // The first port towards each host.
  uint32_t more_outside_ = 0;          // How many more lead to hosts outside the interval.
  const HostGroup* group_of_host_ = nullptr;
  std::vector<Row> rows_;      // By group. Empty if no tables are needed.
  uint32_t more_uplinks_ = 0;  // The number of uplinks minus one; 0 if there are none.
  uint32_t path_divisor_ = 1;
  bool has_choice_ = false;
  std::unique_ptr<const Sets> sets_;  // Apart, as few packets need them.
};

}  // namespace heddle
