// SPDX-License-Identifier: Apache-2.0
// Juggler hands up a run as soon as it has 64 KB, as GRO puts no more into one packet.

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/support/settings_from.h"
#include "transport/resequencing/resequencing.h"

namespace heddle::juggler_run_test {

// 64 segments of 1024 bytes are 65536 bytes exactly; with a byte less in one of them a run needs
// one segment more.
TEST(JugglerRunTest, GoesUpWithExactly65536Bytes) {
  struct Counting final : Resequencer::Sink {
    bool HandUp(uint32_t, const Packet&) override {
      ++packets;
      return true;
    }
    int packets = 0;
  };
  for (const bool is_short : {false, true}) {
    Counting sink;
    const auto juggler =
        KindFrom("{kind: juggler, inseq_timeout: 1ms, ofo_timeout: 1ms}", Resequencings())
            .settings->MakeFor(sink);
    juggler->Open(0);
    std::vector<int> up;
    for (uint32_t segment = 0; segment < 66; ++segment) {
      Packet packet;
      packet.seq = segment;
      packet.arrival = Time{} + 1_ns * segment;
      packet.data.payload = is_short && segment == 7 ? 1'023 : 1'024;
      packet.bytes = 1'082;
      juggler->OnPacket(0, packet);
      up.push_back(sink.packets);
    }
    EXPECT_EQ(up[62], 0);
    EXPECT_EQ(up[63], is_short ? 0 : 64);
    EXPECT_EQ(up[64], is_short ? 65 : 64);
  }
}

}  // namespace heddle::juggler_run_test
