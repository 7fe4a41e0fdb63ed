// SPDX-License-Identifier: Apache-2.0
// The sizes of a transport's packets: as buffers, thresholds and windows count them, and on the
// wire. A framing makes them when the experiment is prepared.

#pragma once

#include <algorithm>
#include <cstdint>

#include "core/units.h"
#include "settings/fields.h"

namespace heddle {

// Sizes of packets under a framing, all in bytes.
struct PacketSizes {
  int64_t mss;
  int64_t data_overhead;    // Bytes beyond the payload of a data packet, as buffered.
  int64_t min_packet;       // As buffered; shorter packets are padded to this.
  int64_t ack;              // As buffered.
  int64_t wire_overhead;    // Preamble and inter-frame gap, which take no buffer.
  int64_t link_header = 0;  // The part of data_overhead around the IP packet, such as Ethernet's.

  // Sizes as buffered. TCP: the handshake's packets; RoCE: its other control packets.
  int64_t syn = 0;
  int64_t syn_ack = 0;
  int64_t nack = 0;
  int64_t cnp = 0;

  // Makes all control packets as large as an ACK.
  void SetAllControl(int64_t bytes) { ack = syn = syn_ack = nack = cnp = bytes; }

  // The smallest packet that there can be, as buffered.
  int64_t Smallest() const { return std::min({DataPacket(1), ack, syn, syn_ack, nack, cnp}); }

  int64_t DataPacket(int64_t payload) const {
    return payload + data_overhead < min_packet ? min_packet : payload + data_overhead;
  }

  // Returns the sizes with a load balancer's header on each data packet.
  PacketSizes With(Bytes lb_header) const {
    PacketSizes sizes = *this;
    sizes.data_overhead += lb_header.count;
    sizes.link_header += lb_header.count;
    return sizes;
  }
};

inline void DeclareLbHeader(Fields& fields, Bytes& lb_header) {
  fields.Add(
      "lb_header", lb_header, {.at_least = Bytes{0}, .at_most = Bytes{256}},
      "Bytes of the load balancer's header, in addition to the framing, on each data packet and "
      "datagram from host to host, such as 12B of telemetry, 20B of IP in IP or 50B of VXLAN.");
}

}  // namespace heddle
