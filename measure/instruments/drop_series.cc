// SPDX-License-Identifier: Apache-2.0
// measure.record.drops: how many packets each node drops, by reason, in each
// interval.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "measure/instruments.h"
#include "measure/series.h"

namespace heddle {
namespace {

struct DropsIn {
  Time end;
  std::string node;
  std::string_view reason;
  int64_t packets;
};

constexpr Column<DropsIn> kDropColumns[] = {
    {"time_ns", [](const DropsIn& row) { return InNs(row.end); }},
    {"node", [](const DropsIn& row) -> std::string_view { return row.node; }},
    {"reason", [](const DropsIn& row) { return row.reason; }},
    {"pkts", [](const DropsIn& row) { return row.packets; }}};

class DropSeries final : public Series {
 public:
  explicit DropSeries(Duration every) : Series(every) { Keep(file_); }

 private:
  using ByReason = std::array<int64_t, kDropReasons>;

  void Prepare() override { before_.resize(network().graph().vertices()); }

  void Record(Time /*from*/, Time now) override {
    const Graph& graph = network().graph();
    for (size_t h = 0; h < network().hosts(); ++h) {
      Add(graph.VertexOfHost(h), DropsOf(network().host(h)), now);
    }
    for (const auto& s : network().switches()) {
      Add(graph.VertexOfSwitch(s->id()), DropsOf(*s), now);
    }
  }
  void RecordRest(Time from, Time end) override { Record(from, end); }

  // A host drops packets that its link has damaged, and packets that it sends while the link is
  // down.
  static ByReason DropsOf(Host& host) {
    ByReason drops{};
    for (PortIndex link = 0; link < host.nics(); ++link) {
      drops[static_cast<size_t>(DropReason::kLinkDown)] += host.nic(link).dropped_down();
    }
    drops[static_cast<size_t>(DropReason::kCorrupt)] = host.damaged();
    return drops;
  }
  static ByReason DropsOf(const Switch& s) {
    ByReason drops{};
    for (size_t reason = 0; reason < kDropReasons; ++reason) {
      drops[reason] = s.drops(static_cast<DropReason>(reason));
    }
    return drops;
  }

  void Add(VertexId vertex, const ByReason& drops, Time now) {
    const ByReason before = std::exchange(before_[vertex.index()], drops);
    for (size_t reason = 0; reason < kDropReasons; ++reason) {
      const int64_t more = drops[reason] - before[reason];
      if (more == 0) continue;
      file_.Add({now, network().graph().NameOf(vertex), kDropReasonNames[reason], more});
    }
  }

  TableFile<DropsIn> file_{"series_drop.csv", Table(kDropColumns)};
  std::vector<ByReason> before_;  // By vertex, up to the last measurement.
};

[[maybe_unused]] const bool registered =
    RegisterSeries<DropSeries>({.name = "drops"},
                               "series_drop.csv: packets that each host and switch "
                               "drops, by reason, in each interval.");

}  // namespace
}  // namespace heddle
