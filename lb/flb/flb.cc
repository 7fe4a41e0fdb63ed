// SPDX-License-Identifier: Apache-2.0
// FLB (Hu et al., USENIX ATC 2025), for lossless fabrics. Leaves reroute packet by packet: a flow
// moves to a faster path when its previous packet is so far ahead that it cannot be overtaken.
// Leaves measure the one-way delays to each other by stamps in packets. They also isolate flows: a
// leaf with a long queue notifies the flows in it (CNM, 64 bytes). The leaves where these flows
// begin send them over as few uplinks as can carry them, and other flows leave these uplinks. So a
// PFC pause stops only the flows that caused it.
//
// The paper leaves some questions open; our answers:
// - A delay counts from the moment when a packet is queued at its leaf, so it includes the leaf's
//   own queues.
// - New flows take equally fast paths in turn.
// - A flow is not forgotten while it is isolated or its uplink is paused.
// - A flow leaves an uplink at once when the uplink is isolated.
// - An uplink is isolated for all destinations, as a pause stops all.
// - A delay that no packet carries back is sent back after a round trip.
//
// With three tiers leaves name and measure whole paths, which the switches above follow. Isolated
// flows share whole paths, one over each isolated uplink.

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/random.h"
#include "fabric/ecmp_hash.h"
#include "lb/flb/host.h"
#include "lb/flb/switch.h"
#include "lb/parts/leaf_clock.h"
#include "lb/parts/leaf_paths.h"
#include "lb/parts/load_balancer.h"

namespace heddle {
namespace {

using Evict = FlbSettings::Evict;
using Compare = FlbSettings::Compare;
using IsolationScope = FlbSettings::IsolationScope;

class FlbBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& fields) override {
    fields.AddOr("auto", "stamp_every", settings_.stamp_every, {.at_least = 1_ns, .at_most = 1_s},
                 "Time between two measurements of a path's one-way delay. auto: twice the base "
                 "round trip.");
    fields.Choice(
        "compare", settings_.compare, {{"raw", Compare::kRaw}, {"queueing", Compare::kQueueing}},
        "How two paths are compared. raw: by one-way delay; queueing: by the delay above the "
        "smallest ever measured on the path, as published, which hides that one path is longer.");
    fields.AddOr(
        "none", "gap_tick", settings_.gap_tick, {.at_least = 1_ns, .at_most = 1_ms},
        "The gap between two packets is counted in ticks of this length, as by a switch's aging "
        "counter, so it may be one tick too short or too long. none: the gap is exact.");
    fields.Add("isolate", settings_.isolates,
               "Flows that congest a queue are isolated; false: only rerouting.");
    fields.Add("rate_control", settings_.rate_control,
               "FLB+RC: hosts pause flows that congest a queue. When the queue is short again, "
               "such a flow sends at its share of the link, until 1ms (table_age) has passed "
               "without another notice.");
    fields.AddOr(
        "auto", "isolate_above", settings_.isolate_above, Above(Bytes{0}),
        "K: queue length from which the flows in the queue are isolated. auto: the bytes that a "
        "host's link carries in a base round trip, at most half of pfc.xoff (of 256KB if xoff "
        "follows from the shared buffer). If congestion control reacts to ECN marks: the same "
        "bytes above the marking threshold, at most halfway from there to pfc.xoff.");
    fields.AddOr("none", "isolate_share", settings_.isolate_share, {.above = 0.0, .at_most = 1.0},
                 "K as a share of the switch's buffer, instead of isolate_above.");
    fields.AddOr("auto", "release_below", settings_.release_below, Above(Bytes{0}),
                 "Queue length below which isolated flows are released. auto: isolate_above.");
    fields.Choice("evict", settings_.evict, {{"force", Evict::kForce}, {"strict", Evict::kStrict}},
                  "How other flows leave an uplink that has become isolated. force: at once; "
                  "strict: when their packets overtake none.");
    fields.Choice(
        "scope", settings_.scope,
        {{"uplink", IsolationScope::kUplink}, {"path", IsolationScope::kPath}},
        "Flows that avoid an isolated uplink. uplink: all; path: flows to the same leaf.");
    DeclareClockSpread(fields, settings_.clock_spread);
    fields.Add("queue_flows", settings_.queue_flows, Between<int64_t>(1, 1 << 16),
               "Flows that a port can tell apart in its queue.");
    settings_.flows.Declare(fields);
    fields.Add("held_age", settings_.held_age, {.above = Duration{0}, .at_most = 1000_s},
               "Replaces table_age, if longer, for a flow that is isolated or whose uplink is "
               "paused, since such a flow is idle because it cannot send. Also the time after "
               "which an isolation ends without another notice.");
    fields.Require(settings_.isolates || !settings_.rate_control, "rate_control",
                   "needs isolate: true, which sends the notices");
    fields.Require(!settings_.isolate_above || !settings_.isolate_share, "isolate_share",
                   "isolate_above is set already");
    fields.Require(!settings_.isolate_above || !settings_.release_below ||
                       *settings_.release_below <= *settings_.isolate_above,
                   "release_below", "is above isolate_above, so flows would be released at once");
  }

  void Prepare(const FabricShape& fabric, std::string_view path,
               Diagnostics& diagnostics) override {
    shape_ = fabric;
    if (fabric.tiers > 3) {
      diagnostics.ErrorAt(path, "flb is for two or three tiers; use drill");
    }
    if (settings_.rate_control && !fabric.limits_rates) {
      diagnostics.ErrorAt(std::string(path) + ".rate_control",
                          "needs flows that can be held to a rate; use transport: rocev2");
    }
    if (DigitsOf(shape_).paths() > kMostPaths) diagnostics.ErrorAt(path, TooManyPaths());
    CheckMarking(path, diagnostics);
  }

  bool reorders() const override { return true; }

  HostPolicyPtr ForHost(HostId /*id*/, uint64_t /*seed*/) const override {
    return settings_.rate_control
               ? std::make_unique<FlbHost>(settings_.flows.age,
                                           static_cast<size_t>(settings_.queue_flows))
               : nullptr;
  }

  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const override {
    const int64_t above = IsolateAbove();
    const FlbConstants constants{
        .settings = settings_,
        .base_rtt = shape_.base_rtt,
        .stamp_every = settings_.stamp_every.value_or(2 * shape_.base_rtt),
        .isolate_above = above,
        .release_below = settings_.release_below.value_or(Bytes{above}).count,
        .digits = DigitsOf(shape_),
        .most_links = 2 * (shape_.tiers - 1),
        .packet = shape_.packet};
    return MakeFlbSwitch(constants, EcmpSalt(id, seed), Rng::Stream(seed, "flb", id));
  }

 private:
  static constexpr size_t kMostPaths = 255;

  std::string TooManyPaths() const {
    if (shape_.tiers < 3) return "flb numbers paths in 8 bits; a leaf may have 255 uplinks";
    return fmt::format(
        "flb numbers the paths of a leaf in 8 bits, so {} are too many: {} uplinks times {} of the "
        "switches above; with up to {} it runs, or use drill",
        DigitsOf(shape_).paths(), shape_.leaf_uplinks, shape_.above_uplinks, kMostPaths);
  }

  // Congestion control keeps queues slightly above the marking threshold, which is no problem yet.
  void CheckMarking(std::string_view path, Diagnostics& diagnostics) const {
    const bool is_set = settings_.isolate_above || settings_.isolate_share;
    const int64_t marked = shape_.marked_above.count;
    if (!settings_.isolates || !is_set || 2 * IsolateAbove() >= 3 * marked) return;
    const char* const key = settings_.isolate_above ? ".isolate_above" : ".isolate_share";
    diagnostics.WarningAt(
        std::string(path) + key,
        fmt::format("K is {}, and marking begins at {}: congestion control keeps queues near the "
                    "marking threshold, so flows are isolated all the time; leave isolate_above at "
                    "auto and isolate_share at none, which makes K {}, or set more than {}",
                    FormatQuantity(Bytes{IsolateAbove()}), FormatQuantity(Bytes{marked}),
                    FormatQuantity(Bytes{AutoAbove()}), FormatQuantity(Bytes{3 * marked / 2})));
  }

  // The published range, from 2 d C to Q_PFC / n - 2 d C (n - 1), is empty except for few senders.
  // Its lower end keeps the link busy after a resume and leaves most room to PFC.
  int64_t IsolateAbove() const {
    if (settings_.isolate_above) return settings_.isolate_above->count;
    if (settings_.isolate_share) {
      return static_cast<int64_t>(*settings_.isolate_share *
                                  static_cast<double>(shape_.switch_memory.count));
    }
    return AutoAbove();
  }

  // The paper's K is for flows that only pauses slow down. Where ECN marks slow them down, a queue
  // at the marking threshold is no sign of congestion: K counts from that threshold, and is at most
  // halfway from it to the queue that causes a pause.
  int64_t AutoAbove() const {
    const double round_trip =
        Seconds(shape_.base_rtt) * static_cast<double>(shape_.host_rate.bps) / 8;
    const int64_t pause = shape_.pause_above.count;
    const int64_t marked = shape_.marked_above.count < pause ? shape_.marked_above.count : 0;
    return std::min(marked + static_cast<int64_t>(round_trip), marked + (pause - marked) / 2);
  }

  FlbSettings settings_;
  FabricShape shape_;
};

[[maybe_unused]] const bool registered =
    LoadBalancers().Add<FlbBalancer>({"flb",
                                      "Packets move to faster paths where they overtake none, and "
                                      "flows that congest a queue share a few isolated uplinks.",
                                      "Hu et al., USENIX ATC 2025"});

}  // namespace
}  // namespace heddle
