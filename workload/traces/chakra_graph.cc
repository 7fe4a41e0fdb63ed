// SPDX-License-Identifier: Apache-2.0

#include "workload/traces/chakra_graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <string_view>

#include "settings/utf8.h"
#include "workload/jobs/collective.h"
#include "workload/jobs/scaled.h"
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

// Operations are labelled "node7".
constexpr std::string_view kNodeLabel = "node";

constexpr std::string_view kCommTypes[] = {
    "all-reduce", "reduce",         "all-gather",           "gather", "scatter", "broadcast",
    "all-to-all", "reduce-scatter", "reduce-scatter block", "barrier"};

std::optional<CollectiveSettings::Op> OpOf(int64_t comm_type) {
  using enum CollectiveSettings::Op;
  switch (comm_type) {
    case 0:
      return kAllReduce;
    case 2:
      return kAllGather;
    case 5:
      return kBroadcast;
    case 6:
      return kAllToAll;
    case 7:
      return kReduceScatter;
    case 9:
      return kBarrier;
    default:
      return std::nullopt;
  }
}

// "node 7: ...", or "node 7 (embedding): ...".
void FailNode(const ChakraNode& node, FileErrors& errors, std::string_view message) {
  constexpr size_t kMostLetters = 60;
  std::string_view name = std::string_view(node.name).substr(0, kMostLetters);
  name = name.substr(0, ValidUtf8(name));
  const std::string in_brackets = name.empty() ? std::string() : fmt::format(" ({})", name);
  errors.Add(node.line, fmt::format("node {}{}: {}", node.id, in_brackets, message));
}

}  // namespace

ChakraBuilder::ChakraBuilder(ChakraSettings settings, uint32_t ranks)
    : settings_(std::move(settings)), graph_(ranks), all_(ranks) {
  std::iota(all_.begin(), all_.end(), 0);
}

void ChakraBuilder::AddRank(uint32_t rank, const std::vector<ChakraNode>& nodes,
                            FileErrors& errors) {
  declared_.clear();
  for (const ChakraNode& node : nodes) {
    if (node.type == kMetadataNode) AddDeclaredGroups(node, graph_.ranks(), declared_, errors);
    if (node.type == kInvalidNode) ++ignored_.invalid_nodes;
    if (!node.ctrl_deps.empty() && !settings_.has_ctrl_deps) ignored_.has_ctrl_deps = true;
  }
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
    graph_.At(rank, *op).label = fmt::format("{}{}", kNodeLabel, node.id);
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
                                           FileErrors& errors) {
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
                                                  FileErrors& errors) {
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
                                                     FileErrors& errors) {
  const int64_t type = node.comm_type.value_or(-1);
  const std::optional<CollectiveSettings::Op> op = OpOf(type);
  if (!op) {
    const bool is_known = type >= 0 && type < std::ssize(kCommTypes);
    FailNode(node, errors,
             is_known ? fmt::format("{} is not modelled", kCommTypes[type])
                      : std::string("has no known comm_type"));
    return std::nullopt;
  }
  constexpr int64_t kMostBytes = int64_t{1} << 42;
  if (!node.comm_size && *op != CollectiveSettings::Op::kBarrier) {
    FailNode(node, errors, "has no comm_size, the bytes of the collective");
    return std::nullopt;
  }
  const int64_t size = node.comm_size.value_or(0);
  if (size < 0 || size > kMostBytes) {
    FailNode(node, errors,
             fmt::format("has a comm_size of {}; expected 0 to {}", size, kMostBytes));
    return std::nullopt;
  }
  const std::vector<uint32_t>* group = GroupOf(rank, node, errors);
  if (group == nullptr) return std::nullopt;
  if (group->size() == 1) return graph_.AddCompute(rank, Duration{0}, kNoStream);
  return Join(rank, node, *group, errors);
}

const std::vector<uint32_t>* ChakraBuilder::GroupOf(uint32_t rank, const ChakraNode& node,
                                                    FileErrors& errors) const {
  const std::vector<uint32_t>* group = nullptr;
  for (const ChakraGroups* groups : {&settings_.groups, &declared_}) {
    const auto found = groups->find(node.pg_name);
    if (found == groups->end()) continue;
    group = found->second.empty() ? &all_ : &found->second;
    break;
  }
  const bool is_all = node.pg_name.empty() || node.pg_name == "0";
  if (group == nullptr && is_all) group = &all_;
  if (group == nullptr) {
    FailNode(node, errors,
             fmt::format("there is no group {} in comm_groups, nor in the trace", node.pg_name));
  } else if (std::ranges::find(*group, rank) == group->end()) {
    FailNode(node, errors, fmt::format("rank {} is not in group {}", rank, node.pg_name));
    group = nullptr;
  }
  return group;
}

// The i-th collective of a group at each of its ranks is the same one.
std::optional<uint32_t> ChakraBuilder::Join(uint32_t rank, const ChakraNode& node,
                                            const std::vector<uint32_t>& group,
                                            FileErrors& errors) {
  const std::string name = node.pg_name.empty() ? "0" : node.pg_name;
  const uint32_t number =
      group_numbers_.try_emplace({name, group}, static_cast<uint32_t>(group_numbers_.size()))
          .first->second;
  const uint32_t turn = turns_[{number, rank}]++;
  const int64_t size = node.comm_size.value_or(0);
  const auto [found, is_new] =
      started_.try_emplace({number, turn}, Collective{0, *node.comm_type, size});
  Collective& its = found->second;
  if (is_new) {
    const Made* made = Make(node, size, static_cast<uint32_t>(group.size()), errors);
    if (made == nullptr) return std::nullopt;
    its.number = graph_.AddCollective({.schedule = made->schedule,
                                       .group = group,
                                       .channel = 0,
                                       .label = fmt::format("{}{}", kNodeLabel, node.id),
                                       .operation = made->operation,
                                       .group_name = name,
                                       .turn = turn});
  } else if (its.type != *node.comm_type || its.size != size) {
    FailNode(node, errors,
             fmt::format("is {} of {} bytes; the first rank of its group has {} of {}",
                         kCommTypes[*node.comm_type], size, kCommTypes[its.type], its.size));
    return std::nullopt;
  }
  return graph_.AddPart(rank, its.number, stream(kCommStream));
}

const ChakraBuilder::Made* ChakraBuilder::Make(const ChakraNode& node, int64_t size, uint32_t ranks,
                                               FileErrors& errors) {
  Made& made = made_[{*node.comm_type, size, ranks}];
  if (made.schedule != nullptr) return &made;
  CollectiveSettings settings;
  settings.op = *OpOf(*node.comm_type);
  settings.algorithm = settings_.algorithms.Of(settings.op);
  const bool is_share = settings.op == CollectiveSettings::Op::kAllGather;
  const int64_t scaled = std::max<int64_t>(ScaledBytes(size, settings_.scale), 1);
  settings.size = Bytes{scaled * (is_share ? ranks : 1)};
  bool is_sound = true;
  settings.Check(ranks, [&](std::string_view key, const std::string& message) {
    is_sound = false;
    FailNode(node, errors,
             key == "window" ? fmt::format("is among {} ranks; direct sends to all of them at "
                                           "once; set algorithms: {{all_to_all: shift}}",
                                           ranks)
                             : message);
  });
  if (!is_sound) return nullptr;
  made = {settings.Make(ranks, /*seed=*/1, /*job=*/0), settings.Operation(ranks)};
  return &made;
}

std::string NodeNameOf(const OperationGraph& graph, uint32_t rank, uint32_t op) {
  return fmt::format("node {} of rank {}", graph.At(rank, op).label.substr(kNodeLabel.size()),
                     rank);
}

// --- What is ignored ---

namespace {

std::string JoinFirst(const std::set<std::string, std::less<>>& names) {
  constexpr size_t kMostNamed = 16;
  std::vector<std::string> first;
  for (const std::string& name : names) {
    if (first.size() == kMostNamed) break;
    first.push_back(name);
  }
  return fmt::format("{}{}", fmt::join(first, ", "), names.size() > kMostNamed ? ", ..." : "");
}

}  // namespace

std::string ChakraIgnored::Text() const {
  std::vector<std::string> parts;
  if (!fields.empty()) parts.push_back(JoinFirst(fields));
  if (!attributes.empty()) parts.push_back("attributes " + JoinFirst(attributes));
  if (has_ctrl_deps) parts.push_back("ctrl_deps (set ctrl_deps: true to follow them)");
  if (invalid_nodes > 0) {
    parts.push_back(fmt::format("{} invalid nodes, which finish at once", invalid_nodes));
  }
  return parts.empty() ? std::string() : fmt::format("ignored: {}", fmt::join(parts, "; "));
}

}  // namespace heddle
