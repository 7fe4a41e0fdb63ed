// SPDX-License-Identifier: Apache-2.0
// heddle new-policy: writes the first files of a user's own load balancer, in Heddle's source tree
// or in a folder outside. HeddleMain() adds the command. It replaces no file, and after a failure
// it removes the files that it has written.

#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "cli/app.h"

namespace heddle {

// Adds the command to `app`. If the user gives it, `command` becomes its function.
void AddNewPolicyCommand(CLI::App& app, std::function<int()>& command);

// The contents of the files, for a policy called `@name@`; its classes begin with `@Name@`.
extern const std::string_view kPolicyTemplate;
extern const std::string_view kPolicyTestTemplate;
extern const std::string_view kMainTemplate;
extern const std::string_view kCmakeTemplate;
extern const std::string_view kExperimentTemplate;
extern const std::string_view kReadmeTemplate;

}  // namespace heddle
