// SPDX-License-Identifier: Apache-2.0
// The workload `trace`: ranks that do what a file of an application's trace says. The file is read
// and checked once, when the workload is prepared; mistakes name their line.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "workload/jobs/job_workload.h"
#include "workload/jobs/operation_graph.h"
#include "workload/traces/chakra_graph.h"
#include "workload/traces/goal_builder.h"
#include "workload/traces/htsim_cm.h"

namespace heddle {

class FileErrors;

class Trace final : public JobWorkload {
 public:
  enum class Format { kGoal, kGoalBinary, kChakra, kChakraJson, kHtsimCm, kHpcc };

  void Declare(Fields& fields) override;

  // Set by Prepare(); null if the trace has mistakes.
  const OperationGraph* graph() const { return graph_.get(); }

 private:
  bool ReadFiles(std::string_view path, FilesRead& files, Diagnostics& diagnostics) override;
  void CheckSchedule(std::string_view /*path*/, Diagnostics& /*diagnostics*/) const override {}
  std::unique_ptr<const Schedule> MakeSchedule(uint32_t number) const override;
  std::string kind() const override { return "trace"; }
  bool computes() const override { return true; }
  bool CheckNamedNics(Diagnostics& diagnostics) const override;

  // Refuses settings of other formats than the chosen one.
  void RequireOwnFormat(Fields& fields) const;
  // Reads the one file of a format that has one.
  std::optional<OperationGraph> ReadOne(std::string_view path, FilesRead& files,
                                        Diagnostics& diagnostics) const;
  // The contents of a file, decompressed; with an error if it cannot be read.
  std::optional<std::string> TextOf(const std::string& file, std::string_view key, FilesRead& files,
                                    Diagnostics& diagnostics) const;
  std::optional<OperationGraph> Read(std::string_view text, FileErrors& errors) const;
  // Reads the files of all ranks.
  std::optional<OperationGraph> ReadChakra(std::string_view path, FilesRead& files,
                                           Diagnostics& diagnostics);
  // Returns false if the file of groups has mistakes.
  bool ReadGroups(std::string_view path, FilesRead& files, Diagnostics& diagnostics);
  // Returns false, with errors, if the operations cannot run.
  bool CanRun(const OperationGraph& graph, Diagnostics& diagnostics) const;
  // The file that has the operations of `rank`; kAnyRank: the trace as a whole.
  std::string FileOf(uint32_t rank) const;
  bool is_chakra() const { return format_ == Format::kChakra || format_ == Format::kChakraJson; }

  Format format_ = Format::kGoal;
  std::string file_;
  std::optional<int64_t> expected_ranks_;
  GoalSettings goal_;
  HtsimCmSettings cm_;
  std::optional<Duration> t0_;
  ChakraSettings chakra_;
  std::string comm_groups_;
  double scale_ = 1;

  std::shared_ptr<const OperationGraph> graph_;
};

}  // namespace heddle
