// SPDX-License-Identifier: Apache-2.0
// What happened when, for a viewer: the JSON of Chrome's Trace Event Format, which ui.perfetto.dev
// and chrome://tracing open. Flows and pauses are slices, queues are counters.

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

class EventTrace {
 public:
  // The viewer shows each as a group of tracks of this number.
  enum class Group : uint8_t { kFlows = 1, kQueues, kPauses };

  // Events are held until the end, as those of a flow become known late. Each group has room for
  // `limit` of its own: queues change so often that they would crowd out all else.
  explicit EventTrace(int64_t limit) : left_{limit, limit, limit} {}

  // The queue of `port` is `bytes` long from `at` on.
  void AddQueue(uint32_t port, Time at, int64_t bytes) {
    if (HasRoom(Group::kQueues)) events_.push_back({at, Kind::kQueue, port, bytes});
  }

  // `spec` has come whole at `end`; kNever: it has not. Its slice then ends with the run.
  void AddFlow(const FlowSpec& spec, Time end);

  // Class `cls` of `port` is paused from `start` to `end`.
  void AddPause(uint32_t port, uint8_t cls, Time start, Time end);

  // Whether there was room for all of them.
  bool whole(Group group) const { return left_[IndexOf(group)] >= 0; }

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

  static constexpr size_t IndexOf(Group group) { return static_cast<size_t>(group) - 1; }

  // Takes a place of the group's, if there is one left.
  bool HasRoom(Group group) {
    int64_t& left = left_[IndexOf(group)];
    left = std::max<int64_t>(left - 1, -1);
    return left >= 0;
  }
  void Append(const Event& event, const std::function<std::string(uint32_t)>& name,
              std::string& text) const;

  std::array<int64_t, 3> left_;  // By group; -1: there was no room for one.
  std::vector<Event> events_;
  std::vector<Flow> flows_;
};

}  // namespace heddle
