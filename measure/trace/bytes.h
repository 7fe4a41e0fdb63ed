// SPDX-License-Identifier: Apache-2.0
// Helpers that write frames byte by byte. Frames and the pcap writer call them to append numbers in
// a given byte order, and to compute the checksums of headers. They don't depend on the byte order
// of the machine.

#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace heddle {

// Appends `value`, the most significant byte first.
template <std::unsigned_integral T>
void AppendBig(std::string& out, T value) {
  for (size_t i = sizeof(T); i > 0; --i) {
    out.push_back(static_cast<char>(static_cast<uint64_t>(value) >> 8 * (i - 1)));
  }
}

// Appends `value`, the least significant byte first.
template <std::unsigned_integral T>
void AppendLittle(std::string& out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) {
    out.push_back(static_cast<char>(static_cast<uint64_t>(value) >> 8 * i));
  }
}

// Overwrites two bytes at `at`.
void PutBig16(std::string& out, size_t at, uint16_t value);

// RFC 1071: the complement of the ones' complement sum of 16-bit words. Zeros at the end do not
// change it.
uint16_t InternetChecksum(std::string_view bytes);

// The CRC of IEEE 802.3; its least significant byte is sent first. `before` is the CRC of the bytes
// that come before `bytes`.
uint32_t Crc32(std::string_view bytes, uint32_t before = 0);

}  // namespace heddle
