// SPDX-License-Identifier: Apache-2.0
// The settings of MP-RDMA, and the values that all its flows share.

#pragma once

#include <cstdint>
#include <optional>

#include "core/units.h"
#include "settings/fields.h"
#include "transport/framing.h"
#include "transport/packet_sizes.h"
#include "transport/transports.h"

namespace heddle {

struct MpRdmaSettings {
  // The receiver's bitmap: packets beyond the one expected that it can place.
  static constexpr int64_t kBitmap = 64;

  enum class Beyond { kDrop, kNack };

  std::optional<int64_t> mtu;  // Payload of a full packet; not set: that of the framing.
  Bytes lb_header{0};
  std::optional<int64_t> first_window;  // Packets; not set: one bandwidth-delay product.
  int64_t delta = 32;
  double probe = 0.01;
  std::optional<Bytes> message;  // Not set: a flow is one message.
  Beyond beyond = Beyond::kDrop;
  std::optional<Duration> rto;  // Not set: 3 of the longest idle round trips, at least 320 us.
  int64_t priority = 3;
  int64_t control_priority = 0;

  // `framing` is set beside these.
  void Declare(Fields& fields, Chosen<RoceFraming>& framing);
  PacketSizes Sizes(const RoceFraming& framing) const;
};

struct MpRdmaShared {
  MpRdmaSettings settings;
  PacketSizes sizes;
  Duration rto{0};
  uint32_t message_packets = 0;  // 0: a flow is one message.
  const BandwidthDelay* bandwidth_delay = nullptr;
  Duration close_delay{0};
};

MpRdmaShared PrepareMpRdma(const MpRdmaSettings& settings, const PacketSizes& sizes,
                           const BandwidthDelay& bandwidth_delay, Duration close_delay);

}  // namespace heddle
