// SPDX-License-Identifier: Apache-2.0
// The hash of ECMP, by which a switch chooses among equal-cost ports. Other schemes use it for
// packets that they do not place themselves. It depends only on the packet and the switch's salt.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/packet.h"
#include "core/random.h"

namespace heddle {

// Returns 32 bits of the packet's 5-tuple and entropy, mixed with `salt` so that two switches with
// different salts choose independently.
inline uint32_t EcmpHash(const Packet& packet, uint64_t salt) {
  const uint64_t key = uint64_t{packet.tuple_hash} << 16 | packet.entropy;
  return static_cast<uint32_t>(Mix64(key ^ salt) >> 32);
}

// Maps a hash to one of `n` numbers, which are equally likely to within n / 2^32.
inline size_t MapToRange(uint32_t hash, size_t n) {
  return static_cast<size_t>((uint64_t{hash} * n) >> 32);
}

// Returns the port that ECMP assigns to the packet.
inline PortIndex EcmpPort(const Packet& packet, uint64_t salt, std::span<const PortIndex> ports) {
  return ports[MapToRange(EcmpHash(packet, salt), ports.size())];
}

// Returns the salt of one switch.
inline uint64_t EcmpSalt(SwitchId id, uint64_t seed) {
  return Rng::Stream(seed, "ecmp", id).Next();
}

}  // namespace heddle
