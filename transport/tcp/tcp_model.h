// SPDX-License-Identifier: Apache-2.0
// How the models of TCP and MPTCP describe their packets and their classes.

#pragma once

#include <cstdint>

#include "transport/packet_sizes.h"
#include "transport/tcp/tcp_settings.h"
#include "transport/transports.h"
#include "transport/wire_format.h"

namespace heddle {

inline WireFormat WireFormatOf(WireFormat::Protocol protocol, const TcpSettings& settings,
                               const PacketSizes& sizes) {
  return {.protocol = protocol,
          .sizes = sizes,
          .timestamps = settings.timestamps,
          .sack = settings.recovery == TcpSettings::Recovery::kSack};
}

inline TransportModel::Classes ClassesOf(const TcpSettings& settings) {
  return {static_cast<uint8_t>(settings.priority),
          static_cast<uint8_t>(settings.control_priority.value_or(settings.priority))};
}

}  // namespace heddle
