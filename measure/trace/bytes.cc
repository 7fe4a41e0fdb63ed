// SPDX-License-Identifier: Apache-2.0

#include "measure/trace/bytes.h"

#include <array>

namespace heddle {
namespace {

constexpr std::array<uint32_t, 256> kCrcTable = [] {
  constexpr uint32_t kReversedPolynomial = 0xedb88320;
  std::array<uint32_t, 256> table = {};
  for (uint32_t i = 0; i < table.size(); ++i) {
    uint32_t rest = i;
    for (int bit = 0; bit < 8; ++bit)
      rest = (rest & 1) != 0 ? rest >> 1 ^ kReversedPolynomial : rest >> 1;
    table[i] = rest;
  }
  return table;
}();

}  // namespace

void PutBig16(std::string& out, size_t at, uint16_t value) {
  out[at] = static_cast<char>(value >> 8);
  out[at + 1] = static_cast<char>(value & 0xff);
}

uint16_t InternetChecksum(std::string_view bytes) {
  uint64_t sum = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    sum += uint64_t{static_cast<uint8_t>(bytes[i])} << (i % 2 == 0 ? 8 : 0);
  }
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

uint32_t Crc32(std::string_view bytes, uint32_t before) {
  uint32_t crc = ~before;
  for (const char c : bytes) crc = kCrcTable[(crc ^ static_cast<uint8_t>(c)) & 0xff] ^ crc >> 8;
  return ~crc;
}

}  // namespace heddle
