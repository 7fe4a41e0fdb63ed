// SPDX-License-Identifier: Apache-2.0
// The packet that ports, wires and policies pass on. It fills one cache line and is moved by value,
// without a pool, pointers or allocation.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "core/own_state.h"
#include "core/units.h"

namespace heddle {

using HostId = uint16_t;     // 0 .. hosts-1; at most 65,536 hosts.
using SwitchId = uint16_t;   // 0 .. switches-1.
using PortIndex = uint16_t;  // 0 .. ports-1 of one node.
using FlowId = uint32_t;     // Unique in a run, in the order of flow starts.

enum class PacketKind : uint8_t {
  kData,
  kAck,
  kNack,  // RoCE: a packet came out of order.
  kCnp,   // RoCE: a packet came with a congestion mark. Ultra Ethernet: a pull grants credit.
  kSyn,
  kSynAck,
  kControl,   // A load balancer's own packet, such as a probe, in class 0 or in that of data. From
              // here on, packets of no flow.
  kDatagram,  // UDP, in the background: never acknowledged and never retransmitted.
  kPause,     // A PFC pause frame (IEEE 802.1Qbb), which goes only to the far end of its link.
};

inline constexpr uint16_t kNoPath = 0xffff;

// The least size of a packet in buffers, unless a framing of exact sizes says otherwise: IPv4's 20
// bytes and TCP's 20. Packets of UDP, which may be shorter, count as many. The time to send it adds
// to a link's delay before anything can arrive.
inline constexpr uint16_t kMinPacketBytes = 40;

// One SACK block of an ACK: segments [cumulative + start, cumulative + start + length).
struct SackBlock {
  uint16_t start = 0;
  uint16_t length = 0;  // 0: no block.
};

// Sequence numbers count segments of the flow's MSS, so 32 bits reach 6 TB at 1460 bytes.
struct alignas(64) Packet {
  enum Flag : uint8_t {
    kEct = 1,  // ECN-capable (RFC 3168); only such packets are marked.
    kCe = 2,   // Congestion experienced, set by a switch.
    kEce = 4,  // ECN echo, on ACKs.
    kCwr = 8,  // Congestion window reduced (RFC 3168).
    kRetransmission = 16,
    kDsack = 32,     // On ACKs: the segment that caused it had arrived before (RFC 2883).
    kNotify = 64,    // On RoCE's ACKs and NACKs: the packet is also a CNP.
    kTrimmed = 128,  // DATA: a switch has cut the payload off. NACK: asks for that packet alone.
    kCutAtLastHop = kDsack,  // Trimmed DATA: the port that cut it leads to the destination. NACK
                             // to a sender with credit: it asks for such a packet.
  };

  // Each of these structs holds fields that only some kinds of packets have.
  struct Data {
    uint32_t tx_id;    // Numbers every transmission of the flow, retransmissions included.
    uint16_t payload;  // Bytes of the flow in this segment, or of the datagram.
    std::array<uint16_t, 3> waited;  // If measured; see Waited().
  };
  struct Ack {
    std::array<SackBlock, 3> sack;  // The most recently changed block first (RFC 2018).
  };
  struct Nack {
    uint32_t trigger;  // The segment that came out of order; `seq` is the expected one.
    bool returned;     // A switch has sent it back, and the receiver knows nothing of it.
  };
  struct Pull {
    uint32_t granted;  // Quanta of credit, or packets, since the flow's start.
  };
  struct Pause {
    uint8_t classes;  // Bit mask.
    bool stop;        // False: a resume frame.
  };

  Time arrival = kNever;  // When the last bit is received at the far end of the packet's wire.
  Time sent;        // DATA, DATAGRAM: first bit left the NIC. ACK: echo of the DATA that caused it.
  FlowId flow = 0;  // DATAGRAM: ~id of its source, so that no flow has the same.
  uint32_t tuple_hash = 0;  // Hash of the 5-tuple, unsalted.
  uint32_t seq = 0;         // DATA: segment number. ACK: next segment expected. DATAGRAM: number.
  HostId src = 0;           // Source of this packet; for an ACK, the receiver of the data.
  HostId dst = 0;
  uint16_t bytes = 0;       // As buffers, ECN thresholds and congestion windows count it: payload
                            // and headers, without preamble and inter-frame gap.
  uint16_t path = kNoPath;  // Source route chosen by the host's balancer, kNoPath: none.
  uint16_t entropy = 0;     // Enters every ECMP hash; a host balancer moves a flow by changing it.
  uint16_t taken = 0;       // The path taken so far, numbered as `path`.
  PacketKind kind = PacketKind::kData;
  uint8_t priority = 0;  // Traffic class. 0 goes first; then, if the order is strict, the lowest
                         // number. PCP of IEEE 802.1Q counts the other way.
  uint8_t flags = 0;
  uint8_t hops = 0;  // Switches passed.
  union {
    Data data;
    Ack ack;
    Nack nack;
    Pull pull;
    Pause pause;
  };
  // The load balancer's header; at most 8 bytes, see Scheme().
  OwnState<8> scheme{};

  Packet() : data{} {}
  // As `*this = Packet()`, but in place. A temporary would be written field by field and read back
  // in wider loads, which must wait for these stores (no store forwarding).
  void Clear() { std::construct_at(this); }

  bool Has(Flag flag) const { return (flags & flag) != 0; }
  void Set(Flag flag) { flags |= flag; }

  // DATA, if measured: how long it has waited in the queues of switches. The sum has 48 bits, so a
  // total of up to 281 s is right even if intermediate sums overflow.
  Duration Waited() const {
    const auto [low, middle, high] = data.waited;
    return {int64_t{high} << 32 | int64_t{middle} << 16 | low};
  }
  void AddWaited(Duration more) {
    const int64_t sum = Waited().ps + more.ps;
    data.waited = {static_cast<uint16_t>(sum), static_cast<uint16_t>(sum >> 16),
                   static_cast<uint16_t>(sum >> 32)};
  }

  // The balancer's header as a type of its own.
  template <class T>
  T Scheme() const {
    return scheme.Copy<T>();
  }
  template <class T>
  void SetScheme(const T& header) {
    scheme.Assign(header);
  }
};

static_assert(sizeof(Packet) == 64);
static_assert(std::is_trivially_copyable_v<Packet>);

}  // namespace heddle
