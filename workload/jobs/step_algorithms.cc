// SPDX-License-Identifier: Apache-2.0

#include "workload/jobs/step_algorithms.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "core/check.h"
#include "workload/jobs/blocks.h"

namespace heddle {
namespace {

using Transfer = StepAlgorithm::Transfer;

uint32_t CeilLog2(uint32_t n) { return static_cast<uint32_t>(std::bit_width(n - 1)); }

// --- Rings ---

class RingAlgorithm final : public StepAlgorithm {
 public:
  RingAlgorithm(uint32_t ranks, Half half, uint32_t stride, bool mirrored)
      : StepAlgorithm(ranks), half_(half), stride_(stride), inverse_(Inverse(stride, ranks)) {
    if (!mirrored) return;
    stride_ = ranks - stride_;
    inverse_ = ranks - inverse_;
  }

  uint32_t steps() const override { return (half_ == Half::kBoth ? 2 : 1) * (ranks() - 1); }

  Transfer SendOf(uint32_t rank, uint32_t step, int64_t bytes) const override {
    const uint32_t position = PositionOf(rank);
    return {true, RankAt(position + 1), Blocks(bytes, ranks()).Size(BlockOf(position, step))};
  }
  Transfer RecvOf(uint32_t rank, uint32_t step, int64_t bytes) const override {
    const uint32_t before = PositionOf(rank) + ranks() - 1;
    return {true, RankAt(before), Blocks(bytes, ranks()).Size(BlockOf(before, step))};
  }
  uint64_t ArrivalsAt(uint32_t /*rank*/) const override { return steps(); }
  bool Reduces(uint32_t step) const override {
    return half_ != Half::kAllGather && step < ranks() - 1;
  }

 private:
  static uint32_t Inverse(uint32_t stride, uint32_t ranks) {
    uint64_t i = 1;
    while (i < ranks && i * stride % ranks != 1) ++i;
    HEDDLE_CHECK(i < ranks, "a ring of {} ranks with stride {}", ranks, stride);
    return static_cast<uint32_t>(i);
  }

  uint32_t PositionOf(uint32_t rank) const {
    return static_cast<uint32_t>(uint64_t{rank} * inverse_ % ranks());
  }
  uint32_t RankAt(uint32_t position) const {
    return static_cast<uint32_t>(uint64_t{position} * stride_ % ranks());
  }
  // The block that the rank at a position sends. A reduce-scatter by itself begins one block
  // earlier, so that each rank ends with the block of its own number.
  uint32_t BlockOf(uint32_t position, uint32_t step) const {
    const uint64_t back = uint64_t{step} + (half_ == Half::kReduceScatter ? 1 : 0);
    return static_cast<uint32_t>((position + 2 * uint64_t{ranks()} - back) % ranks());
  }

  const Half half_;
  uint32_t stride_;
  uint32_t inverse_;  // stride_ * inverse_ = 1 modulo ranks.
};

// --- Algorithms for powers of two, and what others do before and after ---

// Ranks fold in pairs until a power of two is left, which are numbered anew and run the algorithm.
class Folded : public StepAlgorithm {
 public:
  explicit Folded(uint32_t ranks)
      : StepAlgorithm(ranks), kept_(std::bit_floor(ranks)), folded_(ranks - kept_) {}

  uint32_t steps() const final { return inner_steps() + (folded_ > 0 ? 2 : 0); }

  Transfer SendOf(uint32_t rank, uint32_t step, int64_t bytes) const final {
    return Of(rank, step, bytes, true);
  }
  Transfer RecvOf(uint32_t rank, uint32_t step, int64_t bytes) const final {
    return Of(rank, step, bytes, false);
  }
  bool Reduces(uint32_t step) const final {
    if (folded_ == 0) return InnerReduces(step);
    return step == 0 || (step <= inner_steps() && InnerReduces(step - 1));
  }

 protected:
  uint32_t kept() const { return kept_; }
  virtual uint32_t inner_steps() const = 0;
  virtual bool InnerReduces(uint32_t step) const = 0;
  virtual Transfer InnerSend(uint32_t rank, uint32_t step, int64_t bytes) const = 0;
  virtual Transfer InnerRecv(uint32_t rank, uint32_t step, int64_t bytes) const = 0;

 private:
  Transfer Of(uint32_t rank, uint32_t step, int64_t bytes, bool sends) const {
    const bool is_paired = rank < 2 * folded_;
    const bool gives = is_paired && rank % 2 == 0;  // Gives its buffer to the next rank, and waits.
    if (folded_ > 0 && (step == 0 || step == steps() - 1)) {
      const bool is_sender = gives == (step == 0);
      if (!is_paired || is_sender != sends) return {};
      return {true, gives ? rank + 1 : rank - 1, bytes};
    }
    if (gives) return {};
    const uint32_t inner = folded_ > 0 ? step - 1 : step;
    const uint32_t number = is_paired ? rank / 2 : rank - folded_;
    Transfer transfer = sends ? InnerSend(number, inner, bytes) : InnerRecv(number, inner, bytes);
    transfer.peer = transfer.peer < folded_ ? 2 * transfer.peer + 1 : transfer.peer + folded_;
    return transfer;
  }

  const uint32_t kept_;    // The power of two.
  const uint32_t folded_;  // The ranks that give their buffers away.
};

class HalvingDoubling final : public Folded {
 public:
  using Folded::Folded;

 protected:
  uint32_t inner_steps() const override { return 2 * levels(); }
  bool InnerReduces(uint32_t step) const override { return step < levels(); }
  Transfer InnerSend(uint32_t rank, uint32_t step, int64_t bytes) const override {
    // Halving: a rank gives its partner's half away. Doubling: it gives what it has kept.
    const uint32_t distance = DistanceAt(step);
    const uint32_t owner = InnerReduces(step) ? rank ^ distance : rank;
    return {true, rank ^ distance, BytesOf(owner, distance, bytes)};
  }
  Transfer InnerRecv(uint32_t rank, uint32_t step, int64_t bytes) const override {
    return {true, rank ^ DistanceAt(step), InnerSend(rank ^ DistanceAt(step), step, bytes).bytes};
  }

 private:
  uint32_t levels() const { return CeilLog2(kept()); }
  uint32_t DistanceAt(uint32_t step) const {
    return InnerReduces(step) ? kept() >> (step + 1) : 1u << (step - levels());
  }
  // The blocks of the range of `length` in which `rank` lies.
  int64_t BytesOf(uint32_t rank, uint32_t length, int64_t bytes) const {
    const uint32_t first = rank / length * length;
    return Blocks(bytes, kept()).Sum(first, first + length);
  }
};

class RecursiveDoubling final : public Folded {
 public:
  using Folded::Folded;

 protected:
  uint32_t inner_steps() const override { return CeilLog2(kept()); }
  bool InnerReduces(uint32_t /*step*/) const override { return true; }
  Transfer InnerSend(uint32_t rank, uint32_t step, int64_t bytes) const override {
    return {true, rank ^ 1u << step, bytes};
  }
  Transfer InnerRecv(uint32_t rank, uint32_t step, int64_t bytes) const override {
    return InnerSend(rank, step, bytes);
  }
};

// --- Parallel aggregated trees ---

// All-gather: block b comes to the rank at distance s behind b's owner from the one at distance
// s - (lowest bit of s). Reduce-scatter runs all this backwards.
class Pat final : public StepAlgorithm {
 public:
  Pat(uint32_t ranks, Half half, uint32_t aggregate)
      : StepAlgorithm(ranks), reduces_(half == Half::kReduceScatter) {
    const uint32_t size = std::bit_ceil(ranks);
    const uint32_t group = size / (aggregate == 0 ? std::max(size / 2, 1u) : aggregate);
    // Far distances first, with all their blocks at once; then the offsets within a group, each of
    // them for all groups.
    for (uint32_t d = size / 2; d >= group && d > 0; d /= 2) AddStep({d, 0, 2 * d});
    AddOffsetsBelow(0, group);
    if (reduces_) std::ranges::reverse(moves_);
  }

  uint32_t steps() const override { return static_cast<uint32_t>(moves_.size()); }
  Transfer SendOf(uint32_t rank, uint32_t step, int64_t bytes) const override {
    const Move& move = moves_[step];
    if (!reduces_) return {true, Plus(rank, move.distance), BytesOf(rank, move, bytes)};
    const uint32_t to = Plus(rank, ranks() - move.distance);
    return {true, to, BytesOf(to, move, bytes)};
  }
  Transfer RecvOf(uint32_t rank, uint32_t step, int64_t bytes) const override {
    const Move& move = moves_[step];
    if (!reduces_) {
      const uint32_t from = Plus(rank, ranks() - move.distance);
      return {true, from, BytesOf(from, move, bytes)};
    }
    return {true, Plus(rank, move.distance), BytesOf(rank, move, bytes)};
  }
  uint64_t ArrivalsAt(uint32_t /*rank*/) const override { return moves_.size(); }
  bool Reduces(uint32_t /*step*/) const override { return reduces_; }

 private:
  // In an all-gather, a rank sends the blocks at the distances first, first + every, ... behind
  // their owners over `distance`, as far as they get to a rank below n.
  struct Move {
    uint32_t distance;
    uint32_t first;
    uint32_t every;
  };

  void AddStep(const Move& move) {
    if (move.first + move.distance < ranks()) moves_.push_back(move);
  }

  // The offsets beyond `offset` that get their blocks from it, in preorder, the far ones first.
  void AddOffsetsBelow(uint32_t offset, uint32_t group) {
    const uint32_t lowest = offset == 0 ? group : offset & (~offset + 1);
    for (uint32_t d = lowest / 2; d > 0; d /= 2) {
      AddStep({d, offset, group});
      AddOffsetsBelow(offset + d, group);
    }
  }

  uint32_t Plus(uint32_t rank, uint32_t distance) const { return (rank + distance) % ranks(); }

  // The bytes that `rank` sends in an all-gather.
  int64_t BytesOf(uint32_t rank, const Move& move, int64_t bytes) const {
    const Blocks blocks(bytes, ranks());
    int64_t sum = 0;
    for (uint64_t s = move.first; s + move.distance < ranks(); s += move.every) {
      sum += blocks.Size(Plus(rank, ranks() - static_cast<uint32_t>(s)));
    }
    return sum;
  }

  const bool reduces_;
  std::vector<Move> moves_;
};

// --- Bruck ---

class BruckAllGather final : public StepAlgorithm {
 public:
  using StepAlgorithm::StepAlgorithm;

  uint32_t steps() const override { return CeilLog2(ranks()); }
  Transfer SendOf(uint32_t rank, uint32_t step, int64_t bytes) const override {
    return {true, (rank + ranks() - (1u << step)) % ranks(), BytesOf(rank, step, bytes)};
  }
  Transfer RecvOf(uint32_t rank, uint32_t step, int64_t bytes) const override {
    const uint32_t from = (rank + (1u << step)) % ranks();
    return {true, from, BytesOf(from, step, bytes)};
  }

 private:
  int64_t BytesOf(uint32_t rank, uint32_t step, int64_t bytes) const {
    const uint32_t has = 1u << step;
    return Blocks(bytes, ranks()).SumRound(rank, std::min(has, ranks() - has));
  }
};

class BruckAllToAll final : public StepAlgorithm {
 public:
  using StepAlgorithm::StepAlgorithm;

  uint32_t steps() const override { return CeilLog2(ranks()); }
  Transfer SendOf(uint32_t rank, uint32_t step, int64_t bytes) const override {
    return {true, (rank + (1u << step)) % ranks(), BytesOf(rank, step, bytes)};
  }
  Transfer RecvOf(uint32_t rank, uint32_t step, int64_t bytes) const override {
    const uint32_t from = (rank + ranks() - (1u << step)) % ranks();
    return {true, from, BytesOf(from, step, bytes)};
  }

 private:
  // A block that has to go `distance` on has gone as far as the lower bits of it say; the rest is
  // ahead of it.
  int64_t BytesOf(uint32_t rank, uint32_t step, int64_t bytes) const {
    const Blocks blocks(bytes, ranks());
    const uint32_t bit = 1u << step;
    int64_t sum = 0;
    for (uint32_t distance = bit; distance < ranks(); ++distance) {
      if ((distance & bit) != 0) sum += blocks.Size((rank + (distance & ~(bit - 1))) % ranks());
    }
    return sum;
  }
};

// --- All-to-all in exchanges ---

class Pairwise final : public StepAlgorithm {
 public:
  using StepAlgorithm::StepAlgorithm;

  uint32_t steps() const override { return ranks() - 1; }
  Transfer SendOf(uint32_t rank, uint32_t step, int64_t bytes) const override {
    const uint32_t peer = rank ^ (step + 1);
    return {true, peer, Blocks(bytes, ranks()).Size(peer)};
  }
  Transfer RecvOf(uint32_t rank, uint32_t step, int64_t bytes) const override {
    return {true, rank ^ (step + 1), Blocks(bytes, ranks()).Size(rank)};
  }
  uint64_t ArrivalsAt(uint32_t /*rank*/) const override { return steps(); }
};

class Shift final : public StepAlgorithm {
 public:
  using StepAlgorithm::StepAlgorithm;

  uint32_t steps() const override { return ranks() - 1; }
  Transfer SendOf(uint32_t rank, uint32_t step, int64_t bytes) const override {
    const uint32_t peer = (rank + step + 1) % ranks();
    return {true, peer, Blocks(bytes, ranks()).Size(peer)};
  }
  Transfer RecvOf(uint32_t rank, uint32_t step, int64_t bytes) const override {
    return {true, (rank + ranks() - step - 1) % ranks(), Blocks(bytes, ranks()).Size(rank)};
  }
  uint64_t ArrivalsAt(uint32_t /*rank*/) const override { return steps(); }
};

// --- Broadcast and barrier ---

class BinomialBroadcast final : public StepAlgorithm {
 public:
  BinomialBroadcast(uint32_t ranks, uint32_t root) : StepAlgorithm(ranks), root_(root) {}

  bool needs_all() const override { return false; }  // The root needs nothing.
  bool is_even() const override { return false; }    // The root sends the most, a half nothing.

  uint32_t steps() const override { return CeilLog2(ranks()); }
  Transfer SendOf(uint32_t rank, uint32_t step, int64_t bytes) const override {
    const uint32_t to = Number(rank) + (1u << step);
    if (Number(rank) >= 1u << step || to >= ranks()) return {};
    return {true, RankOf(to), bytes};
  }
  Transfer RecvOf(uint32_t rank, uint32_t step, int64_t bytes) const override {
    const uint32_t has = 1u << step;
    if (Number(rank) < has || Number(rank) >= 2 * has) return {};
    return {true, RankOf(Number(rank) - has), bytes};
  }

 private:
  uint32_t Number(uint32_t rank) const { return (rank + ranks() - root_) % ranks(); }
  uint32_t RankOf(uint32_t number) const { return (number + root_) % ranks(); }

  const uint32_t root_;
};

class Dissemination final : public StepAlgorithm {
 public:
  using StepAlgorithm::StepAlgorithm;

  uint32_t steps() const override { return CeilLog2(ranks()); }
  Transfer SendOf(uint32_t rank, uint32_t step, int64_t /*bytes*/) const override {
    return {true, (rank + (1u << step)) % ranks(), 1};
  }
  Transfer RecvOf(uint32_t rank, uint32_t step, int64_t /*bytes*/) const override {
    return {true, (rank + ranks() - (1u << step)) % ranks(), 1};
  }
};

}  // namespace

std::unique_ptr<StepAlgorithm> MakeRing(uint32_t ranks, Half half, uint32_t stride, bool mirrored) {
  return std::make_unique<RingAlgorithm>(ranks, half, stride, mirrored);
}
std::unique_ptr<StepAlgorithm> MakeHalvingDoubling(uint32_t ranks) {
  return std::make_unique<HalvingDoubling>(ranks);
}
std::unique_ptr<StepAlgorithm> MakeRecursiveDoubling(uint32_t ranks) {
  return std::make_unique<RecursiveDoubling>(ranks);
}
std::unique_ptr<StepAlgorithm> MakePat(uint32_t ranks, Half half, uint32_t aggregate) {
  return std::make_unique<Pat>(ranks, half, aggregate);
}
std::unique_ptr<StepAlgorithm> MakeBruckAllGather(uint32_t ranks) {
  return std::make_unique<BruckAllGather>(ranks);
}
std::unique_ptr<StepAlgorithm> MakeBruckAllToAll(uint32_t ranks) {
  return std::make_unique<BruckAllToAll>(ranks);
}
std::unique_ptr<StepAlgorithm> MakePairwise(uint32_t ranks) {
  return std::make_unique<Pairwise>(ranks);
}
std::unique_ptr<StepAlgorithm> MakeShift(uint32_t ranks) { return std::make_unique<Shift>(ranks); }
std::unique_ptr<StepAlgorithm> MakeBinomialBroadcast(uint32_t ranks, uint32_t root) {
  return std::make_unique<BinomialBroadcast>(ranks, root);
}
std::unique_ptr<StepAlgorithm> MakeDissemination(uint32_t ranks) {
  return std::make_unique<Dissemination>(ranks);
}

}  // namespace heddle
