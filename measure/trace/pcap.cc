// SPDX-License-Identifier: Apache-2.0

#include "measure/trace/pcap.h"

#include "measure/trace/bytes.h"

namespace heddle {

std::string PcapHeader(uint32_t snaplen) {
  constexpr uint32_t kNanosecondMagic = 0xa1b23c4d;
  constexpr uint32_t kEthernet = 1;
  std::string header;
  AppendLittle(header, kNanosecondMagic);
  AppendLittle(header, uint16_t{2});  // Version 2.4.
  AppendLittle(header, uint16_t{4});
  AppendLittle(header, uint64_t{0});  // Reserved.
  AppendLittle(header, snaplen);
  AppendLittle(header, kEthernet);
  return header;
}

void AppendPcapRecord(std::string& out, Time at, std::string_view frame, uint32_t snaplen) {
  constexpr int64_t kNsPerSecond = 1'000'000'000;
  const int64_t ns = at.ps / 1000;
  const std::string_view kept = frame.substr(0, snaplen);
  AppendLittle(out, static_cast<uint32_t>(ns / kNsPerSecond));
  AppendLittle(out, static_cast<uint32_t>(ns % kNsPerSecond));
  AppendLittle(out, static_cast<uint32_t>(kept.size()));
  AppendLittle(out, static_cast<uint32_t>(frame.size()));
  out += kept;
}

}  // namespace heddle
