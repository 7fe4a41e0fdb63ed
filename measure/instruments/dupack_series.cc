// SPDX-License-Identifier: Apache-2.0
// measure.record.dupacks: entries into fast retransmit by their cause, in each interval. It becomes
// known later if a fast retransmit was due to a loss, so the rows are written at the end of the
// run.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "measure/instruments.h"
#include "measure/series.h"

namespace heddle {
namespace {

struct DupacksIn {
  Time end;
  int64_t sent;
  int64_t reorder = 0;
  int64_t loss = 0;
};

constexpr Column<DupacksIn> kDupackColumns[] = {
    {"time_ns", [](const DupacksIn& row) { return InNs(row.end); }},
    {"data_pkts", [](const DupacksIn& row) { return row.sent; }},
    {"dupack3_reorder", [](const DupacksIn& row) { return row.reorder; }},
    {"dupack3_loss", [](const DupacksIn& row) { return row.loss; }}};

class DupackSeries final : public Series {
 public:
  explicit DupackSeries(Duration every) : Series(every) { Keep(file_); }

 private:
  void Prepare() override {
    for (const auto& recorder : run().recorders()) recorder->KeepFastRetransmits();
  }

  void Record(Time /*from*/, Time now) override {
    int64_t sent = 0;
    for (size_t h = 0; h < network().hosts(); ++h) sent += network().host(h).data_sent();
    intervals_.push_back({now, sent - std::exchange(sent_, sent)});
  }

  void RecordRest(Time from, Time end) override {
    Record(from, end);
    for (const std::unique_ptr<FlowRecorder>& recorder : run().recorders()) {
      for (const auto& [at, dropped] : recorder->fast_retransmits()) {
        DupacksIn& interval = intervals_[static_cast<size_t>((at - Time{}) / every())];
        ++(dropped ? interval.loss : interval.reorder);
      }
    }
    for (const DupacksIn& interval : intervals_) {
      if (interval.sent == 0 && interval.reorder == 0 && interval.loss == 0) continue;
      file_.Add(interval);
    }
  }

  TableFile<DupacksIn> file_{"series_dupack.csv", Table(kDupackColumns)};
  std::vector<DupacksIn> intervals_;
  int64_t sent_ = 0;  // Up to the last measurement.
};

[[maybe_unused]] const bool registered = RegisterSeries<DupackSeries>(
    {.name = "dupacks", .order = 50},
    "series_dupack.csv: data packets sent, and entries into fast retransmit by their cause, in "
    "each interval.");

}  // namespace
}  // namespace heddle
