// SPDX-License-Identifier: Apache-2.0
// Frames, byte for byte, against the formats that they follow and a frame from hardware.

#include "measure/trace/frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "measure/trace/bytes.h"
#include "tests/support/lab.h"

namespace heddle::frames_test {

constexpr LinkEnd kHost{.is_host = true, .id = 3, .port = 0};
constexpr LinkEnd kLeaf{.is_host = false, .id = 0x102, .port = 7};

std::string FromHex(std::string_view hex) {
  std::string bytes;
  std::string digits;
  for (const char c : hex) {
    if (c == ' ') continue;
    digits += c;
    if (digits.size() < 2) continue;
    bytes.push_back(static_cast<char>(std::stoi(digits, nullptr, 16)));
    digits.clear();
  }
  return bytes;
}

uint64_t Big(std::string_view frame, size_t at, size_t bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; ++i) value = value << 8 | static_cast<uint8_t>(frame[at + i]);
  return value;
}

// A receiver's view: the sum of a header with its checksum is all ones.
bool IpSumHolds(const std::string& frame) {
  return InternetChecksum(std::string_view(frame).substr(14, 20)) == 0;
}
bool TransportSumHolds(const std::string& frame) {
  const size_t length = Big(frame, 16, 2) - 20;
  std::string summed = frame.substr(26, 8);
  AppendBig(summed, static_cast<uint16_t>(frame[23]));
  AppendBig(summed, static_cast<uint16_t>(length));
  summed += frame.substr(34, length);
  return InternetChecksum(summed) == 0;
}

FrameMaker MakerOf(const std::string& transport) {
  return FrameMaker(TransportFrom(transport).settings->wire_format());
}

// 10,000 bytes from host 3 to host 300.
FlowSpec Flow() {
  FlowSpec flow;
  flow.id = 5;
  flow.src = 3;
  flow.dst = 300;
  flow.sport = 10'001;
  flow.dport = 100;
  flow.size = 10'000;
  return flow;
}

Packet Data(uint32_t seq, uint32_t payload, uint16_t bytes) {
  Packet packet;
  packet.flow = 5;
  packet.src = 3;
  packet.dst = 300;
  packet.seq = seq;
  packet.bytes = bytes;
  packet.priority = 1;
  packet.Set(Packet::kEct);
  packet.data.payload = static_cast<uint16_t>(payload);
  return packet;
}

Packet Answer(PacketKind kind, uint32_t seq, uint16_t bytes) {
  Packet packet;
  packet.kind = kind;
  packet.flow = 5;
  packet.src = 300;
  packet.dst = 3;
  packet.seq = seq;
  packet.bytes = bytes;
  packet.ack.sack = {};
  return packet;
}

// --- Checksums ---

TEST(BytesTest, SumsAsTheExampleOfRfc1071) {
  // Section 3: the sum is ddf2.
  EXPECT_EQ(InternetChecksum(FromHex("0001 f203 f4f5 f6f7")), 0xffff - 0xddf2);
}

TEST(BytesTest, TheCrcIsThatOfEthernet) {
  EXPECT_EQ(Crc32("123456789"), 0xcbf43926u);
  EXPECT_EQ(Crc32("6789", Crc32("12345")), 0xcbf43926u);
}

// A CNP that was captured on a ConnectX-4 Lx, from the tests of scapy's RoCE layer.
TEST(FramesTest, TheInvariantCrcIsThatOfAnAdapter) {
  const std::string frame = FromHex(
      "e41d 2dab 2bc2 7cfe 9064 3b32 0800 45c2 003c 718c 4000 4011 9161 0a00 1101 0a00"
      "1201 0000 12b7 0028 0000 8100 ffff 4000 0118 0000 0000 0000 0000 0000 0000 0000"
      "0000 0000 0000 82fd 002a");
  std::string crc;
  AppendLittle(crc, InvariantCrc(std::string_view(frame).substr(14, 56)));
  EXPECT_EQ(crc, frame.substr(70));
}

// --- Ethernet and IP ---

TEST(FramesTest, AddressesSayWhoAndWhere) {
  EXPECT_THAT(MacOf(kHost), testing::ElementsAre(0x02, 0, 0, 3, 0, 0));
  EXPECT_THAT(MacOf(kLeaf), testing::ElementsAre(0x06, 0, 1, 2, 0, 7));
  EXPECT_EQ(IpOf(0), 0x0a000001u);
  EXPECT_EQ(IpOf(65'535), 0x0a010000u);
  FrameMaker maker = MakerOf("{kind: tcp}");
  const FlowSpec flow = Flow();
  const std::string frame = maker.Make(Data(0, 1460, 1518), &flow, kHost, kLeaf);
  EXPECT_EQ(frame.substr(0, 14), FromHex("0600 0102 0007 0200 0003 0000 0800"));
  EXPECT_EQ(frame.substr(26, 8), FromHex("0a000004 0a00012d"));
}

TEST(FramesTest, ClassMarksAndHopsAreInTheIpHeader) {
  FrameMaker maker = MakerOf("{kind: tcp}");
  const FlowSpec flow = Flow();
  Packet packet = Data(0, 1460, 1518);
  packet.priority = 5;
  packet.hops = 2;
  std::string frame = maker.Make(packet, &flow, kHost, kLeaf);
  EXPECT_EQ(Big(frame, 15, 1), 5u << 5 | 2);
  EXPECT_EQ(Big(frame, 22, 1), 62u);
  packet.Set(Packet::kCe);
  frame = maker.Make(packet, &flow, kHost, kLeaf);
  EXPECT_EQ(Big(frame, 15, 1), 5u << 5 | 3);
  EXPECT_TRUE(IpSumHolds(frame));
}

// --- TCP ---

TEST(FramesTest, ASegmentIsAsLongAsSimulated) {
  FrameMaker maker = MakerOf("{kind: tcp}");
  const FlowSpec flow = Flow();
  const std::string frame = maker.Make(Data(2, 1460, 1518), &flow, kHost, kLeaf);
  EXPECT_EQ(frame.size(), 1514u);
  EXPECT_EQ(Big(frame, 16, 2), 1500u);
  EXPECT_EQ(frame.substr(34, 14), FromHex("2711 0064 00000b69 00000001 5010"));
  EXPECT_TRUE(TransportSumHolds(frame));
}

TEST(FramesTest, TheLastSegmentIsShortPaddedAndPushed) {
  FrameMaker maker = MakerOf("{kind: tcp}");
  FlowSpec flow = Flow();
  flow.size = 1461;
  const std::string frame = maker.Make(Data(1, 1, 64), &flow, kHost, kLeaf);
  EXPECT_EQ(frame.size(), 60u);
  EXPECT_EQ(Big(frame, 16, 2), 41u);
  EXPECT_EQ(Big(frame, 47, 1), 0x18u);  // ACK, PSH.
  EXPECT_TRUE(TransportSumHolds(frame));
}

TEST(FramesTest, AnAckNamesBytesAndBlocks) {
  FrameMaker maker = MakerOf("{kind: tcp}");
  const FlowSpec flow = Flow();
  Packet ack = Answer(PacketKind::kAck, 2, 64);
  ack.Set(Packet::kEce);
  ack.ack.sack[0] = {.start = 3, .length = 2};  // Segments 5 and 6: up to the end of the flow.
  ack.ack.sack[1] = {.start = 1, .length = 1};
  const std::string frame = maker.Make(ack, &flow, kLeaf, kHost);
  EXPECT_EQ(frame.substr(34, 14), FromHex("0064 2711 00000001 00000b69 a050"));  // ECE, ACK.
  EXPECT_EQ(frame.substr(54, 20), FromHex("0101 0512 00001c85 00002711 0000111d 000016d1"));
  EXPECT_EQ(frame.size(), 14u + 20 + 40);
  EXPECT_TRUE(IpSumHolds(frame));
  EXPECT_TRUE(TransportSumHolds(frame));
}

TEST(FramesTest, NewRenoHasNoBlocks) {
  FrameMaker maker = MakerOf("{kind: tcp, recovery: newreno}");
  const FlowSpec flow = Flow();
  Packet ack = Answer(PacketKind::kAck, 2, 64);
  ack.ack.sack[0] = {.start = 3, .length = 2};
  EXPECT_EQ(Big(maker.Make(ack, &flow, kLeaf, kHost), 46, 1), 0x50u);
}

TEST(FramesTest, AnAckOfTheWholeFlowEndsAtItsSize) {
  FrameMaker maker = MakerOf("{kind: tcp}");
  const FlowSpec flow = Flow();
  const std::string frame = maker.Make(Answer(PacketKind::kAck, 7, 64), &flow, kLeaf, kHost);
  EXPECT_EQ(Big(frame, 42, 4), 10'001u);
  EXPECT_EQ(frame.size(), 60u);
}

// 5 GB do not fit into 32 bits, in which TCP counts modulo 2^32.
TEST(FramesTest, SequenceNumbersWrap) {
  FrameMaker maker = MakerOf("{kind: tcp}");
  FlowSpec flow = Flow();
  flow.size = 5'000'000'000;
  const std::string frame = maker.Make(Data(3'000'000, 1460, 1518), &flow, kHost, kLeaf);
  EXPECT_EQ(Big(frame, 38, 4), (3'000'000ull * 1460 + 1) % (1ull << 32));
}

TEST(FramesTest, TheHandshakeHasItsFlags) {
  FrameMaker maker = MakerOf("{kind: tcp, setup: handshake}");
  const FlowSpec flow = Flow();
  Packet syn = Data(0, 0, 64);
  syn.kind = PacketKind::kSyn;
  std::string frame = maker.Make(syn, &flow, kHost, kLeaf);
  EXPECT_EQ(frame.substr(38, 10), FromHex("00000000 00000000 5002"));
  frame = maker.Make(Answer(PacketKind::kSynAck, 0, 64), &flow, kLeaf, kHost);
  EXPECT_EQ(frame.substr(38, 10), FromHex("00000000 00000001 5012"));
}

TEST(FramesTest, TimestampsTakeTheirRoom) {
  FrameMaker maker = MakerOf("{kind: tcp, timestamps: true}");
  const FlowSpec flow = Flow();
  Packet packet = Data(1, 1448, 1518);
  packet.sent = Time{} + 77_us;
  const std::string frame = maker.Make(packet, &flow, kHost, kLeaf);
  EXPECT_EQ(frame.size(), 1514u);
  EXPECT_EQ(frame.substr(54, 12), FromHex("0101 080a 0000004d 00000000"));
  EXPECT_EQ(Big(frame, 38, 4), 1449u);
}

// --- RoCEv2 ---

TEST(FramesTest, RoceDataIsASend) {
  FrameMaker maker = MakerOf("{kind: rocev2, ack_interval: 4}");
  const FlowSpec flow = Flow();  // Ten packets of 1024.
  const auto header = [&](uint32_t seq, uint32_t payload) {
    return maker.Make(Data(seq, payload, static_cast<uint16_t>(payload + 62)), &flow, kHost, kLeaf)
        .substr(34, 20);
  };
  // UDP 10001 to 4791; opcode, migrated, partition, queue pair 21, number.
  EXPECT_EQ(header(0, 1024), FromHex("2711 12b7 0418 0000 0040 ffff 00000015 00000000"));
  EXPECT_EQ(header(3, 1024), FromHex("2711 12b7 0418 0000 0140 ffff 00000015 80000003"));
  EXPECT_EQ(header(9, 784), FromHex("2711 12b7 0328 0000 0240 ffff 00000015 80000009"));
}

TEST(FramesTest, RoceFramesAreAsLongAsSimulated) {
  FlowSpec flow = Flow();
  const auto length = [&](const std::string& transport, uint32_t payload, uint16_t bytes) {
    return MakerOf(transport).Make(Data(0, payload, bytes), &flow, kHost, kLeaf).size();
  };
  EXPECT_EQ(length("{kind: rocev2}", 1024, 1086), 1086u - 4);
  // Other simulators count other headers, which leaves less room for the payload.
  EXPECT_EQ(length("{kind: rocev2, framing: ns3_rdma}", 1000, 1048), 1048u);
  EXPECT_EQ(length("{kind: rocev2, framing: ip1500}", 1460, 1500), 14u + 1500);
  EXPECT_EQ(length("{kind: rocev2, cc: hpcc}", 1024, 1086 + 42), 1086u + 42 - 4);
  // InfiniBand pads to four bytes, which the simulator does not count.
  EXPECT_EQ(length("{kind: rocev2}", 1021, 1083), 1086u - 4);
}

TEST(FramesTest, AShortRoceMessageIsPadded) {
  FrameMaker maker = MakerOf("{kind: rocev2}");
  FlowSpec flow = Flow();
  flow.size = 1;
  const std::string frame = maker.Make(Data(0, 1, 64), &flow, kHost, kLeaf);
  EXPECT_EQ(Big(frame, 42, 2), 0x0470u);  // Send only; migrated, three bytes of padding.
  EXPECT_EQ(Big(frame, 16, 2), 20u + 8 + 12 + 4 + 4);
  EXPECT_EQ(frame.size(), 62u);
}

TEST(FramesTest, AcksAndNacksHaveSyndromes) {
  FrameMaker maker = MakerOf("{kind: rocev2}");
  const FlowSpec flow = Flow();
  std::string frame = maker.Make(Answer(PacketKind::kAck, 4, 64), &flow, kLeaf, kHost);
  EXPECT_EQ(frame.size(), 62u);
  EXPECT_EQ(frame.substr(34, 24),
            FromHex("0064 12b7 001c 0000 1100 ffff 00000015 00000003 1f000000"));
  frame = maker.Make(Answer(PacketKind::kNack, 4, 64), &flow, kLeaf, kHost);
  EXPECT_EQ(frame.substr(50, 8), FromHex("00000004 60000000"));
  // The message is complete.
  frame = maker.Make(Answer(PacketKind::kAck, 10, 64), &flow, kLeaf, kHost);
  EXPECT_EQ(frame.substr(50, 8), FromHex("00000009 1f000001"));
}

TEST(FramesTest, ACnpIsAsAdaptersSendIt) {
  FrameMaker maker = MakerOf("{kind: rocev2}");
  const FlowSpec flow = Flow();
  const std::string frame = maker.Make(Answer(PacketKind::kCnp, 0, 64), &flow, kLeaf, kHost);
  EXPECT_EQ(frame.size(), 74u);  // The length of the captured one.
  EXPECT_EQ(frame.substr(42, 12), FromHex("8100 ffff 40000015 00000000"));
  EXPECT_EQ(frame.substr(54, 16), std::string(16, '\0'));
}

TEST(FramesTest, AnAckMayNotifyOfCongestion) {
  FrameMaker maker = MakerOf("{kind: rocev2}");
  const FlowSpec flow = Flow();
  Packet ack = Answer(PacketKind::kAck, 4, 64);
  ack.Set(Packet::kNotify);
  EXPECT_EQ(Big(maker.Make(ack, &flow, kLeaf, kHost), 46, 4), 0x40000015u);
}

TEST(FramesTest, ABalancerInTheNicChangesTheSourcePort) {
  FrameMaker maker = MakerOf("{kind: rocev2}");
  const FlowSpec flow = Flow();
  Packet packet = Data(0, 1024, 1086);
  packet.entropy = 3;
  EXPECT_EQ(Big(maker.Make(packet, &flow, kHost, kLeaf), 34, 2), 10'001u ^ 3u);
}

TEST(FramesTest, QueuePairsAvoidThoseWithAMeaning) {
  EXPECT_EQ(QueuePairOf(0), 16u);
  EXPECT_EQ(QueuePairOf((1u << 24) - 17), (1u << 24) - 1);
  EXPECT_EQ(QueuePairOf((1u << 24) - 16), 16u);
}

// --- Pauses and others ---

TEST(FramesTest, APauseNamesItsClasses) {
  FrameMaker maker = MakerOf("{kind: rocev2}");
  Packet pause;
  pause.kind = PacketKind::kPause;
  pause.bytes = 64;
  pause.pause = {.classes = 0b1010, .stop = true};
  std::string frame = maker.Make(pause, nullptr, kLeaf, kHost);
  EXPECT_EQ(frame.size(), 60u);
  EXPECT_EQ(frame.substr(0, 34), FromHex("0180 c200 0001 0600 0102 0007 8808 0101 000a"
                                         "0000 ffff 0000 ffff 0000 0000 0000 0000"));
  pause.pause.stop = false;
  frame = maker.Make(pause, nullptr, kLeaf, kHost);
  EXPECT_EQ(frame.substr(16, 18), FromHex("000a") + std::string(16, '\0'));
}

TEST(FramesTest, AProbeCarriesTheBalancersHeader) {
  FrameMaker maker = MakerOf("{kind: tcp}");
  Packet probe = Answer(PacketKind::kControl, 0, 64);
  probe.tuple_hash = 0x12345;
  probe.SetScheme(uint64_t{0x0102030405060708});
  const std::string frame = maker.Make(probe, nullptr, kLeaf, kHost);
  EXPECT_EQ(frame.size(), 60u);
  EXPECT_EQ(Big(frame, 34, 2), 0xc000u | 0x2345);
  EXPECT_EQ(Big(frame, 36, 2), kProbePort);
  EXPECT_EQ(frame.substr(42, 8), FromHex("0807060504030201"));
  EXPECT_TRUE(TransportSumHolds(frame));
}

TEST(FramesTest, ADatagramIsUdp) {
  FrameMaker maker = MakerOf("{kind: tcp}");
  FlowSpec ports;
  ports.sport = 5000;
  ports.dport = 9;
  Packet packet = Data(7, 1472, 1518);
  packet.kind = PacketKind::kDatagram;
  const std::string frame = maker.Make(packet, &ports, kHost, kLeaf);
  EXPECT_EQ(frame.size(), 1514u);
  EXPECT_EQ(frame.substr(34, 6), FromHex("1388 0009 05c8"));
  EXPECT_TRUE(TransportSumHolds(frame));
}

}  // namespace heddle::frames_test
