// SPDX-License-Identifier: Apache-2.0
// The atom of the size classes to which each flow belongs, for instruments that look at packets and
// know only their flow. All threads read it while a window runs.

#pragma once

#include <cstdint>
#include <vector>

#include "core/subflow_id.h"
#include "fabric/flow.h"
#include "measure/measured_run.h"
#include "measure/size_classes.h"

namespace heddle {

class FlowAtoms {
 public:
  explicit FlowAtoms(const RunPlan& plan)
      : classes_(*plan.classes), messages_end_(plan.messages_end), message_(plan.message) {}

  // Call it between windows, for each flow that starts. The sizes of messages of jobs are known
  // beforehand.
  void Add(const FlowSpec& spec) {
    if (spec.id < messages_end_) return;
    flows_.push_back({static_cast<uint16_t>(classes_.AtomOf(spec.size)), spec.measured});
  }

  struct Flow {
    uint16_t atom;
    bool measured;
  };
  // The flow of a data packet, whose id may be that of a subflow.
  Flow Of(FlowId packet_flow) const {
    const FlowId id = ConnectionOf(packet_flow);
    if (id >= messages_end_) return flows_[id - messages_end_];
    const FlowSpec spec = message_(id);
    return {static_cast<uint16_t>(classes_.AtomOf(spec.size)), spec.measured};
  }

 private:
  const SizeClasses& classes_;
  const FlowId messages_end_;
  const std::function<FlowSpec(FlowId)> message_;
  std::vector<Flow> flows_;  // By id, from messages_end_ on.
};

}  // namespace heddle
