// SPDX-License-Identifier: Apache-2.0

#include "network/bandwidth_delay.h"

#include <absl/numeric/int128.h>

#include <algorithm>
#include <limits>

#include "network/host_kinds.h"

namespace heddle {
namespace {

constexpr BitRate kUnbounded{std::numeric_limits<int64_t>::max()};
constexpr uint32_t kMostCounted = std::numeric_limits<uint16_t>::max();
constexpr uint32_t kNotCounted = std::numeric_limits<uint32_t>::max();

Bytes Product(Duration round_trip, BitRate bottleneck) {
  const absl::int128 bits = absl::int128(round_trip.ps) * bottleneck.bps / kPicosecondsPerSecond;
  return {static_cast<int64_t>(bits / 8)};
}

}  // namespace

PairBandwidthDelay::PairBandwidthDelay(const Graph& graph, const Routing& routing,
                                       const PacketSizes& sizes)
    : graph_(graph),
      routing_(routing),
      sizes_(sizes),
      leaves_(routing.leaves()),
      inner_(leaves_ * leaves_) {
  const std::vector<HostId>& first = routing.first_hosts();
  for (size_t to = 0; to < leaves_; ++to) {
    const std::vector<Way> ways = WaysTo(first[to]);
    for (size_t from = 0; from < leaves_; ++from) {
      inner_[from * leaves_ + to] = WorstOf(ways, first[from], first[to]);
    }
  }
  const std::vector<std::vector<HostKind>> kinds = HostKindsOf(routing);
  for (const std::vector<HostKind>& from : kinds) {
    for (const std::vector<HostKind>& to : kinds) {
      ForEachPairOfKinds(from, to, [this](HostId src, HostId dst) {
        largest_ = std::max(largest_, Between(src, dst));
        longest_ = std::max(longest_, RoundTrip(src, dst));
      });
    }
  }
}

PairBandwidthDelay::PairBandwidthDelay(const Graph& graph, const Routing& routing,
                                       const TransportModel& transport, const QueuePlan& queues)
    : PairBandwidthDelay(graph, routing, transport.sizes()) {
  SetQueues({SlowestNic(graph), FewestNics(graph), queues.LongestQueue(), queues.trims(),
             IsOversubscribed(graph)});
  if (transport.counts_paths()) CountPaths();
}

void PairBandwidthDelay::CountPaths() {
  const std::vector<HostId>& first = routing_.first_hosts();
  paths_.resize(inner_.size());
  for (size_t to = 0; to < leaves_; ++to) {
    std::vector<uint32_t> known(graph_.switches.size(), kNotCounted);
    for (size_t from = 0; from < leaves_; ++from) {
      uint32_t most = 0;
      for (const PortIndex port : routing_.FirstHops(first[from], first[to])) {
        const SwitchId s = routing_.SwitchAt(routing_.NicsOf(first[from])[port].peer);
        most = std::max(most, PathsFrom(s, first[to], known));
      }
      paths_[from * leaves_ + to] = static_cast<uint16_t>(most);
    }
  }
}

uint32_t PairBandwidthDelay::PathsFrom(SwitchId s, HostId dst, std::vector<uint32_t>& known) const {
  if (routing_.IsAttached(s, dst)) return 1;
  if (known[s] != kNotCounted) return known[s];
  uint32_t paths = 0;
  for (const PortIndex port : routing_.TableOf(s).Towards(dst)) {
    paths += PathsFrom(routing_.SwitchAt(routing_.PortsOf(s)[port].peer), dst, known);
    paths = std::min(paths, kMostCounted);
  }
  return known[s] = paths;
}

uint32_t PairBandwidthDelay::Paths(HostId src, HostId dst) const {
  if (paths_.empty()) return 1;
  return paths_[routing_.LeafIndexOf(src) * leaves_ + routing_.LeafIndexOf(dst)];
}

uint32_t PairBandwidthDelay::MostPaths() const {
  return paths_.empty() ? 1 : *std::ranges::max_element(paths_);
}

Bytes PairBandwidthDelay::Between(HostId src, HostId dst) const {
  const Way way = WayOf(src, dst);
  return Product(way.round_trip, way.bottleneck);
}

PairBandwidthDelay::Way PairBandwidthDelay::WayOf(HostId src, HostId dst) const {
  const size_t from = routing_.LeafIndexOf(src);
  const Way up = Cross(routing_.HostUplink(src), routing_.HostDownlink(src));
  const Way down = Cross(routing_.HostDownlink(dst), routing_.HostUplink(dst));
  return Join(up, Join(inner_[from * leaves_ + routing_.LeafIndexOf(dst)], down));
}

PairBandwidthDelay::Way PairBandwidthDelay::Cross(const Channel& there, const Channel& back) const {
  const Bytes packet{sizes_.DataPacket(sizes_.mss) + sizes_.wire_overhead};
  const Bytes ack{sizes_.ack + sizes_.wire_overhead};
  const Duration propagation = there.delay + back.delay;
  return {propagation + SerializationDelay(Bytes{sizes_.mss}, there.rate),
          propagation + SerializationDelay(packet, there.rate) + SerializationDelay(ack, back.rate),
          there.rate};
}

PairBandwidthDelay::Way PairBandwidthDelay::Join(const Way& a, const Way& b) {
  return {a.round_trip + b.round_trip, a.idle_rtt + b.idle_rtt,
          std::min(a.bottleneck, b.bottleneck)};
}

// Returns the way from each switch to the leaf of `dst`.
std::vector<PairBandwidthDelay::Way> PairBandwidthDelay::WaysTo(HostId dst) const {
  std::vector<Way> ways(graph_.switches.size());
  std::vector<bool> known(ways.size());
  for (SwitchId s = 0; s < ways.size(); ++s) {
    if (!routing_.IsAttached(s, dst)) continue;
    ways[s].bottleneck = kUnbounded;
    known[s] = true;
  }
  for (SwitchId s = 0; s < ways.size(); ++s) {
    if (routing_.HasHosts(s)) Onward(s, dst, ways, known);
  }
  return ways;
}

// Returns the worst way over the links of `src` that packets to `dst` may take.
PairBandwidthDelay::Way PairBandwidthDelay::WorstOf(const std::vector<Way>& ways, HostId src,
                                                    HostId dst) const {
  Way worst;
  for (const PortIndex port : routing_.FirstHops(src, dst)) {
    const Way& way = ways[routing_.SwitchAt(routing_.NicsOf(src)[port].peer)];
    worst = Worse(worst, way);
  }
  return worst;
}

PairBandwidthDelay::Way PairBandwidthDelay::Worse(const Way& a, const Way& b) {
  return {std::max(a.round_trip, b.round_trip), std::max(a.idle_rtt, b.idle_rtt),
          std::max(a.bottleneck, b.bottleneck)};
}

PairBandwidthDelay::Way PairBandwidthDelay::Onward(SwitchId s, HostId dst, std::vector<Way>& ways,
                                                   std::vector<bool>& known) const {
  if (known[s]) return ways[s];
  const std::vector<Adjacency::Port>& ports = routing_.PortsOf(s);
  Way worst;
  for (const PortIndex port : routing_.TableOf(s).Towards(dst)) {
    const Graph::Link& link = graph_.links[ports[port].link];
    const bool forward = link.b == ports[port].peer;
    const Way way = Join(Cross(ports[port].out, forward ? link.b_to_a : link.a_to_b),
                         Onward(routing_.SwitchAt(ports[port].peer), dst, ways, known));
    worst = Worse(worst, way);
  }
  known[s] = true;
  return ways[s] = worst;
}

}  // namespace heddle
