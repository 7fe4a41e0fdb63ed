// SPDX-License-Identifier: Apache-2.0
// Hedera's other scheduler (Al-Fares et al., NSDI 2010): simulated annealing. All large flows to a
// host take the path that the host has been given. A step swaps the paths of two hosts of one pod;
// the energy is by how much demands exceed the capacity of links, all together. A worse state is
// accepted by chance, the less the colder it is; the best one met is the result, from which the
// next search begins.
//
// How energy compares with temperature is ours: what a link lacks, as a share of a host's, times
// 500.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/packet.h"
#include "core/random.h"

namespace heddle {

class HederaAnnealing {
 public:
  explicit HederaAnnealing(Rng rng) : rng_(rng) {}

  // Each host begins with another of `paths`. If there are more paths than hosts, the rest are
  // given to nobody, with whom hosts can swap too.
  void AddPod(std::span<const HostId> hosts, size_t paths) {
    Pod pod;
    for (size_t i = 0; i < std::max(hosts.size(), paths); ++i) {
      Place place{.path = static_cast<uint16_t>(i % paths)};
      if (i < hosts.size()) place.host = hosts[i];
      pod.push_back(place);
    }
    pods_.push_back(std::move(pod));
  }

  // `move(host, from, to)` takes all flows to a host from one path to another, and returns by how
  // much that raises the energy. It has been told of all hosts with the paths that they have.
  template <class Move>
  void Search(const Move& move) {
    double energy = 0;  // Above that of the beginning.
    double least = 0;
    std::vector<Pod> best = pods_;
    for (int temperature = kHottest; temperature > 0; --temperature) {
      Pod& pod = pods_[rng_.Below(static_cast<uint32_t>(pods_.size()))];
      const uint32_t n = static_cast<uint32_t>(pod.size());
      Place& a = pod[rng_.Below(n)];
      Place& b = pod[rng_.Below(n)];
      const double change = Swap(a, b, move);
      if (change > 0 && rng_.Uniform() >= ExpOfMinus(kScale * change / temperature)) {
        Swap(a, b, move);
        continue;
      }
      energy += change;
      if (energy > least - kNothing) continue;
      least = energy;
      best = pods_;
    }
    pods_ = std::move(best);
  }

  // `visit(host, path)` of all hosts.
  template <class Visit>
  void ForEach(const Visit& visit) const {
    for (const Pod& pod : pods_) {
      for (const Place& place : pod) {
        if (place.host) visit(*place.host, place.path);
      }
    }
  }

 private:
  static constexpr int kHottest = 1'000;  // And as many steps, the paper's.
  static constexpr double kScale = 500;
  static constexpr double kNothing = 1e-9;  // A rounding.

  struct Place {
    std::optional<HostId> host = {};
    uint16_t path = 0;
  };
  using Pod = std::vector<Place>;

  template <class Move>
  static double Swap(Place& a, Place& b, const Move& move) {
    if (a.path == b.path) return 0;
    double change = 0;
    if (a.host) change += move(*a.host, a.path, b.path);
    if (b.host) change += move(*b.host, b.path, a.path);
    std::swap(a.path, b.path);
    return change;
  }

  // (1 - x/64)^64: exp() of the C library is not the same everywhere.
  static double ExpOfMinus(double x) {
    if (x >= 64) return 0;
    double power = 1 - x / 64;
    for (int doubling = 0; doubling < 6; ++doubling) power *= power;
    return power;
  }

  Rng rng_;
  std::vector<Pod> pods_;
};

}  // namespace heddle
