// SPDX-License-Identifier: Apache-2.0

#include "workload/jobs/graph_tables.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <tuple>

#include "core/check.h"
#include "workload/jobs/graph_check.h"

namespace heddle {

GraphTables::GraphTables(const OperationGraph& graph)
    : graph_(graph), first_op_(1, 0), incoming_(graph.ranks(), 0), arrivals_(graph.ranks(), 0) {
  for (uint32_t rank = 0; rank < graph.ranks(); ++rank) {
    first_op_.push_back(first_op_.back() + graph.OpsOf(rank).size());
  }
  NumberSends();
  NumberCollectives();
  SumUp();
  after_finish_ = ListsOf(/*at_start=*/false);
  after_start_ = ListsOf(/*at_start=*/true);
  const bool has_far = std::ranges::any_of(std::views::iota(0u, graph.ranks()), [&](uint32_t rank) {
    return !graph.FarEdgesOf(rank).empty();
  });
  if (has_far) far_after_ = FarLists();
  CountWaits();
  CountStreams();
}

void GraphTables::NumberSends() {
  slot_of_.assign(first_op_.back(), 0);
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint32_t> turns;  // By connection.
  for (uint32_t rank = 0; rank < graph_.ranks(); ++rank) {
    const auto ops = graph_.OpsOf(rank);
    uint64_t parts = 0;
    for (uint32_t op = 0; op < ops.size(); ++op) {
      const Operation& its = ops[op];
      if (its.kind == Operation::Kind::kCollective) slot_of_[first_op_[rank] + op] = parts++;
      if (its.kind != Operation::Kind::kSend) continue;
      slot_of_[first_op_[rank] + op] = sends_.size();
      sends_.push_back({.rank = rank,
                        .op = op,
                        .receive = 0,
                        .ordinal = static_cast<uint32_t>(incoming_[its.peer]++),
                        .turn = turns[{rank, its.peer, its.channel}]++,
                        .dst_nic = kUnnamedNic});
      names_nics_ |= its.nic != kUnnamedNic;
    }
  }
  arrivals_ = incoming_;
  for (const Match& match : MatchMessages(graph_)) {
    Send& send = sends_[SlotOf(match.src, match.send)];
    send.receive = match.receive;
    send.dst_nic = graph_.At(match.dst, match.receive).nic;
  }
}

void GraphTables::NumberCollectives() {
  first_slot_.assign(1, sends_.size());
  std::map<uint32_t, uint32_t> turns;
  for (const OperationGraph::Collective& collective : graph_.collectives()) {
    const Schedule& schedule = *collective.schedule;
    first_slot_.push_back(first_slot_.back() + schedule.slots());
    turn_of_collective_.push_back(turns[collective.group.front()]++);
    std::vector<uint64_t>& first = first_ordinal_.emplace_back();
    for (uint32_t local = 0; local < collective.group.size(); ++local) {
      const uint32_t rank = collective.group[local];
      first.push_back(incoming_[rank]);
      incoming_[rank] += schedule.IncomingOf(local);
      arrivals_[rank] += schedule.ArrivalsAt(local);
    }
  }
}

void GraphTables::SumUp() {
  std::vector<double> bytes_of_rank(graph_.ranks(), 0);
  for (const Send& send : sends_) {
    const Operation& its = graph_.At(send.rank, send.op);
    totals_.Add(its.bytes, 1, bytes_of_rank[send.rank]);
    waits_for_sends_ |= !its.posted;
  }
  SumUpCollectives(bytes_of_rank);
}

void GraphTables::SumUpCollectives(std::vector<double>& bytes_of_rank) {
  for (const OperationGraph::Collective& collective : graph_.collectives()) {
    const ScheduleTotals its = collective.schedule->Totals();
    totals_.messages += its.messages;
    totals_.bytes += its.bytes;
    totals_.largest = std::max(totals_.largest, its.largest);
    for (const uint32_t rank : collective.group) bytes_of_rank[rank] += its.bytes_of_rank;
    waits_for_sends_ |= collective.schedule->waits_for_sends();
  }
  for (const double bytes : bytes_of_rank) {
    totals_.bytes_of_rank = std::max(totals_.bytes_of_rank, bytes);
  }
}

template <class T, class ForEach>
GraphTables::Lists<T> GraphTables::MakeLists(const ForEach& for_each) const {
  Lists<T> lists{std::vector<uint64_t>(first_op_.back() + 1, 0), {}};
  for_each([&](uint64_t before, T /*after*/) { ++lists.first[before + 1]; });
  for (size_t i = 1; i < lists.first.size(); ++i) lists.first[i] += lists.first[i - 1];
  lists.items.resize(lists.first.back());
  std::vector<uint64_t> next(lists.first.begin(), lists.first.end() - 1);
  for_each([&](uint64_t before, T after) { lists.items[next[before]++] = after; });
  for (size_t i = 0; i + 1 < lists.first.size(); ++i) {
    std::sort(lists.items.begin() + static_cast<int64_t>(lists.first[i]),
              lists.items.begin() + static_cast<int64_t>(lists.first[i + 1]));
  }
  return lists;
}

GraphTables::Lists<uint32_t> GraphTables::ListsOf(bool at_start) const {
  return MakeLists<uint32_t>([&](const auto& visit) {
    for (uint32_t rank = 0; rank < graph_.ranks(); ++rank) {
      for (const OperationGraph::Edge& edge : graph_.EdgesOf(rank)) {
        if (edge.at_start == at_start) visit(first_op_[rank] + edge.before, edge.after);
      }
    }
  });
}

GraphTables::Lists<GraphTables::Far> GraphTables::FarLists() const {
  return MakeLists<Far>([&](const auto& visit) {
    for (uint32_t rank = 0; rank < graph_.ranks(); ++rank) {
      for (const OperationGraph::FarEdge& edge : graph_.FarEdgesOf(rank)) {
        visit(first_op_[edge.rank] + edge.before, Far{rank, edge.after});
      }
    }
  });
}

void GraphTables::CountWaits() {
  waits_.assign(first_op_.back(), 0);
  for (uint32_t rank = 0; rank < graph_.ranks(); ++rank) {
    for (const OperationGraph::Edge& edge : graph_.EdgesOf(rank)) {
      ++waits_[first_op_[rank] + edge.after];
    }
    for (const OperationGraph::FarEdge& edge : graph_.FarEdgesOf(rank)) {
      ++waits_[first_op_[rank] + edge.after];
    }
    const auto ops = graph_.OpsOf(rank);
    for (uint32_t op = 0; op < ops.size(); ++op) {
      uint32_t& waits = waits_[first_op_[rank] + op];
      waits = std::min(waits, ops[op].needs);
    }
  }
}

void GraphTables::CountStreams() {
  for (uint32_t rank = 0; rank < graph_.ranks(); ++rank) {
    for (const Operation& op : graph_.OpsOf(rank)) {
      if (op.stream != kNoStream) streams_ = std::max(streams_, op.stream + 1);
    }
  }
}

// --- Look-up ---

Message GraphTables::MessageOf(uint64_t slot) const {
  if (!IsOfCollective(slot)) {
    const Send& send = sends_[slot];
    const Operation& its = OperationOf(slot);
    return {.src = send.rank,
            .dst = its.peer,
            .bytes = its.bytes,
            .channel = its.channel,
            .step = send.op,
            .turn = send.turn,
            .src_nic = its.nic,
            .dst_nic = send.dst_nic};
  }
  const uint32_t number = CollectiveOf(slot);
  const OperationGraph::Collective& collective = graph_.collectives()[number];
  Message message = collective.schedule->MessageOf(slot - first_slot_[number]);
  message.src = collective.group[message.src];
  message.dst = collective.group[message.dst];
  message.channel += collective.channel;
  message.turn += turn_of_collective_[number];
  return message;
}

uint64_t GraphTables::OrdinalOf(uint64_t slot) const {
  if (!IsOfCollective(slot)) return sends_[slot].ordinal;
  const uint32_t number = CollectiveOf(slot);
  const Schedule& schedule = *graph_.collectives()[number].schedule;
  const uint64_t index = slot - first_slot_[number];
  return first_ordinal_[number][schedule.MessageOf(index).dst] + schedule.OrdinalOf(index);
}

uint32_t GraphTables::CollectiveOf(uint64_t slot) const {
  const auto next = std::ranges::upper_bound(first_slot_, slot);
  return static_cast<uint32_t>(next - first_slot_.begin() - 1);
}

std::vector<uint32_t> GraphTables::PartsAt(uint32_t rank) const {
  std::vector<uint32_t> collectives;
  for (const Operation& op : graph_.OpsOf(rank)) {
    if (op.kind == Operation::Kind::kCollective) collectives.push_back(op.collective);
  }
  return collectives;
}

uint32_t GraphTables::LocalRankOf(uint32_t collective, uint32_t rank) const {
  const std::vector<uint32_t>& group = graph_.collectives()[collective].group;
  const auto found = std::ranges::find(group, rank);
  HEDDLE_CHECK(found != group.end(), "rank {} takes no part in collective {}", rank, collective);
  return static_cast<uint32_t>(found - group.begin());
}

}  // namespace heddle
