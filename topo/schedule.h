// SPDX-License-Identifier: Apache-2.0
// The schedule of a run: failures, repairs, changes of rate and delay, and packets that are lost,
// each at its time. Resolve() and ResolveFaults() turn the settings into events; Network applies
// each event when its time comes.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"
#include "fabric/link_loss.h"
#include "fabric/switch_faults.h"
#include "settings/diagnostics.h"
#include "settings/fields.h"
#include "topo/graph.h"
#include "topo/links.h"

namespace heddle {

// Selects the packets that a switch always loses: those that match every condition, of which at
// least one is set.
struct BlackholeSettings {
  std::vector<int64_t> from;  // Hosts that send them; empty: any.
  std::vector<int64_t> to;
  double share_of_pairs = 1;  // Share of the matching host pairs, drawn by the seed.
  double hash_from = 0;       // Range of the 5-tuple's hash, as shares of all values.
  double hash_to = 1;
  std::vector<std::string> links;  // Names of the links that they came in over; empty: any.
  std::optional<Duration> until;   // Not set: for ever.

  bool is_set() const {
    return !from.empty() || !to.empty() || share_of_pairs < 1 || hash_from > 0 || hash_to < 1 ||
           !links.empty();
  }

  void Declare(Fields& fields);
};

// A link that goes down and up again, many times.
struct FlapSettings {
  Duration down{0};
  Duration up{0};
  double jitter = 0;  // The largest change of each of these times, as a share of it.
  Duration until{0};

  bool is_set() const { return down > Duration{0}; }

  void Declare(Fields& fields);
};

struct BurstLossSettings {
  std::optional<double> to_bad;
  double to_good = 1;
  double bad = 1;

  void Declare(Fields& fields);
};

// One entry of the schedule. It changes links, or makes switches lose packets.
struct ScheduledChange {
  enum class State { kUnchanged, kUp, kDown };

  Duration at{0};
  std::vector<std::string> links;     // By name.
  std::vector<std::string> switches;  // By name: the switches themselves, or all their links.
  int64_t random_links = 0;           // Number drawn by the seed among links between switches.
  int64_t random_switches = 0;  // Number drawn by the seed among switches of the highest tier.
  std::optional<double> share_of_links;  // Share drawn by the seed among links between switches,
  bool keep_connected = true;  // without those that would leave two leaves no shortest path.
  LinkChange::Direction direction = LinkChange::Direction::kBoth;
  State state = State::kUnchanged;
  bool silent = false;  // Routing does not learn of the state, nor do the ends of the link.
  FlapSettings flap;
  std::optional<BitRate> rate;
  std::optional<Duration> delay;
  std::optional<double> loss;         // The probability that a link damages a packet.
  std::optional<double> bit_errors;   // The share of bits that a link damages.
  std::optional<int64_t> lose_every;  // A link loses every n-th packet; 0: none.
  BurstLossSettings bursts;           // A link loses packets in bursts.
  std::optional<double> drop;         // The probability that a switch drops a packet.
  BlackholeSettings blackhole;        // The packets that a switch always drops.

  bool changes_state() const { return state != State::kUnchanged || flap.is_set(); }
  bool loses_in_patterns() const { return bit_errors || lose_every || bursts.to_bad; }
  bool loses() const { return loss || loses_in_patterns(); }
  bool concerns_links() const {
    return changes_state() || rate.has_value() || delay.has_value() || loses();
  }
  bool concerns_switches() const { return drop.has_value() || blackhole.is_set(); }

  void Declare(Fields& fields);
};

// A change of one link. Changes of rate and delay are both ways.
struct LinkEvent {
  Time at;
  uint32_t link;           // Index into Graph::links.
  std::optional<bool> up;  // Not set: unchanged; likewise the others.
  std::optional<BitRate> rate;
  std::optional<Duration> delay;
  std::optional<double> loss = std::nullopt;
  std::optional<double> bit_errors = std::nullopt;
  std::optional<int64_t> lose_every = std::nullopt;
  std::optional<BurstLoss> bursts = std::nullopt;
  LinkChange::Direction direction = LinkChange::Direction::kBoth;  // Of `up` and of losses.
  bool silent = false;                                             // `up` is announced to no one.

  bool loses() const { return loss || bit_errors || lose_every || bursts; }
  bool concerns_up() const { return direction != LinkChange::Direction::kDown; }
  bool concerns_down() const { return direction != LinkChange::Direction::kUp; }
};

// A change of one switch.
struct SwitchEvent {
  Time at;
  SwitchId id;
  std::optional<double> drop;                         // Not set: unchanged.
  std::optional<Blackhole> blackhole = std::nullopt;  // A further blackhole.
};

// Returns the events of `changes` in the order of time; those of one instant keep their order. No
// link ever becomes faster or shorter than in `graph`, so values computed from `graph`, such as
// ideal FCTs, stay bounds. Errors go to `diagnostics` below `path`.
std::vector<LinkEvent> Resolve(const std::vector<ScheduledChange>& changes, uint64_t seed,
                               std::string_view path, const Graph& graph, Diagnostics& diagnostics);

// Returns the events of switches in the same way.
std::vector<SwitchEvent> ResolveFaults(const std::vector<ScheduledChange>& changes, uint64_t seed,
                                       std::string_view path, const Graph& graph,
                                       Diagnostics& diagnostics);

}  // namespace heddle
