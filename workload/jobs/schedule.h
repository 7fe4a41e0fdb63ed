// SPDX-License-Identifier: Apache-2.0
// The schedule of a closed-loop job: which messages the ranks of one iteration send each other, and
// what must have happened at a rank before it sends one.
//
// A schedule is immutable and shared by all ranks and threads. It numbers its messages, and can
// tell each one from its number, so no list of messages exists. A RankProgram is the state of one
// rank in one iteration; what it waits for happens at its own host, or is told there by news.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <ranges>
#include <set>
#include <span>
#include <vector>

#include "core/units.h"
#include "fabric/flow.h"

namespace heddle {

// A rank runs the computations of one stream one after the other, like a CUDA stream. A computation
// on this stream waits for no other.
constexpr uint32_t kNoStream = std::numeric_limits<uint32_t>::max();

// The schedule does not say which NIC a message uses.
inline constexpr uint16_t kUnnamedNic = 0xffff;

// A message within one iteration.
struct Message {
  uint32_t src = 0;  // Ranks.
  uint32_t dst = 0;
  int64_t bytes = 0;
  uint32_t channel = 0;     // Messages of one channel between two ranks keep their order.
  uint32_t step = 0;        // For flows.csv.
  uint32_t turn = 0;        // How many messages of this connection come before in the iteration.
  uint16_t lane = kNoLane;  // See FlowSpec.
  // The NICs that the schedule names for the message at its source and for answers at its
  // destination. A host with fewer NICs takes the number modulo those it has.
  uint16_t src_nic = kUnnamedNic;
  uint16_t dst_nic = kUnnamedNic;

  friend bool operator==(const Message&, const Message&) = default;
};

class GraphTables;

// The steps of an operation of a graph (workload/jobs/operation_graph.h): it waits for no other
// operation any more; it has been started, when its stream was free; it has finished.
enum class OperationStep { kReady, kStarted, kFinished };

// A program asks its host by these calls to do something.
class RankActions {
 public:
  virtual ~RankActions() = default;

  // Sends the message of this number: now, or when the messages before it on its connection have
  // left.
  virtual void Send(uint64_t index) = 0;

  // Computes for `time`, behind earlier computations on the same stream. OnComputed(op) follows.
  virtual void Compute(uint32_t stream, Duration time, uint64_t op) = 0;

  // `op` of another rank waits for one operation less: one of this rank has finished. That rank's
  // OnReleased(op) follows when the news has travelled. Only programs of graphs whose ranks wait
  // for operations of each other call it.
  virtual void ReleaseFar(uint32_t /*rank*/, uint32_t /*op*/) {}

  // Programs of graphs tell what becomes of each operation. For records.
  virtual void Note(uint32_t /*op*/, OperationStep /*step*/) {}
};

class RankProgram {
 public:
  virtual ~RankProgram() = default;

  // An iteration begins. The state of the last one is forgotten.
  virtual void Begin(RankActions& actions) = 0;

  // A message to this rank has arrived, one sent by it is finished, a computation is done. Messages
  // of one connection may arrive in another order than they were sent.
  virtual void OnReceived(uint64_t index, RankActions& actions) = 0;
  virtual void OnSent(uint64_t /*index*/, RankActions& /*actions*/) {}
  virtual void OnComputed(uint64_t /*op*/, RankActions& /*actions*/) {}
  virtual void OnReleased(uint32_t /*op*/, RankActions& /*actions*/) {}

  // Returns true if everything that this rank waits for has arrived and been computed, and all its
  // messages have been given to Send().
  virtual bool finished() const = 0;

  // Returns true if the rank's part of the iteration is over. Until finished(), it still does what
  // separates this iteration from the next.
  virtual bool is_over() const { return finished(); }

  // Programs of graphs: what each operation has come to, by its number.
  enum class OperationState : uint8_t { kWaiting, kArrived, kStarted, kFinished };
  virtual std::span<const OperationState> operations() const { return {}; }
};

// How much all ranks send in an iteration.
struct ScheduleTotals {
  double messages = 0;
  double bytes = 0;
  double bytes_of_rank = 0;  // The most that one rank sends.
  int64_t largest = 0;       // The largest message.

  // Adds a message of a rank that stands for `ranks` like it; `its_bytes` sums up what it sends.
  void Add(int64_t size, double ranks, double& its_bytes) {
    messages += ranks;
    bytes += ranks * static_cast<double>(size);
    its_bytes += static_cast<double>(size);
    bytes_of_rank = its_bytes > bytes_of_rank ? its_bytes : bytes_of_rank;
    largest = size > largest ? size : largest;
  }
};

// The ranks that stand for all ranks when totals are estimated.
inline std::set<uint32_t> SampleOfRanks(uint32_t ranks) { return {0, 1, ranks / 2, ranks - 1}; }
inline std::set<uint32_t> AllRanks(uint32_t ranks) {
  const auto numbers = std::views::iota(uint32_t{0}, ranks);
  return {numbers.begin(), numbers.end()};
}

class Schedule {
 public:
  virtual ~Schedule() = default;

  // An estimate: where ranks send about the same, it looks at some of them only.
  virtual ScheduleTotals Totals() const = 0;

  virtual uint32_t ranks() const = 0;

  // Numbers of messages are below this. Some may be unused.
  virtual uint64_t slots() const = 0;

  // `index` must be in use.
  virtual Message MessageOf(uint64_t index) const = 0;

  // The messages that are addressed to `rank` are numbered from 0 in another way, too, without gaps
  // or nearly so: `index` has the number OrdinalOf(index), which is below IncomingOf(rank).
  virtual uint64_t IncomingOf(uint32_t rank) const = 0;
  virtual uint64_t OrdinalOf(uint64_t index) const = 0;
  // The messages that really come to `rank` in an iteration.
  virtual uint64_t ArrivalsAt(uint32_t rank) const = 0;

  // Returns true if data go down a tree, as in a broadcast. A rank has finished when it has
  // received them, the root at once, and would begin one iteration after the other while those
  // below it are still in the first. So unless all ranks wait for each other between iterations,
  // each waits until its own messages have been acknowledged.
  virtual bool goes_down_a_tree() const { return false; }

  // Returns true if programs want OnSent().
  virtual bool waits_for_sends() const { return false; }

  // Returns true if no rank computes, and each needs something of every other one: if messages took
  // no time, all ranks would finish when the last one begins.
  virtual bool waits_for_all() const { return false; }

  virtual std::unique_ptr<RankProgram> ProgramOf(uint32_t rank) const = 0;

  // Messages that `rank` waits for in an iteration, given those to it that have arrived: what keeps
  // it from going on, so none that others must come before. Not for every event: it may look at all
  // messages of the rank. Schedules of graphs leave this to their operations.
  using HasArrived = std::function<bool(uint64_t index)>;
  virtual std::vector<uint64_t> MissingAt(uint32_t /*rank*/,
                                          const HasArrived& /*has_arrived*/) const {
    return {};
  }

  // The schedule without the barrier that separates iterations, if it has one.
  virtual const Schedule& work() const { return *this; }

  // The tables of a graph of operations; null if the schedule is none.
  virtual const GraphTables* graph() const { return nullptr; }

  // For lower bounds of an iteration's time: a program that does nothing later if a message arrives
  // earlier, and nothing later than the rank's own program, if computations wait for no stream
  // (workload/jobs/critical_path.h). The own program need not be such a program: an operation that
  // is ready earlier may delay a more urgent one on the same stream.
  virtual std::unique_ptr<RankProgram> BoundOf(uint32_t rank) const { return ProgramOf(rank); }
};

}  // namespace heddle
