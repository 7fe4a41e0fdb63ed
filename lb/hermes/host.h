// SPDX-License-Identifier: Apache-2.0
// Hermes' hosts: their settings, and the maker of their policy. HermesBalancer resolves the
// settings into rules and calls MakeHermesHost() for each host.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/packet.h"
#include "core/random.h"
#include "core/units.h"
#include "fabric/host_policy.h"
#include "lb/hermes/table.h"

namespace heddle {

struct HermesSettings {
  enum class Delay { kRoundTrip, kOneWay };

  Delay delay = Delay::kRoundTrip;
  bool use_ecn = true;
  Duration level{0};
  double move = 1;
  Duration try_every{0};
  std::optional<Duration> idle_moves;
  bool probe_best = true;
  bool failures = true;
  double ecn_high = 0.4;
  std::optional<Duration> rtt_low;
  std::optional<Duration> rtt_high;
  std::optional<Duration> rtt_better;
  double ecn_better = 0.05;
  Bytes sent_above = 600_KB;
  double rate_below = 0.3;
  Duration probe_interval = 500_us;
  bool share = true;
  int64_t timeouts = 3;
  double retransmitted = 0.01;
  Duration epoch = 10_ms;
  Duration failed_for = 10_s;
  double ecn_gain = 1.0 / 16;
  double rtt_gain = 1.0 / 8;
  Duration rate_tau = 500_us;
};

// The settings with every value that follows from the fabric.
struct HermesRules : HermesSettings {
  Duration low{};
  Duration high{};
  Duration better{};
  bool has_ecn = true;
};

HostPolicyPtr MakeHermesHost(const HermesRules& rules, HostId id, Rng rng);

// Returns the table of paths of a policy that MakeHermesHost() made; HermesRacks shares it in a
// rack.
HermesTable& HermesTableOf(HostPolicy& policy);

}  // namespace heddle
