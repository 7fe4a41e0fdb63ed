// SPDX-License-Identifier: Apache-2.0
// heddle report: makes a page and figures from results. The Python package in study/report/ draws
// them; no other part of Heddle needs Python.

#pragma once

#include <functional>

#include "cli/app.h"

namespace heddle {

// Adds the command to `app`. If the user gives it, `command` becomes its function.
void AddReportCommand(CLI::App& app, std::function<int()>& command);

}  // namespace heddle
