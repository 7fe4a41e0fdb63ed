// SPDX-License-Identifier: Apache-2.0
// Generates the flows of all workloads of an experiment, numbered in the order of their start. The
// simulation takes them one by one as its time goes on.

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
  FlowId first = 0;                         // Flows before it are messages of jobs.
  std::vector<std::optional<int64_t>> ids;  // From `first` on; empty if no list gives any.
  Pins pins;
};

class FlowGenerator {
 public:
  // All arguments must outlive the generator. `listed` receives the ids and pins of flows that are
  // taken; it may be null. Flows are numbered from `first` on.
  FlowGenerator(const Experiment& experiment, const SizeClasses& classes,
                ListedFlows* listed = nullptr, FlowId first = 0);

  // Returns the start of the next flow; kNever if there is none.
  Time Next() const;

  // Takes the next flow and numbers it.
  FlowSpec Take();

  // Drops all flows. Call it before the first is taken.
  void Silence();

  // Returns true if there may be more measured flows.
  bool HasMeasured() const;

  int64_t started() const { return next_id_ - first_; }
  int64_t measured() const { return measured_; }
  // The start of the last flow that HasMeasured() has promised, measured or not.
  Time last_start() const { return last_start_; }
  int64_t bytes() const { return bytes_; }

  // Returns the start of each query of a workload, indexed by its job - 1; empty if the workload
  // has no queries. kNever: none of its flows has started.
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
  std::vector<uint16_t> next_sport_;  // The next source port, by host.
  const FlowId first_;
  FlowId next_id_;
  int64_t measured_ = 0;
  Time last_start_;
  int64_t bytes_ = 0;
};

}  // namespace heddle
