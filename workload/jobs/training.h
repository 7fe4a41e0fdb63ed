// SPDX-License-Identifier: Apache-2.0
// The workload `training`: ranks that train a transformer. An iteration is one step.

#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "workload/jobs/job_workload.h"
#include "workload/jobs/training_model.h"

namespace heddle {

class Training final : public JobWorkload {
 public:
  void Declare(Fields& fields) override;

 private:
  void CheckSchedule(std::string_view path, Diagnostics& diagnostics) const override;
  void CheckServers(std::span<const uint32_t> server_of_rank, std::string_view path,
                    Diagnostics& diagnostics) const override;
  std::unique_ptr<const Schedule> MakeSchedule(uint32_t number) const override;
  std::string kind() const override { return "training"; }
  bool computes() const override { return true; }

  TrainingSettings settings_;
};

}  // namespace heddle
