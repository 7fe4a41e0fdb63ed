// SPDX-License-Identifier: Apache-2.0
// Queued ports that trim packets: which packets they accept, cut or drop.

#include <algorithm>
#include <bit>

#include "core/check.h"
#include "fabric/queued_ports.h"

namespace heddle {
namespace {

bool IsFull(DropReason reason) {
  return reason == DropReason::kTail || reason == DropReason::kThreshold;
}

}  // namespace

bool QueuedPorts::AdmitsHeader(PortIndex out, int64_t bytes, Time now, const Window& window) {
  CatchUp(out, now, window);
  TrimTotals& totals = trimming_->totals(out);
  const int64_t after = ports_[out].ControlBytes(now) + bytes;
  if (after > trimming_->limits(out).headers) return false;
  totals.header_peak = std::max(totals.header_peak, after);
  return true;
}

// A packet that takes the place of a cut one may still be too large for the port; then it is cut,
// too.
std::optional<DropReason> QueuedPorts::AcceptOrCut(const Offer& offer, Time now,
                                                   const Window& window) {
  Trimming& trimming = *trimming_;
  trimming.cuts = 0;
  QueuedPort& port = ports_[offer.out];
  if (!trimming.MayCut(offer.packet) || port.out().is_down()) return Accept(offer, now, window);
  CatchUp(offer.out, now, window);
  const size_t cls = offer.packet.priority;
  const auto try_to_accept = [&](bool draws) -> std::optional<DropReason> {
    const int64_t length = port.Length(cls, now) + port.SizeOf(offer.packet);
    const bool cuts =
        draws ? trimming.Cuts(offer.out, length) : length > trimming.limits(offer.out).threshold;
    if (cuts) return DropReason::kTail;
    Offer whole = offer;
    whole.is_last = offer.is_last && trimming.cuts == 0;  // The header of a cut packet goes first.
    if (Packet* passed = Pass(whole, now, window)) {
      accepted_ = passed;
      return std::nullopt;
    }
    return Accept(whole, now, window);
  };
  const auto refused = try_to_accept(true);
  if (!refused || !IsFull(*refused)) return refused;
  if (port.waiting(cls) > 0 && trimming.CutsNewest(offer.out)) {
    const QueuedPort::Taken newest = port.TakeNewest(cls, offer.path_part);
    if (memory_) Free(newest.in, offer.out, cls, newest.packet.bytes, now, window);
    trimming.cut[trimming.cuts++] = {newest.packet, newest.telemetry, newest.in, true};
    if (!try_to_accept(false)) return std::nullopt;
  }
  trimming.cut[trimming.cuts++] = {
      offer.packet, offer.telemetry != nullptr ? *offer.telemetry : Telemetry(), offer.in, false};
  return std::nullopt;
}

int64_t QueuedPorts::trimmed() const {
  int64_t packets = 0;
  for (PortIndex port = 0; trimming_ && port < ports_.size(); ++port) {
    packets += trimming_->totals(port).trimmed;
  }
  return packets;
}

// Pause frames do not pass the books of trimming, so their bytes are added to those offered.
void QueuedPorts::CheckTrimmedBytes() {
  if (!trimming_) return;
  for (PortIndex port = 0; port < ports_.size(); ++port) {
    const TrimTotals& totals = trimming_->totals(port);
    if (totals.was_down) continue;
    const PauseTotals& pauses = meters_[port].counts();
    const int64_t frames = pauses.pauses_sent + pauses.resumes_sent;
    const int64_t offered = totals.offered_bytes + frames * queueing_.pause.frame_bytes;
    int64_t held = 0;
    for (unsigned left = ports_[port].backlogged(); left != 0; left &= left - 1) {
      held += ports_[port].WaitingBytes(static_cast<size_t>(std::countr_zero(left)));
    }
    const int64_t sent = ports_[port].out().CommittedBytes();
    HEDDLE_CHECK(offered == sent + totals.dropped_bytes + totals.cut_bytes + held,
                 "port {} was offered {} bytes, but sent {}, dropped {}, cut {} and holds {}", port,
                 offered, sent, totals.dropped_bytes, totals.cut_bytes, held);
  }
}

}  // namespace heddle
