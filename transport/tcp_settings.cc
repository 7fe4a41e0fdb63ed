// SPDX-License-Identifier: Apache-2.0

#include "transport/tcp_settings.h"

#include <algorithm>

namespace heddle {
namespace {

constexpr int64_t kTcpIpHeader = 40;
constexpr int64_t kTimestampOption = 12;
constexpr int64_t kEthernetHeader = 18;  // With the frame check sequence.
constexpr int64_t kMinFrame = 64;
constexpr int64_t kPreambleAndGap = 20;

}  // namespace

PacketSizes PacketSizes::For(const TcpSettings& settings) {
  const int64_t header = kTcpIpHeader + (settings.timestamps ? kTimestampOption : 0);
  PacketSizes sizes{.mss = settings.mtu - header,
                    .data_overhead = header,
                    .min_packet = 0,
                    .ack = header,
                    .wire_overhead = 0};
  if (settings.framing == TcpSettings::Framing::kEth) {
    sizes.data_overhead += kEthernetHeader;
    sizes.min_packet = kMinFrame;
    sizes.ack = std::max(header + kEthernetHeader, kMinFrame);
    sizes.wire_overhead = kPreambleAndGap;
  }
  return sizes;
}

}  // namespace heddle
