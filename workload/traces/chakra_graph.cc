// SPDX-License-Identifier: Apache-2.0

#include "workload/traces/chakra_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <string_view>

#include "workload/jobs/collective.h"
#include "workload/traces/goal_builder.h"

namespace heddle {
namespace {

enum ChakraType : int64_t {
  kInvalidNode,
  kMetadataNode,
  kMemLoadNode,
  kMemStoreNode,
  kComputeNode,
  kSendNode,
  kRecvNode,
  kCollectiveNode
};

// Streams of a rank, if they are limited.
constexpr uint32_t kGpuStream = 0;
constexpr uint32_t kCpuStream = 1;
constexpr uint32_t kCommStream = 2;

constexpr std::string_view kCommTypes[] = {
    "all-reduce", "reduce",         "all-gather",           "gather", "scatter", "broadcast",
    "all-to-all", "reduce-scatter", "reduce-scatter block", "barrier"};

std::optional<CollectiveSettings::Op> OpOf(int64_t comm_type) {
  using Op = CollectiveSettings::Op;
  switch (comm_type) {
    case 0:
      return Op::kAllReduce;
    case 2:
      return Op::kAllGather;
    case 5:
      return Op::kBroadcast;
    case 6:
      return Op::kAllToAll;
    case 7:
      return Op::kReduceScatter;
    case 9:
      return Op::kBarrier;
    default:
      return std::nullopt;
  }
}

// "node 7: ...".
void FailNode(const ChakraNode& node, TraceErrors& errors, std::string_view message) {
  errors.Add(node.line, fmt::format("node {}: {}", node.id, message));
}

}  // namespace

ChakraBuilder::ChakraBuilder(ChakraSettings settings, uint32_t ranks)
    : settings_(std::move(settings)), graph_(ranks), all_(ranks) {
  std::iota(all_.begin(), all_.end(), 0);
}

void ChakraBuilder::AddRank(uint32_t rank, const std::vector<ChakraNode>& nodes,
                            TraceErrors& errors) {
  std::map<uint64_t, uint32_t> op_of;  // By id.
  for (const ChakraNode& node : nodes) {
    if (errors.full()) return;
    if (op_of.contains(node.id)) {
      FailNode(node, errors, "has the id of another node");
      continue;
    }
    const auto op = Add(rank, node, errors);
    if (!op) continue;
    op_of.emplace(node.id, *op);
    graph_.At(rank, *op).label = fmt::format("node{}", node.id);
    graph_.At(rank, *op).line = node.line;
  }
  if (errors.any()) return;
  for (const ChakraNode& node : nodes) {
    std::vector<uint64_t> befores = node.data_deps;
    if (settings_.has_ctrl_deps) {
      befores.insert(befores.end(), node.ctrl_deps.begin(), node.ctrl_deps.end());
    }
    for (const uint64_t before : befores) {
      const auto found = op_of.find(before);
      if (found == op_of.end()) {
        FailNode(node, errors, fmt::format("depends on node {}, which does not exist", before));
      } else {
        graph_.Require(rank, op_of.at(node.id), found->second);
      }
      if (errors.full()) return;
    }
  }
}

std::optional<uint32_t> ChakraBuilder::Add(uint32_t rank, const ChakraNode& node,
                                           TraceErrors& errors) {
  switch (node.type) {
    case kInvalidNode:
    case kMetadataNode:
      return graph_.AddCompute(rank, Duration{0}, kNoStream);
    case kMemLoadNode:
    case kMemStoreNode:
      if (settings_.ignores_memory) return graph_.AddCompute(rank, Duration{0}, kNoStream);
      FailNode(node, errors, "accesses memory, which is not modelled; set memory: ignore");
      return std::nullopt;
    case kComputeNode:
      if (node.duration <= kLongestCalc) return Computation(rank, node);
      FailNode(node, errors, "takes longer than 1000 s");
      return std::nullopt;
    case kSendNode:
    case kRecvNode:
      return AddMessage(rank, node, errors);
    case kCollectiveNode:
      return AddCollective(rank, node, errors);
    default:
      FailNode(node, errors, fmt::format("is of unknown type {}", node.type));
      return std::nullopt;
  }
}

uint32_t ChakraBuilder::Computation(uint32_t rank, const ChakraNode& node) {
  return graph_.AddCompute(rank, node.duration, stream(node.is_cpu_op ? kCpuStream : kGpuStream));
}

std::optional<uint32_t> ChakraBuilder::AddMessage(uint32_t rank, const ChakraNode& node,
                                                  TraceErrors& errors) {
  const bool is_send = node.type == kSendNode;
  const std::optional<int64_t>& peer = is_send ? node.comm_dst : node.comm_src;
  if (!peer || *peer < 0 || *peer >= int64_t{graph_.ranks()}) {
    FailNode(node, errors,
             fmt::format("{} is no rank of {}", is_send ? "comm_dst" : "comm_src", graph_.ranks()));
    return std::nullopt;
  }
  if (!node.comm_size || *node.comm_size < 0) {
    FailNode(node, errors, "has no comm_size from 0 on");
    return std::nullopt;
  }
  if (node.comm_tag < 0) {
    FailNode(node, errors, "has a comm_tag below 0");
    return std::nullopt;
  }
  const uint32_t other = static_cast<uint32_t>(*peer);
  if (!is_send) return graph_.AddReceive(rank, other, *node.comm_size, node.comm_tag);
  const uint32_t send = graph_.AddSend(rank, other, *node.comm_size, node.comm_tag);
  graph_.At(rank, send).stream = stream(kCommStream);
  return send;
}

std::optional<uint32_t> ChakraBuilder::AddCollective(uint32_t rank, const ChakraNode& node,
                                                     TraceErrors& errors) {
  const int64_t type = node.comm_type.value_or(-1);
  if (!OpOf(type)) {
    const bool is_known = type >= 0 && type < std::ssize(kCommTypes);
    FailNode(node, errors,
             is_known ? fmt::format("{} is not modelled", kCommTypes[type])
                      : std::string("has no known comm_type"));
    return std::nullopt;
  }
  constexpr int64_t kMostBytes = int64_t{1} << 50;
  const int64_t size = node.comm_size.value_or(0);
  if (size < 0 || size > kMostBytes) {
    FailNode(node, errors, fmt::format("has a comm_size of {}", size));
    return std::nullopt;
  }
  const bool is_all = node.pg_name.empty() || node.pg_name == "0";
  const auto named = settings_.groups.find(node.pg_name);
  if (!is_all && named == settings_.groups.end()) {
    FailNode(node, errors, fmt::format("there is no group {} in comm_groups", node.pg_name));
    return std::nullopt;
  }
  const std::vector<uint32_t>& group = named == settings_.groups.end() ? all_ : named->second;
  if (std::ranges::find(group, rank) == group.end()) {
    FailNode(node, errors, fmt::format("rank {} is not in group {}", rank, node.pg_name));
    return std::nullopt;
  }
  if (group.size() == 1) return graph_.AddCompute(rank, Duration{0}, kNoStream);
  return Join(rank, node, group, errors);
}

// The i-th collective of a group at each of its ranks is the same one.
std::optional<uint32_t> ChakraBuilder::Join(uint32_t rank, const ChakraNode& node,
                                            const std::vector<uint32_t>& group,
                                            TraceErrors& errors) {
  const uint32_t turn = turns_[{node.pg_name, rank}]++;
  const int64_t size = node.comm_size.value_or(0);
  const auto [found, is_new] =
      started_.try_emplace({node.pg_name, turn}, Collective{0, *node.comm_type, size});
  Collective& its = found->second;
  if (is_new) {
    const auto ranks = static_cast<uint32_t>(group.size());
    its.number = graph_.AddCollective(
        {ScheduleOf(its.type, size, ranks), group, 0, fmt::format("node{}", node.id)});
  } else if (its.type != *node.comm_type || its.size != size) {
    FailNode(node, errors,
             fmt::format("is {} of {} bytes; the first rank of its group has {} of {}",
                         kCommTypes[*node.comm_type], size, kCommTypes[its.type], its.size));
    return std::nullopt;
  }
  return graph_.AddPart(rank, its.number, stream(kCommStream));
}

std::shared_ptr<const Schedule> ChakraBuilder::ScheduleOf(int64_t type, int64_t size,
                                                          uint32_t ranks) {
  std::shared_ptr<const Schedule>& schedule = schedules_[{type, size, ranks}];
  if (schedule != nullptr) return schedule;
  CollectiveSettings settings;
  settings.op = *OpOf(type);
  const bool is_share = settings.op == CollectiveSettings::Op::kAllGather;
  settings.size = Bytes{std::max<int64_t>(size, 1) * (is_share ? ranks : 1)};
  return schedule = settings.Make(ranks, /*seed=*/1, /*job=*/0);
}

}  // namespace heddle
