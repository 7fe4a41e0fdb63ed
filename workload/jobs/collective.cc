// SPDX-License-Identifier: Apache-2.0

#include "workload/jobs/collective.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "workload/jobs/all_to_all.h"
#include "workload/jobs/blocks.h"
#include "workload/jobs/hierarchical.h"
#include "workload/jobs/rail_all_to_all.h"
#include "workload/jobs/split.h"
#include "workload/jobs/step_algorithms.h"
#include "workload/jobs/traffic_matrix.h"
#include "workload/jobs/tree.h"

namespace heddle {
namespace {

using Op = CollectiveSettings::Op;
using Algorithm = CollectiveSettings::Algorithm;

const Choices<Op>& Ops() {
  static const Choices<Op> ops = {
      {"all_reduce", Op::kAllReduce},         {"all_gather", Op::kAllGather},
      {"reduce_scatter", Op::kReduceScatter}, {"all_to_all", Op::kAllToAll},
      {"broadcast", Op::kBroadcast},          {"barrier", Op::kBarrier}};
  return ops;
}

const Choices<Algorithm>& Algorithms() {
  static const Choices<Algorithm> algorithms = {
      {"auto", Algorithm::kAuto},
      {"ring", Algorithm::kRing},
      {"bidirectional", Algorithm::kBidirectional},
      {"halving_doubling", Algorithm::kHalvingDoubling},
      {"recursive_doubling", Algorithm::kRecursiveDoubling},
      {"tree", Algorithm::kTree},
      {"double_tree", Algorithm::kDoubleTree},
      {"pat", Algorithm::kPat},
      {"bruck", Algorithm::kBruck},
      {"direct", Algorithm::kDirect},
      {"pairwise", Algorithm::kPairwise},
      {"shift", Algorithm::kShift},
      {"binomial", Algorithm::kBinomial},
      {"chain", Algorithm::kChain},
      {"dissemination", Algorithm::kDissemination},
      {"hierarchical", Algorithm::kHierarchical},
      {"rail", Algorithm::kRail}};
  return algorithms;
}

// The algorithms of an operation; the first is the default.
std::vector<Algorithm> AlgorithmsOf(Op op) {
  switch (op) {
    case Op::kAllReduce:
      return {Algorithm::kRing,
              Algorithm::kBidirectional,
              Algorithm::kHalvingDoubling,
              Algorithm::kRecursiveDoubling,
              Algorithm::kTree,
              Algorithm::kDoubleTree,
              Algorithm::kHierarchical};
    case Op::kAllGather:
      return {Algorithm::kRing, Algorithm::kPat, Algorithm::kBruck};
    case Op::kReduceScatter:
      return {Algorithm::kRing, Algorithm::kPat};
    case Op::kAllToAll:
      return {Algorithm::kDirect, Algorithm::kPairwise, Algorithm::kShift, Algorithm::kBruck,
              Algorithm::kRail};
    case Op::kBroadcast:
      return {Algorithm::kBinomial, Algorithm::kChain, Algorithm::kTree};
    case Op::kBarrier:
      return {Algorithm::kDissemination};
  }
  return {};
}

bool IsRing(Algorithm algorithm) {
  return algorithm == Algorithm::kRing || algorithm == Algorithm::kBidirectional;
}
bool IsInServers(Algorithm algorithm) {
  return algorithm == Algorithm::kHierarchical || algorithm == Algorithm::kRail;
}
bool IsTree(Algorithm algorithm) {
  return algorithm == Algorithm::kTree || algorithm == Algorithm::kDoubleTree ||
         algorithm == Algorithm::kChain;
}

bool CanBeSplit(Algorithm algorithm) {
  return !IsTree(algorithm) && !IsInServers(algorithm) && algorithm != Algorithm::kDissemination;
}

// The first `count` numbers that have no common divisor with `ranks`.
std::vector<uint32_t> Coprimes(uint32_t ranks, size_t count) {
  std::vector<uint32_t> found;
  for (uint32_t s = 1; found.size() < count && s < ranks; ++s) {
    if (std::gcd(s, ranks) == 1) found.push_back(s);
  }
  for (size_t i = 0; found.size() < count; ++i) found.push_back(found[i]);
  return found;
}

// Cuts `bytes` into pieces of `most`, the last of which may be shorter.
std::vector<int64_t> Pieces(int64_t bytes, std::optional<int64_t> most) {
  if (!most || bytes <= *most) return {bytes};
  std::vector<int64_t> pieces(static_cast<size_t>(bytes / *most), *most);
  if (bytes % *most > 0) pieces.push_back(bytes % *most);
  return pieces;
}

constexpr uint32_t kUnlimitedWindowUpTo = 256;  // Ranks.

using ErrorAt = CollectiveSettings::ErrorAt;

void CheckUneven(const CollectiveSettings& settings, uint32_t ranks, const ErrorAt& error) {
  const char* key = settings.moe.is_on() ? "moe" : "matrix";
  if (!settings.is_uneven()) return;
  if (settings.chosen() != Algorithm::kDirect) error(key, "goes with algorithm: direct");
  if (settings.size > 0_B) error("size", fmt::format("{} says what ranks send", key));
  if (settings.moe.is_on() && !settings.matrix.empty()) error("matrix", "does not go with moe");
  if (settings.matrix.empty() || settings.traffic == nullptr) return;
  if (settings.traffic->size() != size_t{ranks} * ranks) {
    error("matrix", fmt::format("{} has {} cells; {} ranks need {} rows of as many cells",
                                settings.matrix, settings.traffic->size(), ranks, ranks));
  }
}

void CheckServers(const CollectiveSettings& settings, uint32_t ranks, const ErrorAt& error) {
  const int64_t server = settings.group_size.value_or(1);
  if (server < 2) {
    error("group_size", "each server has one rank; set group_size, domain_hosts or ranks_per_host");
  } else if (server >= ranks || ranks % server != 0) {
    error("group_size",
          fmt::format("{} ranks cannot be in several servers of {} ranks each", ranks, server));
  }
}

// In each step, a rank sends to one other rank and receives from one.
bool Exchanges(Algorithm algorithm) {
  return algorithm == Algorithm::kPairwise || algorithm == Algorithm::kShift;
}

}  // namespace

void CollectiveSettings::Declare(Fields& fields) {
  fields.Choice("op", op, Ops(), "The operation.", Fields::kRequired);
  fields.Add("size", size, {.at_least = 0_B},
             "all_reduce, broadcast: the buffer. all_gather: the whole result. reduce_scatter: the "
             "whole input. all_to_all: the bytes that one rank sends, its own block included.");
  fields.Choice("algorithm", algorithm, Algorithms(),
                "How the ranks perform it. auto: ring; all_to_all: direct; broadcast: binomial, or "
                "chain with preset nccl; barrier: dissemination.");
  fields.AddOr(
      "auto", "channels", channels, Between<int64_t>(1, 256),
      "Equal parts of the buffer that go through the algorithm at once. auto: 1, or as the "
      "preset says.");
  fields.AddOr("none", "chunk", chunk, Above(0_B),
               "Rings, trees, chains and pat: a channel's part is cut into pieces that overlap, of "
               "this size; rings and pat: of ranks times this size.");
  fields.Choice("ring_order", ring_order,
                {{"same", RingOrder::kSame}, {"stride", RingOrder::kStride}},
                "Whether all channels run round the ranks in their order, or each with a stride of "
                "its own.");
  fields.AddOr("off", "reduce_rate", reduce_rate, Above(BitRate{0}),
               "How fast a rank adds up what it receives, before it sends the next message.");
  fields.AddOr(
      "auto", "window", window, AtLeast<int64_t>(1),
      "direct: a rank has at most so many unfinished messages. auto: all, up to 256 ranks.");
  fields.Choice(
      "peers", peer_order,
      {{"round", PeerOrder::kRound}, {"nccl", PeerOrder::kNccl}, {"random", PeerOrder::kRandom}},
      "direct: the order in which a rank sends to the others. round: ascending from its "
      "own number. nccl: groups of eight ranks in NCCL's order. random: of its own.");
  fields.Choice("wait", wait, {{"auto", Wait::kAuto}, {"both", Wait::kBoth}, {"recv", Wait::kRecv}},
                "pairwise, shift, binomial: a step waits for the message received and the one sent "
                "in the step before, or only for the received one. auto: both; binomial: recv, so "
                "that a rank sends to all its children at once.");
  fields.AddOr("most", "aggregate", aggregate, AtLeast<int64_t>(1),
               "pat: the blocks that travel together at most, a power of two.");
  fields.Add("root", root, AtLeast<int64_t>(0), "broadcast: the rank that has the buffer.");
  fields.AddOr(
      "auto", "group_size", group_size, AtLeast<int64_t>(2),
      "hierarchical, rail: the ranks of a server. auto: ranks_per_host times domain_hosts.");
  fields.Add("merge", merge,
             "rail: what a server's ranks send to one rank travels as one message, once all of it "
             "is there.");
  fields.Add("matrix", matrix,
             "direct: a CSV file without a header, in which row i has the bytes from rank i to "
             "each rank. Takes the place of size.");
  fields.Section("moe", moe,
                 "direct: the messages of a mixture-of-experts layer. Takes the place of size.");
  fields.Choice("preset", preset, {{"none", Preset::kNone}, {"nccl", Preset::kNccl}},
                "nccl: channels, chunk, window and the messages of a connection as NCCL has them; "
                "ring, tree, double_tree, pat, chain, direct.");
  fields.Choice("protocol", protocol,
                {{"simple", NcclProtocol::kSimple},
                 {"ll", NcclProtocol::kLl},
                 {"ll128", NcclProtocol::kLl128}},
                "preset nccl: the protocol, which says how much is sent for each byte of payload.");
  fields.Choice("split", split,
                {{"off", Split::kOff}, {"leaf", Split::kLeaf}, {"host", Split::kHost}},
                "Ethereal: messages are laid on the paths between leaves, with the load balancer "
                "ethereal, and some of them are split into flows, so that each path carries as "
                "much. leaf: all messages of a step from one leaf to another are planned together; "
                "host: those of one host.");
  fields.Choice("step_latency", step_latency, {{"none", false}, {"nccl", true}},
                "nccl: each message leaves later by what a step of NCCL takes beside the transfer, "
                "over the network or within a server.");
}

Algorithm CollectiveSettings::chosen() const {
  if (algorithm != Algorithm::kAuto) return algorithm;
  if (op == Op::kBroadcast && preset == Preset::kNccl) return Algorithm::kChain;
  return AlgorithmsOf(op).front();
}

void CollectiveSettings::Check(uint32_t ranks, const ErrorAt& error) const {
  const std::vector<Algorithm> fitting = AlgorithmsOf(op);
  if (std::ranges::find(fitting, chosen()) == fitting.end()) {
    std::vector<std::string> names;
    for (const Algorithm its : fitting) names.push_back(WordOf(Algorithms(), its));
    error("algorithm",
          fmt::format("{} is no algorithm for {}; choose {}", WordOf(Algorithms(), chosen()),
                      WordOf(Ops(), op), fmt::join(names, ", ")));
    return;
  }
  if (op != Op::kBarrier && size == 0_B && !is_uneven()) error("size", "is missing");
  CheckUneven(*this, ranks, error);
  if (IsInServers(chosen())) CheckServers(*this, ranks, error);
  if (preset == Preset::kNccl && nccl_shape() == NcclShape::kDirect &&
      chosen() != Algorithm::kDirect) {
    error("preset", "nccl goes with ring, tree, double_tree, pat, chain and direct");
  }
  if (chosen() == Algorithm::kPairwise && !std::has_single_bit(ranks)) {
    error("algorithm",
          fmt::format("pairwise needs a power of two of ranks, not {}; use shift", ranks));
  }
  if (chosen() == Algorithm::kDirect && !window && ranks > kUnlimitedWindowUpTo) {
    error("window", fmt::format("must be set for more than {} ranks", kUnlimitedWindowUpTo));
  }
  const bool has_one_channel = chosen() == Algorithm::kDirect || chosen() == Algorithm::kRail;
  if (has_one_channel && channels.value_or(1) > 1) {
    error("channels", fmt::format("{} sends one message to each rank; use channels: 1",
                                  WordOf(Algorithms(), chosen())));
  }
  const bool has_chunks = IsRing(chosen()) || IsTree(chosen()) || chosen() == Algorithm::kPat ||
                          chosen() == Algorithm::kHierarchical;
  if (chunk && !has_chunks) error("chunk", "goes with rings, trees, chains and pat");
  if (aggregate && (!std::has_single_bit(static_cast<uint64_t>(*aggregate)) ||
                    2 * static_cast<uint64_t>(*aggregate) > std::bit_ceil(ranks))) {
    error("aggregate", fmt::format("must be a power of two of at most {}",
                                   std::max(std::bit_ceil(ranks) / 2, 1u)));
  }
  if (split != Split::kOff && !CanBeSplit(chosen())) {
    error("split",
          fmt::format("does not go with {}; use it with rings, halving_doubling, "
                      "recursive_doubling, pat, bruck, direct, pairwise, shift or binomial",
                      WordOf(Algorithms(), chosen())));
  }
  if (root >= ranks) error("root", fmt::format("there is no rank {}; there are {}", root, ranks));
}

void CollectiveSettings::CheckUse(const ErrorAt& error) const {
  const bool is_direct = chosen() == Algorithm::kDirect;
  const bool has_rings = IsRing(chosen()) || chosen() == Algorithm::kHierarchical;
  const bool reduces = op == Op::kAllReduce || op == Op::kReduceScatter;
  const bool is_nccl = preset == Preset::kNccl || step_latency;
  struct Use {
    std::string_view key;
    bool is_set;
    bool is_used;
    std::string_view goes_with;
  };
  const Use uses[] = {
      {"size", size > 0_B, op != Op::kBarrier, "operations that carry data"},
      {"ring_order", ring_order != RingOrder::kSame, has_rings, "rings and hierarchical"},
      {"reduce_rate", reduce_rate.has_value(), reduces, "all_reduce and reduce_scatter"},
      {"window", window.has_value(), is_direct, "direct"},
      {"peers", peer_order != PeerOrder::kRound, is_direct, "direct"},
      {"wait", wait == Wait::kRecv, Exchanges(chosen()) || chosen() == Algorithm::kBinomial,
       "pairwise, shift and binomial"},
      {"aggregate", aggregate.has_value(), chosen() == Algorithm::kPat, "pat"},
      {"root", root != 0, op == Op::kBroadcast, "broadcast"},
      {"group_size", group_size.has_value(), IsInServers(chosen()), "hierarchical and rail"},
      {"merge", !merge, chosen() == Algorithm::kRail, "rail"},
      {"protocol", protocol != NcclProtocol::kSimple, is_nccl, "preset: nccl and step_latency"},
  };
  for (const Use& use : uses) {
    if (!use.is_set || use.is_used) continue;
    error(use.key, fmt::format("has no effect on {} with algorithm {}; it goes with {}",
                               WordOf(Ops(), op), WordOf(Algorithms(), chosen()), use.goes_with));
  }
}

// --- Making schedules ---

namespace {

// Returns true if a step waits for the message that the rank has sent in the step before. `wait:
// both` has no effect on other algorithms.
bool WaitsForSends(const CollectiveSettings& settings) {
  using Wait = CollectiveSettings::Wait;
  if (Exchanges(settings.chosen())) return settings.wait != Wait::kRecv;
  return settings.chosen() == Algorithm::kBinomial && settings.wait == Wait::kBoth;
}

std::unique_ptr<StepAlgorithm> MakeSteps(const CollectiveSettings& settings, uint32_t ranks,
                                         uint32_t stride, bool mirrored) {
  const Half half = settings.op == Op::kAllReduce   ? Half::kBoth
                    : settings.op == Op::kAllGather ? Half::kAllGather
                                                    : Half::kReduceScatter;
  switch (settings.chosen()) {
    case Algorithm::kRing:
    case Algorithm::kBidirectional:
      return MakeRing(ranks, half, stride, mirrored);
    case Algorithm::kHalvingDoubling:
      return MakeHalvingDoubling(ranks);
    case Algorithm::kRecursiveDoubling:
      return MakeRecursiveDoubling(ranks);
    case Algorithm::kPat:
      return MakePat(ranks, half, static_cast<uint32_t>(settings.aggregate.value_or(0)));
    case Algorithm::kBruck:
      return settings.op == Op::kAllToAll ? MakeBruckAllToAll(ranks) : MakeBruckAllGather(ranks);
    case Algorithm::kPairwise:
      return MakePairwise(ranks);
    case Algorithm::kShift:
      return MakeShift(ranks);
    case Algorithm::kBinomial:
      return MakeBinomialBroadcast(ranks, static_cast<uint32_t>(settings.root));
    default:
      return MakeDissemination(ranks);
  }
}

std::unique_ptr<Schedule> MakeStepSchedule(const CollectiveSettings& settings, uint32_t ranks) {
  const size_t channels = static_cast<size_t>(settings.channels.value_or(1));
  const bool strides = settings.ring_order == CollectiveSettings::RingOrder::kStride;
  const std::vector<uint32_t> stride_of =
      strides ? Coprimes(ranks, channels) : std::vector<uint32_t>(channels, 1);
  // A bidirectional ring is two rings, each with half of the buffer.
  const uint32_t ways = settings.chosen() == Algorithm::kBidirectional ? 2 : 1;
  const std::optional<int64_t> most =
      settings.chunk ? std::optional(settings.chunk->count * ranks) : std::nullopt;
  const Blocks parts(settings.size.count, static_cast<uint32_t>(channels));
  StepSettings steps;
  steps.waits_for_sends = WaitsForSends(settings);
  steps.is_broadcast = settings.op == Op::kBroadcast;
  steps.reduce_rate = settings.reduce_rate;
  std::vector<std::unique_ptr<StepAlgorithm>> algorithms;
  for (uint32_t channel = 0; channel < channels; ++channel) {
    const Blocks halves(parts.Size(channel), ways);
    for (uint32_t way = 0; way < ways; ++way) {
      algorithms.push_back(MakeSteps(settings, ranks, stride_of[channel], way == 1));
      uint32_t number = 0;
      for (const int64_t bytes : Pieces(halves.Size(way), most)) {
        steps.lanes.push_back({algorithms.back().get(), bytes, channel * ways + way, number++});
      }
    }
  }
  return std::make_unique<StepSchedule>(std::move(steps), std::move(algorithms));
}

std::unique_ptr<Schedule> MakeTrees(const CollectiveSettings& settings, uint32_t ranks) {
  std::vector<std::unique_ptr<Tree>> trees;
  if (settings.chosen() == Algorithm::kChain) {
    trees.push_back(MakeChain(ranks, static_cast<uint32_t>(settings.root)));
  } else if (settings.op == Op::kBroadcast) {
    trees.push_back(MakeRootedTree(ranks, static_cast<uint32_t>(settings.root)));
  } else {
    trees.push_back(MakeBinaryTree(ranks));
    if (settings.chosen() == Algorithm::kDoubleTree) trees.push_back(MakeBinaryTree(ranks, true));
  }
  TreeSettings tree{.ranks = ranks, .lanes = {}, .goes_up = settings.op == Op::kAllReduce};
  tree.reduce_rate = settings.reduce_rate;
  const std::optional<int64_t> most =
      settings.chunk ? std::optional(settings.chunk->count) : std::nullopt;
  const uint32_t ways = static_cast<uint32_t>(trees.size());
  const Blocks parts(settings.size.count, static_cast<uint32_t>(settings.channels.value_or(1)));
  for (uint32_t channel = 0; channel < settings.channels.value_or(1); ++channel) {
    const Blocks halves(parts.Size(channel), ways);
    for (uint32_t way = 0; way < ways; ++way) {
      uint32_t number = 0;
      for (const int64_t bytes : Pieces(halves.Size(way), most)) {
        tree.lanes.push_back({trees[way].get(), bytes, channel * ways + way, number++});
      }
    }
  }
  return MakeTreeSchedule(std::move(tree), std::move(trees));
}

std::unique_ptr<Schedule> MakeDirect(const CollectiveSettings& settings, uint32_t ranks,
                                     uint64_t seed, uint32_t job) {
  const Blocks blocks(settings.size.count, ranks);
  AllToAllSettings all{
      .ranks = ranks,
      .window = static_cast<uint32_t>(std::min<int64_t>(settings.window.value_or(ranks), ranks)),
      .bytes = [blocks](uint32_t /*src*/,
                        uint32_t dst) { return std::max<int64_t>(blocks.Size(dst), 1); },
      .is_even = !settings.is_uneven()};
  if (settings.is_uneven()) {
    const auto traffic = settings.moe.is_on() ? std::make_shared<const std::vector<int64_t>>(
                                                    MoeTraffic(settings.moe, ranks, seed, job))
                                              : settings.traffic;
    all.bytes = [traffic, ranks, protocol = settings.protocol](uint32_t src, uint32_t dst) {
      return NcclWireBytes(protocol, (*traffic)[src * size_t{ranks} + dst]);
    };
  }
  constexpr uint32_t kGroup = 8;  // NCCL's groups of ranks.
  std::unique_ptr<PeerOrder> order;
  if (settings.peer_order == CollectiveSettings::PeerOrder::kRandom) {
    order = MakeRandomOrder(ranks, seed, job);
  } else if (settings.peer_order == CollectiveSettings::PeerOrder::kNccl) {
    order = MakeNcclOrder(ranks, std::gcd(ranks, kGroup));
  } else {
    order = MakeRoundOrder(ranks);
  }
  return MakeAllToAll(std::move(all), std::move(order));
}

std::unique_ptr<Schedule> MakeInServers(const CollectiveSettings& settings, uint32_t ranks) {
  const uint32_t server = static_cast<uint32_t>(settings.group_size.value_or(1));
  if (settings.chosen() == Algorithm::kRail) {
    return MakeRailAllToAll({ranks, server, settings.size.count, settings.merge});
  }
  const auto phase = [&settings](Op op) {
    return [&settings, op](uint32_t its_ranks, int64_t bytes) -> std::shared_ptr<const Schedule> {
      CollectiveSettings its = settings;
      its.op = op;
      its.algorithm = Algorithm::kRing;
      its.size = Bytes{bytes};
      return MakeStepSchedule(its, its_ranks);
    };
  };
  return MakeHierarchical({ranks, server, settings.size.count, phase(Op::kReduceScatter),
                           phase(Op::kAllReduce), phase(Op::kAllGather)});
}

}  // namespace

NcclShape CollectiveSettings::nccl_shape() const {
  switch (chosen()) {
    case Algorithm::kRing:
      return NcclShape::kRing;
    case Algorithm::kTree:
    case Algorithm::kDoubleTree:
      return NcclShape::kTree;
    case Algorithm::kPat:
      return NcclShape::kPat;
    case Algorithm::kChain:
      return NcclShape::kChain;
    default:
      return NcclShape::kDirect;
  }
}

CollectiveSettings CollectiveSettings::Resolved(uint32_t ranks, uint32_t server) const {
  CollectiveSettings its = *this;
  if (!its.group_size) its.group_size = server;
  if (preset == Preset::kNone) return its;
  const NcclShape shape = nccl_shape();
  its.size = Bytes{NcclWireBytes(protocol, size.count)};
  if (shape == NcclShape::kDirect) {
    if (!its.window) its.window = kNcclPeersAtOnce;
    return its;
  }
  if (!its.channels) its.channels = kNcclChannels;
  if (!its.chunk) {
    its.chunk = Bytes{NcclMessage({.protocol = protocol,
                                   .shape = shape,
                                   .bytes = size.count,
                                   .channels = *its.channels,
                                   .ranks = ranks,
                                   .server = server,
                                   .scatters = op == Op::kReduceScatter})};
  }
  return its;
}

std::unique_ptr<Schedule> CollectiveSettings::Make(uint32_t ranks, uint64_t seed,
                                                   uint32_t job) const {
  if (chosen() == Algorithm::kDirect) return MakeDirect(*this, ranks, seed, job);
  if (IsTree(chosen())) return MakeTrees(*this, ranks);
  if (IsInServers(chosen())) return MakeInServers(*this, ranks);
  return MakeStepSchedule(*this, ranks);
}

// A NIC of an ideal ring sends the buffer as often as the factor says.
JobOperation CollectiveSettings::Operation(uint32_t ranks) const {
  const double others = static_cast<double>(ranks - 1) / ranks;
  double factor = others;
  if (op == Op::kAllReduce) factor = 2 * others;
  if (op == Op::kBroadcast) factor = 1;
  if (op == Op::kBarrier) factor = 0;
  int64_t bytes = size.count;
  if (moe.is_on()) bytes = moe.BytesOfRank();
  if (traffic != nullptr) {
    bytes = std::accumulate(traffic->begin(), traffic->end(), int64_t{0}) / ranks;
  }
  return {WordOf(Ops(), op), WordOf(Algorithms(), chosen()), bytes, factor};
}

// --- The workload ---

void Collective::Declare(Fields& fields) {
  settings_.Declare(fields);
  DeclareJob(fields);
}

void Collective::Load(const Stage& stage, std::string_view path, FilesRead& files,
                      Diagnostics& diagnostics) {
  if (settings_.matrix.empty()) return;
  settings_.matrix = stage.PathTo(settings_.matrix);
  settings_.traffic =
      ReadTrafficMatrix(settings_.matrix, fmt::format("{}.matrix", path), files, diagnostics);
}

void Collective::CheckSchedule(std::string_view path, Diagnostics& diagnostics) const {
  const auto error = [&](std::string_view key, const std::string& message) {
    diagnostics.ErrorAt(fmt::format("{}.{}", path, key), message);
  };
  settings_.Resolved(ranks(), ranks_per_server()).Check(ranks(), error);
  if (diagnostics.IsSound(path)) settings_.CheckUse(error);
}

bool Collective::ReadFiles(std::string_view /*path*/, FilesRead& /*files*/,
                           Diagnostics& /*diagnostics*/) {
  if (!settings_.matrix.empty() && !settings_.traffic) return false;  // Load() has said why.
  if (settings_.split != CollectiveSettings::Split::kOff) paths_ = stage().paths();
  return true;
}

std::unique_ptr<const Schedule> Collective::MakeSchedule(uint32_t number) const {
  std::unique_ptr<Schedule> schedule =
      settings_.Resolved(ranks(), ranks_per_server()).Make(ranks(), stage().seed, number);
  if (settings_.split == CollectiveSettings::Split::kOff) return schedule;
  const std::span<const HostId> hosts = HostsOfJob();
  return MakeSplit(
      std::move(schedule),
      {.scope = settings_.split == CollectiveSettings::Split::kHost ? SplitSettings::Scope::kHost
                                                                    : SplitSettings::Scope::kLeaf,
       .is_one_step = settings_.is_one_step(),
       .mss = stage().mss,
       .host_of_rank = {hosts.begin(), hosts.end()},
       .paths = paths_,
       .seed = stage().seed,
       .job = number});
}

JobOperation Collective::Operation() const { return settings_.Operation(ranks()); }

void Collective::Adjust(JobSettings& settings) const {
  const NcclShape shape = settings_.nccl_shape();
  const bool is_nccl = settings_.preset == CollectiveSettings::Preset::kNccl;
  if (is_nccl && settings.ordered && settings.unfinished == 0) {
    settings.unfinished = NcclUnfinished(settings_.protocol, shape);
  }
  if (!settings_.step_latency) return;
  const NcclLatency latency = NcclStepLatency(settings_.protocol, shape);
  settings.overhead += latency.network;
  settings.local_overhead += latency.local;
}

}  // namespace heddle
