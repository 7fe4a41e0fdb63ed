// SPDX-License-Identifier: Apache-2.0
// reorder.csv: how packets of measured flows were reordered, by size class.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "core/check.h"
#include "measure/flow_collector.h"
#include "measure/instruments.h"
#include "measure/table.h"

namespace heddle {
namespace {

struct ReorderRow {
  std::string_view scope;
  std::string_view label;
  ClassCounters counters;
  ReorderingStats reordering;

  double ratio() const {
    const double received = static_cast<double>(counters.packets_received);
    return received == 0 ? 0 : static_cast<double>(counters.reordered) / received;
  }
};

constexpr Column<ReorderRow> kReorderColumns[] = {
    {"scope", [](const ReorderRow& row) { return row.scope; }},
    {"class", [](const ReorderRow& row) { return row.label; }},
    {"n_pkts", [](const ReorderRow& row) { return row.counters.packets_received; }},
    {"reordered", [](const ReorderRow& row) { return row.counters.reordered; }},
    {"ratio", [](const ReorderRow& row) { return row.ratio(); }},
    {"deg1", [](const ReorderRow& row) { return row.reordering.degree1; }},
    {"deg2", [](const ReorderRow& row) { return row.reordering.degree2; }},
    {"deg3plus", [](const ReorderRow& row) { return row.reordering.degree3_plus; }},
    {"extent_p50", [](const ReorderRow& row) { return row.reordering.extent.Percentile(0.5); }},
    {"extent_p99", [](const ReorderRow& row) { return row.reordering.extent.Percentile(0.99); }},
    {"extent_max", [](const ReorderRow& row) { return row.reordering.extent.max(); }},
    {"late_p99_ns",
     [](const ReorderRow& row) { return Nanoseconds{row.reordering.late_ps.Percentile(0.99)}; }},
    {"flows_with_reordering",
     [](const ReorderRow& row) { return row.counters.flows_with_reordering; }},
    {"dupack3_reorder",
     [](const ReorderRow& row) { return row.counters.fast_retransmits_reorder; }},
    {"retx_spurious", [](const ReorderRow& row) { return row.counters.retransmissions_spurious; }},
    {"pkts_sent", [](const ReorderRow& row) { return row.counters.packets_sent; }},
    {"retx", [](const ReorderRow& row) { return row.counters.retransmissions; }},
    {"behind_p99", [](const ReorderRow& row) { return row.reordering.behind.Percentile(0.99); }},
    {"behind_max", [](const ReorderRow& row) { return row.reordering.behind.max(); }},
    {"path_switches", [](const ReorderRow& row) { return row.counters.path_switches; }}};

class Reorder final : public Instrument {
 public:
  void Finish(Time /*end*/, RunNotes& /*notes*/) override {
    const SizeClasses& classes = *run().plan().classes;
    const std::vector<ClassCounters> counters = CountersOf(run().recorders());
    const std::vector<ReorderingStats> reordering = Merged(classes.atoms());
    for (size_t atom = 0; atom < counters.size(); ++atom) {
      // Two independent counts of the same packets.
      HEDDLE_CHECK(reordering[atom].extent.count() == counters[atom].reordered,
                   "{} reordered packets were seen, but flows count {}",
                   reordering[atom].extent.count(), counters[atom].reordered);
    }
    std::vector<ReorderRow> rows;
    classes.ForEachClass([&](const ClassSet& set, size_t cls, const std::vector<size_t>& atoms) {
      ReorderRow& row =
          rows.emplace_back(set.name, set.labels[cls], ClassCounters(), ReorderingStats());
      for (const size_t atom : atoms) {
        row.counters.Merge(counters[atom]);
        row.reordering.Merge(reordering[atom]);
      }
    });
    run().Write("reorder.csv", Table(kReorderColumns).Text(rows));
  }

 private:
  std::vector<ReorderingStats> Merged(size_t atoms) const {
    std::vector<ReorderingStats> all(atoms);
    for (const std::unique_ptr<FlowRecorder>& recorder : run().recorders()) {
      for (size_t atom = 0; atom < atoms; ++atom) all[atom].Merge(recorder->reordering()[atom]);
    }
    return all;
  }
};

[[maybe_unused]] const bool registered =
    RegisterForRuns("reorder", [](const RunPlan& /*plan*/) { return std::make_unique<Reorder>(); });

}  // namespace
}  // namespace heddle
