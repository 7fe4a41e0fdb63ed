// SPDX-License-Identifier: Apache-2.0
// heddle new-policy: the files that a load balancer of one's own starts from.

#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "cli/app.h"

namespace heddle {

// Adds the command to `app`; if it is given, `command` becomes what does it.
void AddNewPolicyCommand(CLI::App& app, std::function<int()>& command);

// What they hold, for a policy called `@name@`; its classes begin with `@Name@`.
extern const std::string_view kPolicyTemplate;
extern const std::string_view kPolicyTestTemplate;
extern const std::string_view kMainTemplate;
extern const std::string_view kCmakeTemplate;
extern const std::string_view kExperimentTemplate;
extern const std::string_view kReadmeTemplate;

}  // namespace heddle
