// SPDX-License-Identifier: Apache-2.0
// What can be set about TCP and DCTCP, with the defaults that most load-balancing studies use.

#pragma once

#include <cstdint>
#include <limits>

#include "core/units.h"
#include "transport/dctcp.h"
#include "transport/rtt.h"

namespace heddle {

inline constexpr uint32_t kNoDupthresh = std::numeric_limits<uint32_t>::max();

// A window never spans more segments than a SACK block can name.
inline constexpr uint32_t kMaxWindowSegments = 65'535;

struct TcpSettings {
  enum class Recovery { kSack, kNewReno };
  enum class Setup { kNone, kHandshake, kPersistent };
  enum class Framing { kEth, kIp1500 };
  enum class Ecn { kOff, kRfc3168 };  // Of plain TCP; DCTCP has its own.

  Recovery recovery = Recovery::kSack;
  uint32_t dupthresh = 3;
  int64_t iw = 10;
  bool limited_transmit = true;
  Duration min_rto = 10_ms;
  Duration rto_init{0};  // 0: min_rto.
  Duration max_rto = 2_s;
  Duration rto_granularity{0};
  int64_t delack_count = 1;
  Duration delack_timeout = 500_us;
  int64_t max_cwnd = 0;  // Segments; 0: kMaxWindowSegments.
  int64_t rwnd = 0;      // Likewise.
  Setup setup = Setup::kNone;
  Framing framing = Framing::kEth;
  int64_t mtu = 1500;
  bool timestamps = false;

  bool is_dctcp = true;
  Ecn ecn = Ecn::kOff;
  DctcpSettings dctcp;
};

// Sizes of packets under a framing (all in bytes).
struct PacketSizes {
  int64_t mss;
  int64_t data_overhead;  // Of a data packet, as buffered, beyond its payload.
  int64_t min_packet;     // As buffered: short packets are padded to this.
  int64_t ack;            // As buffered.
  int64_t wire_overhead;  // On the wire beyond what is buffered: preamble and inter-frame gap.

  static PacketSizes For(const TcpSettings& settings);

  int64_t DataPacket(int64_t payload) const {
    return payload + data_overhead < min_packet ? min_packet : payload + data_overhead;
  }
};

}  // namespace heddle
