// SPDX-License-Identifier: Apache-2.0
// What an FLB leaf knows of the one-way delays to the others, over each of its uplinks: packets
// carry stamps there, and what came of them back.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/packet.h"
#include "core/units.h"
#include "lb/flb_header.h"

namespace heddle {

class FlbDelays {
 public:
  // From here to a leaf, over one uplink.
  struct Path {
    Duration delay;             // As paths are compared: raw, or above the least.
    Duration least{kNever.ps};  // Measured so far; at first nothing.
    Time stamp_from;            // When its next packet is stamped.
  };

  // At most `uplinks` of a leaf. This one's clock is `ahead` of the right time.
  FlbDelays(size_t uplinks, Duration stamp_every, bool above_least, Duration ahead)
      : uplinks_(uplinks), stamp_every_(stamp_every), above_least_(above_least), ahead_(ahead) {}

  void Resize(size_t leaves, size_t ports) {
    ports_ = ports;
    paths_.resize(leaves * ports);
    news_.resize(leaves * uplinks_);
  }

  // To `leaf`, by port.
  const Path* To(uint16_t leaf) const { return &paths_[leaf * ports_]; }

  // Nothing is known of it but that a full packet takes so long where it is `idle`.
  void Forget(uint16_t leaf, PortIndex port, Duration idle) {
    paths_[leaf * ports_ + port] = Path{};
    if (!above_least_) paths_[leaf * ports_ + port].delay = idle;
  }

  // What a packet for `leaf` carries that is queued now at `port`.
  FlbHeader HeaderFor(uint16_t leaf, PortIndex port, bool is_data, Time now) {
    Path& path = paths_[leaf * ports_ + port];
    FlbHeader header;
    if (is_data && path.stamp_from <= now) {
      header.stamp = Stamp(now);
      path.stamp_from = now + stamp_every_;
    }
    if (waiting_ > 0) header.news = TakeNews(leaf);
    return header;
  }

  // A packet has come from `leaf` over its uplink `path`.
  void Measure(uint16_t leaf, uint16_t path, uint32_t stamp, Time now) {
    News& news = news_[leaf * uplinks_ + path];
    if (!news.waits) ++waiting_;
    // Below zero if the other clock is ahead.
    news = {static_cast<int32_t>(Stamp(now) - stamp) / 2, true, now};
  }

  // `leaf` says what it has measured of what went over `port`.
  void Learn(uint16_t leaf, PortIndex port, int32_t delay_ns) {
    Path& path = paths_[leaf * ports_ + port];
    const Duration measured = 1'000_ps * int64_t{delay_ns};
    path.least = std::min(path.least, measured);
    path.delay = above_least_ ? measured - path.least : measured;
  }

  // Whether something that was measured here waits to be carried back.
  bool has_news() const { return waiting_ > 0; }

  // `send(leaf, path, delay_ns)` for what nobody has carried since `since`.
  template <class Send>
  void SendOverdue(Time since, const Send& send) {
    for (size_t i = 0; i < news_.size() && waiting_ > 0; ++i) {
      if (!news_[i].waits || news_[i].since > since) continue;
      news_[i].waits = false;
      --waiting_;
      send(static_cast<uint16_t>(i / uplinks_), static_cast<uint8_t>(i % uplinks_),
           news_[i].delay_ns);
    }
  }

  size_t memory_bytes() const { return paths_.size() * sizeof(Path) + news_.size() * sizeof(News); }

 private:
  // A delay that was measured here and waits to be told to the leaf at the other end.
  struct News {
    int32_t delay_ns = 0;
    bool waits = false;
    Time since;
  };

  // The time as this leaf's clock has it, as stamps tell it.
  uint32_t Stamp(Time now) const {
    return static_cast<uint32_t>((now + ahead_).ps / 1'000) << 1 | 1;
  }

  uint32_t TakeNews(uint16_t leaf) {
    for (size_t path = 0; path < uplinks_; ++path) {
      News& news = news_[leaf * uplinks_ + path];
      if (!news.waits) continue;
      news.waits = false;
      --waiting_;
      constexpr int32_t kLongest = (1 << 23) - 1;  // 8.4 ms.
      const int32_t told = std::clamp(news.delay_ns, -kLongest, kLongest);
      return static_cast<uint32_t>(told) << 8 | static_cast<uint32_t>(path + 1);
    }
    return 0;
  }

  const size_t uplinks_;
  const Duration stamp_every_;
  const bool above_least_;
  const Duration ahead_;
  size_t ports_ = 0;
  std::vector<Path> paths_;  // By leaf, then port.
  std::vector<News> news_;   // By leaf, then path.
  int64_t waiting_ = 0;
};

}  // namespace heddle
