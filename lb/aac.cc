// SPDX-License-Identifier: Apache-2.0
// AAC, adaptively adjusting concurrency (Gao et al., J. Network and Systems Management 29(3),
// 2021). A leaf sprays packets at random, but only over the paths whose delays are near the least:
// over all paths if they are alike, over one path at worst. Every other path gets a packet now and
// then, so that the leaf learns when it has become better.
//
// This is a reconstruction: the principle is the paper's, the rule for which paths are near enough
// is ours.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/random.h"
#include "lb/parts/load_balancer.h"
#include "lb/parts/measured_leaf.h"

namespace heddle {
namespace {

struct AacSettings {
  MeasuredLeafSettings leaf;
  std::optional<Duration> spread;
  double hysteresis = 0.1;
};

class Aac final : public MeasuredLeaf {
 public:
  Aac(const AacSettings& settings, Duration refresh, PathDigits digits, uint64_t salt, Rng rng)
      : MeasuredLeaf(settings.leaf, digits, salt),
        refresh_(refresh),
        spread_(settings.spread),
        hysteresis_(settings.hysteresis),
        rng_(rng) {}

  size_t StateBytes() const override {
    return memory_bytes() + subsets_.size() * (sizeof(Subset) + paths().count() / 8);
  }
  std::vector<Counter> Counters() const override {
    return {{"adjustments", adjustments_}, {"trials", trials_}};
  }

 private:
  // The paths to one leaf that are in use.
  struct Subset {
    Time at{-kNever.ps};
    uint32_t version = 0;       // Version of the candidates that `used` was made from.
    std::vector<bool> is_used;  // By path; empty until the first packet.
    std::vector<uint16_t> used;
    uint16_t next_trial = 0;
    bool trial_is_due = false;
  };

  void OnAttach(SwitchView& view) override {
    subsets_.resize(view.leaves());
    const Duration three_packets = 3 * SerializationDelay(1500_B, FastestUplink(view));
    spread_ps_ = static_cast<double>(spread_.value_or(three_packets).ps);
  }

  uint16_t PathFor(SwitchView& view, const Packet& packet, const Candidates& candidates) override {
    const uint16_t leaf = view.LeafOf(packet.dst);
    Subset& subset = subsets_[leaf];
    const std::span<const uint16_t> live = paths().LiveTo(leaf, candidates);
    if (view.now() - subset.at >= refresh_ || subset.version != candidates.version) {
      Adjust(subset, leaf, live, view.now());
      subset.version = candidates.version;
    }
    if (subset.trial_is_due) return Try(subset, live);
    return subset.used[rng_.Below(static_cast<uint32_t>(subset.used.size()))];
  }

  // A path in use may be slightly worse than the limit, and an unused one must be slightly better,
  // so that a path near the limit does not come and go.
  void Adjust(Subset& subset, uint16_t leaf, std::span<const uint16_t> live, Time now) {
    if (subset.is_used.empty()) subset.is_used.assign(paths().count(), true);
    Duration least = LatestOf(subset, leaf, live.front(), now);
    for (const uint16_t path : live) least = std::min(least, LatestOf(subset, leaf, path, now));
    const size_t before = subset.used.size();
    subset.used.clear();
    for (const uint16_t path : live) {
      const double limit = spread_ps_ * (subset.is_used[path] ? 1 + hysteresis_ : 1 - hysteresis_);
      const double worse = static_cast<double>((LatestOf(subset, leaf, path, now) - least).ps);
      subset.is_used[path] = worse <= limit;
      if (subset.is_used[path]) subset.used.push_back(path);
    }
    adjustments_ += before != subset.used.size() ? 1 : 0;
    subset.at = now;
    subset.trial_is_due = subset.used.size() < live.size();
  }

  // A path not in use keeps its last measured delay until a trial measures a new one, however rare
  // trials are.
  Duration LatestOf(const Subset& subset, uint16_t leaf, uint16_t path, Time now) const {
    return subset.is_used[path] ? DelayOf(leaf, path, now) : LastDelayOf(leaf, path);
  }

  // Sends one packet over a path that is not in use, a different path each time.
  uint16_t Try(Subset& subset, std::span<const uint16_t> live) {
    subset.trial_is_due = false;
    for (size_t i = 0; i < live.size(); ++i) {
      const uint16_t path = live[(subset.next_trial + i) % live.size()];
      if (subset.is_used[path]) continue;
      subset.next_trial = static_cast<uint16_t>((subset.next_trial + i + 1) % live.size());
      ++trials_;
      return path;
    }
    return subset.used.front();
  }

  const Duration refresh_;
  const std::optional<Duration> spread_;
  double spread_ps_ = 0;
  const double hysteresis_;
  Rng rng_;
  std::vector<Subset> subsets_;  // By leaf.
  int64_t adjustments_ = 0;
  int64_t trials_ = 0;
};

class AacBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& fields) override {
    settings_.leaf.Declare(fields);
    fields.AddOr("auto", "spread", settings_.spread, {.at_least = Duration{0}, .at_most = 10_s},
                 "Packets use the paths whose delay exceeds the smallest delay by at most this. "
                 "auto: the transmission time of three packets of 1500 bytes on the leaf's fastest "
                 "uplink, since TCP takes three overtaking packets for a loss.");
    fields.Add("hysteresis", settings_.hysteresis, {.at_least = 0.0, .at_most = 1.0},
               "spread is larger by this share for paths in use, and smaller by this share for "
               "unused paths.");
  }
  bool reorders() const override { return true; }

  void Prepare(const FabricShape& fabric, std::string_view /*path*/,
               Diagnostics& /*diagnostics*/) override {
    refresh_ = settings_.leaf.refresh.value_or(2 * fabric.base_rtt);
    digits_ = DigitsOf(fabric);
  }

  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const override {
    return std::make_unique<Aac>(settings_, refresh_, digits_, EcmpSalt(id, seed),
                                 Rng::Stream(seed, "aac", id));
  }

 private:
  AacSettings settings_;
  Duration refresh_{2 * FabricShape{}.base_rtt};
  PathDigits digits_;
};

[[maybe_unused]] const bool registered =
    LoadBalancers().Add<AacBalancer>({"aac",
                                      "A reconstruction of AAC: packets are spread over the paths "
                                      "whose delays are close to the smallest.",
                                      "Gao et al., J. Network and Systems Management 2021"});

}  // namespace
}  // namespace heddle
