// SPDX-License-Identifier: Apache-2.0
// NCCL's parameters, as its source has them (NVIDIA/nccl, src/include/device.h, src/enqueue.cc,
// src/graph/tuning.cc). Cuts are worked out by hand.

#include "workload/jobs/nccl.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "tests/support/printers.h"

namespace heddle::nccl_test {

using Protocol = NcclProtocol;
using Shape = NcclShape;

constexpr int64_t kKib = 1'024;
constexpr int64_t kMib = 1'024 * kKib;

int64_t MessageOf(Protocol protocol, Shape shape) {
  return NcclMessage({.protocol = protocol, .shape = shape, .bytes = 1'000 * kMib});
}

// An eighth of a connection's buffer: 4 MiB, 512 KiB or 4,915,200 bytes. Rings of Simple send two
// eighths at once.
TEST(NcclTest, AMessageIsAStepOfTheBuffer) {
  EXPECT_EQ(MessageOf(Protocol::kSimple, Shape::kRing), kMib);
  EXPECT_EQ(MessageOf(Protocol::kLl, Shape::kRing), 64 * kKib);
  EXPECT_EQ(MessageOf(Protocol::kLl128, Shape::kRing), 614'400);
  for (const Shape shape : {Shape::kTree, Shape::kPat, Shape::kChain, Shape::kDirect}) {
    EXPECT_EQ(MessageOf(Protocol::kSimple, shape), 512 * kKib);
    EXPECT_EQ(MessageOf(Protocol::kLl, shape), 64 * kKib);
    EXPECT_EQ(MessageOf(Protocol::kLl128, shape), 614'400);
  }
}

TEST(NcclTest, EightStepsMayBeUnfinished) {
  EXPECT_EQ(NcclUnfinished(Protocol::kSimple, Shape::kRing), 4u);
  EXPECT_EQ(NcclUnfinished(Protocol::kSimple, Shape::kTree), 8u);
  EXPECT_EQ(NcclUnfinished(Protocol::kSimple, Shape::kChain), 8u);
  EXPECT_EQ(NcclUnfinished(Protocol::kLl, Shape::kRing), 8u);
  EXPECT_EQ(NcclUnfinished(Protocol::kLl128, Shape::kRing), 8u);
}

// LL: 4 bytes of flags for 4 bytes of data; LL128: 8 for 120.
TEST(NcclTest, FlagsTravelWithTheData) {
  for (const int64_t bytes : {0, 1, 119, 120, 121, 1'200}) {
    EXPECT_EQ(NcclWireBytes(Protocol::kSimple, bytes), bytes);
    EXPECT_EQ(NcclWireBytes(Protocol::kLl, bytes), 2 * bytes);
  }
  EXPECT_EQ(NcclWireBytes(Protocol::kLl128, 0), 0);
  EXPECT_EQ(NcclWireBytes(Protocol::kLl128, 1), 2);
  EXPECT_EQ(NcclWireBytes(Protocol::kLl128, 120), 128);
  EXPECT_EQ(NcclWireBytes(Protocol::kLl128, 121), 130);
  EXPECT_EQ(NcclWireBytes(Protocol::kLl128, 1'200), 1'280);
}

// --- PAT: halved while its parts are more than the data, down to 64 KiB ---

int64_t PatMessage(int64_t bytes, int64_t channels, bool scatters,
                   Protocol protocol = Protocol::kSimple) {
  return NcclMessage({.protocol = protocol,
                      .shape = Shape::kPat,
                      .bytes = bytes,
                      .channels = channels,
                      .ranks = 64,
                      .scatters = scatters});
}

TEST(NcclTest, MessagesOfPatAreHalvedForSmallBuffers) {
  EXPECT_EQ(PatMessage(16 * kMib, 2, true), 512 * kKib);  // 32 parts of 512 KiB are 16 MiB.
  EXPECT_EQ(PatMessage(16 * kMib - 1, 2, true), 256 * kKib);
  EXPECT_EQ(PatMessage(16 * kMib, 2, false), 256 * kKib);  // 64 parts.
  EXPECT_EQ(PatMessage(16 * kMib - 1, 2, false), 128 * kKib);
  EXPECT_EQ(PatMessage(16 * kMib, 1, false), 512 * kKib);
  EXPECT_EQ(PatMessage(8 * kMib - 1, 2, false), 64 * kKib);
  EXPECT_EQ(PatMessage(1, 2, false), 64 * kKib);
  EXPECT_EQ(PatMessage(1, 2, false, Protocol::kLl), 64 * kKib);
  // 614,400 halved four times would be 38,400.
  EXPECT_EQ(PatMessage(1, 2, false, Protocol::kLl128), 64 * kKib);
}

// --- Trees with LL128 ---

int64_t TreeMessage(int64_t bytes, int64_t channels, uint32_t ranks, uint32_t server) {
  return NcclMessage({.protocol = Protocol::kLl128,
                      .shape = Shape::kTree,
                      .bytes = bytes,
                      .channels = channels,
                      .ranks = ranks,
                      .server = server});
}

// A chunk has 576,000 bytes of payload. 2 servers of 8 ranks are 1 + 1 + 0.8 = 2.8 levels, so it is
// halved while the buffer has fewer than 2.8 * 64 / 8 = 22.4 chunks and they are longer than 128
// KiB, then while it has fewer than 5.6 and they are longer than 32 KiB.
TEST(NcclTest, ChunksOfTreesFillTheLevelsOfTheTree) {
  EXPECT_EQ(TreeMessage(30'000'000, 2, 16, 8), 614'400);  // 26 chunks.
  EXPECT_EQ(TreeMessage(26'495'999, 2, 16, 8), 307'200);  // 22, then 45.
  EXPECT_EQ(TreeMessage(26'496'000, 2, 16, 8), 614'400);  // 23.
  EXPECT_EQ(TreeMessage(1'000'000, 2, 16, 8), 76'800);    // 0, 1, 3; then 6 of 72,000.
  EXPECT_EQ(TreeMessage(863'999, 2, 16, 8), 38'400);      // Then 5 of 72,000, 11 of 36,000.
  EXPECT_EQ(TreeMessage(100'000, 2, 16, 8), 19'200);      // Then 0 and 1; 18,000 are short.
}

// 4 servers of one rank: 1 + 2 + 0.1 levels. 9 ranks in servers of 4 are 3 servers of 3 on average.
TEST(NcclTest, LevelsCountServersAndTheirRanks) {
  EXPECT_EQ(TreeMessage(198 * 576'000, 1, 4, 1), 307'200);  // Fewer than 3.1 * 64 = 198.4.
  EXPECT_EQ(TreeMessage(199 * 576'000, 1, 4, 1), 614'400);
  EXPECT_EQ(TreeMessage(49 * 576'000, 1, 9, 4), 307'200);  // Fewer than 2.3 * 64 / 3 = 49.1.
  EXPECT_EQ(TreeMessage(50 * 576'000, 1, 9, 4), 614'400);
  // A server of 40 ranks: 1 + 4 levels, 5 * 64 / 40 = 8 chunks, which are not fewer than 8.
  EXPECT_EQ(TreeMessage(8 * 576'000, 1, 40, 40), 614'400);
  EXPECT_EQ(TreeMessage(8 * 576'000 - 1, 1, 40, 40), 307'200);
  // The second limit: fewer than 3.1 * 16 = 49.6 chunks of 72,000.
  EXPECT_EQ(TreeMessage(50 * 72'000 - 1, 1, 4, 1), 38'400);
  EXPECT_EQ(TreeMessage(50 * 72'000, 1, 4, 1), 76'800);
}

// --- Latencies ---

TEST(NcclTest, StepsTakeTimeBesideTheTransfer) {
  const auto expect = [](Protocol protocol, Shape shape, Duration network, Duration local) {
    const NcclLatency latency = NcclStepLatency(protocol, shape);
    EXPECT_EQ(latency.network, network);
    EXPECT_EQ(latency.local, local);
  };
  expect(Protocol::kLl, Shape::kTree, 5_us, 600_ns);
  expect(Protocol::kLl128, Shape::kTree, 8'500_ns, 1'250_ns);
  expect(Protocol::kSimple, Shape::kTree, 14_us, 4_us);
  for (const Shape shape : {Shape::kRing, Shape::kChain}) {
    expect(Protocol::kLl, shape, 2'700_ns, 600_ns);
    expect(Protocol::kLl128, shape, 4_us, 1'900_ns);
    expect(Protocol::kSimple, shape, 14_us, 3'400_ns);
  }
}

}  // namespace heddle::nccl_test
