// SPDX-License-Identifier: Apache-2.0
// Random flows on a fabric that loses packets, and one of whose links fails.

#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "core/random.h"
#include "tests/support/lab.h"

namespace heddle {

struct LossyFabric {
  std::string transport;
  std::string balancer;
  std::string_view draws;  // The name of the random numbers.
  uint32_t flows = 60;     // Of up to 400 kB, between 16 hosts.
  Duration every{};        // Three flows start at once.
};

// Returns the records of all flows.
inline std::string RecordsOf(const LossyFabric& fabric, int threads) {
  const LinkEvent lossy{.at = Time{}, .link = 20, .up = {}, .rate = {}, .delay = {}, .loss = 0.02};
  const LinkEvent down{.at = Time{} + 200_us, .link = 22, .up = false, .rate = {}, .delay = {}};
  Lab lab({.graph = LeafSpineFrom(
               "{leaves: 4, spines: 4, hosts_per_leaf: 4, host_link: {rate: 10Gbps, delay: 1us}, "
               "fabric_link: {rate: 10Gbps, delay: 1us}}"),
           .transport = fabric.transport,
           .balancer = fabric.balancer,
           .port = "{buffer: 60KB, ecn_above: 30KB}",
           .events = {lossy, down},
           .threads = threads});
  Rng rng = Rng::Stream(1, fabric.draws, 0);
  for (uint32_t i = 0; i < fabric.flows; ++i) {
    const auto src = static_cast<HostId>(rng.Below(16));
    const auto dst = static_cast<HostId>((src + 1 + rng.Below(15)) % 16);
    lab.AddFlow(src, dst, 1 + static_cast<int64_t>(rng.Below(400'000)),
                Time{} + fabric.every * (i / 3));
  }
  lab.Run(Time{} + 5_s);
  EXPECT_TRUE(lab.finished());
  return Describe(lab);
}

}  // namespace heddle
