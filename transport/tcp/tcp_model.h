// SPDX-License-Identifier: Apache-2.0
// The parts that the models of TCP and MPTCP share: their packets, classes and ECN.

#pragma once

#include <cstdint>

#include "settings/fields.h"
#include "transport/packet_sizes.h"
#include "transport/tcp/tcp_settings.h"
#include "transport/tcp/window_control.h"
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

// Declares `ecn`, which a congestion control may bring itself, and checks the settings with it.
inline void DeclareEcn(Fields& fields, TcpSettings& settings, const WindowControlModel& control) {
  if (control.own_ecn()) {
    fields.Absent("ecn", "this congestion control brings its own ECN; leave it out");
  } else {
    settings.DeclareEcn(fields);
  }
  control.Check(settings, fields);
}

}  // namespace heddle
