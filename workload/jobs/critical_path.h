// SPDX-License-Identifier: Apache-2.0
// A lower bound of the time that one iteration of a schedule takes: the longest chain of messages
// and computations, each of which needs the one before, or, if that is longer, all that one stream
// of a rank must compute. No message waits for another on its connection, and no computation for
// its stream.

#pragma once

#include <cstdint>
#include <functional>

#include "core/units.h"
#include "workload/jobs/schedule.h"

namespace heddle {

// The least times from the start of a message to its arrival, and until it is finished for the rank
// that has sent it.
struct MessageTimes {
  Duration arrives;
  Duration finished;
};

// All ranks begin at once. `news_of`: the time that news needs from one rank to another, for
// schedules whose ranks wait for operations of each other.
Duration CriticalPath(
    const Schedule& schedule, const std::function<MessageTimes(const Message&)>& times_of,
    const std::function<Duration(uint32_t from, uint32_t to)>& news_of = [](uint32_t, uint32_t) {
      return Duration{0};
    });

// The same for messages and news that take no time: the longest chain of computations, or all that
// one stream of a rank must compute.
Duration ComputingTime(const Schedule& schedule);

}  // namespace heddle
