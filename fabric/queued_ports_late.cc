// SPDX-License-Identifier: Apache-2.0
// Queued ports served late: how they catch up, and when they become eager and late again.

#include <algorithm>
#include <bit>
#include <numeric>

#include "core/check.h"
#include "fabric/queued_ports.h"

namespace heddle {

template <class Visit>
void QueuedPorts::ForEachCharged(PortIndex port, const Visit& visit) const {
  for (unsigned left = ports_[port].backlogged() & ~1u; left != 0; left &= left - 1) {
    const size_t cls = static_cast<size_t>(std::countr_zero(left));
    for (size_t i = 0; i < ports_[port].waiting(cls); ++i) {
      visit(ports_[port].WaitingAt(cls, i), ports_[port].WaitsFrom(cls, i));
    }
  }
}

template <class Visit>
void QueuedPorts::ForEachBacklogged(const Visit& visit) {
  for (size_t word = 0; word < backlogged_.size(); ++word) {
    for (uint64_t left = backlogged_[word]; left != 0; left &= left - 1) {
      const size_t bit = static_cast<size_t>(std::countr_zero(left));
      const Time next = visit(static_cast<PortIndex>(word * 64 + bit));
      if (next == kNever) backlogged_[word] &= ~(uint64_t{1} << bit);
    }
  }
}

void QueuedPorts::CatchUpAll(Time time, const Window& window) {
  next_late_ = kNever;
  ForEachBacklogged([&](PortIndex port) {
    CatchUp(port, time, window);
    const Time next = ports_[port].NextService();
    next_late_ = std::min(next_late_, next);
    return next;
  });
}

Time QueuedPorts::FindFirst() {
  next_late_ = second_late_ = kNever;
  ForEachBacklogged([&](PortIndex port) {
    const Time next = ports_[port].NextService();
    second_late_ = std::min(second_late_, std::max(next, next_late_));
    if (next < next_late_) first_late_ = port;
    next_late_ = std::min(next_late_, next);
    return next;
  });
  return next_late_;
}

template <class Visit>
void QueuedPorts::ForEachHeldLate(Time time, const Visit& visit) const {
  for (PortIndex port = 0; !eager_ && port < ports_.size(); ++port) {
    ForEachCharged(port, [&](const Packet& packet, PortIndex in) { visit(in, packet.bytes); });
    const QueuedPort::InService& sent = ports_[port].in_service();
    if (sent.cls != 0 && sent.end > time) visit(sent.in, sent.bytes);
  }
}

int64_t QueuedPorts::BytesInMemory(Time time) const {
  if (!memory_) return 0;
  int64_t bytes = memory_->used();
  ForEachHeldLate(time, [&](PortIndex, int64_t its) { bytes += its; });
  return bytes;
}

void QueuedPorts::CheckBooks() const {
  if (!memory_) return;
  memory_->CheckBooks();
  HEDDLE_CHECK(eager_ || in_memory_ >= BytesInMemory(kNever),
               "late ports hold {} bytes of the shared buffer, but count {}", BytesInMemory(kNever),
               in_memory_);
}

// Late ports are to take `bytes` more from input `in`, and a sum has exceeded the safe bytes.
// Counts what the buffer holds. Returns false if that is more than three quarters of the safe
// bytes; then the ports have become eager.
bool QueuedPorts::FindSpace(PortIndex in, int64_t bytes, Time now, const Window& window) {
  HEDDLE_CHECK(now >= ahead_until_,
               "late ports must count their shared buffer, but some have run ahead of others");
  CountMemory(now, window);
  CountMore(in, bytes);
  if (HoldsAtMost(/*quarters=*/3)) return true;
  BecomeEager(now);
  return false;
}

// Returns true if the sums are at most so many quarters of the safe bytes.
bool QueuedPorts::HoldsAtMost(int64_t quarters) const {
  const auto is_within = [&](int64_t bytes, int64_t safe) { return bytes <= safe / 4 * quarters; };
  return is_within(in_memory_, safe_bytes_) && std::ranges::all_of(from_input_, [&](int64_t bytes) {
           return is_within(bytes, safe_from_input_);
         });
}

void QueuedPorts::CountMemory(Time now, const Window& window) {
  CatchUpAll(now, window);
  CountHeld(now);
}

void QueuedPorts::CountHeld(Time time) {
  if (from_input_.empty()) {
    in_memory_ = BytesInMemory(time);
    return;
  }
  for (PortIndex in = 0; in < ports_.size(); ++in) from_input_[in] = memory_->held(in);
  ForEachHeldLate(time, [&](PortIndex in, int64_t bytes) { from_input_[in] += bytes; });
  in_memory_ = std::accumulate(from_input_.begin(), from_input_.end(), int64_t{0});
}

void QueuedPorts::BecomeEager(Time now) {
  SetEager(true);
  next_late_ = kNever;
  for (PortIndex port = 0; port < ports_.size(); ++port) {
    ForEachCharged(port, [&](const Packet& packet, PortIndex in) {
      memory_->Add(in, port, packet.priority, packet.bytes);
    });
    const QueuedPort::InService& sent = ports_[port].in_service();
    if (sent.end > now && sent.bytes != 0) {
      memory_->Add(sent.in, port, sent.cls, sent.bytes);
      ends_.Set(port, sent.end);
    } else {
      Arm(port, now);
    }
  }
}

// With half, not three quarters, of the safe bytes as its limit, so that ports do not change all
// the time.
void QueuedPorts::CalmDown(const Window& window) {
  if (always_eager_ || memory_->used() > safe_bytes_ / 2) return;
  if (PausesAny() || memory_->UsesHeadroom()) return;
  CountHeld(window.end);
  if (!HoldsAtMost(/*quarters=*/2)) return;
  SetEager(false);
  for (PortIndex port = 0; port < ports_.size(); ++port) {
    ForEachCharged(port, [&](const Packet& packet, PortIndex in) {
      memory_->Release(in, port, packet.priority, packet.bytes);
    });
    if (ports_[port].waiting() > 0) backlogged_[port / 64] |= BitOf(port);
    choices_.Set(port, kNever);
    if (!ends_.Has(port)) continue;
    Release(port, window.end, window);
    ends_.Set(port, kNever);
  }
  CatchUpAll(window.end, window);
}

void QueuedPorts::AlwaysCount(Time now, const Window* window) {
  always_eager_ = true;
  if (eager_) return;
  if (window != nullptr) CatchUpAll(now, *window);
  BecomeEager(now);
}

}  // namespace heddle
