// SPDX-License-Identifier: Apache-2.0

#include "measure/delivery_tap.h"

#include "core/random.h"

namespace heddle {

DeliveryTaps::HostTap::HostTap(Host& host) : tapped(host, *this), links(host.nics()) {
  for (PortIndex port = 0; port < host.nics(); ++port) tapped.Watch(port, port);
}

void DeliveryTaps::HostTap::OnArrival(uint32_t point, const Packet& packet) {
  Fingerprint& link = links[point];
  const uint64_t sent = packet.kind == PacketKind::kData ? packet.data.tx_id : 0;
  ++link.deliveries;
  for (const uint64_t part : {static_cast<uint64_t>(packet.kind) << 32 | packet.flow,
                              sent << 32 | packet.seq, static_cast<uint64_t>(packet.arrival.ps)}) {
    link.hash = Mix64(link.hash ^ part);
  }
}

void DeliveryTaps::Begin() {
  for (size_t h = 0; h < network().hosts(); ++h) {
    network().engine().Insert(hosts_.emplace_back(network().host(h)).tapped);
  }
}

Fingerprint DeliveryTaps::Sum() const {
  Fingerprint sum;
  for (const HostTap& host : hosts_) {
    for (const Fingerprint& link : host.links) {
      sum.deliveries += link.deliveries;
      sum.hash = Mix64(sum.hash ^ link.hash);
    }
  }
  return sum;
}

}  // namespace heddle
