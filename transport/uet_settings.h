// SPDX-License-Identifier: Apache-2.0
// The settings of the Ultra Ethernet transport, and the values that all its flows share.

#pragma once

#include <cstdint>
#include <optional>

#include "core/units.h"
#include "settings/fields.h"
#include "transport/nscc.h"
#include "transport/packet_sizes.h"
#include "transport/transports.h"

namespace heddle {

struct RcccSettings {
  enum class Fabric { kAuto, kOn, kOff };

  Fabric fabric = Fabric::kAuto;

  void Declare(Fields& fields);
};

struct UetSettings {
  enum class Framing { kHtsim, kUet };
  enum class Loss { kAuto, kSleek, kTimeout };
  enum class Scope { kMax, kPair };
  enum class Preset { kNone, kStrack };
  enum class Receivers { kNone, kRccc };

  Preset preset = Preset::kNone;
  Framing framing = Framing::kUet;
  Bytes lb_header{0};
  NsccRules::Kind cc = NsccRules::Kind::kNscc;
  Receivers receiver = Receivers::kNone;
  RcccSettings rccc;
  Bytes ack_bytes{16'384};
  std::optional<Duration> rto;
  std::optional<Duration> target;
  int64_t qa_gate = 3;
  Loss loss = Loss::kAuto;
  Scope base_rtt = Scope::kMax;
  bool base_rtt_on_nack = true;
  int64_t rcv_pen = 255;
  std::optional<Bytes> window;
  int64_t priority = 3;
  int64_t control_priority = 0;

  void Declare(Fields& fields);
  PacketSizes Sizes() const;
  bool can_trim() const { return preset != Preset::kStrack; }
  bool has_credit() const { return receiver == Receivers::kRccc; }
};

struct UetShared {
  UetSettings settings;
  PacketSizes sizes;
  NsccRules rules;
  Duration rto{0};
  bool sleek = false;             // Receivers' counts of held packets show losses.
  bool adapts_to_fabric = false;  // Receivers grant less if the fabric is congested.
  const BandwidthDelay* bandwidth_delay = nullptr;
  Duration close_delay{0};

  int64_t full() const { return sizes.DataPacket(sizes.mss); }
  bool has_credit() const { return settings.has_credit(); }
  double greatest_window() const { return rules.GreatestWindow(rules.rtt); }
};

// The values for a network.
UetShared PrepareUet(const UetSettings& settings, const BandwidthDelay& bandwidth_delay,
                     Duration close_delay);

}  // namespace heddle
