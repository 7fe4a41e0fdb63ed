// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <cmath>
#include <cstdio>

#include "cli/commands.h"
#include "experiment/experiment.h"

namespace heddle {
namespace {

// Of one packet crossing one port and wire, on a machine of 2024; for an estimate of the run time.
constexpr double kSecondsPerHop = 60e-9;

std::string Count(double number) {
  static constexpr const char* kPrefixes[] = {"", " thousand", " million", " billion", " trillion"};
  size_t prefix = 0;
  for (; number >= 1000 && prefix + 1 < std::size(kPrefixes); ++prefix) number /= 1000;
  return fmt::format("{:.3g}{}", number, kPrefixes[prefix]);
}

std::string Seconds(double seconds) {
  if (seconds < 1) return "less than a second";
  if (seconds < 120) return fmt::format("about {:.0f} s", seconds);
  if (seconds < 7200) return fmt::format("about {:.0f} min", seconds / 60);
  return fmt::format("about {:.1f} h", seconds / 3600);
}

double Total(const Experiment& experiment, double Forecast::*what) {
  double total = 0;
  for (const Forecast& forecast : experiment.forecasts) total += forecast.*what;
  return total;
}

// Links crossed by data and their ACKs, one for each packet; the background's are not known.
double PacketHops(const Experiment& experiment) {
  // Of flows between any two hosts.
  const double hosts = static_cast<double>(experiment.stage.hosts);
  const double same_leaf = hosts / static_cast<double>(experiment.stage.leaves) - 1;
  double hops = 0;
  for (const Forecast& forecast : experiment.forecasts) {
    const double crossing = forecast.crossing.value_or(1 - same_leaf / (hosts - 1));
    hops += 2 * forecast.packets * (2 + crossing * (experiment.mean_links - 2));
  }
  return hops;
}

// The background's average rate, headers included, as a share of all links from hosts.
double BackgroundLoad(const Experiment& experiment) {
  double bps = 0;
  double capacity = 0;
  for (const UdpSource& source : experiment.background) bps += static_cast<double>(source.rate.bps);
  for (const BitRate rate : experiment.stage.host_rate) capacity += static_cast<double>(rate.bps);
  return bps / capacity;
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
  const double flows = Total(experiment, &Forecast::flows);
  const double hops = PacketHops(experiment);
  fmt::print("  flows       {}, {} bytes of payload\n", Count(flows),
             Count(Total(experiment, &Forecast::bytes)));
  if (Total(experiment, &Forecast::host_load) > 0) {
    fmt::print("  load        {:.3g} of host links ({:.3g} with headers), {:.3g} of leaf uplinks\n",
               Total(experiment, &Forecast::host_load),
               Total(experiment, &Forecast::host_load_with_headers),
               Total(experiment, &Forecast::fabric_load));
  }
  if (!experiment.background.empty()) {
    fmt::print("  background  {} UDP sources, all together {:.3g} of host links\n",
               experiment.background.size(), BackgroundLoad(experiment));
  }
  fmt::print(
      "  time        flows start from {:.3f} ms to {:.3f} ms, measured from {:.3f} ms; ends at "
      "{:.3f} ms at the latest\n",
      heddle::Seconds(experiment.timeline.generation_start - Time{}) * 1e3,
      heddle::Seconds(experiment.timeline.generation_end - Time{}) * 1e3,
      heddle::Seconds(experiment.timeline.measure_from - Time{}) * 1e3,
      heddle::Seconds(experiment.timeline.t_max - Time{}) * 1e3);
  fmt::print("  work        {} packet-hops, {} on one thread\n", Count(hops),
             Seconds(hops * kSecondsPerHop));
}

}  // namespace

int Check(const RunArguments& arguments) {
  Diagnostics diagnostics;
  for (const std::string& file : arguments.files) {
    for (const Experiment& experiment :
         LoadExperiments(file, {arguments.sets, arguments.seed}, diagnostics)) {
      Print(file, experiment);
      for (const std::string& warning : experiment.warnings) {
        fmt::print(stderr, "warning: {}\n", warning);
      }
    }
  }
  if (diagnostics.ok()) return kExitDone;
  fmt::print(stderr, "{}", diagnostics.Report());
  return kExitBadInput;
}

}  // namespace heddle
