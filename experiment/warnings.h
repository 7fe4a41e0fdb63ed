// SPDX-License-Identifier: Apache-2.0
// The warnings that a user should read before trusting the results of a run. RunToFolder() writes
// them to summary.json and hands them to the command line. Each says what was seen, why it matters
// and what helps. They follow from the results alone, so they are the same for all numbers of
// threads. docs/metrics.md lists them with their limits.

#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "experiment/experiment.h"
#include "experiment/results.h"
#include "experiment/simulation.h"
#include "measure/backlog_trend.h"

namespace heddle {

// Returns the warnings of the experiment, and those that the run gave rise to. `summary` is that of
// the result.
std::vector<std::string> WarningsOf(const Experiment& experiment, const SimulationResult& result,
                                    std::span<const ClassSummary> summary);

// Returns the warnings that are known before the run, for `heddle check`: those of the experiment,
// and those of what cannot happen before t_max.
std::vector<std::string> WarningsBefore(const Experiment& experiment);

// The warnings of one kind each; nothing if there is no reason for it.

// Warns of failures and other changes that are scheduled for the end of the run or later. Repairs
// may come that late.
std::optional<std::string> WarnOfLateChanges(const Experiment& experiment, Time end);

// Loads are shares of the hosts' links.
std::optional<std::string> WarnOfUncarriedLoad(double offered, double carried);
std::optional<std::string> WarnOfGrowingBacklog(const std::array<FlowsInProgress, 2>& halves);

// The median FCT of the slowest class, and how long flows start before and while they are measured.
struct WarmUp {
  std::string slowest;  // Such as "the flows of class XL".
  Duration median_fct;
  Duration warm_up;
  Duration measured;
};
std::optional<std::string> WarnOfShortWarmUp(const WarmUp& times);

std::optional<std::string> WarnOfFewFlows(std::span<const ClassSummary> summary);

// Retransmissions of measured flows, and how often reordering set them off.
struct Needless {
  int64_t packets_sent = 0;
  int64_t spurious = 0;    // Retransmissions of packets that had not been dropped,
  int64_t loss = 0;        // and of packets that had been.
  int64_t recoveries = 0;  // How often a sender took an overtaken packet for a lost one.
};
std::optional<std::string> WarnOfNeedlessRetransmissions(const Needless& counts,
                                                         const std::string& lb,
                                                         const std::string& remedy);

}  // namespace heddle
