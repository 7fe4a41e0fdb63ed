// SPDX-License-Identifier: Apache-2.0
// Makes random packets for a switch: bursts and idle times, pauses and resumes. Times may lie on a
// coarse grid, so that much happens at the same instant.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/random.h"
#include "tests/support/event_switch.h"

namespace heddle {

struct TraceRule {
  size_t ports = 1;
  uint8_t classes = 0b1111;
  uint8_t pausable = 0;    // Classes that peers pause and resume.
  bool on_grid = false;    // The grid has 100 ns; packets are multiples of 125 bytes.
  BitRate rate = 10_Gbps;  // The rate of every port.
  double load = 1.2;       // The load in bursts; a third of it between them.
  size_t packets = 150;
};

// The trace begins at 1 us. Every class of every port is resumed at the end.
std::vector<Offer> RandomTrace(const TraceRule& rule, Rng& rng);

inline Packet PacketOf(uint16_t bytes, uint8_t cls, HostId dst = 0) {
  Packet packet;
  packet.bytes = bytes;
  packet.priority = cls;
  packet.dst = dst;
  return packet;
}

inline Packet PauseOf(uint8_t classes, bool stop) {
  Packet frame;
  frame.kind = PacketKind::kPause;
  frame.bytes = 64;
  frame.pause = {classes, stop};
  return frame;
}

}  // namespace heddle
