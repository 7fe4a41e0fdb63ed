// SPDX-License-Identifier: Apache-2.0
// What leaves learn of the delays of paths to each other, from stamps in packets: the leaf at the
// end measures, and tells the leaf at the beginning in packets that go back, of one path in each,
// in turn, those first that packets have come over since they were told of last.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/units.h"

namespace heddle {

// In packets between leaves. One that no leaf has stamped is all zeros.
struct LeafDelayHeader {
  uint32_t sent_ns = 0;     // When it was queued at its first leaf, modulo 4.3 s; 0: not stamped.
  uint16_t path = 0xffff;   // Of the leaf that it goes to, whose delay it tells; 0xffff: of none.
  uint16_t delay_16ns = 0;  // Up to a millisecond; longer ones are that.
};

class LeafDelays {
 public:
  // `queueing`: only what is above the least ever measured on a path counts. What has not been told
  // of for `stale` counts as nothing.
  LeafDelays(size_t leaves, size_t paths, bool queueing, Duration stale)
      : paths_(paths),
        queueing_(queueing),
        stale_(stale),
        to_(leaves * paths),
        from_(leaves * paths),
        next_(leaves) {}

  // A packet comes from `leaf`, which sent it over `path` of its own. Times are of the clock of the
  // leaf that looks at it, which need not agree with those of others.
  void Arrive(const LeafDelayHeader& header, uint16_t leaf, uint16_t path, Time now) {
    if (header.sent_ns == 0) return;
    if (header.path < paths_) {
      to_[leaf * paths_ + header.path] = {16'000_ps * header.delay_16ns, now};
    }
    if (path >= paths_) return;
    // Below zero if the other clock is ahead.
    const int32_t ns = static_cast<int32_t>(NanosecondsOf(now) - header.sent_ns);
    From& from = from_[leaf * paths_ + path];
    const Duration delay = 1'000_ps * int64_t{ns};
    from.least = from.is_known ? std::min(from.least, delay) : delay;
    from.delay = queueing_ ? delay - from.least : delay;
    from.is_known = from.is_due = true;
  }

  // The header of a packet that is sent to `leaf` now.
  LeafDelayHeader Depart(uint16_t leaf, Time now) {
    LeafDelayHeader header{.sent_ns = std::max(NanosecondsOf(now), uint32_t{1})};
    From* const of_leaf = &from_[leaf * paths_];
    for (size_t i = 0; i < paths_; ++i) {
      const size_t path = (next_[leaf] + i) % paths_;
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

  // Routes have changed: a path may be longer now, and the least delay is learnt anew.
  void ForgetLeast() {
    for (From& from : from_) from.is_known = false;
  }

  Duration Of(uint16_t leaf, uint16_t path, Time now) const {
    const To& to = to_[leaf * paths_ + path];
    return now - to.at > stale_ ? Duration{0} : to.delay;
  }

  // However long ago it was told.
  Duration LastOf(uint16_t leaf, uint16_t path) const { return to_[leaf * paths_ + path].delay; }

  size_t memory_bytes() const {
    return to_.size() * sizeof(To) + from_.size() * sizeof(From) + next_.size() * sizeof(size_t);
  }

 private:
  static uint32_t NanosecondsOf(Time at) { return static_cast<uint32_t>(at.ps / 1'000); }

  struct To {
    Duration delay{0};
    Time at{-kNever.ps};
  };
  struct From {
    Duration delay{0};
    Duration least{0};
    bool is_known = false;
    bool is_due = false;  // To be told of.
  };

  size_t paths_;
  bool queueing_;
  Duration stale_;
  std::vector<To> to_;      // By leaf, then our path.
  std::vector<From> from_;  // By leaf, then its path.
  std::vector<size_t> next_;
};

}  // namespace heddle
