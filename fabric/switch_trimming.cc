// SPDX-License-Identifier: Apache-2.0
// A switch whose ports trim packets: it sends, drops or returns what they cut (fabric/trimming.h).

#include <array>
#include <utility>

#include "fabric/switch.h"

namespace heddle {

void Switch::ForwardOrTrim(const QueuedPorts::Offer& offer) {
  const Packet& packet = offer.packet;
  Trimming& trimming = queued_->trimming();
  trimming.totals(offer.out).offered_bytes += packet.bytes;
  if (packet.priority == 0) {
    if (SendHeader(offer)) return;
    ++trimming.totals(offer.out).header_full;
    trimming.totals(offer.out).dropped_bytes += packet.bytes;
    if (hooks_ & SwitchPolicy::kDropped) policy_->OnDropped(view_, packet, offer.out);
    return Discard(packet, DropReason::kTrimFull);
  }
  const auto refused = queued_->AcceptOrCut(offer, now_, *window_);
  const std::array<Trimming::Cut, 2>& cut = trimming.cut;
  const bool is_cut = trimming.cuts > 0 && !cut[trimming.cuts - 1].was_queued;
  if (refused) {
    trimming.totals(offer.out).dropped_bytes += packet.bytes;
    Discard(packet, *refused);
  } else if (!is_cut && (hooks_ & SwitchPolicy::kEnqueue) != 0) {
    policy_->OnEnqueue(view_, queued_->accepted(), offer.out);
  }
  if ((refused || is_cut) && (hooks_ & SwitchPolicy::kDropped) != 0) {
    policy_->OnDropped(view_, packet, offer.out);
  }
  for (size_t i = 0, cuts = std::exchange(trimming.cuts, 0); i < cuts; ++i) {
    SendCut(cut[i], offer);  // A copy: a header on its way back may cause more cuts.
  }
}

// Returns false if the packet, which is of class 0, exceeds the limit for headers.
bool Switch::SendHeader(const QueuedPorts::Offer& offer) {
  if (!queued_->AdmitsHeader(offer.out, offer.packet.bytes, now_, *window_)) return false;
  if (queued_->SendsControlAtOnce(offer.out, now_, *window_)) {
    ForwardControl(offer, /*arrived=*/false);
    return true;
  }
  if (const auto refused = queued_->Accept(offer, now_, *window_)) {
    Discard(offer.packet, *refused);
  } else if ((hooks_ & SwitchPolicy::kEnqueue) != 0) {
    policy_->OnEnqueue(view_, queued_->accepted(), offer.out);
  }
  return true;
}

void Switch::SendCut(Trimming::Cut cut, const QueuedPorts::Offer& offer) {
  ReportDrop(cut.packet);
  if (cut.was_queued) policy_->OnCut(view_, cut.packet, offer.out);
  Trimming& trimming = queued_->trimming();
  TrimTotals& totals = trimming.totals(offer.out);
  const Packet header =
      trimming.HeaderOf(cut.packet, offer.out, cut.was_queued, faces_host_[offer.out]);
  const QueuedPorts::Offer at_front{.packet = header,
                                    .telemetry = telemetry_ ? &cut.telemetry : nullptr,
                                    .path_part = offer.path_part,
                                    .in = cut.in,
                                    .out = offer.out,
                                    .is_last = false};
  if (SendHeader(at_front)) return;
  totals.dropped_bytes += header.bytes;
  if (trimming.settings().overflow == TrimSettings::Overflow::kDrop) {
    ++totals.header_full;
    return Discard(header, DropReason::kTrimFull);
  }
  ++totals.returned;
  ReturnToSender(header, cut.in);
}

// The header becomes a NACK for its packet and is routed like any other (csg-htsim's NDP).
void Switch::ReturnToSender(const Packet& header, PortIndex in_port) {
  Packet back = header;
  back.kind = PacketKind::kNack;
  back.flags = Packet::kTrimmed;
  std::swap(back.src, back.dst);
  back.seq = 0;
  back.nack = {.trigger = header.seq, .returned = true};
  back.scheme = {};
  RouteAndHandle(back, in_port);
}

}  // namespace heddle
