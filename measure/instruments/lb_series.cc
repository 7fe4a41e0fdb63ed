// SPDX-License-Identifier: Apache-2.0
// measure.record.lb: samples the state that load balancers show at each interval's end.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "measure/instruments.h"
#include "measure/series.h"

namespace heddle {
namespace {

struct GaugeAt {
  Time now;
  std::string_view node;
  const Gauge& gauge;
};

constexpr Column<GaugeAt> kLbColumns[] = {
    {"time_ns", [](const GaugeAt& row) { return InNs(row.now); }},
    {"node", [](const GaugeAt& row) { return row.node; }},
    {"gauge", [](const GaugeAt& row) -> std::string_view { return row.gauge.name; }},
    {"value", [](const GaugeAt& row) { return row.gauge.value; }}};

class LbSeries final : public Series {
 public:
  explicit LbSeries(Duration every) : Series(every) { Keep(file_); }

 private:
  void Record(Time /*from*/, Time now) override {
    const Graph& graph = network().graph();
    for (size_t h = 0; h < network().hosts(); ++h) {
      Host& host = network().host(h);
      if (host.has_policy()) Add(graph.NameOf(graph.VertexOfHost(h)), host.policy(), now);
    }
    for (const std::unique_ptr<Switch>& s : network().switches()) {
      Add(graph.switches[s->id()].name, s->policy(), now);
    }
  }

  template <class Policy>
  void Add(const std::string& node, const Policy& policy, Time now) {
    for (const Gauge& gauge : policy.Gauges(now)) file_.Add({now, node, gauge});
  }

  TableFile<GaugeAt> file_{"series_lb.csv", Table(kLbColumns)};
};

[[maybe_unused]] const bool registered = RegisterSeries<LbSeries>(
    {.name = "lb", .order = 60},
    "series_lb.csv: the state that load balancers report at each multiple of this interval.");

}  // namespace
}  // namespace heddle
