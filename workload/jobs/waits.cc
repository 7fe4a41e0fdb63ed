// SPDX-License-Identifier: Apache-2.0

#include "workload/jobs/waits.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <compare>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "workload/jobs/graph_check.h"
#include "workload/jobs/graph_tables.h"

namespace heddle {
namespace {

using Kind = Operation::Kind;
using State = RankProgram::OperationState;

// An operation of a rank.
struct At {
  uint32_t rank;
  uint32_t op;

  friend auto operator<=>(const At&, const At&) = default;
};

class WaitGraph {
 public:
  WaitGraph(const OperationGraph& graph, std::span<const RankState> ranks)
      : graph_(graph), ranks_(ranks) {
    for (const Match& match : MatchMessages(graph)) {
      send_of_[{match.dst, match.receive}] = {match.src, match.send};
    }
    for (uint32_t rank = 0; rank < graph.ranks(); ++rank) {
      edges_.push_back(OrderByAfter(graph.EdgesOf(rank)));
      far_edges_.push_back(OrderByAfter(graph.FarEdgesOf(rank)));
      for (uint32_t op = 0; op < graph.OpsOf(rank).size(); ++op) {
        if (IsOpen({rank, op})) open_.push_back({rank, op});
      }
    }
  }

  // Operations without which their rank cannot finish.
  const std::vector<At>& open() const { return open_; }

  // The operations that `at` waits for, of those that have not finished.
  std::vector<At> BeforesOf(At at) const {
    if (StateOf(at) == State::kStarted) return BeforesOfStarted(at);
    std::vector<At> befores;
    const auto edges = graph_.EdgesOf(at.rank);
    for (const uint32_t i : Before(at.op, edges, edges_[at.rank])) {
      const OperationGraph::Edge& edge = edges[i];
      const State state = StateOf({at.rank, edge.before});
      const bool has_started = state == State::kStarted || state == State::kFinished;
      const bool holds = edge.at_start ? has_started : state == State::kFinished;
      if (!holds) befores.push_back({at.rank, edge.before});
    }
    const auto far_edges = graph_.FarEdgesOf(at.rank);
    for (const uint32_t i : Before(at.op, far_edges, far_edges_[at.rank])) {
      const At before{far_edges[i].rank, far_edges[i].before};
      if (HasNotFinished(before, ranks_[at.rank].iteration)) befores.push_back(before);
    }
    return befores;
  }

  std::string Describe(At at) const {
    const std::string name = graph_.NameOf(at.rank, at.op);
    const std::vector<At> befores = BeforesOf(at);
    if (IsWildcard(at) && StateOf(at) == State::kStarted) return DescribeWildcard(at);
    if (!befores.empty()) {
      return fmt::format("{} waits for {}", name,
                         graph_.NameOf(befores.front().rank, befores.front().op));
    }
    if (StateOf(at) != State::kStarted) {
      const bool is_told = OperationOf(at).stream == kNoStream;
      return fmt::format("{} waits for {}", name,
                         is_told ? "news, which is under way" : "its stream");
    }
    switch (OperationOf(at).kind) {
      case Kind::kReceive:
        return fmt::format("{} waits for a message of rank {}, which is under way", name,
                           OperationOf(at).peer);
      case Kind::kSend:
        return fmt::format("{} waits until its message is finished", name);
      case Kind::kCompute:
        return fmt::format("{} computes", name);
      case Kind::kCollective:
        break;
    }
    return fmt::format("{} has begun, and so have all others of its group", name);
  }

 private:
  // The numbers of a rank's edges, by the operation that waits.
  template <class Edges>
  static std::vector<uint32_t> OrderByAfter(const Edges& edges) {
    std::vector<uint32_t> order(edges.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](uint32_t i) { return edges[i].after; });
    return order;
  }

  // The edges to `op`, of those in `order`.
  template <class Edges>
  static std::span<const uint32_t> Before(uint32_t op, const Edges& edges,
                                          const std::vector<uint32_t>& order) {
    const auto found =
        std::ranges::equal_range(order, op, {}, [&](uint32_t i) { return edges[i].after; });
    return {found.begin(), found.end()};
  }

  const Operation& OperationOf(At at) const { return graph_.At(at.rank, at.op); }

  State StateOf(At at) const {
    const RankState& rank = ranks_[at.rank];
    if (rank.is_finished) return State::kFinished;
    return rank.operations.empty() ? State::kWaiting : rank.operations[at.op];
  }

  // A send that has started is left to the network.
  bool IsOpen(At at) const {
    const State state = StateOf(at);
    if (state == State::kFinished) return false;
    return state != State::kStarted || OperationOf(at).kind != Kind::kSend;
  }

  bool IsWildcard(At at) const {
    return OperationOf(at).kind == Kind::kReceive && graph_.HasWildcards(at.rank);
  }

  std::string DescribeWildcard(At at) const {
    const Operation& its = OperationOf(at);
    const std::string from = its.peer == kAnyRank ? "any rank" : fmt::format("rank {}", its.peer);
    const std::string tag = its.tag == kAnyTag ? "any tag" : fmt::format("tag {}", its.tag);
    return fmt::format("{} waits for a message from {} with {}", graph_.NameOf(at.rank, at.op),
                       from, tag);
  }

  bool HasNotSent(At send, uint32_t iteration) const {
    const RankState& rank = ranks_[send.rank];
    if (rank.is_finished || rank.iteration > iteration) return false;
    return rank.iteration < iteration || StateOf(send) == State::kWaiting;
  }

  bool HasNotFinished(At at, uint32_t iteration) const {
    const RankState& rank = ranks_[at.rank];
    if (rank.is_finished || rank.iteration > iteration) return false;
    return rank.iteration < iteration || StateOf(at) != State::kFinished;
  }

  std::vector<At> BeforesOfStarted(At at) const {
    std::vector<At> befores;
    const uint32_t iteration = ranks_[at.rank].iteration;
    const Operation& its = OperationOf(at);
    if (IsWildcard(at)) {
      AddPossibleSends(at, befores);
    } else if (its.kind == Kind::kReceive) {
      const At send = send_of_.at(at);
      if (HasNotSent(send, iteration)) befores.push_back(send);
    } else if (its.kind == Kind::kCollective) {
      AddMissingParts(at, befores);
    }
    return befores;
  }

  void AddPossibleSends(At at, std::vector<At>& befores) const {
    const Operation& its = OperationOf(at);
    for (const At& other : open_) {
      const Operation& send = OperationOf(other);
      const bool fits = send.kind == Kind::kSend && send.peer == at.rank &&
                        (its.peer == kAnyRank || its.peer == other.rank) &&
                        (its.tag == kAnyTag || its.tag == send.tag);
      if (fits) befores.push_back(other);
    }
  }

  void AddMissingParts(At at, std::vector<At>& befores) const {
    for (const At& other : open_) {
      const Operation& part = OperationOf(other);
      const bool is_same = part.kind == Kind::kCollective &&
                           part.collective == OperationOf(at).collective && other != at;
      if (is_same && StateOf(other) != State::kStarted) befores.push_back(other);
    }
  }

  const OperationGraph& graph_;
  const std::span<const RankState> ranks_;
  std::map<At, At> send_of_;                      // By receive.
  std::vector<std::vector<uint32_t>> edges_;      // By rank: see OrderByAfter().
  std::vector<std::vector<uint32_t>> far_edges_;  // Likewise.
  std::vector<At> open_;
};

// Follows what each operation waits for, depth first, and returns the first cycle.
std::vector<At> FindCycle(const WaitGraph& waits) {
  enum class Mark { kOpen, kDone };
  struct Visit {
    At at;
    std::vector<At> befores;
    size_t next = 0;
  };
  std::map<At, Mark> marks;
  for (const At& start : waits.open()) {
    if (marks.contains(start)) continue;
    marks[start] = Mark::kOpen;
    std::vector<Visit> path = {{start, waits.BeforesOf(start)}};
    while (!path.empty()) {
      Visit& last = path.back();
      if (last.next == last.befores.size()) {
        marks[last.at] = Mark::kDone;
        path.pop_back();
        continue;
      }
      const At before = last.befores[last.next++];
      const auto found = marks.find(before);
      if (found == marks.end()) {
        marks[before] = Mark::kOpen;
        path.push_back({before, waits.BeforesOf(before)});
      } else if (found->second == Mark::kOpen) {
        std::vector<At> cycle;
        const auto first = std::ranges::find(path, before, &Visit::at);
        for (auto at = first; at != path.end(); ++at) cycle.push_back(at->at);
        return cycle;
      }
    }
  }
  return {};
}

// "0:l1 -> 1:l2 -> 0:l1": each waits for the next.
std::string NameOfCycle(const OperationGraph& graph, const std::vector<At>& cycle) {
  constexpr size_t kMostNamed = 16;
  if (cycle.empty()) return "";
  std::vector<std::string> names;
  for (const At& at : std::span(cycle).first(std::min(cycle.size(), kMostNamed))) {
    names.push_back(graph.NameOf(at.rank, at.op));
  }
  if (cycle.size() > kMostNamed) names.emplace_back("...");
  names.push_back(names.front());
  return fmt::format("{}", fmt::join(names, " -> "));
}

}  // namespace

JobWaits WaitsOf(const Job& job, std::span<const RankState> ranks, size_t most) {
  JobWaits result;
  const GraphTables* tables = job.schedule().graph();
  if (tables == nullptr) return result;
  const WaitGraph waits(tables->graph(), ranks);
  result.operations = static_cast<int64_t>(waits.open().size());
  for (const At& at : std::span(waits.open()).first(std::min(waits.open().size(), most))) {
    result.first.push_back(waits.Describe(at));
  }
  result.cycle = NameOfCycle(tables->graph(), FindCycle(waits));
  return result;
}

}  // namespace heddle
