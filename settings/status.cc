// SPDX-License-Identifier: Apache-2.0

#include "settings/status.h"

#include <fmt/format.h>

namespace heddle {

std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

absl::Status Within(const absl::Status& status, std::string_view where, std::string_view between) {
  if (status.ok()) return status;
  return absl::Status(status.code(), fmt::format("{}{}{}", where, between, MessageOf(status)));
}

}  // namespace heddle
