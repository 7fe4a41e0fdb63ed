// SPDX-License-Identifier: Apache-2.0

#include "workload/jobs/barrier.h"

#include <span>
#include <utility>
#include <vector>

#include "workload/jobs/step_algorithms.h"
#include "workload/jobs/steps.h"

namespace heddle {
namespace {

// The barrier's messages have a channel of their own, so that they do not wait for others.
constexpr uint32_t kBarrierChannel = 0xffffff;

std::unique_ptr<Schedule> MakeBarrier(uint32_t ranks) {
  std::vector<std::unique_ptr<StepAlgorithm>> algorithms;
  algorithms.push_back(MakeDissemination(ranks));
  StepSettings settings;
  settings.lanes.push_back({algorithms.front().get(), 1, kBarrierChannel});
  return std::make_unique<StepSchedule>(std::move(settings), std::move(algorithms));
}

// The numbers of the barrier's messages follow those of the work.
class WithBarrier final : public Schedule {
 public:
  explicit WithBarrier(std::shared_ptr<const Schedule> work)
      : work_(std::move(work)), barrier_(MakeBarrier(work_->ranks())) {}

  ScheduleTotals Totals() const override {
    ScheduleTotals totals = work_->Totals();
    const ScheduleTotals barrier = barrier_->Totals();
    totals.messages += barrier.messages;
    totals.bytes += barrier.bytes;
    totals.bytes_of_rank += barrier.bytes_of_rank;
    return totals;
  }
  uint32_t ranks() const override { return work_->ranks(); }
  uint64_t slots() const override { return work_->slots() + barrier_->slots(); }
  Message MessageOf(uint64_t index) const override {
    return IsWork(index) ? work_->MessageOf(index) : barrier_->MessageOf(index - work_->slots());
  }
  uint64_t IncomingOf(uint32_t rank) const override {
    return work_->IncomingOf(rank) + barrier_->IncomingOf(rank);
  }
  uint64_t OrdinalOf(uint64_t index) const override {
    if (IsWork(index)) return work_->OrdinalOf(index);
    const uint64_t its_index = index - work_->slots();
    return work_->IncomingOf(barrier_->MessageOf(its_index).dst) + barrier_->OrdinalOf(its_index);
  }
  uint64_t ArrivalsAt(uint32_t rank) const override {
    return work_->ArrivalsAt(rank) + barrier_->ArrivalsAt(rank);
  }
  bool waits_for_sends() const override { return work_->waits_for_sends(); }
  const Schedule& work() const override { return *work_; }
  // Those of the barrier once the work is done; a graph's operations speak for themselves.
  std::vector<uint64_t> MissingAt(uint32_t rank, const HasArrived& has_arrived) const override {
    std::vector<uint64_t> missing = work_->MissingAt(rank, has_arrived);
    if (!missing.empty()) return missing;
    const uint64_t first = work_->slots();
    missing = barrier_->MissingAt(rank, [&](uint64_t index) { return has_arrived(first + index); });
    for (uint64_t& index : missing) index += first;
    return missing;
  }
  const GraphTables* graph() const override { return work_->graph(); }
  std::unique_ptr<RankProgram> ProgramOf(uint32_t rank) const override;

 private:
  class Program;

  bool IsWork(uint64_t index) const { return index < work_->slots(); }

  const std::shared_ptr<const Schedule> work_;
  const std::unique_ptr<const Schedule> barrier_;
};

class WithBarrier::Program final : public RankProgram {
 public:
  Program(const WithBarrier& all, uint32_t rank)
      : all_(all), work_(all.work_->ProgramOf(rank)), barrier_(all.barrier_->ProgramOf(rank)) {}

  void Begin(RankActions& actions) override {
    in_barrier_ = false;
    early_.clear();
    work_->Begin(actions);
    GoOn(actions);
  }
  void OnReceived(uint64_t index, RankActions& actions) override {
    if (all_.IsWork(index)) {
      work_->OnReceived(index, actions);
      GoOn(actions);
    } else if (in_barrier_) {
      ToBarrier(index, actions);
    } else {
      early_.push_back(index);
    }
  }
  // The barrier does not wait for its own messages.
  void OnSent(uint64_t index, RankActions& actions) override {
    if (!all_.IsWork(index)) return;
    work_->OnSent(index, actions);
    GoOn(actions);
  }
  void OnComputed(uint64_t op, RankActions& actions) override {
    work_->OnComputed(op, actions);
    GoOn(actions);
  }
  void OnReleased(uint32_t op, RankActions& actions) override {
    work_->OnReleased(op, actions);
    GoOn(actions);
  }
  bool is_over() const override { return work_->finished(); }
  bool finished() const override { return in_barrier_ && barrier_->finished(); }
  std::span<const OperationState> operations() const override { return work_->operations(); }

 private:
  // Gives the numbers of the barrier's messages to the rank.
  class BarrierActions final : public RankActions {
   public:
    BarrierActions(RankActions& actions, uint64_t first) : actions_(actions), first_(first) {}
    void Send(uint64_t index) override { actions_.Send(first_ + index); }
    void Compute(uint32_t stream, Duration time, uint64_t op) override {
      actions_.Compute(stream, time, op);
    }

   private:
    RankActions& actions_;
    const uint64_t first_;
  };

  void GoOn(RankActions& actions) {
    if (in_barrier_ || !work_->finished()) return;
    in_barrier_ = true;
    BarrierActions its(actions, all_.work_->slots());
    barrier_->Begin(its);
    for (const uint64_t index : early_) ToBarrier(index, actions);
  }

  void ToBarrier(uint64_t index, RankActions& actions) {
    BarrierActions its(actions, all_.work_->slots());
    barrier_->OnReceived(index - all_.work_->slots(), its);
  }

  const WithBarrier& all_;
  const std::unique_ptr<RankProgram> work_;
  const std::unique_ptr<RankProgram> barrier_;
  bool in_barrier_ = false;
  std::vector<uint64_t> early_;  // The barrier's messages that came before this rank had finished.
};

std::unique_ptr<RankProgram> WithBarrier::ProgramOf(uint32_t rank) const {
  return std::make_unique<Program>(*this, rank);
}

}  // namespace

std::unique_ptr<const Schedule> MakeWithBarrier(std::shared_ptr<const Schedule> work) {
  return std::make_unique<WithBarrier>(std::move(work));
}

}  // namespace heddle
