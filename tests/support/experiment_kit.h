// SPDX-License-Identifier: Apache-2.0
// Runs experiments inside a test and reads the tables that come of them.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiment/experiment.h"
#include "experiment/simulation.h"
#include "measure/delivery_tap.h"
#include "workload/workload.h"

namespace heddle {

// A CSV file: a header and rows.
struct CsvTable {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;

  explicit CsvTable(std::string_view text);

  const std::string& At(size_t row, std::string_view column) const;
  int64_t Integer(size_t row, std::string_view column) const;
  double Real(size_t row, std::string_view column) const;

  // The row in which `column` holds `value`; throws if there is none.
  size_t Find(std::string_view column, std::string_view value) const;
};

// The experiment written in `yaml`; throws what is wrong with it.
Experiment ExperimentFrom(const std::string& yaml, const std::vector<std::string>& sets = {});

// What is wrong with it, as a user would read it.
std::string ErrorsOf(const std::string& yaml, const std::vector<std::string>& sets = {});

// What one run leaves behind, but for its times.
struct RunFiles {
  std::string flows;
  std::string summary;
  std::string reorder;
  std::string links;
  std::string lb;
  std::string udp;
  std::string queueing;  // Empty if they were not asked for.
  std::string link_classes;
  std::string resequencing;                                // Empty if there is none.
  std::map<std::string, std::string, std::less<>> series;  // By the name of the file.

  friend bool operator==(const RunFiles&, const RunFiles&) = default;
};
struct FinishedRun {
  RunFiles files;
  SimulationResult result;
};
// Of the payload of flows that a leaf has sent up, or of another column of links.csv, the share
// that went to one spine.
double ShareOfUplink(const FinishedRun& run, std::string_view leaf, std::string_view spine,
                     std::string_view column = "payload_bytes");
// What the load balancer has counted on all nodes together; fails the test if it counts no such
// thing.
int64_t Counted(const FinishedRun& run, std::string_view counter);
// Of all measured flows, in picoseconds.
double MeanFct(const SimulationResult& result);

FinishedRun RunExperiment(const Experiment& experiment, int threads = 1,
                          NetworkPlan::Ports ports = NetworkPlan::Ports::kCheapest);
FinishedRun RunExperiment(const Experiment& experiment, const SimulationOptions& options);

// All deliveries of a run in one number.
Fingerprint FingerprintOf(const Experiment& experiment, SimulationOptions options = {});

// A network of `leaves` leaves with `hosts_per_leaf` hosts each, as workloads see it.
Stage StageOf(size_t leaves, size_t hosts_per_leaf, BitRate host_rate = 100_Gbps,
              BitRate uplinks = 400_Gbps);

// A workload, prepared; throws what is wrong with it.
Chosen<Workload> WorkloadFrom(const std::string& yaml, const Stage& stage);

// What is wrong with it.
std::string WorkloadErrors(const std::string& yaml, const Stage& stage);

// Its flows, at most `limit`.
std::vector<FlowRequest> FlowsOf(const Workload& workload, size_t limit = 10'000'000);

}  // namespace heddle
