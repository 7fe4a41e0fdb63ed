// SPDX-License-Identifier: Apache-2.0
// measure.record.buffers: samples how many bytes each switch holds at each interval's end.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "measure/instruments.h"
#include "measure/series.h"

namespace heddle {
namespace {

struct BufferAt {
  Time now;
  std::string_view node;
  int64_t used;
};

constexpr Column<BufferAt> kBufferColumns[] = {
    {"time_ns", [](const BufferAt& row) { return InNs(row.now); }},
    {"node", [](const BufferAt& row) { return row.node; }},
    {"used_bytes", [](const BufferAt& row) { return row.used; }}};

class BufferSeries final : public Series {
 public:
  explicit BufferSeries(Duration every) : Series(every) { Keep(file_); }

 private:
  void Record(Time /*from*/, Time now) override {
    for (const std::unique_ptr<Switch>& s : network().switches()) {
      const int64_t used = UsedBy(*s, now);
      if (used != 0) file_.Add({now, network().graph().switches[s->id()].name, used});
    }
  }

  // The shared buffer, or the buffers of all ports together.
  static int64_t UsedBy(Switch& s, Time now) {
    if (s.queued() != nullptr && s.queued()->memory() != nullptr) {
      return s.queued()->BytesInMemory(now - 1_ps);  // A transmission that ends now still counts.
    }
    int64_t used = 0;
    for (PortIndex port = 0; port < s.ports().size(); ++port) {
      used += s.ports()[port].QueueAt(now).bytes;
      if (s.queued() != nullptr) used += WaitingAt((*s.queued())[port]);
    }
    return used;
  }

  static int64_t WaitingAt(const QueuedPort& port) {
    int64_t bytes = 0;
    for (size_t cls = 1; cls < kClasses; ++cls) {
      if ((port.classes() >> cls & 1) != 0) bytes += port.WaitingBytes(cls);
    }
    return bytes;
  }

  TableFile<BufferAt> file_{"series_buffer.csv", Table(kBufferColumns)};
};

[[maybe_unused]] const bool registered = RegisterSeries<BufferSeries>(
    {.name = "buffers", .order = 30},
    "series_buffer.csv: bytes in the buffer of each switch at each multiple of this interval.");

}  // namespace
}  // namespace heddle
