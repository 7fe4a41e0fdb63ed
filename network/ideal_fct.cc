// SPDX-License-Identifier: Apache-2.0

#include "network/ideal_fct.h"

#include <absl/numeric/int128.h>

#include <algorithm>
#include <cmath>
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

IdealFct::IdealFct(const Routing& routing, const PacketSizes& sizes, bool may_detour)
    : routing_(routing),
      sizes_(sizes),
      may_detour_(may_detour),
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

// Returns a bound that no use of the paths can beat. The sender's link carries one packet at a
// time, and each packet takes at least its time on the fastest path without waiting. Packets on
// different paths may overtake each other, so the receiver's link serves them as they come. Several
// links, among which switches may choose, are no better than one link as fast as all of them
// together.
Duration IdealFct::LeastOverAll(HostId src, HostId dst, const Ways& ways, int64_t packets,
                                int64_t wire, int64_t last_wire) {
  const Channel& first = routing_.HostUplink(src);
  const Channel& last = routing_.HostDownlink(dst);
  const auto tx = [](const Channel& link, int64_t bytes) {
    return static_cast<double>(bytes) * kBitPicoseconds / static_cast<double>(link.rate.bps);
  };
  const auto crossing = [&](int64_t bytes) {
    double least = static_cast<double>(kNever.ps);
    for (const PathClasses::Class way : ways) {
      for (const std::vector<Channel>& path : classes_.ChannelsOf(way)) {
        double time = static_cast<double>(first.delay.ps);
        for (const Channel& link : path) {
          time += tx(link, bytes) + static_cast<double>(link.delay.ps);
        }
        least = std::min(least, time);
        if (!may_detour_) continue;
        // A detour has no fewer links, and none is faster than the fastest.
        const double link = tx(fastest_, bytes) + static_cast<double>(fastest_.delay.ps);
        least = std::min(
            least, static_cast<double>(first.delay.ps) + static_cast<double>(path.size()) * link);
      }
    }
    return least;
  };
  const double n = static_cast<double>(packets);
  const double in = tx(first, wire);
  const double links = static_cast<double>(routing_.LinksOf(dst));
  const double out = tx(last, wire) / links;
  const double last_out = tx(last, last_wire) / links;
  // Full packet k, from 1 to n - 1, reaches the last link at k * in + full; the last packet at
  // `tail`.
  const double full = crossing(wire);
  const double tail = (n - 1) * in + tx(first, last_wire) + crossing(last_wire);
  // For every time t, the last link is done no earlier than t plus its work for the packets that
  // reach it from t on. Both are linear in k, so the extremes before and after the last packet
  // decide.
  const double overtaken = std::clamp(std::floor((tail - full) / in), 0.0, n - 1);
  double done = tail + last_out + (n - 1 - overtaken) * out;
  const auto consider = [&](double k, bool with_tail) {
    if (k < 1 || k > n - 1) return;
    done = std::max(done, k * in + full + (n - k) * out + (with_tail ? last_out : 0));
  };
  if (overtaken >= 1) consider(1, true);
  consider(overtaken, true);
  consider(overtaken + 1, false);
  consider(n - 1, overtaken >= n - 1);
  return {static_cast<int64_t>(done + static_cast<double>(last.delay.ps) - 1)};
}

IdealFct::Times IdealFct::Of(HostId src, HostId dst, int64_t size) {
  const Ways there = WaysBetween(src, dst);
  const int64_t packets = (size + sizes_.mss - 1) / sizes_.mss;
  const int64_t last_payload = size - (packets - 1) * sizes_.mss;
  const int64_t wire = sizes_.DataPacket(sizes_.mss) + sizes_.wire_overhead;
  const int64_t last_wire = sizes_.DataPacket(last_payload) + sizes_.wire_overhead;
  const int64_t ack_wire = sizes_.ack + sizes_.wire_overhead;
  const Duration rx = Best(src, dst, there, packets, wire, last_wire);
  const bool several =
      may_detour_ || routing_.LinksOf(dst) > 1 ||
      std::ranges::any_of(there, [&](auto way) { return classes_.HasSeveral(way); });
  const Duration least =
      several ? std::min(rx, LeastOverAll(src, dst, there, packets, wire, last_wire)) : rx;
  const Duration ack = Best(dst, src, WaysBetween(dst, src), 1, ack_wire, ack_wire);
  return {rx, rx + ack, least};
}

}  // namespace heddle
