// SPDX-License-Identifier: Apache-2.0
// The pacer of a host with receiver-driven congestion control (RCCC, as in uet-htsim of August
// 2025). It grants credit in turn to the flows that the host receives, by pulls, so that the data
// they bring fills 99 % of the host's links.
//
// A flow is active while it wants more than it was granted, or has lost a packet. Then it is idle:
// when no flow is active, idle flows get credit in advance, up to a greatest window.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/packet.h"
#include "core/ring.h"
#include "core/units.h"
#include "fabric/host.h"
#include "transport/uet_credit.h"
#include "transport/uet_fabric_rate.h"
#include "transport/uet_settings.h"

namespace heddle {

// A flow as its receiver's pacer knows it. Quanta are counted modulo 2^32.
struct UetDemand {
  uint32_t target = 0;       // What the sender would like to have been granted,
  uint32_t granted = 0;      // and what it was granted.
  uint16_t entropy = 0;      // Of the latest pull.
  uint16_t taken = kNoPath;  // The path of the latest data packet.
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
  static constexpr int64_t kQuantaOfPull = 64;      // At most: four packets of 4096 bytes.
  static constexpr int64_t kQuantaOfEmptyPull = 4;  // Their time passes behind an empty pull.
  static constexpr double kShareOfLine = 0.99;
  static constexpr uint16_t kEntropies = 128;

  // `shared` outlives this.
  UetPacer(Host& host, const UetShared& shared) : host_(host), shared_(shared) {
    period_end_ = Time{} + NextPeriod();
  }

  // A data packet, or the header of one, has arrived.
  void OnArrival(const Packet& packet);

  // The flow wants more credit, or has lost a packet.
  void Join(FlowId flow, UetDemand& demand);

  // The pacer's timer has fired. Find(flow) returns the flow's receiver, or null if the flow needs
  // no more credit. The receiver has demand() and SendPull().
  template <class Find>
  void OnTimer(const Find& find) {
    is_armed_ = false;
    const int64_t quanta = active_.empty() ? GrantInAdvance(find) : Grant(find);
    if (quanta == 0) return;
    free_from_ = host_.now() + TimeOf(quanta);
    if (!active_.empty() || !idle_.empty()) Arm();
  }

  size_t memory_bytes() const {
    return sizeof(*this) + (active_.capacity() + idle_.capacity()) * sizeof(FlowId);
  }

 private:
  // Both send one pull. They return the quanta whose time passes before the next one; 0 if no flow
  // is left.
  template <class Find>
  int64_t Grant(const Find& find) {
    while (!active_.empty()) {
      const FlowId flow = active_.front();
      active_.pop_front();
      auto* receiver = find(flow);
      if (receiver == nullptr) continue;
      UetDemand& demand = receiver->demand();
      const int64_t quanta = std::clamp<int64_t>(demand.missing(), 0, kQuantaOfPull);
      Pull(*receiver, quanta);
      demand.is_active = demand.missing() > 0;
      if (demand.is_active) {
        active_.push_back(flow);
      } else if (!demand.is_idle) {
        demand.is_idle = true;
        idle_.push_back(flow);
      }
      return quanta == 0 ? kQuantaOfEmptyPull : quanta;
    }
    return GrantInAdvance(find);
  }

  template <class Find>
  int64_t GrantInAdvance(const Find& find) {
    const int64_t most = static_cast<int64_t>(shared_.greatest_window()) / UetCredit::kQuantum;
    while (!idle_.empty()) {
      const FlowId flow = idle_.front();
      idle_.pop_front();
      auto* receiver = find(flow);
      if (receiver == nullptr) continue;
      UetDemand& demand = receiver->demand();
      demand.is_idle = -demand.missing() < most;
      if (!demand.is_idle) continue;
      Pull(*receiver, kQuantaOfPull);
      idle_.push_back(flow);
      return kQuantaOfPull;
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

  void Arm();
  Duration TimeOf(int64_t quanta);

  Duration NextPeriod();
  void EndPeriods();

  Host& host_;
  const UetShared& shared_;
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
