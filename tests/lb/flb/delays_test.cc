// SPDX-License-Identifier: Apache-2.0
// The delays that FLB's leaves measure for each other, against plain tables, over random stamps,
// measurements and results.

#include "lb/flb/delays.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "core/random.h"
#include "tests/support/printers.h"

namespace heddle::delays_test {

constexpr size_t kLeaves = 5;

// A leaf with fewer paths of its own than the leaf that has the most.
struct Shape {
  size_t most_paths = 0;
  size_t own_paths = 0;
  bool above_least = false;
  Duration stamp_every{0};
  Duration ahead{0};
};

class PlainDelays {
 public:
  using Path = std::pair<uint16_t, uint16_t>;  // Leaf and path.
  struct Told {
    uint16_t leaf;
    uint16_t path;
    int64_t ns;
    friend bool operator==(const Told&, const Told&) = default;
    friend auto operator<=>(const Told&, const Told&) = default;
  };

  explicit PlainDelays(const Shape& shape) : shape_(shape) {}

  // Nanoseconds of this leaf's clock.
  int64_t Clock(Time now) const { return (now + shape_.ahead).ps / 1'000; }

  Duration DelayTo(Path path) const {
    const auto idle = idle_.find(path);
    const auto found = measured_.find(path);
    if (found == measured_.end()) {
      if (idle == idle_.end() || shape_.above_least) return 0_ps;
      return 1_ns * (idle->second.ps / 1'000);
    }
    const auto& ns = found->second;
    return 1_ns * (ns.back() - (shape_.above_least ? std::ranges::min(ns) : 0));
  }
  void Forget(Path path, Duration idle) {
    measured_.erase(path);
    stamped_.erase(path);
    idle_[path] = idle;
  }
  void Learn(Path path, int64_t ns) { measured_[path].push_back(ns); }

  bool Stamps(Path path, bool is_data, Time now) {
    if (!is_data) return false;
    const auto last = stamped_.find(path);
    if (last != stamped_.end() && now < last->second + shape_.stamp_every) return false;
    stamped_[path] = now;
    return true;
  }
  void Measure(Path path, int64_t ns, Time now) { waiting_[path] = {ns, now}; }
  std::optional<Told> TakeFor(uint16_t leaf) {
    const auto first = waiting_.lower_bound({leaf, 0});
    if (first == waiting_.end() || first->first.first != leaf) return std::nullopt;
    const Told told = {leaf, first->first.second, first->second.first};
    waiting_.erase(first);
    return told;
  }
  std::vector<Told> TakeOverdue(Time since) {
    std::vector<Told> all;
    std::erase_if(waiting_, [&](const auto& entry) {
      const auto& [path, news] = entry;
      if (news.second > since) return false;
      all.push_back({path.first, path.second, news.first});
      return true;
    });
    return all;
  }
  bool has_news() const { return !waiting_.empty(); }

 private:
  const Shape shape_;
  std::map<Path, Duration> idle_;
  std::map<Path, std::vector<int64_t>> measured_;
  std::map<Path, Time> stamped_;
  std::map<Path, std::pair<int64_t, Time>> waiting_;
};

class Comparison {
 public:
  Comparison(const Shape& shape, uint64_t seed)
      : shape_(shape),
        rng_(Rng::Stream(seed, "delays", 0)),
        delays_(shape.most_paths, shape.stamp_every, shape.above_least, shape.ahead),
        plain_(shape) {
    delays_.Resize(kLeaves, shape.own_paths);
  }

  void Step() {
    now_ = now_ + Duration{static_cast<int64_t>(rng_.Below(3'000'000))};
    switch (rng_.Below(6)) {
      case 0:
        Measure();
        break;
      case 1:
        Learn();
        break;
      case 2:
        Forget();
        break;
      case 3:
        SendOverdue();
        break;
      default:
        WriteHeader();
    }
    ASSERT_EQ(delays_.has_news(), plain_.has_news());
    for (uint16_t leaf = 0; leaf < kLeaves; ++leaf) {
      for (uint16_t path = 0; path < shape_.own_paths; ++path) {
        ASSERT_EQ(delays_.To(leaf)[path], plain_.DelayTo({leaf, path})) << leaf << ", " << path;
      }
    }
  }

  int carried = 0;
  int sent = 0;

 private:
  PlainDelays::Path AnyOwn() {
    return {static_cast<uint16_t>(rng_.Below(kLeaves)),
            static_cast<uint16_t>(rng_.Below(static_cast<uint32_t>(shape_.own_paths)))};
  }

  // The packet has taken up to 20 us, or arrives before it was sent by clocks that differ.
  void Measure() {
    const uint16_t leaf = static_cast<uint16_t>(rng_.Below(kLeaves));
    const uint16_t path =
        static_cast<uint16_t>(rng_.Below(static_cast<uint32_t>(shape_.most_paths)));
    const int64_t ns = static_cast<int64_t>(rng_.Below(22'000)) - 2'000;
    const uint32_t stamp = static_cast<uint32_t>(2 * (plain_.Clock(now_) - ns) + 1);
    delays_.Measure(leaf, path, stamp, now_);
    plain_.Measure({leaf, path}, ns, now_);
  }
  void Learn() {
    const auto [leaf, path] = AnyOwn();
    const int32_t ns = static_cast<int32_t>(rng_.Below(9'000)) - 500;
    delays_.Learn(leaf, path, ns);
    plain_.Learn({leaf, path}, ns);
  }
  void Forget() {
    const auto [leaf, path] = AnyOwn();
    const Duration idle{static_cast<int64_t>(rng_.Below(9'000'000))};
    delays_.Forget(leaf, path, idle);
    plain_.Forget({leaf, path}, idle);
  }
  void SendOverdue() {
    const Time since = now_ - 1_us * rng_.Below(40);
    std::vector<PlainDelays::Told> told;
    delays_.SendOverdue(since, [&](uint16_t leaf, uint8_t path, int32_t ns) {
      told.push_back({leaf, path, ns});
    });
    std::ranges::sort(told);
    ASSERT_EQ(told, plain_.TakeOverdue(since));
    sent += static_cast<int>(told.size());
  }
  void WriteHeader() {
    const auto [leaf, path] = AnyOwn();
    const bool is_data = rng_.Below(4) > 0;
    const FlbHeader header = delays_.HeaderFor(leaf, path, is_data, now_);
    const bool stamps = plain_.Stamps({leaf, path}, is_data, now_);
    ASSERT_EQ(header.stamp, stamps ? static_cast<uint32_t>(2 * plain_.Clock(now_) + 1) : 0u);
    const auto told = plain_.TakeFor(leaf);
    ASSERT_EQ(header.news != 0, told.has_value());
    if (!told) return;
    ++carried;
    ASSERT_EQ(static_cast<int32_t>(header.news & 0xff), told->path + 1);
    ASSERT_EQ(static_cast<int32_t>(header.news) >> 8, told->ns);
  }

  const Shape shape_;
  Rng rng_;
  FlbDelays delays_;
  PlainDelays plain_;
  Time now_;
};

TEST(FlbDelaysTest, AreThoseOfPlainTables) {
  for (const Shape& shape : {Shape{2, 2, false, 0_ps, 0_ps}, Shape{4, 3, true, 8_us, 700_ns},
                             Shape{64, 64, false, 5_us, 0_us - 3_us},
                             Shape{65, 5, true, 0_ps, 0_ps}, Shape{200, 130, false, 20_us, 1_ms}}) {
    SCOPED_TRACE(shape.most_paths);
    int carried = 0;
    int sent = 0;
    for (uint64_t seed = 0; seed < 6; ++seed) {
      Comparison comparison(shape, seed);
      for (int step = 0; step < 600; ++step) ASSERT_NO_FATAL_FAILURE(comparison.Step()) << step;
      carried += comparison.carried;
      sent += comparison.sent;
    }
    EXPECT_GT(carried, 50);
    EXPECT_GT(sent, 50);
  }
}

TEST(FlbDelaysTest, ADelayIsOverdueOnceItHasWaitedSinceThatInstant) {
  FlbDelays delays(2, 0_ps, false, 0_ps);
  delays.Resize(1, 2);
  const Time measured = Time{} + 1_ms;
  delays.Measure(0, 0, 1, measured);
  delays.Measure(0, 1, 1, measured + 1_ps);
  std::vector<uint8_t> sent;
  const auto send = [&](uint16_t, uint8_t path, int32_t) { sent.push_back(path); };
  delays.SendOverdue(measured - 1_ps, send);
  EXPECT_EQ(sent, (std::vector<uint8_t>{}));
  delays.SendOverdue(measured, send);
  EXPECT_EQ(sent, (std::vector<uint8_t>{0}));
  EXPECT_TRUE(delays.has_news());
}

// News have 24 bits with a sign: 2^23 - 1 ns are 8.4 ms.
TEST(FlbDelaysTest, TellsADelayThatIsTooLongForAHeaderAsTheLongest) {
  constexpr int32_t kLongest = 8'388'607;
  const Time now = Time{} + 1_s;
  for (const auto& [ns, told] :
       std::vector<std::pair<int64_t, int32_t>>{{kLongest - 1, kLongest - 1},
                                                {kLongest, kLongest},
                                                {kLongest + 1, kLongest},
                                                {90'000'000, kLongest},
                                                {-kLongest, -kLongest},
                                                {-90'000'000, -kLongest}}) {
    FlbDelays delays(1, 0_ps, false, 0_ps);
    delays.Resize(1, 1);
    delays.Measure(0, 0, static_cast<uint32_t>(2 * (now.ps / 1'000 - ns) + 1), now);
    const FlbHeader header = delays.HeaderFor(0, 0, true, now);
    EXPECT_EQ(static_cast<int32_t>(header.news) >> 8, told) << ns;
  }
}

// 8 bytes for each delay, 16 for what is known of a path, 16 for a result that waits, and a bit
// for each path of another leaf, in words of 8 bytes.
TEST(FlbDelaysTest, TakesTheMemoryOfItsTables) {
  FlbDelays two_words(70, 0_ps, false, 0_ps);
  two_words.Resize(3, 10);
  EXPECT_EQ(two_words.memory_bytes(), 30u * (8 + 16) + 210u * 16 + 3u * 2 * 8);
  FlbDelays one_word(64, 0_ps, false, 0_ps);
  one_word.Resize(3, 10);
  EXPECT_EQ(one_word.memory_bytes(), 30u * (8 + 16) + 192u * 16 + 3u * 8);
}

}  // namespace heddle::delays_test
