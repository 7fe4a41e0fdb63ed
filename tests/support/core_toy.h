// SPDX-License-Identifier: Apache-2.0
// A toy world for tests of the engine. Its nodes answer packets and timers at random with more of
// both, over a random graph, and write down all they handle. The same nodes run on the engine and
// on a global event queue; both must write the same.

#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/engine.h"
#include "core/random.h"
#include "core/units.h"

namespace heddle {

struct ToyPlan {
  struct Link {
    size_t from;
    size_t to;
    Duration least;
  };
  // Something that the conductor does to a node at a time.
  struct Shock {
    Time at;
    size_t node;
    uint64_t key;
    bool
        is_kick;  // A timer set, inside a window if need be; otherwise a change of the node's mood.
  };

  uint64_t seed = 1;
  std::vector<size_t> group_of;  // By node; groups are numbered from 0.
  std::vector<Link> links;
  std::vector<Shock> shocks;  // Ordered by time.
  Duration letter_delay;      // A letter takes at least this long.
  Time end;

  size_t nodes() const { return group_of.size(); }
  size_t groups() const;
  Duration Lookahead() const;  // The shortest link between groups.
};

enum class ToySides {
  kNone,    // Links lead anywhere.
  kGroups,  // No link leads from one group of an even number to another, nor between odd ones.
  kNodes,   // The same for the numbers of nodes. Links within groups are as long as others.
};

// A random world of `groups` groups of `group_size` nodes, with links of 1 to 3 ns between groups,
// of 100 to 500 ps within, all on a grid of 100 ps, so that much happens at the same instant.
ToyPlan RandomToyPlan(uint64_t seed, size_t groups, size_t group_size, Duration length,
                      ToySides sides = ToySides::kNone);

// Something that a node has handled.
struct ToyEvent {
  enum Kind { kPacket, kTimer };

  Time at;
  Kind kind;
  uint64_t where;    // In-port or key.
  uint32_t payload;  // The payload of a packet.
  uint64_t mood;

  friend auto operator<=>(const ToyEvent&, const ToyEvent&) = default;
};

using ToyLog = std::vector<std::vector<ToyEvent>>;  // By node.

// The reference: one queue of all events, by (time, kind, port or key).
ToyLog RunOnEventQueue(const ToyPlan& plan);

struct ToyResult {
  ToyLog log;
  int threads = 0;
  bool alternates = false;
  uint64_t windows = 0;
  int64_t letters_posted = 0;
  int64_t letters_read = 0;
  std::vector<std::pair<Time, Time>> spans;  // The windows, as the conductor saw them.
  Time end;
};

// With `moves`, random groups move to random threads in each window.
ToyResult RunOnEngine(const ToyPlan& plan, int threads, bool moves = false);

}  // namespace heddle
