// SPDX-License-Identifier: Apache-2.0
// The peak use of a switch's shared buffer during a lab's run. A policy looks at the buffer
// whenever a packet has been charged, the only moment at which its use grows. Late ports do not
// charge packets, so peaks below the safe bytes need Ports::kEager.
//
//   MemoryPeaks peaks;
//   Lab lab({.graph = Star(17, k100G), .switch_policy = peaks.AroundEcmp()});
//   peaks.Watch(*lab.network().switches()[0]->queued()->memory(), /*inputs=*/17);
//   lab.Run();
//   EXPECT_LE(peaks.used(), 4'000'000);

#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "fabric/around_policy.h"
#include "fabric/shared_memory.h"
#include "fabric/switch.h"
#include "tests/support/lb_bench.h"

namespace heddle {

class MemoryPeaks {
 public:
  MemoryPeaks() = default;
  MemoryPeaks(const MemoryPeaks&) = delete;
  MemoryPeaks& operator=(const MemoryPeaks&) = delete;

  // Set Lab::Plan::switch_policy to the result; the lab must not outlive these peaks.
  std::function<SwitchPolicyPtr(SwitchId)> AroundEcmp() {
    return [this](SwitchId id) {
      return std::make_unique<Observer>(BalancerFrom("ecmp").settings->ForSwitch(id, /*seed=*/1),
                                        *this);
    };
  }
  // Call this before the run, with the memory of switch 0, which has `inputs` ports.
  void Watch(const SharedMemory& memory, PortIndex inputs) {
    memory_ = &memory;
    inputs_ = inputs;
  }

  int64_t used() const { return used_; }          // Bytes of all packets together.
  int64_t headroom() const { return headroom_; }  // Bytes in the headroom of one input's class.

 private:
  class Observer final : public AroundSwitchPolicy {
   public:
    Observer(SwitchPolicyPtr scheme, MemoryPeaks& peaks)
        : AroundSwitchPolicy(std::move(scheme)), peaks_(peaks) {}
    void OnEnqueue(SwitchView& view, Packet& /*packet*/, PortIndex /*port*/) override {
      if (view.id() == 0 && peaks_.memory_ != nullptr) peaks_.Look();
    }

   private:
    MemoryPeaks& peaks_;
  };

  void Look() {
    used_ = std::max(used_, memory_->used());
    for (PortIndex in = 0; in < inputs_; ++in) {
      for (size_t cls = 1; cls < kClasses; ++cls) {
        headroom_ = std::max(headroom_, memory_->headroom_used(in, cls));
      }
    }
  }

  const SharedMemory* memory_ = nullptr;
  PortIndex inputs_ = 0;
  int64_t used_ = 0;
  int64_t headroom_ = 0;
};

}  // namespace heddle
