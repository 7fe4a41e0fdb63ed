// SPDX-License-Identifier: Apache-2.0

#include "workload/traces/goal_builder.h"

#include <absl/numeric/int128.h>

#include <optional>
#include <utility>

namespace heddle {
namespace {

constexpr uint32_t kFirstNicStream = 256;  // Behind the 256 CPUs of a rank.

// A product that is cut off at a little more than the longest computation.
Duration Scaled(Duration unit, int64_t count) {
  const absl::int128 ps = absl::int128(unit.ps) * count;
  const absl::int128 most = absl::int128(kLongestCalc.ps) + 1;
  return Duration{static_cast<int64_t>(ps < most ? ps : most)};
}

}  // namespace

void GoalSettings::Declare(Fields& fields) {
  const Range<Duration> any{.at_least = Duration{0}, .at_most = 1_s};
  fields.Add("calc_unit", calc_unit, {.at_least = Duration{1}, .at_most = 1_s},
             "The unit of calc.");
  fields.Add("o", o, any, "The CPU time of each send and each receive.");
  fields.Add("O", O, any, "More of it for each byte beyond the first.");
  fields.Add("g", g, any, "The least time between the starts of two sends of a nic.");
  fields.Add("S", S, AtLeast(Bytes{0}),
             "Sends of at most so many bytes are finished when they have started, larger ones as "
             "send_done says.");
}

Duration GoalBuilder::OverheadOf(int64_t bytes) const {
  const Duration more = Scaled(settings_.O, bytes > 1 ? bytes - 1 : 0);
  return settings_.o + more;
}

bool GoalBuilder::Add(uint32_t rank, const Statement& statement) {
  const bool is_calc = statement.kind == Operation::Kind::kCompute;
  const Duration time =
      is_calc ? Scaled(settings_.calc_unit, statement.amount) : OverheadOf(statement.amount);
  if (time > kLongestCalc) return false;
  Span span{};
  if (is_calc) {
    const uint32_t calc = graph_.AddCompute(rank, time, statement.cpu);
    span = {calc, calc};
  } else if (statement.kind == Operation::Kind::kSend) {
    span = AddSend(rank, statement, time);
  } else {
    span = AddReceive(rank, statement, time);
  }
  for (uint32_t op = span.first; op <= span.last; ++op) {
    graph_.At(rank, op).label = statement.label;
    graph_.At(rank, op).line = statement.line;
  }
  spans_[rank].push_back(span);
  return true;
}

GoalBuilder::Span GoalBuilder::AddSend(uint32_t rank, const Statement& statement,
                                       Duration overhead) {
  std::optional<uint32_t> before;
  std::optional<uint32_t> gap;
  if (overhead > Duration{0}) before = graph_.AddCompute(rank, overhead, statement.cpu);
  if (settings_.g > Duration{0}) {
    gap = graph_.AddCompute(rank, settings_.g, kFirstNicStream + statement.nic);
    if (before) graph_.Require(rank, *gap, *before);
  }
  const uint32_t send = graph_.AddSend(rank, statement.peer, statement.amount, statement.tag);
  graph_.At(rank, send).channel = statement.nic;
  SetNic(graph_.At(rank, send), statement.nic);
  graph_.At(rank, send).posted = statement.amount <= settings_.S.count;
  if (before) graph_.Require(rank, send, *before);
  if (gap) graph_.RequireStart(rank, send, *gap);
  return {before ? *before : gap.value_or(send), send};
}

GoalBuilder::Span GoalBuilder::AddReceive(uint32_t rank, const Statement& statement,
                                          Duration overhead) {
  const uint32_t receive = graph_.AddReceive(rank, statement.peer, statement.amount, statement.tag);
  SetNic(graph_.At(rank, receive), statement.nic);
  if (overhead == Duration{0}) return {receive, receive};
  const uint32_t after = graph_.AddCompute(rank, overhead, statement.cpu);
  graph_.Require(rank, after, receive);
  return {receive, after};
}

void GoalBuilder::SetNic(Operation& operation, uint32_t nic) {
  operation.nic = static_cast<uint16_t>(nic);
  names_nics_ |= nic > 0;
}

// The format's default is nic 0. A trace without any other nic does not mean that all its messages
// share one link of a host with several, so it names none.
OperationGraph GoalBuilder::Take() {
  for (uint32_t rank = 0; rank < graph_.ranks() && !names_nics_; ++rank) {
    for (uint32_t op = 0; op < graph_.OpsOf(rank).size(); ++op) {
      graph_.At(rank, op).nic = kUnnamedNic;
    }
  }
  return std::move(graph_);
}

void GoalBuilder::Require(uint32_t rank, uint32_t statement, uint32_t before) {
  graph_.Require(rank, spans_[rank][statement].first, spans_[rank][before].last);
}

void GoalBuilder::RequireStart(uint32_t rank, uint32_t statement, uint32_t before) {
  graph_.RequireStart(rank, spans_[rank][statement].first, spans_[rank][before].first);
}

}  // namespace heddle
