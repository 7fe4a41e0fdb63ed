// SPDX-License-Identifier: Apache-2.0

#include "tests/support/lb_queues.h"

#include <algorithm>
#include <cmath>

#include "core/random.h"

namespace heddle {
namespace {

// The standard deviation of unsent bytes over the uplinks.
double SpreadOf(const SwitchView& view, std::span<const PortIndex> ports, int64_t& longest) {
  double sum = 0;
  double squares = 0;
  for (const PortIndex port : ports) {
    const int64_t unsent = view.Unsent(port).count;
    longest = std::max(longest, unsent);
    sum += static_cast<double>(unsent);
    squares += static_cast<double>(unsent) * static_cast<double>(unsent);
  }
  const double n = static_cast<double>(ports.size());
  return std::sqrt(std::max(0.0, squares / n - sum / n * sum / n));
}

}  // namespace

QueueStats DriveQueues(LbSwitch& leaf, const LbSwitch::Shape& shape, double load, int packets) {
  QueueStats stats;
  stats.packets.assign(shape.uplinks.size(), 0);
  double bps = 0;
  for (const BitRate rate : shape.uplinks) bps += static_cast<double>(rate.bps);
  const Packet full = LbPacket(0);
  const double wire_bits = (full.bytes + 24) * 8;
  Rng rng = Rng::Stream(shape.seed, "arrivals", 0);
  const std::vector<uint32_t> tuples = RandomTuples(shape.seed, 1'000);
  Time now;
  for (int i = 0; i < packets; ++i) {
    now += rng.ExponentialDuration(wire_bits / bps / load * 1e12);
    const uint32_t flow = rng.Below(1'000);
    Packet packet = LbPacket(tuples[flow]);
    packet.flow = flow;
    leaf.At(now, [&](SwitchView& view, SwitchPolicy& policy) {
      stats.spread += SpreadOf(view, leaf.uplinks(), stats.longest) / packets;
      const PortIndex in = static_cast<PortIndex>(leaf.uplinks().size());
      const Decision decision = policy.OnPacket(view, packet, in, {0, 1, leaf.uplinks()});
      view.SendControl(packet, decision.port);
      ++stats.packets[decision.port];
    });
  }
  return stats;
}

QueueStats DriveQueues(std::string_view settings, const LbSwitch::Shape& shape, double load,
                       int packets) {
  LbSwitch leaf(settings, shape);
  return DriveQueues(leaf, shape, load, packets);
}

}  // namespace heddle
