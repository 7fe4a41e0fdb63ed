// SPDX-License-Identifier: Apache-2.0
// What the tests of receiver-driven congestion control (RCCC) share: transports, ports that trim,
// and the time of an incast on the line.

#pragma once

#include <cstdint>
#include <string>

#include "core/units.h"
#include "topo/graph.h"

namespace heddle::rccc {

constexpr Channel kLink{100_Gbps, 1_us};
inline const std::string kTrims =
    "{buffer: unlimited, ecn_above: unlimited, marking: red, red: {min: 11950B, max: 47800B, "
    "probability: 1}, trim: {when: port}}";
inline const std::string kDeep = "{buffer: unlimited}";
inline const std::string kCreditAlone = "{kind: uet, framing: uet_htsim, cc: none, receiver: rccc}";
inline const std::string kBoth = "{kind: uet, framing: uet_htsim, cc: nscc, receiver: rccc}";

// The time that `flows` flows of 1 MB take on the line: 244 packets of 4150 bytes and one of 3080.
inline double LineTime(int64_t flows, int64_t packets = 244, int64_t last = 3'080) {
  return static_cast<double>(flows * (packets * 4'150 + last)) * 8 / 100e9;
}

}  // namespace heddle::rccc
