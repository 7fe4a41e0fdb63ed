// SPDX-License-Identifier: Apache-2.0
// Checks that text from the user is UTF-8. Whoever reads names and values calls it before they are
// used, because results are JSON, which knows no other encoding.

#pragma once

#include <cstddef>
#include <string_view>

namespace heddle {

// How many bytes of `text` are valid UTF-8 (RFC 3629) before the first that are not; all, if all
// are.
size_t ValidUtf8(std::string_view text);

}  // namespace heddle
