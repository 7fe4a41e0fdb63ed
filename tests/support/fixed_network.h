// SPDX-License-Identifier: Apache-2.0
// A network whose bandwidth-delay products, round trips and queues are as a test says.

#pragma once

#include <cstdint>

#include "transport/transports.h"

namespace heddle {

class FixedNetwork final : public BandwidthDelay {
 public:
  struct Values {
    Bytes between;
    Bytes largest;
    Duration round_trip;
    Duration longest;
    Queues queues;
    uint32_t paths = 1;
  };
  explicit FixedNetwork(const Values& values) : values_(values) {}

  Bytes Between(HostId, HostId) const override { return values_.between; }
  Bytes Largest() const override { return values_.largest; }
  Duration RoundTrip(HostId, HostId) const override { return values_.round_trip; }
  Duration LongestRoundTrip() const override { return values_.longest; }
  Queues queues() const override { return values_.queues; }
  uint32_t MostPaths() const override { return values_.paths; }

 private:
  const Values values_;
};

}  // namespace heddle
