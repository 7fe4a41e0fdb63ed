// SPDX-License-Identifier: Apache-2.0
// measure.record.links: how much each direction of each link sends in each interval.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "measure/instruments.h"
#include "measure/series.h"

namespace heddle {
namespace {

struct LinkIn {
  Time end;
  std::string node;
  PortIndex port;
  int64_t wire_bytes;
  double util;
};

constexpr Column<LinkIn> kLinkColumns[] = {
    {"time_ns", [](const LinkIn& row) { return InNs(row.end); }},
    {"node", [](const LinkIn& row) -> std::string_view { return row.node; }},
    {"port", [](const LinkIn& row) { return row.port; }},
    {"wire_bytes", [](const LinkIn& row) { return row.wire_bytes; }},
    {"util", [](const LinkIn& row) { return row.util; }}};

class LinkSeries final : public Series {
 public:
  explicit LinkSeries(Duration every) : Series(every) { Keep(file_); }

 private:
  void Prepare() override { before_.resize(network().egresses().size()); }

  void Record(Time from, Time now) override {
    const double interval = static_cast<double>((now - from).ps);
    for (size_t i = 0; i < before_.size(); ++i) {
      const Network::Egress& egress = network().egresses()[i];
      const FifoPort::Counters sent = egress.fifo->SentBy(now);
      const FifoPort::Counters before = std::exchange(before_[i], sent);
      const int64_t wire_bytes = sent.wire_bytes - before.wire_bytes;
      // Neither a packet that a failure cut short nor its part that was sent counts.
      const int64_t busy_ps = std::max<int64_t>(sent.busy_ps - before.busy_ps, 0);
      if (wire_bytes == 0 && busy_ps == 0) continue;
      file_.Add({now, network().graph().NameOf(egress.vertex), egress.port, wire_bytes,
                 static_cast<double>(busy_ps) / interval});
    }
  }
  void RecordRest(Time from, Time end) override { Record(from, end); }

  TableFile<LinkIn> file_{"series_link.csv", Table(kLinkColumns)};
  std::vector<FifoPort::Counters> before_;  // By egress, up to the last measurement.
};

[[maybe_unused]] const bool registered = RegisterSeries<LinkSeries>(
    {.name = "links", .order = 20},
    "series_link.csv: bytes that each direction of each link sends in each interval.");

}  // namespace
}  // namespace heddle
