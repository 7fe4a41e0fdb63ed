// SPDX-License-Identifier: Apache-2.0

#include "fabric/fifo_port.h"

#include <absl/numeric/int128.h>

#include "core/check.h"

namespace heddle {
namespace {

constexpr int64_t kBitPicoseconds = 8 * kPicosecondsPerSecond;

// Returns how long a packet of `bytes` took, as FifoPort::TransmissionTime() found it. Behind the
// packet, `bytes_behind` took `behind` and left `carry`. This leads back to the excess after the
// packet, and the excess before it was less than a picosecond.
Duration TimeTaken(int64_t bytes, int64_t bytes_behind, Duration behind, int64_t carry,
                   BitRate rate) {
  const absl::int128 excess =
      carry + absl::int128(bytes_behind) * kBitPicoseconds - absl::int128(behind.ps) * rate.bps;
  return {static_cast<int64_t>((absl::int128(bytes) * kBitPicoseconds + excess) / rate.bps)};
}

}  // namespace

FifoPort::FifoPort(const PortSettings& settings)
    : ps_per_byte_(kBitPicoseconds % settings.rate.bps == 0 ? kBitPicoseconds / settings.rate.bps
                                                            : 0),
      delay_(settings.delay),
      size_mask_(settings.count_packets ? 0 : 0xffff),
      size_unit_(settings.count_packets ? 1 : 0),
      wire_overhead_(settings.wire_overhead.count),
      buffer_(settings.buffer),
      mark_above_(settings.mark_above),
      settings_buffer_(settings.buffer),
      rate_(settings.rate) {
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

Duration FifoPort::TransmissionTimeOf(int64_t wire_bytes, bool idle) const {
  if (ps_per_byte_ != 0) return {wire_bytes * ps_per_byte_};
  const absl::int128 work = absl::int128(wire_bytes) * kBitPicoseconds - (idle ? 0 : carry_);
  return {static_cast<int64_t>((work + rate_.bps - 1) / rate_.bps)};
}

// The queue is at most the bytes that have not been sent, and the part of the packet in
// transmission that has.
void FifoPort::FindHarmless() {
  const int64_t limit = std::min(buffer_, mark_above_) - 2 * int64_t{largest_} - 1;
  harmless_ = kNoTime;
  if (limit < 0 || counts_packets()) return;
  const absl::int128 time = absl::int128(limit) * kBitPicoseconds / rate_.bps;
  harmless_ = Duration{static_cast<int64_t>(std::min<absl::int128>(time, kNever.ps))};
}

bool FifoPort::SendCounting(const Packet& packet, uint16_t path_part, Time now,
                            const Window& window) {
  NoteSize(packet.bytes);
  const int64_t backlog = Backlog(now) + SizeOf(packet);
  if (backlog > buffer_) return Drop();
  Put(packet, path_part, backlog > mark_above_, now, window);
  return true;
}

void FifoPort::MakeRoom(Time now) {
  ForgetTaken(now);
  wire_.MakeRoom(left_);
}

// The wire has forgotten all packets before number `kept`, which have left.
void FifoPort::ForgetUntil(uint64_t kept) {
  while (!late_.empty() && late_.front().number < kept) late_.pop_front();
  left_ = summed_ = kept;
  backlog_ = 0;
}

// Packets that the head has taken have left, except perhaps the last one: the receiver may have run
// further than the sender by more than the delay, but by no more than the time to send the smallest
// packet.
void FifoPort::ForgetTaken(Time now) {
  if (summed_ > left_ || !late_.empty()) return ForgetDeparted(now);
  const uint64_t taken = wire_.taken();
  if (taken > left_) left_ = taken - 1;
}

Bytes FifoPort::SentIn(Duration time) const {
  if (ps_per_byte_ != 0) return {(time.ps + ps_per_byte_ - 1) / ps_per_byte_};
  return {static_cast<int64_t>(absl::int128(time.ps) * rate_.bps / kBitPicoseconds)};
}

int64_t FifoPort::BusyTime() const {
  const int64_t odd_or_even =
      ps_per_byte_ != 0 ? (wire_bytes_ - bytes_before_) * ps_per_byte_ : odd_busy_ps_;
  return busy_before_ + odd_or_even;
}

FifoPort::Counters FifoPort::Committed() const {
  return {static_cast<int64_t>(wire_.pushed()) + lost_on_wire_, wire_bytes_, payload_bytes_,
          BusyTime()};
}

// The lost packet occupies the NIC for its transmission time.
bool FifoPort::Lose(const Packet& slot, Time now) {
  const Duration tx = SerializationDelay(Bytes{slot.bytes + wire_overhead_}, rate_);
  busy_until_ = std::max(busy_until_, now) + tx;
  wire_.Next().arrival = kNever;
  return Drop();
}

void FifoPort::GoDown(Time now, const std::function<void(const Packet&)>& lost) {
  ForgetDeparted(now);
  const uint64_t waiting = wire_.waiting();
  for (uint64_t i = wire_.pushed() - waiting; i != wire_.pushed(); ++i) {
    const Packet& packet = wire_.At(i);
    lost(packet);
    if (i < left_) {
      ++lost_on_wire_;
      continue;
    }
    wire_bytes_ -= WireBytesOf(packet);
    payload_bytes_ -= PayloadOf(packet);
  }
  if (ps_per_byte_ == 0) odd_busy_ps_ -= QueueingDelay(now).ps;
  dropped_down_ += static_cast<int64_t>(waiting);
  busy_until_ = std::min(busy_until_, now);
  // Before `now`: if the link comes up at once, the receiver must be told of the next packet.
  last_arrival_ = std::min(last_arrival_, now - 1_ps);
  backlog_ = carry_ = 0;
  late_.clear();
  wire_.TakeBack(waiting);
  left_ = begun_ = summed_ = wire_.pushed();
  wire_.TellOfChange();
  down_ = true;
  buffer_ = -1;
  FindHarmless();
}

// A packet that was lost while the link was down does not occupy it any more.
void FifoPort::GoUp(Time now) {
  if (down_) busy_until_ = std::min(busy_until_, now);
  down_ = false;
  buffer_ = settings_buffer_;
  FindHarmless();
}

void FifoPort::SetChannel(Time now, BitRate rate, Duration delay, const Restarted& restarted) {
  ForgetDeparted(now);
  // The port has been busy since the first queued packet began. A packet that began before now
  // keeps its rate and its delay.
  uint64_t first = left_;
  Time free = now;
  int64_t bytes = 0;  // Bytes of packets that have not begun.
  for (uint64_t i = first; i != wire_.pushed(); ++i) bytes += WireBytesOf(wire_.At(i));
  if (first != wire_.pushed()) {
    const int64_t its = WireBytesOf(wire_.At(first));
    const Time departure = NextDeparture();
    const Duration tx = TimeTaken(its, bytes - its, busy_until_ - departure, carry_, rate_);
    if (first < begun_ || departure - tx < now) {
      free = departure;
      bytes -= its;
      ++first;
    }
  }
  begun_ = first;
  late_.clear();
  if (first != left_) late_.push_back({left_, free});
  if (ps_per_byte_ == 0 && first != wire_.pushed()) odd_busy_ps_ -= (busy_until_ - free).ps;
  wire_bytes_ -= bytes;
  busy_before_ = BusyTime();
  bytes_before_ = wire_bytes_;
  odd_busy_ps_ = carry_ = 0;
  wire_bytes_ += bytes;
  rate_ = rate;
  delay_ = delay;
  ps_per_byte_ = kBitPicoseconds % rate.bps == 0 ? kBitPicoseconds / rate.bps : 0;
  FindHarmless();
  if (first == wire_.pushed()) return;
  const bool follows = wire_.waiting() > wire_.pushed() - first;
  last_arrival_ = follows ? wire_.At(first - 1).arrival : now;
  busy_until_ = free;
  for (uint64_t i = first; i != wire_.pushed(); ++i) {
    Packet& packet = wire_.At(i);
    const int64_t wire_bytes = WireBytesOf(packet);
    const Time start = busy_until_;
    const Duration tx = ps_per_byte_ != 0 ? Duration{wire_bytes * ps_per_byte_}
                                          : TransmissionTime(wire_bytes, false);
    busy_until_ += tx;
    if (busy_until_ + delay_ < last_arrival_) {
      late_.push_back({i, busy_until_});
    } else {
      last_arrival_ = busy_until_ + delay_;
    }
    packet.arrival = last_arrival_;
    restarted(i, start);
  }
  wire_.TellOfChange();
}

QueueLength FifoPort::QueueAt(Time now) {
  QueueLength queue{Backlog(now), 0};
  queue.packets = Unforgotten();
  if (!counts_packets()) return queue;
  queue.bytes = 0;
  for (uint64_t i = left_; i != wire_.pushed(); ++i) queue.bytes += wire_.At(i).bytes;
  return queue;
}

FifoPort::Counters FifoPort::SentBy(Time now) {
  ForgetDeparted(now);
  Counters sent = Committed();
  // A packet that has not left by now arrives later still, so its record lies on the wire.
  for (uint64_t i = left_; i != wire_.pushed(); ++i) {
    const Packet& waiting = wire_.At(i);
    --sent.packets;
    sent.wire_bytes -= WireBytesOf(waiting);
    sent.payload_bytes -= PayloadOf(waiting);
  }
  if (!down_) sent.busy_ps -= QueueingDelay(now).ps;  // Lost packets have never counted.
  return sent;
}

}  // namespace heddle
