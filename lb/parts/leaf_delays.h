// SPDX-License-Identifier: Apache-2.0
// The one-way delays of the paths between leaves, measured by stamps in packets. The leaf at a
// path's end measures, and returns the delay in packets that go back: one path per packet, in turn,
// for paths with new packets since their last report. A leaf's policy calls Depart() for each
// packet that it sends and Arrive() for each that it receives.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/sparse_rows.h"
#include "core/units.h"

namespace heddle {

// The header of packets between leaves; all zeros if no leaf has stamped the packet.
struct LeafDelayHeader {
  uint32_t sent_ns = 0;     // When its first leaf queued it, modulo 4.3 s; 0: no stamp.
  uint16_t path = 0xffff;   // A path of the receiving leaf; 0xffff: no report.
  uint16_t delay_16ns = 0;  // The path's delay; a millisecond if longer.
};

class LeafDelays {
 public:
  // `queueing`: a delay counts only above the least ever measured on its path. A delay without a
  // report for `stale` counts as zero.
  LeafDelays(size_t leaves, size_t paths, bool queueing, Duration stale)
      : queueing_(queueing),
        stale_(stale),
        to_(leaves, paths),
        from_(leaves, paths),
        next_(leaves) {}

  // Called when a packet has come from `leaf` over `path` of that leaf. Times are of this leaf's
  // clock, which need not agree with other clocks.
  void Arrive(const LeafDelayHeader& header, uint16_t leaf, uint16_t path, Time now) {
    if (header.sent_ns == 0) return;
    if (header.path < paths()) to_[leaf][header.path] = {16'000_ps * header.delay_16ns, now};
    if (path >= paths()) return;
    // Negative if the other clock is ahead.
    const int32_t ns = static_cast<int32_t>(NanosecondsOf(now) - header.sent_ns);
    From& from = from_[leaf][path];
    const Duration delay = 1'000_ps * int64_t{ns};
    from.least = from.is_known ? std::min(from.least, delay) : delay;
    from.delay = queueing_ ? delay - from.least : delay;
    from.is_known = from.is_due = true;
  }

  // Returns the header of a packet that is sent to `leaf` now.
  LeafDelayHeader Depart(uint16_t leaf, Time now) {
    LeafDelayHeader header{.sent_ns = std::max(NanosecondsOf(now), uint32_t{1})};
    From* const of_leaf = from_[leaf];
    for (size_t i = 0; i < paths(); ++i) {
      const size_t path = (next_[leaf] + i) % paths();
      if (!of_leaf[path].is_due) continue;
      of_leaf[path].is_due = false;
      next_[leaf] = path + 1;
      header.path = static_cast<uint16_t>(path);
      header.delay_16ns =
          static_cast<uint16_t>(std::clamp<int64_t>(of_leaf[path].delay.ps / 16'000, 0, 0xffff));
      break;
    }
    return header;
  }

  // Called when routes have changed: a path may be longer now, so its least delay is measured anew.
  void ForgetLeast() {
    from_.ForEach([](From& from) { from.is_known = false; });
  }

  Duration Of(uint16_t leaf, uint16_t path, Time now) const {
    const To* const to = to_.Find(leaf);
    return to == nullptr || now - to[path].at > stale_ ? Duration{0} : to[path].delay;
  }

  // Returns the last delay, however old the report is.
  Duration LastOf(uint16_t leaf, uint16_t path) const {
    const To* const to = to_.Find(leaf);
    return to == nullptr ? Duration{0} : to[path].delay;
  }

  size_t memory_bytes() const {
    return to_.memory_bytes() + from_.memory_bytes() + next_.size() * sizeof(size_t);
  }

 private:
  size_t paths() const { return to_.width(); }

  static uint32_t NanosecondsOf(Time at) { return static_cast<uint32_t>(at.ps / 1'000); }

  struct To {
    Duration delay{0};
    Time at{-kNever.ps};
  };
  struct From {
    Duration delay{0};
    Duration least{0};
    bool is_known = false;
    bool is_due = false;  // Waits to be reported.
  };

  bool queueing_;
  Duration stale_;
  SparseRows<To> to_;      // By leaf, then our path.
  SparseRows<From> from_;  // By leaf, then its path.
  std::vector<size_t> next_;
};

}  // namespace heddle
