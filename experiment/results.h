// SPDX-License-Identifier: Apache-2.0
// Makes the summary of one run: summary.csv, summary.json, and the lines for the terminal.
// RunToFolder() calls it after the simulation. Instruments write all other tables
// (measure/instrument.h).

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiment/experiment.h"
#include "experiment/simulation.h"

namespace heddle {

// One row of summary.csv.
struct ClassSummary {
  std::string set;
  std::string label;
  int64_t flows = 0;  // Measured flows.
  int64_t unfinished = 0;
  // Average, p50, p95, p99, p99.9, maximum. NaN without flows, infinite for unfinished flows.
  std::vector<double> fct_us;
  std::vector<double> slowdown;
  // The mean of the flows' goodputs, if any flow counts; 0 for an unfinished flow that counts.
  std::optional<double> goodput_gbps = {};
  double throughput_gbps =
      0;  // All bytes of finished flows, over the time from the first start to the last end.
  bool low_n = false;  // True if fewer than 10 flows are above some percentile.
};

// With fewer flows, fewer than ten lie above p99.
inline constexpr int64_t kEnoughForP99 = 1000;

// Returns the load of `bytes` in the time of `load`, as a share of the links from hosts.
double ShareOfHostLinks(const Experiment& experiment, const LinkLoad& load, int64_t bytes);

std::vector<ClassSummary> Summarise(const Experiment& experiment, const SimulationResult& result);

std::string SummaryCsv(const std::vector<ClassSummary>& summary);
std::string SummaryJson(const Experiment& experiment, const SimulationResult& result,
                        const std::vector<std::string>& warnings);

// Returns true if all flows have finished that the experiment requires to finish.
bool IsComplete(const Experiment& experiment, const SimulationResult& result);

// Returns the peak memory of this process.
int64_t PeakMemoryBytes();

// A measured job of a run; unset if no measured iteration was finished.
struct JobTableRow {
  uint32_t number = 0;
  std::string label;
  int64_t iterations = 0;  // The measured ones that were finished.
  std::optional<double> mean_us;
  std::optional<double> p99_us;
  std::optional<double> straggler_us;
  std::optional<double> algbw_gbs;
  std::optional<double> busbw_gbs;
};

// A compact table, one row for each run.
struct TableRow {
  std::string label;
  std::vector<ClassSummary> summary;
  std::vector<JobTableRow> jobs = {};
  int64_t flows = 0;           // Measured flows.
  double reordered_ratio = 0;  // Reordered packets as a share of all received.
  double spurious_ratio = 0;   // Spurious retransmissions as a share of all packets sent.
  int64_t dropped = 0;
  double seconds = 0;
};
TableRow RowOf(const std::string& label, const std::vector<ClassSummary>& summary,
               const SimulationResult& result);
std::string FormatTable(const std::vector<TableRow>& rows);

}  // namespace heddle
