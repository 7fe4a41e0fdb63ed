// SPDX-License-Identifier: Apache-2.0
// Digest() names a text by 64 bits. The id of a point is the digest of everything that determines
// its results. So the function must never change, or finished results would not be found again.

#pragma once

#include <cstdint>
#include <string_view>

namespace heddle {

// FNV-1a with 64 bits. It names texts; it is not safe against deliberate collisions.
constexpr uint64_t Digest(std::string_view text) {
  uint64_t digest = 0xcbf29ce484222325;
  for (const char c : text) digest = (digest ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return digest;
}

}  // namespace heddle
