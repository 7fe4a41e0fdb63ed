// SPDX-License-Identifier: Apache-2.0
// The flows of all workloads of an experiment, in the order of their start, numbered.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "experiment/experiment.h"
#include "fabric/flow.h"
#include "fabric/pins.h"

namespace heddle {

// Ids and pins that flow lists give to flows, by flow id.
struct ListedFlows {
  std::vector<std::optional<int64_t>> ids;  // Empty if no list gives any.
  Pins pins;
};

class FlowGenerator {
 public:
  // All must outlive this. `listed` is told of the flows taken; it may be null.
  FlowGenerator(const Experiment& experiment, const SizeClasses& classes,
                ListedFlows* listed = nullptr);

  // The start of the next flow, kNever if there is none.
  Time Next() const;

  // That flow, numbered.
  FlowSpec Take();

  // Whether there may be more flows that are measured.
  bool HasMeasured() const;

  int64_t started() const { return next_id_; }
  int64_t measured() const { return measured_; }
  int64_t bytes() const { return bytes_; }

  // When each query of a workload was asked, by its job - 1; empty if its flows are no queries.
  const std::vector<Time>& QueriesOf(size_t workload) const { return sources_[workload].asked; }

 private:
  struct Source {
    std::unique_ptr<FlowSource> flows;
    bool measured;
    std::vector<Time> asked;
  };

  size_t FirstSource() const;
  void Note(const FlowRequest& request, FlowId id);

  const Experiment& experiment_;
  const SizeClasses& classes_;
  ListedFlows* const listed_;
  bool gives_ids_ = false;
  std::vector<Source> sources_;
  std::vector<uint16_t> next_sport_;  // By host.
  FlowId next_id_ = 0;
  int64_t measured_ = 0;
  int64_t bytes_ = 0;
};

}  // namespace heddle
