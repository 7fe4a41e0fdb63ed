// SPDX-License-Identifier: Apache-2.0
// measure.record.marks: how many ECN marks each port sets, and how many congestion notifications
// come to each host, in each interval.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "measure/instruments.h"
#include "measure/series.h"

namespace heddle {
namespace {

struct MarksIn {
  Time end;
  std::string node;
  PortIndex port;
  int64_t marked;
};
constexpr Column<MarksIn> kMarkColumns[] = {
    {"time_ns", [](const MarksIn& row) { return InNs(row.end); }},
    {"node", [](const MarksIn& row) -> std::string_view { return row.node; }},
    {"port", [](const MarksIn& row) { return row.port; }},
    {"marked", [](const MarksIn& row) { return row.marked; }}};

struct NotificationsIn {
  Time end;
  size_t host;
  int64_t cnps;
};
constexpr Column<NotificationsIn> kNotificationColumns[] = {
    {"time_ns", [](const NotificationsIn& row) { return InNs(row.end); }},
    {"host", [](const NotificationsIn& row) { return row.host; }},
    {"cnps", [](const NotificationsIn& row) { return row.cnps; }}};

class MarkSeries final : public Series {
 public:
  explicit MarkSeries(Duration every) : Series(every) {
    Keep(marks_);
    Keep(notifications_);
  }

 private:
  void Prepare() override {
    marked_.resize(network().egresses().size());
    cnps_.resize(network().hosts());
  }

  void Record(Time /*from*/, Time now) override {
    for (size_t i = 0; i < marked_.size(); ++i) {
      const Network::Egress& egress = network().egresses()[i];
      const int64_t marked = egress.fifo->marked();
      const int64_t more = marked - std::exchange(marked_[i], marked);
      if (more == 0) continue;
      marks_.Add({now, network().graph().NameOf(egress.vertex), egress.port, more});
    }
    for (size_t h = 0; h < cnps_.size(); ++h) {
      const int64_t cnps = network().host(h).transport().cnps();
      const int64_t more = cnps - std::exchange(cnps_[h], cnps);
      if (more != 0) notifications_.Add({now, h, more});
    }
  }
  void RecordRest(Time from, Time end) override { Record(from, end); }

  TableFile<MarksIn> marks_{"series_marks.csv", Table(kMarkColumns)};
  TableFile<NotificationsIn> notifications_{"series_cnp.csv", Table(kNotificationColumns)};
  std::vector<int64_t> marked_;  // By egress, up to the last measurement.
  std::vector<int64_t> cnps_;    // By host, up to the last measurement.
};

[[maybe_unused]] const bool registered =
    RegisterSeries<MarkSeries>({.name = "marks", .order = 40},
                               "series_marks.csv and series_cnp.csv: packets that each port marks, "
                               "and CNPs that each host receives, in each interval.");

}  // namespace
}  // namespace heddle
