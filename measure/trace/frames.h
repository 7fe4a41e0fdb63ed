// SPDX-License-Identifier: Apache-2.0
// Turns a simulated packet into the Ethernet frame that it stands for: IEEE 802.3, IPv4 (RFC 791),
// and TCP (RFC 9293), RoCEv2 (InfiniBand Architecture vol. 1, annex A17), UDP or a pause (IEEE
// 802.1Qbb). The tracer calls it for each packet that it writes to a pcap.
//
// The simulator counts segments and packets where protocols count bytes, and does not simulate
// contents. So sequence numbers are mapped, payloads are zeros, and header fields that are not
// simulated have a constant value; docs/traces.md lists both. A frame is as long as the simulator
// counts it, without preamble and frame check sequence, or as long as its headers need if that is
// more.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/packet.h"
#include "fabric/flow.h"
#include "transport/wire_format.h"

namespace heddle {

// One end of a link, which has a MAC address of its own.
struct LinkEnd {
  bool is_host = false;
  uint16_t id = 0;  // HostId or SwitchId.
  PortIndex port = 0;
};

inline constexpr uint16_t kRocePort = 4791;  // The destination port that IANA assigns.
inline constexpr uint16_t kProbePort =
    61454;  // The load balancers' probes; a port of the private range.

using MacAddress = std::array<uint8_t, 6>;

// Returns a locally administered address: 02:00 for hosts or 06:00 for switches, then id and port,
// 16 bits each.
MacAddress MacOf(const LinkEnd& end);

// Returns 10.0.0.1 for host 0, 10.0.0.2 for host 1, and so on.
uint32_t IpOf(HostId host);

// Returns the flow's queue pair, which is none of the reserved numbers 0 and 1.
uint32_t QueuePairOf(FlowId flow);

// Returns RoCEv2's invariant CRC. `packet` begins with its IP header and does not contain the CRC.
// The least significant byte is sent first.
uint32_t InvariantCrc(std::string_view packet);

class FrameMaker {
 public:
  explicit FrameMaker(const WireFormat& format) : format_(format) {}

  // Makes the frame of `packet` on the link between `from` and `to`. `flow` is the flow that the
  // packet belongs to or answers; null if there is none. For datagrams its addresses and ports are
  // enough. The reference is valid until the next call.
  const std::string& Make(const Packet& packet, const FlowSpec* flow, const LinkEnd& from,
                          const LinkEnd& to);

 private:
  struct Ports {
    uint16_t source;
    uint16_t destination;
  };

  void AddEthernet(const MacAddress& to, const MacAddress& from, uint16_t type);
  void AddIp(const Packet& packet, uint8_t protocol, size_t content);
  void AddUdp(const Ports& ports, size_t content);
  void MakePause(const Packet& packet, const LinkEnd& from);
  void MakeTcp(const Packet& packet, const FlowSpec& flow);
  void AddTcpOptions(const Packet& packet, const FlowSpec& flow, std::string& options) const;
  void AddDataSignal(const Packet& packet, const FlowSpec& flow, std::string& options) const;
  bool is_mptcp() const { return format_.protocol == WireFormat::Protocol::kMptcp; }
  uint32_t ConnectionSegment(const Packet& packet) const;
  void MakeRoce(const Packet& packet, const FlowSpec& flow);
  void AddTransportHeader(const Packet& packet, const FlowSpec& flow, size_t pad);
  void MakeDatagram(const Packet& packet, const FlowSpec& flow);
  void MakeProbe(const Packet& packet);
  void SetTransportChecksum(uint8_t protocol, size_t at);

  uint32_t TcpNumber(const FlowSpec& flow, uint64_t segment) const;
  // The same for data of an MPTCP connection.
  uint32_t DataByte(const FlowSpec& flow, uint64_t segment) const;
  size_t RocePayload(const Packet& packet) const;
  uint32_t PacketsOf(const FlowSpec& flow) const;
  // The bytes that the simulator counts for the IP packet.
  size_t IpRoom(const Packet& packet) const;

  const WireFormat format_;
  std::string frame_;
};

}  // namespace heddle
