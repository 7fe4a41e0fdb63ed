// SPDX-License-Identifier: Apache-2.0
// TDLB's switches: their settings, and the maker of their policy. TdlbBalancer calls
// MakeTdlbSwitch() for each switch.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/random.h"
#include "core/units.h"
#include "fabric/switch_policy.h"
#include "lb/parts/flow_table.h"
#include "lb/parts/leaf_paths.h"
#include "lb/tdlb/path_delays.h"

namespace heddle {

struct TdlbSettings {
  enum class DetectAt { kLeaves, kLastHop };
  enum class Reroute { kMarked, kAlways };
  enum class PlaceBy { kDelay, kHash };
  enum class ProbeMode { kEcho, kHula };

  std::optional<Bytes> congested_above;
  std::optional<Bytes> clear_below;
  DetectAt detect_at = DetectAt::kLeaves;
  Reroute reroute = Reroute::kMarked;
  PlaceBy place = PlaceBy::kDelay;
  ProbeMode probe = ProbeMode::kEcho;
  PathDelays::Memory table = PathDelays::Memory::kAll;
  Duration check_every = 10_us;
  Duration probe_every = 100_us;
  std::optional<Duration> stale;
  Duration notification_age = 1_ms;
  Duration clock_spread{0};
  int64_t queue_flows = 512;
  FlowTableSettings flows = {.age = 5_ms};
};

SwitchPolicyPtr MakeTdlbSwitch(const TdlbSettings& settings, const PathDigits& digits,
                               Duration base_rtt, uint64_t salt, Rng rng);

}  // namespace heddle
