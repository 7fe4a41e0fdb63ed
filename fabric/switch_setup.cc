// SPDX-License-Identifier: Apache-2.0
// A switch before its run, at changes of its links between windows, and its results.

#include <algorithm>
#include <utility>

#include "fabric/switch.h"

namespace heddle {

Switch::Switch(SwitchId id, int tier, size_t ports, SwitchPolicyPtr policy)
    : ports_(ports),
      policy_(std::move(policy)),
      hooks_(policy_.hooks()),
      shows_in_order_((hooks_ & SwitchPolicy::kTransmit) != 0 && !policy_->watches_by_port()),
      id_(id),
      tier_(tier) {}

FifoPort& Switch::AddPort(const PortSettings& settings, bool faces_host) {
  faces_host_.push_back(faces_host);
  path_parts_.push_back(0);
  return ports_.Add(settings);
}

void Switch::UseQueues(const Queueing& queueing, const std::vector<QueuedPorts::Port>& ports) {
  queued_ =
      std::make_unique<QueuedPorts>(queueing, ports, id_, (hooks_ & SwitchPolicy::kTransmit) != 0);
  if ((hooks_ & SwitchPolicy::kTransmit) != 0 && !shows_in_order_) {
    queued_->SetShown(
        [this](const QueuedPorts::Started& started, Time start) { ShowLate(started, start); });
  }
  queued_->SetLost([this](const Packet& packet) { Discard(packet, DropReason::kWatchdog); });
  telemetry_ = !ports.empty() && ports.front().queues.telemetry;
  trims_ = queued_->trims();
}

void Switch::SetRoutes(RoutingTable routes) {
  routes_ = std::move(routes);
  candidates_.clear();
  for (const RoutingTable::Set& set : routes_.sets) {
    const std::span<const PortIndex> ports = routes_.PortsOf(set);
    const bool is_last =
        ports.size() == 1 && routes_.uplinks.size() > 1 && IsAmong(routes_.uplinks, ports.front());
    const bool is_host = ports.size() > 1 && faces_host_[ports.front()];
    candidates_.push_back(
        {static_cast<uint32_t>(candidates_.size()), routes_.version, ports, is_last, is_host});
  }
  for (size_t digit = 0; digit < routes_.uplinks.size(); ++digit) {
    path_parts_[routes_.uplinks[digit]] = static_cast<uint16_t>(digit * routes_.path_divisor);
  }
  std::vector<bool> are_links_of_host;
  for (const Candidates& its : candidates_) are_links_of_host.push_back(its.are_links_of_host);
  ecmp_routes_ = EcmpRoutes(routes_, path_parts_, are_links_of_host);
  FindShortcuts();
}

void Switch::Attach() {
  policy_->Attach(view_);
  const uint32_t idle = policy_->idle_hooks();
  HEDDLE_CHECK((idle & SwitchPolicy::kTransmit) == 0, "kTransmit is among a policy's idle_hooks()");
  hooks_ &= ~idle;
  if (hooks_ == 0 && timers_.Next() == kNever) ecmp_salt_ = policy_->ecmp_salt();
  FindShortcuts();
}

// Finds out which steps this switch can leave out for every packet. Routes, hooks and queues
// decide.
void Switch::FindShortcuts() {
  constexpr uint32_t kSees =
      SwitchPolicy::kTransmit | SwitchPolicy::kEnqueue | SwitchPolicy::kDropped;
  const bool sees = (hooks_ & kSees) != 0;
  plain_ = !queued_ && !sees;
  may_pass_ = queued_ && !telemetry_ && (!sees || (!trims_ && policy_->enqueue_only_stamps()));
  const bool asks = std::ranges::any_of(candidates_, [&](const Candidates& candidates) {
    return SwitchPolicy::AsksAbout(hooks_, candidates);
  });
  const bool decides_alone = ecmp_salt_ || (!sees && !asks);
  runs_alone_ = decides_alone && (plain_ || (may_pass_ && !trims_));
  const bool returns =
      trims_ && queued_->trimming().settings().overflow == TrimSettings::Overflow::kBack;
  only_chooses_ = !sees && (plain_ || may_pass_) && !returns &&
                  (hooks_ & SwitchPolicy::kEveryPacket) == 0 && policy_->only_chooses();
}

// --- Between windows ---

void Switch::SetChannel(PortIndex port, Time now, BitRate rate, Duration delay) {
  const bool replays = (hooks_ & SwitchPolicy::kTransmit) != 0;
  if (replays) transmissions_.Forget(port, now);
  const bool new_rate = rate != ports_[port].rate();
  ports_[port].SetChannel(now, rate, delay, [&](uint64_t number, Time start) {
    if (replays) transmissions_.Add({start, port, number});
  });
  if (queued_) queued_->OnNewChannel(port, new_rate, now);
  Wake(now);  // The switch may now have to send earlier.
}

void Switch::TakeDown(PortIndex port, Time now) {
  now_ = now;
  if (hooks_ & SwitchPolicy::kTransmit) transmissions_.Forget(port, now);
  ports_[port].GoDown(now, [this](const Packet& packet) { ReportDrop(packet); });
  if (!queued_) return;
  queued_->TakeDown(port, now,
                    [this](const Packet& packet) { Discard(packet, DropReason::kLinkDown); });
  Wake(now);
}

void Switch::VoidPauses(PortIndex port, Time now) {
  if (!queued_) return;
  queued_->VoidPauses(port, now);
  Wake(now);
}

// --- Results ---

int64_t Switch::drops(DropReason reason) const {
  int64_t drops = discards_[static_cast<size_t>(reason)];
  if (reason == DropReason::kTail) {
    for (const FifoPort& port : ports_) drops += port.dropped();
  } else if (reason == DropReason::kLinkDown) {
    for (const FifoPort& port : ports_) drops += port.dropped_down();
  }
  return drops;
}

size_t Switch::memory_bytes() const {
  size_t bytes = sizeof(*this) + policy_->StateBytes();
  for (const FifoPort& port : ports_) bytes += port.memory_bytes();
  if (queued_) bytes += queued_->memory_bytes();
  bytes += kept_.capacity() * sizeof(Kept);
  return bytes + routes_.sets_of_group.capacity() * sizeof(RoutingTable::GroupSets);
}

}  // namespace heddle
