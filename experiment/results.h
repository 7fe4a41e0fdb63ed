// SPDX-License-Identifier: Apache-2.0
// The summary of one run: summary.csv, summary.json, warnings, and the lines for the terminal. Its
// other tables are written by instruments (measure/instrument.h).

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiment/experiment.h"
#include "experiment/simulation.h"

namespace heddle {

// One row of summary.csv.
struct ClassSummary {
  std::string set;
  std::string label;
  int64_t flows = 0;  // Measured ones.
  int64_t unfinished = 0;
  // Average, p50, p95, p99, p99.9, maximum; not a number if there are no flows, infinite if they
  // are unfinished.
  std::vector<double> fct_us;
  std::vector<double> slowdown;
  double goodput_gbps = 0;  // The mean of the flows' own.
  double throughput_gbps =
      0;               // Of all that finished together, from the first start to the last end.
  bool low_n = false;  // Some percentile rests on fewer than 10 flows above it.
};

std::vector<ClassSummary> Summarise(const Experiment& experiment, const SimulationResult& result);

std::string SummaryCsv(const std::vector<ClassSummary>& summary);
std::string SummaryJson(const Experiment& experiment, const SimulationResult& result,
                        const std::vector<std::string>& warnings);

// Whether all flows that count have finished, as far as the experiment wants them to.
bool IsComplete(const Experiment& experiment, const SimulationResult& result);

// The most memory that this process has held.
int64_t PeakMemoryBytes();

// What the user should know before trusting the result: those of the experiment, and what showed.
std::vector<std::string> WarningsOf(const Experiment& experiment, const SimulationResult& result);

// A compact table, one row for each run.
struct TableRow {
  std::string label;
  std::vector<ClassSummary> summary;
  int64_t flows = 0;           // Measured ones.
  double reordered_ratio = 0;  // Reordered packets of all received.
  double spurious_ratio = 0;   // Spurious retransmissions of all packets sent.
  int64_t dropped = 0;
  double seconds = 0;
};
TableRow RowOf(const std::string& label, const std::vector<ClassSummary>& summary,
               const SimulationResult& result);
std::string FormatTable(const std::vector<TableRow>& rows);

}  // namespace heddle
