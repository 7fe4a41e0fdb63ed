// SPDX-License-Identifier: Apache-2.0
// The paths of ACKs don't depend on what the load balancer does with data.

#include "network/return_path.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/experiment_kit.h"
#include "tests/support/lab.h"

namespace heddle::return_path_test {

// Pairs for each ACK, NACK or CNP: the path of the packet that it answers, and its own.
using Ways = std::vector<std::pair<uint16_t, uint16_t>>;

// An ACK carries the path of its packet; the host that receives it writes both down.
class WayWatcher final : public HostPolicy {
 public:
  explicit WayWatcher(Ways* ways) : ways_(ways) {}
  void OnSendAck(HostView&, const Packet& data, Packet& ack) override { ack.SetScheme(data.taken); }
  void OnAck(HostView&, HostFlow&, const Packet& ack, const AckNews&) override {
    ways_->emplace_back(ack.Scheme<uint16_t>(), ack.taken);
  }
  size_t StateBytes() const override { return 0; }

 private:
  Ways* const ways_;
};

struct Fabric {
  std::string yaml;
  HostId hosts;
  size_t paths;  // Between leaves that are furthest apart.
};
const Fabric kLeafSpine{"{kind: leaf_spine, leaves: 3, spines: 4, hosts_per_leaf: 2}", 6, 4};
const Fabric kFatTree{"{kind: fat_tree, k: 4}", 16, 4};

// Returns the paths of the ACKs of `transport` while data is sprayed.
Ways WaysOf(const Fabric& fabric, AckPath ack_path, const std::string& transport = "dctcp",
            const std::string& balancer = "rps") {
  Ways ways;
  const Chosen<LoadBalancer> scheme = BalancerFrom(balancer);
  Lab lab({.graph = GraphFrom(fabric.yaml),
           .transport = transport,
           .switch_policy = [&](SwitchId id) { return scheme.settings->ForSwitch(id, 1); },
           .host_policy = [&](HostId) { return std::make_unique<WayWatcher>(&ways); },
           .ack_path = ack_path});
  for (HostId src = 0; src < fabric.hosts; ++src) {
    lab.AddFlow(src, static_cast<HostId>((src + fabric.hosts / 2) % fabric.hosts), 60'000);
  }
  lab.Run();
  EXPECT_TRUE(lab.finished());
  return ways;
}

class ReturnPathTest : public testing::TestWithParam<const Fabric*> {};
INSTANTIATE_TEST_SUITE_P(Fabrics, ReturnPathTest, testing::Values(&kLeafSpine, &kFatTree),
                         [](const auto& f) { return f.index == 0 ? "LeafSpine" : "FatTree"; });

TEST_P(ReturnPathTest, SymmetricGoesBackTheWayThatTheDataCame) {
  for (const char* transport : {"dctcp", "rocev2", "{kind: dctcp, delack_count: 2}"}) {
    std::set<uint16_t> used;
    const Ways ways = WaysOf(*GetParam(), AckPath::kSymmetric, transport);
    EXPECT_GT(ways.size(), 40u * GetParam()->hosts / 2);
    for (const auto& [there, back] : ways) {
      ASSERT_EQ(there, back);
      used.insert(there);
    }
    EXPECT_EQ(used.size(), GetParam()->paths);
  }
}

TEST_P(ReturnPathTest, SprayAndEcmpDoNotCareForTheWayOfTheData) {
  for (const AckPath way : {AckPath::kSpray, AckPath::kEcmp}) {
    size_t same = 0;
    std::set<uint16_t> used;
    const Ways ways = WaysOf(*GetParam(), way);
    for (const auto& [there, back] : ways) {
      same += there == back ? 1 : 0;
      used.insert(back);
    }
    EXPECT_GT(same, ways.size() / 8);
    EXPECT_LT(same, ways.size() / 2);  // One in four by chance.
    EXPECT_GT(used.size(), 1u);
  }
}

// A switch of ECMP hashes ACKs just as the override does.
TEST_P(ReturnPathTest, EcmpIsThatOfTheLoadBalancerOfTheName) {
  EXPECT_EQ(WaysOf(*GetParam(), AckPath::kEcmp, "dctcp", "ecmp"),
            WaysOf(*GetParam(), AckPath::kPolicy, "dctcp", "ecmp"));
}

// A leaf that names paths would have sent the ACK elsewhere.
TEST(ReturnPathsTest, APathThatAnAckDoesNotTakeIsNotWrittenIntoIt) {
  const Fabric& fabric = kFatTree;
  for (const AckPath way : {AckPath::kEcmp, AckPath::kSpray}) {
    for (const char* scheme : {"ag", "luopan"}) {
      std::vector<uint16_t> written;
      struct Reader final : HostPolicy {
        explicit Reader(std::vector<uint16_t>* its) : paths(its) {}
        void OnAck(HostView&, HostFlow&, const Packet& ack, const AckNews&) override {
          paths->push_back(ack.path);
        }
        size_t StateBytes() const override { return 0; }
        std::vector<uint16_t>* const paths;
      };
      const Chosen<LoadBalancer> balancer = BalancerFrom(scheme);
      Lab lab({.graph = GraphFrom(fabric.yaml),
               .transport = "dctcp",
               .switch_policy = [&](SwitchId id) { return balancer.settings->ForSwitch(id, 1); },
               .host_policy = [&](HostId) { return std::make_unique<Reader>(&written); },
               .ack_path = way});
      lab.AddFlow(0, 8, 60'000);
      lab.Run();
      EXPECT_EQ(std::set<uint16_t>(written.begin(), written.end()), std::set<uint16_t>{kNoPath});
    }
  }
}

// --- One switch ---

using Packets = SwitchPolicy::Packets;

// A policy that sends everything through the last port, and asks for every packet or not.
class LastPort final : public SwitchPolicy {
 public:
  LastPort(Packets about, int* asked) : about_(about), asked_(asked) {}
  Packets asked_about() const override { return about_; }
  Decision OnPacket(SwitchView&, const Packet& packet, PortIndex, const Candidates& c) override {
    ++*asked_;
    return packet.seq == 99 ? Decision::Consume() : Decision::Forward(c.ports.back());
  }
  size_t StateBytes() const override { return 1; }

 private:
  const Packets about_;
  int* const asked_;
};

Packet Answer(PacketKind kind, uint16_t path) {
  Packet packet = LbPacket(7);
  packet.kind = kind;
  packet.path = path;
  return packet;
}

// Returns the decision of `around`, which stands around a policy, on a leaf with four uplinks.
PortIndex PortOf(ReturnPaths& around, const Packet& packet, std::vector<PortIndex> live) {
  LbSwitch leaf("ecmp");
  Decision decision = Decision::Discard();
  leaf.At(Time{}, [&](SwitchView& view, SwitchPolicy&) {
    decision = around.OnPacket(view, packet, 4, {0, 1, live});
  });
  return decision.kind == Decision::Kind::kForward ? decision.port : PortIndex{100};
}

TEST(ReturnPathsTest, LeavesEverythingButAnswersToTheScheme) {
  int asked = 0;
  ReturnPaths around(std::make_unique<LastPort>(Packets::kWithChoice, &asked), AckPath::kSymmetric,
                     0, 1);
  EXPECT_EQ(ReturnPaths::HooksOf(around), 0u);
  for (const PacketKind kind : {PacketKind::kData, PacketKind::kSyn, PacketKind::kSynAck,
                                PacketKind::kControl, PacketKind::kDatagram}) {
    EXPECT_EQ(PortOf(around, Answer(kind, 1), {0, 1, 2, 3}), 3);
  }
  EXPECT_EQ(asked, 5);
  for (const PacketKind kind : {PacketKind::kAck, PacketKind::kNack, PacketKind::kCnp}) {
    EXPECT_EQ(PortOf(around, Answer(kind, 1), {0, 1, 2, 3}), 1);
  }
  EXPECT_EQ(asked, 5);
}

TEST(ReturnPathsTest, SymmetricHashesWhereTheWayBackIsDown) {
  int asked = 0;
  ReturnPaths symmetric(std::make_unique<LastPort>(Packets::kWithChoice, &asked),
                        AckPath::kSymmetric, 0, 1);
  ReturnPaths ecmp(std::make_unique<LastPort>(Packets::kWithChoice, &asked), AckPath::kEcmp, 0, 1);
  const Packet ack = Answer(PacketKind::kAck, 1);
  EXPECT_EQ(PortOf(symmetric, ack, {0, 2, 3}), PortOf(ecmp, ack, {0, 2, 3}));
}

TEST(ReturnPathsTest, ASchemeThatAsksForEveryPacketSeesAnswersAndMayKeepThem) {
  int asked = 0;
  ReturnPaths around(std::make_unique<LastPort>(Packets::kEvery, &asked), AckPath::kSymmetric, 0,
                     1);
  EXPECT_EQ(PortOf(around, Answer(PacketKind::kAck, 1), {0, 1, 2, 3}), 1);
  EXPECT_EQ(asked, 1);
  Packet kept = Answer(PacketKind::kAck, 1);
  kept.seq = 99;
  EXPECT_EQ(PortOf(around, kept, {0, 1, 2, 3}), 100);
}

// --- In experiments ---

std::string Small(const std::string& more) {
  return "topology: {kind: leaf_spine, leaves: 2, spines: 4, hosts_per_leaf: 4}\n"
         "workload: [{kind: poisson, sizes: small, load: 0.5, flows: 200}]\n" +
         more;
}

TEST(AckPathTest, IsAskedForBesideTheLoadBalancer) {
  const auto run = [](const std::string& more) {
    return RunExperiment(ExperimentFrom(Small(more))).files;
  };
  EXPECT_EQ(run("lb: rps\nack_path: policy"), run("lb: rps"));
  std::set<std::string> different;
  for (const char* way : {"policy", "ecmp", "symmetric"}) {
    different.insert(run(std::string("lb: rps\nack_path: ") + way).flows);
  }
  EXPECT_EQ(different.size(), 3u);
}

TEST(AckPathTest, FlowsSurviveFailuresWhicheverWayAcksGo) {
  for (const char* way : {"ecmp", "symmetric", "spray"}) {
    const FinishedRun run = RunExperiment(ExperimentFrom(
        Small(std::string("lb: rps\nschedule: [{at: 100us, links: [leaf0-spine1], state: down}, "
                          "{at: 600us, links: [leaf0-spine1], state: up}]\n"
                          "transport: {kind: dctcp, min_rto: 1ms}\nack_path: ") +
              way)));
    EXPECT_EQ(run.result.unfinished, 0) << way;
  }
}

// Uplink 0 of switch b leads to another spine than that of switch a.
TEST(AckPathTest, SymmetricIsRefusedWherePathsAreNotNumberedAlike) {
  const auto errors = [](const std::string& links_of_b) {
    return ErrorsOf(
        "topology: {kind: custom, hosts: 2, switches: [{name: a}, {name: b}, {name: x}, {name: y}],"
        " links: [{a: host0, b: a}, {a: host1, b: b}, {a: a, b: x}, {a: a, b: y}, " +
        links_of_b +
        "]}\n"
        "workload: [{kind: permutation, size: 30KB}]\nlb: rps\n"
        "ack_path: symmetric\n");
  };
  EXPECT_EQ(errors("{a: b, b: x}, {a: b, b: y}"), "");
  const std::string report = errors("{a: b, b: y}, {a: b, b: x}");
  EXPECT_NE(report.find("test.yaml:4:11: ack_path: symmetric needs"), std::string::npos) << report;
  EXPECT_NE(report.find("use ecmp"), std::string::npos) << report;
}

// Host 0 has a link to either switch. Its packets that enter at s0 would come back from s1 at once.
TEST(AckPathTest, SymmetricIsRefusedWhereAHostIsNearerOnTheWayBack) {
  const std::string yaml =
      "topology: {kind: custom, hosts: 3, switches: [{name: s0}, {name: s1}], links: [\n"
      "  {a: s0, b: s1}, {a: host0, b: s0}, {a: host0, b: s1}, {a: host1, b: s0},\n"
      "  {a: host2, b: s1}]}\nlb: ecmp\nworkload: [{kind: permutation, size: 1KB}]\n";
  EXPECT_EQ(ErrorsOf(yaml), "");
  const std::string report = ErrorsOf(yaml + "ack_path: symmetric\n");
  EXPECT_NE(report.find("ack_path: symmetric needs"), std::string::npos) << report;
}

}  // namespace heddle::return_path_test
