// SPDX-License-Identifier: Apache-2.0
// TDLB (Hu et al., Computer Networks 255, 2024). Leaves check their queues. Flows with packets in a
// long queue are congested, and the leaf where each begins is notified. A congested flow keeps its
// path and is left to congestion control. An innocent flow may leave a path with congested flows at
// a flowlet gap longer than the difference between the slowest and the fastest path. Leaves measure
// delays by probes, which wait in the queues of data and are echoed to the leaf that sent them.
//
// With three tiers a leaf chooses a whole path, which the switches above follow.
//
// The paper is silent or could not work in places; our answers:
// - Leaves check uplinks as well as ports to hosts: in a switch with output queues, only
//   at uplinks do flows to different hosts wait for each other.
// - Innocent flows leave only marked paths (`always`: the published algorithm).
// - The echo brings a delay to the leaf that uses it, for the direction in which it was measured
//   (`probe: hula`: as published).
// - A new flow congests nothing yet, so it is innocent and begins on the fastest path.

#include <cstdint>
#include <memory>
#include <string_view>

#include "core/random.h"
#include "fabric/ecmp_hash.h"
#include "lb/parts/leaf_clock.h"
#include "lb/parts/leaf_paths.h"
#include "lb/parts/load_balancer.h"
#include "lb/tdlb/path_delays.h"
#include "lb/tdlb/switch.h"

namespace heddle {
namespace {

using DetectAt = TdlbSettings::DetectAt;
using Reroute = TdlbSettings::Reroute;
using PlaceBy = TdlbSettings::PlaceBy;
using ProbeMode = TdlbSettings::ProbeMode;

class TdlbBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& fields) override {
    DeclareDetection(fields);
    DeclareDelays(fields);
    settings_.flows.Declare(fields);
    fields.Require(!settings_.congested_above || !settings_.clear_below ||
                       *settings_.clear_below <= *settings_.congested_above,
                   "clear_below", "is above congested_above, so a port would be cleared at once");
    fields.Require(!settings_.stale || *settings_.stale >= settings_.probe_every, "stale",
                   "is less than probe_every, so delays would be old before the next are known");
  }

  void Prepare(const FabricShape& fabric, std::string_view path,
               Diagnostics& diagnostics) override {
    base_rtt_ = fabric.base_rtt;
    digits_ = DigitsOf(fabric);
    if (fabric.tiers > 3) diagnostics.ErrorAt(path, "tdlb is for two or three tiers; use drill");
  }

  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const override {
    return MakeTdlbSwitch(settings_, digits_, base_rtt_, EcmpSalt(id, seed),
                          Rng::Stream(seed, "tdlb", id));
  }

 private:
  void DeclareDetection(Fields& fields) {
    fields.AddOr("auto", "congested_above", settings_.congested_above, Above(Bytes{0}),
                 "Phi: a port is congested if its queue is longer than this. auto: half of what "
                 "the queue can hold; should be more than ecn_above.");
    fields.AddOr("auto", "clear_below", settings_.clear_below, Above(Bytes{0}),
                 "Queue length at which a congested port stops being congested. auto: half of "
                 "congested_above.");
    fields.Choice("detect_at", settings_.detect_at,
                  {{"leaf_all", DetectAt::kLeaves}, {"last_hop", DetectAt::kLastHop}},
                  "Ports whose queues are checked. leaf_all: all ports of leaves; last_hop: ports "
                  "to hosts, as published.");
    fields.Add("check_every", settings_.check_every, {.at_least = 1_ns, .at_most = 1_s},
               "Time between two looks at the queues.");
    fields.Choice("reroute", settings_.reroute,
                  {{"marked", Reroute::kMarked}, {"always", Reroute::kAlways}},
                  "When an innocent flow may change its path. marked: if a congested flow is on "
                  "the path; always: at every flowlet, as published.");
    fields.Choice("place", settings_.place, {{"delay", PlaceBy::kDelay}, {"hash", PlaceBy::kHash}},
                  "First path of a flow. delay: the fastest path without congested flows; among "
                  "paths that are equal within a packet time, the one that no flow was given for "
                  "longest; hash: the path of ECMP, unless congested flows are on it.");
    fields.Add("notification_age", settings_.notification_age,
               {.at_least = 1_ns, .at_most = 1000_s},
               "A flow whose last notification is older than this is innocent again.");
    fields.Add("queue_flows", settings_.queue_flows, Between<int64_t>(1, 1 << 16),
               "Flows that a port can tell apart in its queue.");
  }

  void DeclareDelays(Fields& fields) {
    fields.Add("probe_every", settings_.probe_every, {.at_least = 1_us, .at_most = 1_s},
               "Time between two probes of a path. With three tiers it is multiplied by the number "
               "of paths over one uplink, so that links carry as many probes as with two tiers.");
    fields.Choice("probe", settings_.probe,
                  {{"echo", ProbeMode::kEcho}, {"hula", ProbeMode::kHula}},
                  "Leaf that uses the measured delay of a probe. echo: the leaf that sent the "
                  "probe, for the direction of the probe; hula: the leaf that received it, for the "
                  "opposite direction, as published.");
    fields.Choice(
        "table", settings_.table,
        {{"full", PathDelays::Memory::kAll}, {"minmax", PathDelays::Memory::kFastestAndSlowest}},
        "full: the timeout follows from the delays of all paths; minmax: from the latest fastest "
        "and slowest delays, as published; a negative timeout becomes one packet time.");
    fields.AddOr("auto", "stale", settings_.stale, {.at_least = 1_ns, .at_most = 1000_s},
                 "Delays older than this are left out of the timeout. auto: 5 times the time "
                 "between two probes.");
    DeclareClockSpread(fields, settings_.clock_spread);
  }

  TdlbSettings settings_;
  Duration base_rtt_ = FabricShape{}.base_rtt;
  PathDigits digits_;
};

[[maybe_unused]] const bool registered =
    LoadBalancers().Add<TdlbBalancer>({"tdlb",
                                       "A flow that causes no congestion leaves a congested path "
                                       "at a gap longer than the difference of the probed delays.",
                                       "Hu et al., Computer Networks 255, 2024"});

}  // namespace
}  // namespace heddle
