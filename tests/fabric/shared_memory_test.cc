// SPDX-License-Identifier: Apache-2.0
// Compares the buffer models with the published rules, written down one by one (literal_memory.h);
// then checks numbers that follow from these.

#include "fabric/shared_memory.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "core/check.h"
#include "fabric/input_share.h"
#include "tests/support/literal_memory.h"
#include "tests/support/memory_rigs.h"
#include "tests/support/switch_bench.h"
#include "tests/support/traces.h"

namespace heddle::shared_memory_test {

using Model = MemorySettings::Model;

// --- Random arrivals and releases ---

struct Held {
  PortIndex in;
  PortIndex out;
  size_t cls;
  int64_t bytes;
};

// Counts each kind of event, so that a test knows that it has seen all kinds.
struct Tally {
  int64_t refused[kDropReasons] = {};
  int64_t beyond_published = 0;  // Admitted into a reserve where the published rule would not.
  int64_t pauses = 0;

  int64_t Of(DropReason reason) const { return refused[static_cast<size_t>(reason)]; }
};

class Comparison {
 public:
  Comparison(const MemoryRig& rig, Tally& tally)
      : rig_(rig),
        memory_(rig.settings, rig.ports),
        literal_(rig.settings, rig.ports),
        tally_(tally) {}

  void Offer(const Held& packet) {
    const int64_t queued = QueuedAt(packet.out);
    double free = 0;
    const bool published_rule_refuses =
        HasReserves() &&
        literal_.PublishedRuleRefuses(packet.in, packet.out, packet.cls, packet.bytes, free);
    const auto expected =
        literal_.Admit(packet.in, packet.out, packet.cls, packet.bytes, queued, packet.bytes);
    ASSERT_EQ(memory_.Admit(packet.in, packet.out, packet.cls, packet.bytes, queued, packet.bytes),
              expected);
    if (expected) {
      ++tally_.refused[static_cast<size_t>(*expected)];
      // Nothing is refused that the published rule admits.
      ASSERT_TRUE(!HasReserves() || published_rule_refuses);
    } else {
      held_.push_back(packet);
      bytes_[packet.in][packet.out][packet.cls] += packet.bytes;
      tally_.beyond_published += published_rule_refuses ? 1 : 0;
      // Only where the pool holds less than a packet, part of which lies in a reserve.
      ASSERT_TRUE(!published_rule_refuses || free < static_cast<double>(packet.bytes));
    }
    ExpectSameBooks();
  }

  void ReleaseOne(Rng& rng) {
    if (held_.empty()) return;
    std::swap(held_[rng.Below(static_cast<uint32_t>(held_.size()))], held_.back());
    const Held packet = held_.back();
    held_.pop_back();
    bytes_[packet.in][packet.out][packet.cls] -= packet.bytes;
    memory_.Release(packet.in, packet.out, packet.cls, packet.bytes);
    literal_.Release(packet.in, packet.out, packet.cls, packet.bytes);
    ExpectSameBooks();
  }

  void ReleaseAll(Rng& rng) {
    while (!held_.empty() && !testing::Test::HasFatalFailure()) ReleaseOne(rng);
    EXPECT_EQ(memory_.used(), 0);
  }

 private:
  bool HasReserves() const {
    return rig_.settings.model == Model::kHpcc || rig_.settings.model == Model::kBroadcom;
  }

  int64_t QueuedAt(PortIndex out) const {
    int64_t bytes = 0;
    for (const auto& from_input : bytes_) {
      for (const int64_t of_class : from_input[out]) bytes += of_class;
    }
    return bytes;
  }

  int64_t HeldFrom(PortIndex in, size_t cls) const {
    int64_t bytes = 0;
    for (const auto& to_output : bytes_[in]) bytes += to_output[cls];
    return bytes;
  }

  // A copy of the memory lets go of all packets, input by input. Release() stops the program if an
  // input holds less than that, and used() is not zero if one holds more.
  void ExpectEachInputHoldsWhatItSent() const {
    SharedMemory copy = memory_;
    for (PortIndex in = 0; in < kRigPorts; ++in) {
      for (PortIndex out = 0; out < kRigPorts; ++out) {
        for (size_t cls = 1; cls <= 3; ++cls) {
          const int64_t held = bytes_[in][out][cls];
          if (held > 0) copy.Release(in, out, cls, held);
        }
      }
    }
    ASSERT_EQ(copy.used(), 0);
    copy.CheckBooks();
  }

  void ExpectSameBooks() {
    int64_t used = 0;
    for (PortIndex out = 0; out < kRigPorts; ++out) used += QueuedAt(out);
    ASSERT_EQ(memory_.used(), used);
    memory_.CheckBooks();
    ExpectEachInputHoldsWhatItSent();
    bool uses_headroom = false;
    for (PortIndex in = 0; in < kRigPorts; ++in) {
      for (size_t cls = 1; cls <= 3; ++cls) {
        ASSERT_EQ(memory_.headroom_used(in, cls), literal_.hdrm(in, cls));
        ASSERT_EQ(HeldFrom(in, cls), literal_.ingress(in, cls) + literal_.hdrm(in, cls));
        ASSERT_EQ(memory_.held(in, cls), HeldFrom(in, cls));
        uses_headroom = uses_headroom || literal_.hdrm(in, cls) > 0;
        ASSERT_GE(literal_.ingress(in, cls), 0);
        ASSERT_LE(literal_.hdrm(in, cls), rig_.ports[in].headroom);
        ASSERT_EQ(memory_.MustPause(in, cls), literal_.MustPause(in, cls));
        ASSERT_EQ(memory_.MayResume(in, cls), literal_.MayResume(in, cls));
        tally_.pauses += memory_.MustPause(in, cls) ? 1 : 0;
        // An input must never be told to pause and to resume at the same time.
        ASSERT_FALSE(memory_.MustPause(in, cls) && memory_.MayResume(in, cls));
      }
    }
    ASSERT_EQ(memory_.UsesHeadroom(), uses_headroom);
  }

  const MemoryRig rig_;
  SharedMemory memory_;
  LiteralMemory literal_;
  std::vector<Held> held_;
  std::array<std::array<std::array<int64_t, 4>, kRigPorts>, kRigPorts> bytes_ =
      {};  // By in, out, class.
  Tally& tally_;
};

Tally CompareOverTraces(Model model) {
  Tally tally;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(fmt::format("model {}, seed {}", static_cast<int>(model), seed));
    Rng rng = Rng::Stream(seed, "test", static_cast<uint64_t>(model));
    const MemoryRig rig = RandomMemoryRig(model, rng);
    Comparison comparison(rig, tally);
    const auto draw_bytes = [&] {
      if (!rig.is_round) return 64 + static_cast<int64_t>(rng.Below(3'000));
      // A byte more or less now and then.
      const int64_t off = rng.Below(4) == 0 ? static_cast<int64_t>(rng.Below(3)) - 1 : 0;
      return 500 * static_cast<int64_t>(1 + rng.Below(6)) + off;
    };
    for (int i = 0; i < 400 && !testing::Test::HasFatalFailure(); ++i) {
      // Fills in the first half, drains in the second.
      if (rng.Below(100) < (i < 250 ? 80u : 35u)) {
        comparison.Offer({static_cast<PortIndex>(rng.Below(3)),
                          static_cast<PortIndex>(rng.Below(3)), 1 + rng.Below(3), draw_bytes()});
      } else {
        comparison.ReleaseOne(rng);
      }
    }
    comparison.ReleaseAll(rng);
    if (testing::Test::HasFailure()) break;
  }
  return tally;
}

TEST(SharedMemoryTest, PrivateBuffersFollowTheirRules) {
  const Tally tally = CompareOverTraces(Model::kPrivate);
  EXPECT_GT(tally.Of(DropReason::kTail), 100);
  EXPECT_GT(tally.Of(DropReason::kHeadroom), 100);
  EXPECT_EQ(tally.Of(DropReason::kThreshold) + tally.Of(DropReason::kIngress), 0);
  EXPECT_GT(tally.pauses, 1'000);
}

TEST(SharedMemoryTest, TheDynamicThresholdFollowsItsRules) {
  const Tally tally = CompareOverTraces(Model::kDynamic);
  EXPECT_GT(tally.Of(DropReason::kThreshold), 100);
  EXPECT_GT(tally.Of(DropReason::kHeadroom), 100);
  EXPECT_EQ(tally.Of(DropReason::kTail) + tally.Of(DropReason::kIngress), 0);
}

TEST(SharedMemoryTest, HpccsMmuFollowsItsRules) {
  const Tally tally = CompareOverTraces(Model::kHpcc);
  EXPECT_GT(tally.Of(DropReason::kIngress), 100);
  EXPECT_GT(tally.Of(DropReason::kHeadroom), 100);
  EXPECT_EQ(tally.Of(DropReason::kTail) + tally.Of(DropReason::kThreshold), 0);
  EXPECT_GT(tally.beyond_published, 0);
}

TEST(SharedMemoryTest, BroadcomsMmuFollowsItsRules) {
  const Tally tally = CompareOverTraces(Model::kBroadcom);
  EXPECT_GT(tally.Of(DropReason::kThreshold), 100);
  EXPECT_GT(tally.Of(DropReason::kIngress), 100);
  EXPECT_GT(tally.Of(DropReason::kHeadroom), 100);
  EXPECT_EQ(tally.Of(DropReason::kTail), 0);
  EXPECT_GT(tally.beyond_published, 0);
}

// The published rule (Choudhury and Hahne, ToN 1998): with alpha 1 one queue takes half of the free
// buffer.
TEST(SharedMemoryTest, LosslessQueuesHaveALimitOnlyIfItIsAskedFor) {
  for (const bool limited : {false, true}) {
    MemorySettings settings{
        .model = Model::kBroadcom, .size = 1'000'000, .alpha = 1, .alpha_in = 8};
    settings.lossless = 0b1000;
    settings.limits_lossless = limited;
    SharedMemory memory(settings, {{.buffer = 0}, {.buffer = 0}, {.buffer = 0}});
    std::optional<DropReason> refused;
    while (!refused) refused = memory.Admit(0, 2, 3, 1'000, memory.used(), 1'000);
    EXPECT_EQ(*refused, limited ? DropReason::kThreshold : DropReason::kHeadroom);
    EXPECT_EQ(memory.used(), limited ? 500'000 : 1'000'000);
  }
}

// --- Bytes that are safe ---

// Fills a buffer up to the bytes that are safe, with packets from one input to one output, or from
// and to any.
void ExpectSafe(const MemoryRig& rig, bool concentrated, Rng& rng) {
  SharedMemory memory(rig.settings, rig.ports);
  const int64_t safe = memory.SafeBytes(0b1111);
  for (;;) {
    const PortIndex in = static_cast<PortIndex>(concentrated ? 0 : rng.Below(3));
    const PortIndex out = static_cast<PortIndex>(concentrated ? 2 : rng.Below(3));
    const size_t cls = 1 + rng.Below(3);
    const int64_t bytes = 1 + rng.Below(1'500);
    if (memory.used() + bytes > safe) return;
    ASSERT_EQ(memory.Admit(in, out, cls, bytes, memory.used(), bytes), std::nullopt);
    ASSERT_FALSE(memory.IsLossless(cls) && memory.MustPause(in, cls));
    ASSERT_FALSE(memory.UsesHeadroom());
  }
}

TEST(SharedMemoryTest, NothingIsRefusedOrPausedUpToTheSafeBytes) {
  ForEachMemoryModel(200, /*stream=*/8, [&](Model model, uint64_t seed, Rng& rng) {
    ExpectSafe(RandomMemoryRig(model, rng), seed % 2 == 0, rng);
  });
}

// The same with a limit for each input. Inputs are drawn with a preference for the first.
TEST(SharedMemoryTest, NothingIsRefusedOrPausedWithinTheSafeShares) {
  int64_t limited = 0;
  ForEachMemoryModel(400, /*stream=*/11, [&](Model model, uint64_t /*seed*/, Rng& rng) {
    const MemoryRig rig = RandomMemoryRig(model, rng);
    SharedMemory memory(rig.settings, rig.ports);
    const SharedMemory::Safe safe = memory.SafeShares(0b1111);
    ASSERT_LE(safe.input, safe.total);
    limited += safe.input < safe.total ? 1 : 0;
    for (int refused = 0; refused < 20;) {
      const PortIndex in = static_cast<PortIndex>(std::min(rng.Below(3), rng.Below(3)));
      const PortIndex out = static_cast<PortIndex>(rng.Below(3));
      const size_t cls = 1 + rng.Below(3);
      const int64_t bytes = 1 + rng.Below(1'500);
      if (memory.used() + bytes > safe.total || memory.held(in) + bytes > safe.input) {
        ++refused;
        continue;
      }
      ASSERT_EQ(memory.Admit(in, out, cls, bytes, memory.used(), bytes), std::nullopt);
      ASSERT_FALSE(memory.IsLossless(cls) && memory.MustPause(in, cls));
      ASSERT_FALSE(memory.UsesHeadroom());
    }
  });
  EXPECT_GT(limited, 100);
}

// A quarter of the pool, and what is left of the rest for one input, unless more is safe anyway.
TEST(SharedMemoryTest, MoreIsSafeIfItComesFromSeveralInputs) {
  const std::vector<SharedMemory::Port> ports(3, {.buffer = 30'000, .xoff = 50'000});
  using Shares = std::pair<int64_t, int64_t>;
  const auto shares = [&](MemorySettings settings) {
    const SharedMemory::Safe safe = SharedMemory(settings, ports).SafeShares(0b10);
    return Shares(safe.total, safe.input);
  };
  MemorySettings settings{
      .model = Model::kDynamic, .size = 1'000'000, .alpha = 1, .lossless = 0b10};
  EXPECT_EQ(shares(settings), Shares(250'000, 50'000));  // xoff
  settings.alpha = 0.0625;
  EXPECT_EQ(shares(settings), Shares(250'000, 46'875));  // A sixteenth of 750 KB.
  settings.size = 150'000;
  EXPECT_EQ(shares(settings), Shares(37'500, 7'031));
  settings.alpha = 1;
  EXPECT_EQ(shares(settings), Shares(50'000, 50'000));  // From anywhere.
}

// With alpha 1, one queue may hold half of the buffer; less one byte for the rounding.
TEST(SharedMemoryTest, HalfTheBufferIsSafeWithAlphaOne) {
  const std::vector<SharedMemory::Port> ports(3, {.buffer = 30'000, .xoff = kUnlimited});
  MemorySettings settings{.model = Model::kDynamic, .size = 1'000'000, .alpha = 1};
  EXPECT_EQ(SharedMemory(settings, ports).SafeBytes(0b10), 499'999);
  settings.alpha = 0.25;
  EXPECT_EQ(SharedMemory(settings, ports).SafeBytes(0b10), 199'999);
  // Headroom is not shared.
  settings.lossless = 0b10;
  const std::vector<SharedMemory::Port> inputs(
      4, {.buffer = 30'000, .headroom = 50'000, .xoff = kUnlimited});
  EXPECT_EQ(SharedMemory(settings, inputs).SafeBytes(0b10), 159'999);
}

// Two ports: HPCC keeps 16 reserves of 4000 bytes, and the largest share of an input, at the slower
// port, is alpha / (1 + alpha) of the rest. Broadcom keeps 16 MTUs of 1500 bytes and limits
// outputs, unless all classes are lossless.
TEST(SharedMemoryTest, ReservesAreNotSafeForAll) {
  const auto ports = [](double faster, int64_t headroom = 0) {
    return std::vector<SharedMemory::Port>{
        {.buffer = 30'000, .headroom = headroom, .xoff = kUnlimited, .faster = 4},
        {.buffer = 20'000, .headroom = headroom, .xoff = kUnlimited, .faster = faster}};
  };
  MemorySettings hpcc{
      .model = Model::kHpcc, .size = 1'000'000, .alpha = 0.25, .reserve = 4'000, .lossless = 0b100};
  EXPECT_EQ(SharedMemory::PoolOf(hpcc, ports(1)), 936'000);
  EXPECT_EQ(SharedMemory::PoolOf(hpcc, ports(1, 18'000)), 900'000);
  EXPECT_EQ(SharedMemory(hpcc, ports(1)).SafeBytes(0b110), 936'000 / 5 - 1);
  EXPECT_EQ(SharedMemory(hpcc, ports(4)).SafeBytes(0b110), 936'000 / 2 - 1);
  EXPECT_EQ(SharedMemory(hpcc, ports(8)).SafeBytes(0b110), 936'000 / 2 - 1);  // At most 1.
  EXPECT_EQ(SharedMemory(hpcc, ports(4, 18'000)).SafeBytes(0b100), 450'000 - 1);
  MemorySettings broadcom{.model = Model::kBroadcom,
                          .size = 1'000'000,
                          .alpha = 0.125,
                          .alpha_in = 1,
                          .mtu = 1'500,
                          .lossless = 0b1100};
  EXPECT_EQ(SharedMemory::PoolOf(broadcom, ports(1)), 976'000);
  EXPECT_EQ(SharedMemory::PoolOf(broadcom, ports(1, 4'000)), 960'000);
  EXPECT_EQ(SharedMemory(broadcom, ports(1, 4'000)).SafeBytes(0b1101), 480'000 - 1);
  EXPECT_EQ(SharedMemory(broadcom, ports(1, 4'000)).SafeBytes(0b1111), 976'000 / 9 - 1);
  broadcom.limits_lossless = true;
  EXPECT_EQ(SharedMemory(broadcom, ports(1, 4'000)).SafeBytes(0b1101), 976'000 / 9 - 1);
  // The pool may be too small, which settings refuse; private buffers have none.
  EXPECT_EQ(SharedMemory::PoolOf(broadcom, ports(1, 300'000)), 976'000 - 4 * 300'000);
  EXPECT_EQ(SharedMemory::PoolOf({.size = 5}, ports(1)), kUnlimited);
}

TEST(SharedMemoryTest, TheShareOfAnInputIsThatOfItsModel) {
  const SharedMemory::Port port{.buffer = 0, .faster = 3};
  MemorySettings settings{.alpha = 0.25, .alpha_in = 0.5};
  const auto share = [&](Model model) {
    settings.model = model;
    return InputShare(settings, port);
  };
  EXPECT_EQ(share(Model::kPrivate), 1);
  EXPECT_EQ(share(Model::kDynamic), 0.25);
  EXPECT_EQ(share(Model::kHpcc), 0.75);
  EXPECT_EQ(share(Model::kBroadcom), 0.5);
  settings.alpha = 0.5;
  EXPECT_EQ(share(Model::kHpcc), 1);
}

// Only lossy classes, or limits for lossless ones, make the buffers of outputs count.
TEST(SharedMemoryTest, TheLeastLimitOfAnyPortIsSafe) {
  MemorySettings settings{.lossless = 0b1000};
  const std::vector<SharedMemory::Port> ports = {{.buffer = 30'000, .xoff = 90'000},
                                                 {.buffer = 40'000, .xoff = 80'000}};
  EXPECT_EQ(SharedMemory(settings, ports).SafeBytes(0b1000), 80'000);
  EXPECT_EQ(SharedMemory(settings, ports).SafeBytes(0b1001), 80'000);
  EXPECT_EQ(SharedMemory(settings, ports).SafeBytes(0b1010), 30'000);
  settings.limits_lossless = true;
  EXPECT_EQ(SharedMemory(settings, ports).SafeBytes(0b1000), 30'000);
}

// --- The dynamic threshold ---

constexpr int64_t kFrame = 1'500;
constexpr int64_t kMemory = 9'000'000;

// Offers a frame to each of `queues` outputs in turn, `rounds` times.
void OfferInTurn(SharedMemory& memory, size_t queues, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    for (PortIndex out = 0; out < queues; ++out) memory.Admit(0, out, 1, kFrame, 0, kFrame);
  }
}

SharedMemory DynamicMemory(double alpha) {
  return {{.model = Model::kDynamic, .size = kMemory, .alpha = alpha},
          std::vector<SharedMemory::Port>(16, {.buffer = 0})};
}

// All n queues together hold n alpha B / (1 + n alpha), so each has alpha B / (1 + n alpha).
TEST(SharedMemoryTest, DynamicThresholdsSettleWhereTheyShould) {
  struct Case {
    double alpha;
    size_t queues;
    int64_t each;
  };
  for (const Case& c : {Case{1, 1, 4'500'000}, Case{1, 4, 1'800'000}, Case{1, 16, 529'411},
                        Case{0.125, 4, 750'000}, Case{8, 1, 8'000'000}}) {
    SCOPED_TRACE(fmt::format("alpha {}, {} queues", c.alpha, c.queues));
    SharedMemory memory = DynamicMemory(c.alpha);
    OfferInTurn(memory, c.queues, 7'000);
    const int64_t queues = static_cast<int64_t>(c.queues);
    EXPECT_NEAR(static_cast<double>(memory.used() / queues), static_cast<double>(c.each), kFrame);
    // Packets arrive at twice the rate of departures.
    for (int i = 0; i < 1'000; ++i) {
      for (PortIndex out = 0; out < c.queues; ++out) memory.Release(0, out, 1, kFrame);
      OfferInTurn(memory, c.queues, 2);
      ASSERT_NEAR(static_cast<double>(memory.used() / queues), static_cast<double>(c.each), kFrame);
    }
  }
}

// The same in a switch: each of n ports is offered twice its rate, by two peers.
TEST(SharedMemoryTest, OverloadedPortsSettleAtTheDynamicThreshold) {
  for (const size_t overloaded : {size_t{1}, size_t{4}}) {
    SCOPED_TRACE(overloaded);
    SwitchPlan plan;
    plan.ports.resize(overloaded + 2, {.rate = 10_Gbps, .delay = 1_us, .wire_overhead = 0_B});
    plan.shares.resize(overloaded + 2, {.buffer = 0});
    plan.queues = {.classes = 0b10, .marking = {}};
    plan.queueing.memory = {.model = Model::kDynamic, .size = 900'000, .alpha = 1};
    const int64_t each = 900'000 / (1 + static_cast<int64_t>(overloaded));
    const Duration tx = 1'200_ns;
    std::vector<Offer> offers;
    for (int64_t i = 0; i < 1'500; ++i) {
      for (size_t out = 0; out < overloaded; ++out) {
        for (size_t sender = 0; sender < 2; ++sender) {
          Packet packet = PacketOf(kFrame, 1, static_cast<HostId>(out));
          const Duration at = 1_us + tx * i + 37_ns * static_cast<int64_t>(2 * out + sender);
          offers.push_back({Time{} + at, static_cast<PortIndex>(overloaded + sender), packet});
        }
      }
    }
    std::vector<SwitchBench::Action> samples;
    int64_t samples_taken = 0;
    for (int64_t i = 1'000; i < 1'500; ++i) {
      samples.emplace_back(Time{} + 1_us + tx * i + 700_ns, [&](Switch& node, Time now) {
        for (PortIndex out = 0; out < overloaded; ++out) {
          EXPECT_NEAR(static_cast<double>((*node.queued())[out].Length(now)),
                      static_cast<double>(each), kFrame);
          ++samples_taken;
        }
      });
    }
    SwitchBench bench(plan);
    bench.Run(offers, samples);
    EXPECT_EQ(samples_taken, 500 * static_cast<int64_t>(overloaded));
    EXPECT_GT(bench.node().drops(DropReason::kThreshold), 100);
  }
}

// --- Control ---

TEST(SharedMemoryTest, ControlIsNeitherChargedNorRefused) {
  for (const Model model : {Model::kPrivate, Model::kDynamic, Model::kHpcc, Model::kBroadcom}) {
    SharedMemory memory({.model = model, .size = 200'000, .mtu = 1'000},
                        {{.buffer = 2'000}, {.buffer = 2'000}});
    while (!memory.Admit(0, 1, 1, 1'000, memory.used(), 1'000)) continue;
    const int64_t full = memory.used();
    for (int i = 0; i < 1'000; ++i) EXPECT_FALSE(memory.Admit(0, 1, 0, 1'000, full, 1'000));
    EXPECT_EQ(memory.used(), full);
    memory.Release(0, 1, 0, 1'000);
    memory.CheckBooks();
  }
}

// A packet of class 0 waits until 2.8 us between two of class 1, which take 0.8 us each.
TEST(SharedMemoryTest, ControlThatWaitsOccupiesNothing) {
  for (const bool eager : {false, true}) {
    SCOPED_TRACE(eager ? "eager" : "late");
    SwitchPlan plan = EqualPorts(2, {.rate = 10_Gbps, .delay = 1_us, .wire_overhead = 0_B},
                                 {.classes = 0b11, .queues_control = true, .marking = {}});
    plan.queueing.memory = {.model = Model::kDynamic, .size = 80'000};
    plan.queueing.eager = eager;
    SwitchBench bench(plan);
    std::vector<int64_t> bytes;
    std::vector<SwitchBench::Action> samples;
    for (const Duration at : {2_us, 2'500_ns, 3_us, 4_us}) {
      samples.emplace_back(Time{} + at, [&](Switch& node, Time now) {
        bytes.push_back(node.queued()->BytesInMemory(now));
      });
    }
    bench.Run({{Time{} + 2_us, 1, PacketOf(1'000, 1)},
               {Time{} + 2'100_ns, 1, PacketOf(64, 0)},
               {Time{} + 2'200_ns, 1, PacketOf(1'000, 1)}},
              samples);
    EXPECT_EQ(bytes, (std::vector<int64_t>{0, 2'000, 1'000, 0}));
    ASSERT_EQ(bench.received(0).size(), 3u);
    EXPECT_EQ(bench.received(0)[1].arrival, Time{} + 3'800_ns + 51'200_ps);
  }
}

TEST(SharedMemoryTest, AReleaseOfWhatWasNotChargedIsNoticed) {
  SharedMemory memory = DynamicMemory(1);
  memory.Admit(0, 1, 1, 1'000, 0, 1'000);
  EXPECT_EXIT(memory.Release(0, 2, 1, 1'000), testing::ExitedWithCode(kExitBrokenInvariant),
              "output 2 has -1000");
}

}  // namespace heddle::shared_memory_test
