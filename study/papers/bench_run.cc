// SPDX-License-Identifier: Apache-2.0

#include "study/papers/bench_run.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "bench/decision/cost.h"
#include "experiment/manifest.h"
#include "experiment/run_folder.h"
#include "experiment/version.h"
#include "settings/json.h"
#include "settings/number_text.h"

namespace heddle {
namespace {

// Returns the cost at the switch and, if the scheme acts there, at the host.
double TotalNs(const DecisionCost& cost) { return cost.switch_ns + cost.host_ns.value_or(0); }

std::string Row(const std::string& balancer, const DecisionCost& cost, const DecisionCost& rps) {
  return fmt::format(
      "lb,decide_ns,decide_ratio,switch_ns,switch_ratio,send_ns,host_ns,total_ns,total_ratio,"
      "switch_bytes,host_bytes,state_bytes\n{},{},{},{},{},{},{},{},{},{},{},{}\n",
      balancer, cost.decide_ns, cost.decide_ns / rps.decide_ns, cost.switch_ns,
      cost.switch_ns / rps.switch_ns, cost.send_ns.value_or(0), cost.host_ns.value_or(0),
      TotalNs(cost), TotalNs(cost) / TotalNs(rps), cost.switch_bytes, cost.host_bytes,
      cost.switch_bytes + cost.host_bytes);
}

std::string Summary() {
  JsonFields summary;
  summary.Text("version", Version());
  summary.Text("commit", Commit());
  summary.Text(kManifestKey, kManifestFile);
  summary.Bool("complete", true);
  return IndentJson(summary.Done());
}

class Bench {
 public:
  explicit Bench(const ExperimentPoints& points) : points_(points), recorded_(RecordLeaf()) {}

  absl::Status Run(const PlannedPoint& point) {
    // The choices by axis: load balancer, candidates, flows.
    const std::string& balancer = point.choices[0];
    const size_t candidates = NumberFrom<size_t>(point.choices[1]).value_or(0);
    const std::vector<RecordedPacket>& packets =
        PacketsOf(NumberFrom<size_t>(point.choices[2]).value_or(0));
    const auto measure = [&](const std::string& name) {
      return MeasureDecisions({.balancer = name, .candidates = candidates}, packets);
    };
    // Both are measured within the same seconds, since the machine's speed may change.
    const auto rps = measure("rps");
    const auto cost = balancer == "rps" ? rps : measure(balancer);
    if (absl::IsFailedPrecondition(cost.status())) {
      return absl::FailedPreconditionError(
          fmt::format("{} refuses a fabric with {} candidates", balancer, candidates));
    }
    if (!cost.ok()) return cost.status();
    RunFolder folder(points_.folder().PointPath(point.id));
    folder.Open(/*replace=*/true).IgnoreError();  // Commit() returns the first failure.
    folder.Write("bench.csv", Row(balancer, *cost, *rps)).IgnoreError();
    folder.Write("summary.json", Summary()).IgnoreError();
    return folder.Commit();
  }

 private:
  const std::vector<RecordedPacket>& PacketsOf(size_t flows) {
    std::vector<RecordedPacket>& packets = packets_[flows];
    if (packets.empty()) packets = WithLiveFlows(recorded_, flows);
    return packets;
  }

  const ExperimentPoints& points_;
  const std::vector<RecordedPacket> recorded_;
  std::map<size_t, std::vector<RecordedPacket>> packets_;  // By live flows.
};

}  // namespace

void CheckBench(const PaperExperiment& experiment, Diagnostics& diagnostics) {
  for (const std::string& policy : experiment.bench->policies) {
    if (LoadBalancers().Knows(policy)) continue;
    diagnostics.Error(experiment.place, experiment.path + ".bench.policies",
                      fmt::format("no load balancer is called \"{}\"{}", policy,
                                  Suggestion(policy, LoadBalancers().Names())));
  }
}

absl::Status RunBench(const ExperimentPoints& points, const BenchRunOptions& options) {
  std::vector<const PlannedPoint*> to_run;
  for (const PlannedPoint& point : points.plan().points) {
    const PointState state = points.folder().Inspect(point.id).state;
    if (state == PointState::kDone && !options.replace) continue;
    if (state == PointState::kStale && !options.replace) continue;
    to_run.push_back(&point);
  }
  if (to_run.empty()) return absl::OkStatus();
  if (absl::Status status = points.folder().Make(); !status.ok()) return status;
  Bench bench(points);
  for (size_t i = 0; i < to_run.size(); ++i) {
    options.progress(i, to_run.size());
    if (options.stop()) return absl::OkStatus();
    if (absl::Status status = bench.Run(*to_run[i]); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace heddle
