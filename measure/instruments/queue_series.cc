// SPDX-License-Identifier: Apache-2.0
// measure.record.queues: samples the queues of switches at each interval's end.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "measure/instruments.h"
#include "measure/series.h"

namespace heddle {
namespace {

struct QueueAt {
  Time now;
  std::string_view node;
  PortIndex port;
  size_t cls;
  QueueLength queue;
  bool paused;
};

constexpr Column<QueueAt> kQueueColumns[] = {
    {"time_ns", [](const QueueAt& row) { return InNs(row.now); }},
    {"node", [](const QueueAt& row) { return row.node; }},
    {"port", [](const QueueAt& row) { return row.port; }},
    {"class", [](const QueueAt& row) { return row.cls; }},
    {"bytes", [](const QueueAt& row) { return row.queue.bytes; }},
    {"pkts", [](const QueueAt& row) { return row.queue.packets; }},
    {"paused", [](const QueueAt& row) { return row.paused; }}};

class QueueSeries final : public Series {
 public:
  explicit QueueSeries(Duration every) : Series(every) { Keep(file_); }

 private:
  void Record(Time /*from*/, Time now) override {
    for (const std::unique_ptr<Switch>& s : network().switches()) {
      for (PortIndex port = 0; port < s->ports().size(); ++port) {
        if (s->queued() != nullptr) {
          AddQueues(*s, port, now);
        } else {
          const size_t data = run().plan().transport->classes().data;
          Add(*s, port, data, s->ports()[port].QueueAt(now), false, now);
        }
      }
    }
  }

  void AddQueues(Switch& s, PortIndex port, Time now) {
    QueuedPort& queued = (*s.queued())[port];
    Add(s, port, 0, queued.QueueAt(0, now), false, now);
    for (size_t cls = 1; cls < kClasses; ++cls) {
      if ((queued.classes() >> cls & 1) == 0) continue;
      Add(s, port, cls, queued.QueueAt(cls, now), (queued.paused() >> cls & 1) != 0, now);
    }
  }

  void Add(const Switch& s, PortIndex port, size_t cls, const QueueLength& queue, bool paused,
           Time now) {
    if (queue.packets == 0 && !paused) return;
    file_.Add({now, network().graph().switches[s.id()].name, port, cls, queue, paused});
  }

  TableFile<QueueAt> file_{"series_queue.csv", Table(kQueueColumns)};
};

[[maybe_unused]] const bool registered = RegisterSeries<QueueSeries>(
    {.name = "queues", .order = 10},
    "series_queue.csv: queue lengths of switches at each multiple of this interval.");

}  // namespace
}  // namespace heddle
