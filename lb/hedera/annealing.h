// SPDX-License-Identifier: Apache-2.0
// Hedera's other scheduler (Al-Fares et al., NSDI 2010): simulated annealing. The controller calls
// Search() every period; it assigns one path to each destination host, for all large flows to it. A
// step swaps the paths of two hosts of one pod. The energy is the sum over links of the demand
// above capacity. A worse state is accepted with a probability that falls with the temperature. The
// best state is the result, and the next search starts from it.
//
// The energy's scale is ours: a link's missing capacity, as a share of a host's link, times 500.

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

  // Assigns `paths` to the hosts in turn. If there are more paths than hosts, the rest have no
  // host; hosts can swap with these too.
  void AddPod(std::span<const HostId> hosts, size_t paths) {
    Pod pod;
    for (size_t i = 0; i < std::max(hosts.size(), paths); ++i) {
      Place place{.path = static_cast<uint16_t>(i % paths)};
      if (i < hosts.size()) place.host = hosts[i];
      pod.push_back(place);
    }
    pods_.push_back(std::move(pod));
  }

  // `move(host, from, to)` moves all flows to a host from one path to another and returns the
  // increase of energy. The caller has already placed all hosts on the paths of ForEach().
  template <class Move>
  void Search(const Move& move) {
    double energy = 0;  // Relative to the initial energy.
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

  // Calls `visit(host, path)` for all hosts.
  template <class Visit>
  void ForEach(const Visit& visit) const {
    for (const Pod& pod : pods_) {
      for (const Place& place : pod) {
        if (place.host) visit(*place.host, place.path);
      }
    }
  }

 private:
  static constexpr int kHottest = 1'000;  // The search has as many steps, as in the paper.
  static constexpr double kScale = 500;
  static constexpr double kNothing = 1e-9;  // Smaller changes are rounding errors.

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

  // (1 - x/64)^64: exp() of the C library differs between machines.
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
