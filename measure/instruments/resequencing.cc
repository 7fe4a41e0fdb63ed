// SPDX-License-Identifier: Apache-2.0
// resequencing.csv: for each host, how long and how many bytes receivers held packets back for
// in-order delivery.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "measure/instruments.h"
#include "measure/table.h"

namespace heddle {
namespace {

// A row: one host, or all hosts.
struct ResequencingRow {
  std::string_view host;
  const ResequencingStats& stats;
  double time_ps;
  double hosts;
};

constexpr Column<ResequencingRow> kResequencingColumns[] = {
    {"host", [](const ResequencingRow& row) { return row.host; }},
    {"n_pkts", [](const ResequencingRow& row) { return row.stats.packets; }},
    {"held", [](const ResequencingRow& row) { return row.stats.held; }},
    {"waiting", [](const ResequencingRow& row) { return row.stats.waiting; }},
    {"late", [](const ResequencingRow& row) { return row.stats.late; }},
    {"hold_mean_ns", [](const ResequencingRow& row) { return row.stats.hold_ps.mean() * 1e-3; }},
    {"hold_p99_ns",
     [](const ResequencingRow& row) { return Nanoseconds{row.stats.hold_ps.Percentile(0.99)}; }},
    {"hold_max_ns",
     [](const ResequencingRow& row) { return Nanoseconds{row.stats.hold_ps.max()}; }},
    {"mean_bytes",
     [](const ResequencingRow& row) { return row.stats.byte_ps / row.time_ps / row.hosts; }},
    {"max_bytes", [](const ResequencingRow& row) { return row.stats.max_bytes; }},
    {"max_pkts", [](const ResequencingRow& row) { return row.stats.max_packets; }},
    {"flow_max_bytes", [](const ResequencingRow& row) { return row.stats.flow_max_bytes; }},
    {"flow_max_pkts", [](const ResequencingRow& row) { return row.stats.flow_max_packets; }},
    {"timeouts", [](const ResequencingRow& row) { return row.stats.timeouts; }},
    {"overflows", [](const ResequencingRow& row) { return row.stats.overflows; }},
    {"evictions", [](const ResequencingRow& row) { return row.stats.evictions; }}};

class Resequencing final : public Instrument {
 public:
  void Finish(Time end, RunNotes& /*notes*/) override {
    const std::vector<ResequencingStats> hosts = StatsOf(end);
    if (hosts.empty()) return;
    ResequencingStats all;
    for (const ResequencingStats& host : hosts) all.Merge(host);
    const Table<ResequencingRow> table(kResequencingColumns);
    const double time = static_cast<double>(end.ps);
    std::string csv = table.Header();
    table.Append(csv, {"all", all, time, static_cast<double>(hosts.size())});
    for (size_t h = 0; h < hosts.size(); ++h) {
      table.Append(csv, {std::to_string(h), hosts[h], time, 1});
    }
    run().Write("resequencing.csv", csv);
  }

 private:
  // By host; empty if the transport does not resequence packets.
  std::vector<ResequencingStats> StatsOf(Time end) {
    std::vector<ResequencingStats> hosts;
    for (size_t h = 0; h < network().hosts(); ++h) {
      auto stats = network().host(h).transport().Resequencing(end);
      if (stats) hosts.push_back(std::move(*stats));
    }
    return hosts;
  }
};

[[maybe_unused]] const bool registered = RegisterForRuns(
    "resequencing", [](const RunPlan& /*plan*/) { return std::make_unique<Resequencing>(); });

}  // namespace
}  // namespace heddle
