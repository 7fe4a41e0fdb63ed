// SPDX-License-Identifier: Apache-2.0
// The packets that Themis' last leaf has forwarded to its hosts. They tell whether a packet that a
// host asks for is on its way, lost, or neither for sure.

#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle {

// The packets of a number of flows, each with a window of packets beyond the first one missing.
class ForwardedPackets {
 public:
  // `paths` is the most paths that a flow can have.
  ForwardedPackets(size_t flows, size_t window, size_t paths)
      : flows_(flows), window_(window), paths_(paths) {}

  struct Flow {
    uint32_t slot = 0;
    uint32_t missing = 0;  // All packets below have been forwarded.
  };

  // The caller holds at most `flows` flows at once.
  Flow Take() {
    const Flow flow{.slot = TakeSlot()};
    std::fill_n(ahead_.begin() + static_cast<ptrdiff_t>(flow.slot * window_), window_, false);
    ForgetPaths(flow);
    return flow;
  }
  void GiveBack(const Flow& flow) { free_.push_back(flow.slot); }

  // Returns false if `packet` lies beyond the window, and cannot be remembered.
  bool Add(Flow& flow, uint32_t packet) {
    if (packet < flow.missing) return true;
    if (packet - flow.missing >= window_) return false;
    Ahead(flow, packet) = true;
    for (; Ahead(flow, flow.missing); ++flow.missing) Ahead(flow, flow.missing) = false;
    return true;
  }

  // `packet`, sent for the first time, has come in its turn over one of `paths` paths. Later ones
  // of its path come after it.
  void NotePath(const Flow& flow, uint32_t packet, uint32_t paths) {
    Latest(flow, packet % paths) = packet + 1;
  }
  // The paths of the flow change.
  void ForgetPaths(const Flow& flow) {
    std::fill_n(latest_.begin() + static_cast<ptrdiff_t>(flow.slot * paths_), paths_, 0);
  }

  enum class Fate { kUnknown, kOnItsWay, kLost };

  // Returns what became of packet `expected`, the first one that the host lacks. It is lost if a
  // later one of its path has come.
  Fate FateOf(const Flow& flow, uint32_t expected, uint32_t paths) const {
    if (expected < flow.missing) return Fate::kOnItsWay;
    const uint32_t latest = latest_[flow.slot * paths_ + expected % paths];
    return latest > expected ? Fate::kLost : Fate::kUnknown;
  }

  size_t memory_bytes() const {
    return flows_ * window_ / 8 + flows_ * (paths_ + 1) * sizeof(uint32_t);
  }

 private:
  // Returns a slot that was given back, or a new one.
  uint32_t TakeSlot() {
    if (free_.empty()) {
      assert(slots_ < flows_);
      ++slots_;
      ahead_.resize(slots_ * window_);
      latest_.resize(slots_ * paths_);
      return static_cast<uint32_t>(slots_ - 1);
    }
    const uint32_t slot = free_.back();
    free_.pop_back();
    return slot;
  }

  std::vector<bool>::reference Ahead(const Flow& flow, uint32_t packet) {
    return ahead_[flow.slot * window_ + packet % window_];
  }
  uint32_t& Latest(const Flow& flow, uint32_t path) { return latest_[flow.slot * paths_ + path]; }

  const size_t flows_;
  const size_t window_;
  const size_t paths_;
  std::vector<bool> ahead_;       // By flow, then by packet modulo the window.
  std::vector<uint32_t> latest_;  // By flow, then by packet modulo paths: the latest one, plus 1.
  size_t slots_ = 0;              // Those that have ever been taken.
  std::vector<uint32_t> free_;    // Those of them that have been given back.
};

}  // namespace heddle
