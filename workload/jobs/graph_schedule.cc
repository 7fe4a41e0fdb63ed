// SPDX-License-Identifier: Apache-2.0

#include "workload/jobs/graph_schedule.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "core/ring.h"
#include "workload/jobs/graph_check.h"
#include "workload/jobs/graph_tables.h"

namespace heddle {
namespace {

using Kind = Operation::Kind;

// Computations of collectives are numbered from here on; those of the graph lie below.
constexpr uint64_t kFirstTicket = uint64_t{1} << 31;

class GraphSchedule final : public Schedule {
 public:
  explicit GraphSchedule(std::shared_ptr<const OperationGraph> graph)
      : graph_(std::move(graph)), tables_(*graph_) {}

  const GraphTables* graph() const override { return &tables_; }

  ScheduleTotals Totals() const override { return tables_.totals(); }
  uint32_t ranks() const override { return graph_->ranks(); }
  uint64_t slots() const override { return tables_.slots(); }
  Message MessageOf(uint64_t index) const override { return tables_.MessageOf(index); }
  uint64_t IncomingOf(uint32_t rank) const override { return tables_.IncomingOf(rank); }
  uint64_t OrdinalOf(uint64_t index) const override { return tables_.OrdinalOf(index); }
  uint64_t ArrivalsAt(uint32_t rank) const override { return tables_.ArrivalsAt(rank); }
  bool waits_for_sends() const override { return tables_.waits_for_sends(); }
  std::unique_ptr<RankProgram> ProgramOf(uint32_t rank) const override;
  std::unique_ptr<RankProgram> BoundOf(uint32_t rank) const override;

 private:
  std::shared_ptr<const OperationGraph> graph_;
  GraphTables tables_;
};

// The receives of a rank with wildcards: in the order in which they were posted, they take the
// messages in the order of arrival.
class Matcher {
 public:
  explicit Matcher(std::span<const Operation> ops) : ops_(ops) {}

  void Clear() {
    posted_.clear();
    arrived_.clear();
  }

  // A message from a rank with a tag has arrived. Returns the receive that takes it, or kNone.
  uint32_t Arrive(uint32_t src, int64_t tag) {
    for (auto at = posted_.begin(); at != posted_.end(); ++at) {
      if (!Takes(*at, src, tag)) continue;
      const uint32_t receive = *at;
      posted_.erase(at);
      return receive;
    }
    arrived_.emplace_back(src, tag);
    return kNone;
  }

  // Returns true if a message for this receive is there.
  bool Post(uint32_t receive) {
    const auto found = std::ranges::find_if(arrived_, [&](const std::pair<uint32_t, int64_t>& its) {
      return Takes(receive, its.first, its.second);
    });
    if (found == arrived_.end()) {
      posted_.push_back(receive);
      return false;
    }
    arrived_.erase(found);
    return true;
  }

  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

 private:
  bool Takes(uint32_t receive, uint32_t src, int64_t tag) const {
    const Operation& its = ops_[receive];
    return (its.peer == kAnyRank || its.peer == src) && (its.tag == kAnyTag || its.tag == tag);
  }

  const std::span<const Operation> ops_;
  std::vector<uint32_t> posted_;
  std::vector<std::pair<uint32_t, int64_t>> arrived_;
};

class GraphProgram final : public RankProgram {
 public:
  // `as_bound`: see Schedule::BoundOf(). No operation waits for its stream then, and receives of a
  // rank with wildcards wait for nothing.
  GraphProgram(const GraphSchedule& schedule, uint32_t rank, bool as_bound)
      : tables_(*schedule.graph()),
        rank_(rank),
        ops_(tables_.graph().OpsOf(rank)),
        collectives_(tables_.graph().collectives()),
        as_bound_(as_bound),
        has_wildcards_(tables_.graph().HasWildcards(rank)),
        matcher_(ops_),
        states_(ops_.size()),
        waits_(ops_.size()),
        streams_(tables_.streams()) {}

  void Begin(RankActions& actions) override {
    Forget();
    for (uint32_t op = 0; op < ops_.size(); ++op) {
      waits_[op] = tables_.WaitsOf(rank_, op);
      if (waits_[op] == 0) NoteReady(op, actions);
    }
    Settle(actions);
  }

  void OnReceived(uint64_t index, RankActions& actions) override {
    if (tables_.IsOfCollective(index)) {
      OnCollective(index, actions, &RankProgram::OnReceived);
    } else if (!has_wildcards_) {
      TakeMessage(tables_.ReceiveOf(index), actions);
    } else if (!as_bound_) {
      const Message message = tables_.MessageOf(index);
      const uint32_t receive = matcher_.Arrive(message.src, tables_.TagOf(index));
      if (receive != Matcher::kNone) Finish(receive, actions);
    }
    Settle(actions);
  }

  void OnSent(uint64_t index, RankActions& actions) override {
    if (tables_.IsOfCollective(index)) {
      const auto& its = collectives_[tables_.CollectiveOf(index)];
      if (its.schedule->waits_for_sends()) OnCollective(index, actions, &RankProgram::OnSent);
    } else if (!ops_[tables_.SendOf(index)].posted) {
      Finish(tables_.SendOf(index), actions);
    }
    Settle(actions);
  }

  void OnComputed(uint64_t op, RankActions& actions) override {
    if (op < kFirstTicket) {
      Finish(static_cast<uint32_t>(op), actions);
    } else {
      const auto [collective, number] = tickets_.at(op);
      tickets_.erase(op);
      Part& part = parts_.at(collective);
      PartActions its(*this, collective, actions);
      part.program->OnComputed(number, its);
      FinishPart(collective, actions);
    }
    Settle(actions);
  }

  void OnReleased(uint32_t op, RankActions& actions) override {
    Release(std::span(&op, 1), actions);
    Settle(actions);
  }

  bool finished() const override { return left_ == 0; }

  std::span<const OperationState> operations() const override { return states_; }

 private:
  using State = OperationState;  // A message may arrive (kArrived) before its receive has started.

  struct Stream {
    bool is_busy = false;
    Ring<uint32_t> waiting;
  };

  // This rank's part of a collective, from the first message to the end.
  struct Part {
    uint32_t op = 0;
    std::unique_ptr<RankProgram> program;  // Null until the part starts.
    std::vector<uint64_t> early;           // Messages that arrived before.
  };

  // Turns the calls of a collective's program into those of this one.
  class PartActions final : public RankActions {
   public:
    PartActions(GraphProgram& program, uint32_t collective, RankActions& actions)
        : program_(program), collective_(collective), actions_(actions) {}

    void Send(uint64_t index) override {
      actions_.Send(program_.tables_.FirstSlotOf(collective_) + index);
    }
    void Compute(uint32_t stream, Duration time, uint64_t op) override {
      const uint64_t ticket = kFirstTicket + program_.next_ticket_++ % kFirstTicket;
      program_.tickets_.emplace(ticket, std::pair(collective_, op));
      // Behind the streams of the graph, which it must not hold up.
      const uint32_t first = static_cast<uint32_t>(program_.streams_.size());
      actions_.Compute(first + stream, time, ticket);
    }

   private:
    GraphProgram& program_;
    const uint32_t collective_;
    RankActions& actions_;
  };

  using Event = void (RankProgram::*)(uint64_t index, RankActions& actions);

  void Forget() {
    std::ranges::fill(states_, State::kWaiting);
    for (Stream& stream : streams_) {
      stream.is_busy = false;
      stream.waiting.clear();
    }
    ready_.clear();
    freed_.clear();
    matcher_.Clear();
    parts_.clear();
    tickets_.clear();
    left_ = ops_.size();
  }

  // Starts everything that may start. Starting an operation may finish it, and so release others;
  // they go through the same queues, so that no chain of operations is a recursion.
  void Settle(RankActions& actions) {
    while (!freed_.empty() || !ready_.empty()) {
      if (!freed_.empty()) {
        const uint32_t stream = freed_.back();
        freed_.pop_back();
        ServeNext(stream, actions);
        continue;
      }
      std::ranges::pop_heap(ready_, std::greater<>());
      const uint32_t op = ready_.back();
      ready_.pop_back();
      Start(op, actions);
    }
  }

  void NoteReady(uint32_t op, RankActions& actions) {
    actions.Note(op, OperationStep::kReady);
    ready_.push_back(op);
    std::ranges::push_heap(ready_, std::greater<>());
  }

  bool HoldsStream(uint32_t op) const { return ops_[op].stream != kNoStream && !as_bound_; }

  void Start(uint32_t op, RankActions& actions) {
    if (!HoldsStream(op)) return Launch(op, actions);
    Stream& stream = streams_[ops_[op].stream];
    if (stream.is_busy) return stream.waiting.push_back(op);
    stream.is_busy = true;
    Launch(op, actions);
  }

  void ServeNext(uint32_t stream, RankActions& actions) {
    Stream& its = streams_[stream];
    if (its.waiting.empty()) {
      its.is_busy = false;
      return;
    }
    const uint32_t op = its.waiting.front();
    its.waiting.pop_front();
    Launch(op, actions);
  }

  void Launch(uint32_t op, RankActions& actions) {
    const Operation& its = ops_[op];
    const bool has_arrived = states_[op] == State::kArrived;
    states_[op] = State::kStarted;
    actions.Note(op, OperationStep::kStarted);
    Release(tables_.StartAfter(rank_, op), actions);
    switch (its.kind) {
      case Kind::kSend:
        if (!EndsLate(op)) --left_;
        actions.Send(tables_.SlotOf(rank_, op));
        if (its.posted) Finish(op, actions);
        return;
      case Kind::kReceive:
        if (has_arrived || (has_wildcards_ && (as_bound_ || matcher_.Post(op)))) {
          Finish(op, actions);
        }
        return;
      case Kind::kCompute:
        if (its.time == Duration{0}) return Finish(op, actions);
        return actions.Compute(its.stream, its.time, op);
      case Kind::kCollective:
        return BeginPart(op, actions);
    }
  }

  void TakeMessage(uint32_t receive, RankActions& actions) {
    if (states_[receive] == State::kStarted) {
      Finish(receive, actions);
    } else {
      states_[receive] = State::kArrived;
    }
  }

  void Finish(uint32_t op, RankActions& actions) {
    states_[op] = State::kFinished;
    actions.Note(op, OperationStep::kFinished);
    if (EndsLate(op)) --left_;
    if (HoldsStream(op)) freed_.push_back(ops_[op].stream);
    Release(tables_.FinishAfter(rank_, op), actions);
    for (const GraphTables::Far& after : tables_.FarAfter(rank_, op)) {
      actions.ReleaseFar(after.rank, after.op);
    }
  }

  // Returns true if the iteration lasts until `op` has finished; else until it has started.
  bool EndsLate(uint32_t op) const {
    return ops_[op].kind != Kind::kSend || !tables_.FarAfter(rank_, op).empty();
  }

  void Release(std::span<const uint32_t> afters, RankActions& actions) {
    for (const uint32_t after : afters) {
      if (waits_[after] == 0) continue;  // It needed fewer than all.
      if (--waits_[after] == 0) NoteReady(after, actions);
    }
  }

  // --- Collectives ---

  void BeginPart(uint32_t op, RankActions& actions) {
    const uint32_t collective = ops_[op].collective;
    Part& part = parts_[collective];
    part.op = op;
    part.program =
        collectives_[collective].schedule->ProgramOf(tables_.LocalRankOf(collective, rank_));
    PartActions its(*this, collective, actions);
    part.program->Begin(its);
    for (const uint64_t index : part.early) part.program->OnReceived(index, its);
    FinishPart(collective, actions);
  }

  // Nothing waits for the sends of a part that has finished.
  void OnCollective(uint64_t index, RankActions& actions, Event event) {
    const uint32_t collective = tables_.CollectiveOf(index);
    const uint64_t its_index = index - tables_.FirstSlotOf(collective);
    const auto found = parts_.find(collective);
    const bool is_running = found != parts_.end() && found->second.program != nullptr;
    if (is_running) {
      PartActions its(*this, collective, actions);
      (found->second.program.get()->*event)(its_index, its);
      FinishPart(collective, actions);
    } else if (event == &RankProgram::OnReceived) {
      parts_[collective].early.push_back(its_index);
    }
  }

  void FinishPart(uint32_t collective, RankActions& actions) {
    const auto found = parts_.find(collective);
    if (!found->second.program->finished()) return;
    const uint32_t op = found->second.op;
    parts_.erase(found);
    Finish(op, actions);
  }

  const GraphTables& tables_;
  const uint32_t rank_;
  const std::span<const Operation> ops_;
  const std::span<const OperationGraph::Collective> collectives_;
  const bool as_bound_;
  const bool has_wildcards_;
  Matcher matcher_;
  std::vector<State> states_;
  std::vector<uint32_t> waits_;  // How many others an operation still waits for.
  std::vector<Stream> streams_;
  std::vector<uint32_t> ready_;  // A heap.
  std::vector<uint32_t> freed_;  // Streams.
  absl::flat_hash_map<uint32_t, Part> parts_;
  absl::flat_hash_map<uint64_t, std::pair<uint32_t, uint64_t>> tickets_;
  uint64_t next_ticket_ = 0;
  size_t left_ = 0;  // Operations that the end of the iteration waits for.
};

std::unique_ptr<RankProgram> GraphSchedule::ProgramOf(uint32_t rank) const {
  return std::make_unique<GraphProgram>(*this, rank, /*as_bound=*/false);
}

std::unique_ptr<RankProgram> GraphSchedule::BoundOf(uint32_t rank) const {
  return std::make_unique<GraphProgram>(*this, rank, /*as_bound=*/true);
}

}  // namespace

std::unique_ptr<Schedule> MakeGraphSchedule(std::shared_ptr<const OperationGraph> graph) {
  return std::make_unique<GraphSchedule>(std::move(graph));
}

}  // namespace heddle
