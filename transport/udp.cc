// SPDX-License-Identifier: Apache-2.0

#include "transport/udp.h"

#include <algorithm>

#include "core/check.h"
#include "fabric/flow.h"

namespace heddle {
namespace {

constexpr uint16_t kDiscardPort = 9;  // RFC 863.

}  // namespace

int64_t DatagramBytes(const PacketSizes& sizes, int64_t payload) {
  return std::max(payload + kUdpIpHeader + sizes.link_header, sizes.min_packet);
}

void Udp::Send(const UdpSource& source) {
  const uint32_t slot = static_cast<uint32_t>(senders_.size());
  senders_.push_back({&source,
                      UdpClock(source.pattern, source.wire, source.rate, source.start, source.rng),
                      TupleHash(source.src, source.dst, source.sport, kDiscardPort)});
  SetTimer(slot);
  host_.Wake(host_.Due());
}

void Udp::Expect(const UdpSource& source) {
  receiver_of_.Insert(~source.id, static_cast<uint32_t>(receivers_.size()));
  receivers_.push_back({.source = &source, .delay_ps = {}});
}

void Udp::SetTimer(uint32_t slot) {
  const Sender& sender = senders_[slot];
  if (sender.clock.next() >= sender.source->stop) return;
  host_.SetTimer(sender.clock.next(), slot, Lane::kBackground);
}

// A datagram is due.
void Udp::OnTimer(uint64_t slot) {
  Sender& sender = senders_[slot];
  if (sender.waiting++ == 0) host_.Ready(static_cast<uint32_t>(slot), Lane::kBackground);
  sender.clock.Advance();
  SetTimer(static_cast<uint32_t>(slot));
}

Endpoint::Pulled Udp::Pull(uint32_t slot, Packet& packet) {
  Sender& sender = senders_[slot];
  const UdpSource& source = *sender.source;
  packet.kind = PacketKind::kDatagram;
  packet.sent = host_.now();
  packet.flow = ~source.id;
  packet.tuple_hash = sender.tuple_hash;
  packet.seq = static_cast<uint32_t>(sender.sent++);
  packet.src = source.src;
  packet.dst = source.dst;
  packet.bytes = static_cast<uint16_t>(source.packet.count);
  packet.path = source.path;
  packet.data.payload = static_cast<uint16_t>(source.payload.count);
  wire_sent_ += source.wire.count;
  return {.sent = true, .more = --sender.waiting > 0};
}

void Udp::OnPacket(const Packet& packet) {
  const uint32_t slot = receiver_of_.Find(packet.flow);
  HEDDLE_CHECK(slot != FlowTable::kAbsent, "a datagram of source {}, which sends to another host",
               ~packet.flow);
  Receiver& receiver = receivers_[slot];
  ++receiver.received;
  wire_received_ += receiver.source->wire.count;
  receiver.delay_ps.Add((host_.now() - packet.sent).ps);
  if (packet.seq < receiver.expected) {
    ++receiver.reordered;
  } else {
    receiver.expected = int64_t{packet.seq} + 1;
  }
}

void Udp::Collect(std::vector<UdpRecord>& records) const {
  for (const Sender& sender : senders_) {
    UdpRecord& record = records[sender.source->id];
    record.source = sender.source;
    record.sent = sender.sent;
    record.unsent = sender.waiting;
  }
  for (const Receiver& receiver : receivers_) {
    UdpRecord& record = records[receiver.source->id];
    record.received = receiver.received;
    record.lost = receiver.expected - receiver.received;
    record.reordered = receiver.reordered;
    record.delay_ps = receiver.delay_ps;
  }
}

size_t Udp::memory_bytes() const {
  return sizeof(*this) + senders_.capacity() * sizeof(Sender) +
         receivers_.capacity() * sizeof(Receiver) + receiver_of_.memory_bytes();
}

}  // namespace heddle
