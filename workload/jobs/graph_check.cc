// SPDX-License-Identifier: Apache-2.0

#include "workload/jobs/graph_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

namespace heddle {
namespace {

using Kind = Operation::Kind;

constexpr size_t kMostNames = 16;

// An end of a message, in the order in which ends are matched.
struct End {
  uint32_t src;
  uint32_t dst;
  int64_t tag;
  uint32_t rank;
  uint32_t op;

  std::tuple<uint32_t, uint32_t, int64_t> key() const { return {src, dst, tag}; }
};

struct Ends {
  std::vector<End> sends;
  std::vector<End> receives;
};

// The sends to and the receives of ranks without wildcards, by (src, dst, tag), then in the order
// of operations.
Ends EndsOf(const OperationGraph& graph) {
  std::vector<bool> has_wildcards(graph.ranks());
  for (uint32_t rank = 0; rank < graph.ranks(); ++rank) {
    has_wildcards[rank] = graph.HasWildcards(rank);
  }
  Ends ends;
  for (uint32_t rank = 0; rank < graph.ranks(); ++rank) {
    const auto ops = graph.OpsOf(rank);
    for (uint32_t op = 0; op < ops.size(); ++op) {
      const Operation& its = ops[op];
      if (its.kind == Kind::kSend && !has_wildcards[its.peer]) {
        ends.sends.push_back({rank, its.peer, its.tag, rank, op});
      } else if (its.kind == Kind::kReceive && !has_wildcards[rank]) {
        ends.receives.push_back({its.peer, rank, its.tag, rank, op});
      }
    }
  }
  std::ranges::stable_sort(ends.sends, {}, &End::key);
  std::ranges::stable_sort(ends.receives, {}, &End::key);
  return ends;
}

// Calls `visit` with the ends of each (src, dst, tag).
template <class Visit>
void ForEachKey(const Ends& ends, const Visit& visit) {
  size_t s = 0;
  size_t r = 0;
  while (s < ends.sends.size() || r < ends.receives.size()) {
    const bool is_send = r == ends.receives.size() ||
                         (s < ends.sends.size() && ends.sends[s].key() <= ends.receives[r].key());
    const auto key = is_send ? ends.sends[s].key() : ends.receives[r].key();
    const size_t first_send = s;
    const size_t first_receive = r;
    while (s < ends.sends.size() && ends.sends[s].key() == key) ++s;
    while (r < ends.receives.size() && ends.receives[r].key() == key) ++r;
    visit(std::span(ends.sends).subspan(first_send, s - first_send),
          std::span(ends.receives).subspan(first_receive, r - first_receive));
  }
}

// --- Problems ---

class Checker {
 public:
  Checker(const OperationGraph& graph, size_t most, OperationName name)
      : graph_(graph), most_(most), name_(std::move(name)) {}

  std::vector<GraphProblem> Problems() {
    CheckOperations();
    if (problems_.empty()) CheckMessages();
    if (problems_.empty()) CheckWildcards();
    if (problems_.empty()) CheckGroups();
    if (problems_.empty()) CheckCycles();
    if (problems_.size() > most_) problems_.resize(most_);
    return std::move(problems_);
  }

 private:
  void Fail(uint32_t rank, uint32_t op, std::string message) {
    problems_.push_back({rank, graph_.At(rank, op).line, std::move(message)});
  }
  void Fail(std::string message) { problems_.push_back({kAnyRank, 0, std::move(message)}); }

  std::string NameOf(uint32_t rank, uint32_t op) const {
    return name_ ? name_(rank, op) : graph_.NameOf(rank, op);
  }

  void CheckOperations() {
    for (uint32_t rank = 0; rank < graph_.ranks(); ++rank) {
      const auto ops = graph_.OpsOf(rank);
      for (uint32_t op = 0; op < ops.size() && problems_.size() < most_; ++op) {
        CheckOperation(rank, op, ops[op]);
      }
    }
  }

  void CheckOperation(uint32_t rank, uint32_t op, const Operation& its) {
    const bool is_message = its.kind == Kind::kSend || its.kind == Kind::kReceive;
    const bool any_peer = its.kind == Kind::kReceive && its.peer == kAnyRank;
    if (is_message && !any_peer && its.peer >= graph_.ranks()) {
      Fail(rank, op,
           fmt::format("{}: there is no rank {}; there are {}", NameOf(rank, op), its.peer,
                       graph_.ranks()));
    }
    if (its.bytes < 0 || its.time < Duration{0}) {
      Fail(rank, op, fmt::format("{}: is negative", NameOf(rank, op)));
    }
  }

  void CheckMessages() {
    ForEachKey(EndsOf(graph_), [this](std::span<const End> sends, std::span<const End> receives) {
      if (problems_.size() >= most_) return;
      const size_t both = std::min(sends.size(), receives.size());
      for (size_t i = 0; i < both && problems_.size() < most_; ++i) {
        CheckSizes(sends[i], receives[i]);
      }
      if (sends.size() > both) NameUnmatched("send", "recv", sends.subspan(both));
      if (receives.size() > both) NameUnmatched("recv", "send", receives.subspan(both));
    });
  }

  // Which receive takes which message is not known, but each message needs one. Fewer messages than
  // receives show only in the run: the rank waits for ever.
  void CheckWildcards() {
    std::vector<uint64_t> sends(graph_.ranks(), 0);
    std::vector<uint64_t> receives(graph_.ranks(), 0);
    for (uint32_t rank = 0; rank < graph_.ranks(); ++rank) {
      for (const Operation& op : graph_.OpsOf(rank)) {
        if (op.kind == Kind::kSend) ++sends[op.peer];
        if (op.kind == Kind::kReceive) ++receives[rank];
      }
    }
    for (uint32_t rank = 0; rank < graph_.ranks() && problems_.size() < most_; ++rank) {
      if (sends[rank] <= receives[rank]) continue;
      Fail(fmt::format("{} messages are sent to rank {}, which has {} recvs", sends[rank], rank,
                       receives[rank]));
    }
  }

  void CheckSizes(const End& send, const End& receive) {
    const Operation& sent = graph_.At(send.rank, send.op);
    const Operation& received = graph_.At(receive.rank, receive.op);
    if (sent.bytes == received.bytes) return;
    Fail(send.rank, send.op,
         fmt::format("send {} has {} bytes, recv {} {}", NameOf(send.rank, send.op), sent.bytes,
                     NameOf(receive.rank, receive.op), received.bytes));
  }

  // "2 sends from 0 to 1 with tag 7 have no recv: l2, l5".
  void NameUnmatched(std::string_view kind, std::string_view other, std::span<const End> ends) {
    std::vector<std::string> names;
    for (const End& end : ends.first(std::min(ends.size(), kMostNames))) {
      names.push_back(graph_.LabelOf(end.rank, end.op));
    }
    if (ends.size() > kMostNames) names.push_back("...");
    const End& first = ends.front();
    Fail(first.rank, first.op,
         fmt::format("{} {}{} from {} to {} with tag {} {} no {}: {}", ends.size(), kind,
                     ends.size() == 1 ? "" : "s", first.src, first.dst, first.tag,
                     ends.size() == 1 ? "has" : "have", other, fmt::join(names, ", ")));
  }

  // Each rank of a group takes part once, and no other does.
  void CheckGroups() {
    const auto collectives = graph_.collectives();
    std::vector<std::vector<Part>> parts(collectives.size());
    for (uint32_t rank = 0; rank < graph_.ranks(); ++rank) {
      const auto ops = graph_.OpsOf(rank);
      for (uint32_t op = 0; op < ops.size(); ++op) {
        if (ops[op].kind == Kind::kCollective) parts[ops[op].collective].push_back({rank, op});
      }
    }
    for (size_t i = 0; i < collectives.size() && problems_.size() < most_; ++i) {
      CheckGroup(collectives[i], parts[i]);
    }
  }

  // An operation by which a rank takes part in a collective.
  struct Part {
    uint32_t rank;
    uint32_t op;
  };

  // `parts` are by rank.
  void CheckGroup(const OperationGraph::Collective& collective, const std::vector<Part>& parts) {
    std::vector<uint32_t> group = collective.group;
    std::ranges::sort(group);
    if (std::ranges::equal(group, parts, {}, {}, &Part::rank)) return;
    const std::string what = DescriptionOf(collective);
    for (size_t i = 0; i < parts.size() && problems_.size() < most_; ++i) {
      const auto [rank, op] = parts[i];
      if (!std::ranges::binary_search(group, rank)) {
        Fail(rank, op,
             fmt::format("{} takes part in {}, whose ranks are {}", NameOf(rank, op), what,
                         FirstOf(group)));
      } else if (i > 0 && parts[i - 1].rank == rank) {
        Fail(rank, op,
             fmt::format("{} takes part in {} again, after {}", NameOf(rank, op), what,
                         NameOf(rank, parts[i - 1].op)));
      }
    }
    std::vector<uint32_t> missing;
    std::ranges::copy_if(group, std::back_inserter(missing), [&](uint32_t rank) {
      return !std::ranges::binary_search(parts, rank, {}, &Part::rank);
    });
    if (!missing.empty()) NameMissing(what, group.size(), missing, parts);
  }

  void NameMissing(const std::string& what, size_t ranks, const std::vector<uint32_t>& missing,
                   const std::vector<Part>& parts) {
    const std::string whose = fmt::format(
        "{} needs an operation of each of its {} ranks; rank{} {} {} none", what, ranks,
        missing.size() == 1 ? "" : "s", FirstOf(missing), missing.size() == 1 ? "has" : "have");
    if (parts.empty()) return Fail(whose);
    const auto [rank, op] = parts.front();
    Fail(rank, op, fmt::format("{}, unlike {}", whose, NameOf(rank, op)));
  }

  // "all_reduce 3 of group dp"; collectives of a group are counted from 1.
  static std::string DescriptionOf(const OperationGraph::Collective& collective) {
    const std::string& operation = collective.operation.name;
    const std::string which = operation.empty() ? "collective" : operation;
    if (!collective.group_name.empty()) {
      return fmt::format("{} {} of group {}", which, collective.turn + 1, collective.group_name);
    }
    return collective.label.empty() ? which : fmt::format("{} {}", which, collective.label);
  }

  // "0, 1, 2", cut off if they are many.
  static std::string FirstOf(const std::vector<uint32_t>& ranks) {
    const auto first = std::span(ranks).first(std::min(ranks.size(), kMostNames));
    return fmt::format("{}{}", fmt::join(first, ", "), ranks.size() > kMostNames ? ", ..." : "");
  }

  // --- Cycles ---
  //
  // Each operation has two nodes, its start and its finish, and each collective has one, which lies
  // between the starts and the finishes of its parts. A receive may start before its message, but
  // finishes after the send has started.

  void CheckCycles() {
    NumberNodes();
    for (uint32_t rank = 0; rank < graph_.ranks(); ++rank) AddEdgesOf(rank);
    for (const Match& match : MatchMessages(graph_)) {
      AddEdge(StartOf(match.src, match.send), FinishOf(match.dst, match.receive));
    }
    const std::vector<uint32_t> left = Unsorted();
    if (!left.empty()) NameCycle(left);
  }

  void NumberNodes() {
    first_.assign(1, 0);
    for (uint32_t rank = 0; rank < graph_.ranks(); ++rank) {
      first_.push_back(first_.back() + static_cast<uint32_t>(graph_.OpsOf(rank).size()));
    }
    befores_.assign(size_t{2} * first_.back() + graph_.collectives().size(), {});
  }

  uint32_t StartOf(uint32_t rank, uint32_t op) const { return 2 * (first_[rank] + op); }
  uint32_t FinishOf(uint32_t rank, uint32_t op) const { return StartOf(rank, op) + 1; }

  void AddEdge(uint32_t before, uint32_t after) { befores_[after].push_back(before); }

  void AddEdgesOf(uint32_t rank) {
    const auto ops = graph_.OpsOf(rank);
    for (uint32_t op = 0; op < ops.size(); ++op) {
      AddEdge(StartOf(rank, op), FinishOf(rank, op));
      if (ops[op].kind != Kind::kCollective) continue;
      const uint32_t hub = 2 * first_.back() + ops[op].collective;
      AddEdge(StartOf(rank, op), hub);
      AddEdge(hub, FinishOf(rank, op));
    }
    for (const OperationGraph::Edge& edge : graph_.EdgesOf(rank)) {
      // An operation that needs only some of those before it may start in spite of a cycle.
      if (ops[edge.after].needs != Operation::kNeedsAll) continue;
      AddEdge(edge.at_start ? StartOf(rank, edge.before) : FinishOf(rank, edge.before),
              StartOf(rank, edge.after));
    }
    for (const OperationGraph::FarEdge& edge : graph_.FarEdgesOf(rank)) {
      if (ops[edge.after].needs != Operation::kNeedsAll) continue;
      AddEdge(FinishOf(edge.rank, edge.before), StartOf(rank, edge.after));
    }
  }

  // Kahn's algorithm: returns by node how many nodes before it could not be sorted; empty if all
  // could.
  std::vector<uint32_t> Unsorted() const {
    std::vector<std::vector<uint32_t>> afters(befores_.size());
    std::vector<uint32_t> left(befores_.size());
    std::vector<uint32_t> free;
    for (uint32_t node = 0; node < befores_.size(); ++node) {
      left[node] = static_cast<uint32_t>(befores_[node].size());
      for (const uint32_t before : befores_[node]) afters[before].push_back(node);
      if (left[node] == 0) free.push_back(node);
    }
    size_t sorted = 0;
    while (!free.empty()) {
      const uint32_t node = free.back();
      free.pop_back();
      ++sorted;
      for (const uint32_t after : afters[node]) {
        if (--left[after] == 0) free.push_back(after);
      }
    }
    if (sorted == befores_.size()) left.clear();
    return left;
  }

  // Walks from a node that is left to one before it that is left, until a node comes again.
  void NameCycle(const std::vector<uint32_t>& left) {
    std::vector<uint32_t> path;
    std::vector<uint32_t> seen_at(left.size(), 0);
    uint32_t node = static_cast<uint32_t>(
        std::ranges::find_if(left, [](uint32_t n) { return n > 0; }) - left.begin());
    while (seen_at[node] == 0) {
      path.push_back(node);
      seen_at[node] = static_cast<uint32_t>(path.size());
      node = *std::ranges::find_if(befores_[node], [&](uint32_t n) { return left[n] > 0; });
    }
    path.erase(path.begin(), path.begin() + seen_at[node] - 1);
    NameOperations(path);
  }

  // `path` leads from an operation to one before it. A message leads from a rank to another one, so
  // names are in the order in which operations would run.
  void NameOperations(const std::vector<uint32_t>& path) {
    std::vector<std::pair<uint32_t, uint32_t>> ops;  // Rank, operation.
    for (auto node = path.rbegin(); node != path.rend(); ++node) {
      if (*node >= 2 * first_.back()) continue;
      const auto after = std::ranges::upper_bound(first_, *node / 2);
      const auto rank = static_cast<uint32_t>(after - first_.begin() - 1);
      const std::pair op(rank, *node / 2 - first_[rank]);
      if (ops.empty() || ops.back() != op) ops.push_back(op);
    }
    if (ops.size() > 1 && ops.front() == ops.back()) ops.pop_back();
    std::ranges::rotate(ops, std::ranges::min_element(ops));
    std::vector<std::string> names;
    for (const auto& [rank, op] : std::span(ops).first(std::min(ops.size(), kMostNames))) {
      names.push_back(NameOf(rank, op));
    }
    if (ops.size() > kMostNames) names.push_back("...");
    names.push_back(names.front());
    Fail(ops.front().first, ops.front().second,
         fmt::format("operations wait for each other: {}", fmt::join(names, " -> ")));
  }

  const OperationGraph& graph_;
  const size_t most_;
  const OperationName name_;
  std::vector<GraphProblem> problems_;
  std::vector<uint32_t> first_;                 // By rank: the operations of all ranks below.
  std::vector<std::vector<uint32_t>> befores_;  // By node.
};

}  // namespace

std::vector<Match> MatchMessages(const OperationGraph& graph) {
  std::vector<Match> matches;
  ForEachKey(EndsOf(graph), [&](std::span<const End> sends, std::span<const End> receives) {
    for (size_t i = 0; i < std::min(sends.size(), receives.size()); ++i) {
      matches.push_back({sends[i].rank, sends[i].op, receives[i].rank, receives[i].op});
    }
  });
  return matches;
}

std::vector<GraphProblem> GraphProblems(const OperationGraph& graph, size_t most,
                                        OperationName name) {
  return Checker(graph, most, std::move(name)).Problems();
}

}  // namespace heddle
