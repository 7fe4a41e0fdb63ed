// SPDX-License-Identifier: Apache-2.0
// The settings of MPTCP (RFC 8684), without those of its subflows, which are TCP's, and without
// those of its congestion control.

#pragma once

#include <cstdint>

#include "settings/fields.h"
#include "transport/framing.h"
#include "transport/packet_sizes.h"
#include "transport/tcp_settings.h"

namespace heddle {

struct MptcpSettings {
  enum class Scheduler {
    kPull,        // Whichever subflow has room takes the next data.
    kMinRtt,      // Of the subflows that have room, that with the shortest round trip time.
    kRoundRobin,  // Of the subflows that have room, the next one in turn.
    kRedundant,   // Every subflow sends all data.
  };
  enum class Setup { kInstant, kJoin };

  int64_t subflows = 8;  // Raiciu et al., SIGCOMM 2011.
  Scheduler scheduler = Scheduler::kPull;
  Setup setup = Setup::kInstant;

  void Declare(Fields& fields);
};

// The sizes of packets with MPTCP's options, under a framing that has a name. Exact sizes stay.
PacketSizes MptcpSizesOf(const TcpSettings& settings, const TcpFraming& framing);

}  // namespace heddle
