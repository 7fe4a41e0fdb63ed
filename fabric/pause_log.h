// SPDX-License-Identifier: Apache-2.0
// Records every pause (PFC) of a node's transmitters, by class, where the sums of a PauseMeter are
// not enough. Hosts and switches call Set(); instruments read the log between windows.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/packet.h"
#include "core/units.h"
#include "fabric/shared_memory.h"

namespace heddle {

struct PauseInterval {
  Time start;
  Time end;
  Duration blocked;  // The part of the pause in which packets of the class waited.
  PortIndex port;
  uint8_t cls;
};

class PauseLog {
 public:
  explicit PauseLog(size_t ports) : open_(ports) {}

  // From `now` on the classes in `paused` of `port` are paused and those in `waiting` have packets.
  // Both are bit masks. A paused class that waits goes on waiting until the pause ends.
  void Set(PortIndex port, unsigned paused, unsigned waiting, Time now) {
    for (size_t cls = 0; cls < kClasses; ++cls) {
      Open& open = open_[port][cls];
      if ((paused >> cls & 1) == 0) {
        if (open.start != kNever) ended_.push_back(Until(port, cls, now));
        open = Open();
        continue;
      }
      if (open.start == kNever) open.start = now;
      if ((waiting >> cls & 1) != 0 && open.blocked == kNever) open.blocked = now;
    }
  }

  // --- Between windows ---

  // Pauses that have ended, in the order of time. The reader clears the list.
  std::vector<PauseInterval>& ended() { return ended_; }

  // Appends the pauses under way, as if they ended `now`.
  void AddOpen(Time now, std::vector<PauseInterval>& to) const {
    for (size_t port = 0; port < open_.size(); ++port) {
      for (size_t cls = 0; cls < kClasses; ++cls) {
        if (open_[port][cls].start == kNever) continue;
        to.push_back(Until(static_cast<PortIndex>(port), cls, now));
      }
    }
  }

 private:
  struct Open {
    Time start = kNever;    // kNever: the class is not paused.
    Time blocked = kNever;  // Since when packets wait.
  };

  PauseInterval Until(PortIndex port, size_t cls, Time now) const {
    const Open& open = open_[port][cls];
    return {open.start, now, open.blocked == kNever ? Duration{0} : now - open.blocked, port,
            static_cast<uint8_t>(cls)};
  }

  std::vector<std::array<Open, kClasses>> open_;  // By port.
  std::vector<PauseInterval> ended_;
};

}  // namespace heddle
