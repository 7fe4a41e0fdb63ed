// SPDX-License-Identifier: Apache-2.0
// APS, adaptive packet spraying to isolate mixed flows (Liu et al., IEEE Transactions on Cloud
// Computing, 2022). A switch sprays the packets of short flows over some of its ports, and hashes
// long flows to the others. The number of ports of long flows follows their share of the bytes.
// This is a reconstruction from the principle: rules and constants are ours.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <string_view>
#include <vector>

#include "core/random.h"
#include "fabric/ecmp_hash.h"
#include "lb/parts/flow_table.h"
#include "lb/parts/load_balancer.h"
#include "lb/parts/ties.h"

namespace heddle {
namespace {

enum class Spray { kRandom, kLeastQueue };

struct ApsSettings {
  Bytes long_above{100'000};
  std::optional<Duration> period;
  Spray spray = Spray::kRandom;
  FlowTableSettings table{.age = 10_ms};
};

constexpr int64_t kPeriodInRoundTrips = 10;

class Aps final : public SwitchPolicy {
 public:
  Aps(const ApsSettings& settings, Duration period, uint64_t salt, Rng rng)
      : settings_(settings), period_(period), salt_(salt), rng_(rng), flows_(settings.table) {}

  Packets asked_about() const override { return Packets::kWithLastUplink; }
  bool only_chooses() const override { return true; }

  // The order in which ports go to long flows is random, so that switches do not all begin with the
  // same spine.
  void Attach(SwitchView& view) override {
    rank_.resize(view.ports());
    std::iota(rank_.begin(), rank_.end(), uint32_t{0});
    rng_.MoveToFront(rank_, rank_.size());
    ordered_.reserve(view.ports());
  }

  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex /*in_port*/,
                    const Candidates& candidates) override {
    const int64_t bytes = view.WireBytes(packet).count;
    const bool is_long = IsLong(packet, view.now(), bytes);
    Count(is_long, bytes, view.now());
    const size_t ports = candidates.ports.size();
    if (ports == 1) return Decision::Forward(candidates.ports.front());
    Order(candidates);
    const size_t for_long = PortsForLong(ports);
    if (is_long) return Decision::Forward(LongPort(packet, for_long == 0 ? ports : for_long));
    const size_t first = for_long == ports ? 0 : for_long;
    return Decision::Forward(ShortPort(view, std::span(ordered_).subspan(first)));
  }

  size_t StateBytes() const override {
    return flows_.memory_bytes() + rank_.size() * sizeof(rank_[0]) +
           ordered_.capacity() * sizeof(PortIndex);
  }
  std::vector<Counter> Counters() const override {
    return {{"long_packets", long_packets_},
            {"short_packets", short_packets_},
            {"table_entries", static_cast<int64_t>(flows_.used())},
            {"table_evictions", flows_.evictions()}};
  }

 private:
  struct Flow {
    int64_t bytes = 0;
  };

  // The bytes of a period, by class of flow.
  struct Mix {
    int64_t of_long = 0;
    int64_t of_short = 0;
  };

  bool IsLong(const Packet& packet, Time now, int64_t bytes) {
    Flow& flow = flows_.Touch(packet, now).state;
    const bool is_long = flow.bytes >= settings_.long_above.count;
    flow.bytes += bytes;
    return is_long;
  }

  // The ports follow the last whole period, so that they do not change with every packet.
  void Count(bool is_long, int64_t bytes, Time now) {
    const int64_t period = now.ps / period_.ps;
    if (period != period_now_) {
      last_ = period == period_now_ + 1 ? now_ : Mix{};
      now_ = Mix{};
      period_now_ = period;
    }
    (is_long ? now_.of_long : now_.of_short) += bytes;
    ++(is_long ? long_packets_ : short_packets_);
  }

  // A class alone has all ports. Until a period has passed, both have half of them.
  size_t PortsForLong(size_t ports) const {
    const int64_t all = last_.of_long + last_.of_short;
    if (last_.of_long + now_.of_long == 0) return 0;
    if (last_.of_short + now_.of_short == 0) return ports;
    const double share =
        all == 0 ? 0.5 : static_cast<double>(last_.of_long) / static_cast<double>(all);
    const auto wanted = static_cast<int64_t>(std::lround(static_cast<double>(ports) * share));
    return static_cast<size_t>(std::clamp<int64_t>(wanted, 1, static_cast<int64_t>(ports) - 1));
  }

  void Order(const Candidates& candidates) {
    if (candidates.id == ordered_id_ && candidates.version == ordered_version_) return;
    ordered_.assign(candidates.ports.begin(), candidates.ports.end());
    std::ranges::sort(ordered_, {}, [this](PortIndex port) { return rank_[port]; });
    ordered_id_ = candidates.id;
    ordered_version_ = candidates.version;
  }

  // A flow is hashed to one of all ports, and again if that port is not for long flows: when the
  // number of these changes, only flows of the ports that come or go move.
  PortIndex LongPort(const Packet& packet, size_t for_long) const {
    const uint32_t hash = EcmpHash(packet, salt_);
    const size_t slot = MapToRange(hash, ordered_.size());
    if (slot < for_long) return ordered_[slot];
    const auto again = static_cast<uint32_t>(Mix64(salt_ + hash) >> 32);
    return ordered_[MapToRange(again, for_long)];
  }

  PortIndex ShortPort(const SwitchView& view, std::span<const PortIndex> ports) {
    if (settings_.spray == Spray::kLeastQueue) {
      return LeastOf(ports, kNoPort, rng_, [&](PortIndex port) { return view.Unsent(port); });
    }
    return ports[rng_.Below(static_cast<uint32_t>(ports.size()))];
  }

  const ApsSettings settings_;
  const Duration period_;
  const uint64_t salt_;
  Rng rng_;
  AgedFlowTable<Flow> flows_;
  Mix now_;
  Mix last_;
  int64_t period_now_ = 0;
  std::vector<uint32_t> rank_;      // By port: its place in the random order.
  std::vector<PortIndex> ordered_;  // The candidates below, in the random order.
  uint32_t ordered_id_ = ~uint32_t{0};
  uint32_t ordered_version_ = 0;
  int64_t long_packets_ = 0;
  int64_t short_packets_ = 0;
};

class ApsBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& fields) override {
    fields.Add("long_above", settings_.long_above,
               {.at_least = 1_B, .at_most = Bytes{1'000'000'000}},
               "A flow is long once the switch has forwarded this many of its bytes.");
    fields.AddOr("auto", "period", settings_.period, {.above = Duration{0}, .at_most = 1000_s},
                 "Time in which a switch counts the bytes of long and short flows, to divide its "
                 "ports for the next. auto: 10 idle round trip times.");
    fields.Choice(
        "spray", settings_.spray, {{"random", Spray::kRandom}, {"least_queue", Spray::kLeastQueue}},
        "The port of a short flow's packet: a random one, or that of the shortest queue.");
    settings_.table.Declare(fields);
  }

  bool reorders() const override { return true; }

  void Prepare(const FabricShape& fabric, std::string_view /*path*/,
               Diagnostics& /*diagnostics*/) override {
    period_ = settings_.period.value_or(fabric.base_rtt * kPeriodInRoundTrips);
  }

  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const override {
    return std::make_unique<Aps>(settings_, period_, EcmpSalt(id, seed),
                                 Rng::Stream(seed, "aps", id));
  }

 private:
  ApsSettings settings_;
  Duration period_ = FabricShape{}.base_rtt * kPeriodInRoundTrips;
};

[[maybe_unused]] const bool registered = LoadBalancers().Add<ApsBalancer>(
    {"aps",
     "Packets of short flows are sprayed over some ports, long flows are hashed to the others; a "
     "reconstruction.",
     "Liu et al., IEEE TCC 2022"});

}  // namespace
}  // namespace heddle
