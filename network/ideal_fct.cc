// SPDX-License-Identifier: Apache-2.0

#include "network/ideal_fct.h"

#include <absl/numeric/int128.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace heddle {
namespace {

constexpr int64_t kBitPicoseconds = 8 * kPicosecondsPerSecond;

// A byte lasts kBitPicoseconds / rate. Times are counted in 1/Scale(path) picoseconds, so that this
// is a whole number for every link. The scale is 1 for all rates of Ethernet.
int64_t Scale(std::span<const Channel> path) {
  absl::int128 scale = 1;
  for (const Channel& link : path) {
    const int64_t needed = link.rate.bps / std::gcd(kBitPicoseconds, link.rate.bps);
    scale *= needed / std::gcd(static_cast<int64_t>(scale), needed);
    if (scale > int64_t{1} << 40) return 0;
  }
  return static_cast<int64_t>(scale);
}

// Computes the pipeline with a number type that holds picoseconds in units of 1/scale.
template <class Number>
Number Pipeline(std::span<const Channel> path, int64_t packets, int64_t wire, int64_t last_wire,
                Number scale) {
  Number sum_tx = 0;     // The time of one full packet over all links so far.
  Number sum_delay = 0;  // The delays of the links before this one.
  Number longest = 0;    // The slowest link's time for a full packet.
  Number arrival = 0;    // The last packet's arrival at this link.
  for (const Channel& link : path) {
    const Number byte = Number(kBitPicoseconds) * scale / Number(link.rate.bps);
    const Number tx = byte * Number(wire);
    sum_tx += tx;
    longest = std::max(longest, tx);
    // The last packet waits until the one before it has left this link.
    if (packets > 1)
      arrival = std::max(arrival, sum_tx + sum_delay + Number(packets - 2) * longest);
    const Number delay = Number(link.delay.ps) * scale;
    arrival += byte * Number(last_wire) + delay;
    sum_delay += delay;
  }
  return arrival / scale;
}

double TimeOn(const Channel& link, int64_t bytes) {
  return static_cast<double>(bytes) * kBitPicoseconds / static_cast<double>(link.rate.bps);
}
double DelayOf(const Channel& link) { return static_cast<double>(link.delay.ps); }

// Equal links that serve packets side by side.
struct LinkGroup {
  int64_t count;
  double full;  // The time of a full packet on one of them,
  double last;  // and of the flow's last packet.

  // Returns the least time for `packets` full packets, and the last one.
  double Work(int64_t packets, bool with_last) const {
    const int64_t all = packets + (with_last ? 1 : 0);
    if (all == 0) return 0;
    const double shared = static_cast<double>(packets) * full + (with_last ? last : 0);
    // One of the links serves no fewer packets than the others.
    const double most = static_cast<double>((all + count - 1) / count - 1) * full;
    return std::max(shared / static_cast<double>(count), most + (with_last ? last : full));
  }
};

}  // namespace

Duration PipelineTime(std::span<const Channel> path, int64_t packets, int64_t wire,
                      int64_t last_wire) {
  const int64_t scale = Scale(path);
  if (scale == 0) {
    // These rates have no small common measure: 64 bits of mantissa are exact to far below a
    // picosecond.
    const long double time = Pipeline<long double>(path, packets, wire, last_wire, 1);
    return {static_cast<int64_t>(time * (1 - 1e-17L))};
  }
  return {static_cast<int64_t>(
      Pipeline<absl::int128>(path, packets, wire, last_wire, absl::int128(scale)))};
}

IdealFct::IdealFct(const Routing& routing, const PacketSizes& sizes, bool may_detour, bool spreads)
    : routing_(routing),
      sizes_(sizes),
      may_detour_(may_detour),
      spreads_(spreads),
      fastest_{.rate = BitRate{1}, .delay = Duration{kNever.ps}},
      classes_(routing) {
  for (size_t s = 0; may_detour && s < routing.switches(); ++s) {
    for (const Adjacency::Port& port : routing.PortsOf(static_cast<SwitchId>(s))) {
      if (routing.IsHost(port.peer)) continue;
      fastest_.rate = std::max(fastest_.rate, port.out.rate);
      fastest_.delay = std::min(fastest_.delay, port.out.delay);
    }
  }
}

IdealFct::Ways IdealFct::WaysBetween(HostId src, HostId dst) {
  Ways ways;
  for (const PortIndex port : routing_.FirstHops(src, dst)) {
    const SwitchId first = routing_.SwitchAt(routing_.NicsOf(src)[port].peer);
    ways.push_back(classes_.Between(first, routing_.LeafIndexOf(dst)));
  }
  return ways;
}

Duration IdealFct::Best(HostId src, HostId dst, const Ways& ways, int64_t packets, int64_t wire,
                        int64_t last_wire) {
  Duration best{kNever.ps};
  for (const PathClasses::Class way : ways) {
    for (const std::vector<Channel>& inner : classes_.ChannelsOf(way)) {
      path_.clear();
      path_.push_back(routing_.HostUplink(src));
      path_.insert(path_.end(), inner.begin(), inner.end());
      path_.push_back(routing_.HostDownlink(dst));
      best = std::min(best, PipelineTime(path_, packets, wire, last_wire));
    }
  }
  return best;
}

int64_t IdealFct::LinksAtOnce(HostId src, const Ways& ways) const {
  // Where links fail, others may begin the shortest paths. A flow that moves to another link sends
  // its next packet there while the one before still leaves.
  if (may_detour_) return static_cast<int64_t>(routing_.LinksOf(src));
  return spreads_ ? static_cast<int64_t>(ways.size()) : 1;
}

double IdealFct::Crossing(const Ways& ways, int64_t bytes) {
  double least = static_cast<double>(kNever.ps);
  for (const PathClasses::Class way : ways) {
    for (const std::vector<Channel>& path : classes_.ChannelsOf(way)) {
      double time = 0;
      for (const Channel& link : path) time += TimeOn(link, bytes) + DelayOf(link);
      least = std::min(least, time);
      if (!may_detour_) continue;
      // A detour has no fewer links, and none is faster than the fastest.
      const double link = TimeOn(fastest_, bytes) + DelayOf(fastest_);
      least = std::min(least, static_cast<double>(path.size()) * link);
    }
  }
  return least;
}

// Returns the least time that bytes take over all paths together, without the hosts' own links.
double IdealFct::Sharing(const Ways& ways, int64_t bytes) {
  constexpr Channel kAnyRate{.rate = BitRate{std::numeric_limits<int64_t>::max()}, .delay = {}};
  double bps = 0;
  for (const PathClasses::Class way : ways) {
    capacities_.resize(std::max(capacities_.size(), size_t{way} + 1));
    double& capacity = capacities_[way];
    if (capacity == 0) capacity = static_cast<double>(classes_.CapacityVia(kAnyRate, way));
    bps += capacity;
  }
  return static_cast<double>(bytes) * kBitPicoseconds / bps;
}

// Returns a bound that no use of the paths can beat. Each of the sender's links carries one packet
// at a time, in the order of the flow; each packet takes at least its time on the fastest path
// without waiting. Packets on different paths may overtake each other, so the receiver's links
// serve them as they come.
Duration IdealFct::LeastOverAll(HostId src, HostId dst, const Ways& ways, int64_t packets,
                                int64_t wire, int64_t last_wire) {
  const Channel& first = routing_.HostUplink(src);
  const Channel& last = routing_.HostDownlink(dst);
  const int64_t in_links = LinksAtOnce(src, ways);
  const double in = TimeOn(first, wire);
  const LinkGroup out{static_cast<int64_t>(routing_.LinksOf(dst)), TimeOn(last, wire),
                      TimeOn(last, last_wire)};
  // When a full packet, numbered from 1 to packets - 1, and the last packet reach the receiver's
  // links at the earliest.
  const double full_crossing = DelayOf(first) + Crossing(ways, wire);
  const auto arrival = [&](int64_t packet) {
    return static_cast<double>((packet + in_links - 1) / in_links) * in + full_crossing;
  };
  const double tail = static_cast<double>((packets - 1) / in_links) * in +
                      TimeOn(first, last_wire) + DelayOf(first) + Crossing(ways, last_wire);
  // Full packets that the last one cannot overtake.
  const int64_t ahead = std::clamp<int64_t>(
      static_cast<int64_t>(std::floor((tail - full_crossing) / in)) * in_links, 0, packets - 1);
  // For every packet, the receiver's links are done no earlier than its arrival plus their work for
  // it and for those that arrive later.
  double done = tail + out.Work(packets - 1 - ahead, /*with_last=*/true);
  const auto consider = [&](int64_t from, int64_t end) {
    for (int64_t k = std::max<int64_t>(from, 1); k < std::min(end, packets); ++k) {
      done = std::max(done, arrival(k) + out.Work(packets - k, /*with_last=*/k <= ahead));
    }
  };
  // That is linear in the number of the packet, but for a period of both groups of links, before
  // and after the last packet. So the extremes are within a period of the ends.
  const int64_t period = std::lcm(in_links, out.count);
  consider(1, 1 + period);
  consider(ahead + 1 - period, ahead + 1 + period);
  consider(packets - period, packets);
  // All bytes pass the slowest links of the paths. These begin no earlier than the first packet can
  // reach them, and end before the last one goes on.
  if (!may_detour_) {
    const int64_t smallest = std::min(wire, last_wire);
    const double rest =
        TimeOn(first, smallest) + DelayOf(first) + Crossing(ways, 0) + TimeOn(last, smallest);
    done = std::max(done, rest + Sharing(ways, (packets - 1) * wire + last_wire));
  }
  return {static_cast<int64_t>(done + DelayOf(last) - 1)};
}

IdealFct::Times IdealFct::Of(HostId src, HostId dst, int64_t size) {
  const Ways there = WaysBetween(src, dst);
  const int64_t packets = (size + sizes_.mss - 1) / sizes_.mss;
  const int64_t last_payload = size - (packets - 1) * sizes_.mss;
  const int64_t wire = sizes_.DataPacket(sizes_.mss) + sizes_.wire_overhead;
  const int64_t last_wire = sizes_.DataPacket(last_payload) + sizes_.wire_overhead;
  const int64_t ack_wire = sizes_.ack + sizes_.wire_overhead;
  const Duration rx = Best(src, dst, there, packets, wire, last_wire);
  const bool has_links = routing_.LinksOf(dst) > 1 || LinksAtOnce(src, there) > 1;
  const bool several = may_detour_ || has_links || std::ranges::any_of(there, [&](auto way) {
                         return classes_.HasSeveral(way);
                       });
  const Duration least =
      several ? std::min(rx, LeastOverAll(src, dst, there, packets, wire, last_wire)) : rx;
  const Duration ack = Best(dst, src, WaysBetween(dst, src), 1, ack_wire, ack_wire);
  const Duration ideal = spreads_ && has_links ? least : rx;
  return {ideal, ideal + ack, least};
}

}  // namespace heddle
