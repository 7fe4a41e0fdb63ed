// SPDX-License-Identifier: Apache-2.0

#include "workload/jobs/collective.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>
#include <vector>

#include "workload/jobs/all_to_all.h"
#include "workload/jobs/blocks.h"
#include "workload/jobs/step_algorithms.h"
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
      {"dissemination", Algorithm::kDissemination}};
  return algorithms;
}

template <class T>
std::string NameOf(const Choices<T>& choices, T value) {
  return std::ranges::find(choices, value, [](const auto& choice) { return choice.second; })->first;
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
              Algorithm::kDoubleTree};
    case Op::kAllGather:
      return {Algorithm::kRing, Algorithm::kPat, Algorithm::kBruck};
    case Op::kReduceScatter:
      return {Algorithm::kRing, Algorithm::kPat};
    case Op::kAllToAll:
      return {Algorithm::kDirect, Algorithm::kPairwise, Algorithm::kShift, Algorithm::kBruck};
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
bool IsTree(Algorithm algorithm) {
  return algorithm == Algorithm::kTree || algorithm == Algorithm::kDoubleTree ||
         algorithm == Algorithm::kChain;
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

}  // namespace

void CollectiveSettings::Declare(Fields& fields) {
  fields.Choice("op", op, Ops(), "The operation.", Fields::kRequired);
  fields.Add("size", size, {.at_least = 0_B},
             "all_reduce, broadcast: the buffer. all_gather: the whole result. reduce_scatter: the "
             "whole input. all_to_all: the bytes that one rank sends, its own block included.");
  fields.Choice("algorithm", algorithm, Algorithms(),
                "How the ranks perform it. auto: ring; all_to_all: direct; broadcast: binomial; "
                "barrier: dissemination.");
  fields.Add("channels", channels, Between<int64_t>(1, 256),
             "Equal parts of the buffer that go through the algorithm at once.");
  fields.AddOr("none", "chunk", chunk, Above(0_B),
               "Rings, trees and chains: a channel's part is cut into pieces that overlap, of this "
               "size; rings: of ranks times this size.");
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
  fields.Choice("wait", wait, {{"both", Wait::kBoth}, {"recv", Wait::kRecv}},
                "pairwise, shift: a step waits for the message received and the one sent in the "
                "step before, or only for the received one.");
  fields.AddOr("most", "aggregate", aggregate, AtLeast<int64_t>(1),
               "pat: the blocks that travel together at most, a power of two.");
  fields.Add("root", root, AtLeast<int64_t>(0), "broadcast: the rank that has the buffer.");
}

Algorithm CollectiveSettings::chosen() const {
  return algorithm == Algorithm::kAuto ? AlgorithmsOf(op).front() : algorithm;
}

void CollectiveSettings::Check(uint32_t ranks, std::string_view path,
                               Diagnostics& diagnostics) const {
  const auto error = [&](std::string_view key, const std::string& message) {
    diagnostics.ErrorAt(fmt::format("{}.{}", path, key), message);
  };
  const std::vector<Algorithm> fitting = AlgorithmsOf(op);
  if (std::ranges::find(fitting, chosen()) == fitting.end()) {
    std::vector<std::string> names;
    for (const Algorithm its : fitting) names.push_back(NameOf(Algorithms(), its));
    error("algorithm",
          fmt::format("{} is no algorithm for {}; choose {}", NameOf(Algorithms(), chosen()),
                      NameOf(Ops(), op), fmt::join(names, ", ")));
    return;
  }
  if (op != Op::kBarrier && size == 0_B) error("size", "is missing");
  if (chosen() == Algorithm::kPairwise && !std::has_single_bit(ranks)) {
    error("algorithm",
          fmt::format("pairwise needs a power of two of ranks, not {}; use shift", ranks));
  }
  if (chosen() == Algorithm::kDirect && !window && ranks > kUnlimitedWindowUpTo) {
    error("window", fmt::format("must be set for more than {} ranks", kUnlimitedWindowUpTo));
  }
  if (chosen() == Algorithm::kDirect && channels > 1) {
    error("channels", "direct sends one message to each rank; use channels: 1");
  }
  if (chunk && !IsRing(chosen()) && !IsTree(chosen())) {
    error("chunk", "goes with rings, trees and chains");
  }
  if (aggregate && (!std::has_single_bit(static_cast<uint64_t>(*aggregate)) ||
                    2 * static_cast<uint64_t>(*aggregate) > std::bit_ceil(ranks))) {
    error("aggregate", fmt::format("must be a power of two of at most {}",
                                   std::max(std::bit_ceil(ranks) / 2, 1u)));
  }
  if (root >= ranks) error("root", fmt::format("there is no rank {}; there are {}", root, ranks));
}

// --- Making schedules ---

namespace {

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
  const size_t channels = static_cast<size_t>(settings.channels);
  const bool strides = settings.ring_order == CollectiveSettings::RingOrder::kStride;
  const std::vector<uint32_t> stride_of =
      strides ? Coprimes(ranks, channels) : std::vector<uint32_t>(channels, 1);
  // A bidirectional ring is two rings, each with half of the buffer.
  const uint32_t ways = settings.chosen() == Algorithm::kBidirectional ? 2 : 1;
  const std::optional<int64_t> most =
      settings.chunk ? std::optional(settings.chunk->count * ranks) : std::nullopt;
  const Blocks parts(settings.size.count, static_cast<uint32_t>(channels));
  StepSettings steps;
  const Algorithm algorithm = settings.chosen();
  const bool exchanges = algorithm == Algorithm::kPairwise || algorithm == Algorithm::kShift;
  steps.waits_for_sends = exchanges && settings.wait == CollectiveSettings::Wait::kBoth;
  steps.reduce_bps = settings.reduce_rate ? static_cast<double>(settings.reduce_rate->bps) : 0;
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
  tree.reduce_bps = settings.reduce_rate ? static_cast<double>(settings.reduce_rate->bps) : 0;
  const std::optional<int64_t> most =
      settings.chunk ? std::optional(settings.chunk->count) : std::nullopt;
  const uint32_t ways = static_cast<uint32_t>(trees.size());
  const Blocks parts(settings.size.count, static_cast<uint32_t>(settings.channels));
  for (uint32_t channel = 0; channel < settings.channels; ++channel) {
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
      .bytes = [blocks](uint32_t /*src*/, uint32_t dst) {
        return std::max<int64_t>(blocks.Size(dst), 1);
      }};
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

}  // namespace

std::unique_ptr<Schedule> CollectiveSettings::Make(uint32_t ranks, uint64_t seed,
                                                   uint32_t job) const {
  if (chosen() == Algorithm::kDirect) return MakeDirect(*this, ranks, seed, job);
  if (IsTree(chosen())) return MakeTrees(*this, ranks);
  return MakeStepSchedule(*this, ranks);
}

// A NIC of an ideal ring sends the buffer as often as the factor says.
JobOperation CollectiveSettings::Operation(uint32_t ranks) const {
  const double others = static_cast<double>(ranks - 1) / ranks;
  double factor = others;
  if (op == Op::kAllReduce) factor = 2 * others;
  if (op == Op::kBroadcast) factor = 1;
  if (op == Op::kBarrier) factor = 0;
  return {NameOf(Ops(), op), NameOf(Algorithms(), chosen()), size.count, factor};
}

// --- The workload ---

void Collective::Declare(Fields& fields) {
  settings_.Declare(fields);
  DeclareJob(fields);
}

void Collective::CheckSchedule(std::string_view path, Diagnostics& diagnostics) const {
  settings_.Check(ranks(), path, diagnostics);
}

std::unique_ptr<const Schedule> Collective::MakeSchedule(uint32_t number) const {
  return settings_.Make(ranks(), stage().seed, number);
}

JobOperation Collective::Operation() const { return settings_.Operation(ranks()); }

}  // namespace heddle
