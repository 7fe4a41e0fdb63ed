// SPDX-License-Identifier: Apache-2.0
// The queues of one of FLB's leaves: which flows are in each, and which of them are told when it
// becomes long and when it is short again (Hu et al., USENIX ATC 2025, section 3.2).

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/units.h"
#include "lb/flb/header.h"
#include "lb/parts/flow_key.h"
#include "lb/parts/load_balancer.h"
#include "lb/parts/queue_flows.h"

namespace heddle {

class FlbQueues {
  // Tells a flow that has been told of the queue that it is short, or that nobody watches it.
  template <class Tell>
  static auto Releasing(const Tell& tell) {
    return [&tell](uint64_t key, const QueueFlows::Flow& flow) {
      if (flow.is_notified) tell(key, flow, FlbControl{FlbControl::kReleased, 0, 0, 0});
    };
  }

 public:
  // Bytes: a queue is long from `above` on (K), and short below `below`. `again`: before a flow is
  // told a second time, of another number of flows. `pauses`: who is told sends nothing (FLB+RC).
  FlbQueues(int64_t above, int64_t below, Duration again, bool pauses)
      : above_(above), below_(below), again_(again), pauses_(pauses) {}

  void Attach(size_t ports, size_t flows_each) {
    for (size_t port = 0; port < ports; ++port) {
      queues_.push_back(std::make_unique<QueueFlows>(flows_each));
    }
  }

  // A packet of data has been queued. Calls `tell(key, flow, control)` for each flow that is to
  // know.
  template <class Tell>
  void Enter(const SwitchView& view, const Packet& packet, PortIndex port, const Tell& tell) {
    QueueFlows& queue = *queues_[port];
    if (queue.distinct() > 0 && view.QueuedPackets(port) <= 1) queue.Empty();
    QueueFlows::Flow& flow = queue.Enter(packet, view.now(), Releasing(tell));
    if (view.Unsent(port).count < above_) return;
    if (!queue.is_congested) return Begin(view.now(), queue, tell);
    const bool has_news = flow.told != queue.distinct() && IsTime(view.now(), flow);
    if (!flow.is_notified || has_news) {
      Notify(view.now(), queue, FlowKey(packet), flow, tell);
    }
    TellPaused(view.now(), queue, tell);
  }

  // It has been sent.
  template <class Tell>
  void Leave(const SwitchView& view, const Packet& packet, PortIndex port, const Tell& tell) {
    QueueFlows& queue = *queues_[port];
    queue.Leave(packet);
    if (!queue.is_congested) return;
    if (view.Unsent(port).count >= below_) return TellPaused(view.now(), queue, tell);
    queue.ForEach(Releasing(tell));
    queue.EndEpisode();
  }

  int64_t episodes() const { return episodes_; }
  // Flows that were forgotten for lack of room.
  int64_t evictions() const {
    int64_t sum = 0;
    for (const auto& queue : queues_) sum += queue->evictions();
    return sum;
  }
  size_t memory_bytes() const {
    size_t bytes = 0;
    for (const auto& queue : queues_) bytes += queue->memory_bytes();
    return bytes;
  }

 private:
  bool IsTime(Time now, const QueueFlows::Flow& flow) const { return now - flow.told_at >= again_; }

  // With rate control also flows that send nothing, as they are paused, hear of more than they know
  // of: of the most that there were, as some have left the queue by then. Several times in
  // `again_`, as that is counted for each flow.
  template <class Tell>
  void TellPaused(Time now, QueueFlows& queue, const Tell& tell) {
    if (!pauses_ || now - queue.reviewed < again_ / 4) return;
    queue.reviewed = now;
    queue.ForEach([&](uint64_t key, QueueFlows::Flow& flow) {
      if (!flow.is_notified || flow.most_told >= queue.most() || !IsTime(now, flow)) return;
      Notify(now, queue, key, flow, tell);
    });
  }

  template <class Tell>
  void Begin(Time now, QueueFlows& queue, const Tell& tell) {
    queue.BeginEpisode();
    ++episodes_;
    queue.ForEach([&](uint64_t key, QueueFlows::Flow& flow) {
      if (flow.packets > 0) Notify(now, queue, key, flow, tell);
    });
  }

  template <class Tell>
  void Notify(Time now, const QueueFlows& queue, uint64_t key, QueueFlows::Flow& flow,
              const Tell& tell) {
    flow.is_notified = true;
    flow.told = queue.distinct();
    flow.most_told = queue.most();
    flow.told_at = now;
    tell(key, flow, FlbControl{FlbControl::kCongested, 0, queue.distinct(), queue.most()});
  }

  const int64_t above_;
  const int64_t below_;
  const Duration again_;
  const bool pauses_;
  std::vector<std::unique_ptr<QueueFlows>> queues_;  // By port.
  int64_t episodes_ = 0;
};

}  // namespace heddle
