// SPDX-License-Identifier: Apache-2.0

#include "fabric/fifo_port.h"

#include <absl/numeric/int128.h>

#include <utility>

#include "core/check.h"

namespace heddle {
namespace {

constexpr int64_t kBitPicoseconds = 8 * kPicosecondsPerSecond;
constexpr size_t kFirstQueueCapacity = 16;

}  // namespace

FifoPort::FifoPort(const PortSettings& settings)
    : harmless_(std::min(settings.buffer, settings.mark_above)),
      queue_(nullptr),
      mask_(kFirstQueueCapacity - 1),
      size_mask_(settings.count_packets ? 0 : 0xffff),
      size_unit_(settings.count_packets ? 1 : 0),
      ps_per_byte_(kBitPicoseconds % settings.rate.bps == 0 ? kBitPicoseconds / settings.rate.bps
                                                            : 0),
      delay_(settings.delay),
      wire_overhead_(settings.wire_overhead.count),
      buffer_(settings.buffer),
      mark_above_(settings.mark_above),
      queue_memory_(kFirstQueueCapacity),
      rate_(settings.rate) {
  queue_ = queue_memory_.data();
  HEDDLE_CHECK(settings.rate.bps > 0 && settings.delay.ps > 0, "a port of {} bps and {} ps",
               settings.rate.bps, settings.delay.ps);
}

// Each transmission is rounded up, so that no packet is early, and the excess is taken off the next
// one of the same busy period: the long-run rate is exact, every packet less than 1 ps late.
Duration FifoPort::TransmissionTime(int64_t wire_bytes, bool idle) {
  if (idle) carry_ = 0;
  const int64_t work = wire_bytes * kBitPicoseconds - carry_;
  const int64_t tx = (work + rate_.bps - 1) / rate_.bps;
  carry_ = tx * rate_.bps - work;
  odd_busy_ps_ += tx;
  return {tx};
}

void FifoPort::MakeRoom(Time now) {
  ForgetDeparted(now);
  if (tail_ - head_ <= queue_memory_.size() / 2) return;
  std::vector<Queued> grown(queue_memory_.size() * 2);
  const uint32_t grown_mask = static_cast<uint32_t>(grown.size() - 1);
  for (uint32_t i = head_; i != tail_; ++i) grown[i & grown_mask] = queue_[i & mask_];
  queue_memory_ = std::move(grown);
  queue_ = queue_memory_.data();
  mask_ = grown_mask;
}

Bytes FifoPort::Unsent(Time now) const {
  const int64_t wait = QueueingDelay(now).ps;
  if (ps_per_byte_ != 0) return {(wait + ps_per_byte_ - 1) / ps_per_byte_};
  return {static_cast<int64_t>(absl::int128(wait) * rate_.bps / kBitPicoseconds)};
}

FifoPort::Counters FifoPort::Committed() const {
  const int64_t busy_ps = ps_per_byte_ != 0 ? wire_bytes_ * ps_per_byte_ : odd_busy_ps_;
  return {static_cast<int64_t>(wire_.pushed()), wire_bytes_, payload_bytes_, busy_ps};
}

FifoPort::Counters FifoPort::SentBy(Time now) {
  ForgetDeparted(now);
  Counters sent = Committed();
  // What has not left by now arrives later still, so its record lies on the wire.
  for (uint32_t i = 1; i <= tail_ - head_; ++i) {
    const Packet& waiting = wire_.FromBack(i);
    --sent.packets;
    sent.wire_bytes -= waiting.bytes + wire_overhead_;
    sent.payload_bytes -= waiting.kind == PacketKind::kData ? waiting.data.payload : 0;
  }
  sent.busy_ps -= QueueingDelay(now).ps;
  return sent;
}

}  // namespace heddle
