// SPDX-License-Identifier: Apache-2.0
// Runs experiments inside a test and reads the tables that they write.

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

// The experiment written in `yaml`; throws the errors if it has any.
Experiment ExperimentFrom(const std::string& yaml, const std::vector<std::string>& sets = {});

// An experiment with `hosts` hosts on one switch, 100 Gbps and 1 us a link, RoCE packets of 1000 +
// 48 bytes, one ACK of 60 bytes a message, and neither congestion control nor loss. `workload` is
// one entry of the list.
std::string OnAStar(int hosts, const std::string& workload);

// The errors of the experiment, as a user would read them.
std::string ErrorsOf(const std::string& yaml, const std::vector<std::string>& sets = {});

// The files that one run leaves behind, without its times.
struct RunFiles {
  std::string flows;
  std::string summary;
  std::string reorder;
  std::string links;
  std::string lb;
  std::string udp;
  std::string queueing;  // Empty if the experiment did not ask for it.
  std::string link_classes;
  std::string resequencing;                                // Empty if there is no resequencing.
  std::map<std::string, std::string, std::less<>> series;  // By name of the file.

  friend bool operator==(const RunFiles&, const RunFiles&) = default;
};
struct FinishedRun {
  RunFiles files;
  SimulationResult result;
};
// The share of a leaf's uplink traffic that went to one spine: of the payload of flows, or of
// another column of links.csv.
double ShareOfUplink(const FinishedRun& run, std::string_view leaf, std::string_view spine,
                     std::string_view column = "payload_bytes");
// The sum of a load balancer's counter over all nodes; fails the test if there is no such counter.
int64_t Counted(const FinishedRun& run, std::string_view counter);
// The mean FCT of all measured flows, in picoseconds.
double MeanFct(const SimulationResult& result);

// With more than two threads, switches also change threads at random.
FinishedRun RunExperiment(const Experiment& experiment, int threads = 1,
                          NetworkPlan::Ports ports = NetworkPlan::Ports::kCheapest);
FinishedRun RunExperiment(const Experiment& experiment, const SimulationOptions& options);

// A fingerprint of all deliveries of a run.
Fingerprint FingerprintOf(const Experiment& experiment, SimulationOptions options = {});

// A network of `leaves` leaves with `hosts_per_leaf` hosts each, as workloads see it.
Stage StageOf(size_t leaves, size_t hosts_per_leaf, BitRate host_rate = 100_Gbps,
              BitRate uplinks = 400_Gbps);

// A workload, prepared; throws the errors if it has any.
Chosen<Workload> WorkloadFrom(const std::string& yaml, const Stage& stage);

// The errors of the workload.
std::string WorkloadErrors(const std::string& yaml, const Stage& stage);
// Prepares a workload once more, and returns its warnings. Errors fail the test.
std::vector<std::string> WarningsOf(Workload& workload, const Stage& stage);

// The flows of the workload, at most `limit`.
std::vector<FlowRequest> FlowsOf(const Workload& workload, size_t limit = 10'000'000);

}  // namespace heddle
