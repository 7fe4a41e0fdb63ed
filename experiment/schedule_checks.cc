// SPDX-License-Identifier: Apache-2.0

#include "experiment/schedule_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "settings/quantity.h"

namespace heddle {
namespace {

// Returns when each link that fails goes down for the first time.
std::map<uint32_t, Time> FirstFailures(const std::vector<LinkEvent>& events) {
  std::map<uint32_t, Time> first;
  for (const LinkEvent& event : events) {
    if (event.up == false) first.try_emplace(event.link, event.at);
  }
  return first;
}

bool DrawsLinks(const ScheduledChange& change) {
  return change.random_links > 0 || change.random_switches > 0 || change.share_of_links.has_value();
}

}  // namespace

void CheckRepairs(const Experiment& experiment, Diagnostics& diagnostics) {
  const ExperimentSettings& settings = experiment.settings;
  const std::map<uint32_t, Time> first = FirstFailures(experiment.events);
  for (size_t i = 0; i < settings.schedule.size(); ++i) {
    const ScheduledChange& change = settings.schedule[i];
    if (change.state != ScheduledChange::State::kUp || DrawsLinks(change)) continue;
    Diagnostics known;  // Resolve() has reported these before.
    const std::vector<LinkEvent> repairs =
        Resolve({change}, static_cast<uint64_t>(settings.seed), "", experiment.graph, known);
    const bool repairs_any = std::ranges::any_of(repairs, [&](const LinkEvent& repair) {
      const auto failure = first.find(repair.link);
      return failure != first.end() && failure->second <= repair.at;
    });
    if (repairs_any || repairs.empty()) continue;
    diagnostics.WarningAt(fmt::format("schedule[{}].state", i),
                          "up changes nothing: none of these links has been down before");
  }
}

std::string NoticeOfFailures(const Experiment& experiment) {
  const auto is_failure = [](const LinkEvent& event) { return event.up == false; };
  const auto is_told = [](const LinkEvent& event) { return event.up == false && !event.silent; };
  if (std::ranges::none_of(experiment.events, is_failure)) return "";
  if (std::ranges::none_of(experiment.events, is_told)) return "nobody knows of them (silent)";
  const RoutingSettings& routing = experiment.settings.routing;
  if (routing.convergence == Duration{0}) {
    return "routing knows of them at once (routing.convergence is 0ps)";
  }
  const std::string all =
      fmt::format("routing knows of them after {}", FormatQuantity(routing.convergence));
  if (!routing.detect) return all;
  return fmt::format("{}, the ends of a link after {}", all, FormatQuantity(*routing.detect));
}

}  // namespace heddle
