// SPDX-License-Identifier: Apache-2.0
// Tests Hermes and Clove when routes change while a flow runs: their hosts know how good paths are,
// and paths go and come back.

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/support/lb_bench.h"
#include "tests/support/lb_statistics.h"

namespace heddle::host_paths_test {

std::vector<PathChoice> Choices(const std::vector<uint16_t>& ids) {
  std::vector<PathChoice> paths;
  for (const uint16_t id : ids) paths.push_back({id, 1});
  return paths;
}

// A flow between two leaves with four paths.
class Sender {
 public:
  explicit Sender(const std::string& settings)
      : table_(PathsOfWeights({1, 1, 1, 1})), host_(settings, table_) {
    flow_ = host_.Start(1);
  }

  void Live(const std::vector<uint16_t>& ids) { table_.Set(0, 1, Choices(ids)); }

  uint16_t Send(Duration later = 1_ns) {
    now_ += later;
    return host_.Send(flow_, 1'460, now_).path;
  }
  // Counts packets by path. They are `apart`, so that the flow may choose a path for each.
  std::vector<int64_t> Packets(int count, Duration apart) {
    std::vector<int64_t> packets(4);
    for (int i = 0; i < count; ++i) ++packets[Send(apart)];
    return packets;
  }
  // Returns the paths of the first packets of flows that start long after the host's last packet.
  std::set<uint16_t> OfNewFlows() {
    std::set<uint16_t> used;
    for (FlowId flow = 0; flow < 60; ++flow) {
      now_ += 20_ms;
      flow_ = host_.Start(1, flow, now_);
      used.insert(Send());
    }
    return used;
  }

  template <class Header>
  void Hear(const Header& header, Duration rtt) {
    Packet ack = LbPacket(1);
    ack.kind = PacketKind::kAck;
    ack.sent = now_ - rtt;
    ack.SetScheme(header);
    host_.At(now_, [&](HostView& view, HostPolicy& policy) {
      policy.OnAck(view, flow_, ack, {1'460, 0, rtt, false});
    });
  }
  void TimeOut() {
    host_.At(now_, [&](HostView& view, HostPolicy& policy) {
      policy.OnLoss(view, flow_, LossSign::kTimeout);
    });
  }
  void Wait(Duration time) { now_ += time; }
  int64_t Count(std::string_view counter) const { return host_.Count(counter); }

 private:
  PathTable table_;
  LbHost host_;
  HostFlow flow_;
  Time now_ = Time{} + 1_ms;
};

const std::set<uint16_t> kAll = {0, 1, 2, 3};

// --- Hermes ---

const std::string kHermes = "{kind: hermes, probe_interval: 10s}";  // It sends none.

// lb/hermes/hermes.cc writes this header.
struct HermesEcho {
  uint16_t path;
  uint8_t kind = 1;
  bool marked = false;
  uint32_t delay_ns = 0;
};

TEST(HermesPathsTest, AFlowLeavesAPathThatHasGoneWithItsNextPacket) {
  Sender sender(kHermes);
  const uint16_t gone = sender.Send();
  for (int i = 0; i < 10; ++i) ASSERT_EQ(sender.Send(), gone);
  std::vector<uint16_t> others;
  for (const uint16_t path : kAll) {
    if (path != gone) others.push_back(path);
  }
  sender.Live(others);
  const uint16_t next = sender.Send();
  EXPECT_NE(next, gone);
  for (int i = 0; i < 10; ++i) ASSERT_EQ(sender.Send(), next);  // Once.
  EXPECT_EQ(sender.Count("reroutes"), 1);
  sender.Live({0, 1, 2, 3});
  EXPECT_EQ(sender.Send(), next);  // Another one that comes back is no reason to move.
}

// An idle round trip is 16 us: 20 us are good.
TEST(HermesPathsTest, APathThatComesBackIsUnmeasured) {
  Sender sender(kHermes);
  sender.Hear(HermesEcho{.path = 2}, 20_us);
  EXPECT_EQ(sender.OfNewFlows(), (std::set<uint16_t>{2}));  // The other paths are unmeasured.
  sender.Live({0, 1, 3});
  EXPECT_EQ(sender.OfNewFlows(), (std::set<uint16_t>{0, 1, 3}));
  sender.Live({0, 1, 2, 3});
  EXPECT_EQ(sender.OfNewFlows(), kAll);
}

TEST(HermesPathsTest, APathThatComesBackHasNotFailed) {
  Sender sender(kHermes);
  sender.Live({2});
  sender.Send();
  for (int i = 0; i < 3; ++i) sender.TimeOut();
  EXPECT_EQ(sender.Count("failed_paths"), 1);
  sender.Live({0, 1, 2, 3});
  EXPECT_EQ(sender.OfNewFlows(), kAll);
}

// --- Clove ---

// lb/clove.cc writes this header.
struct CloveNote {
  uint16_t path;
  uint8_t utilisation = 255;
};

class ClovePathsTest : public testing::TestWithParam<std::string> {
 protected:
  static constexpr Duration kGap = 50_us;
  ClovePathsTest() : sender("{kind: " + GetParam() + ", gap: 50us}") {}
  Sender sender;
};

TEST_P(ClovePathsTest, AFlowLeavesAPathThatHasGoneWithItsNextPacket) {
  const uint16_t gone = sender.Send();
  ASSERT_EQ(sender.Send(kGap), gone);
  const uint16_t left = gone == 1 ? 2 : 1;
  sender.Live({left});
  EXPECT_EQ(sender.Send(1_ns), left);  // The packet is in the middle of a flowlet.
  EXPECT_EQ(sender.Count("reroutes"), 1);
  sender.Live({0, 1, 2, 3});
  EXPECT_EQ(sender.Send(kGap), left);  // The flowlet goes on there.
}

TEST_P(ClovePathsTest, APathThatComesBackIsAsGoodAsTheOthers) {
  for (int note = 0; note < 20; ++note) {  // ECN has brought its weight to 1/4 (2/3)^20 = 0.00008.
    sender.Wait(100_us);
    sender.Hear(CloveNote{.path = 2}, 20_us);
  }
  // All of it within the 10 ms for which utilisations count.
  EXPECT_EQ(sender.Packets(20, kGap + 1_ps)[2], 0);
  sender.Live({0, 1, 3});
  EXPECT_EQ(Used(sender.Packets(20, kGap + 1_ps)), 3);
  sender.Live({0, 1, 2, 3});
  EXPECT_LT(ChiSquare(sender.Packets(150, kGap + 1_ps), {1, 1, 1, 1}), kChiSquare99[3]);
}

INSTANTIATE_TEST_SUITE_P(Kinds, ClovePathsTest, testing::Values("clove_ecn", "clove_int"),
                         [](const auto& test) { return test.param; });

}  // namespace heddle::host_paths_test
