// SPDX-License-Identifier: Apache-2.0
// Partners says which hosts send and draws the destination of each flow. Random workloads make one
// when they are prepared and ask it for every flow.

#pragma once

#include <cstddef>
#include <vector>

#include "core/packet.h"
#include "core/random.h"
#include "workload/workload.h"

namespace heddle {

enum class Pairs {
  kAny,           // Any other host.
  kInterRack,     // Any host on another leaf.
  kClientServer,  // Hosts on the second half of the leaves send to hosts on the first half.
  kPermutation,   // Each host has one destination, drawn once.
  kRandomHalves,  // One half of the hosts, drawn once, sends to the other.
};

// Every destination that a sender has is as likely as any other.
class Partners {
 public:
  // `stage` must outlive it.
  Partners(Pairs pairs, const Stage& stage);
  // Hosts of `from` send to hosts of `to`. None is in either list twice.
  Partners(const std::vector<HostId>& from, std::vector<HostId> to, const Stage& stage);

  bool Sends(size_t host) const { return sends_[host]; }

  // The number of destinations of `src`. Draw() may be called if it is not 0.
  size_t Choices(size_t src) const;
  HostId Draw(size_t src, Rng& rng) const;

  // The share of `src`'s flows that leave its rack.
  double Leaving(size_t src) const;

  // Returns what each host receives on average if each host h that sends sends `from[h]`.
  std::vector<double> Received(const std::vector<double>& from) const;

 private:
  // Positions in receivers_, from `begin` up to `end`.
  struct Stretch {
    size_t begin = 0;
    size_t end = 0;
    size_t size() const { return end - begin; }
  };

  void SetSenders(const std::vector<HostId>& hosts);
  void SetReceivers(std::vector<HostId> hosts);
  void SpareThemselves();
  void SpareRacks();

  const Stage& stage_;
  std::vector<bool> sends_;  // By host.
  std::vector<HostId> receivers_;
  std::vector<size_t> on_leaf_;  // How many receivers are on each leaf.
  std::vector<Stretch> spared_;  // By host: the receivers that it does not send to.
  std::vector<HostId> only_;     // By host: its only destination. Empty if hosts have several.
};

}  // namespace heddle
