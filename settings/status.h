// SPDX-License-Identifier: Apache-2.0
// What is wrong with files, processes and plug-ins travels as an absl::Status: its message is for
// the user, its code for the caller. What is wrong with a document goes to Diagnostics, which know
// its place (settings/diagnostics.h).

#pragma once

#include <absl/status/status.h>

#include <string>
#include <string_view>

namespace heddle {

// The message of a status, in the type that the rest of Heddle has for text: Abseil's own
// string_view is another one where it was built for C++14, as in Debian.
std::string MessageOf(const absl::Status& status);

// The same code, with a message that says where: "flows.csv: is missing". No change if all is well.
absl::Status Within(const absl::Status& status, std::string_view where,
                    std::string_view between = ": ");

}  // namespace heddle
