// SPDX-License-Identifier: Apache-2.0

#include "core/shard.h"

#include <algorithm>
#include <array>

#include "core/check.h"

namespace heddle {
namespace {

// Groups are timed in one of so many windows of a side, because clocks take time.
constexpr uint64_t kSampled = 16;

}  // namespace

void Node::Wake(Time at) { shard_->Wake(*this, at); }

void Node::Post(const Letter& letter, Time due) {
  Outbox::Page& mail = shard_->OutboxTo(*letter.to->shard_).Writing();
  mail.letters.push_back(letter);
  Time& its = mail.due[letter.to->side_];
  its = std::min(its, due);
}

Shard::Shard(uint32_t index, const Groups& groups) : index_(index), groups_(groups) {
  for (DueTree& due : due_) due.Resize(groups.size());
  size_t most = 0;
  for (const std::unique_ptr<Group>& group : groups) most = std::max(most, group->nodes.size());
  due_nodes_.resize(most + 1);  // One is spare.
}

void Shard::Take(uint32_t g) {
  for (Node* node : groups_[g]->nodes) node->shard_ = this;
  due_[groups_[g]->side].Set(g, groups_[g]->due.Min());
}

void Shard::ReadMail(uint64_t number) {
  for (Outbox* inbox : inboxes_) {
    Outbox::Page& mail = inbox->Reading(number);
    for (const Outbox::GrownRing& grown : mail.grown) grown.head->Adopt(grown.ring);
    for (const Outbox::News& news : mail.news) {
      news.node->Announce(news.in_port, news.arrival, news.pushed);
    }
    for (const Letter& letter : mail.letters) {
      letter.to->OnLetter(letter);
      Wake(*letter.to, letter.to->Due());
    }
    mail.grown.clear();
    mail.news.clear();
    mail.letters.clear();
    mail.due.fill(kNever);
  }
}

void Shard::Run(const Turn& turn) {
  visits_[turn.side] = 0;
  ReadMail(turn.number);
  for (const std::unique_ptr<Outbox>& outbox : outboxes_) outbox->StartWindow(turn.number);
  if (due_[turn.side].Min() < turn.window.end) SetCheckTime(due_[turn.side].Min());
  CollectDue(turn);
  RunPart(border_, turn);
  for (const std::unique_ptr<Outbox>& outbox : outboxes_) {
    outbox->EndWindow();
    // From here on, the other threads may read the mail of this window.
    if (!turn.is_last) outbox->StartWindow(turn.number + 1);
  }
  TellBorderRan(turn.number);
  RunPart(inland_, turn);
  total_visits_ += visits_[turn.side];
}

void Shard::RunTimed(const Turn& turn) {
  samples_ = turn.number / kSides % kSampled == 0;
  const Clock::time_point start = Clock::now();
  Run(turn);
  busy_[turn.side] += Clock::now() - start;
  samples_ = false;
}

// Finds what is due in the window: the groups that run finer windows, and the nodes of the others.
void Shard::CollectDue(const Turn& turn) {
  for (Part* part : {&border_, &inland_}) {
    part->once.clear();
    part->fine.clear();
  }
  const Time end = turn.window.end;
  due_[turn.side].ForEachBefore(end, [&](size_t g) {
    Group& group = *groups_[g];
    Part& part = group.is_border ? border_ : inland_;
    if (group.due.Min() + group.lookahead < end) {
      part.fine.push_back(g);
      return;
    }
    const size_t due = group.due.CollectBefore(end, due_nodes_);
    for (size_t i = 0; i < due; ++i) {
      const uint32_t index = due_nodes_[i];
      part.once.push_back({group.nodes[index], static_cast<uint32_t>(g), index});
    }
  });
}

void Shard::RunPart(Part& part, const Turn& turn) {
  visits_[turn.side] += static_cast<int64_t>(part.once.size());
  RunOnce(part, turn);
  Sampler sampler(samples_);
  for (const size_t g : part.fine) {
    RunGroup(*groups_[g], turn.window);
    sampler.Charge(*groups_[g]);
    due_[turn.side].Set(g, groups_[g]->due.Min());
  }
}

// Runs the nodes whose groups need no finer windows. To prefetch them pays if they do not fit into
// the core's cache, which only a trial can tell.
void Shard::RunOnce(Part& part, const Turn& turn) {
  constexpr size_t kFewest = 16;  // Fewer nodes take too little time to be measured.
  FasterWay& prefetches = part.prefetches[turn.side];
  const size_t nodes = part.once.size();
  if (nodes < kFewest) return RunNodes(part.once, turn, prefetches.way());
  if (!prefetches.is_trial()) {
    prefetches.Skip();
    return RunNodes(part.once, turn, prefetches.way());
  }
  const Clock::time_point start = Clock::now();
  RunNodes(part.once, turn, prefetches.way());
  const std::chrono::duration<double> time = Clock::now() - start;
  prefetches.Add(time.count() / static_cast<double>(nodes));
}

// Prefetches, if at all, a node while those before it run.
void Shard::RunNodes(const std::vector<DueNode>& due, const Turn& turn, bool prefetches) {
  const Time end = turn.window.end;
  Sampler sampler(samples_);
  for (size_t i = 0; i < due.size(); ++i) {
    if (prefetches) {
      if (i + 3 < due.size()) due[i + 3].node->PrefetchSelf();
      if (i + 2 < due.size()) due[i + 2].node->PrefetchEnds();
      if (i + 1 < due.size()) due[i + 1].node->PrefetchParts(end);
    }
    const auto& [node, g, index] = due[i];
    Group& group = *groups_[g];
    node->Run(turn.window);
    group.due.Set(index, node->Due());
    sampler.Charge(group);
    if (i + 1 < due.size() && due[i + 1].group == g) continue;
    group.due.Refresh();
    due_[turn.side].Set(g, group.due.Min());
  }
}

void Shard::RunGroup(Group& group, const Window& window) {
  if (group.hub) RunThroughHub(group, window);
  if (group.second_side != 0) return RunGroupInTurn(group, window);
  while (group.due.Min() < window.end) {
    const Time start = group.due.Min();
    const Time end = std::min(start + group.lookahead, window.end);
    SetCheckTime(start);
    RunNodesOf(group, group.due.CollectBefore(end, due_nodes_), {end, end, window.outer});
    group.due.Refresh();
  }
}

// Runs a group of two sides to `outer.end`, the sides in turn.
void Shard::RunGroupInTurn(Group& group, const Window& outer) {
  const std::array<size_t, kSides + 1> bounds = {0, group.second_side, group.nodes.size()};
  RanTo ran_to{{group.due.Min(), group.due.Min()}};
  for (;;) {
    std::array<Time, kSides> due;
    for (size_t i = 0; i < kSides; ++i) due[i] = group.due.MinOf(bounds[i], bounds[i + 1]);
    if (std::min(due[0], due[1]) >= outer.end) break;
    const size_t side = ran_to.Choose(due, group.lookahead);
    const Time other = ran_to.sides[1 - side];
    const Window window{
        .end = std::min(other + group.lookahead, outer.end), .inner = other, .outer = outer.outer};
    SetCheckTime(ran_to.sides[side]);
    RunNodesOf(group,
               group.due.CollectBefore(window.end, bounds[side], bounds[side + 1], due_nodes_),
               window);
    ran_to.sides[side] = window.end;
  }
  group.due.Refresh();
}

// Runs a group with a hub, if at least half of the nodes around it are apart, until a packet
// arrives from outside that the hub cannot send to one of them.
void Shard::RunThroughHub(Group& group, const Window& outer) {
  const uint32_t hub = *group.hub;
  const size_t first = hub == 0 ? 1 : 0;
  const size_t last = first + group.nodes.size() - 1;
  const Time start = group.due.Min();
  const auto is_apart = [&](size_t i) { return group.nodes[i]->IsApart(start); };
  size_t apart = 0;
  for (size_t i = first; i < last; ++i) apart += is_apart(i) ? 1 : 0;
  if (2 * apart < last - first) return;
  Window window{.end = outer.end, .inner = start, .outer = outer.outer};
  SetCheckTime(start);
  window.end = group.nodes[hub]->RunInward(window);
  if (window.end == start) return;
  const size_t due = group.due.CollectBefore(window.end, first, last, due_nodes_);
  const auto end = due_nodes_.begin() + static_cast<ptrdiff_t>(due);
  const auto rest = std::partition(due_nodes_.begin(), end, is_apart);
  RunNodesOf(group, static_cast<size_t>(rest - due_nodes_.begin()), window);
  if (apart < last - first) {
    group.due.Set(hub, group.nodes[hub]->Due());
    group.due.Refresh();
    return RunGroupInTurn(group, window);
  }
  window.inner = window.end;
  due_nodes_[0] = hub;
  RunNodesOf(group, 1, window);
  group.due.Refresh();
}

// Runs the first `due` of due_nodes_.
void Shard::RunNodesOf(Group& group, size_t due, const Window& window) {
  for (size_t i = 0; i < due; ++i) {
    Node& node = *group.nodes[due_nodes_[i]];
    node.Run(window);
    group.due.Set(due_nodes_[i], node.Due());
  }
  visits_[group.side] += static_cast<int64_t>(due);
}

Time Shard::Due(size_t side) const {
  Time due = due_[side].Min();
  for (const std::unique_ptr<Outbox>& outbox : outboxes_) due = std::min(due, outbox->Due(side));
  return due;
}

}  // namespace heddle
