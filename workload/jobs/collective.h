// SPDX-License-Identifier: Apache-2.0
// The workload `collective`: ranks that perform one collective operation, again and again.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workload/jobs/job_workload.h"
#include "workload/jobs/moe.h"
#include "workload/jobs/nccl.h"

namespace heddle {

struct CollectiveSettings {
  enum class Op { kAllReduce, kAllGather, kReduceScatter, kAllToAll, kBroadcast, kBarrier };
  enum class Algorithm {
    kAuto,
    kRing,
    kBidirectional,
    kHalvingDoubling,
    kRecursiveDoubling,
    kTree,
    kDoubleTree,
    kPat,
    kBruck,
    kDirect,
    kPairwise,
    kShift,
    kBinomial,
    kChain,
    kDissemination,
    kHierarchical,
    kRail
  };
  enum class RingOrder { kSame, kStride };
  enum class PeerOrder { kRound, kNccl, kRandom };
  enum class Wait { kAuto, kBoth, kRecv };
  enum class Preset { kNone, kNccl };
  enum class Split { kOff, kLeaf, kHost };

  Op op = Op::kAllReduce;
  Algorithm algorithm = Algorithm::kAuto;
  Bytes size{0};
  std::optional<int64_t> channels;
  std::optional<Bytes> chunk;
  RingOrder ring_order = RingOrder::kSame;
  std::optional<BitRate> reduce_rate;
  std::optional<int64_t> window;
  PeerOrder peer_order = PeerOrder::kRound;
  Wait wait = Wait::kAuto;
  std::optional<int64_t> aggregate;
  int64_t root = 0;
  std::optional<int64_t> group_size;
  bool merge = true;
  MoeSettings moe;
  std::string matrix;  // A file's name; empty: none.
  Preset preset = Preset::kNone;
  NcclProtocol protocol = NcclProtocol::kSimple;
  bool step_latency = false;  // NCCL's.
  Split split = Split::kOff;

  // The contents of `matrix`, by source, then destination.
  std::shared_ptr<const std::vector<int64_t>> traffic;

  void Declare(Fields& fields);

  // The algorithm that kAuto stands for.
  Algorithm chosen() const;

  // Reports combinations that do not exist, each with the setting that is to blame.
  using ErrorAt = std::function<void(std::string_view key, const std::string& message)>;
  void Check(uint32_t ranks, const ErrorAt& error) const;
  // Reports settings as the user gave them that the operation or its algorithm does not use.
  void CheckUse(const ErrorAt& error) const;

  // The settings with those that the preset chooses. Ranks are in servers of `server`.
  CollectiveSettings Resolved(uint32_t ranks, uint32_t server) const;

  // Needs Resolved() settings without errors. `seed` and `job` are for random orders.
  std::unique_ptr<Schedule> Make(uint32_t ranks, uint64_t seed, uint32_t job) const;

  JobOperation Operation(uint32_t ranks) const;

  // Returns true if all messages of an iteration may be on their way at once.
  bool is_one_step() const { return chosen() == Algorithm::kDirect; }

  // The parts of NCCL's tables that hold for the algorithm.
  NcclShape nccl_shape() const;
  bool is_uneven() const { return moe.is_on() || !matrix.empty(); }
  // Returns true if the schedule depends on random draws.
  bool is_random() const { return moe.is_on() || peer_order == PeerOrder::kRandom; }
};

class Collective final : public JobWorkload {
 public:
  void Declare(Fields& fields) override;
  void Load(const Stage& stage, std::string_view path, FilesRead& files,
            Diagnostics& diagnostics) override;

 private:
  bool ReadFiles(std::string_view path, FilesRead& files, Diagnostics& diagnostics) override;
  void CheckSchedule(std::string_view path, Diagnostics& diagnostics) const override;
  std::unique_ptr<const Schedule> MakeSchedule(uint32_t number) const override;
  bool depends_on_number() const override {
    return settings_.is_random() || settings_.split != CollectiveSettings::Split::kOff;
  }
  std::string kind() const override { return "collective"; }
  JobOperation Operation() const override;
  void Adjust(JobSettings& settings) const override;

  CollectiveSettings settings_;
  std::shared_ptr<const PathTable> paths_;  // If messages are split.
};

}  // namespace heddle
