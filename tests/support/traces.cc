// SPDX-License-Identifier: Apache-2.0

#include "tests/support/traces.h"

#include <bit>

namespace heddle {
namespace {

constexpr Duration kSpacing = 100_ns;

uint8_t OneOf(uint8_t classes, Rng& rng) {
  uint32_t skip = rng.Below(static_cast<uint32_t>(std::popcount(classes)));
  for (uint8_t cls = 0;; ++cls) {
    if ((classes >> cls & 1) != 0 && skip-- == 0) return cls;
  }
}

}  // namespace

std::vector<Offer> RandomTrace(const TraceRule& rule, Rng& rng) {
  const auto below = [&](size_t n) {
    return static_cast<uint16_t>(rng.Below(static_cast<uint32_t>(n)));
  };
  const double service = 800.0 * 8e12 / static_cast<double>(rule.rate.bps);
  const double mean = service / rule.load / static_cast<double>(rule.ports);
  std::vector<Offer> offers;
  Time now = Time{} + 1_us;
  for (size_t i = 0; i < rule.packets; ++i) {
    const bool burst = i / 40 % 2 == 0;
    Duration gap = rng.ExponentialDuration(burst ? mean : 3 * mean);
    if (rule.on_grid) gap = kSpacing * ((gap.ps + kSpacing.ps / 2) / kSpacing.ps);
    now += gap;
    const PortIndex in = below(rule.ports);
    if (rule.pausable != 0 && rng.Below(6) == 0) {
      const uint8_t classes = static_cast<uint8_t>(rng.Below(256) & rule.pausable);
      offers.push_back({now, in, PauseOf(classes, rng.Below(2) == 0)});
      continue;
    }
    const uint8_t cls = OneOf(rule.classes, rng);
    const uint16_t bytes = rule.on_grid ? static_cast<uint16_t>(125 * (1 + rng.Below(12)))
                                        : static_cast<uint16_t>(64 + rng.Below(1'455));
    Packet packet = PacketOf(bytes, cls, below(rule.ports));
    packet.src = in;
    packet.seq = static_cast<uint32_t>(i);
    if (rng.Below(2) == 0) packet.Set(Packet::kEct);
    offers.push_back({now, in, packet});
  }
  for (PortIndex p = 0; rule.pausable != 0 && p < rule.ports; ++p) {
    offers.push_back({now + 1_us, p, PauseOf(rule.pausable, false)});
  }
  return offers;
}

}  // namespace heddle
