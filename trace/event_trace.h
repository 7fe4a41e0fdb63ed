// SPDX-License-Identifier: Apache-2.0
// What happened when, for a viewer: the JSON of Chrome's Trace Event Format, which ui.perfetto.dev
// and chrome://tracing open. Flows and pauses are slices, queues are counters.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"
#include "fabric/flow.h"

namespace heddle {

class EventTrace {
 public:
  // Events are held until the end, as those of a flow become known late: at most about `limit`.
  explicit EventTrace(int64_t limit) : limit_(limit) {}

  // The queue of `port` is `bytes` long from `at` on.
  void AddQueue(uint32_t port, Time at, int64_t bytes) {
    if (HasRoom()) events_.push_back({at, Kind::kQueue, port, bytes});
  }

  // `spec` has come whole at `end`; kNever: it has not. Its slice then ends with the run.
  void AddFlow(const FlowSpec& spec, Time end);

  // Class `cls` of `port` is paused from `start` to `end`.
  void AddPause(uint32_t port, uint8_t cls, Time start, Time end);

  // Whether there was room for everything.
  bool whole() const { return whole_; }

  // In pieces. `name`: of a port, without characters that JSON escapes. `end`: that of the run.
  void Write(Time end, const std::function<std::string(uint32_t port)>& name,
             const std::function<bool(std::string_view)>& write);

 private:
  enum class Kind : uint8_t { kFlowEnd, kPauseEnd, kFlowStart, kPauseStart, kQueue };

  struct Event {
    Time at;
    Kind kind;
    uint32_t id;    // Of the port, or an index in flows_.
    int64_t value;  // Bytes, or a class.
  };
  struct Flow {
    FlowSpec spec;
    Time end;
  };

  bool HasRoom() {
    const bool has = static_cast<int64_t>(events_.size()) < limit_;
    whole_ = whole_ && has;
    return has;
  }
  void Append(const Event& event, const std::function<std::string(uint32_t)>& name,
              std::string& text) const;

  const int64_t limit_;
  std::vector<Event> events_;
  std::vector<Flow> flows_;
  bool whole_ = true;
};

}  // namespace heddle
