// SPDX-License-Identifier: Apache-2.0

#include "cli/check_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <functional>

#include "cli/text.h"
#include "experiment/estimate.h"
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

// Returns the distinct texts in the order of the points.
std::string AllOf(const std::vector<Experiment>& points,
                  const std::function<std::string(const Experiment&)>& text) {
  std::vector<std::string> distinct;
  for (const Experiment& point : points) {
    const std::string one = text(point);
    if (std::ranges::find(distinct, one) == distinct.end()) distinct.push_back(one);
  }
  constexpr size_t kMost = 8;
  if (distinct.size() <= kMost) return fmt::format("{}", fmt::join(distinct, ", "));
  const size_t more = distinct.size() - kMost;
  distinct.resize(kMost);
  return fmt::format("{} and {} more", fmt::join(distinct, ", "), more);
}

double FlowsOf(const Experiment& point) {
  double flows = 0;
  for (const Forecast& forecast : point.forecasts) flows += forecast.flows;
  return flows;
}

double HostLoadOf(const Experiment& point) {
  double load = 0;
  for (const Forecast& forecast : point.forecasts) load += forecast.host_load;
  return load;
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
  fmt::print("  flows       {} a point\n", RangeOf(points, FlowsOf));
  fmt::print("  load        {} of host links\n", RangeOf(points, HostLoadOf));
  fmt::print("  work        {} packet-hops a point; {} in all, {} on one thread\n",
             RangeOf(points, ExpectedPacketHops), CountText(hops), AboutTime(seconds));
  fmt::print("  (--verbose prints each point)\n");
}

void CheckWarnings::Add(const Experiment& point) {
  ++points_;
  for (const std::string& warning : point.warnings) {
    const auto [known, is_new] = index_.emplace(warning, found_.size());
    if (is_new) found_.push_back({warning, point.label, 0});
    ++found_[known->second].points;
  }
}

void CheckWarnings::Print() const {
  for (const Found& found : found_) {
    const std::string where = points_ == 1 || found.example.empty()
                                  ? ""
                                  : fmt::format(" (in {} of {}, such as {})", found.points,
                                                CountedNoun(points_, "point"), found.example);
    fmt::print(stderr, "warning: {}{}\n", found.text, where);
  }
}

}  // namespace heddle
