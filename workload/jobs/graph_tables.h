// SPDX-License-Identifier: Apache-2.0
// The tables that the programs of a graph's ranks look up while the job runs: the numbers of
// messages and receives, and which operations come after another one. It is made once, and
// immutable.

#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "workload/jobs/operation_graph.h"
#include "workload/jobs/schedule.h"

namespace heddle {

class GraphTables {
 public:
  // `graph` must outlive this and have no GraphProblems().
  explicit GraphTables(const OperationGraph& graph);

  const OperationGraph& graph() const { return graph_; }

  // --- Messages ---
  //
  // A message's slot is its number in the schedule: those of sends first, then those of each
  // collective.

  uint64_t slots() const { return first_slot_.back(); }
  Message MessageOf(uint64_t slot) const;
  uint64_t OrdinalOf(uint64_t slot) const;
  uint64_t IncomingOf(uint32_t rank) const { return incoming_[rank]; }
  uint64_t ArrivalsAt(uint32_t rank) const { return arrivals_[rank]; }
  const ScheduleTotals& totals() const { return totals_; }
  bool waits_for_sends() const { return waits_for_sends_; }
  // Returns true if messages name the NICs that they use.
  bool names_nics() const { return names_nics_; }

  // --- Sends and receives ---

  uint64_t SlotOf(uint32_t rank, uint32_t op) const { return slot_of_[first_op_[rank] + op]; }
  // The sending operation, at its rank.
  uint32_t SendOf(uint64_t slot) const { return sends_[slot].op; }
  // The receive that takes the message, at its rank, which has no wildcards.
  uint32_t ReceiveOf(uint64_t slot) const { return sends_[slot].receive; }
  int64_t TagOf(uint64_t slot) const { return OperationOf(slot).tag; }

  // --- Collectives ---

  bool IsOfCollective(uint64_t slot) const { return slot >= sends_.size(); }
  uint32_t CollectiveOf(uint64_t slot) const;
  uint64_t FirstSlotOf(uint32_t collective) const { return first_slot_[collective]; }
  // The rank's number within the group.
  uint32_t LocalRankOf(uint32_t collective, uint32_t rank) const;
  // A rank's parts in collectives are numbered from 0, in the order of its operations.
  uint32_t PartOf(uint32_t rank, uint32_t op) const {
    return static_cast<uint32_t>(slot_of_[first_op_[rank] + op]);
  }
  // The collectives that the rank takes part in, by part.
  std::vector<uint32_t> PartsAt(uint32_t rank) const;

  // --- Dependencies ---

  // How many operations `op` waits for.
  uint32_t WaitsOf(uint32_t rank, uint32_t op) const { return waits_[first_op_[rank] + op]; }
  // The operations that wait for `op` to finish, and to start; ascending.
  std::span<const uint32_t> FinishAfter(uint32_t rank, uint32_t op) const {
    return after_finish_.Of(first_op_[rank] + op);
  }
  std::span<const uint32_t> StartAfter(uint32_t rank, uint32_t op) const {
    return after_start_.Of(first_op_[rank] + op);
  }

  // Operations of other ranks that wait for `op` to finish, by (rank, operation).
  struct Far {
    uint32_t rank;
    uint32_t op;

    friend auto operator<=>(const Far&, const Far&) = default;
  };
  std::span<const Far> FarAfter(uint32_t rank, uint32_t op) const {
    if (far_after_.items.empty()) return {};
    return far_after_.Of(first_op_[rank] + op);
  }

  uint32_t streams() const { return streams_; }

 private:
  struct Send {
    uint32_t rank;
    uint32_t op;
    uint32_t receive;  // At the receiver.
    uint32_t ordinal;  // Among the messages to the receiver.
    uint32_t turn;     // Among those of its connection.
    uint16_t dst_nic;  // The receive's; kUnnamedNic if any receive may take the message.
  };

  // A list for each operation, one behind the other.
  template <class T>
  struct Lists {
    std::vector<uint64_t> first;
    std::vector<T> items;

    std::span<const T> Of(uint64_t at) const {
      return std::span(items).subspan(first[at], first[at + 1] - first[at]);
    }
  };

  const Operation& OperationOf(uint64_t slot) const {
    return graph_.At(sends_[slot].rank, sends_[slot].op);
  }

  void NumberSends();
  void NumberCollectives();
  void SumUp();
  void SumUpCollectives(std::vector<double>& bytes_of_rank);
  Lists<uint32_t> ListsOf(bool at_start) const;
  Lists<Far> FarLists() const;
  // `for_each` calls its argument with each (operation, item).
  template <class T, class ForEach>
  Lists<T> MakeLists(const ForEach& for_each) const;
  void CountWaits();
  void CountStreams();

  const OperationGraph& graph_;
  std::vector<uint64_t> first_op_;                    // By rank: the operations of all ranks below.
  std::vector<uint64_t> slot_of_;                     // By operation: sends; parts: their number.
  std::vector<Send> sends_;                           // By slot.
  std::vector<uint64_t> first_slot_;                  // By collective, and the end.
  std::vector<std::vector<uint64_t>> first_ordinal_;  // By collective and local rank.
  std::vector<uint32_t> turn_of_collective_;          // Among those of the same first rank.
  std::vector<uint64_t> incoming_;                    // By rank.
  std::vector<uint64_t> arrivals_;                    // By rank.
  ScheduleTotals totals_;
  bool waits_for_sends_ = false;
  bool names_nics_ = false;
  Lists<uint32_t> after_finish_;
  Lists<uint32_t> after_start_;
  Lists<Far> far_after_;
  std::vector<uint32_t> waits_;  // By operation.
  uint32_t streams_ = 0;
};

}  // namespace heddle
