// SPDX-License-Identifier: Apache-2.0
// The workload `permutation`: every host sends one flow and receives one. The pairs are drawn by
// the seed when a run opens the workload, so they are the same under every load balancer.

#pragma once

#include <memory>
#include <vector>

#include "workload/workload.h"

namespace heddle {

// Every host sends one flow, to a host of its own.
class Permutation final : public Workload {
 public:
  void Declare(Fields& fields) override;
  void Prepare(const Stage& stage, std::string_view path, FilesRead& files,
               Diagnostics& diagnostics) override;
  Forecast Expect() const override;
  std::unique_ptr<FlowSource> Open() const override;

 private:
  enum class Pattern { kRandom, kShift };

  Bytes size_{0};
  bool cross_rack_ = false;
  Pattern pattern_ = Pattern::kRandom;
  Duration start_{0};
  Duration jitter_{0};

  Stage stage_;
};

}  // namespace heddle
