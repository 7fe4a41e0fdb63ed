// SPDX-License-Identifier: Apache-2.0
// The workload `flows`: a CSV file that says who sends how much to whom, and when. The file is read
// and checked once, when the workload is prepared; mistakes name their line and column. A run then
// starts the flows in the order of their start times.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "workload/workload.h"

namespace heddle {

// Flows from a CSV file, a row each. The header names the columns: src, dst, the size as size_bytes
// or bytes, the start as start_ps, start_ns or (with a unit) start must be there; id, path,
// ack_path, flow_id, sport, dport may; others are ignored. Flows of one instant start in the order
// of their flow_id, else of their id, else of the file.
class FlowList final : public Workload {
 public:
  void Declare(Fields& fields) override;
  void Prepare(const Stage& stage, std::string_view path, FilesRead& files,
               Diagnostics& diagnostics) override;
  void PinFlows(const PathFinder& find, Diagnostics& diagnostics) override;
  Forecast Expect() const override;
  std::unique_ptr<FlowSource> Open() const override;

  // The path that a row asks for, kept until PinFlows() finds its id.
  struct Wish {
    size_t request;
    int line;
    std::vector<int64_t> path;
    std::vector<int64_t> ack_path;
  };

 private:
  std::string file_;
  Duration start_{0};

  // Set by Prepare().
  Stage stage_;
  std::vector<FlowRequest> requests_;
  std::vector<Wish> wishes_;
};

}  // namespace heddle
