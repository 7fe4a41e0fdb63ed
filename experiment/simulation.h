// SPDX-License-Identifier: Apache-2.0
// Runs one experiment and collects its results. RunToFolder() and the benchmarks call Simulate(),
// which writes no files itself: it hands their contents to the caller. Results don't depend on the
// number of threads.

#pragma once

#include <absl/status/statusor.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/experiment.h"
#include "measure/backlog_trend.h"
#include "measure/flow_recorder.h"
#include "measure/instrument.h"
#include "measure/job_results.h"
#include "measure/link_totals.h"
#include "measure/policy_counts.h"
#include "network/network.h"

namespace heddle {

// The progress of a run.
struct Progress {
  Time now;
  int64_t flows_started = 0;
  int64_t flows_done = 0;
  double flows_expected = 0;
  int64_t hops = 0;
  double seconds = 0;  // Wall-clock seconds since the run began.
};

struct SimulationOptions {
  int threads = 1;
  bool moves_switches = false;  // For tests, see NetworkPlan.
  NetworkPlan::Ports ports = NetworkPlan::Ports::kCheapest;
  // Called now and then, between windows; may be empty.
  std::function<void(const Progress&)> progress;
  // Instruments besides those that the experiment asks for, such as a Tracer; each serves one run.
  std::vector<Instrument*> instruments;
  // Set from outside to stop the run; may be null.
  const std::atomic<bool>* stop = nullptr;
  // The number of the only job that runs, without any other flow; 0: everything runs.
  uint32_t only_job = 0;
};

// The queries of a workload. Many flows answer a query together.
struct QueryResult {
  size_t workload;
  // Completion times of the measured queries, in the order asked; infinite for those that are
  // incomplete, unless these are dropped (measure.unfinished).
  std::vector<double> completion_ps;
  int64_t incomplete = 0;
};

struct SimulationResult {
  bool stopped = false;  // The user has stopped the run; all other members are invalid.
  Time end;
  bool reached_t_max = false;
  bool flows_missing = false;  // Not all measured flows of open loops have started.
  bool jobs_missing = false;   // Not all measured jobs have finished.
  bool cut_short = false;      // One of both.
  RunNotes notes;              // Remarks of instruments.
  int64_t flows_started = 0;
  int64_t flows_finished = 0;
  int64_t measured = 0;
  int64_t unfinished = 0;       // Measured flows that have not finished.
  int64_t payload_started = 0;  // Bytes, of all flows.
  int64_t payload_finished = 0;
  std::deque<FlowSample> samples;              // Measured flows, in the order of flows.csv.
  std::vector<ClassCounters> counters;         // By atom of the size classes.
  LinkLoad load;                               // Measured in the time that links.csv covers,
  std::array<FlowsInProgress, 2> in_progress;  // and in each half of it.
  std::vector<QueryResult> queries;
  std::vector<JobFigures> jobs;  // Measured ones.
  PacketCounts packets;
  std::vector<PolicyReport> policies;  // By vertex.
  int64_t late_packets = 0;            // Packets that arrived after their flow had been closed.

  // The time, threads and memory that the run took.
  double build_seconds = 0;
  double run_seconds = 0;
  double cpu_seconds = 0;  // CPU time of the whole program during the run.
  int threads = 1;
  uint64_t windows = 0;
  int64_t node_bytes = 0;  // Memory of all nodes at the end.
  int64_t wire_bytes = 0;  // Memory of all wires at the end.
};

// Runs `experiment`. `write_flows` is given flows.csv piece by piece, and `write_files` the files
// of instruments, by name. They return false if they cannot write; then the run stops. Without
// `write_files` these files are dropped. InvalidArgument: the load balancer makes no policies.
absl::StatusOr<SimulationResult> Simulate(const Experiment& experiment,
                                          const SimulationOptions& options,
                                          const std::function<bool(std::string_view)>& write_flows,
                                          const FileWriter& write_files = nullptr);

}  // namespace heddle
