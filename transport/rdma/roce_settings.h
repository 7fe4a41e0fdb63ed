// SPDX-License-Identifier: Apache-2.0
// The settings of RoCEv2, without those of its congestion control. An experiment reads them; all
// flows share them.

#pragma once

#include <cstdint>
#include <optional>

#include "core/units.h"
#include "settings/fields.h"
#include "transport/framing.h"
#include "transport/packet_sizes.h"

namespace heddle {

struct RoceSettings {
  enum class Recovery { kGoBackN, kIrn, kDdp, kSelective };
  enum class DdpLoss { kTimeout, kThreshold };
  enum class Nack { kPerGap, kTimer };
  enum class Window { kNone, kBdp, kBdpVar };
  enum class Scope { kPair, kMax };
  enum class Turns { kFromEnd, kFromStart };

  std::optional<int64_t> mtu;  // Payload of a full packet; not set: that of the framing.
  Bytes lb_header{0};
  Recovery recovery = Recovery::kGoBackN;

  // Go-back-N, and selective repeat as commodity NICs do it.
  Nack nack = Nack::kPerGap;
  Duration nack_interval = 4_us;
  int64_t ack_interval = 1;
  std::optional<Duration> rto = 4_ms;  // Not set: never.

  // IRN.
  int64_t nack_threshold = 1;
  Duration rto_low = 100_us;
  Duration rto_high = 320_us;
  int64_t rto_low_packets = 3;

  // Out-of-order placement.
  DdpLoss ddp_loss = DdpLoss::kTimeout;
  std::optional<Duration> ddp_rto;  // Not set: 3 of the longest idle round trips, at least 320 us.
  std::optional<Bytes> ddp_window;  // Not set: two bandwidth-delay products.

  Window window = Window::kNone;
  Scope bdp_scope = Scope::kPair;
  std::optional<Bytes> bdp;          // Payload bytes; not set: from the network.
  std::optional<BitRate> line_rate;  // Not set: the NIC's.
  std::optional<Duration> gap_unit;  // Not set: exact.
  bool retime_on_rate_change = false;
  Turns turns = Turns::kFromEnd;
  int64_t priority = 3;
  int64_t control_priority = 0;

  bool is_irn() const { return recovery == Recovery::kIrn; }
  bool is_ddp() const { return recovery == Recovery::kDdp; }
  bool is_sr() const { return recovery == Recovery::kSelective; }
  // Receivers keep packets that come out of order.
  bool is_selective() const { return recovery != Recovery::kGoBackN; }
  bool uses_bdp() const { return is_irn() || window != Window::kNone; }

  // `framing` is set beside these.
  void Declare(Fields& fields, Chosen<RoceFraming>& framing);
};

// The sizes of packets under these settings.
PacketSizes SizesOf(const RoceSettings& settings, const RoceFraming& framing);

}  // namespace heddle
