// SPDX-License-Identifier: Apache-2.0
// Follows the data of collectives. Every block of a buffer carries how often it contains the
// contribution of each rank; messages copy blocks or add them up. When all ranks have finished,
// each must have what the operation promises, each contribution exactly once.
//
// Which blocks a message has is defined here a second time, from the algorithms' definitions, and
// compared with the sizes and the receivers of the schedule's messages.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/random.h"
#include "tests/support/printers.h"
#include "workload/jobs/collective.h"
#include "workload/jobs/graph_tables.h"

namespace heddle::contributions_test {

using Op = CollectiveSettings::Op;
using Algorithm = CollectiveSettings::Algorithm;

// How often the contribution of each rank is in a block; empty: the rank does not have the block.
using Content = std::vector<int>;

struct Transfer {
  uint32_t to = 0;
  std::vector<uint32_t> blocks;
  bool adds = false;  // The receiver adds the blocks to its own; else they replace its own.
};

// Messages that a rank takes in the order of their steps.
struct LaneStep {
  uint32_t lane = 0;
  uint32_t step = 0;

  friend auto operator<=>(const LaneStep&, const LaneStep&) = default;
};

// An algorithm as its definition says.
class Definition {
 public:
  virtual ~Definition() = default;

  virtual uint32_t blocks() const = 0;
  virtual int64_t SizeOf(uint32_t block) const = 0;
  // What the message carries.
  virtual Transfer TransferOf(uint64_t index, const Message& message) const = 0;

  // Definitions in steps: the steps of each lane, a rank's message of a step, and the place of a
  // message. Without steps, a rank takes messages as they come.
  virtual bool has_steps() const { return false; }
  virtual uint32_t StepsOf(uint32_t /*lane*/) const { return 0; }
  virtual std::optional<Transfer> SendOf(uint32_t /*rank*/, LaneStep /*at*/) const { return {}; }
  virtual LaneStep PlaceOf(uint64_t /*index*/, const Message& message) const {
    return {0, message.step};
  }
};

// --- Executing a schedule with data ---

class DataPlay {
 public:
  DataPlay(const Schedule& schedule, const Definition& definition,
           std::vector<std::vector<Content>> buffers, uint64_t seed, bool reduces_slowly)
      : schedule_(schedule),
        definition_(definition),
        buffers_(std::move(buffers)),
        replaced_(schedule.ranks(), std::vector<bool>(definition.blocks())),
        reduces_slowly_(reduces_slowly),
        rng_(Rng::Stream(seed, "data_play", 0)) {
    for (uint32_t rank = 0; rank < schedule.ranks(); ++rank) {
      programs_.push_back(schedule.ProgramOf(rank));
      actions_.emplace_back(*this, rank);
    }
    for (uint32_t rank = 0; rank < schedule.ranks(); ++rank) {
      programs_[rank]->Begin(actions_[rank]);
    }
    while (!events_.empty()) {
      const size_t i = rng_.Below(static_cast<uint32_t>(events_.size()));
      const Event event = events_[i];
      events_[i] = events_.back();
      events_.pop_back();
      Handle(event);
    }
  }

  bool finished() const {
    return std::ranges::all_of(programs_, [](const auto& its) { return its->finished(); });
  }
  const Content& At(uint32_t rank, uint32_t block) const { return buffers_[rank][block]; }

 private:
  struct Event {
    enum Kind { kReceived, kSent, kComputed } kind;
    uint32_t rank;
    uint64_t number;
  };
  struct Data {
    Transfer transfer;
    std::vector<Content> contents;  // By block of the transfer, as they were when it was sent.
  };
  class Actions final : public RankActions {
   public:
    Actions(DataPlay& play, uint32_t rank) : play_(play), rank_(rank) {}
    void Send(uint64_t index) override { play_.Send(rank_, index); }
    void Compute(uint32_t /*stream*/, Duration /*time*/, uint64_t op) override {
      play_.events_.push_back({Event::kComputed, rank_, op});
    }

   private:
    DataPlay& play_;
    const uint32_t rank_;
  };

  void Send(uint32_t rank, uint64_t index) {
    const Message message = schedule_.MessageOf(index);
    Data data{definition_.TransferOf(index, message), {}};
    ASSERT_EQ(message.dst, data.transfer.to) << "message " << index;
    int64_t bytes = 0;
    for (const uint32_t block : data.transfer.blocks) {
      bytes += definition_.SizeOf(block);
      data.contents.push_back(buffers_[rank][block]);
      ASSERT_FALSE(data.contents.back().empty()) << "rank " << rank << " sends what it has not";
    }
    ASSERT_EQ(message.bytes, bytes) << "message " << index;
    under_way_.emplace(index, std::move(data));
    events_.push_back({Event::kReceived, message.dst, index});
    if (schedule_.waits_for_sends()) events_.push_back({Event::kSent, rank, index});
    if (!definition_.has_steps()) return;
    const LaneStep at = definition_.PlaceOf(index, message);
    lanes_[{rank, at.lane}].sent.insert(at.step);
    TakeInOrder(rank, at.lane);
  }

  void Handle(const Event& event) {
    RankProgram& program = *programs_[event.rank];
    RankActions& actions = actions_[event.rank];
    switch (event.kind) {
      case Event::kReceived:
        // The program asks for a computation if it is to add up.
        if (!IsAddedUpSlowly(event.number)) Arrive(event.rank, event.number);
        return program.OnReceived(event.number, actions);
      case Event::kSent:
        return program.OnSent(event.number, actions);
      case Event::kComputed:
        Arrive(event.rank, event.number);  // Computations have the numbers of their messages.
        return program.OnComputed(event.number, actions);
    }
  }

  bool IsAddedUpSlowly(uint64_t index) const {
    return reduces_slowly_ && under_way_.at(index).transfer.adds;
  }

  void Arrive(uint32_t rank, uint64_t index) {
    const auto found = under_way_.find(index);
    ASSERT_NE(found, under_way_.end()) << "computation " << index << " is of no message";
    Data data = std::move(found->second);
    under_way_.erase(found);
    if (!definition_.has_steps()) return Take(rank, data);
    const LaneStep at = definition_.PlaceOf(index, schedule_.MessageOf(index));
    lanes_[{rank, at.lane}].arrived.emplace(at.step, std::move(data));
    TakeInOrder(rank, at.lane);
  }

  // A rank takes a step's message when it has taken those of earlier steps and has sent its own.
  void TakeInOrder(uint32_t rank, uint32_t number) {
    Lane& lane = lanes_[{rank, number}];
    while (lane.next < definition_.StepsOf(number)) {
      const LaneStep at{number, lane.next};
      if (definition_.SendOf(rank, at) && !lane.sent.contains(at.step)) return;
      if (Receives(rank, at)) {
        const auto found = lane.arrived.find(at.step);
        if (found == lane.arrived.end()) return;
        Take(rank, found->second);
        lane.arrived.erase(found);
      }
      ++lane.next;
    }
  }

  bool Receives(uint32_t rank, LaneStep at) {
    const auto known = receivers_.find(at);
    if (known != receivers_.end()) return known->second.contains(rank);
    std::set<uint32_t>& receivers = receivers_[at];
    for (uint32_t src = 0; src < schedule_.ranks(); ++src) {
      const std::optional<Transfer> sent = definition_.SendOf(src, at);
      if (!sent) continue;
      EXPECT_TRUE(receivers.insert(sent->to).second) << "two messages in a step";
    }
    return receivers.contains(rank);
  }

  void Take(uint32_t rank, const Data& data) {
    for (size_t i = 0; i < data.contents.size(); ++i) {
      const uint32_t block = data.transfer.blocks[i];
      Content& own = buffers_[rank][block];
      if (data.transfer.adds) {
        ASSERT_EQ(own.size(), data.contents[i].size());
        for (size_t from = 0; from < own.size(); ++from) own[from] += data.contents[i][from];
        continue;
      }
      EXPECT_FALSE(replaced_[rank][block])
          << "rank " << rank << " gets block " << block << " twice";
      replaced_[rank][block] = true;
      own = data.contents[i];
    }
  }

  struct Lane {
    uint32_t next = 0;
    std::set<uint32_t> sent;
    std::map<uint32_t, Data> arrived;
  };

  const Schedule& schedule_;
  const Definition& definition_;
  std::vector<std::vector<Content>> buffers_;  // By rank and block.
  std::vector<std::vector<bool>> replaced_;    // Likewise: it has come from another rank.
  const bool reduces_slowly_;
  Rng rng_;
  std::vector<std::unique_ptr<RankProgram>> programs_;
  std::vector<Actions> actions_;
  std::vector<Event> events_;
  std::map<uint64_t, Data> under_way_;
  std::map<std::pair<uint32_t, uint32_t>, Lane> lanes_;  // By rank and lane.
  std::map<LaneStep, std::set<uint32_t>> receivers_;
};

// --- Algorithms in steps ---

// One lane of an algorithm, on blocks numbered from 0.
struct StepDefinition {
  uint32_t steps = 0;
  std::function<std::optional<Transfer>(uint32_t rank, uint32_t step)> send;
  std::vector<int64_t> sizes;  // By block.
};

std::vector<int64_t> EvenSizes(int64_t bytes, uint32_t count) {
  std::vector<int64_t> sizes(count, bytes / count);
  for (uint32_t block = 0; block < bytes % count; ++block) ++sizes[block];
  return sizes;
}

// Each lane has blocks of its own, behind those of the lanes before.
class InSteps final : public Definition {
 public:
  // `lane_of`: the number of a message's lane.
  InSteps(std::vector<StepDefinition> lanes, std::function<uint32_t(const Message&)> lane_of)
      : lanes_(std::move(lanes)), lane_of_(std::move(lane_of)) {
    for (const StepDefinition& lane : lanes_) {
      first_.push_back(static_cast<uint32_t>(sizes_.size()));
      sizes_.insert(sizes_.end(), lane.sizes.begin(), lane.sizes.end());
    }
  }

  uint32_t blocks() const override { return static_cast<uint32_t>(sizes_.size()); }
  int64_t SizeOf(uint32_t block) const override { return sizes_[block]; }
  bool has_steps() const override { return true; }
  uint32_t StepsOf(uint32_t lane) const override { return lanes_[lane].steps; }
  std::optional<Transfer> SendOf(uint32_t rank, LaneStep at) const override {
    std::optional<Transfer> sent = lanes_[at.lane].send(rank, at.step);
    if (!sent) return sent;
    for (uint32_t& block : sent->blocks) block += first_[at.lane];
    return sent;
  }
  LaneStep PlaceOf(uint64_t /*index*/, const Message& message) const override {
    return {lane_of_(message), message.step};
  }
  Transfer TransferOf(uint64_t index, const Message& message) const override {
    const std::optional<Transfer> sent = SendOf(message.src, PlaceOf(index, message));
    EXPECT_TRUE(sent) << "rank " << message.src << " sends nothing in step " << message.step;
    return sent.value_or(Transfer{});
  }
  uint32_t lanes() const { return static_cast<uint32_t>(lanes_.size()); }
  uint32_t FirstOf(uint32_t lane) const { return first_[lane]; }

 private:
  std::vector<StepDefinition> lanes_;
  std::function<uint32_t(const Message&)> lane_of_;
  std::vector<uint32_t> first_;  // By lane.
  std::vector<int64_t> sizes_;
};

uint32_t Log2Up(uint32_t n) { return static_cast<uint32_t>(std::bit_width(n - 1)); }

enum class Half { kBoth, kReduceScatter, kAllGather };

// Positions round the ring; `stride` may be n - 1, for the other way round.
StepDefinition Ring(uint32_t n, int64_t bytes, Half half, uint32_t stride) {
  std::vector<uint32_t> position(n);
  for (uint32_t p = 0; p < n; ++p) position[uint64_t{p} * stride % n] = p;
  const uint32_t steps = half == Half::kBoth ? 2 * (n - 1) : n - 1;
  const uint32_t ahead = half == Half::kReduceScatter ? 1 : 0;
  return {steps,
          [=](uint32_t rank, uint32_t step) {
            const uint32_t p = position[rank];
            const uint32_t to = static_cast<uint32_t>(uint64_t{p + 1} * stride % n);
            const uint32_t block = (p + 2 * n - step - ahead) % n;
            const bool adds = half != Half::kAllGather && step < n - 1;
            return std::optional(Transfer{to, {block}, adds});
          },
          EvenSizes(bytes, n)};
}

std::vector<uint32_t> Range(uint32_t first, uint32_t end) {
  std::vector<uint32_t> range(end - first);
  std::iota(range.begin(), range.end(), first);
  return range;
}

// An algorithm of 2^q ranks, with the others folded into it before and unfolded behind.
StepDefinition Folded(uint32_t n, const std::function<StepDefinition(uint32_t m)>& make) {
  const uint32_t m = std::bit_floor(n);
  const uint32_t extra = n - m;
  StepDefinition inner = make(m);
  if (extra == 0) return inner;
  const uint32_t steps = inner.steps + 2;
  const auto all = Range(0, static_cast<uint32_t>(inner.sizes.size()));
  return {steps,
          [=](uint32_t rank, uint32_t step) -> std::optional<Transfer> {
            const bool is_paired = rank < 2 * extra;
            const bool gives = is_paired && rank % 2 == 0;
            if (step == 0)
              return gives ? std::optional(Transfer{rank + 1, all, true}) : std::nullopt;
            if (step == steps - 1) {
              if (!is_paired || gives) return std::nullopt;
              return Transfer{rank - 1, all, false};
            }
            if (gives) return std::nullopt;
            auto sent = inner.send(is_paired ? rank / 2 : rank - extra, step - 1);
            sent->to = sent->to < extra ? 2 * sent->to + 1 : sent->to + extra;
            return sent;
          },
          inner.sizes};
}

// Ranks keep half of what they have in each step, then give it back in the opposite order.
StepDefinition HalvingDoubling(uint32_t m, int64_t bytes) {
  struct Exchange {
    uint32_t partner;
    std::vector<uint32_t> given;
    std::vector<uint32_t> kept;
  };
  std::vector<std::vector<Exchange>> exchanges(m);  // By rank and step of the first half.
  for (uint32_t rank = 0; rank < m; ++rank) {
    for (uint32_t lo = 0, hi = m; hi - lo > 1;) {
      const uint32_t mid = (lo + hi) / 2;
      const bool is_low = rank < mid;
      const uint32_t partner = is_low ? rank + (hi - lo) / 2 : rank - (hi - lo) / 2;
      Exchange its{partner, is_low ? Range(mid, hi) : Range(lo, mid),
                   is_low ? Range(lo, mid) : Range(mid, hi)};
      exchanges[rank].push_back(std::move(its));
      (is_low ? hi : lo) = mid;
    }
  }
  const uint32_t q = Log2Up(m);
  return {2 * q,
          [=](uint32_t rank, uint32_t step) {
            if (step < q) {
              const Exchange& its = exchanges[rank][step];
              return std::optional(Transfer{its.partner, its.given, true});
            }
            const Exchange& its = exchanges[rank][2 * q - 1 - step];
            return std::optional(Transfer{its.partner, its.kept, false});
          },
          EvenSizes(bytes, m)};
}

StepDefinition RecursiveDoubling(uint32_t m, int64_t bytes) {
  return {Log2Up(m),
          [](uint32_t rank, uint32_t step) {
            return std::optional(Transfer{rank ^ (1u << step), {0}, true});
          },
          {bytes}};
}

// Block b goes from its owner at distance 0 to all distances; the one at distance s gets it from
// the one at distance s - (lowest bit of s). A step is a distance to the receiver, and the
// distances of senders. `most`: blocks in a message; 0: any number.
StepDefinition Pat(uint32_t n, int64_t bytes, bool scatters, uint32_t most) {
  struct Step {
    uint32_t d;
    std::vector<uint32_t> from;  // Distances to the owners.
  };
  std::vector<Step> steps;
  const uint32_t size = std::bit_ceil(n);
  const uint32_t group = most == 0 ? std::min(size, 2u) : size / most;
  const auto add = [&](uint32_t d, uint32_t first, uint32_t every) {
    Step step{d, {}};
    for (uint32_t s = first; s + d < n; s += every) step.from.push_back(s);
    if (!step.from.empty()) steps.push_back(std::move(step));
  };
  for (uint32_t d = size / 2; d >= group && d > 0; d /= 2) add(d, 0, 2 * d);
  // Offsets within a group, in preorder: a + d for each bit d below the lowest bit of a.
  const std::function<void(uint32_t)> visit = [&](uint32_t a) {
    const uint32_t limit = a == 0 ? group : a & (~a + 1);
    for (uint32_t d = group / 2; d > 0; d /= 2) {
      if (d >= limit) continue;
      add(d, a, group);
      visit(a + d);
    }
  };
  visit(0);
  if (scatters) std::ranges::reverse(steps);
  return {static_cast<uint32_t>(steps.size()),
          [=](uint32_t rank, uint32_t number) {
            const Step& step = steps[number];
            const uint32_t to = scatters ? (rank + n - step.d) % n : (rank + step.d) % n;
            Transfer sent{to, {}, scatters};
            for (const uint32_t s : step.from) {
              // Scattering runs backwards: from distance s + d to distance s.
              const uint32_t distance = scatters ? s + step.d : s;
              sent.blocks.push_back((rank + n - distance) % n);
            }
            return std::optional(sent);
          },
          EvenSizes(bytes, n)};
}

StepDefinition BruckAllGather(uint32_t n, int64_t bytes) {
  return {Log2Up(n),
          [n](uint32_t rank, uint32_t step) {
            Transfer sent{(rank + n - (1u << step)) % n, {}, false};
            const uint32_t count = std::min(1u << step, n - (1u << step));
            for (uint32_t i = 0; i < count; ++i) sent.blocks.push_back((rank + i) % n);
            return std::optional(sent);
          },
          EvenSizes(bytes, n)};
}

// Blocks of all-to-all operations: what rank `src` has for rank `dst`.
uint32_t PairOf(uint32_t src, uint32_t dst, uint32_t n) { return src * n + dst; }

std::vector<int64_t> PairSizes(uint32_t n, int64_t bytes, int64_t least) {
  std::vector<int64_t> sizes;
  const std::vector<int64_t> to = EvenSizes(bytes, n);
  for (uint32_t src = 0; src < n; ++src) {
    for (uint32_t dst = 0; dst < n; ++dst) sizes.push_back(std::max(to[dst], least));
  }
  return sizes;
}

// A block for the rank at distance x moves on by each bit of x, the low ones first.
StepDefinition BruckAllToAll(uint32_t n, int64_t bytes) {
  return {Log2Up(n),
          [n](uint32_t rank, uint32_t step) {
            const uint32_t bit = 1u << step;
            Transfer sent{(rank + bit) % n, {}, false};
            for (uint32_t x = 1; x < n; ++x) {
              if ((x & bit) == 0) continue;
              const uint32_t src = (rank + n - x % bit) % n;
              sent.blocks.push_back(PairOf(src, (src + x) % n, n));
            }
            return std::optional(sent);
          },
          PairSizes(n, bytes, 0)};
}

StepDefinition Exchanges(uint32_t n, int64_t bytes, bool pairwise) {
  return {n - 1,
          [=](uint32_t rank, uint32_t step) {
            const uint32_t to = pairwise ? rank ^ (step + 1) : (rank + step + 1) % n;
            return std::optional(Transfer{to, {PairOf(rank, to, n)}, false});
          },
          PairSizes(n, bytes, 0)};
}

StepDefinition Binomial(uint32_t n, int64_t bytes, uint32_t root) {
  return {Log2Up(n),
          [=](uint32_t rank, uint32_t step) -> std::optional<Transfer> {
            const uint32_t v = (rank + n - root) % n;
            const uint32_t to = v + (1u << step);
            if (v >= 1u << step || to >= n) return std::nullopt;
            return Transfer{(to + root) % n, {0}, false};
          },
          {bytes}};
}

// A block is what a rank knows of who has come to the barrier.
StepDefinition Dissemination(uint32_t n) {
  return {Log2Up(n),
          [n](uint32_t rank, uint32_t step) {
            return std::optional(Transfer{(rank + (1u << step)) % n, {0}, true});
          },
          {1}};
}

// --- Algorithms without steps ---

// Trees and chains: each piece is a block. Step 0 goes up and adds, step 1 goes down. Any rank may
// be the receiver: whether it is the right one shows in the result.
class OverTrees final : public Definition {
 public:
  OverTrees(uint32_t n, std::vector<int64_t> pieces) : n_(n), pieces_(std::move(pieces)) {}

  uint32_t blocks() const override { return static_cast<uint32_t>(pieces_.size()); }
  int64_t SizeOf(uint32_t block) const override { return pieces_[block]; }
  Transfer TransferOf(uint64_t index, const Message& message) const override {
    return {message.dst, {static_cast<uint32_t>(index / (2 * n_))}, message.step == 0};
  }

 private:
  const uint32_t n_;
  const std::vector<int64_t> pieces_;
};

// A message from each rank to each.
class Direct final : public Definition {
 public:
  Direct(uint32_t n, int64_t bytes) : n_(n), sizes_(PairSizes(n, bytes, 1)) {}

  uint32_t blocks() const override { return n_ * n_; }
  int64_t SizeOf(uint32_t block) const override { return sizes_[block]; }
  Transfer TransferOf(uint64_t /*index*/, const Message& message) const override {
    return {message.dst, {PairOf(message.src, message.dst, n_)}, false};
  }

 private:
  const uint32_t n_;
  const std::vector<int64_t> sizes_;
};

// Rank (h, i) hands what it has for (h', j) to (h, j), which sends it on.
class OverRails final : public Definition {
 public:
  OverRails(uint32_t n, uint32_t server, int64_t bytes, bool merges)
      : n_(n), g_(server), merges_(merges), sizes_(PairSizes(n, bytes, 1)) {}

  uint32_t blocks() const override { return n_ * n_; }
  int64_t SizeOf(uint32_t block) const override { return sizes_[block]; }
  Transfer TransferOf(uint64_t /*index*/, const Message& its) const override {
    Transfer sent{its.dst, {}, false};
    switch (its.step) {
      case 0:  // For the receiver's counterpart in the server that the turn names.
        sent.blocks = {PairOf(its.src, (its.dst + (its.turn + 1) * g_) % n_, n_)};
        break;
      case 1:  // From the rank of the server that the turn names, or from all.
        for (uint32_t back = 0; back < g_; ++back) {
          if (!merges_ && back != its.turn) continue;
          const uint32_t src = its.src / g_ * g_ + (its.src % g_ + g_ - back) % g_;
          sent.blocks.push_back(PairOf(src, its.dst, n_));
        }
        break;
      default:  // Within a server.
        sent.blocks = {PairOf(its.src, its.dst, n_)};
    }
    return sent;
  }

 private:
  const uint32_t n_;
  const uint32_t g_;
  const bool merges_;
  const std::vector<int64_t> sizes_;
};

// Three rings one behind the other: reduce-scatter in servers, all-reduce among ranks with the same
// number in their servers, all-gather in servers. Each collective is a lane; a block of a server's
// ring consists of the blocks of the ring among servers.
class Hierarchical final : public Definition {
 public:
  Hierarchical(const GraphTables& tables, uint32_t n, uint32_t server, int64_t bytes)
      : tables_(tables), g_(server), servers_(n / server) {
    for (const int64_t block : EvenSizes(bytes, g_)) {
      const std::vector<int64_t> parts = EvenSizes(block, servers_);
      sizes_.insert(sizes_.end(), parts.begin(), parts.end());
    }
    scatter_ = Ring(g_, bytes, Half::kReduceScatter, 1);
    reduce_ = Ring(servers_, 0, Half::kBoth, 1);
    gather_ = Ring(g_, bytes, Half::kAllGather, 1);
  }

  uint32_t blocks() const override { return g_ * servers_; }
  int64_t SizeOf(uint32_t block) const override { return sizes_[block]; }
  bool has_steps() const override { return true; }
  uint32_t StepsOf(uint32_t lane) const override { return RingOf(lane).steps; }
  LaneStep PlaceOf(uint64_t index, const Message& message) const override {
    return {tables_.CollectiveOf(index), message.step};
  }
  Transfer TransferOf(uint64_t index, const Message& message) const override {
    const std::optional<Transfer> sent = SendOf(message.src, PlaceOf(index, message));
    EXPECT_TRUE(sent) << "rank " << message.src << " has no part in this collective";
    return sent.value_or(Transfer{});
  }
  std::optional<Transfer> SendOf(uint32_t rank, LaneStep at) const override {
    if (IsAmongServers(at.lane)) {
      const uint32_t number = at.lane - servers_;
      if (rank % g_ != number) return std::nullopt;
      auto sent = reduce_.send(rank / g_, at.step);
      sent->to = sent->to * g_ + number;
      sent->blocks = {number * servers_ + sent->blocks.front()};
      return sent;
    }
    const uint32_t server = at.lane < servers_ ? at.lane : at.lane - servers_ - g_;
    if (rank / g_ != server) return std::nullopt;
    auto sent = RingOf(at.lane).send(rank % g_, at.step);
    sent->to += server * g_;
    const uint32_t block = sent->blocks.front();
    sent->blocks = Range(block * servers_, (block + 1) * servers_);
    return sent;
  }

 private:
  bool IsAmongServers(uint32_t lane) const { return lane >= servers_ && lane < servers_ + g_; }
  const StepDefinition& RingOf(uint32_t lane) const {
    return lane < servers_ ? scatter_ : IsAmongServers(lane) ? reduce_ : gather_;
  }

  const GraphTables& tables_;
  const uint32_t g_;
  const uint32_t servers_;
  std::vector<int64_t> sizes_;
  StepDefinition scatter_;
  StepDefinition reduce_;
  StepDefinition gather_;
};

// --- What ranks have and must have ---

std::vector<int64_t> Cut(int64_t bytes, std::optional<Bytes> most) {
  if (!most || bytes <= most->count) return {bytes};
  std::vector<int64_t> pieces;
  for (; bytes > 0; bytes -= pieces.back()) pieces.push_back(std::min(bytes, most->count));
  return pieces;
}

StepDefinition StepsOf(const CollectiveSettings& its, uint32_t n, int64_t bytes, uint32_t stride) {
  const uint32_t root = static_cast<uint32_t>(its.root);
  const Half half = its.op == Op::kAllReduce   ? Half::kBoth
                    : its.op == Op::kAllGather ? Half::kAllGather
                                               : Half::kReduceScatter;
  switch (its.algorithm) {
    case Algorithm::kRing:
    case Algorithm::kBidirectional:
      return Ring(n, bytes, half, stride);
    case Algorithm::kHalvingDoubling:
      return Folded(n, [bytes](uint32_t m) { return HalvingDoubling(m, bytes); });
    case Algorithm::kRecursiveDoubling:
      return Folded(n, [bytes](uint32_t m) { return RecursiveDoubling(m, bytes); });
    case Algorithm::kPat:
      return Pat(n, bytes, its.op == Op::kReduceScatter,
                 static_cast<uint32_t>(its.aggregate.value_or(0)));
    case Algorithm::kBruck:
      return its.op == Op::kAllToAll ? BruckAllToAll(n, bytes) : BruckAllGather(n, bytes);
    case Algorithm::kPairwise:
    case Algorithm::kShift:
      return Exchanges(n, bytes, its.algorithm == Algorithm::kPairwise);
    case Algorithm::kBinomial:
      return Binomial(n, bytes, root);
    default:
      return Dissemination(n);
  }
}

// All lanes of an algorithm in steps: by channel, then direction, then piece.
std::unique_ptr<Definition> LanesOf(const CollectiveSettings& its, uint32_t n) {
  const uint32_t channels = static_cast<uint32_t>(its.channels.value_or(1));
  const uint32_t ways = its.algorithm == Algorithm::kBidirectional ? 2 : 1;
  std::vector<StepDefinition> lanes;
  std::vector<uint32_t> first;  // By channel and direction.
  uint32_t stride = 0;
  for (const int64_t part : EvenSizes(its.size.count, channels)) {
    const bool strides = its.ring_order == CollectiveSettings::RingOrder::kStride;
    do ++stride;
    while (strides && std::gcd(stride, n) != 1);
    const std::vector<int64_t> halves = EvenSizes(part, ways);
    for (uint32_t way = 0; way < ways; ++way) {
      first.push_back(static_cast<uint32_t>(lanes.size()));
      std::optional<Bytes> most;
      if (its.chunk) most = Bytes{its.chunk->count * n};
      const uint32_t along = strides ? stride : 1;
      for (const int64_t piece : Cut(halves[way], most)) {
        lanes.push_back(StepsOf(its, n, piece, way == 0 ? along : n - along));
      }
    }
  }
  const uint32_t steps = lanes.front().steps;
  return std::make_unique<InSteps>(std::move(lanes), [first, steps](const Message& message) {
    return first[message.channel] + (message.turn - message.step) / steps;
  });
}

std::unique_ptr<Definition> TreesOf(const CollectiveSettings& its, uint32_t n) {
  const uint32_t trees = its.algorithm == Algorithm::kDoubleTree ? 2 : 1;
  std::vector<int64_t> pieces;
  const uint32_t channels = static_cast<uint32_t>(its.channels.value_or(1));
  for (const int64_t part : EvenSizes(its.size.count, channels)) {
    for (const int64_t half : EvenSizes(part, trees)) {
      const std::vector<int64_t> cut = Cut(half, its.chunk);
      pieces.insert(pieces.end(), cut.begin(), cut.end());
    }
  }
  return std::make_unique<OverTrees>(n, std::move(pieces));
}

std::unique_ptr<Definition> DefinitionOf(const CollectiveSettings& its, uint32_t n,
                                         const Schedule& schedule) {
  const uint32_t server = static_cast<uint32_t>(its.group_size.value_or(1));
  switch (its.algorithm) {
    case Algorithm::kTree:
    case Algorithm::kDoubleTree:
    case Algorithm::kChain:
      return TreesOf(its, n);
    case Algorithm::kDirect:
      return std::make_unique<Direct>(n, its.size.count);
    case Algorithm::kRail:
      return std::make_unique<OverRails>(n, server, its.size.count, its.merge);
    case Algorithm::kHierarchical:
      return std::make_unique<Hierarchical>(*schedule.graph(), n, server, its.size.count);
    default:
      return LanesOf(its, n);
  }
}

Content Of(uint32_t rank, uint32_t n) {
  Content one(n, 0);
  one[rank] = 1;
  return one;
}

// A block's owner in all-gather and reduce-scatter; lanes have n blocks each.
std::vector<std::vector<Content>> BuffersBefore(const CollectiveSettings& its, uint32_t n,
                                                uint32_t blocks) {
  std::vector<std::vector<Content>> buffers(n, std::vector<Content>(blocks));
  for (uint32_t rank = 0; rank < n; ++rank) {
    for (uint32_t block = 0; block < blocks; ++block) {
      const bool has = its.op == Op::kAllGather   ? block % n == rank
                       : its.op == Op::kAllToAll  ? block / n == rank
                       : its.op == Op::kBroadcast ? rank == its.root
                                                  : true;
      if (has) buffers[rank][block] = Of(rank, n);
    }
  }
  return buffers;
}

// What a rank must have of a block in the end; nothing: it may have anything.
std::optional<Content> ContentAfter(const CollectiveSettings& its, uint32_t n, uint32_t rank,
                                    uint32_t block) {
  switch (its.op) {
    case Op::kAllReduce:
      return Content(n, 1);
    case Op::kReduceScatter:
      return block % n == rank ? std::optional(Content(n, 1)) : std::nullopt;
    case Op::kAllGather:
      return Of(block % n, n);
    case Op::kAllToAll:
      return block % n == rank ? std::optional(Of(block / n, n)) : std::nullopt;
    case Op::kBroadcast:
      return Of(static_cast<uint32_t>(its.root), n);
    case Op::kBarrier:
      break;
  }
  return std::nullopt;
}

void ExpectComplete(const CollectiveSettings& its, uint32_t n, uint64_t seed, bool slowly) {
  CollectiveSettings settings = its;
  if (slowly) settings.reduce_rate = 100_Gbps;
  const std::unique_ptr<Schedule> schedule = settings.Make(n, seed, 1);
  const std::unique_ptr<Definition> definition = DefinitionOf(its, n, *schedule);
  const DataPlay play(*schedule, *definition, BuffersBefore(its, n, definition->blocks()), seed,
                      slowly);
  ASSERT_TRUE(play.finished());
  for (uint32_t rank = 0; rank < n; ++rank) {
    for (uint32_t block = 0; block < definition->blocks(); ++block) {
      const Content& has = play.At(rank, block);
      if (its.op == Op::kBarrier) {
        EXPECT_EQ(std::ranges::count(has, 0), 0) << "rank " << rank << " goes on too early";
        continue;
      }
      const std::optional<Content> wanted = ContentAfter(its, n, rank, block);
      if (!wanted) continue;
      ASSERT_EQ(has, *wanted) << "block " << block << " at rank " << rank;
    }
  }
}

// --- Cases ---

struct Case {
  std::string name;
  Op op;
  Algorithm algorithm;
  std::function<void(CollectiveSettings&, uint32_t n)> more = nullptr;
};

std::vector<Case> Cases() {
  const auto channels = [](int64_t count, bool strides) {
    return [=](CollectiveSettings& its, uint32_t /*n*/) {
      its.channels = count;
      if (strides) its.ring_order = CollectiveSettings::RingOrder::kStride;
    };
  };
  const auto in_pieces = [](CollectiveSettings& its, uint32_t n) {
    its.channels = 2;
    its.chunk = Bytes{its.size.count / n / 5 + 1};
  };
  const auto in_servers = [](bool merges) {
    return [=](CollectiveSettings& its, uint32_t n) {
      its.group_size = n % 3 == 0 ? 3 : 2;
      its.merge = merges;
    };
  };
  const auto from_another = [](CollectiveSettings& its, uint32_t n) { its.root = n / 2; };
  const auto aggregate = [](int64_t most) {
    return [=](CollectiveSettings& its, uint32_t n) {
      its.aggregate = std::min<int64_t>(most, std::bit_ceil(n) / 2);
    };
  };
  const auto peers = [](CollectiveSettings::PeerOrder order) {
    return [=](CollectiveSettings& its, uint32_t /*n*/) {
      its.peer_order = order;
      its.window = 3;
    };
  };
  return {
      {"all-reduce ring", Op::kAllReduce, Algorithm::kRing},
      {"all-reduce ring with strides", Op::kAllReduce, Algorithm::kRing, channels(3, true)},
      {"all-reduce ring in pieces", Op::kAllReduce, Algorithm::kRing, in_pieces},
      {"all-reduce bidirectional", Op::kAllReduce, Algorithm::kBidirectional},
      {"all-reduce bidirectional in pieces", Op::kAllReduce, Algorithm::kBidirectional, in_pieces},
      {"all-reduce halving_doubling", Op::kAllReduce, Algorithm::kHalvingDoubling},
      {"all-reduce recursive_doubling", Op::kAllReduce, Algorithm::kRecursiveDoubling},
      {"all-reduce tree", Op::kAllReduce, Algorithm::kTree},
      {"all-reduce tree in pieces", Op::kAllReduce, Algorithm::kTree, in_pieces},
      {"all-reduce double_tree", Op::kAllReduce, Algorithm::kDoubleTree},
      {"all-reduce double_tree in pieces", Op::kAllReduce, Algorithm::kDoubleTree, in_pieces},
      {"all-reduce hierarchical", Op::kAllReduce, Algorithm::kHierarchical, in_servers(false)},
      {"all-gather ring", Op::kAllGather, Algorithm::kRing},
      {"all-gather ring with channels", Op::kAllGather, Algorithm::kRing, channels(2, false)},
      {"all-gather pat", Op::kAllGather, Algorithm::kPat},
      {"all-gather pat, one block", Op::kAllGather, Algorithm::kPat, aggregate(1)},
      {"all-gather pat, four blocks", Op::kAllGather, Algorithm::kPat, aggregate(4)},
      {"all-gather bruck", Op::kAllGather, Algorithm::kBruck},
      {"reduce-scatter ring", Op::kReduceScatter, Algorithm::kRing},
      {"reduce-scatter pat", Op::kReduceScatter, Algorithm::kPat},
      {"reduce-scatter pat, one block", Op::kReduceScatter, Algorithm::kPat, aggregate(1)},
      {"reduce-scatter pat, four blocks", Op::kReduceScatter, Algorithm::kPat, aggregate(4)},
      {"all-to-all direct", Op::kAllToAll, Algorithm::kDirect},
      {"all-to-all direct, nccl", Op::kAllToAll, Algorithm::kDirect,
       peers(CollectiveSettings::PeerOrder::kNccl)},
      {"all-to-all direct, random", Op::kAllToAll, Algorithm::kDirect,
       peers(CollectiveSettings::PeerOrder::kRandom)},
      {"all-to-all shift", Op::kAllToAll, Algorithm::kShift},
      {"all-to-all pairwise", Op::kAllToAll, Algorithm::kPairwise},
      {"all-to-all bruck", Op::kAllToAll, Algorithm::kBruck},
      {"all-to-all rail", Op::kAllToAll, Algorithm::kRail, in_servers(false)},
      {"all-to-all rail, merged", Op::kAllToAll, Algorithm::kRail, in_servers(true)},
      {"broadcast binomial", Op::kBroadcast, Algorithm::kBinomial},
      {"broadcast binomial from another", Op::kBroadcast, Algorithm::kBinomial, from_another},
      {"broadcast chain in pieces", Op::kBroadcast, Algorithm::kChain, in_pieces},
      {"broadcast chain from another", Op::kBroadcast, Algorithm::kChain, from_another},
      {"broadcast tree", Op::kBroadcast, Algorithm::kTree},
      {"broadcast tree from another", Op::kBroadcast, Algorithm::kTree, from_another},
      {"barrier", Op::kBarrier, Algorithm::kDissemination}};
}

bool Exists(const Case& its, uint32_t n) {
  if (its.algorithm == Algorithm::kPairwise) return std::has_single_bit(n);
  const bool has_servers =
      its.algorithm == Algorithm::kHierarchical || its.algorithm == Algorithm::kRail;
  return !has_servers || (n > 3 && (n % 2 == 0 || n % 3 == 0));
}

bool AddsUp(const Case& its) {
  return (its.op == Op::kAllReduce || its.op == Op::kReduceScatter) &&
         its.algorithm != Algorithm::kHierarchical;  // Its computations have other numbers.
}

void ExpectComplete(const Case& its, uint32_t n, uint64_t seed) {
  for (const int64_t bytes : {int64_t{n} - 1, int64_t{n}, int64_t{1'000} * n + 7}) {
    SCOPED_TRACE(fmt::format("{}, {} ranks, {} bytes, seed {}", its.name, n, bytes, seed));
    CollectiveSettings settings;
    settings.op = its.op;
    settings.algorithm = its.algorithm;
    settings.size = Bytes{bytes};
    if (its.more != nullptr) its.more(settings, n);
    ExpectComplete(settings, n, seed, AddsUp(its) && seed % 2 == 0);
  }
}

TEST(ContributionsTest, ReachEveryRankOnce) {
  for (const Case& its : Cases()) {
    for (uint32_t n = 2; n <= 17; ++n) {
      if (!Exists(its, n)) continue;
      for (const uint64_t seed : {1, 2}) ExpectComplete(its, n, seed);
    }
    if (HasFatalFailure()) return;
  }
}

TEST(ContributionsTest, ReachEveryRankOnceForRandomNumbersOfRanks) {
  Rng rng = Rng::Stream(7, "ranks", 0);
  for (const Case& its : Cases()) {
    for (const uint64_t seed : {3, 4, 5}) {
      const uint32_t n = 18 + rng.Below(31);
      if (Exists(its, n)) ExpectComplete(its, n, seed);
    }
    if (Exists(its, 32)) ExpectComplete(its, 32, 1);
    if (HasFatalFailure()) return;
  }
}

}  // namespace heddle::contributions_test
