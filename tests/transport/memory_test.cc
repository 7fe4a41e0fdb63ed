// SPDX-License-Identifier: Apache-2.0
// The memory that parts of transports and ports report, against the bytes of what they store. A
// vector that grows one by one has room for the next power of two.

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/engine.h"
#include "fabric/host.h"
#include "fabric/reordering.h"
#include "tests/support/lab.h"
#include "tests/support/lb_bench.h"
#include "tests/support/port_bench.h"
#include "tests/support/settings_from.h"
#include "transport/flow_table.h"
#include "transport/judge.h"
#include "transport/rdma/selective_repeat.h"
#include "transport/resequencing/resequencing.h"
#include "transport/udp.h"

namespace heddle::memory_test {

// A case is a number, a flag and a time; a drop is a number and a time.
TEST(TransportMemoryTest, OfAJudge) {
  RetransmissionJudge judge;
  EXPECT_EQ(judge.memory_bytes(), 0u);
  for (uint32_t i = 0; i < 5; ++i) judge.OnRetransmission(i, Time{} + 1_us);
  EXPECT_EQ(judge.memory_bytes(), 8u * 16);
  for (uint32_t i = 0; i < 3; ++i) judge.OnDrop({0, i, Time{}});
  EXPECT_EQ(judge.memory_bytes(), 8u * 16 + 4u * 16);
}

// Up to four flows are in the object itself. Beyond, half of the places are free at least, and each
// has two numbers of four bytes.
TEST(TransportMemoryTest, OfATableOfFlows) {
  FlowTable table;
  for (FlowId flow = 0; flow < 4; ++flow) table.Insert(flow, flow);
  EXPECT_EQ(table.memory_bytes(), 0u);
  table.Insert(4, 4);
  EXPECT_EQ(table.memory_bytes(), 16u * 8);
  for (FlowId flow = 0; flow < 5; ++flow) EXPECT_EQ(table.Find(flow), flow);
  EXPECT_EQ(table.Find(5), FlowTable::kAbsent);
}

// Packets 0 to 128 beyond the floor need three words of 64 bits: four.
TEST(TransportMemoryTest, OfSelectiveRepeat) {
  SelectiveRepeat repair;
  EXPECT_EQ(repair.memory_bytes(), 0u);
  repair.OnArrived(128);
  EXPECT_EQ(repair.memory_bytes(), 4u * 8);
}

// Before the first ACK, after 400 us, a sender keeps the number of the latest transmission of each
// packet; to place packets out of order, also each transmission with its packet and its time. Ultra
// Ethernet keeps 16 bytes of each packet and two numbers of each transmission.
TEST(TransportMemoryTest, OfSendersIsThatOfThePacketsInFlight) {
  struct Sender {
    std::string transport;
    size_t bytes;
    Duration packet;
  };
  const Duration roce = 884'800_ps;  // 1106 bytes at 10 Gbps.
  for (const auto& [transport, bytes, packet] :
       {Sender{"{kind: rocev2}", 4, roce}, Sender{"{kind: rocev2, recovery: irn}", 4, roce},
        Sender{"{kind: rocev2, recovery: ddp}", 4 + 16, roce + 12'800_ps},
        Sender{"{kind: mprdma}", 4, roce + 12'800_ps},
        Sender{"{kind: uet}", 16 + 8, 3'352'000_ps}}) {
    Lab lab({.graph = Line(2, {10_Gbps, 100_us}), .transport = transport});
    lab.AddFlow(0, 1, 10'000'000);
    const auto room = [&](Time now) {
      return std::bit_ceil(static_cast<size_t>((now - Time{}) / packet) + 1) * bytes;
    };
    size_t before = 0;
    lab.SampleEvery(20_us, [&](Time now) {
      const size_t bytes_now = lab.network().host(0).transport().memory_bytes();
      if (now == Time{} + 20_us) before = bytes_now - room(now);
      if (now > Time{} + 20_us) {
        EXPECT_EQ(bytes_now, before + room(now)) << transport << now.ps;
      }
    });
    lab.Run(Time{} + 390_us);
    EXPECT_GT(before, 0u) << transport;
  }
}

// Two numbers and a time for each flow, and what each kind keeps more: Juggler four numbers, a
// count of bytes and two links; Presto's GRO a number, a time and an average.
TEST(TransportMemoryTest, OfResequencers) {
  struct NoSink final : Resequencer::Sink {
    bool HandUp(uint32_t, const Packet&) override { return true; }
  } sink;
  const auto bytes_of_8_flows = [&](const std::string& kind) {
    const auto resequencer = KindFrom(kind, Resequencings()).settings->MakeFor(sink);
    EXPECT_EQ(resequencer->memory_bytes(), 0u);
    resequencer->Open(7);
    return resequencer->memory_bytes();
  };
  const size_t buffer = 8 * (24 + 2 * 4 + 2 * 8 + 2 * 4);  // See hold_buffer_test.cc.
  const size_t plain = buffer + 8 * (2 * 4 + 8);
  EXPECT_EQ(bytes_of_8_flows("timeout"), plain);
  EXPECT_EQ(bytes_of_8_flows("juggler"), plain + 8 * (4 * 4 + 8 + 2 * 4));
  EXPECT_EQ(bytes_of_8_flows("presto_gro"), plain + 8 * (8 + 8 + 8));
}

// --- Background ---

struct SenderPlace {
  const UdpSource* source;
  UdpClock clock;
  uint32_t tuple_hash;
  int64_t sent;
  int64_t waiting;
};
struct ReceiverPlace {
  const UdpSource* source;
  int64_t received;
  int64_t reordered;
  int64_t expected;
  Histogram delay_ps;
};

TEST(TransportMemoryTest, OfBackgroundSources) {
  Engine engine;
  Host host(0, 1, nullptr);
  LbSink sink;
  engine.Add(host, engine.AddGroup());
  FifoPort& nic = host.AddNic({.rate = 10_Gbps, .delay = 1_us, .wire_overhead = 24_B});
  engine.Add(sink, engine.AddGroup());
  engine.Connect(host, nic.wire(), sink, 1_us);
  engine.Place(1);
  Udp udp(host);
  host.SetBackground(&udp, 5);
  EXPECT_EQ(udp.memory_bytes(), sizeof(Udp));
  EXPECT_EQ(udp.wire_sent(), 0);
  EXPECT_EQ(udp.wire_received(), 0);
  std::vector<UdpSource> sources;
  for (uint32_t id = 0; id < 7; ++id) sources.push_back(Datagrams(id, 0, 1, 1_Gbps));
  for (uint32_t id = 0; id < 3; ++id) udp.Expect(sources[id]);
  EXPECT_EQ(udp.memory_bytes(), sizeof(Udp) + 4 * sizeof(ReceiverPlace));
  for (uint32_t id = 3; id < 5; ++id) udp.Send(sources[id]);
  EXPECT_EQ(udp.memory_bytes(), sizeof(Udp) + 4 * sizeof(ReceiverPlace) + 2 * sizeof(SenderPlace));
  for (uint32_t id = 5; id < 7; ++id) udp.Expect(sources[id]);
  EXPECT_EQ(udp.memory_bytes(),
            sizeof(Udp) + 16 * 8 + 8 * sizeof(ReceiverPlace) + 2 * sizeof(SenderPlace));
}

// --- Ports ---

// A FIFO port keeps its queue on the wire, whose ring has a slot more than it has had packets at
// once, rounded up to a power of two.
TEST(PortMemoryTest, OfAFifoPortIsThatOfItsWire) {
  PortBench bench({.rate = 10_Gbps, .delay = 1_us, .wire_overhead = 0_B});
  std::vector<PortBench::Offer> offers(1'000);
  for (auto& offer : offers) {
    offer.at = Time{} + 1_us;
    offer.packet.bytes = 1'250;
    offer.packet.priority = 1;
  }
  bench.Run(offers);
  EXPECT_EQ(bench.port().memory_bytes(), sizeof(FifoPort));
  EXPECT_EQ(bench.port().wire().memory_bytes(), 64 + 1'024 * sizeof(Packet));
}

}  // namespace heddle::memory_test
