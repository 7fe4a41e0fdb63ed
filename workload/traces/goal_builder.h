// SPDX-License-Identifier: Apache-2.0
// Turns operations of GOAL (Hoefler, Siebert and Lumsdaine, "Group Operation Assembly Language",
// ICPP 2009) into a graph. GOAL's LogGOPS parameters o, O and g become computations before sends
// and behind receives; the network replaces L and G. The readers of both forms of GOAL call it.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/units.h"
#include "settings/fields.h"
#include "workload/jobs/operation_graph.h"

namespace heddle {

struct GoalSettings {
  Duration calc_unit{1'000};  // The unit of calc: 1 ns.
  Duration o{0};              // CPU time of a send and a receive,
  Duration O{0};              // for each byte beyond the first,
  Duration g{0};              // and the least time between two sends of a NIC.
  Bytes S{0};                 // Sends of at most so many bytes are finished when they start.

  void Declare(Fields& fields);

  friend bool operator==(const GoalSettings&, const GoalSettings&) = default;
};

// The longest computation that a trace may have.
constexpr Duration kLongestCalc{1'000'000'000'000'000};

class GoalBuilder {
 public:
  GoalBuilder(const GoalSettings& settings, uint32_t ranks)
      : settings_(settings), graph_(ranks), spans_(ranks) {}

  struct Statement {
    Operation::Kind kind = Operation::Kind::kCompute;
    uint32_t peer = 0;
    int64_t amount = 0;  // Bytes, or units of calc.
    int64_t tag = 0;
    uint32_t cpu = 0;
    uint32_t nic = 0;
    int line = 0;
    std::string label;
  };

  // Returns the statement's number at its rank. False if a computation is too long.
  bool Add(uint32_t rank, const Statement& statement);
  uint32_t statements(uint32_t rank) const { return static_cast<uint32_t>(spans_[rank].size()); }

  void Require(uint32_t rank, uint32_t statement, uint32_t before);
  void RequireStart(uint32_t rank, uint32_t statement, uint32_t before);

  OperationGraph Take();

 private:
  // The operations of a statement.
  struct Span {
    uint32_t first;
    uint32_t last;
  };

  Duration OverheadOf(int64_t bytes) const;
  Span AddSend(uint32_t rank, const Statement& statement, Duration overhead);
  Span AddReceive(uint32_t rank, const Statement& statement, Duration overhead);
  void SetNic(Operation& operation, uint32_t nic);

  const GoalSettings settings_;
  OperationGraph graph_;
  std::vector<std::vector<Span>> spans_;  // By rank and statement.
  bool names_nics_ = false;               // Some nic is not 0.
};

}  // namespace heddle
