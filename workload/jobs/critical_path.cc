// SPDX-License-Identifier: Apache-2.0

#include "workload/jobs/critical_path.h"

#include <algorithm>
#include <memory>
#include <queue>
#include <tuple>
#include <vector>

#include "workload/jobs/graph_tables.h"

namespace heddle {
namespace {

class Walk {
 public:
  Walk(const Schedule& schedule, const std::function<MessageTimes(const Message&)>& times_of,
       const std::function<Duration(uint32_t, uint32_t)>& news_of)
      : schedule_(schedule), times_of_(times_of), news_of_(news_of) {
    for (uint32_t rank = 0; rank < schedule.ranks(); ++rank) {
      ranks_.push_back({schedule.BoundOf(rank), {}});
    }
  }

  Duration Length() {
    for (uint32_t rank = 0; rank < ranks_.size(); ++rank) {
      Actions actions(*this, rank);
      ranks_[rank].program->Begin(actions);
    }
    Time end;
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.at;
      if (event.kind <= Event::kComputed) end = std::max(end, now_);
      Handle(event);
    }
    return std::max(end - Time{}, longest_computation_);
  }

 private:
  struct Event {
    enum Kind { kReceived, kComputed, kSent, kReleased };
    Time at;
    Kind kind;
    uint32_t rank;
    uint64_t number;

    friend bool operator>(const Event& a, const Event& b) {
      return std::tuple(a.at, a.kind, a.rank, a.number) >
             std::tuple(b.at, b.kind, b.rank, b.number);
    }
  };
  struct Rank {
    std::unique_ptr<RankProgram> program;
    std::vector<Duration> computed;  // By stream.
  };
  class Actions final : public RankActions {
   public:
    Actions(Walk& walk, uint32_t rank) : walk_(walk), rank_(rank) {}
    void Send(uint64_t index) override { walk_.Send(rank_, index); }
    // Waits for no stream: had a message come later, the stream might have taken the computations
    // in another order, and all might have ended earlier.
    void Compute(uint32_t stream, Duration time, uint64_t op) override {
      walk_.events_.push({walk_.now_ + time, Event::kComputed, rank_, op});
      if (stream != kNoStream) walk_.AddComputation(rank_, stream, time);
    }
    void ReleaseFar(uint32_t rank, uint32_t op) override {
      walk_.events_.push({walk_.now_ + walk_.news_of_(rank_, rank), Event::kReleased, rank, op});
    }

   private:
    Walk& walk_;
    const uint32_t rank_;
  };

  void Send(uint32_t rank, uint64_t index) {
    const Message message = schedule_.MessageOf(index);
    const MessageTimes times = times_of_(message);
    events_.push({now_ + times.arrives, Event::kReceived, message.dst, index});
    if (schedule_.waits_for_sends()) {
      events_.push({now_ + times.finished, Event::kSent, rank, index});
    }
  }

  void AddComputation(uint32_t rank, uint32_t stream, Duration time) {
    std::vector<Duration>& computed = ranks_[rank].computed;
    if (stream >= computed.size()) computed.resize(stream + 1);
    computed[stream] = computed[stream] + time;
    longest_computation_ = std::max(longest_computation_, computed[stream]);
  }

  void Handle(const Event& event) {
    Actions actions(*this, event.rank);
    RankProgram& program = *ranks_[event.rank].program;
    switch (event.kind) {
      case Event::kReceived:
        return program.OnReceived(event.number, actions);
      case Event::kComputed:
        return program.OnComputed(event.number, actions);
      case Event::kSent:
        return program.OnSent(event.number, actions);
      case Event::kReleased:
        return program.OnReleased(static_cast<uint32_t>(event.number), actions);
    }
  }

  const Schedule& schedule_;
  const std::function<MessageTimes(const Message&)>& times_of_;
  const std::function<Duration(uint32_t, uint32_t)>& news_of_;
  std::vector<Rank> ranks_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  Time now_;
  Duration longest_computation_{0};
};

// The time at which each operation of a graph finishes, from one operation to those that wait for
// it. It looks at each operation once, and at no message of a collective.
class GraphWalk {
 public:
  explicit GraphWalk(const GraphTables& tables)
      : tables_(tables), graph_(tables.graph()), first_(1, 0) {
    for (uint32_t rank = 0; rank < graph_.ranks(); ++rank) {
      first_.push_back(first_.back() + graph_.OpsOf(rank).size());
      has_wildcards_.push_back(graph_.HasWildcards(rank));
    }
    waits_.resize(first_.back());
    ready_.resize(first_.back());
    arrived_.resize(first_.back(), kNotYet);
    computed_.resize(tables.streams());
  }

  // An operation that starts when some of those before it have finished, and a collective whose
  // ranks may finish before others begin, are too much for it.
  static bool CanWalk(const OperationGraph& graph) {
    for (const OperationGraph::Collective& collective : graph.collectives()) {
      if (!collective.schedule->waits_for_all()) return false;
    }
    for (uint32_t rank = 0; rank < graph.ranks(); ++rank) {
      const auto needs_some = [](const Operation& op) { return op.needs != Operation::kNeedsAll; };
      if (std::ranges::any_of(graph.OpsOf(rank), needs_some)) return false;
    }
    return true;
  }

  Duration Length() {
    ListParts();
    for (uint32_t rank = 0; rank < graph_.ranks(); ++rank) {
      SumUpStreams(rank);
      for (uint32_t op = 0; op < graph_.OpsOf(rank).size(); ++op) {
        uint32_t& waits = waits_[NodeOf({rank, op})];
        waits = tables_.WaitsOf(rank, op);
        if (waits == 0) free_.push_back({rank, op});
      }
    }
    while (!free_.empty()) {
      const Place place = free_.back();
      free_.pop_back();
      Start(place);
    }
    return std::max(end_, longest_computation_);
  }

 private:
  struct Place {
    uint32_t rank;
    uint32_t op;
  };

  // Of a receive: its message has not been sent, and it waits for it.
  static constexpr Duration kNotYet{-1};
  static constexpr Duration kAwaited{-2};

  uint64_t NodeOf(Place place) const { return first_[place.rank] + place.op; }

  // The parts of each collective, one collective behind the other.
  void ListParts() {
    first_part_.assign(graph_.collectives().size() + 1, 0);
    last_begin_.resize(graph_.collectives().size());
    ForEachPart([this](uint32_t collective, Place) { ++first_part_[collective + 1]; });
    for (size_t i = 1; i < first_part_.size(); ++i) first_part_[i] += first_part_[i - 1];
    parts_.resize(first_part_.back());
    std::vector<uint64_t> next(first_part_.begin(), first_part_.end() - 1);
    ForEachPart([&](uint32_t collective, Place place) { parts_[next[collective]++] = place; });
    for (size_t i = 0; i + 1 < first_part_.size(); ++i) {
      missing_.push_back(static_cast<uint32_t>(first_part_[i + 1] - first_part_[i]));
    }
  }
  template <class Visit>
  void ForEachPart(const Visit& visit) const {
    for (uint32_t rank = 0; rank < graph_.ranks(); ++rank) {
      const auto ops = graph_.OpsOf(rank);
      for (uint32_t op = 0; op < ops.size(); ++op) {
        if (ops[op].kind == Operation::Kind::kCollective) visit(ops[op].collective, {rank, op});
      }
    }
  }

  void SumUpStreams(uint32_t rank) {
    std::ranges::fill(computed_, Duration{0});
    for (const Operation& op : graph_.OpsOf(rank)) {
      if (op.kind != Operation::Kind::kCompute || op.stream == kNoStream) continue;
      computed_[op.stream] = computed_[op.stream] + op.time;
      longest_computation_ = std::max(longest_computation_, computed_[op.stream]);
    }
  }

  void Start(Place place) {
    const Duration at = ready_[NodeOf(place)];
    for (const uint32_t after : tables_.StartAfter(place.rank, place.op)) {
      Release({place.rank, after}, at);
    }
    const Operation& its = graph_.At(place.rank, place.op);
    switch (its.kind) {
      case Operation::Kind::kSend:
        Arrive(its.peer, tables_.SlotOf(place.rank, place.op), at);
        return Finish(place, at);
      case Operation::Kind::kReceive:
        return Await(place, at);
      case Operation::Kind::kCompute:
        return Finish(place, at + its.time);
      case Operation::Kind::kCollective:
        return Join(its.collective, at);
    }
  }

  // A receive of a rank with wildcards waits for nothing; see Schedule::BoundOf().
  void Await(Place place, Duration at) {
    if (has_wildcards_[place.rank]) return Finish(place, at);
    Duration& arrived = arrived_[NodeOf(place)];
    if (arrived != kNotYet) return Finish(place, std::max(at, arrived));
    arrived = kAwaited;
  }

  void Arrive(uint32_t rank, uint64_t slot, Duration at) {
    if (has_wildcards_[rank]) return;
    const Place place{rank, tables_.ReceiveOf(slot)};
    Duration& arrived = arrived_[NodeOf(place)];
    if (arrived == kAwaited) return Finish(place, std::max(ready_[NodeOf(place)], at));
    arrived = at;
  }

  void Join(uint32_t collective, Duration at) {
    Duration& last = last_begin_[collective];
    last = std::max(last, at);
    if (--missing_[collective] > 0) return;
    for (uint64_t i = first_part_[collective]; i < first_part_[collective + 1]; ++i) {
      Finish(parts_[i], last);
    }
  }

  void Finish(Place place, Duration at) {
    end_ = std::max(end_, at);
    for (const uint32_t after : tables_.FinishAfter(place.rank, place.op)) {
      Release({place.rank, after}, at);
    }
    for (const GraphTables::Far& after : tables_.FarAfter(place.rank, place.op)) {
      Release({after.rank, after.op}, at);
    }
  }

  void Release(Place place, Duration at) {
    const uint64_t node = NodeOf(place);
    ready_[node] = std::max(ready_[node], at);
    if (--waits_[node] == 0) free_.push_back(place);
  }

  const GraphTables& tables_;
  const OperationGraph& graph_;
  std::vector<uint64_t> first_;  // By rank: the operations of all ranks below.
  std::vector<bool> has_wildcards_;
  std::vector<uint32_t> waits_;    // By operation: how many others it still waits for.
  std::vector<Duration> ready_;    // By operation: the last end of those.
  std::vector<Duration> arrived_;  // By operation: receives.
  std::vector<Place> free_;        // Operations that wait for nothing any more.
  std::vector<uint64_t> first_part_;
  std::vector<Place> parts_;
  std::vector<uint32_t> missing_;     // By collective: parts that have not begun.
  std::vector<Duration> last_begin_;  // By collective.
  std::vector<Duration> computed_;    // By stream of one rank.
  Duration longest_computation_{0};
  Duration end_{0};
};

}  // namespace

Duration ComputingTime(const Schedule& schedule) {
  const GraphTables* tables = schedule.graph();
  if (tables != nullptr && GraphWalk::CanWalk(tables->graph())) return GraphWalk(*tables).Length();
  return CriticalPath(schedule, [](const Message&) {
    return MessageTimes{Duration{0}, Duration{0}};
  });
}

Duration CriticalPath(const Schedule& schedule,
                      const std::function<MessageTimes(const Message&)>& times_of,
                      const std::function<Duration(uint32_t from, uint32_t to)>& news_of) {
  return Walk(schedule, times_of, news_of).Length();
}

}  // namespace heddle
