// SPDX-License-Identifier: Apache-2.0
// A switch that loses packets: what its links have damaged, what falls into a blackhole, and a
// share of all, by chance (the malfunctions of Hermes, Zhang et al., SIGCOMM 2017). It stands
// around the policy of any scheme, which deals with all other packets as if this were not there,
// and does not learn of what is lost.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "fabric/around_policy.h"
#include "fabric/random_loss.h"

namespace heddle {

// Takes every packet that fits all of these.
struct Blackhole {
  static constexpr uint64_t kAll = uint64_t{1} << 32;  // Of the 2^32 values of a hash.

  std::vector<bool> from = {};      // By its source; empty: any.
  std::vector<bool> to = {};        // By its destination; likewise.
  uint64_t pairs = kAll;            // A salted hash of (source, destination) is below this.
  uint64_t salt = 0;                // Of that hash.
  uint64_t hash_from = 0;           // Its tuple_hash is at least this,
  uint64_t hash_to = kAll;          // and below this.
  std::vector<bool> in_ports = {};  // By the port it came in through; empty: any.
  Time until = kNever;              // When it closes.

  bool Takes(const Packet& packet, PortIndex in_port, Time now) const;
};

class SwitchFaults final : public AroundSwitchPolicy {
 public:
  // `links`: what is lost on arrival, by port. `drops`: of what is left.
  SwitchFaults(SwitchPolicyPtr scheme, std::vector<RandomLoss> links, RandomLoss drops)
      : AroundSwitchPolicy(std::move(scheme)), links_(std::move(links)), drops_(drops) {}

  // --- Conductor, between windows ---

  RandomLoss& link(PortIndex port) { return links_[port]; }
  RandomLoss& drops() { return drops_; }
  void Open(const Blackhole& blackhole) { blackholes_.push_back(blackhole); }

  // --- SwitchPolicy ---

  Packets asked_about() const override { return Packets::kEvery; }
  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex in_port,
                    const Candidates& candidates) override;

 private:
  bool FallsIntoOne(const Packet& packet, PortIndex in_port, Time now) const;

  std::vector<RandomLoss> links_;
  RandomLoss drops_;
  std::vector<Blackhole> blackholes_;
};

}  // namespace heddle
