// SPDX-License-Identifier: Apache-2.0
// TR's code of a queue length, against integer arithmetic.

#include "lb/tr/code.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "core/random.h"
#include "tests/support/printers.h"

namespace heddle::code_test {

// The largest code whose steps the queue fills, with codes of `bits` bits.
uint8_t CodeOf(int64_t queue, int64_t buffer, int bits) {
  const int64_t codes = int64_t{1} << bits;
  uint8_t code = 0;
  while (code + 1 < codes && queue * codes >= (code + 1) * buffer) ++code;
  return code;
}

TEST(TrCodeStepsTest, IsTheNumberOfFullStepsForAnyBits) {
  Rng rng = Rng::Stream(1, "codes", 0);
  for (int bits = 1; bits <= 8; ++bits) {
    const int64_t codes = int64_t{1} << bits;
    // Buffers of whole steps, whose sums a double holds exactly.
    const int64_t step = 1 + rng.Below(5'000);
    const int64_t buffer = step * codes;
    for (int i = 0; i < 300; ++i) {
      const int64_t queue = rng.Below(static_cast<uint32_t>(2 * buffer));
      EXPECT_EQ(EncodeQueue(Bytes{queue}, Bytes{buffer}, bits), CodeOf(queue, buffer, bits))
          << queue << " of " << buffer << ", " << bits << " bits";
    }
    for (int64_t code = 0; code < codes; ++code) {
      EXPECT_EQ(DecodeQueue(static_cast<uint8_t>(code), Bytes{buffer}, bits), Bytes{code * step});
      // A whole step has its own code.
      EXPECT_EQ(EncodeQueue(Bytes{code * step}, Bytes{buffer}, bits), code);
      EXPECT_EQ(EncodeQueue(Bytes{code * step + step - 1}, Bytes{buffer}, bits), code);
    }
    EXPECT_EQ(EncodeQueue(Bytes{9 * buffer}, Bytes{buffer}, bits), codes - 1);
  }
}

}  // namespace heddle::code_test
