// SPDX-License-Identifier: Apache-2.0
// The timeline of a trace, in the JSON of Chrome's Trace Event Format, which ui.perfetto.dev and
// chrome://tracing open. The tracer adds events during the run and writes them at its end. Flows
// and pauses are slices, queues are counters.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"
#include "fabric/flow.h"

namespace heddle {

// Returns the time in microseconds, without rounding.
std::string TraceStamp(Time at);

class EventTrace {
 public:
  // The viewer shows each group as a process with this number.
  enum class Group : uint8_t { kFlows = 1, kQueues, kPauses };
  static constexpr int kNextGroup = 4;

  // Events are held until the end, since the end of a flow becomes known late. Each group has room
  // for `limit` events of its own: queues change so often that they would crowd out all others.
  explicit EventTrace(int64_t limit) : left_{limit, limit, limit} {}

  // The queue of `port` is `bytes` long from `at` on.
  void AddQueue(uint32_t port, Time at, int64_t bytes) {
    if (HasRoom(Group::kQueues)) events_.push_back({at, Kind::kQueue, port, bytes});
  }

  // All bytes of the flow have arrived at `end`. With kNever the flow is unfinished, and its slice
  // ends with the run.
  void AddFlow(const FlowSpec& spec, Time end);

  // Class `cls` of `port` is paused from `start` to `end`.
  void AddPause(uint32_t port, uint8_t cls, Time start, Time end);

  // Returns true if there was room for all events of `group`.
  bool whole(Group group) const { return left_[IndexOf(group)] >= 0; }

  // Writes the JSON piece by piece. `name` returns a port's name, without characters that JSON
  // escapes; `end` is the end of the run. `more` are further events, each behind a comma.
  void Write(Time end, const std::function<std::string(uint32_t port)>& name,
             const std::function<bool(std::string_view)>& write, std::string_view more = {});

 private:
  enum class Kind : uint8_t { kFlowEnd, kPauseEnd, kFlowStart, kPauseStart, kQueue };

  struct Event {
    Time at;
    Kind kind;
    uint32_t id;    // A port, or an index in flows_.
    int64_t value;  // Bytes, or a class.
  };
  struct Flow {
    FlowSpec spec;
    Time end;
  };

  static constexpr size_t IndexOf(Group group) { return static_cast<size_t>(group) - 1; }

  // Uses up one place of the group; returns false if none was left.
  bool HasRoom(Group group) {
    int64_t& left = left_[IndexOf(group)];
    left = std::max<int64_t>(left - 1, -1);
    return left >= 0;
  }
  void Append(const Event& event, const std::function<std::string(uint32_t)>& name,
              std::string& text) const;

  std::array<int64_t, 3> left_;  // Places left, by group; -1: an event had no room.
  std::vector<Event> events_;
  std::vector<Flow> flows_;
};

}  // namespace heddle
