// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <string_view>

namespace heddle {

// How many bytes of `text` are valid UTF-8 (RFC 3629) before the first that are not; all, if all
// are. Texts of settings end up in JSON, which knows no other encoding.
size_t ValidUtf8(std::string_view text);

}  // namespace heddle
