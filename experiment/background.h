// SPDX-License-Identifier: Apache-2.0
// The settings of background traffic, and the UDP sources that follow from them. Complete()
// resolves them once the network is known.

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

// One entry of the list: a group of sources with the same settings.
struct BackgroundSettings {
  std::vector<int64_t> from;  // Hosts.
  std::vector<int64_t> to;
  std::optional<double> hosts;  // A share of all hosts, instead of `from` and `to`.
  bool cross_rack = false;
  std::optional<BitRate> rate;  // The rate of each source.
  std::optional<double> load;   // The share of each sending host's link.
  bool overload = false;
  UdpPattern pattern;
  std::optional<Bytes> payload;
  std::string via;  // The switch that the traffic goes through; empty: any.
  bool per_path = false;
  int64_t priority = 2;
  Duration start{0};
  std::optional<Duration> stop;

  void Declare(Fields& fields);
  Time stop_time() const { return stop ? Time{stop->ps} : kNever; }
};

// Returns the sources of all entries without a mistake, numbered in the order of the entries.
// Mistakes that only show here are reported below the path `path`.
std::vector<UdpSource> ResolveBackground(const std::vector<BackgroundSettings>& entries,
                                         const Stage& stage, const Routing& routing,
                                         const Graph& graph, const PacketSizes& sizes,
                                         std::string_view path, Diagnostics& diagnostics);

// Reports background that a leaf's uplinks cannot carry: its sum over the leaf, or the part pinned
// to one link, at the start of each entry. An entry with `overload` accepts this.
void CheckUplinks(const std::vector<BackgroundSettings>& entries,
                  const std::vector<UdpSource>& sources, const Routing& routing, const Graph& graph,
                  std::string_view path, Diagnostics& diagnostics);

// Returns the load of one entry on hosts' links: when, and how many bits per second on the wire.
Forecast ForecastOf(const BackgroundSettings& settings, uint32_t entry,
                    const std::vector<UdpSource>& sources, const Stage& stage);

}  // namespace heddle
