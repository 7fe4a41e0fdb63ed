// SPDX-License-Identifier: Apache-2.0
// HoldBuffer against a plain list of the packets held, over random insertions and removals.

#include "transport/resequencing/hold_buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iterator>
#include <vector>

#include "core/random.h"
#include "tests/support/printers.h"

namespace heddle::hold_buffer_test {

constexpr uint32_t kSlots = 4;

Packet PacketOf(uint32_t segment, uint16_t bytes, Time at, uint32_t number) {
  Packet packet;
  packet.seq = segment;
  packet.bytes = bytes;
  packet.arrival = at;
  packet.data.tx_id = number;
  return packet;
}

// All packets of all flows in the order of their arrival.
class PlainBuffer {
 public:
  explicit PlainBuffer(const HoldLimits& limits) : limits_(limits) {}

  bool Fits(uint32_t slot, const Packet& packet) const {
    const std::vector<Packet>& flow = flows_[slot];
    if (static_cast<int64_t>(flow.size()) == limits_.flow_packets) return false;
    if (Bytes() + packet.bytes > limits_.host_bytes) return false;
    uint32_t low = packet.seq;
    uint32_t high = packet.seq;
    for (const Packet& other : flow) {
      low = std::min(low, other.seq);
      high = std::max(high, other.seq);
    }
    return high - low < 65'536;
  }

  void Insert(uint32_t slot, const Packet& packet) {
    Pass(packet.arrival);
    flows_[slot].push_back(packet);
    ++held;
    int64_t packets = 0;
    for (const auto& flow : flows_) packets += static_cast<int64_t>(flow.size());
    max_packets = std::max(max_packets, packets);
    max_bytes = std::max(max_bytes, Bytes());
    flow_max_packets = std::max(flow_max_packets, static_cast<int64_t>(flows_[slot].size()));
    flow_max_bytes = std::max(flow_max_bytes, BytesOf(flows_[slot]));
    Widen(slot);
  }

  Packet TakeFront(uint32_t slot, Time now) {
    Pass(now);
    std::vector<Packet>& flow = flows_[slot];
    const auto front = std::ranges::min_element(flow, {}, &Packet::seq);  // The first of several.
    const Packet packet = *front;
    flow.erase(front);
    waits.push_back((now - packet.arrival).ps);
    return packet;
  }

  const Packet* Find(uint32_t slot, uint32_t segment) const {
    const auto found = std::ranges::find(flows_[slot], segment, &Packet::seq);
    return found == flows_[slot].end() ? nullptr : &*found;
  }

  bool Holds(uint32_t slot) const { return !flows_[slot].empty(); }
  const Packet& Front(uint32_t slot) const {
    return *std::ranges::min_element(flows_[slot], {}, &Packet::seq);
  }
  Time OldestArrival(uint32_t slot) const { return flows_[slot].front().arrival; }
  int64_t waiting() const {
    int64_t packets = 0;
    for (const auto& flow : flows_) packets += static_cast<int64_t>(flow.size());
    return packets;
  }

  // The places of all segments between a flow's ends are a power of two, at least eight.
  size_t RingPlaces() const {
    size_t places = 0;
    for (const uint32_t most : spans_) {
      if (most > 0) places += std::bit_ceil(std::max(most, uint32_t{8}));
    }
    return places;
  }

  // Adds up bytes times the time in which they were held.
  void Pass(Time now) {
    byte_ps += static_cast<double>(Bytes()) * static_cast<double>((now - last_).ps);
    last_ = now;
  }

  int64_t held = 0;
  int64_t max_packets = 0;
  int64_t max_bytes = 0;
  int64_t flow_max_packets = 0;
  int64_t flow_max_bytes = 0;
  double byte_ps = 0;
  std::vector<int64_t> waits;

 private:
  static int64_t BytesOf(const std::vector<Packet>& flow) {
    int64_t bytes = 0;
    for (const Packet& packet : flow) bytes += packet.bytes;
    return bytes;
  }
  int64_t Bytes() const {
    int64_t bytes = 0;
    for (const auto& flow : flows_) bytes += BytesOf(flow);
    return bytes;
  }
  // The buffer's lower end rises when its lowest segment leaves; its upper end stays until the flow
  // holds nothing.
  void Widen(uint32_t slot) {
    const std::vector<Packet>& flow = flows_[slot];
    if (flow.size() == 1) ends_[slot] = 0;
    for (const Packet& packet : flow) ends_[slot] = std::max(ends_[slot], packet.seq + 1);
    spans_[slot] = std::max(spans_[slot], ends_[slot] - Front(slot).seq);
  }

  const HoldLimits limits_;
  std::vector<Packet> flows_[kSlots];
  uint32_t ends_[kSlots] = {};
  uint32_t spans_[kSlots] = {};
  Time last_;
};

void ExpectSameFlow(const HoldBuffer& buffer, const PlainBuffer& plain, uint32_t slot, Rng& rng) {
  ASSERT_EQ(buffer.Holds(slot), plain.Holds(slot));
  if (!plain.Holds(slot)) {
    EXPECT_EQ(buffer.Find(slot, rng.Below(64)), nullptr);
    return;
  }
  ASSERT_EQ(buffer.Front(slot).data.tx_id, plain.Front(slot).data.tx_id);
  ASSERT_EQ(buffer.OldestArrival(slot), plain.OldestArrival(slot));
  for (int i = 0; i < 4; ++i) {
    const uint32_t segment =
        plain.Front(slot).seq + rng.Below(80) - std::min(plain.Front(slot).seq, 8u);
    const Packet* found = buffer.Find(slot, segment);
    const Packet* expected = plain.Find(slot, segment);
    ASSERT_EQ(found == nullptr, expected == nullptr) << segment;
    if (found != nullptr) {
      ASSERT_EQ(found->data.tx_id, expected->data.tx_id);
    }
  }
}

void ExpectSameStats(const HoldBuffer& buffer, PlainBuffer& plain, Time end) {
  ResequencingStats stats;
  buffer.Report(end, stats);
  plain.Pass(end);
  EXPECT_EQ(stats.held, plain.held);
  EXPECT_EQ(stats.waiting, plain.waiting());
  EXPECT_EQ(stats.max_packets, plain.max_packets);
  EXPECT_EQ(stats.max_bytes, plain.max_bytes);
  EXPECT_EQ(stats.flow_max_packets, plain.flow_max_packets);
  EXPECT_EQ(stats.flow_max_bytes, plain.flow_max_bytes);
  EXPECT_NEAR(stats.byte_ps, plain.byte_ps, 1e-9 * plain.byte_ps);
  EXPECT_EQ(stats.hold_ps.count(), static_cast<int64_t>(plain.waits.size()));
  double sum = 0;
  for (const int64_t wait : plain.waits) sum += static_cast<double>(wait);
  EXPECT_NEAR(stats.hold_ps.mean(), sum / static_cast<double>(plain.waits.size()), 1);
  EXPECT_EQ(stats.hold_ps.max(), std::ranges::max(plain.waits));
}

// The layout of the buffer's memory, from which its size follows.
struct HeldPlace {
  Packet packet;
  uint32_t next;
  uint32_t before;
  uint32_t after;
};
struct FlowPlace {
  std::vector<uint32_t> ring;
  uint32_t first;
  uint32_t end;
  int64_t packets;
  int64_t bytes;
  uint32_t oldest;
  uint32_t newest;
};

struct Shape {
  HoldLimits limits;
  uint32_t spread;  // New segments lie at most this far above the flow's floor.
  int insertions_in_ten;
};

void Compare(const Shape& shape, uint64_t seed) {
  SCOPED_TRACE(testing::Message() << "spread " << shape.spread << ", seed " << seed);
  Rng rng = Rng::Stream(seed, "hold", 0);
  HoldBuffer buffer(shape.limits);
  PlainBuffer plain(shape.limits);
  for (uint32_t slot = kSlots; slot-- > 0;) buffer.Open(slot);
  uint32_t floor[kSlots] = {};
  Time now;
  for (uint32_t number = 0; number < 2'000; ++number) {
    now = now + 1_ns * rng.Below(20);
    const uint32_t slot = rng.Below(kSlots);
    if (static_cast<int>(rng.Below(10)) < shape.insertions_in_ten) {
      const Packet packet = PacketOf(floor[slot] + rng.Below(shape.spread),
                                     static_cast<uint16_t>(64 + rng.Below(1'400)), now, number);
      ASSERT_EQ(buffer.Fits(slot, packet), plain.Fits(slot, packet));
      if (!plain.Fits(slot, packet)) continue;
      buffer.Insert(slot, packet);
      plain.Insert(slot, packet);
    } else if (plain.Holds(slot)) {
      const Packet expected = plain.TakeFront(slot, now);
      const Packet taken = buffer.TakeFront(slot, now);
      ASSERT_EQ(taken.data.tx_id, expected.data.tx_id);
      floor[slot] = taken.seq;
      if (!plain.Holds(slot)) {
        buffer.Open(slot);  // The next flow of the slot.
        floor[slot] = rng.Below(1'000);
      }
    }
    ASSERT_NO_FATAL_FAILURE(ExpectSameFlow(buffer, plain, slot, rng));
  }
  ExpectSameStats(buffer, plain, now + 5_ns);
  // A vector that grows one by one doubles; the flows have been opened together.
  const size_t places = std::bit_ceil(static_cast<uint64_t>(plain.max_packets));
  EXPECT_EQ(buffer.memory_bytes(), places * sizeof(HeldPlace) + kSlots * sizeof(FlowPlace) +
                                       plain.RingPlaces() * sizeof(uint32_t));
}

TEST(HoldBufferTest, HoldsWhatAPlainListHolds) {
  const HoldLimits unlimited;
  const HoldLimits narrow = {.flow_packets = 6, .host_bytes = 9'000};
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Compare({unlimited, 7, 5}, seed);
    Compare({unlimited, 100, 6}, seed);
    Compare({narrow, 30, 7}, seed);
    Compare({unlimited, 70'000, 6}, seed);
  }
}

TEST(HoldBufferTest, LimitsMayBeReachedAndNotExceeded) {
  HoldBuffer buffer({.flow_packets = 2, .host_bytes = 3'000});
  buffer.Open(0);
  buffer.Open(1);
  buffer.Insert(0, PacketOf(5, 1'000, Time{}, 0));
  EXPECT_TRUE(buffer.Fits(0, PacketOf(6, 2'000, Time{}, 1)));
  EXPECT_FALSE(buffer.Fits(0, PacketOf(6, 2'001, Time{}, 1)));
  EXPECT_TRUE(buffer.Fits(1, PacketOf(6, 2'000, Time{}, 1)));
  buffer.Insert(0, PacketOf(6, 1'000, Time{}, 1));
  EXPECT_FALSE(buffer.Fits(0, PacketOf(7, 1'000, Time{}, 2)));
  EXPECT_TRUE(buffer.Fits(1, PacketOf(7, 1'000, Time{}, 2)));
}

// 65536 segments are those from n to n + 65535.
TEST(HoldBufferTest, AFlowHolds65536SegmentsInARowAndNoneBeyond) {
  HoldBuffer buffer({});
  buffer.Open(0);
  buffer.Insert(0, PacketOf(70'000, 64, Time{}, 0));
  EXPECT_TRUE(buffer.Fits(0, PacketOf(135'535, 64, Time{}, 1)));
  EXPECT_FALSE(buffer.Fits(0, PacketOf(135'536, 64, Time{}, 1)));
  EXPECT_TRUE(buffer.Fits(0, PacketOf(4'465, 64, Time{}, 1)));
  EXPECT_FALSE(buffer.Fits(0, PacketOf(4'464, 64, Time{}, 1)));
  // Filled to its reach, it still has room for those in between.
  buffer.Insert(0, PacketOf(135'535, 64, Time{}, 1));
  EXPECT_TRUE(buffer.Fits(0, PacketOf(100'000, 64, Time{}, 2)));
}

}  // namespace heddle::hold_buffer_test
