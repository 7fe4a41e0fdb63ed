// SPDX-License-Identifier: Apache-2.0

#include "tests/support/experiment_kit.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <stdexcept>

#include "experiment/results.h"
#include "settings/csv.h"
#include "settings/files_read.h"
#include "settings/reader.h"
#include "settings/status.h"
#include "settings/yaml.h"

namespace heddle {
namespace {

struct OneWorkload {
  Chosen<Workload> workload;
  void Declare(Fields& fields) { fields.Kind("workload", workload, Workloads(), ""); }
};

Chosen<Workload> Read(const std::string& yaml, const Stage& stage, Diagnostics& diagnostics) {
  OneWorkload one;
  const auto document = ParseYaml("workload: " + yaml, "test", diagnostics);
  if (!document) return {};
  ReadSettings(
      *document, [&](Fields& fields) { one.Declare(fields); }, diagnostics);
  FilesRead files;
  if (diagnostics.ok()) one.workload.settings->Load(stage, "workload", files, diagnostics);
  if (diagnostics.ok()) one.workload.settings->Prepare(stage, "workload", files, diagnostics);
  return std::move(one.workload);
}

}  // namespace

CsvTable::CsvTable(std::string_view text) {
  if (!text.ends_with('\n')) throw std::runtime_error("a CSV file ends with a line end");
  const auto csv = ParsedCsv::Parse(std::string(text));
  if (!csv.ok()) throw std::runtime_error(MessageOf(csv.status()));
  header.assign(csv->header.begin(), csv->header.end());
  for (size_t i = 0; i < csv->rows(); ++i) {
    rows.emplace_back(csv->Row(i).begin(), csv->Row(i).end());
  }
}

const std::string& CsvTable::At(size_t row, std::string_view column) const {
  const auto found = std::ranges::find(header, column);
  if (found == header.end()) throw std::runtime_error(fmt::format("no column {}", column));
  return rows.at(row)[static_cast<size_t>(found - header.begin())];
}

int64_t CsvTable::Integer(size_t row, std::string_view column) const {
  const std::string& cell = At(row, column);
  size_t used = 0;
  const int64_t value = std::stoll(cell, &used);
  if (used != cell.size()) throw std::runtime_error(cell + " is not an integer");
  return value;
}

double CsvTable::Real(size_t row, std::string_view column) const {
  return std::strtod(At(row, column).c_str(), nullptr);
}

size_t CsvTable::Find(std::string_view column, std::string_view value) const {
  for (size_t row = 0; row < rows.size(); ++row) {
    if (At(row, column) == value) return row;
  }
  throw std::runtime_error(fmt::format("no row has {} = {}", column, value));
}

Experiment ExperimentFrom(const std::string& yaml, const std::vector<std::string>& sets) {
  Diagnostics diagnostics;
  auto all = LoadExperimentsFromText(yaml, "test.yaml", ".", {sets, std::nullopt}, diagnostics);
  if (!diagnostics.ok() || all.size() != 1) throw std::runtime_error(diagnostics.Report());
  return std::move(all.front());
}

std::string OnAStar(int hosts, const std::string& workload) {
  return fmt::format(
      "topology: {{kind: leaf_spine, leaves: 1, spines: 1, hosts_per_leaf: {0},\n"
      "  host_link: {{rate: 100Gbps, delay: 1us}}, fabric_link: {{rate: 100Gbps, delay: 1us}},\n"
      "  port: {{buffer: unlimited, ecn_above: unlimited}}}}\n"
      "transport: {{kind: rocev2, framing: ns3_rdma, cc: none, recovery: gbn,\n"
      "  ack_interval: 1000}}\n"
      "lb: ecmp\n"
      "workload: [{{{1}}}]\n",
      hosts, workload);
}

std::string ErrorsOf(const std::string& yaml, const std::vector<std::string>& sets) {
  Diagnostics diagnostics;
  LoadExperimentsFromText(yaml, "test.yaml", ".", {sets, std::nullopt}, diagnostics);
  return diagnostics.ok() ? "" : diagnostics.Report();
}

double ShareOfUplink(const FinishedRun& run, std::string_view leaf, std::string_view spine,
                     std::string_view column) {
  const CsvTable links(run.files.links);
  double all = 0;
  double its = 0;
  for (size_t row = 0; row < links.rows.size(); ++row) {
    if (links.At(row, "node") != leaf || links.At(row, "tier") != "leaf_up") continue;
    const double bytes = links.Real(row, column);
    all += bytes;
    if (links.At(row, "peer") == spine) its += bytes;
  }
  return its / all;
}

int64_t Counted(const FinishedRun& run, std::string_view counter) {
  const std::map<std::string, int64_t> counters = SumOfCounters(run.result.policies);
  const auto found = counters.find(std::string(counter));
  if (found != counters.end()) return found->second;
  ADD_FAILURE() << "no counter is called " << counter;
  return 0;
}

double MeanFct(const SimulationResult& result) {
  double sum = 0;
  for (const FlowSample& sample : result.samples) sum += static_cast<double>(sample.fct_ps);
  return sum / static_cast<double>(result.samples.size());
}

FinishedRun RunExperiment(const Experiment& experiment, int threads, NetworkPlan::Ports ports) {
  SimulationOptions options;
  options.threads = threads;
  options.moves_switches = threads > 2;
  options.ports = ports;
  return RunExperiment(experiment, options);
}

FinishedRun RunExperiment(const Experiment& experiment, const SimulationOptions& options) {
  FinishedRun run;
  const auto write_flows = [&](std::string_view text) {
    run.files.flows += text;
    return true;
  };
  const auto write_files = [&](std::string_view file, std::string_view text) {
    run.files.series[std::string(file)] += text;
    return true;
  };
  auto result = Simulate(experiment, options, write_flows, write_files);
  if (!result.ok()) throw std::runtime_error(MessageOf(result.status()));
  run.result = *std::move(result);
  run.files.summary = SummaryCsv(Summarise(experiment, run.result));
  const auto take = [&](const char* name) {
    const auto file = run.files.series.extract(name);
    return file.empty() ? "" : file.mapped();
  };
  run.files.reorder = take("reorder.csv");
  run.files.links = take("links.csv");
  run.files.queueing = take("queueing.csv");
  run.files.link_classes = take("link_classes.csv");
  run.files.lb = take("lb.csv");
  run.files.udp = take("udp.csv");
  run.files.resequencing = take("resequencing.csv");
  return run;
}

Fingerprint FingerprintOf(const Experiment& experiment, SimulationOptions options) {
  DeliveryTaps taps;
  options.instruments.push_back(&taps);
  RunExperiment(experiment, options);
  return taps.Sum();
}

Stage StageOf(size_t leaves, size_t hosts_per_leaf, BitRate host_rate, BitRate uplinks) {
  Stage stage;
  stage.hosts = leaves * hosts_per_leaf;
  stage.leaves = leaves;
  stage.host_rate.assign(stage.hosts, host_rate);
  stage.downlink_rate.assign(stage.hosts, host_rate);
  stage.uplink_bps.assign(leaves, uplinks.bps);
  stage.links_of_host.assign(stage.hosts, 1);
  stage.has_several_leaves.assign(stage.hosts, false);
  for (size_t h = 0; h < stage.hosts; ++h) {
    stage.leaf_of_host.push_back(static_cast<uint16_t>(h / hosts_per_leaf));
  }
  stage.max_flow_size = 1'000'000'000'000;
  stage.folder = std::string(".");
  return stage;
}

Chosen<Workload> WorkloadFrom(const std::string& yaml, const Stage& stage) {
  Diagnostics diagnostics;
  Chosen<Workload> workload = Read(yaml, stage, diagnostics);
  if (!diagnostics.ok()) throw std::runtime_error(diagnostics.Report());
  return workload;
}

std::vector<std::string> WarningsOf(Workload& workload, const Stage& stage) {
  Diagnostics diagnostics;
  FilesRead files;
  workload.Prepare(stage, "workload", files, diagnostics);
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.Report();
  return diagnostics.warnings();
}

std::string WorkloadErrors(const std::string& yaml, const Stage& stage) {
  Diagnostics diagnostics;
  Read(yaml, stage, diagnostics);
  return diagnostics.ok() ? "" : diagnostics.Report();
}

std::vector<FlowRequest> FlowsOf(const Workload& workload, size_t limit) {
  std::vector<FlowRequest> flows;
  const auto source = workload.Open();
  for (; flows.size() < limit && source->Front() != nullptr; source->Pop()) {
    flows.push_back(*source->Front());
  }
  return flows;
}

}  // namespace heddle
