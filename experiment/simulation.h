// SPDX-License-Identifier: Apache-2.0
// Runs one experiment and collects what came of it.

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiment/experiment.h"
#include "measure/delivery_tap.h"
#include "measure/flow_recorder.h"
#include "measure/series.h"
#include "measure/trace/tracer.h"
#include "network/network.h"

namespace heddle {

// How far a run has come.
struct Progress {
  Time now;
  int64_t flows_started = 0;
  int64_t flows_done = 0;
  double flows_expected = 0;
  int64_t hops = 0;
  double seconds = 0;  // Of wall-clock time since the run began.
};

struct SimulationOptions {
  int threads = 1;
  NetworkPlan::Ports ports = NetworkPlan::Ports::kCheapest;
  // Called now and then, between windows; may be empty.
  std::function<void(const Progress&)> progress;
  // What to write down of packets; null: nothing. Needs a writer of series.
  const TraceSettings* trace = nullptr;
  bool fingerprint = false;  // Sum up all deliveries in one number.
  // Set from outside to stop the run; may be null.
  const std::atomic<bool>* stop = nullptr;
};

// What one direction of a link carried in the measured time.
struct LinkUse {
  VertexId vertex;
  PortIndex port;
  VertexId peer;
  BitRate rate;
  FifoPort::Counters sent;
  PauseTotals pauses;
  std::vector<int64_t> payload_by_class;  // By atom; of switches, if it is asked for.
};

// A query: many flows that answer it together.
struct QueryResult {
  size_t workload;
  std::vector<double> completion_ps;  // Of those complete, in the order asked.
  int64_t incomplete = 0;
};

// What the load balancer of one node has counted.
struct PolicyReport {
  VertexId vertex;
  int64_t state_bytes;
  std::vector<std::pair<std::string, int64_t>> counters;

  friend bool operator==(const PolicyReport&, const PolicyReport&) = default;
};

struct SimulationResult {
  bool stopped = false;  // By the user; nothing else is valid.
  Time end;
  bool reached_t_max = false;
  std::vector<std::string> deadlock;  // The ports that wait for each other; empty if none do.
  Time deadlock_at;                   // When that was found.
  bool cut_short = false;             // Not all measured flows have started.
  int64_t flows_started = 0;
  int64_t flows_finished = 0;
  int64_t measured = 0;
  int64_t unfinished = 0;       // Of the measured ones.
  int64_t payload_started = 0;  // Bytes, of all flows.
  int64_t payload_finished = 0;
  int64_t payload_offered = 0;          // Of flows that start in the time that links.csv covers.
  int64_t payload_carried = 0;          // That arrived in that time, each byte once.
  std::vector<FlowSample> samples;      // Of measured flows, in the order of flows.csv.
  std::vector<ClassCounters> counters;  // By atom of the size classes.
  std::vector<ReorderingStats> reordering;  // Likewise.
  std::vector<Histogram> queueing;  // In ps, of measured flows, likewise; empty if not asked for.
  std::vector<LinkUse> links;
  Time links_from;
  Time links_until;
  std::vector<QueryResult> queries;
  std::vector<UdpRecord> background;  // By source; refers to the experiment.
  int64_t background_offered = 0;     // Bytes on the wire, in the time that links.csv covers: sent,
  int64_t background_carried = 0;     // and arrived.
  PacketCounts packets;
  std::vector<PolicyReport> policies;                            // By vertex.
  std::vector<std::pair<std::string, int64_t>> policy_counters;  // Summed over nodes.
  int64_t policy_state_bytes = 0;
  int64_t late_packets = 0;                     // That arrived when their flow had been closed.
  std::vector<ResequencingStats> resequencing;  // By host; empty if there is none.
  std::string trace_problem;                    // Why there is no trace; empty if there is one.
  std::vector<std::string> trace_warnings;      // What is missing from it.

  // What arrived at hosts, if it is asked for.
  Fingerprint fingerprint;

  // What it took.
  double build_seconds = 0;
  double run_seconds = 0;
  double cpu_seconds = 0;  // Of the whole program meanwhile.
  int threads = 1;
  uint64_t windows = 0;
  int64_t node_bytes = 0;  // Memory of all nodes at the end,
  int64_t wire_bytes = 0;  // and of the wires.
};

// `write_flows` is given flows.csv, piece by piece, and `write_series` the files that
// measure.record asks for, each by its name; they return false if it cannot be written: then the
// run stops. `write_series` may be empty if nothing is asked for.
SimulationResult Simulate(const Experiment& experiment, const SimulationOptions& options,
                          const std::function<bool(std::string_view)>& write_flows,
                          const SeriesWriter& write_series = nullptr);

}  // namespace heddle
