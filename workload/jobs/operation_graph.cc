// SPDX-License-Identifier: Apache-2.0

#include "workload/jobs/operation_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace heddle {

uint32_t OperationGraph::Add(uint32_t rank, Operation operation) {
  ops_[rank].push_back(std::move(operation));
  return static_cast<uint32_t>(ops_[rank].size() - 1);
}

uint32_t OperationGraph::AddSend(uint32_t rank, uint32_t to, int64_t bytes, int64_t tag) {
  Operation send;
  send.kind = Operation::Kind::kSend;
  send.peer = to;
  send.bytes = bytes;
  send.tag = tag;
  return Add(rank, std::move(send));
}

uint32_t OperationGraph::AddReceive(uint32_t rank, uint32_t from, int64_t bytes, int64_t tag) {
  Operation receive;
  receive.kind = Operation::Kind::kReceive;
  receive.peer = from;
  receive.bytes = bytes;
  receive.tag = tag;
  return Add(rank, std::move(receive));
}

uint32_t OperationGraph::AddCompute(uint32_t rank, Duration time, uint32_t stream) {
  Operation compute;
  compute.kind = Operation::Kind::kCompute;
  compute.time = time;
  compute.stream = stream;
  return Add(rank, std::move(compute));
}

uint32_t OperationGraph::AddCollective(Collective collective) {
  collectives_.push_back(std::move(collective));
  return static_cast<uint32_t>(collectives_.size() - 1);
}

uint32_t OperationGraph::AddPart(uint32_t rank, uint32_t collective, uint32_t stream) {
  Operation part;
  part.kind = Operation::Kind::kCollective;
  part.collective = collective;
  part.stream = stream;
  part.label = collectives_[collective].label;
  return Add(rank, std::move(part));
}

bool OperationGraph::HasWildcards(uint32_t rank) const {
  return std::ranges::any_of(ops_[rank], [](const Operation& op) {
    return op.kind == Operation::Kind::kReceive && (op.peer == kAnyRank || op.tag == kAnyTag);
  });
}

std::string OperationGraph::LabelOf(uint32_t rank, uint32_t op) const {
  const std::string& label = ops_[rank][op].label;
  return label.empty() ? fmt::format("op{}", op) : label;
}

std::string OperationGraph::NameOf(uint32_t rank, uint32_t op) const {
  return fmt::format("{}:{}", rank, LabelOf(rank, op));
}

std::string_view WordOf(Operation::Kind kind) {
  switch (kind) {
    case Operation::Kind::kSend:
      return "send";
    case Operation::Kind::kReceive:
      return "recv";
    case Operation::Kind::kCompute:
      return "compute";
    case Operation::Kind::kCollective:
      return "collective";
  }
  return "";
}

}  // namespace heddle
