// SPDX-License-Identifier: Apache-2.0
// Runs recorded packets past a load balancer, again and again, and times one part of what it does
// with them. The table of `heddle bench lb`, the tables of papers and the Google Benchmark program
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
  kDecide,  // The question to the switch's policy alone, queues idle.
  kSwitch,  // All that a leaf does with a packet, as many from its hosts as to them: the decision,
            // forwarding, what the scheme does when packets enter and leave queues and when its
            // timers fire, and with what other switches that run it send and write into packets.
  kSend,    // The question to the sending host's policy alone. Data packets only.
  kHost,    // All that the policies of both hosts do with a data packet: when it leaves, when it
            // arrives, when its ACK does, and by their timers.
};

// What `yaml` means as the lb of an experiment: "tr", "{kind: tr, table_entries: 131072}".
Chosen<LoadBalancer> ReadBalancer(const std::string& yaml, Diagnostics& diagnostics);

// The load balancer of `yaml`, in which ReadBalancer() finds no mistake, prepared for a leaf with
// `candidates` uplinks. Nothing if the scheme refuses such a fabric.
std::optional<Chosen<LoadBalancer>> PreparedBalancer(const std::string& yaml, size_t candidates);

// Whether the scheme has a policy at hosts that is asked about each packet sent.
bool ActsAtHosts(const LoadBalancer& balancer);

class CostMeter {
 public:
  // `packets` outlive the meter, and `balancer` is prepared for `candidates`. For the hosts' parts
  // it must act there.
  CostMeter(const LoadBalancer& balancer, size_t candidates, CostPart part,
            std::span<const RecordedPacket> packets);
  ~CostMeter();

  // The packets of the next visit, and the nanoseconds that the measured part of it takes.
  size_t packets_ahead() const { return NextVisit().size(); }
  double Visit();

  // All visits from here to the end of the packets. After it the next visit begins with the first
  // packet again, in later simulated time: tables stay filled. Returns nanoseconds per packet.
  double Round();

  // From now on `misses` counts while kDecide's question is asked; null: nothing does.
  void CountMisses(MissCounter* misses) { misses_ = misses; }

  // What the policy of the measured switch or host keeps.
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
  Time start_;       // When this round's first packet comes.
};

}  // namespace heddle
