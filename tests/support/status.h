// SPDX-License-Identifier: Apache-2.0
// GoogleTest matchers for the status that a function returns: EXPECT_THAT(folder.Open(false),
// IsOk()), and Fails() for its code and message.

#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <gmock/gmock.h>

#include <string>

#include "settings/status.h"

namespace heddle {

inline const absl::Status& StatusIn(const absl::Status& status) { return status; }
template <class T>
const absl::Status& StatusIn(const absl::StatusOr<T>& result) {
  return result.status();
}

MATCHER(IsOk, "") {
  *result_listener << StatusIn(arg).ToString();
  return StatusIn(arg).ok();
}

// A failure with this code and a message that `message` matches.
MATCHER_P2(Fails, code, message, "") {
  const absl::Status& status = StatusIn(arg);
  *result_listener << status.ToString();
  return status.code() == code &&
         testing::ExplainMatchResult(message, MessageOf(status), result_listener);
}

}  // namespace heddle
