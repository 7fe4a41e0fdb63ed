// SPDX-License-Identifier: Apache-2.0
// The leaf on which CostMeter measures the decisions of a load balancer. CostMeter calls Ask() to
// time the decisions alone, and Forward() to time all work of the leaf for the same packets. The
// policies are those that MakeSwitchPolicy() makes for a simulation.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "bench/decision/cache_misses.h"
#include "bench/decision/clock.h"
#include "bench/decision/recording.h"
#include "core/check.h"
#include "core/engine.h"
#include "core/fixed_vector.h"
#include "fabric/around_policy.h"
#include "fabric/switch.h"
#include "lb/parts/load_balancer.h"
#include "lb/parts/make_policies.h"
#include "settings/status.h"

namespace heddle {

// Two leaves with a spine for each uplink. All switches run the scheme, so that its feedback
// arrives. The first leaf, of host 0, is measured; ports 0 .. n-1 of both leaves lead to spines,
// port n to the host.
class LeafPair {
 public:
  LeafPair(const LoadBalancer& balancer, size_t uplinks)
      : prompter_(new Prompter(PolicyOf(balancer, 0))),
        to_host_(static_cast<PortIndex>(uplinks)),
        prefetches_((prompter_->scheme_hooks() & SwitchPolicy::kPrefetch) != 0),
        hosts_(2) {
    AddSwitch(0, uplinks + 1, std::unique_ptr<Prompter>(prompter_));
    AddSwitch(0, uplinks + 1, PolicyOf(balancer, 1));
    for (SwitchId spine = 2; spine < uplinks + 2; ++spine) {
      AddSwitch(1, 2, PolicyOf(balancer, spine));
    }
    engine_.Add(sink_, engine_.AddGroup());
    Link(uplinks);
    engine_.Place(1);
    for (PortIndex p = 0; p < to_host_; ++p) uplinks_.push_back(p);
    for (const auto& node : switches_) Prepare(*node);
    view_.emplace(leaf());
  }

  // Returns the nanoseconds for the questions about `packets`, all at the time of the first.
  double Ask(std::span<const RecordedPacket> packets, Time start, MissCounter* misses) {
    double ns = 0;
    prompter_->question = [&](SwitchView& view, SwitchPolicy& policy) {
      if (misses != nullptr) misses->Start();
      ns = Nanoseconds([&] {
        for (size_t i = 0; i < packets.size(); ++i) {
          if (prefetches_ && i + 1 < packets.size()) policy.Prefetch(packets[i + 1].packet);
          Decide(view, policy, packets[i].packet);
        }
      });
      if (misses != nullptr) misses->Stop();
    };
    const Time at = start + (packets.front().at - Time{});
    view_->SetTimer(at, kPrompt);
    RunUntil(at + 1_ps);
    return ns;
  }

  // Returns the nanoseconds that the measured leaf takes to forward `packets`, which arrive within
  // one visit, while the other leaf's host sends the same packets back.
  double Forward(std::span<const RecordedPacket> packets, Time start) {
    for (const RecordedPacket& recorded : packets) {
      Packet packet = recorded.packet;
      packet.hops = 0xff;  // Switch ports count hops; this packet has passed none.
      for (HostId host = 0; host < 2; ++host) {
        packet.src = host;
        packet.dst = static_cast<HostId>(1 - host);
        hosts_[host].Send(packet, 0, start + (recorded.at - Time{}), Window::Until(ran_to_));
      }
    }
    return RunUntil(start + (packets.front().at - Time{}) + kCostLinkDelay + kCostVisit);
  }

  size_t state_bytes() const { return prompter_->StateBytes(); }

 private:
  // Wraps the scheme's policy, to ask it questions.
  class Prompter final : public AroundSwitchPolicy {
   public:
    using AroundSwitchPolicy::AroundSwitchPolicy;
    void OnTimer(SwitchView& view, uint32_t id) override {
      if (id != kPrompt) return AroundSwitchPolicy::OnTimer(view, id);
      question(view, scheme());
    }
    std::function<void(SwitchView&, SwitchPolicy&)> question;
  };

  Switch& leaf() { return *switches_.front(); }

  void Decide(SwitchView& view, SwitchPolicy& policy, const Packet& packet) const {
    const Decision decision = policy.OnPacket(view, packet, to_host_, {0, 1, uplinks_});
    KeepResult(decision);
  }

  void AddSwitch(int tier, size_t ports, SwitchPolicyPtr policy) {
    const auto id = static_cast<SwitchId>(switches_.size());
    switches_.push_back(std::make_unique<Switch>(id, tier, ports, std::move(policy)));
    engine_.Add(*switches_.back(), engine_.AddGroup());
  }

  // Links are made in the order in which the nodes at their ends number their ports.
  void Link(size_t uplinks) {
    const PortSettings link{.rate = 100_Gbps, .delay = kCostLinkDelay, .wire_overhead = 24_B};
    const auto connect = [&](Switch& from, Node& to, bool faces_host) {
      engine_.Connect(from, from.AddPort(link, faces_host).wire(), to, kCostLinkDelay);
    };
    for (size_t l = 0; l < 2; ++l) {
      for (size_t p = 0; p < uplinks; ++p) {
        connect(*switches_[l], *switches_[2 + p], false);
        connect(*switches_[2 + p], *switches_[l], false);
      }
      connect(*switches_[l], sink_, true);
      // One sender stands for 16 hosts, so its link must be fast enough to keep the packets' times.
      PortSettings fast = link;
      fast.rate = 8'000_Gbps;
      engine_.Connect(sink_, hosts_.Add(fast).wire(), *switches_[l], kCostLinkDelay);
    }
  }

  static SwitchPolicyPtr PolicyOf(const LoadBalancer& balancer, SwitchId id) {
    auto policy = MakeSwitchPolicy(balancer, "to be measured", id, /*seed=*/1);
    HEDDLE_CHECK(policy.ok(), "it made one before: {}", MessageOf(policy.status()));
    return *std::move(policy);
  }

  void Prepare(Switch& node) {
    const size_t n = uplinks_.size();
    RoutingTable routes;
    NextHopTable next_hops;
    next_hops.set_of_leaf = {0, 1};
    if (node.tier() > 0) {
      routes.ports = {0, 1};
      routes.SetSetsOfHosts(std::array<uint16_t, 2>{0, 1});
      routes.sets = {{0, 1}, {1, 1}};
      routes.path_divisor = static_cast<uint32_t>(n);
      next_hops.sets = {{{(100_Gbps).bps, 0}}, {{(100_Gbps).bps, 0}}};
    } else {
      routes.ports = uplinks_;
      routes.ports.push_back(to_host_);
      std::array<uint16_t, 2> sets{};
      sets[node.id()] = 1;
      routes.SetSetsOfHosts(sets);
      routes.sets = {{0, to_host_}, {to_host_, 1}};
      routes.uplinks = uplinks_;
      next_hops.sets.resize(2);
      next_hops.sets[1 - node.id()].resize(n, {(100_Gbps).bps, 0});
    }
    node.SetRoutes(std::move(routes));
    node.SetLeaves({kLeafOfHost, 2});
    node.SetNextHops(std::move(next_hops));
    node.Attach();
  }

  // Runs all nodes up to `end`, visit by visit, since packets sent in one visit arrive after it.
  // Returns the nanoseconds that the measured leaf takes.
  double RunUntil(Time end) {
    double ns = 0;
    while (ran_to_ < end) {
      const Window window = Window::Until(std::min(end, ran_to_ + kCostVisit));
      ns += Nanoseconds([&] { leaf().Run(window); });
      for (size_t s = 1; s < switches_.size(); ++s) switches_[s]->Run(window);
      sink_.Run(window);
      ran_to_ = window.end;
    }
    return ns;
  }

  static constexpr uint16_t kLeafOfHost[] = {0, 1};

  Prompter* const prompter_;  // Owned by the leaf.
  const PortIndex to_host_;
  const bool prefetches_;  // True if the policy wants to be told of the next packet.
  Engine engine_;
  std::vector<std::unique_ptr<Switch>> switches_;  // Leaves, then spines.
  std::optional<SwitchView> view_;                 // The measured leaf's.
  CostSink sink_;                                  // Both hosts.
  FixedVector<FifoPort> hosts_;                    // The ports that hosts send through.
  std::vector<PortIndex> uplinks_;
  Time ran_to_;
};

}  // namespace heddle
