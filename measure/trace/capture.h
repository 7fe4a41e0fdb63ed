// SPDX-License-Identifier: Apache-2.0
// Taps on links: notes the packets that arrive at their far ends, and hands them out in the order
// of time when a window has ended. The order does not depend on which thread saw what.

#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "core/engine.h"
#include "core/packet.h"
#include "core/tap.h"
#include "core/units.h"

namespace heddle {

// Flows by id, both ends included.
struct FlowRange {
  FlowId first = 0;
  FlowId last = 0;
};

// Which packets are noted.
struct CaptureFilter {
  std::vector<FlowRange> flows;  // Empty: whatever they belong to.
  bool pauses = true;
  Time from;         // Those that arrive from here on,
  Time to = kNever;  // and before here.

  bool ChoosesFlow(FlowId flow) const;
  bool Chooses(const Packet& packet) const;
};

class Capture {
 public:
  explicit Capture(CaptureFilter filter) : filter_(std::move(filter)) {}

  // While building, after Engine::Place(): notes what arrives at `in_port` of `node` as of `point`.
  // The ports of a node come one after the other.
  void Watch(Engine& engine, Node& node, PortIndex in_port, uint32_t point);

  // Between windows: visits what has been noted since the last time, by arrival, then point; of one
  // point in its order.
  void Take(const std::function<void(uint32_t point, const Packet&)>& visit);

  // From now on nothing is noted.
  void Stop() { filter_.to = Time{}; }

  const CaptureFilter& filter() const { return filter_; }

 private:
  struct Noted {
    uint32_t point;
    Packet packet;
  };

  // One for each node: its thread writes here, and no other.
  class alignas(64) NodeTap final : public Tap {
   public:
    NodeTap(Node& node, const CaptureFilter& filter) : tapped(node, *this), filter_(filter) {}
    void OnArrival(uint32_t point, const Packet& packet) override {
      if (filter_.Chooses(packet)) noted.push_back({point, packet});
    }

    TappedNode tapped;
    std::vector<Noted> noted;

   private:
    const CaptureFilter& filter_;
  };

  CaptureFilter filter_;
  std::deque<NodeTap> taps_;  // They stay where they are.
  std::vector<const Noted*> order_;
};

}  // namespace heddle
