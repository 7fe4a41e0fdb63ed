// SPDX-License-Identifier: Apache-2.0

#include "fabric/ecmp_hash.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace heddle::ecmp_hash_test {

// Whatever bit of the tuple or the entropy differs, the hash differs, and so does it at a switch
// with another salt: of 2^32 values, no two of 3 * 49 are equal.
TEST(EcmpHashTest, DependsOnEveryBit) {
  std::set<uint32_t> hashes;
  for (const uint64_t salt : {EcmpSalt(0, 1), EcmpSalt(1, 1), EcmpSalt(0, 2)}) {
    Packet packet;
    hashes.insert(EcmpHash(packet, salt));
    for (int bit = 0; bit < 32; ++bit) {
      packet.tuple_hash = 1u << bit;
      hashes.insert(EcmpHash(packet, salt));
    }
    packet.tuple_hash = 0;
    for (int bit = 0; bit < 16; ++bit) {
      packet.entropy = static_cast<uint16_t>(1u << bit);
      hashes.insert(EcmpHash(packet, salt));
    }
  }
  EXPECT_EQ(hashes.size(), 3 * 49u);
  EXPECT_GT(*hashes.rbegin(), 0xf000'0000) << "all 32 bits are used";
}

// Equal parts of the hashes' range belong to the ports, in their order.
TEST(EcmpHashTest, IsMappedToEqualParts) {
  for (const size_t n : {size_t{1}, size_t{2}, size_t{3}, size_t{64}, size_t{65'536}}) {
    for (const size_t part : {size_t{0}, n / 2, n - 1}) {
      const uint64_t first = ((uint64_t{part} << 32) + n - 1) / n;
      const uint64_t end = ((uint64_t{part + 1} << 32) + n - 1) / n;
      EXPECT_EQ(MapToRange(static_cast<uint32_t>(first), n), part);
      EXPECT_EQ(MapToRange(static_cast<uint32_t>(end - 1), n), part);
    }
  }
  Packet packet;
  packet.tuple_hash = 3;
  const std::vector<PortIndex> ports = {4, 7, 9};
  EXPECT_EQ(EcmpPort(packet, 5, ports), ports[MapToRange(EcmpHash(packet, 5), 3)]);
}

}  // namespace heddle::ecmp_hash_test
