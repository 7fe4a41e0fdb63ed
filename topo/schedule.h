// SPDX-License-Identifier: Apache-2.0
// What happens to links and switches while a run goes on: failures, repairs, changes of rate and
// delay, and packets that are lost, each at its time.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"
#include "fabric/switch_faults.h"
#include "settings/diagnostics.h"
#include "settings/fields.h"
#include "topo/graph.h"

namespace heddle {

// Which packets a switch always loses: those that fit all of these, of which at least one is set.
struct BlackholeSettings {
  std::vector<int64_t> from;  // Hosts that send them; empty: any.
  std::vector<int64_t> to;
  double share_of_pairs = 1;  // Of such pairs of hosts, drawn by the seed.
  double hash_from = 0;       // Of the 5-tuple's hash, as a share of all its values.
  double hash_to = 1;
  std::vector<std::string> links;  // By name: those they came in over; empty: any.
  std::optional<Duration> until;   // Not set: for ever.

  bool is_set() const {
    return !from.empty() || !to.empty() || share_of_pairs < 1 || hash_from > 0 || hash_to < 1 ||
           !links.empty();
  }

  void Declare(Fields& fields);
};

// One entry of the schedule: some links, and what becomes of them; or some switches, and what
// becomes of packets there.
struct ScheduledChange {
  enum class State { kUnchanged, kUp, kDown };

  Duration at{0};
  std::vector<std::string> links;     // By name.
  std::vector<std::string> switches;  // By name: all links of these, or themselves.
  int64_t random_links = 0;           // Of all links between switches, chosen by the seed.
  int64_t random_switches = 0;        // Of those of the highest tier, likewise.
  State state = State::kUnchanged;
  std::optional<BitRate> rate;
  std::optional<Duration> delay;
  std::optional<double> loss;   // The probability that a link damages a packet.
  std::optional<double> drop;   // That a switch drops one,
  BlackholeSettings blackhole;  // and which ones it drops always.

  bool concerns_links() const {
    return state != State::kUnchanged || rate.has_value() || delay.has_value() || loss.has_value();
  }
  bool concerns_switches() const { return drop.has_value() || blackhole.is_set(); }

  void Declare(Fields& fields);
};

// What happens to one link, both ways.
struct LinkEvent {
  Time at;
  uint32_t link;           // Index into Graph::links.
  std::optional<bool> up;  // Not set: unchanged; likewise the others.
  std::optional<BitRate> rate;
  std::optional<Duration> delay;
  std::optional<double> loss = std::nullopt;
};

// What happens to one switch.
struct SwitchEvent {
  Time at;
  SwitchId id;
  std::optional<double> drop;                         // Not set: unchanged.
  std::optional<Blackhole> blackhole = std::nullopt;  // One more.
};

// The events of `changes`, in the order of time, those of one instant in the order given. No link
// ever becomes faster or shorter than in `graph`: what is computed from that, such as ideal FCTs,
// stays a bound. Errors go to `diagnostics` below `path`.
std::vector<LinkEvent> Resolve(const std::vector<ScheduledChange>& changes, uint64_t seed,
                               std::string_view path, const Graph& graph, Diagnostics& diagnostics);

// Likewise those that happen to switches.
std::vector<SwitchEvent> ResolveFaults(const std::vector<ScheduledChange>& changes, uint64_t seed,
                                       std::string_view path, const Graph& graph,
                                       Diagnostics& diagnostics);

}  // namespace heddle
