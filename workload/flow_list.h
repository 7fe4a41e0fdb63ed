// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "workload/workload.h"

namespace heddle {

// Flows from a CSV file, a row each. The header names the columns: src, dst, size_bytes and
// start_ps must be there, flow_id, sport, dport may; others are ignored. Flows of one instant start
// in the order of their ids, or of the file.
class FlowList final : public Workload {
 public:
  void Declare(Fields& fields) override;
  void Prepare(const Stage& stage, std::string_view path, Diagnostics& diagnostics) override;
  Forecast Expect() const override;
  std::unique_ptr<FlowSource> Open() const override;

 private:
  std::string file_;
  Duration start_{0};

  // Since Prepare.
  Stage stage_;
  std::vector<FlowRequest> requests_;
};

}  // namespace heddle
