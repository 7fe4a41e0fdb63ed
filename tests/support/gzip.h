// SPDX-License-Identifier: Apache-2.0
// Compresses texts as gzip does.

#pragma once

#include <string>
#include <string_view>

namespace heddle {

std::string Gzipped(std::string_view text);

}  // namespace heddle
