// SPDX-License-Identifier: Apache-2.0
// Counts cache misses by perf_event_open. LeafPair starts and stops the counter around the
// decisions that it times. On machines that forbid the counter, works() is false and Count()
// returns nothing; the times are then measured without misses.

#pragma once

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <optional>

namespace heddle {

// Counts misses of the last-level cache in user code of this thread, while the counter runs.
class MissCounter {
 public:
  MissCounter() {
    perf_event_attr what = {};
    what.size = sizeof(what);
    what.type = PERF_TYPE_HARDWARE;
    what.config = PERF_COUNT_HW_CACHE_MISSES;
    what.disabled = 1;
    what.exclude_kernel = 1;
    file_ = static_cast<int>(syscall(SYS_perf_event_open, &what, 0, -1, -1, 0));
  }
  ~MissCounter() {
    if (file_ >= 0) close(file_);
  }
  MissCounter(const MissCounter&) = delete;
  MissCounter& operator=(const MissCounter&) = delete;

  bool works() const { return file_ >= 0; }
  void Start() {
    if (works()) ioctl(file_, PERF_EVENT_IOC_ENABLE, 0);
  }
  void Stop() {
    if (works()) ioctl(file_, PERF_EVENT_IOC_DISABLE, 0);
  }
  std::optional<int64_t> Count() const {
    int64_t count = 0;
    if (!works() || read(file_, &count, sizeof(count)) != sizeof(count)) return std::nullopt;
    return count;
  }

 private:
  int file_;
};

}  // namespace heddle
