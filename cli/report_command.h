// SPDX-License-Identifier: Apache-2.0
// heddle report: results that one can look at. The page and the figures are made by the Python
// package in study/report/, which nothing else of Heddle needs.

#pragma once

#include <functional>

#include "cli/app.h"

namespace heddle {

// Adds its command to `app`; if it is given, `command` becomes what does it.
void AddReportCommand(CLI::App& app, std::function<int()>& command);

}  // namespace heddle
