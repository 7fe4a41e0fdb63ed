// SPDX-License-Identifier: Apache-2.0
// Compares the flows in progress in the first and in the second half of the time that links.csv
// covers. If they grow from one half to the other, the network has no steady state. Every run has
// one, for the warnings at its end; it writes no file.

#pragma once

#include <array>

#include "measure/instrument.h"

namespace heddle {

// The flows that have started and whose receiver does not have all their bytes yet, and the sizes
// of these flows: means over a time.
struct FlowsInProgress {
  double flows = 0;
  double bytes = 0;
};

class BacklogTrend final : public Instrument, public FlowObserver {
 public:
  void OnEnd(const FlowRecord& record) override;

  // Valid after the run: the means over the first and the second half. Zero if the covered time
  // has no end beforehand.
  const std::array<FlowsInProgress, 2>& halves() const { return halves_; }

 private:
  void Begin() override;

  Time from_;
  Duration half_{0};
  std::array<FlowsInProgress, 2> halves_;
};

}  // namespace heddle
