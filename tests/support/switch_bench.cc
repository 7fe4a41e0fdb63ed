// SPDX-License-Identifier: Apache-2.0

#include "tests/support/switch_bench.h"

#include <algorithm>

namespace heddle {
namespace {

constexpr Duration kToSwitch = 1_us;  // The delay from a peer.

struct NoPolicy final : SwitchPolicy {
  Decision OnPacket(SwitchView&, const Packet&, PortIndex, const Candidates& c) override {
    return Decision::Forward(c.ports.front());
  }
  size_t StateBytes() const override { return 0; }
};

class Script final : public Conductor {
 public:
  Script(Switch& node, std::vector<SwitchBench::Action> actions, Time end)
      : switch_(node), actions_(std::move(actions)), end_(end) {}

  Time Next() override { return next_ < actions_.size() ? actions_[next_].first : kNever; }
  Time Open(Time start, Time latest) override {
    while (Next() <= start) {
      const auto& [at, act] = actions_[next_++];
      act(switch_, at);
    }
    return std::min(latest, Next());
  }
  void Close(Time /*end*/) override {}
  Time End() const override { return end_; }

 private:
  Switch& switch_;
  const std::vector<SwitchBench::Action> actions_;
  const Time end_;
  size_t next_ = 0;
};

// Host h is behind port h.
RoutingTable OnePortPerHost(size_t ports) {
  RoutingTable routes;
  std::vector<uint16_t> sets;
  for (size_t p = 0; p < ports; ++p) {
    sets.push_back(static_cast<uint16_t>(p));
    routes.sets.push_back({static_cast<uint32_t>(p), 1});
    routes.ports.push_back(static_cast<PortIndex>(p));
  }
  routes.SetSetsOfHosts(sets);
  return routes;
}

}  // namespace

void SwitchBench::Peer::Run(const Window& window) {
  for (; next < offers.size() && offers[next].at - kToSwitch < window.end; ++next) {
    Packet& slot = wire.Slot();
    slot = offers[next].packet;
    slot.arrival = offers[next].at;
    wire.Commit(slot.arrival, std::exchange(last_arrival, slot.arrival), window.Horizon(wire));
  }
  for (; arrivals_.Next() < window.end; arrivals_.Pop()) received.push_back(arrivals_.Front());
}

Time SwitchBench::Peer::Due() const {
  return std::min(arrivals_.Next(), next < offers.size() ? offers[next].at - kToSwitch : kNever);
}

SwitchBench::SwitchBench(const SwitchPlan& plan, Duration window, SwitchPolicyPtr policy,
                         SwitchId id)
    : has_policy_(policy != nullptr),
      switch_(id, 0, plan.ports.size(), policy ? std::move(policy) : std::make_unique<NoPolicy>()) {
  engine_.Add(switch_, engine_.AddGroup());
  std::vector<QueuedPorts::Port> ports;
  for (PortSettings settings : plan.ports) {
    if (!plan.fifo) settings.buffer = settings.mark_above = kUnlimited;
    FifoPort& out = switch_.AddPort(settings, /*faces_host=*/!has_policy_ || plan.of_hosts);
    ports.push_back({&out, plan.queues, plan.shares[ports.size()], plan.trim});
    peers_.push_back(std::make_unique<Peer>());
    hosts_.push_back(peers_.back().get());
    engine_.Add(*peers_.back(), engine_.AddGroup());
    engine_.Connect(*peers_.back(), peers_.back()->wire, switch_, kToSwitch);
    engine_.Connect(switch_, out.wire(), *peers_.back(), settings.delay);
  }
  engine_.LimitWindow(window);
  if (!plan.fifo) switch_.UseQueues(plan.queueing, ports);
  switch_.SetRoutes(OnePortPerHost(plan.ports.size()));
  switch_.SetHosts(hosts_);
  switch_.Attach();
  engine_.Place(1);
}

void SwitchBench::Run(std::vector<Offer> offers, std::vector<Action> actions, Time end) {
  SortOffers(offers);
  for (Offer& offer : offers) peers_[offer.in]->offers.push_back(offer);
  for (const auto& peer : peers_) {
    if (peer->Due() != kNever) peer->Wake(peer->Due());
  }
  Script script(switch_, std::move(actions), end);
  engine_.Run(script);
  if (switch_.queued() == nullptr) return;
  switch_.queued()->CheckBooks();
  switch_.queued()->CheckTrimmedBytes();
}

}  // namespace heddle
