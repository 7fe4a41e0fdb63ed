// SPDX-License-Identifier: Apache-2.0

#include "cli/check_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <functional>

#include "cli/text.h"
#include "experiment/estimate.h"
#include "experiment/schedule_checks.h"
#include "experiment/warnings.h"
#include "settings/wording.h"

namespace heddle {
namespace {

std::string RangeOf(const std::vector<Experiment>& points,
                    const std::function<double(const Experiment&)>& number) {
  double least = number(points.front());
  double most = least;
  for (const Experiment& point : points) {
    least = std::min(least, number(point));
    most = std::max(most, number(point));
  }
  const std::string from = CountText(least);
  const std::string to = CountText(most);
  return from == to ? from : fmt::format("{} to {}", from, to);
}

// Returns the distinct texts in the order of the points, without empty ones.
std::string AllOf(const std::vector<Experiment>& points,
                  const std::function<std::string(const Experiment&)>& text) {
  std::vector<std::string> distinct;
  for (const Experiment& point : points) {
    const std::string one = text(point);
    if (one.empty()) continue;
    if (std::ranges::find(distinct, one) == distinct.end()) distinct.push_back(one);
  }
  constexpr size_t kMost = 8;
  if (distinct.size() <= kMost) return fmt::format("{}", fmt::join(distinct, ", "));
  const size_t more = distinct.size() - kMost;
  distinct.resize(kMost);
  return fmt::format("{} and {} more", fmt::join(distinct, ", "), more);
}

// Flow lists, collectives and other fixed sets of flows have no load.
bool HasHostLoad(const Experiment& experiment) {
  return experiment.Total(&Forecast::host_load) > 0;
}

void PrintLoads(const std::vector<Experiment>& points) {
  if (std::ranges::none_of(points, HasHostLoad)) return;
  fmt::print(
      "  load        {} of host links, {} of leaf uplinks\n",
      RangeOf(points, [](const Experiment& point) { return point.Total(&Forecast::host_load); }),
      RangeOf(points, [](const Experiment& point) { return point.Total(&Forecast::fabric_load); }));
}

void PrintNotices(const std::vector<Experiment>& points) {
  const std::string notices = AllOf(points, NoticeOfFailures);
  if (!notices.empty()) fmt::print("  failures    {}\n", notices);
}

}  // namespace

void PrintSummary(const std::string& file, const std::vector<Experiment>& points) {
  double hops = 0;
  double seconds = 0;
  for (const Experiment& point : points) {
    hops += ExpectedPacketHops(point);
    seconds += ExpectedSeconds(point);
  }
  fmt::print("{}: {} valid\n", file, CountedNoun(points.size(), "point"));
  std::vector<std::string> axes;
  for (const auto& [key, value] : points.front().axes) axes.push_back(key);
  fmt::print("  sweeps      {}\n", fmt::join(axes, ", "));
  fmt::print("  network     {}\n", AllOf(points, [](const Experiment& point) {
               return fmt::format("{} with {} hosts", point.settings.topology.kind,
                                  point.graph.hosts);
             }));
  fmt::print("  transport   {}\n",
             AllOf(points, [](const Experiment& point) { return point.settings.transport.kind; }));
  fmt::print("  balancers   {}\n",
             AllOf(points, [](const Experiment& point) { return point.settings.lb.kind; }));
  fmt::print("  flows       {} a point\n", RangeOf(points, [](const Experiment& point) {
               return point.Total(&Forecast::flows);
             }));
  PrintLoads(points);
  PrintNotices(points);
  fmt::print("  work        {} packet-hops a point; {} in all, {} on one thread\n",
             RangeOf(points, ExpectedPacketHops), CountText(hops), AboutTime(seconds));
  fmt::print("  (--verbose prints each point)\n");
}

void CheckWarnings::Add(const Experiment& point) {
  ++points_;
  for (const std::string& warning : WarningsBefore(point))
    tally_.Add(warning, warning, point.label);
}

void CheckWarnings::Print() const {
  for (const WarningTally::Entry& entry : tally_.entries()) {
    const std::string where = points_ == 1 || entry.label.empty()
                                  ? ""
                                  : fmt::format(" (in {} of {}, such as {})", entry.points,
                                                CountedNoun(points_, "point"), entry.label);
    fmt::print(stderr, "warning: {}{}\n", entry.text, where);
  }
}

}  // namespace heddle
