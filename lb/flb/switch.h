// SPDX-License-Identifier: Apache-2.0
// FLB's switches: their settings, and the maker of their policy. FlbBalancer fills the constants
// from the settings and the fabric, and calls MakeFlbSwitch() for each switch.

#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>

#include "core/random.h"
#include "core/units.h"
#include "fabric/switch_policy.h"
#include "lb/parts/flow_table.h"
#include "lb/parts/leaf_paths.h"

namespace heddle {

struct FlbSettings {
  enum class Evict { kForce, kStrict };
  enum class Compare { kRaw, kQueueing };
  enum class IsolationScope { kUplink, kPath };

  std::optional<Duration> stamp_every;
  std::optional<Duration> gap_tick;
  std::optional<Bytes> isolate_above;
  std::optional<double> isolate_share;
  std::optional<Bytes> release_below;
  Evict evict = Evict::kForce;
  Compare compare = Compare::kRaw;
  IsolationScope scope = IsolationScope::kUplink;
  bool isolates = true;
  bool rate_control = false;
  Duration clock_spread{0};
  int64_t queue_flows = 512;
  FlowTableSettings flows = {.age = 1_ms};
  Duration held_age = 100_ms;

  // How long a flow is remembered that sends nothing because it cannot.
  Duration longest_age() const { return std::max(flows.age, held_age); }
};

// The settings and the values that follow from the fabric.
struct FlbConstants {
  FlbSettings settings;
  Duration base_rtt;
  Duration stamp_every;
  int64_t isolate_above;  // K
  int64_t release_below;
  PathDigits digits;
  int most_links = 2;  // The links of the longest path between leaves.
  Bytes packet;        // A full packet on the wire.
};

SwitchPolicyPtr MakeFlbSwitch(const FlbConstants& constants, uint64_t salt, Rng rng);

}  // namespace heddle
