// SPDX-License-Identifier: Apache-2.0

#include "measure/trace/frames.h"

#include <algorithm>
#include <span>

#include "core/check.h"
#include "core/subflow_id.h"
#include "measure/trace/bytes.h"
#include "transport/tcp/dss.h"

namespace heddle {
namespace {

constexpr size_t kEthernetHeader = 14;
constexpr size_t kIpHeader = 20;
constexpr size_t kIpAt = kEthernetHeader;
constexpr size_t kTransportAt = kIpAt + kIpHeader;
constexpr size_t kTcpHeader = 20;
constexpr size_t kUdpHeader = 8;

constexpr uint16_t kTypeIp = 0x0800;
constexpr uint8_t kProtocolTcp = 6;
constexpr uint8_t kProtocolUdp = 17;
constexpr uint8_t kFirstTtl = 64;

// --- TCP ---

enum TcpFlag : uint8_t { kTcpSyn = 2, kTcpPsh = 8, kTcpAck = 16, kTcpEce = 64, kTcpCwr = 128 };
constexpr size_t kMaxTcpOptions = 40;

// --- RoCEv2: InfiniBand Architecture vol. 1, 9.2 (BTH), 9.3.5 (AETH) ---

constexpr size_t kBth = 12;
constexpr size_t kAeth = 4;
constexpr size_t kInvariantCrc = 4;
constexpr size_t kCnpReserved = 16;  // Annex A17.9.3.
// SEND opcodes: unlike RDMA writes they need no RETH, for which the simulator counts no bytes.
enum RoceOpcode : uint8_t {
  kSendFirst = 0x00,
  kSendMiddle = 0x01,
  kSendLast = 0x02,
  kSendOnly = 0x04,
  kAcknowledge = 0x11,
  kCongestionNotification = 0x81,
};
constexpr uint8_t kAckSyndrome = 0x1f;   // An ACK without end-to-end credits.
constexpr uint8_t kNackSyndrome = 0x60;  // A NAK: PSN sequence error.
constexpr uint32_t kNumbers24 = 0xffffff;

// --- Pauses: IEEE 802.1Qbb, IEEE 802.3 annex 31D ---

constexpr MacAddress kPauseAddress = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x01};
constexpr uint16_t kTypeMacControl = 0x8808;
constexpr uint16_t kPriorityPause = 0x0101;
constexpr size_t kMinFrame = 60;  // Bytes without the frame check sequence.

bool IsData(const Packet& packet) { return packet.kind == PacketKind::kData; }

// The DSCP's class selector (RFC 2474) holds the packet's class. A tag of IEEE 802.1Q would need 4
// bytes that the simulator does not count.
uint8_t TrafficClass(const Packet& packet) {
  const int ecn = packet.Has(Packet::kCe) ? 3 : packet.Has(Packet::kEct) ? 2 : 0;  // RFC 3168.
  return static_cast<uint8_t>(packet.priority << 5 | ecn);
}

}  // namespace

MacAddress MacOf(const LinkEnd& end) {
  const auto high = [](uint16_t n) { return static_cast<uint8_t>(n >> 8); };
  const auto low = [](uint16_t n) { return static_cast<uint8_t>(n & 0xff); };
  const uint8_t kind = end.is_host ? 0x02 : 0x06;
  return {kind, 0, high(end.id), low(end.id), high(end.port), low(end.port)};
}

uint32_t IpOf(HostId host) { return 0x0a000001u + host; }

uint32_t QueuePairOf(FlowId flow) {
  constexpr uint32_t kFirst = 16;
  return kFirst + flow % (kNumbers24 + 1 - kFirst);
}

// Annex A17.3.3: the CRC replaces fields that routers may change by ones, and covers eight bytes of
// ones before the packet in place of InfiniBand's local header.
uint32_t InvariantCrc(std::string_view packet) {
  constexpr size_t kLocalHeader = 8;
  constexpr size_t kUdp = kIpHeader;
  std::string covered(kLocalHeader, '\xff');
  covered += packet;
  // Traffic class, TTL, checksums; FECN and BECN.
  for (const size_t changes :
       {size_t{1}, size_t{8}, size_t{10}, size_t{11}, kUdp + 6, kUdp + 7, kUdp + kUdpHeader + 4}) {
    covered[kLocalHeader + changes] = '\xff';
  }
  return Crc32(covered);
}

const std::string& FrameMaker::Make(const Packet& packet, const FlowSpec* flow, const LinkEnd& from,
                                    const LinkEnd& to) {
  frame_.clear();
  if (packet.kind == PacketKind::kPause) {
    MakePause(packet, from);
    return frame_;
  }
  AddEthernet(MacOf(to), MacOf(from), kTypeIp);
  if (packet.kind == PacketKind::kControl) {
    MakeProbe(packet);
  } else {
    HEDDLE_CHECK(flow != nullptr, "a packet of flow {}, which never started", packet.flow);
    if (packet.kind == PacketKind::kDatagram) {
      MakeDatagram(packet, *flow);
    } else if (format_.protocol != WireFormat::Protocol::kRoceV2) {
      MakeTcp(packet, *flow);
    } else {
      MakeRoce(packet, *flow);
    }
  }
  frame_.resize(std::max(frame_.size(), kEthernetHeader + IpRoom(packet)), '\0');
  return frame_;
}

// The lengths of IP and UDP do not include the padding of a short frame.
size_t FrameMaker::IpRoom(const Packet& packet) const {
  return static_cast<size_t>(std::max<int64_t>(packet.bytes - format_.sizes.link_header, 0));
}

void FrameMaker::AddEthernet(const MacAddress& to, const MacAddress& from, uint16_t type) {
  frame_.append(to.begin(), to.end());
  frame_.append(from.begin(), from.end());
  AppendBig(frame_, type);
}

void FrameMaker::AddIp(const Packet& packet, uint8_t protocol, size_t content) {
  constexpr uint8_t kVersionAndLength = 0x45;
  constexpr uint16_t kDontFragment = 0x4000;
  const uint32_t number = IsData(packet) ? packet.data.tx_id : packet.seq;
  AppendBig(frame_, kVersionAndLength);
  AppendBig(frame_, TrafficClass(packet));
  AppendBig(frame_, static_cast<uint16_t>(kIpHeader + content));
  AppendBig(frame_, static_cast<uint16_t>(number));
  AppendBig(frame_, kDontFragment);
  AppendBig(frame_, static_cast<uint8_t>(kFirstTtl - packet.hops));
  AppendBig(frame_, protocol);
  AppendBig(frame_, uint16_t{0});
  AppendBig(frame_, IpOf(packet.src));
  AppendBig(frame_, IpOf(packet.dst));
  const uint16_t sum = InternetChecksum(std::string_view(frame_).substr(kIpAt, kIpHeader));
  PutBig16(frame_, kIpAt + 10, sum);
}

void FrameMaker::AddUdp(const Ports& ports, size_t content) {
  AppendBig(frame_, ports.source);
  AppendBig(frame_, ports.destination);
  AppendBig(frame_, static_cast<uint16_t>(kUdpHeader + content));
  AppendBig(frame_, uint16_t{0});
}

// The checksum covers the pseudo-header of RFC 9293 section 3.1: addresses, protocol and length.
void FrameMaker::SetTransportChecksum(uint8_t protocol, size_t at) {
  const std::string_view frame(frame_);
  std::string summed(frame.substr(kIpAt + 12, 8));
  AppendBig(summed, uint16_t{protocol});
  AppendBig(summed, static_cast<uint16_t>(frame.size() - kTransportAt));
  summed += frame.substr(kTransportAt);
  const uint16_t sum = InternetChecksum(summed);
  // RFC 768: in UDP a checksum of zero means that there is none.
  PutBig16(frame_, at, sum == 0 && protocol == kProtocolUdp ? 0xffff : sum);
}

// --- Pauses ---

// The simulator's pauses last until they are lifted, as with switches that repeat a pause frame
// while the pause lasts. A frame therefore asks for the longest time, or for none.
void FrameMaker::MakePause(const Packet& packet, const LinkEnd& from) {
  const uint8_t classes = packet.pause.classes;
  AddEthernet(kPauseAddress, MacOf(from), kTypeMacControl);
  AppendBig(frame_, kPriorityPause);
  AppendBig(frame_, uint16_t{classes});
  for (unsigned cls = 0; cls < 8; ++cls) {
    const bool stops = packet.pause.stop && (classes >> cls & 1) != 0;
    AppendBig(frame_, static_cast<uint16_t>(stops ? 0xffff : 0));
  }
  frame_.resize(std::max(frame_.size(), kMinFrame), '\0');
}

// --- TCP ---

// Returns the sequence number of the segment's first byte. The SYN, simulated or not, has number 0.
uint32_t FrameMaker::TcpNumber(const FlowSpec& flow, uint64_t segment) const {
  // A subflow may carry the flow's short last segment before others, so its numbers do not stop at
  // the flow's size; the gap behind the short segment is not in the simulation.
  if (is_mptcp())
    return static_cast<uint32_t>(1 + static_cast<int64_t>(segment) * format_.sizes.mss);
  return DataByte(flow, segment);
}

uint32_t FrameMaker::DataByte(const FlowSpec& flow, uint64_t segment) const {
  const int64_t byte = static_cast<int64_t>(segment) * format_.sizes.mss;
  return static_cast<uint32_t>(1 + std::min(byte, flow.size));
}

void FrameMaker::MakeTcp(const Packet& packet, const FlowSpec& flow) {
  const bool is_syn = packet.kind == PacketKind::kSyn || packet.kind == PacketKind::kSynAck;
  const bool is_ack = packet.kind == PacketKind::kAck;
  const bool is_last = IsData(packet) && ConnectionSegment(packet) + 1 == PacketsOf(flow);
  const bool to_receiver = IsData(packet) || packet.kind == PacketKind::kSyn;
  const size_t payload = IsData(packet) ? packet.data.payload : 0;
  uint8_t flags = packet.kind == PacketKind::kSyn ? 0 : kTcpAck;
  if (is_syn) flags |= kTcpSyn;
  if (is_last) flags |= kTcpPsh;
  if (packet.Has(Packet::kEce)) flags |= kTcpEce;
  if (packet.Has(Packet::kCwr)) flags |= kTcpCwr;
  uint32_t acknowledged = packet.kind == PacketKind::kSyn ? 0 : 1;
  if (is_ack) acknowledged = TcpNumber(flow, packet.seq);

  std::string options;
  AddTcpOptions(packet, flow, options);
  const size_t header = kTcpHeader + options.size();
  AddIp(packet, kProtocolTcp, header + payload);
  // Subflows have source ports one apart.
  auto sport = static_cast<uint16_t>(flow.sport + SubflowOf(packet.flow));
  if (format_.varies_ports && IsData(packet)) sport ^= packet.entropy;
  AppendBig(frame_, to_receiver ? sport : flow.dport);
  AppendBig(frame_, to_receiver ? flow.dport : sport);
  AppendBig(frame_, is_syn ? 0 : IsData(packet) ? TcpNumber(flow, packet.seq) : uint32_t{1});
  AppendBig(frame_, acknowledged);
  AppendBig(frame_, static_cast<uint8_t>(header / 4 << 4));
  AppendBig(frame_, flags);
  AppendBig(frame_, uint16_t{0xffff});  // Window.
  AppendBig(frame_, uint32_t{0});       // Checksum, urgent pointer.
  frame_ += options;
  frame_.append(payload, '\0');
  SetTransportChecksum(kProtocolTcp, kTransportAt + 16);
}

// Returns the segment of the flow that a data packet carries.
uint32_t FrameMaker::ConnectionSegment(const Packet& packet) const {
  return is_mptcp() ? DataNumber(packet) : packet.seq;
}

// RFC 8684 section 3.3.1: the signal of a data packet maps its payload to the connection's numbers,
// which begin with 1 as those of a subflow do; that of an ACK acknowledges the connection's data.
// Handshakes carry no options here.
void FrameMaker::AddDataSignal(const Packet& packet, const FlowSpec& flow,
                               std::string& options) const {
  // Kind 30, length, subtype 2; flags A (acknowledgement) and M (mapping).
  constexpr std::string_view kMapping = "\x1e\x14\x20\x05";
  constexpr std::string_view kAcknowledgement = "\x1e\x08\x20\x01";
  if (IsData(packet)) {
    options += kMapping;
    AppendBig(options, uint32_t{1});
    AppendBig(options, DataByte(flow, DataNumber(packet)));
    AppendBig(options, TcpNumber(flow, packet.seq));
    AppendBig(options, packet.data.payload);
    AppendBig(options, uint16_t{0});  // The checksum is not computed.
  } else if (packet.kind == PacketKind::kAck) {
    options += kAcknowledgement;
    AppendBig(options, DataByte(flow, DataAck(packet)));
  }
}

// Each option is preceded by NOPs so that it ends on a multiple of four bytes, as real senders do.
void FrameMaker::AddTcpOptions(const Packet& packet, const FlowSpec& flow,
                               std::string& options) const {
  constexpr std::string_view kTimestamp = "\x01\x01\x08\x0a";  // RFC 7323, appendix A.
  constexpr int64_t kPsPerTick = 1'000'000;                    // A clock of microseconds.
  if (format_.timestamps) {
    const uint32_t sent = static_cast<uint32_t>(packet.sent.ps / kPsPerTick);
    options += kTimestamp;
    AppendBig(options, sent);
    AppendBig(options, packet.kind == PacketKind::kAck ? sent : uint32_t{0});
  }
  if (is_mptcp()) AddDataSignal(packet, flow, options);
  if (packet.kind != PacketKind::kAck || !format_.sack) return;
  const auto blocks =
      std::span(packet.ack.sack).first(is_mptcp() ? kSackBlocksBesideDss : packet.ack.sack.size());
  const auto count = static_cast<size_t>(
      std::ranges::count_if(blocks, [](const SackBlock& block) { return block.length > 0; }));
  if (count == 0) return;
  options += "\x01\x01\x05";  // RFC 2018.
  options.push_back(static_cast<char>(2 + 8 * count));
  for (const SackBlock& block : blocks) {
    if (block.length == 0) continue;
    const uint64_t start = uint64_t{packet.seq} + block.start;
    AppendBig(options, TcpNumber(flow, start));
    AppendBig(options, TcpNumber(flow, start + block.length));
  }
  HEDDLE_CHECK(options.size() <= kMaxTcpOptions, "{} bytes of TCP options", options.size());
}

// --- RoCEv2 ---

uint32_t FrameMaker::PacketsOf(const FlowSpec& flow) const {
  const int64_t mss = format_.sizes.mss;
  return static_cast<uint32_t>((flow.size + mss - 1) / mss);
}

// The simulator may count other headers than these: telemetry, or the framing of another simulator.
// Then the payload takes up the difference, in words of four bytes, so that it needs no padding.
size_t FrameMaker::RocePayload(const Packet& packet) const {
  constexpr int64_t kHeaders = kIpHeader + kUdpHeader + kBth + kInvariantCrc;
  const PacketSizes& sizes = format_.sizes;
  const int64_t payload = packet.data.payload;
  const int64_t difference = sizes.data_overhead - sizes.link_header - kHeaders;
  if (difference == 0) return static_cast<size_t>(payload);
  return static_cast<size_t>(std::max<int64_t>(payload + difference, 0) / 4 * 4);
}

void FrameMaker::MakeRoce(const Packet& packet, const FlowSpec& flow) {
  size_t payload = 0;
  if (IsData(packet)) payload = RocePayload(packet);
  const size_t pad = (4 - payload % 4) % 4;
  size_t content = kBth + kInvariantCrc + payload + pad;
  if (packet.kind == PacketKind::kCnp) content += kCnpReserved;
  // A transport without handshake sends its probes as SYNs; they are written as ACKs.
  if (!IsData(packet) && packet.kind != PacketKind::kCnp) content += kAeth;
  AddIp(packet, kProtocolUdp, kUdpHeader + content);
  // Switches hash the source port, so a load balancer in the NIC chooses a path by changing it.
  const uint16_t port = IsData(packet) ? flow.sport : flow.dport;
  AddUdp({static_cast<uint16_t>(port ^ packet.entropy), kRocePort}, content);
  AddTransportHeader(packet, flow, pad);
  frame_.resize(kTransportAt + kUdpHeader + content - kInvariantCrc, '\0');
  AppendLittle(frame_, InvariantCrc(std::string_view(frame_).substr(kIpAt)));
}

void FrameMaker::AddTransportHeader(const Packet& packet, const FlowSpec& flow, size_t pad) {
  constexpr uint8_t kMigrated = 0x40;
  constexpr uint16_t kDefaultPartition = 0xffff;
  constexpr uint32_t kBackward = 0x40000000;  // BECN.
  constexpr uint32_t kAckRequest = 0x80000000;
  const uint32_t packets = PacketsOf(flow);
  const bool is_first = packet.seq == 0;
  const bool is_last = packet.seq + 1 == packets;
  uint8_t opcode = kAcknowledge;
  uint32_t number = packet.seq;  // A NAK names the packet that is expected, an ACK the one before.
  bool asks = false;
  if (IsData(packet)) {
    opcode = is_first ? (is_last ? kSendOnly : kSendFirst) : is_last ? kSendLast : kSendMiddle;
    asks = is_last || (packet.seq + 1) % static_cast<uint64_t>(format_.ack_every) == 0;
  } else if (packet.kind == PacketKind::kCnp) {
    opcode = kCongestionNotification;
    number = 0;
  } else if (packet.kind == PacketKind::kAck) {
    --number;
  }
  const bool notifies = packet.kind == PacketKind::kCnp || packet.Has(Packet::kNotify);
  AppendBig(frame_, opcode);
  AppendBig(frame_, static_cast<uint8_t>((IsData(packet) ? kMigrated : 0) | pad << 4));
  AppendBig(frame_, kDefaultPartition);
  AppendBig(frame_, QueuePairOf(flow.id) | (notifies ? kBackward : 0));
  AppendBig(frame_, (number & kNumbers24) | (asks ? kAckRequest : 0));
  if (opcode != kAcknowledge) return;
  const uint32_t syndrome = packet.kind == PacketKind::kNack ? kNackSyndrome : kAckSyndrome;
  const uint32_t messages = packet.seq == packets ? 1 : 0;
  AppendBig(frame_, syndrome << 24 | messages);
}

// --- UDP ---

void FrameMaker::MakeDatagram(const Packet& packet, const FlowSpec& flow) {
  const size_t payload = packet.data.payload;
  AddIp(packet, kProtocolUdp, kUdpHeader + payload);
  AddUdp({flow.sport, flow.dport}, payload);
  frame_.append(payload, '\0');
  SetTransportChecksum(kProtocolUdp, kTransportAt + 6);
}

// The payload holds the load balancer's header.
void FrameMaker::MakeProbe(const Packet& packet) {
  constexpr uint16_t kPrivatePorts = 0xc000;
  const size_t room = IpRoom(packet);
  const size_t content = std::max(
      packet.scheme.size(), room < kIpHeader + kUdpHeader ? 0 : room - kIpHeader - kUdpHeader);
  AddIp(packet, kProtocolUdp, kUdpHeader + content);
  AddUdp({static_cast<uint16_t>(kPrivatePorts | (packet.tuple_hash & 0x3fff)), kProbePort},
         content);
  for (const std::byte byte : packet.scheme) frame_.push_back(static_cast<char>(byte));
  frame_.append(content - packet.scheme.size(), '\0');
  SetTransportChecksum(kProtocolUdp, kTransportAt + 6);
}

}  // namespace heddle
