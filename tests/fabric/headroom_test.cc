// SPDX-License-Identifier: Apache-2.0
// The headroom of a lossless class, to the byte: what an input holds, when it must pause and when
// it may resume (IEEE 802.1Qbb; the published models of switch memory use it in the same way).

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "fabric/shared_memory.h"

namespace heddle::headroom_test {

constexpr size_t kClass = 3;
constexpr int64_t kXoff = 10'000;
constexpr int64_t kHeadroom = 2'000;

SharedMemory Memory(int64_t reserve, int64_t resume_offset) {
  const MemorySettings settings = {
      .model = reserve > 0 ? MemorySettings::Model::kHpcc : MemorySettings::Model::kDynamic,
      .size = 1'000'000,
      .alpha = 8,
      .alpha_in = 8,
      .reserve = reserve,
      .mtu = 0,
      .lossless = 1 << kClass,
      .resume_offset = resume_offset};
  const SharedMemory::Port port = {.buffer = 0, .headroom = kHeadroom, .xoff = kXoff, .faster = 1};
  return SharedMemory(settings, std::vector<SharedMemory::Port>(2, port));
}

std::optional<DropReason> Admit(SharedMemory& memory, int64_t bytes) {
  return memory.Admit(0, 1, kClass, bytes, 0, bytes);
}

// Up to its threshold, and above a reserve, an input uses the pool; one byte more is in the
// headroom, which is for what comes before the pause takes effect.
TEST(HeadroomTest, OneByteOfItPausesAnInputUntilItIsFree) {
  for (const int64_t reserve : {int64_t{0}, int64_t{500}}) {
    SharedMemory memory = Memory(reserve, 0);
    EXPECT_EQ(memory.pause_above(0), reserve + kXoff);
    EXPECT_EQ(Admit(memory, reserve + kXoff), std::nullopt);
    EXPECT_EQ(memory.headroom_used(0, kClass), 0);
    EXPECT_FALSE(memory.MustPause(0, kClass));
    EXPECT_TRUE(memory.MayResume(0, kClass));
    EXPECT_EQ(Admit(memory, 1), std::nullopt);
    EXPECT_EQ(memory.headroom_used(0, kClass), 1);
    EXPECT_TRUE(memory.MustPause(0, kClass));
    EXPECT_FALSE(memory.MayResume(0, kClass));
    memory.CheckBooks();
    memory.Release(0, 1, kClass, 1);  // Headroom first.
    EXPECT_EQ(memory.headroom_used(0, kClass), 0);
    EXPECT_FALSE(memory.MustPause(0, kClass));
    EXPECT_TRUE(memory.MayResume(0, kClass));
    memory.CheckBooks();
  }
}

// Telemetry tells of both parts.
TEST(HeadroomTest, AnInputHoldsWhatIsInThePoolAndInTheHeadroom) {
  SharedMemory memory = Memory(0, 0);
  int64_t held = 0;
  for (const int64_t bytes : {kXoff - 1'500, int64_t{1'500}, int64_t{1'200}, int64_t{800}}) {
    EXPECT_EQ(Admit(memory, bytes), std::nullopt);
    held += bytes;
    EXPECT_EQ(memory.held(0, kClass), held);
    EXPECT_EQ(memory.used(), held);
  }
  EXPECT_EQ(memory.headroom_used(0, kClass), kHeadroom);
  EXPECT_EQ(Admit(memory, 1), DropReason::kHeadroom);
  EXPECT_EQ(memory.held(0, kClass), held);
  for (const int64_t bytes : {int64_t{1'500}, int64_t{1'500}, kXoff - 1'000}) {
    memory.Release(0, 1, kClass, bytes);
    held -= bytes;
    EXPECT_EQ(memory.held(0, kClass), held);
    memory.CheckBooks();
  }
  EXPECT_EQ(memory.used(), 0);
  EXPECT_EQ(memory.held(1, kClass), 0);
}

// An input that has paused resumes when it holds resume_offset bytes less than its threshold, or
// nothing.
TEST(HeadroomTest, APausedInputResumesBelowItsThreshold) {
  constexpr int64_t kOffset = 3'000;
  SharedMemory memory = Memory(0, kOffset);
  ASSERT_EQ(Admit(memory, kXoff - kOffset + 1), std::nullopt);
  EXPECT_FALSE(memory.MayResume(0, kClass));
  memory.Release(0, 1, kClass, 1);
  EXPECT_TRUE(memory.MayResume(0, kClass));
  SharedMemory never = Memory(0, 2 * kXoff);
  ASSERT_EQ(Admit(never, 1), std::nullopt);
  EXPECT_FALSE(never.MayResume(0, kClass));
  never.Release(0, 1, kClass, 1);
  EXPECT_TRUE(never.MayResume(0, kClass));
}

}  // namespace heddle::headroom_test
