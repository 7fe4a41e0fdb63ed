// SPDX-License-Identifier: Apache-2.0
// The port queues of one of FLB's leaves: which flows are in each queue, and which of them are
// notified when it becomes long and when it is short again (Hu et al., USENIX ATC 2025, section
// 3.2). The leaf's policy calls Enter() and Leave() for each data packet.

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
  // Returns a callback that tells a notified flow that it is released: the queue is short, or the
  // flow's entry has been evicted.
  template <class Tell>
  static auto Releasing(const Tell& tell) {
    return [&tell](uint64_t key, const QueueFlows::Flow& flow) {
      if (flow.is_notified) tell(key, flow, FlbControl{FlbControl::kReleased, 0, 0, 0});
    };
  }

 public:
  // A queue is long from `above` bytes on (K), and short below `below` bytes. `again`: the least
  // time between two notices to a flow in one episode. `pauses`: a notified flow stops sending
  // (FLB+RC).
  FlbQueues(int64_t above, int64_t below, Duration again, bool pauses)
      : above_(above), below_(below), again_(again), pauses_(pauses) {}

  void Attach(size_t ports, size_t flows_each) {
    for (size_t port = 0; port < ports; ++port) {
      queues_.push_back(std::make_unique<QueueFlows>(flows_each));
    }
  }

  // Called when a data packet has been queued. Calls `tell(key, flow, control)` for each flow that
  // needs a notice.
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

  // Called when the packet has been sent.
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
  // Flows whose entries were evicted for lack of room.
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

  // With rate control, paused flows send nothing but still need the number of flows in their queue,
  // at its greatest in this episode. Runs several times within `again_`, which counts from each
  // flow's own notice.
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
