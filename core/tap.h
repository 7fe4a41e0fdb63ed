// SPDX-License-Identifier: Apache-2.0
// A tap sees the packets that arrive at a node before the node does; instruments implement it.
//
// All packets that a node will handle in a window lie on its wires when the window opens. So a
// TappedNode takes the node's place in the list of running nodes: it first walks the wires and then
// runs the node. Nodes without a tap run the same instructions as if there were no taps.

#pragma once

#include <utility>
#include <vector>

#include "core/node.h"
#include "core/packet.h"

namespace heddle {

class Tap {
 public:
  virtual ~Tap() = default;

  // `packet` arrives, unchanged since it was sent, at the in-port that the tap knows as `point`.
  // Called on the thread that runs the node, in the order of arrival at each point but not across
  // points.
  virtual void OnArrival(uint32_t point, const Packet& packet) = 0;
};

// A tapped node is never apart, and a tapped hub takes no packets ahead of Run(), because the tap
// must see packets before the node does.
class TappedNode final : public Node {
 public:
  // Both must outlive it.
  TappedNode(Node& node, Tap& tap) : node_(node), inner_(&node), tap_(tap) {}

  // Taps an in-port. Called while building.
  void Watch(PortIndex in_port, uint32_t point) { watched_.push_back({in_port, point}); }

  Node& node() { return node_; }

  // Another tap on the same node has its turn after this one.
  void RunInstead(Node& inner) { inner_ = &inner; }

  void Run(const Window& window) override {
    for (const auto& [in_port, point] : watched_) {
      node_.wire_head(in_port).ForEachBefore(
          window.end, [&](const Packet& packet) { tap_.OnArrival(point, packet); });
    }
    inner_->Run(window);
  }
  Time Due() const override { return node_.Due(); }
  void OnLetter(const Letter& letter) override { node_.OnLetter(letter); }
  // The engine would tell only the tap, and not the node, which thread it is on.
  bool MayMove() const override { return false; }
  // PrefetchSelf() is the tap's own, so the node's memory is asked for only here.
  void PrefetchEnds() const override { node_.PrefetchEnds(); }
  void PrefetchParts(Time end) override { node_.PrefetchParts(end); }

 private:
  struct Watched {
    PortIndex in_port;
    uint32_t point;
  };

  Node& node_;
  Node* inner_;  // Runs after the wires have been walked: the node, or another tap on it.
  Tap& tap_;
  std::vector<Watched> watched_;
};

}  // namespace heddle
