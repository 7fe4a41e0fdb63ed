// SPDX-License-Identifier: Apache-2.0
// Sends recorded packets through a load balancer, again and again, and times one part of its work.
// The table of `heddle bench lb`, the tables of papers and the Google Benchmark program
// decision_bench all measure with this class, so their nanoseconds mean the same.

#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/decision/cache_misses.h"
#include "bench/decision/recording.h"
#include "core/units.h"
#include "lb/parts/load_balancer.h"
#include "settings/diagnostics.h"
#include "settings/kinds.h"

namespace heddle {

class HostPair;
class LeafPair;

enum class CostPart {
  kDecide,  // Only the question to the switch's policy, with idle queues.
  kSwitch,  // All work of a leaf for a packet: the decision, forwarding, and the scheme's work when
            // packets enter and leave queues, when its timers fire, and for feedback of other
            // switches. Half of the packets go to the leaf's hosts.
  kSend,    // Only the question to the sending host's policy. Data packets only.
  kHost,    // All work of both hosts' policies for a data packet: when it leaves, when it arrives,
            // when its ACK arrives, and when their timers fire.
};

// Reads `yaml` as the lb of an experiment: "tr", "{kind: tr, table_entries: 131072}".
Chosen<LoadBalancer> ReadBalancer(const std::string& yaml, Diagnostics& diagnostics);

// Returns the load balancer of `yaml`, prepared for a leaf with `candidates` uplinks; nothing if
// the scheme refuses such a fabric. `yaml` is one that ReadBalancer() accepts.
std::optional<Chosen<LoadBalancer>> PreparedBalancer(const std::string& yaml, size_t candidates);

// Returns true if the scheme has a policy at hosts that is asked about each packet sent.
bool ActsAtHosts(const LoadBalancer& balancer);

class CostMeter {
 public:
  // `packets` outlive the meter, and `balancer` is prepared for `candidates`. For the hosts' parts,
  // ActsAtHosts(balancer) must be true.
  CostMeter(const LoadBalancer& balancer, size_t candidates, CostPart part,
            std::span<const RecordedPacket> packets);
  ~CostMeter();

  // packets_ahead() is the number of packets in the next visit. Visit() runs it and returns the
  // nanoseconds that its measured part takes.
  size_t packets_ahead() const { return NextVisit().size(); }
  double Visit();

  // Runs all visits up to the last packet and returns nanoseconds per packet. The next visit begins
  // with the first packet again, at a later simulated time: tables stay filled.
  double Round();

  // From now on `misses` counts cache misses while the question of kDecide is asked. Null ends
  // this.
  void CountMisses(MissCounter* misses) { misses_ = misses; }

  // Returns the bytes of state of the measured switch's or host's policy.
  size_t state_bytes() const;

 private:
  std::span<const RecordedPacket> NextVisit() const;

  const CostPart part_;
  const std::vector<RecordedPacket> data_;  // The hosts' parts leave out ACKs.
  const std::span<const RecordedPacket> packets_;
  const std::unique_ptr<LeafPair> leaves_;  // One of the two is null.
  const std::unique_ptr<HostPair> hosts_;
  MissCounter* misses_ = nullptr;
  size_t next_ = 0;  // The first packet of the next visit.
  Time start_;       // The arrival of this round's first packet.
};

}  // namespace heddle
