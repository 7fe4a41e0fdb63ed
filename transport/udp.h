// SPDX-License-Identifier: Apache-2.0
// Background UDP: datagrams that come as their pattern says, whatever becomes of them. Nothing is
// acknowledged or sent again, and datagrams are not ECN-capable. Network makes one Udp for each
// host that takes part.
//
// A datagram that is due waits at the host for the NIC, as flows do; it gets its number when its
// first bit leaves.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>
#include <vector>

#include "core/histogram.h"
#include "core/packet.h"
#include "core/random.h"
#include "core/units.h"
#include "fabric/host.h"
#include "fabric/transport.h"
#include "transport/flow_table.h"
#include "transport/packet_sizes.h"
#include "transport/udp_pattern.h"

namespace heddle {

inline constexpr int64_t kUdpIpHeader = 28;

struct UdpSource {
  uint32_t id;     // The source's number in the experiment, from 0.
  uint32_t entry;  // The entry in the experiment's list that it comes from.
  HostId src;
  HostId dst;
  uint16_t sport;
  uint16_t path;     // kNoPath: load-balanced as any packet. Otherwise it takes this one.
  uint8_t priority;  // The same for all sources of a host: they share a lane of its NIC.
  Bytes payload;
  Bytes packet;  // As buffered.
  Bytes wire;
  BitRate rate;  // The average, of all that is on the wire.
  UdpPattern pattern;
  Time start;
  Time stop;  // No datagram is due from here on; kNever: they go on as long as the run.
  Rng rng;
};

// Returns the size of a datagram as buffered: at least kMinPacketBytes if `payload` is
// kMinUdpPayload or more.
int64_t DatagramBytes(const PacketSizes& sizes, int64_t payload);
inline constexpr int64_t kMinUdpPayload = kMinPacketBytes - kUdpIpHeader;

// Counts the datagrams of one source by what became of them.
struct UdpRecord {
  const UdpSource* source = nullptr;
  int64_t sent = 0;    // In packets, as are the others.
  int64_t unsent = 0;  // Datagrams that still wait for the NIC.
  int64_t received = 0;
  int64_t lost = 0;       // Numbers that are missing below the highest received.
  int64_t reordered = 0;  // RFC 4737: one with a higher number had come before.
  Histogram delay_ps;     // Delay from the NIC's first bit to the last one received.
};

// All datagrams of one host.
class Udp final : public Endpoint {
 public:
  explicit Udp(Host& host) : host_(host) {}

  // Called before the run. `source` outlives this; it sends from this host, or to it.
  void Send(const UdpSource& source);
  void Expect(const UdpSource& source);

  void OnPacket(const Packet& packet) override;
  Pulled Pull(uint32_t slot, Packet& packet) override;
  Tuple TupleOf(uint32_t slot) const override {
    return {senders_[slot].source->dst, senders_[slot].tuple_hash};
  }
  void OnTimer(uint64_t slot) override;
  size_t memory_bytes() const override;

  // Adds this host's counts to the records, which are by source id.
  void Collect(std::vector<UdpRecord>& records) const;

  // Bytes on the wire of all datagrams sent, and of all received.
  int64_t wire_sent() const { return wire_sent_; }
  int64_t wire_received() const { return wire_received_; }

 private:
  struct Sender {
    const UdpSource* source;
    UdpClock clock;
    uint32_t tuple_hash;
    int64_t sent = 0;
    int64_t waiting = 0;
  };
  struct Receiver {
    const UdpSource* source;
    int64_t received = 0;
    int64_t reordered = 0;
    int64_t expected = 0;  // One more than the highest number received.
    Histogram delay_ps;
  };

  void SetTimer(uint32_t slot);

  Host& host_;
  std::vector<Sender> senders_;
  std::vector<Receiver> receivers_;
  FlowTable receiver_of_;  // Found by the packets' `flow`.
  int64_t wire_sent_ = 0;
  int64_t wire_received_ = 0;
};

}  // namespace heddle
