// SPDX-License-Identifier: Apache-2.0
// Makes a switch lose packets: those damaged by its links, those that fall into a blackhole, and a
// random share of the rest (the malfunctions of Hermes, Zhang et al., SIGCOMM 2017). It wraps the
// policy of any scheme, which handles all other packets as usual and does not learn of lost ones.
// The conductor changes the faults between windows.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "fabric/around_policy.h"
#include "fabric/link_loss.h"
#include "fabric/random_loss.h"

namespace heddle {

// Drops every packet that meets all of these conditions.
struct Blackhole {
  static constexpr uint64_t kAll = uint64_t{1} << 32;  // All 2^32 values of a hash.

  std::vector<bool> from = {};      // By its source; empty: any.
  std::vector<bool> to = {};        // By its destination; likewise.
  uint64_t pairs = kAll;            // A salted hash of (source, destination) is below this.
  uint64_t salt = 0;                // The salt of that hash.
  uint64_t hash_from = 0;           // The packet's tuple_hash is at least this.
  uint64_t hash_to = kAll;          // The packet's tuple_hash is below this.
  std::vector<bool> in_ports = {};  // By the port it came in through; empty: any.
  Time until = kNever;              // When the blackhole closes.

  bool Takes(const Packet& packet, PortIndex in_port, Time now) const;
};

class SwitchFaults final : public AroundSwitchPolicy {
 public:
  // `links` holds the losses on arrival, by port. `drops` applies to the packets that are left.
  SwitchFaults(SwitchPolicyPtr scheme, std::vector<LinkLoss> links, RandomLoss drops)
      : AroundSwitchPolicy(std::move(scheme)), links_(std::move(links)), drops_(drops) {}

  // --- Conductor, between windows ---

  LinkLoss& link(PortIndex port) { return links_[port]; }
  RandomLoss& drops() { return drops_; }
  void Open(const Blackhole& blackhole) { blackholes_.push_back(blackhole); }

  // --- SwitchPolicy ---

  Packets asked_about() const override { return Packets::kEvery; }
  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex in_port,
                    const Candidates& candidates) override;

 private:
  bool FallsIntoOne(const Packet& packet, PortIndex in_port, Time now) const;

  std::vector<LinkLoss> links_;
  RandomLoss drops_;
  std::vector<Blackhole> blackholes_;
};

}  // namespace heddle
