// SPDX-License-Identifier: Apache-2.0
// What happens to links while a run goes on: failures, repairs, changes of rate and delay, each at
// its time.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"
#include "settings/diagnostics.h"
#include "settings/fields.h"
#include "topo/graph.h"

namespace heddle {

// One entry of the schedule: some links, and what becomes of them.
struct ScheduledChange {
  enum class State { kUnchanged, kUp, kDown };

  Duration at{0};
  std::vector<std::string> links;     // By name.
  std::vector<std::string> switches;  // By name: all links of these.
  int64_t random_links = 0;           // Of all links between switches, chosen by the seed.
  State state = State::kUnchanged;
  std::optional<BitRate> rate;
  std::optional<Duration> delay;

  void Declare(Fields& fields);
};

// What happens to one link, both ways.
struct LinkEvent {
  Time at;
  uint32_t link;           // Index into Graph::links.
  std::optional<bool> up;  // Not set: unchanged; likewise the others.
  std::optional<BitRate> rate;
  std::optional<Duration> delay;
};

// The events of `changes`, in the order of time, those of one instant in the order given. No link
// ever becomes faster or shorter than in `graph`: what is computed from that, such as ideal FCTs,
// stays a bound. Errors go to `diagnostics` below `path`.
std::vector<LinkEvent> Resolve(const std::vector<ScheduledChange>& changes, uint64_t seed,
                               std::string_view path, const Graph& graph, Diagnostics& diagnostics);

}  // namespace heddle
