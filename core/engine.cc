// SPDX-License-Identifier: Apache-2.0

#include "core/engine.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>
#include <tuple>

#include "core/check.h"

namespace heddle {
namespace {

// If fewer nodes than this run in a window, the barrier costs more than the work.
constexpr int64_t kSparseVisits = 8;

// With more windows in a round, hosts would hold flows long before these start, and hardly any time
// would be saved.
constexpr int64_t kMostWindows = 16;

// The difference between threads that is tolerated, a share of the busiest thread's time.
constexpr double kTolerance = 0.06;

}  // namespace

Time Engine::Run(Conductor& conductor) {
  HEDDLE_CHECK(!shards_.empty(), "Place() comes before Run()");
  HEDDLE_CHECK(conductor_ == nullptr, "an engine runs once");
  conductor_ = &conductor;
  for (const std::unique_ptr<Group>& group : groups_) {
    for (Node* node : group->nodes) node->Wake(node->Due());
  }
  std::vector<std::jthread> helpers;
  try {
    for (size_t i = 1; i < shards_.size(); ++i) {
      helpers.emplace_back([this, i] { Work(*shards_[i]); });
    }
  } catch (...) {
    // Running threads must not wait for threads that could not be started.
    NoteFailure();
    for (size_t i = helpers.size(); i < shards_.size(); ++i) {
      if (!barrier_->Arrive()) continue;
      done_ = true;
      barrier_->Release();
    }
    helpers.clear();
    throw;
  }
  Work(*shards_[0]);
  helpers.clear();  // Joins.
  if (failure_) std::rethrow_exception(failure_);
  DeliverMail();
  return now_;
}

void Engine::Work(Shard& shard) {
  Patience patience(threads());
  for (;;) {
    if (barrier_->ArriveAndWait(patience)) {
      try {
        RunRoundsAlone();
      } catch (...) {
        NoteFailure();
      }
      done_ = done_ || failed_;
      barrier_->Release();
    }
    if (done_) return;
    try {
      RunRound(shard, patience);
    } catch (...) {
      NoteFailure();  // The other threads are running; all leave at the next barrier.
      shard.GiveUp();
    }
  }
}

// Called while an exception is handled. Run() throws the first one.
void Engine::NoteFailure() {
  if (!failed_.exchange(true)) failure_ = std::current_exception();
}

// Runs this shard's part of a round. A window begins here when the borders of all shards have run
// in the one before it.
void Engine::RunRound(Shard& shard, Patience& patience) {
  for (Shard::Turn turn = first_;; turn = After(turn)) {
    for (const std::unique_ptr<Shard>& other : shards_) {
      patience.Await(other->border_ran(), [&](uint64_t ran) { return ran >= turn.number - 1; });
    }
    if (failed_) return;
    balances_ ? shard.RunTimed(turn) : shard.Run(turn);
    if (turn.is_last) return;
  }
}

// The window that follows `turn` in its round.
Shard::Turn Engine::After(const Shard::Turn& turn) const {
  const Time end = std::min(turn.window.end + lookahead_, round_end_);
  return {.number = turn.number + 1,
          .side = 1 - turn.side,
          .window = {.end = end, .inner = end, .outer = turn.window.end},
          .is_last = end == round_end_};
}

// Runs rounds on this thread alone. Returns at the end, or when an open round has enough work for
// all threads.
void Engine::RunRoundsAlone() {
  while (!failed_) {
    if (last_.number > 0) conductor_->Close(last_.window.end);
    done_ = !OpenRound();
    if (done_) return;
    if (moves_) MoveAtRandom();
    if (shards_.size() == 1) return;
    if (IsDense(first_.side)) {
      if (balances_) Balance();
      return;
    }
    for (const std::unique_ptr<Shard>& shard : shards_) shard->Run(first_);
  }
}

// Returns true if many nodes ran in the last window of a side.
bool Engine::IsDense(size_t side) const {
  int64_t visits = 0;
  for (const std::unique_ptr<Shard>& shard : shards_) visits += shard->visits(side);
  return visits >= kSparseVisits;
}

// Chooses the side that runs next. `next` is when the conductor acts next.
size_t Engine::ChooseSide(Time next) {
  std::array<Time, kSides> due = {kNever, kNever};
  for (const std::unique_ptr<Shard>& shard : shards_) {
    for (size_t side = 0; side < kSides; ++side) due[side] = std::min(due[side], shard->Due(side));
  }
  if (alternates_) return ran_to_.Choose(due, lookahead(), next);
  ran_to_.sides.fill(std::min(due[0], next));
  return 0;
}

bool Engine::OpenRound() {
  const Time end = conductor_->End();
  HEDDLE_CHECK(end >= last_.window.end, "the run ends at {} ps, but a window has run to {} ps",
               end.ps, last_.window.end.ps);
  first_.number = last_.number + 1;
  first_.side = ChooseSide(conductor_->Next());
  const Time start = ran_to_.sides[first_.side];
  const Time other = ran_to_.sides[1 - first_.side];
  if (start >= end || start == kNever) {
    now_ = std::min(start, end);
    return false;
  }
  const Time allowed =
      std::min({other + lookahead_ * WindowsInRound(start, other), start + longest_, end});
  round_end_ = conductor_->Open(start, allowed);
  HEDDLE_CHECK(start < round_end_ && round_end_ <= allowed, "a window of [{}, {}) ps", start.ps,
               round_end_.ps);
  Window& window = first_.window;
  window.end = window.inner = std::min(other + lookahead_, round_end_);
  window.outer = alternates_ ? other : window.end;
  first_.is_last = window.end == round_end_;
  for (last_ = first_; !last_.is_last; last_ = After(last_)) {
  }
  ran_to_.sides[last_.side] = last_.window.end;
  if (alternates_) ran_to_.sides[1 - last_.side] = last_.window.outer;
  return true;
}

// The number of windows in a round in which the first side has run to `start` and the other one to
// `other`. `longest_` bounds rounds, too. If few nodes run, a round is one window, because the next
// may have nothing due.
int64_t Engine::WindowsInRound(Time start, Time other) const {
  if (!alternates_ || !IsDense(first_.side)) return 1;
  const Duration left = start + longest_ - other;
  return std::clamp<int64_t>(left.ps / lookahead_.ps, 1, kMostWindows);
}

// --- Moving groups from thread to thread ---

// Called when a round has been opened, before it runs. Placement has shared out the wires evenly,
// but traffic differs. If one thread is the busiest twice in a row, it passes groups on to the one
// with the least to do. Clocks decide which groups move. Results depend neither on clocks nor on
// moves.
void Engine::Balance() {
  const uint64_t windows = last_.number - first_.number + 1;
  sharing_[first_.side].windows += (windows + 1) / 2;
  sharing_[1 - first_.side].windows += windows / 2;
  for (size_t side = 0; side < kSides; ++side) {
    if (sharing_[side].windows >= sharing_[side].interval) BalanceSide(side);
  }
}

void Engine::BalanceSide(size_t side) {
  Sharing& sharing = sharing_[side];
  sharing.windows = 0;
  const auto [light, heavy] = std::ranges::minmax_element(
      shards_, {}, [&](const std::unique_ptr<Shard>& shard) { return shard->busy_[side]; });
  const auto difference = (*heavy)->busy_[side] - (*light)->busy_[side];
  const bool differs = difference > (*heavy)->busy_[side] * kTolerance;
  bool moved = false;
  if (differs && heavy->get() == sharing.busiest) {
    moved = Relieve(**heavy, **light, side);
    sharing.interval = moved ? kShortestInterval : std::min(2 * sharing.interval, kLongestInterval);
  }
  sharing.busiest = differs && !moved ? heavy->get() : nullptr;
  for (const std::unique_ptr<Shard>& shard : shards_) shard->busy_[side] = {};
  if (sharing.busiest != nullptr) return;
  for (const std::unique_ptr<Group>& group : groups_) {
    if (group->side == side) group->sampled = {};
  }
}

// Moves groups whose work is about half the difference, first those that have more wires to `light`
// than to `heavy`. Returns true if any has moved.
bool Engine::Relieve(Shard& heavy, Shard& light, size_t side) {
  using Seconds = std::chrono::duration<double>;
  struct Candidate {
    int64_t crossing;  // How many more wires would cross from thread to thread.
    uint32_t group;
    Seconds work;
  };
  std::vector<Candidate> candidates;
  Seconds all{0};  // Sampled on `heavy`.
  for (uint32_t g = 0; g < groups_.size(); ++g) {
    const Group& group = *groups_[g];
    if (group.side != side || shard_of_group_[g] != &heavy) continue;
    const Seconds work = group.sampled;
    if (work == Seconds{0}) continue;
    all += work;
    if (MayMove(g)) candidates.push_back({CrossingIfMoved(g, heavy, light), g, work});
  }
  std::ranges::sort(candidates, {},
                    [](const Candidate& c) { return std::tie(c.crossing, c.group); });
  const Seconds busy = heavy.busy_[side];
  Seconds left = (busy - Seconds(light.busy_[side])) / 2 / busy * all;
  bool moved = false;
  for (const Candidate& candidate : candidates) {
    if (candidate.work > 1.5 * left) continue;
    if (!moved) DeliverMail();
    moved = true;
    MoveGroup(candidate.group, light);
    left -= candidate.work;
  }
  return moved;
}

int64_t Engine::CrossingIfMoved(uint32_t g, const Shard& from, const Shard& to) const {
  int64_t crossing = 0;
  for (const uint32_t other : neighbours_of_group_[g]) {
    const Shard* its = shard_of_group_[other];
    crossing += (its == &from ? 1 : 0) - (its == &to ? 1 : 0);
  }
  return crossing;
}

bool Engine::MayMove(uint32_t g) const {
  return std::ranges::all_of(groups_[g]->nodes, &Node::MayMove);
}

void Engine::MoveGroup(uint32_t g, Shard& to) {
  Shard*& its = shard_of_group_[g];
  if (its == &to) return;
  its->Release(g);
  to.Take(g);
  its = &to;
  for (const uint32_t i : links_of_group_[g]) SetDelivery(links_[i]);
  FindBorder(g);
  for (const uint32_t other : neighbours_of_group_[g]) FindBorder(other);
}

void Engine::FindBorder(uint32_t g) {
  groups_[g]->is_border = std::ranges::any_of(neighbours_of_group_[g], [&](uint32_t other) {
    return shard_of_group_[other] != shard_of_group_[g];
  });
}

void Engine::MoveAtRandom() {
  DeliverMail();
  const auto below = [&](size_t n) { return moves_->Below(static_cast<uint32_t>(n)); };
  for (uint32_t left = below(3); left > 0; --left) {
    const uint32_t g = below(groups_.size());
    if (!groups_[g]->nodes.empty() && MayMove(g)) MoveGroup(g, *shards_[below(shards_.size())]);
  }
}

void Engine::DeliverMail() {
  for (const std::unique_ptr<Shard>& shard : shards_) shard->ReadMail(first_.number);
}

int64_t Engine::node_visits() const {
  return std::accumulate(
      shards_.begin(), shards_.end(), int64_t{0},
      [](int64_t sum, const std::unique_ptr<Shard>& shard) { return sum + shard->total_visits(); });
}

uint64_t Engine::packets_on_wires() const {
  uint64_t packets = 0;
  for (const Link& link : links_) {
    packets += link.wire->waiting();
  }
  return packets;
}

size_t Engine::wire_memory_bytes() const {
  size_t bytes = 0;
  for (const Link& link : links_) bytes += link.wire->memory_bytes();
  return bytes;
}

}  // namespace heddle
