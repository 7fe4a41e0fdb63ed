// SPDX-License-Identifier: Apache-2.0
// A policy that notes each call of its hooks, and marks the packets that it is shown.

#pragma once

#include <gtest/gtest.h>

#include <compare>
#include <cstdint>
#include <vector>

#include "core/packet.h"
#include "core/units.h"
#include "fabric/shared_memory.h"
#include "fabric/switch.h"
#include "fabric/switch_policy.h"

namespace heddle {

inline constexpr uint32_t kAllHooks =
    SwitchPolicy::kEnqueue | SwitchPolicy::kDropped | SwitchPolicy::kTransmit;
inline constexpr uint32_t kAsked = 0;  // In place of a hook.

// A switch that trims forwards a packet whole, cuts it to a header, or returns that header to the
// sender as a NACK.
enum class Form : uint8_t { kWhole, kHeader, kReturned };

// One call of a hook.
struct Seen {
  uint32_t hook;
  Time at;
  PortIndex port;
  uint32_t seq;
  Form form;
  // The port that the packet will leave through, and its state. Noted when the policy is asked.
  PortIndex out = 0;
  Duration delay{0};
  int64_t unsent = 0;
  int64_t packets = 0;
  unsigned paused = 0;  // Bit mask of the classes that are paused.
  auto operator<=>(const Seen&) const = default;
};

inline Form FormOf(const Packet& packet) {
  if (!packet.Has(Packet::kTrimmed)) return Form::kWhole;
  return packet.kind == PacketKind::kNack ? Form::kReturned : Form::kHeader;
}
inline uint32_t SeqOf(const Packet& packet) {
  return packet.kind == PacketKind::kNack ? packet.nack.trigger : packet.seq;
}

// Forwards each packet to its first candidate.
class Noting final : public SwitchPolicy {
 public:
  Noting(std::vector<Seen>& seen, uint32_t hooks, bool says_so = false)
      : seen_(seen), unused_(kAllHooks & ~hooks), says_so_(says_so) {}
  uint32_t unused_hooks() const override { return unused_; }
  bool enqueue_only_stamps() const override { return says_so_; }
  Packets asked_about() const override { return Packets::kEvery; }
  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex in,
                    const Candidates& c) override {
    Note(kAsked, view, packet, in);
    const PortIndex out = c.ports.front();
    Seen& seen = seen_.back();
    seen.out = out;
    seen.delay = view.QueueingDelay(out);
    seen.unsent = view.Unsent(out).count;
    seen.packets = view.QueuedPackets(out);
    // All classes together: the same bytes, each part rounded by itself.
    EXPECT_NEAR(static_cast<double>(view.UnsentBefore(out, kClasses - 1).count),
                static_cast<double>(seen.unsent), 1);
    for (uint8_t cls = 0; cls < kClasses; ++cls) {
      seen.paused |= view.IsPaused(out, cls) ? 1u << cls : 0;
    }
    return Decision::Forward(out);
  }
  void OnEnqueue(SwitchView& view, Packet& packet, PortIndex port) override {
    EXPECT_EQ(packet.hops, 1) << "it has been accepted";
    Note(kEnqueue, view, packet, port);
    packet.entropy = 77;
  }
  void OnDropped(SwitchView& view, const Packet& packet, PortIndex port) override {
    Note(kDropped, view, packet, port);
  }
  void OnTransmit(SwitchView& view, Packet& packet, PortIndex port) override {
    Note(kTransmit, view, packet, port);
    packet.path = 33;
  }
  size_t StateBytes() const override { return 0; }

 private:
  void Note(uint32_t hook, SwitchView& view, const Packet& packet, PortIndex port) {
    seen_.push_back({hook, view.now(), port, SeqOf(packet), FormOf(packet)});
  }

  std::vector<Seen>& seen_;
  const uint32_t unused_;
  const bool says_so_;  // The policy says that OnEnqueue() only stamps, which is true.
};

}  // namespace heddle
