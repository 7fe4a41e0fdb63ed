// SPDX-License-Identifier: Apache-2.0
// The parts that workloads with few flows share: a FlowSource over flows that are all known before
// the run starts, and the jitter and the size check that go with them.

#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "workload/workload.h"

namespace heddle {

// Flows that are known beforehand, in the order of start; those of one instant in the order given.
class RequestList final : public FlowSource {
 public:
  explicit RequestList(std::vector<FlowRequest> requests) : requests_(std::move(requests)) {
    std::ranges::stable_sort(requests_, {}, &FlowRequest::start);
  }

  const FlowRequest* Front() override {
    return next_ < requests_.size() ? &requests_[next_] : nullptr;
  }
  void Pop() override { ++next_; }

 private:
  std::vector<FlowRequest> requests_;
  size_t next_ = 0;
};

// Returns a random length of time in [0, longest].
inline Duration Jitter(Duration longest, Rng& rng) {
  return {static_cast<int64_t>(rng.Uniform() * static_cast<double>(longest.ps + 1))};
}

// Returns true if the transport can carry a flow of `size`; otherwise reports it at `path`.
inline bool CheckFlowSize(Bytes size, const Stage& stage, std::string_view path,
                          Diagnostics& diagnostics) {
  if (size.count <= stage.max_flow_size) return true;
  diagnostics.ErrorAt(path, fmt::format("is more than the transport can number in one flow: {}",
                                        FormatQuantity(Bytes{stage.max_flow_size})));
  return false;
}

}  // namespace heddle
