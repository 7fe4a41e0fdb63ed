// SPDX-License-Identifier: Apache-2.0
// The pacer of a host with receiver-driven congestion control (RCCC, as in uet-htsim of August
// 2025). It grants credit in turn to the flows that the host receives, by pulls, so that the data
// they bring fills 99 % of the host's links.
//
// A flow is active while it wants more than it was granted, or has lost a packet. Then it is idle:
// when no flow is active, idle flows get credit in advance, up to a greatest window.
//
// With grants: whole, as in csg-htsim's EQDS, flows that have lost packets go before active
// ones. With grants: arrivals, as in NDP (Handley et al., SIGCOMM 2017), a flow wants one packet
// for each packet or header that has come, and is never idle.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/packet.h"
#include "core/ring.h"
#include "core/units.h"
#include "fabric/host.h"
#include "transport/uet/uet_credit.h"
#include "transport/uet/uet_fabric_rate.h"
#include "transport/uet/uet_settings.h"

namespace heddle {

// A flow as its receiver's pacer knows it. Quanta are counted modulo 2^32.
struct UetDemand {
  uint32_t target = 0;       // What the sender would like to have been granted,
  uint32_t granted = 0;      // and what it was granted.
  uint16_t entropy = 0;      // Of the latest pull.
  uint16_t taken = kNoPath;  // The path of the latest data packet.
  uint16_t repairs = 0;      // Grants: whole: quanta of lost packets.
  bool is_active = false;
  bool is_idle = false;

  // Takes the wish of a packet. Returns true if it is more than before.
  bool Raise(uint32_t wish) {
    if (static_cast<int32_t>(wish - target) <= 0) return false;
    target = wish;
    return true;
  }
  // Negative: what was granted in advance.
  int64_t missing() const { return static_cast<int32_t>(target - granted); }
};

class UetPacer {
 public:
  static constexpr int64_t kQuantaOfEmptyPull = 4;  // Their time passes behind an empty pull.
  static constexpr uint16_t kEntropies = 128;

  // `shared` outlives this.
  UetPacer(Host& host, const UetShared& shared)
      : host_(host),
        shared_(shared),
        grants_(shared.settings.rccc.grants),
        pull_(shared.counts_packets() ? 1 : shared.settings.rccc.pull) {
    period_end_ = Time{} + NextPeriod();
  }

  // A data packet, or the header of one, has arrived.
  void OnArrival(const Packet& packet);

  // A data packet, a header or a request to send of a flow has arrived. `is_loss`: not with data.
  void NoteDemand(const Packet& packet, UetDemand& demand, bool is_loss);

  // The pacer's timer has fired. Find(flow) returns the flow's receiver, or null if the flow needs
  // no more credit. The receiver has demand() and SendPull().
  template <class Find>
  void OnTimer(const Find& find) {
    is_armed_ = false;
    const int64_t quanta = GrantRepairs(find);
    if (quanta == 0) return;
    free_from_ = host_.now() + TimeOf(quanta);
    if (!repairs_.empty() || !active_.empty() || !idle_.empty()) Arm();
  }

  size_t memory_bytes() const {
    return sizeof(*this) +
           (repairs_.capacity() + active_.capacity() + idle_.capacity()) * sizeof(FlowId);
  }

 private:
  using Grants = RcccSettings::Grants;

  // These send one pull, to the first of the flows that they are for, or of the next ones' if there
  // is none. They return the quanta whose time passes before the next pull; 0 if no flow is left.
  template <class Find>
  int64_t GrantRepairs(const Find& find) {
    while (!repairs_.empty()) {
      const FlowId flow = repairs_.front();
      repairs_.pop_front();
      auto* receiver = find(flow);
      if (receiver == nullptr) continue;
      UetDemand& demand = receiver->demand();
      demand.repairs = static_cast<uint16_t>(std::max<int64_t>(demand.repairs - pull_, 0));
      Pull(*receiver, pull_);
      if (demand.repairs > 0) repairs_.push_back(flow);
      return pull_;
    }
    return Grant(find);
  }

  template <class Find>
  int64_t Grant(const Find& find) {
    while (!active_.empty()) {
      const FlowId flow = active_.front();
      active_.pop_front();
      auto* receiver = find(flow);
      if (receiver == nullptr) continue;
      UetDemand& demand = receiver->demand();
      const bool is_whole = grants_ == Grants::kWhole;
      const int64_t quanta = is_whole ? pull_ : std::clamp<int64_t>(demand.missing(), 0, pull_);
      Pull(*receiver, quanta);
      demand.is_active = demand.missing() > 0;
      if (demand.is_active) {
        active_.push_back(flow);
      } else if (!demand.is_idle && grants_ != Grants::kArrivals) {
        demand.is_idle = true;
        idle_.push_back(flow);
      }
      return quanta == 0 ? kQuantaOfEmptyPull : quanta;
    }
    return GrantInAdvance(find);
  }

  template <class Find>
  int64_t GrantInAdvance(const Find& find) {
    const int64_t most =
        static_cast<int64_t>(shared_.greatest_window()) / shared_.settings.rccc.quantum.count;
    while (!idle_.empty()) {
      const FlowId flow = idle_.front();
      idle_.pop_front();
      auto* receiver = find(flow);
      if (receiver == nullptr) continue;
      UetDemand& demand = receiver->demand();
      demand.is_idle = -demand.missing() < most;
      if (!demand.is_idle) continue;
      Pull(*receiver, pull_);
      idle_.push_back(flow);
      return pull_;
    }
    return 0;
  }

  template <class Receiver>
  static void Pull(Receiver& receiver, int64_t quanta) {
    UetDemand& demand = receiver.demand();
    demand.granted += static_cast<uint32_t>(quanta);
    demand.entropy = static_cast<uint16_t>((demand.entropy + 1) % kEntropies);
    receiver.SendPull();
  }

  void Join(FlowId flow, UetDemand& demand);
  void JoinRepairs(FlowId flow, UetDemand& demand);
  void Arm();
  Duration TimeOf(int64_t quanta);

  Duration NextPeriod();
  void EndPeriods();

  Host& host_;
  const UetShared& shared_;
  const Grants grants_;
  const int64_t pull_;    // Quanta of a pull, at most.
  Ring<FlowId> repairs_;  // Grants: whole: flows that have lost packets.
  Ring<FlowId> active_;
  Ring<FlowId> idle_;
  bool is_armed_ = false;
  Time free_from_;  // The credit of the latest pull has been used by then.

  // Oversubscribed fabrics.
  UetFabricRate fabric_;
  Time period_end_;
  uint32_t hash_ = 0;  // Of the latest packet's flow.
  uint32_t draws_ = 0;
};

}  // namespace heddle
