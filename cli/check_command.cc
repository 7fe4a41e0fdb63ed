// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "cli/check_summary.h"
#include "cli/commands.h"
#include "cli/failures.h"
#include "cli/text.h"
#include "experiment/estimate.h"
#include "experiment/experiment.h"
#include "experiment/resolved.h"
#include "experiment/schedule_checks.h"

namespace heddle {
namespace {

// Returns the background's average rate, headers included, as a share of all links from hosts.
double BackgroundLoad(const Experiment& experiment) {
  double bps = 0;
  double capacity = 0;
  for (const UdpSource& source : experiment.background) bps += static_cast<double>(source.rate.bps);
  for (const BitRate rate : experiment.stage.host_rate) capacity += static_cast<double>(rate.bps);
  return bps / capacity;
}

// Returns true if messages of a job start with congestion control that forgets the messages before.
bool StartsAfresh(const Experiment& experiment) {
  const std::string control = experiment.settings.transport.settings->congestion_control();
  if (control.empty() || control == "none" || control == "constant") return false;
  return std::ranges::any_of(experiment.settings.workload, [](const Chosen<Workload>& workload) {
    return !workload.settings->HostsOfJob().empty();
  });
}

void Print(const std::string& file, const Experiment& experiment) {
  const ExperimentSettings& settings = experiment.settings;
  const std::string label = experiment.label.empty() ? "" : " " + experiment.label;
  fmt::print("{}:{} valid\n", file, label);
  fmt::print("  network     {}: {} hosts, {} switches, {} links\n", settings.topology.kind,
             experiment.graph.hosts, experiment.graph.switches.size(),
             experiment.graph.links.size());
  fmt::print("  base RTT    {:.3f} us, bandwidth-delay product {} bytes\n",
             Microseconds(experiment.base_rtt), experiment.bdp.count);
  fmt::print("  transport   {}, load balancer {}, seed {}\n", settings.transport.kind,
             settings.lb.kind, settings.seed);
  for (const auto& [topic, text] : ResolvedLines(ResolvedOf(experiment))) {
    fmt::print("  {:<11} {}\n", topic, text);
  }
  if (StartsAfresh(experiment)) {
    fmt::print(
        "  jobs        each message starts {} afresh; a real queue pair keeps its rate between "
        "messages\n",
        settings.transport.settings->congestion_control());
  }
  const double flows = experiment.Total(&Forecast::flows);
  const double hops = ExpectedPacketHops(experiment);
  fmt::print("  flows       {}, {} bytes of payload\n", CountText(flows),
             CountText(experiment.Total(&Forecast::bytes)));
  if (experiment.Total(&Forecast::host_load) > 0) {
    fmt::print("  load        {:.3g} of host links ({:.3g} with headers), {:.3g} of leaf uplinks\n",
               experiment.Total(&Forecast::host_load),
               experiment.Total(&Forecast::host_load_with_headers),
               experiment.Total(&Forecast::fabric_load));
  }
  if (!experiment.background.empty()) {
    fmt::print("  background  {} UDP sources, {:.3g} of host links in total\n",
               experiment.background.size(), BackgroundLoad(experiment));
  }
  if (const std::string notice = NoticeOfFailures(experiment); !notice.empty()) {
    fmt::print("  failures    {}\n", notice);
  }
  fmt::print(
      "  time        flows start from {:.3f} ms to {:.3f} ms, measured from {:.3f} ms; ends at "
      "{:.3f} ms at the latest\n",
      Seconds(experiment.timeline.generation_start - Time{}) * 1e3,
      Seconds(experiment.timeline.generation_end - Time{}) * 1e3,
      Seconds(experiment.timeline.measure_from - Time{}) * 1e3,
      Seconds(experiment.timeline.t_max - Time{}) * 1e3);
  fmt::print("  work        {} packet-hops, {} on one thread\n", CountText(hops),
             AboutTime(ExpectedSeconds(experiment)));
}

}  // namespace

int Check(const RunArguments& arguments) {
  CheckWarnings warnings;
  Diagnostics diagnostics;
  for (const std::string& file : arguments.files) {
    const std::vector<Experiment> points =
        LoadExperiments(file,
                        {arguments.sets, arguments.seed, arguments.scale, /*one_seed=*/false,
                         arguments.plugins->digests()},
                        diagnostics);
    for (const Experiment& point : points) warnings.Add(point);
    if (points.size() > 1 && !arguments.verbose) {
      PrintSummary(file, points);
    } else {
      for (const Experiment& point : points) Print(file, point);
    }
  }
  warnings.Print();
  if (diagnostics.ok()) return kExitDone;
  return BadInput(diagnostics);
}

}  // namespace heddle
