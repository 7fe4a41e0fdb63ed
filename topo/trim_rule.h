// SPDX-License-Identifier: Apache-2.0
// The settings of packet trimming at switch ports. PortRule holds them, and QueuePlan turns them
// into limits for each port.

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/units.h"
#include "fabric/trimming.h"
#include "settings/fields.h"

namespace heddle {

struct TrimRule {
  TrimSettings::When when = TrimSettings::When::kOff;
  std::optional<Bytes> threshold;  // Not set: a bandwidth-delay product.
  Bytes header{64};
  TrimSettings::Victim victim = TrimSettings::Victim::kCoin;
  std::optional<Bytes> header_limit;  // Not set: twice the threshold.
  TrimSettings::Overflow overflow = TrimSettings::Overflow::kDrop;
  std::vector<int64_t> classes = {3};

  void Declare(Fields& fields);

  bool on() const { return when != TrimSettings::When::kOff; }
  TrimSettings settings() const;
};

}  // namespace heddle
