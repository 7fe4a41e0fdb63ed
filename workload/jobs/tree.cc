// SPDX-License-Identifier: Apache-2.0

#include "workload/jobs/tree.h"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "workload/jobs/transfer_time.h"

namespace heddle {
namespace {

// --- Trees ---

uint32_t LowestBit(uint32_t x) { return x & (~x + 1); }

// NCCL's tree before ranks are renamed.
std::optional<uint32_t> BinaryParent(uint32_t rank, uint32_t ranks) {
  if (rank == 0) return std::nullopt;
  const uint32_t bit = LowestBit(rank);
  const uint32_t up = (rank ^ bit) | 2 * bit;
  return up < ranks ? up : rank ^ bit;
}

std::vector<uint32_t> BinaryChildren(uint32_t rank, uint32_t ranks) {
  if (rank == 0) return {std::bit_floor(ranks - 1)};
  const uint32_t bit = LowestBit(rank);
  if (bit == 1) return {};
  std::vector<uint32_t> children = {rank - bit / 2};
  for (uint32_t right = bit / 2; right > 0; right /= 2) {
    if (rank + right >= ranks) continue;
    children.push_back(rank + right);
    break;
  }
  return children;
}

// The binary tree with other names for its ranks.
class BinaryTree final : public Tree {
 public:
  enum class Names { kMirrored, kShifted };

  // kMirrored: rank r has the place n - 1 - r. kShifted: it has the place r - shift, modulo n.
  BinaryTree(uint32_t ranks, Names names, uint32_t shift)
      : ranks_(ranks), names_(names), shift_(shift) {}

  std::optional<uint32_t> ParentOf(uint32_t rank) const override {
    const std::optional<uint32_t> parent = BinaryParent(PlaceOf(rank), ranks_);
    return parent ? std::optional(RankAt(*parent)) : std::nullopt;
  }
  std::vector<uint32_t> ChildrenOf(uint32_t rank) const override {
    std::vector<uint32_t> children = BinaryChildren(PlaceOf(rank), ranks_);
    for (uint32_t& child : children) child = RankAt(child);
    return children;
  }

 private:
  uint32_t PlaceOf(uint32_t rank) const {
    return names_ == Names::kMirrored ? ranks_ - 1 - rank : (rank + ranks_ - shift_) % ranks_;
  }
  uint32_t RankAt(uint32_t place) const {
    return names_ == Names::kMirrored ? ranks_ - 1 - place : (place + shift_) % ranks_;
  }

  const uint32_t ranks_;
  const Names names_;
  const uint32_t shift_;
};

class Chain final : public Tree {
 public:
  Chain(uint32_t ranks, uint32_t root) : ranks_(ranks), root_(root) {}

  std::optional<uint32_t> ParentOf(uint32_t rank) const override {
    if (rank == root_) return std::nullopt;
    return (rank + ranks_ - 1) % ranks_;
  }
  std::vector<uint32_t> ChildrenOf(uint32_t rank) const override {
    const uint32_t next = (rank + 1) % ranks_;
    return next == root_ ? std::vector<uint32_t>() : std::vector<uint32_t>{next};
  }

 private:
  const uint32_t ranks_;
  const uint32_t root_;
};

// --- The schedule ---

enum Way : uint32_t { kUp, kDown };

// A message's number is (lane * 2 + way) * ranks + child: each rank has one parent.
class TreeSchedule final : public Schedule {
 public:
  TreeSchedule(TreeSettings settings, std::vector<std::unique_ptr<Tree>> trees)
      : settings_(std::move(settings)), trees_(std::move(trees)) {}

  ScheduleTotals Totals() const override {
    const int ways = (settings_.goes_up ? 1 : 0) + (settings_.goes_down ? 1 : 0);
    const double links = static_cast<double>(ways) * (ranks() - 1);
    ScheduleTotals totals;
    std::map<const Tree*, int64_t> bytes;
    for (const TreeSettings::Lane& lane : settings_.lanes) {
      bytes[lane.tree] += lane.bytes;
      totals.messages += links;
      totals.bytes += links * static_cast<double>(lane.bytes);
      totals.largest = std::max(totals.largest, lane.bytes);
    }
    for (uint32_t rank = 0; rank < ranks(); ++rank) {
      int64_t sent = 0;
      for (const auto& [tree, its_bytes] : bytes) sent += its_bytes * SendsOf(rank, *tree);
      totals.bytes_of_rank = std::max(totals.bytes_of_rank, static_cast<double>(sent));
    }
    return totals;
  }
  uint32_t ranks() const override { return settings_.ranks; }
  uint64_t slots() const override { return settings_.lanes.size() * 2 * uint64_t{ranks()}; }

  Message MessageOf(uint64_t index) const override {
    const auto [lane, way, child] = PlaceOf(index);
    const TreeSettings::Lane& its = settings_.lanes[lane];
    const uint32_t parent = its.tree->ParentOf(child).value();
    return way == kUp ? Message{child, parent, its.bytes, its.channel, kUp, its.piece}
                      : Message{parent, child, its.bytes, its.channel, kDown, its.piece};
  }

  // By lane: from each of at most three children, and from the parent. The root of a tree of two
  // levels and more has one child, other ranks have two.
  uint64_t IncomingOf(uint32_t /*rank*/) const override {
    return settings_.lanes.size() * kOrdinals;
  }
  uint64_t OrdinalOf(uint64_t index) const override {
    const auto [lane, way, child] = PlaceOf(index);
    if (way == kDown) return lane * kOrdinals;
    const Tree& tree = *settings_.lanes[lane].tree;
    const std::vector<uint32_t> children = tree.ChildrenOf(tree.ParentOf(child).value());
    uint64_t place = 0;
    while (children[place] != child) ++place;
    return lane * kOrdinals + 1 + place;
  }
  uint64_t ArrivalsAt(uint32_t rank) const override {
    uint64_t count = 0;
    for (const TreeSettings::Lane& lane : settings_.lanes) {
      if (settings_.goes_up) count += lane.tree->ChildrenOf(rank).size();
      if (settings_.goes_down && lane.tree->ParentOf(rank)) ++count;
    }
    return count;
  }
  bool goes_down_a_tree() const override { return settings_.goes_down; }
  bool waits_for_all() const override {
    return settings_.goes_up && settings_.goes_down && !settings_.reduce_rate;
  }
  // Of each lane, those of the children, then that of the parent.
  std::vector<uint64_t> MissingAt(uint32_t rank, const HasArrived& has_arrived) const override {
    std::vector<uint64_t> missing;
    for (size_t lane = 0; lane < settings_.lanes.size(); ++lane) {
      const Tree& tree = *settings_.lanes[lane].tree;
      const size_t before = missing.size();
      if (settings_.goes_up) {
        for (const uint32_t child : tree.ChildrenOf(rank)) {
          if (!has_arrived(IndexOf(lane, kUp, child))) missing.push_back(IndexOf(lane, kUp, child));
        }
      }
      const bool comes_down = settings_.goes_down && tree.ParentOf(rank).has_value();
      if (missing.size() > before || !comes_down) continue;
      if (!has_arrived(IndexOf(lane, kDown, rank))) missing.push_back(IndexOf(lane, kDown, rank));
    }
    return missing;
  }
  std::unique_ptr<RankProgram> ProgramOf(uint32_t rank) const override;

 private:
  class Program;
  struct Place {
    size_t lane;
    Way way;
    uint32_t child;
  };

  static constexpr uint64_t kOrdinals = 3;

  // Messages that a rank sends in a lane of `tree`.
  int64_t SendsOf(uint32_t rank, const Tree& tree) const {
    const bool sends_up = settings_.goes_up && tree.ParentOf(rank).has_value();
    const size_t down = settings_.goes_down ? tree.ChildrenOf(rank).size() : 0;
    return (sends_up ? 1 : 0) + static_cast<int64_t>(down);
  }

  Place PlaceOf(uint64_t index) const {
    const uint64_t row = index / ranks();
    return {row / 2, row % 2 == 0 ? kUp : kDown, static_cast<uint32_t>(index % ranks())};
  }
  uint64_t IndexOf(size_t lane, Way way, uint32_t child) const {
    return (lane * 2 + way) * ranks() + child;
  }

  const TreeSettings settings_;
  const std::vector<std::unique_ptr<Tree>> trees_;
};

class TreeSchedule::Program final : public RankProgram {
 public:
  Program(const TreeSchedule& schedule, uint32_t rank)
      : schedule_(schedule), rank_(rank), missing_(schedule.settings_.lanes.size()) {
    for (const TreeSettings::Lane& lane : schedule.settings_.lanes) {
      if (nodes_.contains(lane.tree)) continue;
      nodes_.emplace(lane.tree, Node{lane.tree->ChildrenOf(rank), lane.tree->ParentOf(rank)});
    }
    arrivals_ = schedule.ArrivalsAt(rank);
  }

  void Begin(RankActions& actions) override {
    waits_ = arrivals_;
    const TreeSettings& settings = schedule_.settings_;
    for (size_t lane = 0; lane < missing_.size(); ++lane) {
      const Node& node = NodeOf(lane);
      missing_[lane] = settings.goes_up ? static_cast<uint8_t>(node.children.size()) : 0;
      if (missing_[lane] > 0) continue;
      if (settings.goes_up) {
        HasAll(lane, actions);
      } else if (!node.parent) {
        SendDown(lane, actions);
      }
    }
  }

  void OnReceived(uint64_t index, RankActions& actions) override {
    const auto [lane, way, child] = schedule_.PlaceOf(index);
    const std::optional<BitRate>& rate = schedule_.settings_.reduce_rate;
    if (way == kUp && rate) {
      const int64_t bytes = schedule_.settings_.lanes[lane].bytes;
      return actions.Compute(/*stream=*/0, TransferTime(bytes, *rate), index);
    }
    Take(lane, way, actions);
  }
  void OnComputed(uint64_t op, RankActions& actions) override {
    const auto [lane, way, child] = schedule_.PlaceOf(op);
    Take(lane, way, actions);
  }

  bool finished() const override { return waits_ == 0; }

 private:
  struct Node {
    std::vector<uint32_t> children;
    std::optional<uint32_t> parent;
  };

  const Node& NodeOf(size_t lane) const { return nodes_.at(schedule_.settings_.lanes[lane].tree); }

  void Take(size_t lane, Way way, RankActions& actions) {
    --waits_;
    if (way == kDown) return SendDown(lane, actions);
    if (--missing_[lane] == 0) HasAll(lane, actions);
  }

  // The piece has come from all children.
  void HasAll(size_t lane, RankActions& actions) {
    if (NodeOf(lane).parent) return actions.Send(schedule_.IndexOf(lane, kUp, rank_));
    if (schedule_.settings_.goes_down) SendDown(lane, actions);
  }
  void SendDown(size_t lane, RankActions& actions) {
    for (const uint32_t child : NodeOf(lane).children) {
      actions.Send(schedule_.IndexOf(lane, kDown, child));
    }
  }

  const TreeSchedule& schedule_;
  const uint32_t rank_;
  std::map<const Tree*, Node> nodes_;  // Looked up, never walked.
  std::vector<uint8_t> missing_;       // By lane: children whose message has not come.
  uint64_t arrivals_ = 0;              // Messages that come in an iteration.
  uint64_t waits_ = 0;                 // Those that have not come yet, or are being added up.
};

std::unique_ptr<RankProgram> TreeSchedule::ProgramOf(uint32_t rank) const {
  return std::make_unique<Program>(*this, rank);
}

}  // namespace

std::unique_ptr<Tree> MakeBinaryTree(uint32_t ranks, bool mirrored) {
  using Names = BinaryTree::Names;
  if (!mirrored) return std::make_unique<BinaryTree>(ranks, Names::kShifted, 0);
  if (ranks % 2 == 0) return std::make_unique<BinaryTree>(ranks, Names::kMirrored, 0);
  return std::make_unique<BinaryTree>(ranks, Names::kShifted, 1);
}
std::unique_ptr<Tree> MakeRootedTree(uint32_t ranks, uint32_t root) {
  return std::make_unique<BinaryTree>(ranks, BinaryTree::Names::kShifted, root);
}
std::unique_ptr<Tree> MakeChain(uint32_t ranks, uint32_t root) {
  return std::make_unique<Chain>(ranks, root);
}

std::unique_ptr<Schedule> MakeTreeSchedule(TreeSettings settings,
                                           std::vector<std::unique_ptr<Tree>> trees) {
  return std::make_unique<TreeSchedule>(std::move(settings), std::move(trees));
}

}  // namespace heddle
