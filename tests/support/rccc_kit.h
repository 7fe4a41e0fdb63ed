// SPDX-License-Identifier: Apache-2.0
// Tests of receiver-driven congestion control (RCCC) share these transports, ports that trim, and
// times.

#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "core/units.h"
#include "tests/support/lab.h"
#include "tests/support/scripted_policy.h"
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

// Returns the time of a lone flow of 4 MB, in seconds, if a share of its pulls is lost. No data is
// sent twice, and nothing waits for a timeout.
inline double TimeWithLostPulls(const std::string& transport, const std::string& port,
                                double share) {
  Lab lab({.graph = Star(2, kLink),
           .transport = transport,
           .port = port,
           .switch_policy =
               Scripted({DropAt(0, WithProbability(share, 1, Anything(PacketKind::kCnp)))})});
  lab.AddFlow(0, 1, 4'000'000);
  lab.Run(Time{} + 100_ms);
  EXPECT_TRUE(lab.finished());
  EXPECT_EQ(lab.Record(0).sender.timeouts, 0);
  EXPECT_EQ(lab.Record(0).sender.retransmissions, 0);
  return Seconds(FctRx(lab.Record(0)));
}

}  // namespace heddle::rccc
