// SPDX-License-Identifier: Apache-2.0
// Helpers for absl::Status, which reports failures of files, processes and plug-ins: its message is
// for the user, its code for the caller. Mistakes in documents go to Diagnostics instead, which
// know the place (settings/diagnostics.h).

#pragma once

#include <absl/status/status.h>

#include <string>
#include <string_view>

namespace heddle {

// The message of a status as a std::string. Abseil's string_view is a type of its own where Abseil
// was built for C++14, as in Debian.
std::string MessageOf(const absl::Status& status);

// Puts a place in front of the message: "flows.csv: is missing". Does not change an OK status.
absl::Status Within(const absl::Status& status, std::string_view where,
                    std::string_view between = ": ");

}  // namespace heddle
