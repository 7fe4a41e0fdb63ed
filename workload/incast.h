// SPDX-License-Identifier: Apache-2.0
// The workload `incast`: queries, in each of which many hosts answer one at the same time. A run
// draws the queries as time advances; the results say how long each query took.

#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "workload/workload.h"

namespace heddle {

// Queries: at each, `fan_in` hosts send to one. The query is complete when its last flow has
// arrived.
class Incast final : public Workload {
 public:
  enum class Senders { kAny, kOtherRacks };

  void Declare(Fields& fields) override;
  void Prepare(const Stage& stage, std::string_view path, FilesRead& files,
               Diagnostics& diagnostics) override;
  Forecast Expect() const override;
  std::unique_ptr<FlowSource> Open() const override;

 private:
  class Source;

  int64_t fan_in_ = 0;
  std::optional<Bytes> bytes_each_;
  std::optional<Bytes> bytes_total_;
  std::optional<int64_t> receiver_;
  Senders senders_ = Senders::kAny;
  int64_t queries_ = 1;
  std::optional<Duration> period_;
  std::optional<double> load_;
  bool overload_ = false;
  std::optional<Duration> duration_;
  Duration start_{0};
  Duration jitter_{0};

  Duration Length() const;
  double QueryBytes() const;
  void CheckPeriod(std::string_view path, Diagnostics& diagnostics) const;

  // Set by Prepare().
  Stage stage_;
  double mean_gap_ps_ = 0;  // The mean time between queries (load).
};

}  // namespace heddle
