// SPDX-License-Identifier: Apache-2.0
// A leaf that random packets and changes of routes reach. Tests of schemes compare its choices with
// those of plain models, which are told the same.

#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/packet.h"
#include "core/random.h"
#include "core/units.h"
#include "tests/support/lb_bench.h"
#include "tests/support/lb_control.h"

namespace heddle {

// The uplinks that lead to the other leaves now. The version grows with each change.
struct LiveUplinks {
  std::vector<PortIndex> ports;
  uint32_t version = 1;

  bool Has(PortIndex port) const { return std::ranges::count(ports, port) > 0; }
};

// Tells a model which measurements the leaf forgets. The leaf hears of routes only with the packets
// that it chooses for.
class PlainRoutes {
 public:
  // A packet to `leaf` is chosen for. Calls `forget(port)` for each uplink that may have failed
  // since the last one to this leaf: measurements over it count no more.
  template <class Forget>
  void Note(uint16_t leaf, const LiveUplinks& live, size_t uplinks, const Forget& forget) {
    const uint32_t before = std::exchange(seen_[leaf], live.version);
    if (before == live.version) return;
    const bool missed_some = before > 0 && live.version > before + 1;
    for (PortIndex port = 0; port < uplinks; ++port) {
      if (missed_some || !live.Has(port)) forget(port);
    }
  }

 private:
  std::map<uint16_t, uint32_t> seen_;
};

// Which paths the leaf has, and whether packets name them.
struct LeafRules {
  std::string name;
  std::string settings = {};
  int tiers = 2;
  uint16_t above = 1;    // Uplinks of a switch above.
  bool is_near = false;  // The other leaves share those switches.

  static constexpr uint16_t kUplinks = 4;
  static constexpr uint16_t kLeaves = 3;  // Leaf 0 is the one under test.

  uint16_t paths() const { return is_near ? kUplinks : static_cast<uint16_t>(kUplinks * above); }
  int links() const { return tiers == 2 || is_near ? 2 : 4; }
};
inline std::ostream& operator<<(std::ostream& os, const LeafRules& rules) {
  return os << rules.name;
}

// "{kind: flb, gap_tick: 1us}"; `more` may be empty.
inline std::string SettingsWith(const std::string& usual, const std::string& more) {
  return "{" + usual + (more.empty() ? "" : ", " + more) + "}";
}

// Expects that the leaf has taken one of the paths, or ports, that a model allows.
inline void ExpectAllowed(const std::set<uint16_t>& allowed, uint16_t taken) {
  EXPECT_TRUE(allowed.contains(taken))
      << fmt::format("{}, not {}", taken, fmt::join(allowed, " or "));
}

class LeafPlay {
 public:
  LeafPlay(std::string_view settings, const LbSwitch::Shape& shape, uint64_t seed)
      : leaf(settings, shape),
        uplinks_(static_cast<PortIndex>(shape.uplinks.size())),
        rng_(Rng::Stream(seed, "leaf", 0)) {
    for (PortIndex port = 0; port < uplinks_; ++port) live.ports.push_back(port);
  }

  uint16_t Below(uint32_t n) { return static_cast<uint16_t>(rng_.Below(n)); }
  bool OneIn(uint32_t n) { return rng_.Below(n) == 0; }
  PortIndex AnyUplink() { return Below(uplinks_); }
  uint16_t AnyOtherLeaf() { return 1 + Below(LeafRules::kLeaves - 1u); }

  // Flows 2, 4, ... go to leaf 1, the others to leaf 2.
  static uint16_t LeafOf(FlowId flow) { return flow % 2 == 0 ? 1 : 2; }
  static Packet PacketOf(FlowId flow, uint32_t payload = 1460) {
    Packet packet = LbPacket(flow, payload);
    packet.flow = flow;
    packet.dst = LeafOf(flow);
    return packet;
  }

  // Two uplinks live at least. The leaf hears of the change with the next packet that it chooses
  // for: send one at once.
  void ChangeRoutes() {
    std::vector<PortIndex> ports;
    while (ports.size() < 2) {
      ports.clear();
      for (PortIndex port = 0; port < uplinks_; ++port) {
        if (!OneIn(4)) ports.push_back(port);
      }
    }
    if (ports == live.ports) return;
    live = {ports, live.version + 1};
  }

  // Returns the packet as it is queued, and its port.
  std::pair<Packet, PortIndex> Send(Packet packet) {
    const PortIndex port = leaf.PortFor(packet, now, live.ports);
    leaf.At(now,
            [&](SwitchView& view, SwitchPolicy& policy) { policy.OnEnqueue(view, packet, port); });
    return {packet, port};
  }

  // A packet arrives for the leaf's host. Returns true if the leaf forwards it.
  bool Deliver(const Packet& packet, PortIndex in_port = 0) {
    Decision decision = Decision::Discard();
    leaf.At(now, [&](SwitchView& view, SwitchPolicy& policy) {
      decision = policy.OnPacket(view, packet, in_port, {1, 1, {&uplinks_, 1}});
    });
    return decision.kind == Decision::Kind::kForward;
  }

  // A control packet of `from`, about a flow of this leaf, arrives. The leaf takes it.
  template <class Header>
  void Control(const Header& header, FlowId flow, uint16_t from) {
    Packet packet = ControlPacket(header, flow);
    packet.src = from;
    packet.tuple_hash = LbPacket(flow).tuple_hash;
    EXPECT_FALSE(Deliver(packet));
  }

  // Fewer than `most` packets begin to wait at an uplink.
  void FillAnUplink(uint32_t most) {
    const PortIndex port = AnyUplink();
    const int packets = Below(most);
    leaf.At(now, [&](SwitchView& view, SwitchPolicy&) {
      for (int i = 0; i < packets; ++i) view.SendControl(LbPacket(99), port);
    });
  }

  LbSwitch leaf;
  Time now{Time{} + 1_ms};
  LiveUplinks live = {};

 private:
  const PortIndex uplinks_;  // Their number, and the port of the leaf's host.
  Rng rng_;
};

}  // namespace heddle
