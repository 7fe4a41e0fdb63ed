// SPDX-License-Identifier: Apache-2.0
// A library whose code must not run.

#include <cstdlib>

namespace {

[[maybe_unused]] const bool never = [] {
  std::abort();
  return true;
}();

}  // namespace
