// SPDX-License-Identifier: Apache-2.0
// FLB's minimal rate control (Hu et al., USENIX ATC 2025, section 3.3): a host stops a flow that
// congests a queue, and resumes it at its share of the link when the queue is short again. The
// paper does not say when the limit ends: here it ends when no notice has come for as long as
// leaves remember flows.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/packet.h"
#include "core/units.h"
#include "fabric/host.h"  // HostView is inline there
#include "lb/flb/header.h"
#include "lb/parts/expiring_table.h"

namespace heddle {

class FlbHost final : public HostPolicy {
 public:
  // Limits at most `flows` flows, each until it has had no notice for `age`.
  FlbHost(Duration age, size_t flows) : age_(age), flows_(flows) {}

  void OnControl(HostView& view, const Packet& packet) override {
    const FlbControl control = packet.Scheme<FlbControl>();
    const auto free = [&](uint64_t flow, const Limited&) { Free(view, flow); };
    if (control.kind == FlbControl::kReleased && flows_.Find(packet.flow) == nullptr) return;
    Limited& flow = flows_.Touch(packet.flow, view.now(), free).state;
    if (control.kind == FlbControl::kCongested) {
      const auto most = static_cast<uint16_t>(control.number);
      flow.most = std::max({flow.most, most, control.flows, uint16_t{1}});
      view.SetRateLimit(packet.flow, BitRate{0});
      ++pauses_;
    } else {
      view.SetRateLimit(packet.flow, BitRate{view.NicRate().bps / flow.most});
    }
    Arm(view);
  }

  void OnTimer(HostView& view, uint32_t /*id*/) override {
    is_armed_ = false;
    flows_.ExpireBefore(view.now() - age_,
                        [&](uint64_t flow, const Limited&) { Free(view, flow); });
    Arm(view);
  }

  size_t StateBytes() const override { return flows_.memory_bytes(); }
  std::vector<Counter> Counters() const override {
    return {{"flow_pauses", pauses_}, {"limited_flows", static_cast<int64_t>(flows_.size())}};
  }

 private:
  struct Limited {
    uint16_t most = 0;  // The most flows that shared its queue.
  };

  static void Free(HostView& view, uint64_t flow) {
    view.SetRateLimit(static_cast<FlowId>(flow), view.NicRate());
  }
  void Arm(HostView& view) {
    if (is_armed_ || flows_.size() == 0) return;
    is_armed_ = true;
    view.SetTimer(flows_.oldest() + age_ + 1_ps, 0);
  }

  const Duration age_;
  ExpiringTable<Limited> flows_;
  bool is_armed_ = false;
  int64_t pauses_ = 0;
};

}  // namespace heddle
