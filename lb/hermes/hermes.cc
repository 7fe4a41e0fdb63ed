// SPDX-License-Identifier: Apache-2.0
// Hermes (Zhang et al., SIGCOMM 2017). Hosts judge every path to a rack by round-trip times, ECN
// marks and losses, from the ACKs of their own flows and from the probes of one host per rack. A
// flow moves only if its path is bad, another is clearly better, and the flow is large and slow
// enough to gain. Switches follow the path that the packet names.
//
// The rules are the paper's algorithms 1 and 2. Its thresholds are for 10 Gbps, so by default ours
// follow from the fabric's idle round trip and marking threshold. The authors' public ns-3 code
// differs from the paper; some settings, which the paper does not have, select that code's rules.

#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "core/random.h"
#include "fabric/ecmp_hash.h"
#include "lb/hermes/host.h"
#include "lb/hermes/table.h"
#include "lb/parts/follow_path.h"
#include "lb/parts/load_balancer.h"

namespace heddle {
namespace {

using Delay = HermesSettings::Delay;

class HermesBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& fields) override {
    HermesSettings& s = rules_;
    const Range<Duration> delays{.above = Duration{0}, .at_most = 10_s};
    const Range<double> shares{.at_least = 0.0, .at_most = 1.0};
    fields.Add("ecn_high", s.ecn_high, shares,
               "A path with a larger share of marked packets is congested, if it is slow as well; "
               "one with a smaller share is good, if it is fast as well (T_ECN).");
    fields.AddOr("auto", "rtt_low", s.rtt_low, delays,
                 "A path is fast below this round trip time (T_RTT_low). auto: the longest idle "
                 "round trip plus a quarter of a one-hop delay, which is the delay of a queue at "
                 "the marking threshold.");
    fields.AddOr("auto", "rtt_high", s.rtt_high, delays,
                 "A path is slow above this round trip time (T_RTT_high). auto: the longest idle "
                 "round trip plus 1.5 one-hop delays.");
    fields.AddOr("auto", "rtt_better", s.rtt_better, delays,
                 "A path is notably better if its round trip is shorter by more than this (see "
                 "also ecn_better). auto: a one-hop delay.");
    fields.Add("ecn_better", s.ecn_better, shares,
               "A path is notably better if, besides rtt_better, its share of marked packets is "
               "smaller by more than this.");
    fields.Add("sent_above", s.sent_above, {.at_least = Bytes{0}, .at_most = Bytes{1'000'000'000}},
               "A flow leaves a congested path only when it has sent more than this since it moved "
               "last (S).");
    fields.Add("rate_below", s.rate_below, shares,
               "A flow leaves a congested path only while it sends at less than this share of its "
               "host's link (R).");
    fields.Add("probe_interval", s.probe_interval, {.at_least = 1_us, .at_most = 10_s},
               "Time between probes from each rack to each other rack; also the period at which "
               "hosts of a rack share their measurements.");
    fields.Add("share", s.share,
               "Hosts of a rack share their measurements of paths; false: each host uses only its "
               "own flows and probes.");
    fields.Add("timeouts", s.timeouts, Between<int64_t>(1, 1'000),
               "A path has failed for a pair of hosts after this many timeouts without an ACK.");
    fields.Add("retransmitted", s.retransmitted, shares,
               "A path that is not congested has failed if a larger share of an epoch's packets "
               "are retransmissions.");
    fields.Add("epoch", s.epoch, delays,
               "Length of the epoch that the setting retransmitted refers to.");
    fields.Add(
        "failed_for", s.failed_for, {.above = Duration{0}, .at_most = 1'000'000_s},
        "A failed path is not used for this long, unless all paths have failed or routes change.");
    fields.Add("ecn_gain", s.ecn_gain, shares, "Weight of a packet in the share of marked ones.");
    fields.Add("rtt_gain", s.rtt_gain, shares, "Weight of a sample in the round trip.");
    fields.Add("rate_tau", s.rate_tau, delays, "Time constant of the rates of flows and paths.");
    DeclareBeyondPaper(fields);
    fields.Require(!s.rtt_low || !s.rtt_high || *s.rtt_low <= *s.rtt_high, "rtt_high",
                   "is less than rtt_low");
  }

  void Prepare(const FabricShape& fabric, std::string_view /*path*/,
               Diagnostics& /*diagnostics*/) override {
    Resolve(fabric);
  }

  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const override {
    return std::make_unique<FollowPath>(EcmpSalt(id, seed));
  }
  HostPolicyPtr ForHost(HostId id, uint64_t seed) const override {
    return MakeHermesHost(rules_, id, Rng::Stream(seed, "hermes", id));
  }
  std::unique_ptr<Controller> ForFabric(const FabricView& fabric,
                                        uint64_t /*seed*/) const override {
    if (!rules_.share) return nullptr;
    std::map<SwitchId, std::vector<HermesTable*>> by_leaf;
    for (size_t h = 0; h < fabric.hosts.size(); ++h) {
      by_leaf[fabric.leaf_of_host[h]].push_back(&HermesTableOf(*fabric.hosts[h]));
    }
    std::vector<std::vector<HermesTable*>> racks;
    for (auto& [leaf, tables] : by_leaf) racks.push_back(std::move(tables));
    return std::make_unique<HermesRacks>(std::move(racks), rules_.probe_interval);
  }

 private:
  void DeclareBeyondPaper(Fields& fields) {
    HermesSettings& s = rules_;
    fields.Choice("delay", s.delay,
                  {{"round_trip", Delay::kRoundTrip}, {"one_way", Delay::kOneWay}},
                  "Delay of a path that is compared with rtt_low, rtt_high and rtt_better: the "
                  "round trip, as published; or the one-way delay, as in the authors' ns-3 code.");
    fields.Add("use_ecn", s.use_ecn,
               "Judge paths by ECN marks as well; the authors' code does not.");
    fields.Add("level", s.level, {.at_least = Duration{0}, .at_most = 1_s},
               "Only the paths with the smallest delay, in steps of this, are chosen from; 10us in "
               "the authors' code. 0ps: all paths.");
    fields.Add("move", s.move, {.at_least = 0.0, .at_most = 1.0},
               "Probability that a flow that may leave a congested path tries to; 0.5 in the "
               "authors' code.");
    fields.Add("try_every", s.try_every, {.at_least = Duration{0}, .at_most = 10_s},
               "Shortest time between two tries of a flow; 100us in the authors' code.");
    fields.AddOr("none", "idle_moves", s.idle_moves, {.above = Duration{0}, .at_most = 1000_s},
                 "After an idle time longer than this a flow may leave a congested path, however "
                 "little it has sent; 5ms in the authors' code. none: never.");
    fields.Add("probe_best", s.probe_best,
               "Probe the path that was best in the last round again; the authors' code does not.");
    fields.Add("failures", s.failures, "Notice paths that have failed; off in the authors' code.");
  }

  void Resolve(const FabricShape& fabric) {
    // If switches do not mark: the delay of 65 packets of 1500 bytes, DCTCP's threshold at 10 Gbps.
    const bool marks = fabric.marking_delay > Duration{0};
    rules_.has_ecn = marks && rules_.use_ecn && fabric.is_ecn_capable;
    const Duration hop =
        marks ? fabric.marking_delay : SerializationDelay(Bytes{97'500}, fabric.fabric_rate);
    const Duration idle = rules_.delay == Delay::kOneWay ? fabric.base_rtt / 2 : fabric.base_rtt;
    rules_.low = rules_.rtt_low.value_or(idle + hop / 4);
    rules_.high = rules_.rtt_high.value_or(idle + hop * 3 / 2);
    rules_.better = rules_.rtt_better.value_or(hop);
  }

  HermesRules rules_;
};

[[maybe_unused]] const bool registered =
    LoadBalancers().Add<HermesBalancer>({"hermes",
                                         "Hosts judge paths by delay, marks and losses, and move a "
                                         "flow only if another path is clearly better.",
                                         "Zhang et al., SIGCOMM 2017"});

}  // namespace
}  // namespace heddle
