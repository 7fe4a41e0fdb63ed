// SPDX-License-Identifier: Apache-2.0
// An output-queued, store-and-forward switch: a packet received whole is routed, its load balancer
// picks one of the live next hops, and the port it leaves through admits, marks and queues it. FIFO
// ports alone do all of that where they are exact (fabric/fifo_port.h). Elsewhere, queued ports
// stand in front of them.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/fixed_vector.h"
#include "core/node.h"
#include "core/ring.h"
#include "core/timers.h"
#include "fabric/ecmp_routes.h"
#include "fabric/fifo_port.h"
#include "fabric/host_policy.h"  // LeafMap
#include "fabric/queued_ports.h"
#include "fabric/routing_table.h"
#include "fabric/switch_policy.h"
#include "fabric/transmit_replay.h"

namespace heddle {

// Descriptions of the next hops by leaf, for switches whose policy uses them.
struct NextHopTable {
  std::vector<uint16_t> set_of_leaf;
  std::vector<std::vector<NextHop>> sets;
  // Hosts with several links of which some are down, ascending, and their sets: their next hops may
  // differ from those of their leaf.
  std::vector<std::pair<HostId, uint16_t>> set_of_host = {};

  const std::vector<NextHop>& Towards(HostId host, uint16_t leaf) const {
    const auto its =
        std::ranges::lower_bound(set_of_host, host, {}, &std::pair<HostId, uint16_t>::first);
    const bool is_apart = its != set_of_host.end() && its->first == host;
    return sets[is_apart ? its->second : set_of_leaf[leaf]];
  }
};

// A packet that has passed this many switches goes in circles.
inline constexpr uint8_t kMaxHops = 64;

class Switch final : public Node {
 public:
  // Has at most `ports` ports.
  Switch(SwitchId id, int tier, size_t ports, SwitchPolicyPtr policy);

  // --- Building ---

  FifoPort& AddPort(const PortSettings& settings, bool faces_host);
  // Puts queues in front of all ports, which then have no limits of their own. Called after the
  // last AddPort().
  void UseQueues(const Queueing& queueing, const std::vector<QueuedPorts::Port>& ports);
  // The classes of packets that the load balancer sends with SendControl() and SendAsData().
  void SetClasses(uint8_t control, uint8_t data) {
    control_class_ = control;
    data_class_ = data;
  }
  void SetRoutes(RoutingTable routes);
  bool WantsNextHops() const { return (hooks_ & SwitchPolicy::kNextHops) != 0; }
  void SetNextHops(NextHopTable next_hops) { next_hops_ = std::move(next_hops); }
  // The nodes of all hosts. The switch sends a letter to the source of a data packet that it drops.
  void SetHosts(std::span<Node* const> hosts) { hosts_ = hosts; }
  void SetMap(const FabricMap* map) { map_ = map; }
  void SetLeaves(const LeafMap& leaves) { leaves_ = leaves; }
  // Lets the policy prepare. Called when ports and routes are set.
  void Attach();

  // --- Conductor, between windows, when all mail has been read ---

  // The link at `port` gets another rate and delay, or goes down or comes up in the direction from
  // here.
  void SetChannel(PortIndex port, Time now, BitRate rate, Duration delay);
  void TakeDown(PortIndex port, Time now);
  void BringUp(PortIndex port, Time now) { ports_[port].GoUp(now); }
  // It has gone down in the other direction, so the pauses that the far end has asked for end.
  void VoidPauses(PortIndex port, Time now);

  // --- Node ---

  void Run(const Window& window) override;
  Time RunInward(const Window& window) override;
  bool MayMove() const override { return true; }
  void PrefetchEnds() const override;
  void PrefetchParts(Time end) override;
  Time Due() const override {
    const Time due =
        std::min({arrivals_.Next(), NextKept(), timers_.Next(), transmissions_.Next()});
    return queued_ ? std::min(due, queued_->Due()) : due;
  }

  // --- Results ---

  SwitchId id() const { return id_; }
  int tier() const { return tier_; }
  std::span<FifoPort> ports() { return {ports_.data(), ports_.size()}; }
  int64_t drops(DropReason reason) const;
  int64_t consumed() const { return consumed_; }
  int64_t control_sent() const { return control_sent_; }
  int64_t held() const { return held_; }
  int64_t asked() const { return asked_; }  // Packets with a choice that the policy decided.
  SwitchPolicy& policy() { return *policy_; }
  QueuedPorts* queued() { return queued_.get(); }  // Null if all ports are FIFO ports.
  size_t memory_bytes() const;

 private:
  friend class SwitchView;

  void FindShortcuts();
  bool RunsAlone() const { return runs_alone_ && timers_.Next() == kNever; }
  void RunAsking(const Window& window);
  void RunWatched(const Window& window);
  void RunEager(const Window& window);
  template <class Look, class Visit>
  void RunBy(const Window& window, const Look& look, const Visit& visit);
  void PrefetchPort(PortIndex port) const;
  Time NextOther() const;
  void RunOther();
  void ShowNext(Time before);
  void ShowLate(const QueuedPorts::Started& started, Time start);
  void Show(const QueuedPorts::Started& started);
  void ShowSent();
  void RunAlone(const Window& window);
  void RunInside(const Window& window);
  bool MayRunInward(Time start);
  std::optional<int64_t> MostOutward(const Window& window);
  void SendInward(const Packet& packet, PortIndex in_port, const EcmpRoutes::Hop& hop, Time now);
  Time NextKept() const { return kept_.empty() ? kNever : kept_.front().packet.arrival; }
  void RunKept(const Window& window);
  void RunRest(const Window& window);
  template <bool kHasChoice>
  void RunEcmp(const Window& window);
  template <bool kHasChoice>
  void RunEcmpLate(const Window& window);
  // EcmpRoutes makes this choice by number; `port` is the address of the port that it has chosen.
  struct Chosen {
    FifoPort* port;
    uint32_t path_part;
    uint32_t count;
  };
  template <bool kHashes>
  [[gnu::always_inline]] Chosen Choose(const Packet& packet, uint64_t salt) {
    const EcmpRoutes::Choice choice = ecmp_routes_.Choose<kHashes>(packet, salt);
    return {&ports_[choice.port], choice.path_part, choice.count};
  }
  bool HandleAlone(const Chosen& chosen, const Packet& packet, PortIndex in_port, Time now,
                   const Window& window);
  // Sends a packet that has arrived at `now` through the FIFO port chosen.
  [[gnu::always_inline]] void SendBy(const Chosen& chosen, const Packet& packet, Time now,
                                     const Window& window) {
    const uint16_t path_part = static_cast<uint16_t>(chosen.path_part);
    if (chosen.port->Send(packet, path_part, now, window)) [[likely]]
      return;
    now_ = now;
    ReportDrop(packet);
  }
  // Inner ports lead to nodes of this switch's group.
  bool IsInner(size_t port) { return ports_[port].wire().within_group(); }
  template <class Visit>
  void ForEachInnerPort(const Visit& visit) {
    for (PortIndex port = 0; port < ports_.size(); ++port) {
      if (IsInner(port)) visit(port);
    }
  }
  void HandleArrival();
  void Handle(const Packet& packet, PortIndex in_port, const Candidates& candidates);
  void RouteAndHandle(const Packet& packet, PortIndex in_port);
  void ForwardBy(const Candidates& candidates, const Packet& packet, PortIndex in_port);
  void ForwardOverOneLink(const Candidates& links, const Packet& packet, PortIndex in_port);
  void End(const Packet& packet, const Decision& decision);
  // `arrived` is true for the packet being handled, false for one that the policy sends.
  void Forward(const Packet& packet, PortIndex in_port, PortIndex port, bool arrived);
  void SendOwn(const Packet& packet, uint8_t cls, PortIndex port);
  void SendHeld(const Packet& packet, PortIndex in_port, PortIndex held_for, PortIndex out);
  void ForwardAndTell(const Packet& packet, PortIndex port, bool arrived);
  bool IsLast() const;
  bool IsAlone() const;
  void NotePassed(Packet& passed, PortIndex port);
  void ForwardControl(const QueuedPorts::Offer& offer, bool arrived);
  void NoteSent(FifoPort& out, PortIndex port, Time start, bool arrived);
  void ForwardToQueue(const Packet& packet, PortIndex in_port, PortIndex port, bool arrived);
  bool ForwardLate(const Packet& packet, PortIndex in_port, const EcmpRoutes::Hop& hop);
  void ForwardOrTrim(const QueuedPorts::Offer& offer);
  bool SendHeader(const QueuedPorts::Offer& offer);
  void SendCut(Trimming::Cut cut, const QueuedPorts::Offer& offer);
  void ReturnToSender(const Packet& header, PortIndex in_port);
  const Telemetry* TelemetryFor(const Packet& packet, bool arrived);
  void Discard(const Packet& packet, DropReason reason);
  void ReportDrop(const Packet& packet);

  // The queued port `port`, after all its service decisions that were due before now.
  QueuedPort& QueueNow(PortIndex port) {
    queued_->CatchUp(port, now_, *window_);
    return (*queued_)[port];
  }

  const Candidates& CandidatesTo(HostId host) const { return candidates_[routes_.SetOf(host)]; }

  Time now_;
  std::optional<uint64_t> ecmp_salt_;  // Of a policy that is ECMP, see SwitchPolicy.
  int64_t asked_ = 0;                  // Placed in a cache line that every packet touches.
  const Window* window_ = nullptr;
  Arrivals::Taken arrived_;  // The arrival being handled.
  FixedVector<FifoPort> ports_;
  std::vector<uint16_t> path_parts_;  // By port: its term in the id of the path taken.
  RoutingTable routes_;
  std::vector<Candidates> candidates_;  // By set of `routes_`.
  EcmpRoutes ecmp_routes_;
  NextHopTable next_hops_;  // Empty unless the policy asks for it.
  Timers timers_;
  SwitchPolicyPtr policy_;
  uint32_t hooks_;
  bool plain_ = false;  // FIFO ports, and a policy without kTransmit, kEnqueue and kDropped.
  // The switch chooses all next hops itself, and no hook, telemetry or trimming needs the packets:
  // its policy is ECMP, or is not asked about any packet with the present routes.
  bool runs_alone_ = false;
  // The policy only_chooses(), no hook or telemetry needs the packets, and no cut packet goes back.
  bool only_chooses_ = false;
  bool shows_in_order_;    // The policy has kTransmit, and its watches_by_port() is false.
  bool may_pass_ = false;  // Queued ports without telemetry, and no hook needs packets in queues.
  uint8_t control_class_ = 0;
  uint8_t data_class_ = 0;
  bool trims_ = false;      // The ports trim packets that they have no room for.
  bool telemetry_ = false;  // The ports add telemetry to data packets.
  std::unique_ptr<QueuedPorts> queued_;
  SwitchView view_{*this};
  TransmitReplay transmissions_;
  // Packets that RunInward() has taken for hosts that are not apart, and their in-ports. Run()
  // sends them.
  struct Kept {
    Packet packet;
    PortIndex in = 0;
  };
  Ring<Kept> kept_;
  std::vector<uint8_t> keeps_;  // By port: 1 if it leads to a host that is not apart.

  const SwitchId id_;
  const int tier_;
  std::vector<uint8_t> faces_host_;  // By port: 1 if a host is at the far end.
  std::span<Node* const> hosts_;
  const FabricMap* map_ = nullptr;
  LeafMap leaves_;
  int64_t discards_[kDropReasons] = {};
  int64_t consumed_ = 0;
  int64_t held_ = 0;  // Packets that the policy has kept to send later.
  int64_t control_sent_ = 0;
};

// --- SwitchView, inlined ---

inline Time SwitchView::now() const { return self_.now_; }
inline SwitchId SwitchView::id() const { return self_.id_; }
inline int SwitchView::tier() const { return self_.tier_; }
inline size_t SwitchView::ports() const { return self_.ports_.size(); }
inline bool SwitchView::FacesHost(PortIndex port) const { return self_.faces_host_[port] != 0; }
inline BitRate SwitchView::Rate(PortIndex port) const { return self_.ports_[port].rate(); }
inline Duration SwitchView::TimeToSend(PortIndex port, Bytes size) const {
  return self_.ports_[port].TimeToSend(size);
}
inline Duration SwitchView::QueueingDelay(PortIndex port) const {
  return self_.queued_ ? self_.QueueNow(port).QueueingDelay(self_.now_)
                       : self_.ports_[port].QueueingDelay(self_.now_);
}
inline void SwitchView::ShowTransmissions(PortIndex port) {
  if (self_.queued_) self_.queued_->CatchUp(port, self_.now_, *self_.window_);
}
inline Bytes SwitchView::Unsent(PortIndex port) const {
  return self_.queued_ ? self_.QueueNow(port).Unsent(self_.now_)
                       : self_.ports_[port].Unsent(self_.now_);
}
inline Bytes SwitchView::UnsentBefore(PortIndex port, uint8_t priority) const {
  return self_.queued_ ? self_.QueueNow(port).UnsentUpTo(priority, self_.now_) : Unsent(port);
}
inline Bytes SwitchView::WireBytes(const Packet& packet) const {
  return Bytes{self_.ports_[0].WireBytesOf(packet)};
}
inline bool SwitchView::IsPaused(PortIndex port, uint8_t priority) const {
  return self_.queued_ && (self_.QueueNow(port).paused() >> priority & 1) != 0;
}
inline int64_t SwitchView::QueuedPackets(PortIndex port) const {
  return self_.queued_ ? self_.QueueNow(port).QueuedPackets(self_.now_)
                       : self_.ports_[port].QueuedPackets(self_.now_);
}
inline Candidates SwitchView::CandidatesTo(HostId host) const { return self_.CandidatesTo(host); }
inline std::span<const PortIndex> SwitchView::Uplinks() const { return self_.routes_.uplinks; }
inline PortIndex SwitchView::UplinkOf(uint16_t path) const {
  const RoutingTable& routes = self_.routes_;
  return routes.uplinks[path / routes.path_divisor % routes.uplinks.size()];
}
inline size_t SwitchView::leaves() const { return self_.leaves_.leaves; }
inline size_t SwitchView::hosts() const { return self_.leaves_.of_host.size(); }
inline uint16_t SwitchView::LeafOf(HostId host) const { return self_.leaves_.of_host[host]; }
inline uint16_t SwitchView::GroupOf(HostId host) const {
  return self_.routes_.group_of_host[host].group;
}
inline std::span<const NextHop> SwitchView::NextHopsTo(HostId host) const {
  if (!self_.WantsNextHops()) [[unlikely]]
    RefuseNextHops();
  return self_.next_hops_.Towards(host, LeafOf(host));
}
inline bool SwitchView::IsAttached(HostId host) const {
  const Candidates& candidates = self_.CandidatesTo(host);
  return !candidates.ports.empty() && FacesHost(candidates.ports.front());
}

}  // namespace heddle
