// SPDX-License-Identifier: Apache-2.0
// A schedule with a barrier at its end: a rank that has finished its part sends the messages of a
// dissemination barrier, and goes on when it has received those of all steps.

#pragma once

#include <memory>

#include "workload/jobs/schedule.h"

namespace heddle {

std::unique_ptr<const Schedule> MakeWithBarrier(std::shared_ptr<const Schedule> work);

}  // namespace heddle
