// SPDX-License-Identifier: Apache-2.0
// The ranks of all jobs on one host. The host tells them of messages that arrive, leave and are
// acknowledged; they send what their schedules release by that.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/units.h"
#include "fabric/application.h"
#include "fabric/host.h"
#include "workload/jobs/job.h"

namespace heddle {

// Counts over all hosts and threads. They are read between windows.
struct JobTotals {
  std::atomic<int64_t> ranks_left{0};  // Ranks of measured jobs that have not finished.
  std::atomic<int64_t> messages{0};    // Messages sent over the network.
  std::atomic<int64_t> measured_messages{0};
  std::atomic<int64_t> payload{0};  // Their bytes.
};

class HostJobs final : public Application {
 public:
  // What a rank has done in one iteration.
  struct Iteration {
    Time begin;
    Time end = kNever;
    Duration computed{0};  // The time in which its first stream has computed.
  };

  // `jobs`, in the order of their ids, `host` and `totals` outlive this.
  HostJobs(Host& host, std::span<const std::unique_ptr<Job>> jobs, JobTotals& totals);
  ~HostJobs() override;

  // Lets each rank begin at its job's start. Call it between windows, before the first start.
  void Start();

  void OnReceived(FlowId message) override;
  void OnHanded(FlowId message) override;
  void OnAcked(FlowId message) override;
  void OnTimer(uint64_t key) override;
  std::optional<FlowSpec> Expect(FlowId message) override;
  void OnClosed(FlowId message) override;
  size_t memory_bytes() const override;

  // --- Results ---

  size_t ranks() const { return ranks_.size(); }
  const Job& JobOf(size_t place) const;
  uint32_t RankOf(size_t place) const;
  std::span<const Iteration> IterationsOf(size_t place) const;

 private:
  class Rank;

  const Job& JobOwning(FlowId message) const;
  Rank& RankAt(const Job& job, uint32_t rank);

  Host& host_;
  const std::span<const std::unique_ptr<Job>> jobs_;
  JobTotals& totals_;
  std::vector<std::unique_ptr<Rank>> ranks_;  // By job, then rank.
};

}  // namespace heddle
