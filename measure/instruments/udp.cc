// SPDX-License-Identifier: Apache-2.0
// udp.csv: how many background datagrams were sent, received and lost, by source.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "measure/instruments.h"
#include "measure/table.h"

namespace heddle {
namespace {

template <class T>
std::optional<T> IfArrived(const UdpRecord& record, T cell) {
  return record.delay_ps.count() == 0 ? std::nullopt : std::optional<T>(cell);
}
std::optional<Nanoseconds> Delay(const UdpRecord& record, int64_t ps) {
  return IfArrived(record, Nanoseconds{ps});
}

double LossRatio(const UdpRecord& record) {
  const int64_t numbers = record.received + record.lost;
  return numbers == 0 ? 0 : static_cast<double>(record.lost) / static_cast<double>(numbers);
}

const char* PatternOf(const UdpSource& source) {
  static constexpr std::array<const char*, 3> kPatterns = {"cbr", "poisson", "onoff"};
  return kPatterns[static_cast<size_t>(source.pattern.kind)];
}

constexpr Column<UdpRecord> kUdpColumns[] = {
    {"source", [](const UdpRecord& row) { return row.source->id; }},
    {"entry", [](const UdpRecord& row) { return row.source->entry; }},
    {"src", [](const UdpRecord& row) { return row.source->src; }},
    {"dst", [](const UdpRecord& row) { return row.source->dst; }},
    {"pattern", [](const UdpRecord& row) { return PatternOf(*row.source); }},
    {"priority", [](const UdpRecord& row) { return row.source->priority; }},
    {"path",
     [](const UdpRecord& row) {
       const auto path = row.source->path;
       return path == kNoPath ? std::nullopt : std::optional(path);
     }},
    {"rate_bps", [](const UdpRecord& row) { return row.source->rate.bps; }},
    {"start_ps", [](const UdpRecord& row) { return row.source->start.ps; }},
    {"stop_ps",
     [](const UdpRecord& row) {
       const Time stop = row.source->stop;
       return stop == kNever ? std::nullopt : std::optional(stop.ps);
     }},
    {"pkts_sent", [](const UdpRecord& row) { return row.sent; }},
    {"bytes_sent", [](const UdpRecord& row) { return row.sent * row.source->payload.count; }},
    {"pkts_unsent", [](const UdpRecord& row) { return row.unsent; }},
    {"pkts_received", [](const UdpRecord& row) { return row.received; }},
    {"bytes_received",
     [](const UdpRecord& row) { return row.received * row.source->payload.count; }},
    {"pkts_lost", [](const UdpRecord& row) { return row.lost; }},
    {"loss_ratio", [](const UdpRecord& row) { return LossRatio(row); }},
    {"reordered", [](const UdpRecord& row) { return row.reordered; }},
    {"avg_delay_ns",
     [](const UdpRecord& row) { return IfArrived(row, row.delay_ps.mean() * 1e-3); }},
    {"p50_delay_ns", [](const UdpRecord& row) { return Delay(row, row.delay_ps.Percentile(0.5)); }},
    {"p99_delay_ns",
     [](const UdpRecord& row) { return Delay(row, row.delay_ps.Percentile(0.99)); }},
    {"max_delay_ns", [](const UdpRecord& row) { return Delay(row, row.delay_ps.max()); }}};

class UdpTable final : public Instrument {
 public:
  void Finish(Time /*end*/, RunNotes& /*notes*/) override {
    run().Write("udp.csv", Table(kUdpColumns).Text(network().CollectBackground()));
  }
};

[[maybe_unused]] const bool registered = RegisterForRuns("udp", [](const RunPlan& plan) {
  return plan.background.empty() ? nullptr : std::make_unique<UdpTable>();
});

}  // namespace
}  // namespace heddle
