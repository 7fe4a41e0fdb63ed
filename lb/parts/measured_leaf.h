// SPDX-License-Identifier: Apache-2.0
// The base class of schemes in which leaves choose whole paths by their delays. Attach(),
// OnPacket() and OnEnqueue() give packets of the leaf's hosts a path and a stamp, read the reports
// of other leaves, and follow paths elsewhere. The scheme implements PathFor(), which chooses the
// path.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/random.h"
#include "lb/parts/follow_path.h"
#include "lb/parts/leaf_clock.h"
#include "lb/parts/leaf_delays.h"
#include "lb/parts/leaf_paths.h"
#include "settings/fields.h"

namespace heddle {

enum class DelayMeaning { kQueueing, kWhole };

struct MeasuredLeafSettings {
  std::optional<Duration> refresh;
  Duration stale = 1_ms;
  DelayMeaning meaning = DelayMeaning::kQueueing;
  Duration clock_spread{0};

  void Declare(Fields& fields) {
    fields.AddOr("auto", "refresh", refresh, {.at_least = 1_ns, .at_most = 10_s},
                 "Time between two looks of a leaf at the delays of the paths to another leaf. "
                 "auto: twice the longest idle round trip.");
    fields.Add("stale", stale, {.at_least = 1_ns, .at_most = 1000_s},
               "A path's delay counts as zero when its last report is older than this.");
    fields.Choice(
        "delay", meaning, {{"queueing", DelayMeaning::kQueueing}, {"whole", DelayMeaning::kWhole}},
        "queueing: the delay above the smallest ever measured on the path, which needs no "
        "synchronised clocks; whole: the full delay, which also tells long paths from short ones.");
    DeclareClockSpread(fields, clock_spread);
  }
};

class MeasuredLeaf : public SwitchPolicy {
 public:
  MeasuredLeaf(const MeasuredLeafSettings& settings, PathDigits digits, uint64_t salt)
      : settings_(settings),
        digits_(digits),
        salt_(salt),
        clock_ahead_(ClockAhead(settings.clock_spread, salt)),
        delays_(0, 0, false, settings.stale) {}

  Packets asked_about() const final { return Packets::kEvery; }

  void Attach(SwitchView& view) final {
    is_leaf_ = view.tier() == 0 && !view.Uplinks().empty();
    if (!is_leaf_) return;
    paths_.Attach(view, digits_);
    const bool queueing = settings_.meaning == DelayMeaning::kQueueing;
    delays_ = LeafDelays(view.leaves(), paths_.count(), queueing, settings_.stale);
    OnAttach(view);
  }

  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex in_port,
                    const Candidates& candidates) final {
    paths_.Forget();
    if (version_ != candidates.version) delays_.ForgetLeast();
    version_ = candidates.version;
    const bool ends = view.FacesHost(candidates.ports.front());
    if (is_leaf_ && ends && !view.FacesHost(in_port)) {
      delays_.Arrive(packet.Scheme<LeafDelayHeader>(), view.LeafOf(packet.src), packet.path,
                     view.now() + clock_ahead_);
    }
    if (is_leaf_ && !ends && view.IsAttached(packet.src) && !paths_.Live(candidates).empty()) {
      return Decision::Forward(paths_.Take(PathFor(view, packet, candidates)));
    }
    return Decision::Forward(PathOrHash(view, packet, candidates, salt_));
  }

  // Stamps every packet that begins here and ends at another leaf.
  bool enqueue_only_stamps() const final { return true; }
  void OnEnqueue(SwitchView& view, Packet& packet, PortIndex /*port*/) final {
    if (!is_leaf_ || !view.IsAttached(packet.src) || view.IsAttached(packet.dst)) return;
    paths_.Stamp(packet);
    packet.SetScheme(delays_.Depart(view.LeafOf(packet.dst), view.now() + clock_ahead_));
  }

 protected:
  // Called at a leaf, before its first packet.
  virtual void OnAttach(SwitchView& view) = 0;

  // Returns one of paths().LiveTo(leaf, candidates), for a packet that begins here and ends at
  // another leaf.
  virtual uint16_t PathFor(SwitchView& view, const Packet& packet,
                           const Candidates& candidates) = 0;

  // Returns the rate of a leaf's fastest uplink: the most that a fast path can carry.
  static BitRate FastestUplink(const SwitchView& view) {
    BitRate fastest{};
    for (const PortIndex port : view.Uplinks()) fastest = std::max(fastest, view.Rate(port));
    return fastest;
  }

  bool is_leaf() const { return is_leaf_; }
  LeafPaths& paths() { return paths_; }
  const LeafPaths& paths() const { return paths_; }
  Duration DelayOf(uint16_t leaf, uint16_t path, Time now) const {
    return delays_.Of(leaf, path, now + clock_ahead_);
  }
  // Returns the last delay, however old it is.
  Duration LastDelayOf(uint16_t leaf, uint16_t path) const { return delays_.LastOf(leaf, path); }
  size_t memory_bytes() const { return sizeof(salt_) + delays_.memory_bytes(); }

 private:
  const MeasuredLeafSettings settings_;
  const PathDigits digits_;
  const uint64_t salt_;
  const Duration clock_ahead_;
  bool is_leaf_ = false;
  LeafPaths paths_;
  LeafDelays delays_;
  uint32_t version_ = 0;  // Version of the routes that the delays were measured on.
};

}  // namespace heddle
