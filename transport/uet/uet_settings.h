// SPDX-License-Identifier: Apache-2.0
// The settings of the Ultra Ethernet transport, and the values that all its flows share.

#pragma once

#include <cstdint>
#include <optional>

#include "core/units.h"
#include "settings/fields.h"
#include "transport/packet_sizes.h"
#include "transport/transports.h"
#include "transport/uet/nscc.h"
#include "transport/uet/uet_credit.h"

namespace heddle {

struct RcccSettings {
  enum class Fabric { kAuto, kOn, kOff };
  // What a pull grants.
  enum class Grants {
    kWished,    // What the sender would like, up to `pull` quanta.
    kWhole,     // `pull` quanta, and to flows that have lost packets first (EQDS).
    kArrivals,  // One packet, for each packet or header that has come (NDP).
  };

  Fabric fabric = Fabric::kAuto;
  Grants grants = Grants::kWished;
  Bytes quantum{256};
  int64_t pull = 64;
  std::optional<Duration> interval;
  std::optional<int64_t> first_window;  // In packets.

  void Declare(Fields& fields);
};

struct UetSettings {
  enum class Framing { kHtsim, kUet };
  enum class Loss { kAuto, kSleek, kTimeout };
  enum class Scope { kMax, kPair };
  enum class Preset { kNone, kStrack, kEqds, kNdp };
  enum class Receivers { kNone, kRccc };
  // What takes one link of a host that has several.
  enum class Planes { kFlow, kPacket };

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
  Planes planes = Planes::kFlow;
  int64_t priority = 3;
  int64_t control_priority = 0;

  void Declare(Fields& fields);
  PacketSizes Sizes() const;
  bool spreads() const { return planes == Planes::kPacket; }
  bool can_trim() const { return preset != Preset::kStrack; }
  bool has_credit() const { return receiver == Receivers::kRccc; }
  // Returns true if credit counts packets rather than bytes.
  bool counts_packets() const {
    return has_credit() && rccc.grants == RcccSettings::Grants::kArrivals;
  }
  // Returns true if packets carry the credit that their sender would like.
  bool has_wishes() const { return has_credit() && !counts_packets(); }

 private:
  // Sets what belongs to the preset. Settings that are read after it override its own.
  void ApplyPreset();

  Preset applied_ = Preset::kNone;
};

struct UetShared {
  UetSettings settings;
  PacketSizes sizes;
  NsccRules rules;
  Duration rto{0};
  double pull_bits = 0;  // Bits of the receiver's line that pass from pull to pull; 0: as granted.
  bool sleek = false;    // Receivers' counts of held packets show losses.
  bool adapts_to_fabric = false;  // Receivers grant less if the fabric is congested.
  const BandwidthDelay* bandwidth_delay = nullptr;
  Duration close_delay{0};

  int64_t full() const { return sizes.DataPacket(sizes.mss); }
  bool has_credit() const { return settings.has_credit(); }
  double greatest_window() const { return rules.GreatestWindow(rules.rtt); }
  bool counts_packets() const { return settings.counts_packets(); }
  bool has_wishes() const { return settings.has_wishes(); }

  // The time from a pull that grants `quanta` to the next, at a host that receives `line` bits per
  // second. `share`: the part of it that the fabric carries.
  Duration PullInterval(int64_t quanta, double line, double share) const;
  // The credit of a flow whose idle round trip is `base`.
  UetCredit::Terms CreditFor(Duration base) const;
};

// The values for a network.
UetShared PrepareUet(const UetSettings& settings, const BandwidthDelay& bandwidth_delay,
                     Duration close_delay);

}  // namespace heddle
