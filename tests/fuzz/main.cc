// SPDX-License-Identifier: Apache-2.0
// A libFuzzer program for one target. What a target throws ends it, as a crash does.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto target =
      *std::ranges::find(heddle::FuzzTargets(), HEDDLE_FUZZ_TARGET, &heddle::FuzzTarget::name);
  target.run({data, size});
  return 0;
}
