// SPDX-License-Identifier: Apache-2.0
// Checks that text from the user is UTF-8. Readers of names and values call it before they use
// them, because results are JSON, which allows no other encoding.

#pragma once

#include <cstddef>
#include <string_view>

namespace heddle {

// The number of bytes at the start of `text` that are valid UTF-8 (RFC 3629).
size_t ValidUtf8(std::string_view text);

}  // namespace heddle
