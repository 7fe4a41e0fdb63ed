// SPDX-License-Identifier: Apache-2.0
// The time that one iteration of a schedule takes if messages never wait for each other: the
// longest chain of messages and computations, each of which needs the one before.

#pragma once

#include <cstdint>
#include <functional>

#include "core/units.h"
#include "workload/jobs/schedule.h"

namespace heddle {

// `time_of` returns the least time of a message. All ranks begin at once. `acked` is added to a
// message's time where a rank waits for the end of its own message.
Duration CriticalPath(const Schedule& schedule,
                      const std::function<Duration(const Message&)>& time_of,
                      const std::function<Duration(const Message&)>& acked);

}  // namespace heddle
