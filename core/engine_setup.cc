// SPDX-License-Identifier: Apache-2.0
// The functions of Engine that are called before it runs. They place groups on threads, and divide
// them into two sides.

#include <algorithm>
#include <thread>
#include <tuple>
#include <utility>

#include "core/check.h"
#include "core/engine.h"
#include "core/sides.h"

namespace heddle {
namespace {

// Where groups are placed, so that few wires cross from one shard to another.
class Placement {
 public:
  Placement(const std::vector<std::unique_ptr<Group>>& groups, size_t shards)
      : groups_(groups),
        neighbours_(groups.size()),
        shard_of_(groups.size(), kNowhere),
        load_(shards, 0),
        parts_(shards) {}

  void Connect(uint32_t from, uint32_t to) {
    if (from == to) return;
    neighbours_[from].push_back(to);
    neighbours_[to].push_back(from);
  }

  // First the groups of several nodes, leaves with their hosts. They are cut into consecutive runs
  // of equal weight, because topologies number neighbours in sequence. Then each other group goes
  // to the shard that it has most wires to, of those that have not reached their share (`limit_`).
  std::vector<std::vector<uint32_t>> Place() {
    const auto is_leaf = [](const std::unique_ptr<Group>& group) {
      return group->nodes.size() > 1;
    };
    const int64_t leaves = std::max<int64_t>(WeightOf(is_leaf), 1);
    int64_t placed = 0;
    for (uint32_t g = 0; g < groups_.size(); ++g) {
      if (!is_leaf(groups_[g])) continue;
      // The middle of its weight decides.
      const int64_t middle = 2 * placed + groups_[g]->weight;
      const int64_t shards = static_cast<int64_t>(load_.size());
      Put(g, static_cast<size_t>(std::min(middle * shards / (2 * leaves), shards - 1)));
      placed += groups_[g]->weight;
    }
    const int64_t all = WeightOf([](const auto&) { return true; });
    limit_ = all / static_cast<int64_t>(load_.size());
    for (uint32_t g = 0; g < groups_.size(); ++g) {
      if (shard_of_[g] == kNowhere) Put(g, BestFor(g));
    }
    return std::move(parts_);
  }

 private:
  static constexpr size_t kNowhere = ~size_t{0};

  template <class Which>
  int64_t WeightOf(const Which& which) const {
    int64_t weight = 0;
    for (const std::unique_ptr<Group>& group : groups_) weight += which(group) ? group->weight : 0;
    return weight;
  }

  void Put(uint32_t g, size_t shard) {
    shard_of_[g] = shard;
    load_[shard] += groups_[g]->weight;
    parts_[shard].push_back(g);
  }

  // The shard with the most wires to `g` among those that have room for it; of several, the one
  // with the least work so far. If none has room, that one too.
  size_t BestFor(uint32_t g) const {
    std::vector<int64_t> wires(load_.size(), 0);
    for (const uint32_t other : neighbours_[g]) {
      if (shard_of_[other] != kNowhere) ++wires[shard_of_[other]];
    }
    const auto rank = [&](size_t shard) {
      const bool is_full = load_[shard] + groups_[g]->weight > limit_;
      return std::tuple(is_full, is_full ? 0 : -wires[shard], load_[shard]);
    };
    size_t best = 0;
    for (size_t shard = 1; shard < load_.size(); ++shard) {
      if (rank(shard) < rank(best)) best = shard;
    }
    return best;
  }

  const std::vector<std::unique_ptr<Group>>& groups_;
  std::vector<std::vector<uint32_t>> neighbours_;
  std::vector<size_t> shard_of_;
  std::vector<int64_t> load_;
  int64_t limit_ = 0;
  std::vector<std::vector<uint32_t>> parts_;
};

}  // namespace

Engine::GroupId Engine::AddGroup() {
  groups_.push_back(std::make_unique<Group>());
  return static_cast<GroupId>(groups_.size() - 1);
}

void Engine::Add(Node& node, GroupId g) {
  Group& group = *groups_[g];
  node.group_ = g;
  node.index_in_group_ = static_cast<uint32_t>(group.nodes.size());
  node.side_ = group.side;
  group.nodes.push_back(&node);
}

void Engine::Connect(Node& from, WireTail& wire, Node& to, Duration least) {
  HEDDLE_CHECK(least > Duration{0}, "a link without delay leaves no window to run in");
  wire.consumer_ = &to;
  wire.in_port_ = static_cast<PortIndex>(to.arrivals_.wires());
  wire.within_group_ = from.group_ == to.group_;
  links_.push_back({&from, &wire});
  to.arrivals_.Add();
  Group& group = *groups_[to.group_];
  ++group.weight;
  Duration& bound = wire.within_group_ ? group.lookahead : lookahead_;
  bound = std::min(bound, least);
}

void Engine::Place(int threads) {
  const size_t shards = std::clamp<size_t>(static_cast<size_t>(threads), 1, groups_.size());
  Placement placement(groups_, shards);
  for (const Link& link : links_) {
    placement.Connect(link.from->group_, link.wire->consumer_->group_);
  }
  std::vector<std::vector<uint32_t>> parts = placement.Place();
  FormSides(parts);
  FormSidesInside();
  FindHubs();
  for (const std::unique_ptr<Group>& group : groups_) group->due.Resize(group->nodes.size());
  for (const Link& link : links_) {
    WireTail& wire = *link.wire;
    wire.head_ = &wire.consumer_->wire_head(wire.in_port_);
  }
  shard_of_group_.resize(groups_.size());
  for (const std::vector<uint32_t>& part : parts) {
    shards_.push_back(std::make_unique<Shard>(static_cast<uint32_t>(shards_.size()), groups_));
    for (const uint32_t g : part) {
      shards_.back()->Take(g);
      shard_of_group_[g] = shards_.back().get();
    }
  }
  for (const std::unique_ptr<Shard>& from : shards_) {
    for (const std::unique_ptr<Shard>& to : shards_) {
      from->outboxes_.push_back(std::make_unique<Outbox>());
      to->inboxes_.push_back(from->outboxes_.back().get());
    }
  }
  links_of_group_.resize(shards > 1 ? groups_.size() : 0);
  neighbours_of_group_.resize(links_of_group_.size());
  for (uint32_t i = 0; i < links_.size() && shards > 1; ++i) {
    SetDelivery(links_[i]);
    const uint32_t from = links_[i].from->group_;
    const uint32_t to = links_[i].wire->consumer_->group_;
    links_of_group_[from].push_back(i);
    if (from == to) continue;
    neighbours_of_group_[from].push_back(to);
    links_of_group_[to].push_back(i);
    neighbours_of_group_[to].push_back(from);
  }
  for (uint32_t g = 0; g < links_of_group_.size(); ++g) FindBorder(g);
  barrier_ = std::make_unique<Barrier>(static_cast<int>(shards));
  // Threads that share a core wait for each other, so their times say nothing.
  balances_ = shards > 1 && shards <= std::thread::hardware_concurrency();
}

// Finds two sides such that every link between groups leads from one to the other. A group whose
// links are about as long as those between groups is split, one part for each side. Nodes that may
// not move are on side 0, because what they write is read after each round, in the order of time.
void Engine::FormSides(std::vector<std::vector<uint32_t>>& parts) {
  Duration least{kNever.ps};
  for (const std::unique_ptr<Group>& group : groups_) least = std::min(least, group->lookahead);
  if (lookahead_ == Duration{kNever.ps}) lookahead_ = least;  // No links between groups.
  std::vector<uint32_t> first_vertex;
  std::vector<bool> pinned;
  const Duration about = lookahead_ - lookahead_ / 10;
  const auto is_split = [&](uint32_t g) { return groups_[g]->lookahead >= about; };
  for (uint32_t g = 0; g < groups_.size(); ++g) {
    first_vertex.push_back(static_cast<uint32_t>(pinned.size()));
    if (!is_split(g)) {
      pinned.push_back(!MayMove(g));
    } else {
      for (const Node* node : groups_[g]->nodes) pinned.push_back(!node->MayMove());
    }
  }
  const auto vertex = [&](const Node& node) {
    return first_vertex[node.group_] + (is_split(node.group_) ? node.index_in_group_ : 0);
  };
  Edges edges;
  for (const Link& link : links_) {
    const Node& to = *link.wire->consumer_;
    if (vertex(*link.from) != vertex(to)) edges.push_back({vertex(*link.from), vertex(to)});
  }
  const auto sides = FindSides(edges, pinned);
  if (!sides || std::ranges::count(*sides, 1) == 0) return;
  alternates_ = true;
  for (uint32_t g = 0; g < groups_.size(); ++g) {
    if (is_split(g)) lookahead_ = std::min(lookahead_, groups_[g]->lookahead);
  }
  for (std::vector<uint32_t>& part : parts) {
    for (size_t i = 0, groups = part.size(); i < groups; ++i) {
      const uint32_t g = part[i];
      std::vector<uint8_t> its;  // By index in the group.
      for (const Node* node : groups_[g]->nodes) its.push_back((*sides)[vertex(*node)]);
      Split(g, its, part);
    }
  }
  for (const Link& link : links_) {
    link.wire->within_group_ = link.from->group_ == link.wire->consumer_->group_;
  }
}

// The same inside groups, whose nodes it puts into the order of sides.
void Engine::FormSidesInside() {
  std::vector<Edges> inside(groups_.size());
  for (const Link& link : links_) {
    const Node& to = *link.wire->consumer_;
    if (link.wire->within_group_) {
      inside[to.group_].push_back({link.from->index_in_group_, to.index_in_group_});
    }
  }
  for (uint32_t g = 0; g < groups_.size(); ++g) {
    Group& group = *groups_[g];
    const size_t size = group.nodes.size();
    if (inside[g].empty() || size > DueNodes::kListed) continue;
    const auto sides = FindSides(inside[g], std::vector<bool>(size, false));
    if (!sides) continue;
    const std::vector<Node*> nodes(group.nodes.begin(), group.nodes.end());
    group.nodes.clear();
    for (uint8_t side = 0; side < kSides; ++side) {
      if (side == 1) group.second_side = group.nodes.size();
      for (size_t i = 0; i < size; ++i) {
        if ((*sides)[i] == side) Add(*nodes[i], g);
      }
    }
  }
}

// A hub is the only node of its group that has links to other groups, and the only one on its side
// of the group. So each link of another node joins that node and the hub.
void Engine::FindHubs() {
  std::vector<bool> has_several(groups_.size(), false);  // Nodes with links to other groups.
  for (const Link& link : links_) {
    if (link.wire->within_group_) continue;
    for (const Node* end : std::array{link.from, link.wire->consumer_}) {
      std::optional<uint32_t>& hub = groups_[end->group_]->hub;
      if (!hub) hub = end->index_in_group_;
      if (*hub != end->index_in_group_) has_several[end->group_] = true;
    }
  }
  for (uint32_t g = 0; g < groups_.size(); ++g) {
    Group& group = *groups_[g];
    if (!group.hub) continue;
    const size_t size = group.nodes.size();
    const size_t of_side =
        *group.hub < group.second_side ? group.second_side : size - group.second_side;
    if (group.second_side == 0 || of_side != 1 || has_several[g]) group.hub.reset();
  }
}

// Splits group `g`, whose nodes have these sides, unless they all have the same.
void Engine::Split(uint32_t g, const std::vector<uint8_t>& sides, std::vector<uint32_t>& part) {
  Group& group = *groups_[g];
  const std::vector<Node*> nodes(group.nodes.begin(), group.nodes.end());
  group.nodes.clear();
  group.side = sides.empty() ? 0 : sides[0];
  uint32_t other = g;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (sides[i] != group.side && other == g) {
      other = AddGroup();
      groups_[other]->side = sides[i];
      group.lookahead = Duration{kNever.ps};
      part.push_back(other);
    }
    Add(*nodes[i], sides[i] == group.side ? g : other);
  }
}

// Makes a wire announce its packets by mail if its ends are on different threads, and directly if
// not.
void Engine::SetDelivery(const Link& link) {
  WireTail& wire = *link.wire;
  WireHead& head = *wire.head_;
  Shard& from = *link.from->shard_;
  const Shard& to = *wire.consumer_->shard_;
  const bool crosses = &from != &to;
  wire.outbox_ = crosses ? &from.OutboxTo(to) : nullptr;
  head.known_ = crosses ? wire.tail_ : WireHead::kByArrival;
}

void Engine::Insert(TappedNode& tapped) {
  const Node& node = tapped.node();
  tapped.shard_ = node.shard_;
  tapped.group_ = node.group_;
  tapped.index_in_group_ = node.index_in_group_;
  tapped.side_ = node.side_;
  Node*& place = tapped.shard_->groups_[node.group_]->nodes[node.index_in_group_];
  tapped.RunInstead(*place);
  place = &tapped;
}

void Engine::MergeSides() {
  alternates_ = false;
  for (uint32_t g = 0; g < groups_.size(); ++g) {
    Group& group = *groups_[g];
    if (group.side == 0) continue;
    Shard& shard = *shard_of_group_[g];
    shard.Release(g);
    group.side = 0;
    for (Node* node : group.nodes) node->side_ = 0;
    shard.Take(g);
  }
}

}  // namespace heddle
