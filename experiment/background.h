// SPDX-License-Identifier: Apache-2.0
// Background traffic as an experiment asks for it, and the sources that follow from it.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "settings/diagnostics.h"
#include "settings/fields.h"
#include "topo/routing.h"
#include "transport/packet_sizes.h"
#include "transport/udp.h"
#include "workload/workload.h"

namespace heddle {

// One entry of the list: sources that are alike.
struct BackgroundSettings {
  std::vector<int64_t> from;  // Hosts.
  std::vector<int64_t> to;
  std::optional<double> hosts;  // Instead of these: a share of all.
  bool cross_rack = false;
  std::optional<BitRate> rate;  // Of each source.
  std::optional<double> load;   // Of each sending host's link.
  bool overload = false;
  UdpPattern pattern;
  std::optional<Bytes> payload;
  std::string via;  // A switch; empty: any.
  bool per_path = false;
  int64_t priority = 2;
  Duration start{0};
  std::optional<Duration> stop;

  void Declare(Fields& fields);
  Time stop_time() const { return stop ? Time{stop->ps} : kNever; }
};

// The sources of all entries without a mistake, numbered in the order of the entries. Mistakes that
// only show now go to `diagnostics` below the path `path`.
std::vector<UdpSource> ResolveBackground(const std::vector<BackgroundSettings>& entries,
                                         const Stage& stage, const Routing& routing,
                                         const Graph& graph, const PacketSizes& sizes,
                                         std::string_view path, Diagnostics& diagnostics);

// Refuses what the links from leaves into the fabric cannot carry: all background of a leaf, and
// what is pinned to one link of it, at the start of each entry. Only where no entry accepts it.
void CheckUplinks(const std::vector<BackgroundSettings>& entries,
                  const std::vector<UdpSource>& sources, const Routing& routing, const Graph& graph,
                  std::string_view path, Diagnostics& diagnostics);

// What one entry offers to hosts' links: when, and how many bits per second on the wire.
Forecast ForecastOf(const BackgroundSettings& settings, uint32_t entry,
                    const std::vector<UdpSource>& sources, const Stage& stage);

}  // namespace heddle
