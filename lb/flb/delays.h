// SPDX-License-Identifier: Apache-2.0
// An FLB leaf's one-way delays to the other leaves over each of its paths. The leaf stamps packets;
// the leaf at the other end measures and sends the result back. The switch policy calls HeaderFor()
// and Measure() for packets that leave and arrive, Learn() for results, and To() to choose.

#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/packet.h"
#include "core/units.h"
#include "lb/flb/header.h"

namespace heddle {

class FlbDelays {
 public:
  // `most_paths`: the most paths that any leaf has. `ahead`: how far ahead this leaf's clock is.
  FlbDelays(size_t most_paths, Duration stamp_every, bool above_least, Duration ahead)
      : most_paths_(most_paths),
        words_((most_paths + 63) / 64),
        stamp_every_(stamp_every),
        above_least_(above_least),
        ahead_(ahead) {}

  // `paths`: the number of this leaf's paths.
  void Resize(size_t leaves, size_t paths) {
    own_paths_ = paths;
    delays_.resize(leaves * paths);
    paths_.resize(leaves * paths);
    news_.resize(leaves * most_paths_);
    waiting_of_.resize(leaves * words_);
  }

  // Returns the delays to `leaf`, by path, as they are compared: raw, or above the least.
  const Duration* To(uint16_t leaf) const { return &delays_[leaf * own_paths_]; }

  // Forgets a path's measurements. Its delay is `idle` until the next one, that of a full packet in
  // an idle fabric; cut to whole nanoseconds like stamps: a measured delay must not win by
  // rounding.
  void Forget(uint16_t leaf, uint16_t path, Duration idle) {
    paths_[leaf * own_paths_ + path] = Path{};
    delays_[leaf * own_paths_ + path] =
        above_least_ ? Duration{0} : Duration{idle.ps / 1'000 * 1'000};
  }

  // Returns the header for a packet to `leaf` that is queued now on `own_path`.
  FlbHeader HeaderFor(uint16_t leaf, uint16_t own_path, bool is_data, Time now) {
    Path& path = paths_[leaf * own_paths_ + own_path];
    FlbHeader header;
    if (is_data && path.stamp_from <= now) {
      header.stamp = Stamp(now);
      path.stamp_from = now + stamp_every_;
    }
    if (waiting_ > 0) header.news = TakeNews(leaf);
    return header;
  }

  // Called when a packet has come from `leaf` over its `path`: measures the path's delay.
  void Measure(uint16_t leaf, uint16_t path, uint32_t stamp, Time now) {
    uint64_t& waiting = waiting_of_[leaf * words_ + path / 64];
    const uint64_t its = uint64_t{1} << path % 64;
    if ((waiting & its) == 0) ++waiting_;
    waiting |= its;
    // Negative if the other clock is ahead.
    news_[leaf * most_paths_ + path] = {static_cast<int32_t>(Stamp(now) - stamp) / 2, now};
  }

  // Stores the delay that `leaf` has measured on one of our paths.
  void Learn(uint16_t leaf, uint16_t own_path, int32_t delay_ns) {
    Path& path = paths_[leaf * own_paths_ + own_path];
    const Duration measured = 1'000_ps * int64_t{delay_ns};
    path.least = std::min(path.least, measured);
    delays_[leaf * own_paths_ + own_path] = above_least_ ? measured - path.least : measured;
  }

  // Returns true if a delay that was measured here waits to be sent back.
  bool has_news() const { return waiting_ > 0; }

  // Calls `send(leaf, path, delay_ns)` for each delay that has waited since `since` or longer.
  template <class Send>
  void SendOverdue(Time since, const Send& send) {
    for (size_t i = 0; i < waiting_of_.size() && waiting_ > 0; ++i) {
      const size_t leaf = i / words_;
      for (uint64_t left = waiting_of_[i]; left != 0; left &= left - 1) {
        const size_t path = PathOfLowest(i % words_, left);
        const News& news = news_[leaf * most_paths_ + path];
        if (news.since > since) continue;
        waiting_of_[i] &= ~(left & -left);
        --waiting_;
        send(static_cast<uint16_t>(leaf), static_cast<uint8_t>(path), news.delay_ns);
      }
    }
  }

  size_t memory_bytes() const {
    return paths_.size() * (sizeof(Path) + sizeof(Duration)) + news_.size() * sizeof(News) +
           waiting_of_.size() * sizeof(uint64_t);
  }

 private:
  // A path from this leaf to another one.
  struct Path {
    Duration least{kNever.ps};  // The least measured delay; kNever: none yet.
    Time stamp_from;            // When its next packet gets a stamp.
  };
  // A delay that was measured here, to be sent to the leaf at the other end.
  struct News {
    int32_t delay_ns = 0;
    Time since;
  };

  // Returns the time of this leaf's clock in the format of stamps.
  uint32_t Stamp(Time now) const {
    return static_cast<uint32_t>((now + ahead_).ps / 1'000) << 1 | 1;
  }

  static size_t PathOfLowest(size_t word, uint64_t waiting) {
    return 64 * word + static_cast<size_t>(std::countr_zero(waiting));
  }

  uint32_t TakeNews(uint16_t leaf) {
    for (size_t word = 0; word < words_; ++word) {
      uint64_t& waiting = waiting_of_[leaf * words_ + word];
      if (waiting == 0) continue;
      const size_t path = PathOfLowest(word, waiting);
      waiting &= waiting - 1;
      --waiting_;
      constexpr int32_t kLongest = (1 << 23) - 1;  // 8.4 ms.
      const int32_t told =
          std::clamp(news_[leaf * most_paths_ + path].delay_ns, -kLongest, kLongest);
      return static_cast<uint32_t>(told) << 8 | static_cast<uint32_t>(path + 1);
    }
    return 0;
  }

  const size_t most_paths_;
  const size_t words_;  // Words of 64 paths for the paths of one leaf.
  const Duration stamp_every_;
  const bool above_least_;
  const Duration ahead_;
  size_t own_paths_ = 0;
  std::vector<Duration> delays_;      // By leaf, then our path. Apart, as each decision reads many.
  std::vector<Path> paths_;           // By leaf, then our path.
  std::vector<News> news_;            // By leaf, then its path.
  std::vector<uint64_t> waiting_of_;  // By leaf: a bit for each of its paths with unsent news.
  int64_t waiting_ = 0;
};

}  // namespace heddle
