// SPDX-License-Identifier: Apache-2.0
// Taps on links, for the tracer. A tap notes the packets that arrive at the far end of a link; when
// a window has ended, Take() hands them out by time. The order does not depend on the threads.

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

// A range of flow ids, both ends included.
struct FlowRange {
  FlowId first = 0;
  FlowId last = 0;
};

// Chooses the packets that are noted.
struct CaptureFilter {
  std::vector<FlowRange> flows;  // Empty: packets of all flows, and of none.
  bool pauses = true;
  Time from;         // The earliest arrival that is noted.
  Time to = kNever;  // Later arrivals are not noted, nor those at this instant.

  bool ChoosesFlow(FlowId flow) const;
  bool Chooses(const Packet& packet) const;
};

class Capture {
 public:
  explicit Capture(CaptureFilter filter) : filter_(std::move(filter)) {}

  // Call it while the network is built, after Engine::Place(), for all ports of one node before the
  // next node. Packets that arrive at `in_port` of `node` are noted under `point`.
  void Watch(Engine& engine, Node& node, PortIndex in_port, uint32_t point);

  // Call it between windows. Visits the packets noted since the last call, by arrival, then by
  // point, then in the order in which they were noted.
  void Take(const std::function<void(uint32_t point, const Packet&)>& visit);

  // From now on nothing is noted.
  void Stop() { filter_.to = Time{}; }

  const CaptureFilter& filter() const { return filter_; }

 private:
  struct Noted {
    uint32_t point;
    Packet packet;
  };

  // The tap of one node, which only the thread of that node writes.
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
  std::deque<NodeTap> taps_;  // A deque, so that taps keep their addresses.
  std::vector<const Noted*> order_;
};

}  // namespace heddle
