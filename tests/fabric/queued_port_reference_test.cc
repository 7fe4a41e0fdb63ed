// SPDX-License-Identifier: Apache-2.0
// Queued ports decide late, or as events of their switch. Either must give the same results as the
// reference, which handles every arrival, pause and end of a transmission by itself.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "fabric/queued_port.h"
#include "tests/support/event_switch.h"
#include "tests/support/late_port.h"
#include "tests/support/port_settings.h"
#include "tests/support/printers.h"
#include "tests/support/switch_bench.h"
#include "tests/support/traces.h"

namespace heddle::queued_port_reference_test {

// --- One port ---

void ExpectSame(const std::vector<Packet>& received, const std::vector<EventPort::Sent>& sent,
                Duration delay) {
  ASSERT_EQ(received.size(), sent.size());
  for (size_t i = 0; i < sent.size(); ++i) {
    const Packet& expected = sent[i].packet;
    ASSERT_EQ(received[i].kind, expected.kind) << "packet " << i;
    ASSERT_EQ(received[i].seq, expected.seq) << "packet " << i;
    ASSERT_EQ(received[i].arrival, sent[i].departure + delay) << "packet " << i;
    ASSERT_EQ(received[i].flags, expected.flags) << "packet " << i;
    if (expected.kind != PacketKind::kPause) {
      ASSERT_EQ(received[i].hops, 1);
      continue;
    }
    ASSERT_EQ(received[i].pause.classes, expected.pause.classes);
    ASSERT_EQ(received[i].pause.stop, expected.pause.stop);
  }
}

class OneEventPort {
 public:
  OneEventPort(const PortSettings& settings, const QueueSettings& queues,
               const std::vector<Offer>& offers)
      : port(settings, queues), offers_(offers) {}

  EventPort port;

  // Handles everything before `end`, and the transmission that ends at it.
  void RunTo(Time end) {
    for (;;) {
      const Time offer = next_ < offers_.size() ? offers_[next_].at : kNever;
      const Time now = std::min({offer, port.end(), decision_});
      if (now >= end) break;
      port.Complete(now);
      for (; next_ < offers_.size() && offers_[next_].at == now; ++next_) Take(offers_[next_]);
      port.Serve(now);
      decision_ = kNever;
    }
    if (port.Complete(end)) decision_ = end;
  }

 private:
  void Take(const Offer& offer) {
    if (offer.packet.kind == PacketKind::kPause) {
      port.SetPaused(offer.packet.pause.classes, offer.packet.pause.stop, offer.at);
    } else {
      port.Enqueue(offer.packet, 0, offer.at);
    }
  }

  const std::vector<Offer>& offers_;
  size_t next_ = 0;
  Time decision_ = kNever;  // The port's decision that the last call left open.
};

void ExpectAsWithEvents(const PortSettings& settings, const QueueSettings& queues,
                        const TraceRule& trace, Rng& rng) {
  const std::vector<Offer> offers = RandomTrace(trace, rng);
  LatePort late(settings, queues);
  OneEventPort reference(settings, queues, offers);
  late.Run(offers, [&](Time end) {
    reference.RunTo(end);
    for (size_t cls = 1; cls < kClasses; ++cls) {
      if ((queues.classes >> cls & 1) == 0) continue;
      ASSERT_EQ(late.port().Length(cls, end), reference.port.Length(cls));
    }
    for (size_t cls = 0; cls < kClasses; ++cls) {
      if (cls > 0 && (queues.classes >> cls & 1) == 0) continue;
      ASSERT_EQ(late.port().QueueAt(cls, end).bytes, reference.port.QueueOf(cls).bytes);
      ASSERT_EQ(late.port().QueueAt(cls, end).packets, reference.port.QueueOf(cls).packets);
    }
    ASSERT_EQ(late.port().Length(end), reference.port.Length());
    ASSERT_EQ(late.port().QueuedPackets(end), reference.port.QueuedPackets());
    if (trace.pausable == 0) {
      ASSERT_EQ(late.port().QueueingDelay(end), reference.port.Wait(end));
      // All classes together: the same bytes, each part rounded by itself.
      ASSERT_NEAR(static_cast<double>(late.port().UnsentUpTo(kClasses - 1, end).count),
                  static_cast<double>(late.port().Unsent(end).count), 1);
    }
  });
  reference.RunTo(kNever);
  ExpectSame(late.received(), reference.port.sent, settings.delay);
}

struct Variant {
  Scheduler scheduler;
  BitRate rate;
  bool on_grid;
  bool at_dequeue;
  bool counts_departing;
  bool count_packets;
};

std::vector<Variant> Variants() {
  std::vector<Variant> variants;
  for (const Scheduler scheduler :
       {Scheduler::kStrict, Scheduler::kRoundRobin, Scheduler::kDeficit}) {
    for (const BitRate rate : {10_Gbps, 7_Gbps, 400_Gbps}) {
      for (const bool on_grid : {false, true}) {
        for (const auto& [at_dequeue, departing] : kMarkAt) {
          for (const bool count_packets : {false, true}) {
            variants.push_back({scheduler, rate, on_grid, at_dequeue, departing, count_packets});
          }
        }
      }
    }
  }
  return variants;
}

Marking StepOf(const Variant& variant) {
  const int64_t above = variant.count_packets ? 4 : 3'000;
  return {.above = above,
          .all = above,
          .at_dequeue = variant.at_dequeue,
          .counts_departing = variant.counts_departing};
}

std::string Text(const Variant& v, uint64_t seed) {
  return fmt::format(
      "scheduler {}, {} bps, grid {}, at dequeue {}, with the departing {}, packets {}, seed {}",
      static_cast<int>(v.scheduler), v.rate.bps, v.on_grid, v.at_dequeue, v.counts_departing,
      v.count_packets, seed);
}

TEST(QueuedPortTest, ServedLateBehavesAsIfEverythingWereAnEvent) {
  for (const Variant& variant : Variants()) {
    for (uint64_t seed = 0; seed < 24; ++seed) {
      SCOPED_TRACE(Text(variant, seed));
      Rng rng = Rng::Stream(seed, "test", 0);
      const uint8_t classes = seed % 3 == 0 ? 0b10 : seed % 3 == 1 ? 0b1011 : 0b11111111;
      QueueSettings queues = Queues(classes, variant.scheduler, StepOf(variant));
      queues.queues_control = seed % 4 < 2;
      ExpectAsWithEvents(
          Port(variant.rate, variant.on_grid ? 0_B : 20_B, variant.count_packets), queues,
          {.classes = classes,
           .pausable = static_cast<uint8_t>(seed % 2 == 0 ? 0 : classes & 0b11111110),
           .on_grid = variant.on_grid,
           .rate = variant.rate},
          rng);
      if (HasFatalFailure()) return;
    }
  }
}

// --- A whole switch ---

void ExpectAsWithEvents(const SwitchPlan& plan, std::vector<Offer> offers, Duration window) {
  SwitchBench bench(plan, window);
  bench.Run(offers);
  SortOffers(offers);
  EventSwitch reference(plan);
  reference.Run(offers);
  for (PortIndex p = 0; p < plan.ports.size(); ++p) {
    SCOPED_TRACE(fmt::format("port {}", p));
    ExpectSame(bench.received(p), reference.ports()[p].sent, plan.ports[p].delay);
    if (testing::Test::HasFatalFailure()) return;
  }
  for (size_t r = 0; r < kDropReasons; ++r) {
    ASSERT_EQ(bench.node().drops(static_cast<DropReason>(r)), reference.drops[r])
        << kDropReasonNames[r];
  }
  ASSERT_EQ(bench.node().queued()->waiting(), 0);
}

TEST(QueuedPortsTest, LateAndEagerBehaveAsIfEverythingWereAnEvent) {
  int64_t drops = 0;
  for (const Variant& variant : Variants()) {
    for (uint64_t seed = 0; seed < 8; ++seed) {
      SCOPED_TRACE(Text(variant, seed));
      Rng rng = Rng::Stream(seed, "test", 1);
      const uint8_t classes = seed % 2 == 0 ? 0b1011 : 0b11110110;
      PortSettings port = Port(variant.rate, variant.on_grid ? 0_B : 20_B, variant.count_packets);
      port.buffer = variant.count_packets ? 20 : 15'000;
      SwitchPlan plan = EqualPorts(3, port, Queues(classes, variant.scheduler, StepOf(variant)));
      plan.ports[1].rate = {plan.ports[1].rate.bps * 2 / 5};
      plan.queueing.pause.response = seed % 4 < 2 ? Duration{0} : 300_ns;
      const Duration window = seed % 3 == 0 ? 1_us : 70_ns;
      const auto trace = [&](uint8_t pausable) {
        return RandomTrace({.ports = 3,
                            .classes = classes,
                            .pausable = pausable,
                            .on_grid = variant.on_grid,
                            .rate = variant.rate},
                           rng);
      };
      const std::vector<Offer> offers = trace(0);
      const std::vector<Offer> pausing = trace(classes & 0b11111110);
      for (const bool eager : {false, true}) {
        plan.queueing.eager = eager;
        ExpectAsWithEvents(plan, offers, window);
        ExpectAsWithEvents(plan, pausing, window);
      }
      if (HasFatalFailure()) return;
      EventSwitch reference(plan);
      std::vector<Offer> sorted = offers;
      SortOffers(sorted);
      reference.Run(sorted);
      drops += reference.drops[static_cast<size_t>(DropReason::kTail)];
    }
  }
  EXPECT_GT(drops, 1'000);  // Buffers were full now and then.
}

}  // namespace heddle::queued_port_reference_test
