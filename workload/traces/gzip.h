// SPDX-License-Identifier: Apache-2.0
// Traces may be compressed by gzip (RFC 1952).

#pragma once

#include <absl/status/statusor.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace heddle {

// Returns true if the bytes begin as a gzip file does.
inline bool IsGzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

// Decompresses all members of a gzip file. Returns DataLoss if they are broken or cut off, and
// OutOfRange if they have more than `limit` bytes. The message can follow the file's name.
absl::StatusOr<std::string> Gunzip(std::string_view bytes, size_t limit);

}  // namespace heddle
