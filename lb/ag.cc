// SPDX-License-Identifier: Apache-2.0
// AG, adaptive granularity (Liu et al., ICNP 2019). A flow takes another path after a number of
// packets. The more the delays of the paths differ, the larger this number is: one packet if the
// paths are alike; otherwise as many as a fast path can send while a packet waits on a slow one, so
// that few packets are overtaken.
//
// This is a reconstruction: the principle is the paper's, the formula is ours.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/random.h"
#include "lb/parts/flow_table.h"
#include "lb/parts/load_balancer.h"
#include "lb/parts/measured_leaf.h"
#include "lb/parts/ties.h"

namespace heddle {
namespace {

enum class Pick { kRandom, kLeastDelay };

struct AgSettings {
  MeasuredLeafSettings leaf;
  int64_t most = 45;  // 64 KB of packets of 1460 bytes.
  Pick pick = Pick::kRandom;
  FlowTableSettings flows{.age = 100_ms};
};

constexpr Bytes kPacket{1'460};

class Ag final : public MeasuredLeaf {
 public:
  Ag(const AgSettings& settings, Duration refresh, PathDigits digits, uint64_t salt, Rng rng)
      : MeasuredLeaf(settings.leaf, digits, salt),
        most_(settings.most),
        pick_(settings.pick),
        refresh_(refresh),
        rng_(rng),
        flows_(settings.flows) {}

  void Prefetch(const Packet& packet) const override {
    if (is_leaf()) flows_.Prefetch(packet);
  }

  size_t StateBytes() const override {
    return memory_bytes() + flows_.memory_bytes() + known_.size() * sizeof(Known);
  }
  std::vector<Counter> Counters() const override {
    return {{"cells", cells_},
            {"reroutes", reroutes_},
            {"table_entries", static_cast<int64_t>(flows_.used())},
            {"table_evictions", flows_.evictions()}};
  }

 private:
  struct Flow {
    uint16_t path = kNoPath;
    uint16_t left = 0;  // Packets until the flow takes another path.
  };
  // The granularity towards one leaf, computed from the delays of its paths at the time `at`.
  struct Known {
    Time at{-kNever.ps};
    int64_t granularity = 1;
  };

  void OnAttach(SwitchView& view) override {
    known_.resize(view.leaves());
    one_packet_ = SerializationDelay(kPacket, FastestUplink(view));
  }

  uint16_t PathFor(SwitchView& view, const Packet& packet, const Candidates& candidates) override {
    Flow& flow = flows_.Touch(packet, view.now()).state;
    if (flow.left == 0 || !paths().Lives(flow.path, candidates)) {
      const uint16_t leaf = view.LeafOf(packet.dst);
      const std::span<const uint16_t> live = paths().LiveTo(leaf, candidates);
      const uint16_t before = flow.path;
      flow.path = Choose(leaf, live, view.now());
      flow.left = static_cast<uint16_t>(GranularityTo(leaf, live, view.now()));
      ++cells_;
      reroutes_ += before != kNoPath && before != flow.path ? 1 : 0;
    }
    --flow.left;
    return flow.path;
  }

  int64_t GranularityTo(uint16_t leaf, std::span<const uint16_t> live, Time now) {
    Known& known = known_[leaf];
    if (now - known.at < refresh_) return known.granularity;
    Duration least = DelayOf(leaf, live.front(), now);
    Duration most = least;
    for (const uint16_t path : live) {
      least = std::min(least, DelayOf(leaf, path, now));
      most = std::max(most, DelayOf(leaf, path, now));
    }
    known = {now, std::clamp<int64_t>(1 + (most - least) / one_packet_, 1, most_)};
    return known.granularity;
  }

  uint16_t Choose(uint16_t leaf, std::span<const uint16_t> live, Time now) {
    if (pick_ == Pick::kRandom) return live[rng_.Below(static_cast<uint32_t>(live.size()))];
    return LeastOf(live, kNoPort, rng_, [&](uint16_t path) { return DelayOf(leaf, path, now); });
  }

  const int64_t most_;
  const Pick pick_;
  const Duration refresh_;
  Duration one_packet_{0};
  Rng rng_;
  AgedFlowTable<Flow> flows_;
  std::vector<Known> known_;  // By leaf.
  int64_t cells_ = 0;
  int64_t reroutes_ = 0;
};

class AgBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& fields) override {
    settings_.leaf.Declare(fields);
    fields.Add("most", settings_.most, Between<int64_t>(1, 65'535),
               "Largest number of packets that a flow sends before it takes another path.");
    fields.Choice("pick", settings_.pick,
                  {{"random", Pick::kRandom}, {"least_delay", Pick::kLeastDelay}},
                  "The next path of a flow: a random one, or the one with the smallest delay.");
    settings_.flows.Declare(fields);
  }
  bool reorders() const override { return true; }

  void Prepare(const FabricShape& fabric, std::string_view /*path*/,
               Diagnostics& /*diagnostics*/) override {
    refresh_ = settings_.leaf.refresh.value_or(2 * fabric.base_rtt);
    digits_ = DigitsOf(fabric);
  }

  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const override {
    return std::make_unique<Ag>(settings_, refresh_, digits_, EcmpSalt(id, seed),
                                Rng::Stream(seed, "ag", id));
  }

 private:
  AgSettings settings_;
  Duration refresh_{2 * FabricShape{}.base_rtt};
  PathDigits digits_;
};

[[maybe_unused]] const bool registered = LoadBalancers().Add<AgBalancer>(
    {"ag",
     "A reconstruction of AG: flows change their path every few packets, and less often the more "
     "the delays of the paths differ.",
     "Liu et al., ICNP 2019"});

}  // namespace
}  // namespace heddle
