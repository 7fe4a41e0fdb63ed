// SPDX-License-Identifier: Apache-2.0
// What an FLB leaf knows of the one-way delays to the others, over each of its paths: packets carry
// stamps there, and what came of them back.

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
  // Leaves have at most `most_paths`. This one's clock is `ahead` of the right time.
  FlbDelays(size_t most_paths, Duration stamp_every, bool above_least, Duration ahead)
      : most_paths_(most_paths),
        words_((most_paths + 63) / 64),
        stamp_every_(stamp_every),
        above_least_(above_least),
        ahead_(ahead) {}

  // `paths`: of this leaf.
  void Resize(size_t leaves, size_t paths) {
    own_paths_ = paths;
    delays_.resize(leaves * paths);
    paths_.resize(leaves * paths);
    news_.resize(leaves * most_paths_);
    waiting_of_.resize(leaves * words_);
  }

  // To `leaf`, by path, as paths are compared: raw, or above the least.
  const Duration* To(uint16_t leaf) const { return &delays_[leaf * own_paths_]; }

  // Nothing is known of it but that a full packet takes so long where it is `idle`. In whole
  // nanoseconds, as stamps are: a measured delay must not win by what they leave out.
  void Forget(uint16_t leaf, uint16_t path, Duration idle) {
    paths_[leaf * own_paths_ + path] = Path{};
    delays_[leaf * own_paths_ + path] =
        above_least_ ? Duration{0} : Duration{idle.ps / 1'000 * 1'000};
  }

  // What a packet for `leaf` carries that is queued now for `own_path`.
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

  // A packet has come from `leaf` over its `path`.
  void Measure(uint16_t leaf, uint16_t path, uint32_t stamp, Time now) {
    uint64_t& waiting = waiting_of_[leaf * words_ + path / 64];
    const uint64_t its = uint64_t{1} << path % 64;
    if ((waiting & its) == 0) ++waiting_;
    waiting |= its;
    // Below zero if the other clock is ahead.
    news_[leaf * most_paths_ + path] = {static_cast<int32_t>(Stamp(now) - stamp) / 2, now};
  }

  // `leaf` says what it has measured of one of our paths.
  void Learn(uint16_t leaf, uint16_t own_path, int32_t delay_ns) {
    Path& path = paths_[leaf * own_paths_ + own_path];
    const Duration measured = 1'000_ps * int64_t{delay_ns};
    path.least = std::min(path.least, measured);
    delays_[leaf * own_paths_ + own_path] = above_least_ ? measured - path.least : measured;
  }

  // Whether something that was measured here waits to be carried back.
  bool has_news() const { return waiting_ > 0; }

  // `send(leaf, path, delay_ns)` for what nobody has carried since `since`.
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
  // From here to a leaf.
  struct Path {
    Duration least{kNever.ps};  // Measured so far; at first nothing.
    Time stamp_from;            // When its next packet is stamped.
  };
  // A delay that was measured here, to be told to the leaf at the other end.
  struct News {
    int32_t delay_ns = 0;
    Time since;
  };

  // The time as this leaf's clock has it, as stamps tell it.
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
  const size_t words_;  // Of 64 paths, for those of one leaf.
  const Duration stamp_every_;
  const bool above_least_;
  const Duration ahead_;
  size_t own_paths_ = 0;
  std::vector<Duration> delays_;      // By leaf, then our path: apart, as each decision reads many.
  std::vector<Path> paths_;           // Likewise.
  std::vector<News> news_;            // By leaf, then its path.
  std::vector<uint64_t> waiting_of_;  // By leaf: bits, of its paths whose news nobody has carried.
  int64_t waiting_ = 0;
};

}  // namespace heddle
