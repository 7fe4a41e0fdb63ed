// SPDX-License-Identifier: Apache-2.0

#include "measure/policy_counts.h"

#include <memory>
#include <string_view>

#include "measure/table.h"

namespace heddle {
namespace {

template <class Policy>
PolicyReport ReportOf(VertexId vertex, const Policy& policy) {
  PolicyReport report{vertex, static_cast<int64_t>(policy.StateBytes()), {}};
  for (const auto& counter : policy.Counters()) {
    report.counters.emplace_back(counter.name, counter.value);
  }
  return report;
}

PolicyReport ReportOf(VertexId vertex, Host& from) {
  PolicyReport report = ReportOf(vertex, from.policy());
  report.state_bytes +=
      static_cast<int64_t>(from.policy().FlowBytes() * from.transport().most_flows());
  return report;
}

// A decision is a packet for which there was a choice, whatever the scheme did with it. So the
// counts of schemes can be compared.
PolicyReport ReportOf(VertexId vertex, Switch& from) {
  PolicyReport report = ReportOf(vertex, from.policy());
  report.counters.insert(report.counters.begin(), {"decisions", from.asked()});
  return report;
}

std::vector<PolicyReport> ReportsOf(Network& network) {
  std::vector<PolicyReport> reports;
  for (size_t h = 0; h < network.hosts(); ++h) {
    if (!network.host(h).has_policy()) continue;
    reports.push_back(ReportOf(network.graph().VertexOfHost(h), network.host(h)));
  }
  for (const std::unique_ptr<Switch>& s : network.switches()) {
    reports.push_back(ReportOf(network.graph().VertexOfSwitch(s->id()), *s));
  }
  return reports;
}

struct CounterRow {
  std::string_view node;
  std::string_view policy;
  std::string_view counter;
  int64_t value;
};

constexpr Column<CounterRow> kCounterColumns[] = {
    {"node", [](const CounterRow& row) { return row.node; }},
    {"policy", [](const CounterRow& row) { return row.policy; }},
    {"counter", [](const CounterRow& row) { return row.counter; }},
    {"value", [](const CounterRow& row) { return row.value; }}};

}  // namespace

std::map<std::string, int64_t> SumOfCounters(std::span<const PolicyReport> reports) {
  std::map<std::string, int64_t> sums;
  for (const PolicyReport& report : reports) {
    for (const auto& [name, value] : report.counters) sums[name] += value;
  }
  return sums;
}

// There are many hosts, so their zeros are left out.
void PolicyCounts::Finish(Time /*end*/, RunNotes& /*notes*/) {
  reports_ = ReportsOf(network());
  const Graph& graph = network().graph();
  std::string csv = Table(kCounterColumns).Header();
  for (const PolicyReport& report : reports_) {
    const std::string node = graph.NameOf(report.vertex);
    const auto add = [&](std::string_view counter, int64_t value) {
      Table(kCounterColumns).Append(csv, {node, run().plan().lb, counter, value});
    };
    add("state_bytes", report.state_bytes);
    for (const auto& [name, value] : report.counters) {
      if (!graph.IsHost(report.vertex) || value != 0) add(name, value);
    }
  }
  run().Write("lb.csv", csv);
}

}  // namespace heddle
