// SPDX-License-Identifier: Apache-2.0
// The settings of ports determine which ports switches have, how much buffer, and how much
// headroom.

#include "topo/queue_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "tests/support/lab.h"

namespace heddle::queue_plan_test {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const Traffic kOneClass{.classes = 0b10, .control = 1, .marking = {}, .sizes = {1'518, 20}};
const Traffic kRdma{
    .classes = 0b1001, .control = 0, .marking = {.is_red = true}, .sizes = {1'048, 0}};

TEST(SwitchChannelsTest, AreThoseThatSwitchesSendOver) {
  const auto rates = [](const std::string& direction) {
    std::vector<int64_t> gbps;
    for (const Channel& channel : SwitchChannels(LeafSpineFrom(
             "{leaves: 2, spines: 2, hosts_per_leaf: 2, asymmetry: [{links: [host1-leaf0], rate: "
             "5Gbps, direction: " +
             direction + "}]}"))) {
      gbps.push_back(channel.rate.bps / 1'000'000'000);
    }
    return gbps;
  };
  EXPECT_THAT(rates("up"), ElementsAre(10));  // Only the host sends at 5 Gbps.
  EXPECT_THAT(rates("down"), ElementsAre(10, 5));
}

// Whichever end of a link the host is.
TEST(SlowestNicTest, IsThatOfAHost) {
  for (const bool swapped : {false, true}) {
    Graph graph = LeafSpineFrom(
        "{leaves: 2, spines: 1, hosts_per_leaf: 1, fabric_link: {rate: 1Gbps}, asymmetry: [{links: "
        "[host1-leaf1], rate: 5Gbps, direction: up}]}");
    for (Graph::Link& link : graph.links) {
      if (!swapped) continue;
      std::swap(link.a, link.b);
      std::swap(link.a_to_b, link.b_to_a);
    }
    EXPECT_EQ(SlowestNic(graph), 5_Gbps);
    EXPECT_EQ(FewestNics(graph), 1);
  }
}

// A plan for two hosts at 25 Gbps on each of two leaves, which two spines link at 100 Gbps.
class Plan {
 public:
  explicit Plan(const std::string& port, const Traffic& traffic = kRdma,
                const std::vector<LinkEvent>& events = {}, const std::string& more = "")
      : graph_(LeafSpineFrom("{leaves: 2, spines: 2, hosts_per_leaf: 2, host_link: {rate: 25Gbps, "
                             "delay: 1us}, fabric_link: {rate: 100Gbps, delay: 1us}" +
                             more + "}")),
        rule_(PortRuleFrom(port)),
        plan_(graph_, rule_, traffic, events) {}

  const QueuePlan* operator->() const { return &plan_; }
  VertexId leaf() const { return graph_.VertexOfSwitch(0); }  // Ports: 2 hosts, 2 spines.

  std::string Errors() const {
    Diagnostics diagnostics;
    plan_.Check("port", diagnostics);
    return diagnostics.ok() ? "" : diagnostics.Report();
  }
  std::vector<std::string> Warnings() const {
    Diagnostics diagnostics;
    plan_.Check("port", diagnostics);
    return diagnostics.warnings();
  }

 private:
  const Graph graph_;
  const PortRule rule_;
  const QueuePlan plan_;
};

// --- Headroom ---

TEST(HeadroomTest, IsWhatTheLinkMayDeliverUntilThePauseTakesEffect) {
  struct Row {
    BitRate rate;
    std::array<int64_t, 3> bytes;
  };
  // One way 1 us; packets of 1048 bytes, of 1518 with 20 more on the wire, of 4178 likewise.
  const FrameSizes sizes[] = {{1'048, 0}, {1'518, 20}, {4'178, 20}};
  for (const Row& row : {Row{10_Gbps, {5'728, 7'158, 15'138}},
                         {25_Gbps, {9'478, 10'908, 18'888}},
                         {40_Gbps, {13'228, 14'658, 22'638}},
                         {50_Gbps, {15'728, 17'158, 25'138}},
                         {100_Gbps, {28'228, 29'658, 37'638}},
                         {200_Gbps, {53'228, 54'658, 62'638}},
                         {400_Gbps, {103'228, 104'658, 112'638}},
                         {800_Gbps, {203'228, 204'658, 212'638}}}) {
    const Channel channel{row.rate, 1_us};
    for (size_t m = 0; m < 3; ++m) {
      EXPECT_EQ(HeadroomFor(channel, channel, sizes[m], Duration{0}), row.bytes[m])
          << row.rate.bps << " bps, " << sizes[m].packet << " bytes";
    }
  }
  // 40 Gbps and 5 us: the round trip is 50,000 bytes.
  EXPECT_EQ(HeadroomFor({40_Gbps, 5_us}, {40_Gbps, 5_us}, {1'500, 0}, Duration{0}), 54'584);
}

TEST(HeadroomTest, CountsTheResponseAndASlowerWayBack) {
  const Channel in{100_Gbps, 1_us};
  // 394 quanta of 512 bit times at 100 Gbps are 25,216 bytes.
  EXPECT_EQ(HeadroomFor(in, in, {1'048, 0}, Duration{394 * 5'120}), 28'228 + 25'216);
  // The packet in front of the pause frame and the frame itself last 905.6 ns at 10 Gbps, in which
  // 11,320 bytes come; and 12,500 more in another microsecond on the way back.
  EXPECT_EQ(HeadroomFor(in, {10_Gbps, 2_us}, {1'048, 0}, Duration{0}),
            12'500 + 25'000 + 11'320 + 2 * 1'048);
}

TEST(HeadroomTest, FollowsEachLinkAndTheLongestDelayItWillHave) {
  const Plan plan("{pfc: {classes: [3]}}", kRdma,
                  {{Time{1}, 5, {}, {}, 3_us}, {Time{2}, 5, {}, {}, 2_us}});
  const std::vector<SharedMemory::Port> shares = plan->SharesOf(plan.leaf());
  ASSERT_EQ(shares.size(), 4u);
  EXPECT_EQ(shares[0].headroom, 9'478);
  EXPECT_EQ(shares[1].headroom, 9'478);
  EXPECT_EQ(shares[2].headroom, 28'228);           // Link 4, leaf0-spine0.
  EXPECT_EQ(shares[3].headroom, 28'228 + 50'000);  // Link 5: 2 us more each way.
}

// A pause frame may wait for a packet that was sent before the rate rose. A link that stays slow
// needs no more than before.
TEST(HeadroomTest, FollowsTheRateFromWhichALinkBecomesFaster) {
  const LinkEvent slower{Time{1}, 5, {}, 10_Gbps, {}};
  const LinkEvent faster{Time{2}, 5, {}, 100_Gbps, {}};
  const auto headroom = [](const std::vector<LinkEvent>& events) {
    const Plan plan("{pfc: {classes: [3]}}", kRdma, events);
    return plan->SharesOf(plan.leaf())[3].headroom;
  };
  EXPECT_EQ(headroom({slower}), 28'228);
  EXPECT_EQ(headroom({slower, faster}),
            HeadroomFor({100_Gbps, 1_us}, {10_Gbps, 1_us}, {1'048, 0}, Duration{0}));
}

// --- Shares ---

TEST(QueuePlanTest, PausesWhereABufferOfItsOwnWouldRunIntoItsHeadroom) {
  const Plan bytes("{buffer: 100KB, pfc: {classes: [3]}}");
  EXPECT_EQ(bytes->SharesOf(bytes.leaf())[0].xoff, 100'000 - 9'478);
  EXPECT_EQ(bytes->SharesOf(bytes.leaf())[2].xoff, 100'000 - 28'228);
  const Plan packets("{buffer: 100pkts, ecn_above: 50pkts, pfc: {classes: [3]}}");
  EXPECT_EQ(packets->SharesOf(packets.leaf())[0].xoff, 100 * 1'048 - 9'478);
  EXPECT_EQ(packets.Errors(), "");
  const Plan set("{buffer: 100KB, pfc: {classes: [3], xoff: 20KB, headroom: 30KB}}");
  EXPECT_EQ(set->SharesOf(set.leaf())[0].xoff, 20'000);
  EXPECT_EQ(set->SharesOf(set.leaf())[0].headroom, 30'000);
  const Plan shared("{memory: {model: dt}, pfc: {classes: [3]}}");
  EXPECT_EQ(shared->SharesOf(shared.leaf())[0].xoff, kUnlimited);
  const Plan off("{memory: {model: dt}}");
  EXPECT_EQ(off->SharesOf(off.leaf())[0].headroom, 0);
  EXPECT_EQ(off->SharesOf(off.leaf())[0].faster, 1);
  EXPECT_EQ(off->SharesOf(off.leaf())[2].faster, 4);
}

TEST(QueuePlanTest, KnowsTheDefaultsOfEachModel) {
  const auto memory = [](const std::string& rule) { return Plan(rule)->queueing().memory; };
  EXPECT_EQ(memory("{memory: {model: dt}}").size, 9'000'000);
  EXPECT_EQ(memory("{memory: {model: dt}}").alpha, 1);
  EXPECT_EQ(memory("{memory: {model: dt}}").resume_offset, 2 * 1'048);
  EXPECT_EQ(memory("{memory: {model: hpcc_mmu}}").size, 8'000'000);  // 16 MB per 50 Gbps of a NIC.
  EXPECT_EQ(memory("{memory: {model: hpcc_mmu}}").alpha, 1.0 / 8);
  EXPECT_EQ(memory("{memory: {model: hpcc_mmu}}").reserve, 4'000);
  EXPECT_EQ(memory("{memory: {model: hpcc_mmu}}").resume_offset, 3'000);
  EXPECT_EQ(memory("{memory: {model: broadcom_mmu}}").size, 9'000'000);
  EXPECT_EQ(memory("{memory: {model: broadcom_mmu}}").alpha, 1);
  EXPECT_EQ(memory("{memory: {model: broadcom_mmu}}").alpha_in, 1.0 / 16);
  EXPECT_EQ(memory("{memory: {model: broadcom_mmu}}").mtu, 1'048);
  EXPECT_EQ(memory("{pfc: {classes: [3, 5]}}").lossless, 0b101000);
  EXPECT_EQ(memory("{memory: {model: dt, alpha: 1/4, size: 1MB}, pfc: {resume_offset: 7KB}}").alpha,
            0.25);
  // A pause frame is 64 bytes, 84 on the wire.
  EXPECT_EQ(Plan("{}", kRdma)->queueing().pause.frame_bytes, 84);
  EXPECT_EQ(Plan("{}", kOneClass)->queueing().pause.frame_bytes, 64);
}

// 30 ports with 28,228 bytes of headroom each, and what the model reserves besides.
TEST(QueuePlanTest, LeavesThePoolWhatReservesAndHeadroomLeave) {
  const std::vector<SharedMemory::Port> ports(30, {.buffer = 0, .headroom = 28'228});
  const auto pool = [&](MemorySettings settings) {
    settings.size = 9'000'000;
    return SharedMemory::PoolOf(settings, ports);
  };
  using Model = MemorySettings::Model;
  EXPECT_EQ(pool({.model = Model::kDynamic}), 9'000'000);
  EXPECT_EQ(pool({.model = Model::kDynamic, .lossless = 0b1000}), 9'000'000 - 30 * 28'228);
  EXPECT_EQ(pool({.model = Model::kHpcc, .reserve = 4'000, .lossless = 0b1000}),
            9'000'000 - 30 * 28'228 - 240 * 4'000);
  EXPECT_EQ(pool({.model = Model::kBroadcom, .mtu = 1'048, .lossless = 0b1100}),
            9'000'000 - 60 * 28'228 - 240 * 1'048);
}

// --- Queues ---

TEST(QueuePlanTest, GivesEachClassItsQuantum) {
  const QueueSettings queues =
      Plan("{scheduler: dwrr, quanta: [1B, 3KB, 6KB]}")->QueuesAt({100_Gbps, 1_us}, false);
  EXPECT_EQ(queues.scheduler, Scheduler::kDeficit);
  EXPECT_THAT(queues.quantum, ElementsAre(1, 3'000, 6'000, 1'048, 1'048, 1'048, 1'048, 1'048));
  EXPECT_EQ(queues.classes, 0b1001);
}

TEST(QueuePlanTest, MarksAsTheTransportExpects) {
  const auto marking = [](const std::string& rule, const Traffic& traffic) {
    return Plan(rule, traffic)->QueuesAt({100_Gbps, 1_us}, false).marking;
  };
  const Marking dcqcn = marking("{}", kRdma);
  EXPECT_EQ(dcqcn.above, 100'000);
  EXPECT_EQ(dcqcn.all, 400'000);
  EXPECT_EQ(dcqcn.at_all, 0.2);
  EXPECT_TRUE(dcqcn.at_dequeue);
  const Marking dctcp = marking("{}", kOneClass);
  EXPECT_EQ(dctcp.above, 300'000);
  EXPECT_EQ(dctcp.all, 300'000);
  EXPECT_FALSE(dctcp.at_dequeue);
  const Marking packets =
      marking("{buffer: 500pkts, marking: red, red: {min: 15KB, max: 60KB}}", kRdma);
  EXPECT_EQ(packets.above, 10);
  EXPECT_EQ(packets.all, 40);
  EXPECT_TRUE(marking("{marking: step, mark_at: dequeue}", kOneClass).at_dequeue);
  EXPECT_FALSE(marking("{marking: step, mark_at: dequeue}", kOneClass).counts_departing);
  EXPECT_FALSE(marking("{mark_at: enqueue}", kRdma).at_dequeue);
  for (const Traffic& traffic : {kOneClass, kRdma}) {
    const Marking departure = marking("{mark_at: departure}", traffic);
    EXPECT_TRUE(departure.at_dequeue);
    EXPECT_TRUE(departure.counts_departing);
    EXPECT_TRUE(departure.needs_queue());
  }
}

// Receivers' credit avoids queues at ports to hosts, so these do not mark.
TEST(QueuePlanTest, PortsToHostsDoNotMarkIfTheTransportDoesNotWantIt) {
  Traffic traffic = kRdma;
  EXPECT_EQ(Plan("{}", traffic)->QueuesAt({100_Gbps, 1_us}, true).marking.above, 100'000);
  traffic.marks_at_last_hop = false;
  const Plan plan("{}", traffic);
  EXPECT_EQ(plan->QueuesAt({100_Gbps, 1_us}, false).marking.above, 100'000);
  EXPECT_EQ(plan->QueuesAt({100_Gbps, 1_us}, true).marking.above, kUnlimited);
  EXPECT_EQ(plan->QueuesAt({100_Gbps, 1_us}, true).marking.all, kUnlimited);
  for (size_t port = 0; port < 4; ++port) {
    EXPECT_EQ(plan->LeadsToHost(plan.leaf(), port), port < 2);
  }
  Traffic one = kOneClass;
  one.marks_at_last_hop = false;
  EXPECT_TRUE(Plan("{marking: step}", kOneClass)->fifo_is_exact());
  EXPECT_FALSE(Plan("{marking: step}", one)->fifo_is_exact());
}

TEST(OversubscriptionTest, IsLessCapacityUpwardsThanDownwards) {
  const auto leaf_spine = [](int hosts, const std::string& more = "") {
    return IsOversubscribed(LeafSpineFrom(
        "{leaves: 2, spines: 2, host_link: {rate: 25Gbps, delay: 1us}, fabric_link: {rate: "
        "100Gbps, delay: 1us}, hosts_per_leaf: " +
        std::to_string(hosts) + more + "}"));
  };
  EXPECT_FALSE(leaf_spine(8));
  EXPECT_TRUE(leaf_spine(9));
  EXPECT_TRUE(leaf_spine(8, ", asymmetry: [{spines: [1], rate: 99Gbps}]"));
  EXPECT_FALSE(IsOversubscribed(GraphFrom("{kind: fat_tree, k: 4}")));
  EXPECT_FALSE(IsOversubscribed(Star(8, {100_Gbps, 1_us})));
  EXPECT_FALSE(IsOversubscribed(Dumbbell(2, {10_Gbps, 1_us}, {20_Gbps, 1_us})));
  EXPECT_TRUE(IsOversubscribed(Dumbbell(2, {10_Gbps, 1_us}, {19_Gbps, 1_us})));
}

// --- Which ports do ---

TEST(QueuePlanTest, TakesFifoPortsExactlyWhereTheyAreExact) {
  Traffic two_classes = kOneClass;
  two_classes.classes = 0b11;
  Traffic another_class = kOneClass;
  another_class.classes = 0b100000;
  Traffic one_class_of_rdma = kRdma;
  one_class_of_rdma.classes = 0b1000;

  EXPECT_TRUE(Plan("{}", kOneClass)->fifo_is_exact());
  EXPECT_TRUE(Plan("{}", another_class)->fifo_is_exact());
  EXPECT_TRUE(Plan("{buffer: 30pkts, ecn_above: unlimited}", kOneClass)->fifo_is_exact());
  EXPECT_TRUE(Plan("{scheduler: dwrr, quanta: [1KB]}", kOneClass)->fifo_is_exact());
  EXPECT_TRUE(Plan("{marking: step}", one_class_of_rdma)->fifo_is_exact());
  EXPECT_TRUE(Plan("{red: {min: 1KB}}", kOneClass)->fifo_is_exact());  // It marks by a step.

  EXPECT_FALSE(Plan("{}", two_classes)->fifo_is_exact());
  Traffic trims = kOneClass;
  EXPECT_TRUE(Plan("{trim: {when: port}}", trims)->fifo_is_exact());  // Nobody would understand.
  trims.can_trim = true;
  EXPECT_FALSE(Plan("{trim: {when: port}}", trims)->fifo_is_exact());
  EXPECT_FALSE(Plan("{}", one_class_of_rdma)->fifo_is_exact());
  EXPECT_FALSE(Plan("{marking: red}", kOneClass)->fifo_is_exact());
  EXPECT_FALSE(Plan("{marking: red, mark_at: enqueue}", kOneClass)->fifo_is_exact());
  EXPECT_FALSE(Plan("{mark_at: dequeue}", kOneClass)->fifo_is_exact());
  EXPECT_FALSE(Plan("{pfc: {classes: [1]}}", kOneClass)->fifo_is_exact());
  for (const char* model : {"dt", "hpcc_mmu", "broadcom_mmu"}) {
    const std::string rule = std::string("{memory: {model: ") + model + "}}";
    EXPECT_FALSE(Plan(rule, kOneClass)->fifo_is_exact());
  }
}

// A step between equal lengths is a step, but not the one that FIFO ports would mark by.
TEST(QueuePlanTest, TakesQueuesWhereAnyPortMarksOtherwiseThanAFifoPort) {
  const std::string red = "{marking: red, mark_at: enqueue, ";
  EXPECT_FALSE(Plan(red + "red: {min: 30KB, max: 30KB}}", kOneClass)->fifo_is_exact());
  EXPECT_TRUE(
      Plan(red + "ecn_above: 30KB, red: {min: 30KB, max: 30KB}}", kOneClass)->fifo_is_exact());
  // The default is 25 KB at the hosts' 25 Gbps, but 100 KB between leaves and spines.
  const Plan mixed(red + "ecn_above: 100KB, red: {min: 100KB}}", kOneClass);
  EXPECT_FALSE(mixed->fifo_is_exact());
  EXPECT_EQ(mixed.Errors(), "");
}

// --- What cannot work ---

TEST(QueuePlanTest, SaysWhatCannotWork) {
  EXPECT_EQ(Plan("{pfc: {classes: [3]}}").Errors(), "");
  EXPECT_THAT(Plan("{pfc: {classes: [3], headroom: 9477B}}").Errors(),
              HasSubstr("port.pfc.headroom: is 9477B, but host0-leaf0 needs 9478 bytes"));
  EXPECT_THAT(Plan("{pfc: {classes: [3], headroom: 20KB}}").Errors(),
              HasSubstr("leaf0-spine0 needs 28228 bytes"));
  EXPECT_EQ(Plan("{pfc: {classes: [3], headroom: 20KB, allow_loss: true}}").Errors(), "");
  EXPECT_EQ(Plan("{pfc: {classes: [3], headroom: 28228B}}").Errors(), "");
  EXPECT_THAT(Plan("{pfc: {classes: [1]}}", kOneClass).Errors(),
              HasSubstr("port.pfc.classes: ACKs are in class 1"));
  EXPECT_THAT(Plan("{pfc: {classes: [3], xoff: 1047B}}").Errors(), HasSubstr("port.pfc.xoff: "));
  EXPECT_THAT(
      Plan("{buffer: 29KB, pfc: {classes: [3]}}").Errors(),
      HasSubstr("port.buffer: an input of leaf0 may hold 772 bytes before it pauses its "
                "sender, and 28228 more as headroom; a packet has 1048 bytes, so set more"));
  EXPECT_THAT(Plan("{red: {min: 101KB}}").Errors(),
              HasSubstr("port.red.min: at 25Gbps: max would be less than min; set max as well"));
  EXPECT_THAT(Plan("{red: {max: 99KB}}").Errors(), HasSubstr("port.red.max: at 100Gbps: "));
  EXPECT_EQ(Plan("{red: {min: 101KB, max: 1MB}}").Errors(), "");
  EXPECT_EQ(Plan("{red: {max: 99KB}}", kOneClass).Errors(), "");  // The setting has no effect here.
  EXPECT_THAT(Plan("{memory: {model: dt, size: 70KB}, pfc: {classes: [3]}}").Errors(),
              HasSubstr("port.memory.size: is 70KB, of which headroom and reserves take 75412 at "
                        "leaf0 with its 4 ports; set at least 79604B"));
}

// The setting is refused even if the transport's packets are never trimmed.
TEST(QueuePlanTest, RefusesTrimmingOfLosslessClasses) {
  for (const bool can_trim : {true, false}) {
    Traffic traffic = kRdma;
    traffic.can_trim = can_trim;
    EXPECT_THAT(Plan("{pfc: {classes: [3]}, trim: {when: port}}", traffic).Errors(),
                HasSubstr("port.trim.classes: a class is trimmed or lossless, not both"));
    EXPECT_EQ(Plan("{pfc: {classes: [5]}, trim: {when: port}}", traffic).Errors(), "");
  }
}

TEST(QueuePlanTest, RefusesTrimmingThatCannotWork) {
  Traffic trims = kRdma;
  trims.can_trim = true;
  EXPECT_EQ(Plan("{trim: {when: port, threshold: 1048B}}", trims).Errors(), "");
  for (const uint8_t data : {uint8_t{3}, uint8_t{4}}) {
    trims.data = data;
    const bool is_trimmed = data == 3;
    EXPECT_EQ(Plan("{marking: step, trim: {when: port, classes: [3]}}", trims).Warnings().size(),
              is_trimmed ? 0u : 1u);
  }
  EXPECT_THAT(Plan("{trim: {when: port, threshold: 1047B}}", trims).Errors(),
              HasSubstr("port.trim.threshold: is less than a full packet of 1048 bytes"));
  EXPECT_THAT(Plan("{buffer: 100pkts, trim: {when: port}}", trims).Errors(),
              HasSubstr("port.trim.when: needs buffer and ecn_above in bytes, not in packets"));
  EXPECT_THAT(
      Plan("{memory: {model: hpcc_mmu, size: 10MB}, trim: {when: admission}}", trims).Errors(),
      HasSubstr("port.trim.when: admission needs a limit at outputs"));
}

// At 25 Gbps, RED's own thresholds are 25 and 100 KB.
TEST(QueuePlanTest, WarnsOfPacketsThatAreTrimmedBeforeAllAreMarked) {
  Traffic trims = kRdma;
  trims.can_trim = true;
  trims.data = 3;
  const auto warnings = [&](const std::string& port) { return Plan(port, trims).Warnings(); };
  EXPECT_THAT(warnings("{trim: {when: port, threshold: 20KB}}"),
              ElementsAre(AllOf(HasSubstr("port.red: ports mark from 25KB on, and all packets only "
                                          "above 100KB, but trim above 20KB: "),
                                HasSubstr("set red: {min: 4KB, max: 16KB, probability: 1}"))));
  EXPECT_THAT(warnings("{red: {min: 4KB, max: 16KB}, trim: {when: port, threshold: 20KB}}"),
              IsEmpty());
  EXPECT_THAT(warnings("{red: {max: 20KB}, trim: {when: port, threshold: 20KB}}"), IsEmpty());
  EXPECT_THAT(warnings("{marking: step, trim: {when: port, threshold: 20KB}}"), IsEmpty());
  EXPECT_THAT(warnings("{trim: {when: mark}}"), IsEmpty());
  EXPECT_THAT(warnings("{}"), IsEmpty());
}

// At 25 and 100 Gbps, RED marks from 25 and 100 KB on.
TEST(QueuePlanTest, WarnsOfQueuesThatAreFullBeforePacketsAreMarked) {
  Traffic rdma = kRdma;
  rdma.data = 3;
  const auto warnings = [&](const std::string& port) { return Plan(port, rdma).Warnings(); };
  EXPECT_THAT(warnings("{buffer: 100KB}"),
              ElementsAre(HasSubstr("port.red.min: at 100Gbps: packets are marked where the queue "
                                    "is longer than 100KB, but the buffer is full at 100KB; ")));
  for (const char* earlier :
       {"{buffer: 101KB}", "{buffer: 100KB, red: {min: 99KB}}", "{buffer: unlimited}",
        "{buffer: 67pkts}", "{buffer: 20KB, memory: {model: hpcc_mmu, size: 10MB}}",
        "{marking: step, ecn_above: 50KB, pfc: {classes: [3], xoff: 51KB}}"}) {
    EXPECT_THAT(warnings(earlier), IsEmpty()) << earlier;
  }
  EXPECT_THAT(warnings("{buffer: 66pkts}"), SizeIs(1));
  EXPECT_THAT(warnings("{pfc: {classes: [3], xoff: 60KB}}"),
              ElementsAre(HasSubstr("port.red.min: at 100Gbps: packets are marked where the queue "
                                    "is longer than 100KB, but a sender that alone fills the queue "
                                    "pauses at 60KB; ")));
  EXPECT_THAT(warnings("{marking: step, ecn_above: 50KB, pfc: {classes: [3], xoff: 50KB}}"),
              ElementsAre(HasSubstr("port.ecn_above: at 25Gbps")));
}

TEST(QueuePlanTest, HeadersOfTrimmedPacketsAreInTheClassOfAcks) {
  Traffic trims = kRdma;
  trims.can_trim = true;
  trims.control = 1;
  EXPECT_THAT(Plan("{trim: {when: port}}", trims).Errors(),
              HasSubstr("transport.control_priority: must be 0: headers of trimmed packets and "
                        "ACKs share class 0"));
}

// Only trimming at a port has a threshold there.
TEST(QueuePlanTest, LimitsQueuesWhereTheyAreTrimmed) {
  Traffic trims = kRdma;
  trims.can_trim = true;
  const Channel channel{25_Gbps, 1_us};
  EXPECT_EQ(Plan("{trim: {when: port, threshold: 9KB}}", trims)->TrimAt(channel).threshold, 9'000);
  for (const std::string when : {"mark", "admission"}) {
    const TrimLimits limits =
        Plan("{buffer: 200KB, trim: {when: " + when + "}}", trims)->TrimAt(channel);
    EXPECT_EQ(limits.threshold, kUnlimited) << when;
    EXPECT_LT(limits.headers, kUnlimited) << when;
  }
}

TEST(QueuePlanTest, WarnsOfWhatMaySurprise) {
  EXPECT_THAT(Plan("{pfc: {classes: [5]}}").Warnings(),
              ElementsAre(HasSubstr(
                  "port.pfc.classes: no packet belongs to these classes; data is in class ")));
  EXPECT_THAT(
      Plan("{memory: {model: dt, size: 400KB}, pfc: {classes: [3], xoff: 100KB}}").Warnings(),
      ElementsAre(HasSubstr("4 times 100KB exceed the pool of leaf0 (324588 bytes beside "
                            "headroom)")));
  EXPECT_THAT(Plan("{pfc: {classes: [3]}}").Warnings(), ElementsAre());
}

// --- At the limits ---

// 75,412 bytes of headroom, and a packet for each of four ports.
TEST(QueuePlanTest, APoolMayJustHoldAPacketOfEachPort) {
  EXPECT_EQ(Plan("{memory: {model: dt, size: 79604B}, pfc: {classes: [3]}}").Errors(), "");
  EXPECT_THAT(Plan("{memory: {model: dt, size: 79603B}, pfc: {classes: [3]}}").Errors(),
              HasSubstr("set at least 79604B"));
}

// All inputs together may hold just the pool: four times 100 KB, for each lossless class.
TEST(QueuePlanTest, WarnsIfInputsMayHoldMoreThanThePool) {
  const auto warnings = [](const std::string& size, const std::string& classes) {
    return Plan("{memory: {model: dt, size: " + size + "}, pfc: {xoff: 100KB, classes: " + classes +
                "}}")
        .Warnings()
        .size();
  };
  EXPECT_EQ(warnings("475412B", "[3]"), 0u);
  EXPECT_EQ(warnings("475411B", "[3]"), 1u);
  EXPECT_EQ(warnings("950824B", "[3, 5]"), 0u);
  EXPECT_EQ(warnings("950823B", "[3, 5]"), 1u);
}

TEST(QueuePlanTest, AnXoffMayBeAPacket) {
  EXPECT_EQ(Plan("{pfc: {classes: [3], xoff: 1048B}}").Errors(), "");
  EXPECT_THAT(Plan("{pfc: {classes: [3], xoff: 1047B}}").Errors(),
              HasSubstr("may hold 1047 bytes before it pauses its sender"));
  EXPECT_EQ(Plan("{buffer: 29276B, pfc: {classes: [3]}}").Errors(), "");
  EXPECT_THAT(Plan("{buffer: 29275B, pfc: {classes: [3]}}").Errors(),
              HasSubstr("may hold 1047 bytes"));
  EXPECT_THAT(Plan("{buffer: 9KB, pfc: {classes: [3]}}").Errors(),
              HasSubstr("may hold 0 bytes before"))
      << "less than its headroom";
  EXPECT_EQ(Plan("{buffer: unlimited, pfc: {classes: [3]}}").Errors(), "");
  EXPECT_EQ(Plan("{buffer: 1KB}").Errors(), "") << "without PFC";
}

TEST(QueuePlanTest, FullQueuesOfLosslessClassesAreARisk) {
  const std::string rule =
      "{memory: {model: broadcom_mmu, limit_lossless: true}, pfc: {classes: [3]";
  EXPECT_THAT(Plan(rule + "}}").Errors(),
              HasSubstr("port.memory.limit_lossless: full queues drop packets; if lossless classes "
                        "may lose packets set pfc.allow_loss: true"));
  EXPECT_EQ(Plan(rule + ", allow_loss: true}}").Errors(), "");
  EXPECT_EQ(Plan("{memory: {model: broadcom_mmu, limit_lossless: true}}").Errors(), "");
}

// --- Thresholds of trimming ---

// 8 us at the hosts' 25 Gbps are 25,000 bytes, 24 packets of 1048. Other ports have their share of
// these 25,152 bytes, but a packet at least.
TEST(QueuePlanTest, TrimsBeyondABandwidthDelayProductInWholePackets) {
  Traffic trims = kRdma;
  trims.can_trim = true;
  trims.base_rtt = 8_us;
  const auto limits = [&](const std::string& more, BitRate rate) {
    return Plan("{trim: {when: port" + more + "}}", trims)->TrimAt({rate, 1_us});
  };
  EXPECT_EQ(limits("", 25_Gbps).threshold, 25'152);
  EXPECT_EQ(limits("", 25_Gbps).headers, 50'304);
  EXPECT_EQ(limits("", 100_Gbps).threshold, 100'608);
  EXPECT_EQ(limits("", 10_Gbps).threshold, 10'060);
  EXPECT_EQ(limits("", 1_Gbps).threshold, 1'048);
  EXPECT_EQ(limits("", 1_Gbps).headers, 2'096);
  EXPECT_EQ(limits(", threshold: 7KB", 100_Gbps).threshold, 7'000);
  EXPECT_EQ(limits(", threshold: 7KB", 100_Gbps).headers, 14'000);
  EXPECT_EQ(limits(", header_limit: 3KB", 100_Gbps).headers, 3'000);
  EXPECT_EQ(limits(", header_limit: 3KB", 100_Gbps).threshold, 100'608);
  trims.base_rtt = Duration{8'048'640};  // 25,152 bytes: whole packets already.
  EXPECT_EQ(limits("", 25_Gbps).threshold, 25'152);
  trims.base_rtt = Duration{8'048'960};  // One byte more.
  EXPECT_EQ(limits("", 25_Gbps).threshold, 26'200);
}

// At a port of the hosts' rate, 25 Gbps.
TEST(QueuePlanTest, TheLongestQueueIsThatOfAPortOfTheHostsRate) {
  Traffic trims = kRdma;
  trims.can_trim = true;
  trims.base_rtt = 8_us;
  const auto longest = [&](const std::string& rule) { return Plan(rule, trims)->LongestQueue(); };
  EXPECT_EQ(longest("{trim: {when: port}}"), 25'152_B);
  EXPECT_EQ(longest("{trim: {when: port, threshold: 7KB}}"), 7_KB);
  EXPECT_EQ(longest("{buffer: 200KB, trim: {when: mark}}"), 200_KB);
  EXPECT_EQ(longest("{buffer: 123KB}"), 123_KB);
  EXPECT_EQ(longest("{}"), Bytes{625 * 1'518});  // 25 frames for each Gbps.
  EXPECT_EQ(longest("{buffer: 50pkts}"), Bytes{50 * 1'048});
  EXPECT_EQ(longest("{buffer: unlimited}"), 0_B);
  EXPECT_EQ(longest("{buffer: 123KB, memory: {model: hpcc_mmu}}"), 0_B);
  // A queue of alpha times the free buffer: half of it with 1, a third with 0.5.
  for (const std::string model : {"dt", "broadcom_mmu"}) {
    const std::string memory = "{memory: {model: " + model + ", size: 9MB";
    EXPECT_EQ(longest(memory + "}}"), 4'500'000_B) << model;
    EXPECT_EQ(longest(memory + ", alpha: 0.5}}"), 3'000'000_B) << model;
  }
}

}  // namespace heddle::queue_plan_test
