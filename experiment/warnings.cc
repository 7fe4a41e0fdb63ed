// SPDX-License-Identifier: Apache-2.0

#include "experiment/warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "experiment/version.h"

namespace heddle {
namespace {

// The fewest flows of a class by whose median it is called slow.
constexpr size_t kFewestForMedian = 10;

bool HasLoad(const Experiment& experiment) { return experiment.timeline.links_until != kNever; }

// Returns the median FCT of each class with enough flows. An unfinished flow counts with the time
// that it had.
std::vector<std::pair<std::string, Duration>> MedianFcts(const Experiment& experiment,
                                                         const SimulationResult& result) {
  std::vector<std::pair<std::string, Duration>> medians;
  const SizeClasses classes = experiment.size_classes();
  for (const ClassSet& set : classes.sets()) {
    std::vector<std::vector<int64_t>> fcts(set.labels.size());
    for (const FlowSample& sample : result.samples) {
      const bool finished = sample.fct_ps != kNever.ps;
      fcts[set.IndexOf(sample.size)].push_back(finished ? sample.fct_ps
                                                        : result.end.ps - sample.start_ps);
    }
    for (size_t cls = 0; cls < fcts.size(); ++cls) {
      std::vector<int64_t>& values = fcts[cls];
      if (values.size() < kFewestForMedian) continue;
      const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
      std::ranges::nth_element(values, middle);
      medians.emplace_back(
          set.name == "all" ? "all flows" : "the flows of class " + set.labels[cls],
          Duration{*middle});
    }
  }
  return medians;
}

std::optional<WarmUp> WarmUpOf(const Experiment& experiment, const SimulationResult& result) {
  const auto medians = MedianFcts(experiment, result);
  if (medians.empty()) return std::nullopt;
  const auto slowest =
      std::ranges::max_element(medians, {}, [](const auto& m) { return m.second; });
  const Timeline& timeline = experiment.timeline;
  const Time until = std::min(timeline.measure_until, timeline.generation_end);
  return WarmUp{.slowest = slowest->first,
                .median_fct = slowest->second,
                .warm_up = timeline.measure_from - timeline.generation_start,
                .measured = std::min(until, result.end) - timeline.measure_from};
}

Needless NeedlessOf(const SimulationResult& result) {
  Needless needless;
  for (const ClassCounters& counters : result.counters) {
    needless.packets_sent += counters.packets_sent;
    needless.spurious += counters.retransmissions_spurious;
    needless.loss += counters.retransmissions_loss;
    needless.recoveries += counters.fast_retransmits_reorder;
  }
  return needless;
}

// The warnings about what was measured, in the order in which they are best read.
void AddTrust(const Experiment& experiment, const SimulationResult& result,
              std::span<const ClassSummary> summary, std::vector<std::string>& warnings) {
  const auto add = [&](const std::optional<std::string>& warning) {
    if (warning) warnings.push_back(*warning);
  };
  if (HasLoad(experiment)) {
    const LinkLoad& load = result.load;
    add(WarnOfUncarriedLoad(ShareOfHostLinks(experiment, load, load.payload_offered),
                            ShareOfHostLinks(experiment, load, load.payload_carried)));
    add(WarnOfGrowingBacklog(result.in_progress));
    if (const auto warm_up = WarmUpOf(experiment, result)) add(WarnOfShortWarmUp(*warm_up));
  }
  add(WarnOfFewFlows(summary));
  const ExperimentSettings& settings = experiment.settings;
  add(WarnOfNeedlessRetransmissions(NeedlessOf(result), settings.lb.kind,
                                    settings.transport.settings->RemedyForReordering()));
}

std::string FlowsMissing(Time end) {
  return fmt::format("t_max ends the run at {}, before all flows have started",
                     FormatQuantity(end - Time{}));
}

// Returns the last start of a measured flow, as forecast. Messages of jobs start when others have
// arrived, which is not known before the run.
Time LastStartOf(const Experiment& experiment) {
  Time last;
  for (size_t i = 0; i < experiment.forecasts.size(); ++i) {
    const Workload& workload = *experiment.settings.workload[i].settings;
    if (!workload.measured || !workload.HostsOfJob().empty()) continue;
    last = std::max(last, experiment.forecasts[i].last);
  }
  return std::min(last, experiment.timeline.measure_until);
}

// Warns of changes from `end` on. `latest` says that the run may end before.
std::optional<std::string> LateChanges(const Experiment& experiment, Time end,
                                       std::string_view latest) {
  Time first = kNever;
  for (const LinkEvent& event : experiment.events) {
    const bool only_repairs = event.up.value_or(false);
    if (event.at >= end && !only_repairs) first = std::min(first, event.at);
  }
  for (const SwitchEvent& event : experiment.faults) {
    if (event.at >= end) first = std::min(first, event.at);
  }
  if (first == kNever) return std::nullopt;
  return fmt::format(
      "schedule: the run ends at {}{}, so what is scheduled at {} or later does not happen in it",
      RoundedQuantity(end - Time{}), latest, FormatQuantity(first - Time{}));
}

}  // namespace

std::vector<std::string> WarningsBefore(const Experiment& experiment) {
  std::vector<std::string> warnings = experiment.warnings;
  const Time t_max = experiment.timeline.t_max;
  const Time last = LastStartOf(experiment);
  if (last > t_max) {
    warnings.push_back(fmt::format("{}; they start until {}", FlowsMissing(t_max),
                                   RoundedQuantity(last - Time{})));
  }
  if (const auto late = LateChanges(experiment, t_max, " at the latest")) {
    warnings.push_back(*late);
  }
  return warnings;
}

std::vector<std::string> WarningsOf(const Experiment& experiment, const SimulationResult& result,
                                    std::span<const ClassSummary> summary) {
  std::vector<std::string> warnings = experiment.warnings;
  const std::string end = FormatQuantity(result.end - Time{});
  if (result.measured == 0) warnings.emplace_back("no flow was measured");
  if (result.flows_missing) warnings.push_back(FlowsMissing(result.end));
  if (result.jobs_missing) {
    warnings.push_back(fmt::format("t_max ends the run at {}, before all jobs have finished", end));
  }
  if (result.unfinished > 0) {
    warnings.push_back(fmt::format("{} of {} measured flows are unfinished at {}",
                                   result.unfinished, result.measured, end));
  }
  if (const auto late = WarnOfLateChanges(experiment, result.end)) warnings.push_back(*late);
  AddTrust(experiment, result, summary, warnings);
  warnings.insert(warnings.end(), result.notes.warnings.begin(), result.notes.warnings.end());
  if (IsDebugBuild()) warnings.emplace_back("this is a Debug build; expect it to be slow");
  return warnings;
}

std::optional<std::string> WarnOfLateChanges(const Experiment& experiment, Time end) {
  return LateChanges(experiment, end, "");
}

std::optional<std::string> WarnOfUncarriedLoad(double offered, double carried) {
  constexpr double kLeastShare = 0.85;
  if (carried >= kLeastShare * offered) return std::nullopt;
  return fmt::format(
      "load: flows offered {:.3g} of the hosts' links, and the network carried {:.3g}, {:.0f} % of "
      "that: no steady state, so results depend on the length of the run; start flows for longer "
      "and raise measure.warm_up; if the share stays low, the network is overloaded: lower the "
      "load",
      offered, carried, 100 * carried / offered);
}

std::optional<std::string> WarnOfGrowingBacklog(const std::array<FlowsInProgress, 2>& halves) {
  constexpr double kGrowth = 1.5;
  constexpr double kDeviations = 2;
  const auto& [first, second] = halves;
  // Independent flows in progress have a variance of at most their mean.
  const double chance = kDeviations * std::sqrt(first.flows + second.flows);
  if (second.flows - first.flows <= chance) return std::nullopt;
  if (second.flows <= kGrowth * first.flows || second.bytes <= kGrowth * first.bytes) {
    return std::nullopt;
  }
  return fmt::format(
      "backlog: {:.4g} flows of {:.3g} MB in total were in progress in the first half of the "
      "measured time, and {:.4g} of {:.3g} MB in the second: the backlog still grows, so FCTs "
      "depend on the length of the run; lower the load, or raise measure.warm_up and start flows "
      "for longer until the backlog is steady",
      first.flows, first.bytes / 1e6, second.flows, second.bytes / 1e6);
}

std::optional<std::string> WarnOfShortWarmUp(const WarmUp& times) {
  constexpr double kMostShare = 0.1;
  const Duration missing = times.median_fct - times.warm_up;
  if (Seconds(missing) <= kMostShare * Seconds(times.measured)) return std::nullopt;
  return fmt::format(
      "warm-up: the network still fills when the first flows are measured, {} after the first "
      "start: half of {} take {} or longer; so {} see too little load; set measure.warm_up to {} "
      "or "
      "more, and start flows for longer",
      RoundedQuantity(times.warm_up), times.slowest, RoundedQuantity(times.median_fct),
      missing < times.measured ? fmt::format("{:.0f} % of the measured flows",
                                             100 * Seconds(missing) / Seconds(times.measured))
                               : "all measured flows",
      RoundedQuantity(times.median_fct));
}

std::optional<std::string> WarnOfFewFlows(std::span<const ClassSummary> summary) {
  std::map<std::string, int> sets_of;  // By label; classes of several sets may share one.
  for (const ClassSummary& row : summary) ++sets_of[row.label];
  std::string classes;
  for (const ClassSummary& row : summary) {
    if (row.flows == 0 || row.flows >= kEnoughForP99) continue;
    const std::string name = row.set == "all"            ? "all flows"
                             : sets_of.at(row.label) > 1 ? row.set + " " + row.label
                                                         : row.label;
    classes += fmt::format("{}{} ({})", classes.empty() ? "" : ", ", name, row.flows);
  }
  if (classes.empty()) return std::nullopt;
  return fmt::format(
      "few flows: fewer than ten flows lie above the p99 of {}: these percentiles change "
      "much from seed to seed; measure {} flows or more of a class, or show medians and several "
      "seeds",
      classes, kEnoughForP99);
}

std::optional<std::string> WarnOfNeedlessRetransmissions(const Needless& counts,
                                                         const std::string& lb,
                                                         const std::string& remedy) {
  constexpr double kMostShare = 0.01;
  const double share = static_cast<double>(counts.spurious) /
                       static_cast<double>(std::max<int64_t>(1, counts.packets_sent));
  if (share < kMostShare) return std::nullopt;
  // Go-back-N also resends what follows a lost packet; then losses are the reason.
  if (counts.recoveries <= counts.loss) return std::nullopt;
  return fmt::format(
      "reordering: {:.2g} % of the data packets sent were retransmissions that no loss called for, "
      "because senders took overtaken packets for lost ones {} times: the run measures the "
      "transport rather than {}; {}",
      100 * share, counts.recoveries, lb, remedy);
}

}  // namespace heddle
