// SPDX-License-Identifier: Apache-2.0
// The settings of MPTCP (RFC 8684) and of MMPTCP, without those of their subflows, which are TCP's,
// and without those of their congestion control.

#pragma once

#include <cstdint>
#include <optional>

#include "core/units.h"
#include "settings/fields.h"
#include "transport/framing.h"
#include "transport/packet_sizes.h"
#include "transport/tcp/tcp_settings.h"

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
  // The same for MMPTCP, whose subflows open when the first one has sprayed.
  void DeclareAfterSpraying(Fields& fields);

 private:
  void DeclareScheduler(Fields& fields);
};

// What MMPTCP (Kheirkhah et al., INFOCOM 2016) adds: one subflow first sends each packet from a
// random source port; the first of three events opens the subflows of MPTCP. Not set: that event
// opens none.
struct SprayPhase {
  std::optional<Bytes> switch_bytes = Bytes{100'000};  // More have been sent.
  std::optional<int64_t> switch_window;                // The window is larger, in segments.
  bool switch_on_loss = false;                         // The first fast retransmit.
  bool switch_when_calm = false;         // Not in slow start nor in recovery, for each of them.
  std::optional<int64_t> extra_dupacks;  // Not set: the number of paths.

  void Declare(Fields& fields);

  // The settings of its subflow, given those of the others: NewReno without options.
  static TcpSettings FirstOf(const TcpSettings& others);
};

// The sizes of packets with MPTCP's options, under a framing that has a name. Exact sizes stay.
PacketSizes MptcpSizesOf(const TcpSettings& settings, const TcpFraming& framing);

}  // namespace heddle
