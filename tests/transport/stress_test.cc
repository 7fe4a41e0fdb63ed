// SPDX-License-Identifier: Apache-2.0
// Any settings, in a network that loses, delays, reorders and marks: every flow ends with all its
// bytes, and the counts agree.

#include <gtest/gtest.h>

#include "tests/support/stress.h"

namespace heddle::stress_test {

std::string RandomTransport(Rng& rng) {
  std::string yaml = OneOf(rng, {"{kind: dctcp", "{kind: tcp", "{kind: tcp, ecn: rfc3168"});
  yaml += OneOf(rng, {", recovery: sack", ", recovery: newreno"});
  yaml += OneOf(rng, {"", ", delack_count: 2", ", delack_count: 7, delack_timeout: 30us"});
  yaml += OneOf(rng, {"", ", setup: handshake", ", setup: persistent"});
  yaml += OneOf(rng, {"", ", framing: ip1500", ", timestamps: true", ", mtu: 9000"});
  yaml += OneOf(rng, {"", ", iw: 1", ", iw: 100", ", max_cwnd: 3", ", rwnd: 12"});
  yaml += OneOf(rng, {"", ", dupthresh: 1", ", dupthresh: inf", ", limited_transmit: false"});
  return yaml + ", min_rto: 200us}";
}

TEST(TcpStressTest, EndsEveryFlowWithItsCountsInAgreement) {
  Stress(150, RandomTransport, [](const Packet& packet) {
    return packet.kind == PacketKind::kData && packet.Has(Packet::kEct);
  });
}

}  // namespace heddle::stress_test
