// SPDX-License-Identifier: Apache-2.0
// Tests until when ConWeave's last leaf holds packets, and how this follows from the number of
// tiers. The counter `tails_lost` counts a release without a TAIL at once.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fabric/around_policy.h"
#include "lb/conweave/header.h"
#include "tests/support/lab.h"
#include "tests/support/lb_bench.h"

namespace heddle::holds_test {

// The policy of the first leaf: it writes the given headers into the first packets of data.
class Stamps final : public SwitchPolicy {
 public:
  explicit Stamps(const std::vector<ConWeaveHeader>& headers) : headers_(headers) {}

  Packets asked_about() const override { return Packets::kEvery; }
  Decision OnPacket(SwitchView&, const Packet& packet, PortIndex,
                    const Candidates& candidates) override {
    if (packet.kind == PacketKind::kControl) return Decision::Consume();
    return Decision::Forward(candidates.ports.front());
  }
  void OnEnqueue(SwitchView&, Packet& packet, PortIndex) override {
    if (packet.kind != PacketKind::kData || next_ == headers_.size()) return;
    packet.SetScheme(headers_[next_++]);
  }
  size_t StateBytes() const override { return 0; }

 private:
  const std::vector<ConWeaveHeader>& headers_;
  size_t next_ = 0;
};

// The arrivals of stamped packets at the last leaf, and the time at which it releases held packets.
struct Seen {
  std::vector<Time> came;
  Time go_on = kNever;
};

class Watches final : public AroundSwitchPolicy {
 public:
  Watches(SwitchPolicyPtr conweave, Seen& seen)
      : AroundSwitchPolicy(std::move(conweave)), seen_(seen) {}

  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex in_port,
                    const Candidates& candidates) override {
    const bool is_stamped = packet.kind == PacketKind::kData &&
                            (packet.Scheme<ConWeaveHeader>().flags & ConWeaveHeader::kStamped) != 0;
    if (is_stamped) seen_.came.push_back(view.now());
    return AroundSwitchPolicy::OnPacket(view, packet, in_port, candidates);
  }
  void OnTimer(SwitchView& view, uint32_t id) override {
    AroundSwitchPolicy::OnTimer(view, id);
    for (const Counter& counter : Counters()) {
      if (counter.name != "tails_lost" || counter.value == 0) continue;
      seen_.go_on = std::min(seen_.go_on, view.now());
    }
  }

 private:
  Seen& seen_;
};

// Packets with these headers, one behind the other, 1.2 us apart.
Seen Arrivals(const std::string& settings, std::vector<ConWeaveHeader> headers,
              const FabricShape& fabric = {}) {
  Seen seen;
  for (ConWeaveHeader& header : headers) header.flags |= ConWeaveHeader::kStamped;
  const Chosen<LoadBalancer> conweave = BalancerFrom(settings, fabric);
  const Chosen<LoadBalancer> ecmp = BalancerFrom("ecmp");
  Lab lab({.graph = LeafSpineFrom(
               "{leaves: 2, spines: 1, hosts_per_leaf: 1, host_link: {rate: 10Gbps, delay: 1us}, "
               "fabric_link: {rate: 10Gbps, delay: 1us}}"),
           .transport = "{kind: tcp, iw: 10}",
           .switch_policy = [&](SwitchId id) -> SwitchPolicyPtr {
             if (id == 0) return std::make_unique<Stamps>(headers);
             if (id == 2) return ecmp.settings->ForSwitch(id, /*seed=*/1);
             return std::make_unique<Watches>(conweave.settings->ForSwitch(id, /*seed=*/1), seen);
           }});
  lab.AddFlow(0, 1, static_cast<int64_t>(headers.size()) * 1'460);
  lab.Run();
  EXPECT_EQ(seen.came.size(), headers.size());
  return seen;
}

// A packet on the path that its flow leaves, sent at `sent` ticks.
ConWeaveHeader Old(uint16_t sent) { return {.sent = sent}; }
// One on the new path, whose TAIL was sent at `tail`.
ConWeaveHeader Rerouted(uint16_t tail) {
  return {.flags = ConWeaveHeader::kRerouted, .tail = tail};
}

constexpr uint16_t kTicks = 500;  // 8 us.
static_assert(kConWeaveTick * kTicks == 8_us);

TEST(ConWeaveHoldsTest, WithNothingOverTheOldPathTheyGoOnSoLongAfterTheFirst) {
  const Seen seen = Arrivals("{kind: conweave, resume_default: 70us}", {Rerouted(0), Rerouted(0)});
  EXPECT_EQ(seen.go_on, seen.came[0] + 70_us);
}

TEST(ConWeaveHoldsTest, OtherwiseWhenTheTailShouldHaveComeAndALittleLater) {
  const Seen seen =
      Arrivals("{kind: conweave, resume_extra: 5us}", {Old(100), Rerouted(100 + kTicks)});
  EXPECT_EQ(seen.go_on, seen.came[0] + 8_us + 5_us);
}

TEST(ConWeaveHoldsTest, EachPacketOverTheOldPathTellsAnew) {
  const Seen seen = Arrivals("{kind: conweave, resume_extra: 5us}",
                             {Rerouted(100 + 2 * kTicks), Old(100), Old(100 + kTicks)});
  EXPECT_EQ(seen.go_on, seen.came[2] + 8_us + 5_us);
}

TEST(ConWeaveHoldsTest, TicksMayBeginAgainInBetween) {
  const Seen seen =
      Arrivals("{kind: conweave, resume_extra: 5us}", {Old(65'535), Rerouted(kTicks - 1)});
  EXPECT_EQ(seen.go_on, seen.came[0] + 8_us + 5_us);
}

TEST(ConWeaveHoldsTest, ATailThatShouldHaveComeBeforeIsNotWaitedFor) {
  const Seen seen = Arrivals("{kind: conweave, resume_extra: 0us}", {Old(100), Rerouted(101)});
  EXPECT_EQ(seen.go_on, seen.came[1]);
}

// --- By default ---

struct Default {
  std::string name;
  FabricShape fabric;
  Duration resume;
  Duration extra;
  Duration inactive;

  friend std::ostream& operator<<(std::ostream& out, const Default& its) { return out << its.name; }
};

FabricShape Tiers(int tiers, bool is_lossless) {
  return {.tiers = tiers, .above_uplinks = tiers > 2 ? size_t{2} : 0, .is_lossless = is_lossless};
}

class ConWeaveDefaultsTest : public testing::TestWithParam<Default> {};

TEST_P(ConWeaveDefaultsTest, WithNothingOverTheOldPath) {
  const Seen seen = Arrivals("conweave", {Rerouted(0)}, GetParam().fabric);
  EXPECT_EQ(seen.go_on, seen.came[0] + GetParam().resume);
}

TEST_P(ConWeaveDefaultsTest, AfterTheTailShouldHaveCome) {
  const Seen seen = Arrivals("conweave", {Old(0), Rerouted(kTicks)}, GetParam().fabric);
  EXPECT_EQ(seen.go_on, seen.came[0] + 8_us + GetParam().extra);
}

// It waits for replies so long that their absence changes no path.
TEST_P(ConWeaveDefaultsTest, AFlowTakesAnyPathAfterALongerSilence) {
  const auto ports = [](Duration silence) {
    LbSwitch leaf("{kind: conweave, reply_within: 1s}", {.fabric = GetParam().fabric});
    std::set<PortIndex> used;
    for (int i = 0; i < 50; ++i) used.insert(leaf.PortFor(LbPacket(7), Time{} + silence * i));
    return used.size();
  };
  EXPECT_EQ(ports(GetParam().inactive), 1u);
  EXPECT_EQ(ports(GetParam().inactive + 1_ps), 4u);
}

INSTANTIATE_TEST_SUITE_P(
    Fabrics, ConWeaveDefaultsTest,
    testing::Values(Default{"two_tiers", Tiers(2, false), 200_us, 16_us, 300_us},
                    Default{"two_tiers_lossless", Tiers(2, true), 200_us, 16_us, 300_us},
                    Default{"three_tiers", Tiers(3, false), 300_us, 16_us, 1_ms},
                    Default{"three_tiers_lossless", Tiers(3, true), 600_us, 64_us, 1_ms}),
    [](const auto& test) { return test.param.name; });

}  // namespace heddle::holds_test
