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

#include "settings/quantity.h"
#include "settings/wording.h"
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

std::string BytesOf(const Message& message) {
  return CountedNoun(static_cast<size_t>(message.bytes), "byte");
}

// The messages of the ranks' last iterations, in words.
class MessageWaits {
 public:
  MessageWaits(const Job& job, std::span<const RankState> ranks, const OpenMessages& open)
      : job_(job), ranks_(ranks), open_(open) {}

  // `index` is of the rank's own iteration.
  bool HasArrived(uint32_t rank, uint64_t index) const {
    const Job::Place place{ranks_[rank].iteration, index};
    if (ranks_[rank].is_closed && ranks_[rank].is_closed(place)) return true;
    const auto found = open_.find(job_.IdOf(place));
    return found != open_.end() && found->second.has_arrived;
  }

  // Returns true if the message has left its sender and has not arrived.
  bool IsUnderWay(uint32_t rank, uint64_t index) const {
    const auto found = open_.find(job_.IdOf({ranks_[rank].iteration, index}));
    return found != open_.end() && !found->second.has_arrived;
  }

  // "the message of step 2 from rank 1 (100000 bytes), which has not been sent"; the message is to
  // `rank`.
  std::string Describe(uint32_t rank, uint64_t index) const {
    const Message message = job_.schedule().MessageOf(index);
    const bool is_work = index < job_.schedule().work().slots();
    return fmt::format("the message of step {}{} from rank {} ({}), {}", message.step,
                       is_work ? "" : " of the barrier", message.src, BytesOf(message),
                       FateOf(rank, index, message));
  }

  // The first of `missing` that is under way, or the first.
  std::string DescribeFirst(uint32_t rank, const std::vector<uint64_t>& missing) const {
    const auto under_way =
        std::ranges::find_if(missing, [&](uint64_t index) { return IsUnderWay(rank, index); });
    std::string text = Describe(rank, under_way == missing.end() ? missing.front() : *under_way);
    if (missing.size() > 1) text += fmt::format(", and for {} more", missing.size() - 1);
    return text;
  }

 private:
  std::string FateOf(uint32_t rank, uint64_t index, const Message& message) const {
    const FlowId id = job_.IdOf({ranks_[rank].iteration, index});
    const auto found = open_.find(id);
    if (found != open_.end() && found->second.sent != kNever) {
      return fmt::format("sent at {} as flow {}, which has not arrived",
                         RoundedQuantity(found->second.sent - Time{}), id);
    }
    const bool is_local = job_.AreLocal(message.src, rank);
    return is_local ? "which has not come over the server's link" : "which has not been sent";
  }

  const Job& job_;
  const std::span<const RankState> ranks_;
  const OpenMessages& open_;
};

class WaitGraph {
 public:
  WaitGraph(const GraphTables& tables, std::span<const RankState> ranks,
            const MessageWaits& messages)
      : tables_(tables), graph_(tables.graph()), ranks_(ranks), messages_(messages) {
    const OperationGraph& graph = graph_;
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

  // Returns true if `at` waits for a message that has been sent and has not arrived.
  bool IsAtNetwork(At at) const {
    if (StateOf(at) != State::kStarted || IsWildcard(at)) return false;
    const auto is_under_way = [&](uint64_t slot) { return messages_.IsUnderWay(at.rank, slot); };
    if (OperationOf(at).kind == Kind::kCollective) {
      return std::ranges::any_of(MissingOf(at), is_under_way);
    }
    if (OperationOf(at).kind != Kind::kReceive) return false;
    const At send = send_of_.at(at);
    return is_under_way(tables_.SlotOf(send.rank, send.op));
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
      case Kind::kReceive: {
        const At send = send_of_.at(at);
        const uint64_t slot = tables_.SlotOf(send.rank, send.op);
        if (messages_.IsUnderWay(at.rank, slot)) {
          return fmt::format("{} waits for {}", name, messages_.Describe(at.rank, slot));
        }
        return fmt::format("{} waits for a message of rank {}, which is under way", name,
                           OperationOf(at).peer);
      }
      case Kind::kSend:
        return fmt::format("{} waits until its message is finished", name);
      case Kind::kCompute:
        return fmt::format("{} computes", name);
      case Kind::kCollective:
        break;
    }
    const std::vector<uint64_t> missing = MissingOf(at);
    if (!missing.empty()) {
      return fmt::format("{} waits for {}", name, messages_.DescribeFirst(at.rank, missing));
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

  // The messages of a collective that this part of it waits for.
  std::vector<uint64_t> MissingOf(At at) const {
    const uint32_t collective = OperationOf(at).collective;
    const uint64_t first = tables_.FirstSlotOf(collective);
    std::vector<uint64_t> missing = graph_.collectives()[collective].schedule->MissingAt(
        tables_.LocalRankOf(collective, at.rank),
        [&](uint64_t index) { return messages_.HasArrived(at.rank, first + index); });
    for (uint64_t& index : missing) index += first;
    return missing;
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

  const GraphTables& tables_;
  const OperationGraph& graph_;
  const std::span<const RankState> ranks_;
  const MessageWaits& messages_;
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

JobWaits WaitsOfGraph(const GraphTables& tables, std::span<const RankState> ranks,
                      const MessageWaits& messages, size_t most) {
  JobWaits result;
  const WaitGraph waits(tables, ranks, messages);
  std::vector<At> open = waits.open();
  std::ranges::stable_partition(open, [&](At at) { return waits.IsAtNetwork(at); });
  const size_t named = std::min(open.size(), most);
  result.operations = static_cast<int64_t>(open.size());
  for (const At& at : std::span(open).first(named)) result.first.push_back(waits.Describe(at));
  result.has_more = named < open.size();
  result.cycle = NameOfCycle(tables.graph(), FindCycle(waits));
  return result;
}

// The ranks of a schedule that is no graph.
class RankWaits {
 public:
  RankWaits(const Job& job, std::span<const RankState> ranks, const OpenMessages& open,
            const MessageWaits& messages)
      : job_(job), ranks_(ranks), open_(open), messages_(messages) {}

  // Ranks that have not finished; first those to which a message is under way.
  std::vector<uint32_t> Unfinished() const {
    std::vector<bool> is_next(ranks_.size());
    for (const auto& [id, message] : open_) {
      if (!job_.Owns(id) || message.has_arrived) continue;
      is_next[job_.schedule().MessageOf(job_.PlaceOf(id).index).dst] = true;
    }
    std::vector<uint32_t> unfinished;
    for (uint32_t rank = 0; rank < ranks_.size(); ++rank) {
      if (!ranks_[rank].is_finished) unfinished.push_back(rank);
    }
    std::ranges::stable_partition(unfinished, [&](uint32_t rank) { return is_next[rank]; });
    return unfinished;
  }

  std::string Describe(uint32_t rank) const {
    const RankState& its = ranks_[rank];
    if (!its.has_begun) return fmt::format("rank {} has not begun", rank);
    const std::vector<uint64_t> missing = job_.schedule().MissingAt(
        rank, [&](uint64_t index) { return messages_.HasArrived(rank, index); });
    const std::string of = job_.settings().iterations > 1
                               ? fmt::format("rank {} in iteration {}", rank, its.iteration)
                               : fmt::format("rank {}", rank);
    if (!missing.empty()) {
      return fmt::format("{} waits for {}", of, messages_.DescribeFirst(rank, missing));
    }
    if (const std::optional<FlowId> own = OwnOpen(rank)) {
      const Message message = job_.schedule().MessageOf(job_.PlaceOf(*own).index);
      return fmt::format(
          "{} waits until its message of step {} to rank {} ({}) is finished, "
          "sent at {} as flow {}",
          of, message.step, message.dst, BytesOf(message),
          RoundedQuantity(open_.at(*own).sent - Time{}), *own);
    }
    return fmt::format("{} has all its messages, and computes or waits to begin the next iteration",
                       of);
  }

 private:
  // The first message of its own that the rank may wait for.
  std::optional<FlowId> OwnOpen(uint32_t rank) const {
    const Schedule& schedule = job_.schedule();
    if (!schedule.waits_for_sends() && !schedule.goes_down_a_tree()) return std::nullopt;
    for (const auto& [id, message] : open_) {
      if (!job_.Owns(id) || message.sent == kNever) continue;
      const Job::Place place = job_.PlaceOf(id);
      const bool is_now = place.iteration == ranks_[rank].iteration;
      if (is_now && job_.schedule().MessageOf(place.index).src == rank) return id;
    }
    return std::nullopt;
  }

  const Job& job_;
  const std::span<const RankState> ranks_;
  const OpenMessages& open_;
  const MessageWaits& messages_;
};

}  // namespace

JobWaits WaitsOf(const Job& job, std::span<const RankState> ranks, const OpenMessages& open,
                 size_t most) {
  const MessageWaits messages(job, ranks, open);
  const GraphTables* tables = job.schedule().graph();
  JobWaits result;
  if (tables != nullptr) result = WaitsOfGraph(*tables, ranks, messages, most);
  if (result.operations > 0) return result;
  const RankWaits waits(job, ranks, open, messages);
  const std::vector<uint32_t> unfinished = waits.Unfinished();
  const size_t named = std::min(unfinished.size(), most);
  for (const uint32_t rank : std::span(unfinished).first(named)) {
    result.first.push_back(waits.Describe(rank));
  }
  result.has_more = named < unfinished.size();
  return result;
}

}  // namespace heddle
