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

class HostJobs final : public Application {
 public:
  // The record of one iteration of a rank.
  struct Iteration {
    Time begin;
    Time end = kNever;
    Duration computed{0};  // The time in which any of its streams has computed.
  };

  // Where the ranks of a job wait for each other between iterations. Ranks on all threads arrive
  // within a window; the conductor looks between windows.
  class Meeting {
   public:
    void Arrive(Time now) {
      int64_t last = last_.load(std::memory_order_relaxed);
      while (last < now.ps && !last_.compare_exchange_weak(last, now.ps)) {
      }
      arrived_.fetch_add(1);
    }
    uint32_t arrived() const { return arrived_.load(); }
    Time last() const { return Time{last_.load()}; }  // When the last one arrived.
    void Clear() { arrived_.store(0); }

   private:
    std::atomic<uint32_t> arrived_ = 0;
    std::atomic<int64_t> last_ = 0;
  };

  // When an operation of a graph passed its steps in one iteration; kNever if it did not.
  struct OperationTimes {
    Time ready = kNever;
    Time posted = kNever;  // Started, as far as its own rank is concerned.
    Time sent = kNever;    // Sends over the network: the start of their flow.
    Time end = kNever;
  };

  // What a rank does in an iteration of a schedule that is no graph: a message that it sends or
  // receives, or a computation.
  struct Deed {
    enum class Kind : uint8_t { kSend, kReceive, kCompute };
    Kind kind;
    Job::Place place;  // Computations have numbers of their own.
    OperationTimes times;
  };

  // A rank's part in one collective of a graph in one iteration.
  struct PartTimes {
    Time begin = kNever;
    Time end = kNever;
  };

  struct PlacedRank {
    const Job* job;
    uint32_t rank;
    Meeting* meeting;  // Null if the ranks do not wait for each other.
  };

  // `placed`: the ranks on this host, by job, then rank. `ranks_left` counts the ranks of measured
  // jobs on all hosts that have not finished; it is read between windows. The other arguments
  // outlive this.
  HostJobs(Host& host, std::span<const std::unique_ptr<Job>> jobs,
           std::span<const PlacedRank> placed, std::atomic<int64_t>& ranks_left);
  ~HostJobs() override;

  // Keeps the times of all operations and messages from now on. Call it before the run.
  void RecordOperations();

  // Lets each rank begin at its job's start. Call it between windows, before the first start.
  void Start();

  // Lets the ranks of a job begin their next iterations at `at`. Call it between windows.
  void Release(const Job& job, Time at);

  void OnReceived(FlowId message) override;
  void OnHanded(FlowId message) override;
  void OnAcked(FlowId message) override;
  void OnTimer(uint64_t key) override;
  void OnNews(const News& news) override;
  std::optional<FlowSpec> Expect(FlowId message) override;
  void OnClosed(FlowId message) override;

  // --- Results ---

  size_t ranks() const { return ranks_.size(); }
  const Job& JobOf(size_t place) const;
  uint32_t RankOf(size_t place) const;
  std::span<const Iteration> IterationsOf(size_t place) const;
  // When the rank has finished its job, with the barrier after the last iteration if there is one;
  // kNever before.
  Time EndOf(size_t place) const;
  // By operation, one iteration behind the other. Empty unless they have been recorded, and if the
  // schedule is no graph.
  std::span<const OperationTimes> OperationsOf(size_t place) const;
  // In the order in which they were noted. Empty unless operations have been recorded, and if the
  // schedule is a graph.
  std::span<const Deed> DeedsOf(size_t place) const;
  // By part (GraphTables::PartOf), one iteration behind the other; empty if the schedule is no
  // graph.
  std::span<const PartTimes> PartsOf(size_t place) const;
  // Returns true if the receiving half of a message to this rank has been closed.
  bool IsClosed(size_t place, Job::Place message) const;
  // The operations of the iteration that has begun last; empty if the schedule is no graph.
  std::span<const RankProgram::OperationState> StatesOf(size_t place) const;

 private:
  class Rank;

  // A rank of this host and a message that it sends or receives.
  struct Found {
    Rank& rank;
    Job::Place place;
  };
  // `end`: Message::src or Message::dst.
  Found Find(FlowId message, uint32_t Message::*end);
  Rank& RankAt(const Job& job, uint32_t rank);

  Host& host_;
  const std::span<const std::unique_ptr<Job>> jobs_;
  std::atomic<int64_t>& ranks_left_;
  std::vector<std::unique_ptr<Rank>> ranks_;  // By job, then rank.
};

}  // namespace heddle
