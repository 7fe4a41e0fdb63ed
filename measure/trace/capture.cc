// SPDX-License-Identifier: Apache-2.0

#include "measure/trace/capture.h"

#include <algorithm>
#include <tuple>

#include "core/subflow_id.h"

namespace heddle {

bool CaptureFilter::ChoosesFlow(FlowId flow) const {
  return flows.empty() || std::ranges::any_of(flows, [&](const FlowRange& range) {
           return flow >= range.first && flow <= range.last;
         });
}

bool CaptureFilter::Chooses(const Packet& packet) const {
  if (packet.arrival < from || packet.arrival >= to) return false;
  if (packet.kind == PacketKind::kPause) return pauses;
  const bool has_flow = packet.kind < PacketKind::kControl;
  return has_flow ? ChoosesFlow(ConnectionOf(packet.flow)) : flows.empty();
}

void Capture::Watch(Engine& engine, Node& node, PortIndex in_port, uint32_t point) {
  if (taps_.empty() || &taps_.back().tapped.node() != &node) {
    engine.Insert(taps_.emplace_back(node, filter_).tapped);
  }
  taps_.back().tapped.Watch(in_port, point);
}

void Capture::Take(const std::function<void(uint32_t point, const Packet&)>& visit) {
  order_.clear();
  for (const NodeTap& tap : taps_) {
    for (const Noted& noted : tap.noted) order_.push_back(&noted);
  }
  if (order_.empty()) return;
  std::ranges::stable_sort(order_, {}, [](const Noted* noted) {
    return std::tuple(noted->packet.arrival, noted->point);
  });
  for (const Noted* noted : order_) visit(noted->point, noted->packet);
  for (NodeTap& tap : taps_) tap.noted.clear();
}

}  // namespace heddle
