// SPDX-License-Identifier: Apache-2.0
// The older form of REPS: entropies in turn for a window, then those that came back.

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tests/support/lb_bench.h"

namespace heddle::reps_fifo_test {

// lb/parts/entropy_spray.h writes this header.
struct Echo {
  uint16_t entropy;
  bool is_set;
  bool marked;
  bool at_last_hop;
};

// 16 us at 10 Gbps are 20 KB: 13 packets of 1,524 bytes, and 19 in a first window of 1.5 times
// that.
class Sender {
 public:
  explicit Sender(const std::string& settings)
      : table_(PathsOfWeights({1, 1})), host_(settings, table_) {
    flow_ = host_.Start(1);
  }
  uint16_t Send() { return host_.Send(flow_).entropy; }
  void Hear(uint16_t entropy, bool marked = false) {
    Packet ack = LbPacket(1);
    ack.kind = PacketKind::kAck;
    ack.SetScheme(Echo{entropy, true, marked, false});
    host_.At({}, [&](HostView& view, HostPolicy& policy) {
      policy.OnAck(view, flow_, ack, {1'460, 0, 16_us, marked});
    });
  }

 private:
  const PathTable table_;
  LbHost host_;
  HostFlow flow_;
};

TEST(RepsFifoTest, TheFirstWindowUsesOneEntropyAfterTheOther) {
  Sender many("{kind: reps_fifo, paths: 64}");
  many.Hear(40);
  for (uint16_t entropy = 1; entropy <= 19; ++entropy) EXPECT_EQ(many.Send(), entropy);
  EXPECT_EQ(many.Send(), 40);
  Sender few("{kind: reps_fifo, paths: 4}");
  for (const uint16_t entropy : std::vector<uint16_t>{1, 2, 3, 0}) EXPECT_EQ(few.Send(), entropy);
  few.Hear(2);
  EXPECT_EQ(few.Send(), 2);
}

TEST(RepsFifoTest, UnmarkedEntropiesAreUsedInOrderHoweverMany) {
  Sender sender("{kind: reps_fifo, paths: 1}");
  sender.Send();
  for (uint16_t entropy = 1; entropy <= 100; ++entropy) {
    sender.Hear(entropy);
    sender.Hear(static_cast<uint16_t>(entropy + 1'000), true);
  }
  for (uint16_t entropy = 1; entropy <= 100; ++entropy) EXPECT_EQ(sender.Send(), entropy);
  EXPECT_EQ(sender.Send(), 0);  // Drawn from the only one.
}

TEST(RepsFifoTest, DrawsFromAllIfNoneHasComeBack) {
  Sender sender("{kind: reps_fifo, paths: 8}");
  for (int i = 0; i < 8; ++i) sender.Send();
  std::set<uint16_t> drawn;
  for (int i = 0; i < 200; ++i) drawn.insert(sender.Send());
  EXPECT_EQ(drawn, (std::set<uint16_t>{0, 1, 2, 3, 4, 5, 6, 7}));
}

}  // namespace heddle::reps_fifo_test
