// SPDX-License-Identifier: Apache-2.0
// The settings of TCP, without those of its congestion control. The defaults are those that most
// load-balancing studies use. An experiment reads them; all flows share them.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/units.h"
#include "settings/fields.h"
#include "transport/framing.h"
#include "transport/packet_sizes.h"
#include "transport/rtt.h"

namespace heddle {

// A window never spans more segments than a SACK block can name.
inline constexpr uint32_t kMaxWindowSegments = 65'535;

struct TcpSettings {
  static constexpr int64_t kDefaultMtu = 1500;

  enum class Recovery { kSack, kNewReno };
  enum class Setup { kNone, kHandshake, kPersistent };
  enum class Loss { kDupAcks, kRack };
  enum class Undo { kNone, kDsack };
  enum class Ecn {
    kOff,       // Packets are not ECN-capable.
    kRfc3168,   // Originals are; receivers repeat an echo until they see CWR.
    kEachMark,  // All data is; receivers echo each mark once (RFC 8257). Not for users to set.
  };

  Recovery recovery = Recovery::kSack;
  std::optional<int64_t> dupthresh = 3;  // Not set: never.
  Loss loss = Loss::kDupAcks;
  bool tlp = false;
  bool rescue = false;
  bool prr = false;
  Undo undo = Undo::kNone;
  bool reordering_adapt = false;
  int64_t iw = 10;
  bool limited_transmit = true;
  Duration min_rto = 10_ms;
  std::optional<Duration> rto_init;  // Not set: min_rto.
  Duration max_rto = 2_s;
  Duration rto_granularity{0};
  int64_t delack_count = 1;
  Duration delack_timeout = 500_us;
  std::optional<int64_t> max_cwnd;  // Segments; not set: kMaxWindowSegments.
  std::optional<int64_t> rwnd;      // Likewise.
  Setup setup = Setup::kNone;
  int64_t mtu = kDefaultMtu;
  bool timestamps = false;
  Bytes lb_header{0};
  int64_t priority = 1;
  std::optional<int64_t> control_priority;  // Not set: that of data.

  Ecn ecn = Ecn::kOff;  // Unless the congestion control has its own.

  // Returns true if any option is on that a flow keeps TcpExtensions for.
  bool extended() const {
    return loss == Loss::kRack || tlp || rescue || prr || undo != Undo::kNone || reordering_adapt;
  }

  // `framing` is set beside these. `ecn` comes last, where the congestion control has none.
  void Declare(Fields& fields, Chosen<TcpFraming>& framing);
  void DeclareEcn(Fields& fields);

  // The same for a subflow of MPTCP, which has its own `setup`.
  void DeclareSubflow(Fields& fields, Chosen<TcpFraming>& framing);

  // Bytes of the headers of IP and TCP, without MPTCP's options.
  int64_t header() const;

 private:
  void DeclareRecovery(Fields& fields);
  void DeclareWindow(Fields& fields, std::string_view rwnd_meaning);
  void DeclareSetup(Fields& fields);
  void DeclarePackets(Fields& fields, Chosen<TcpFraming>& framing);
};

// The sizes of packets under these settings.
PacketSizes SizesOf(const TcpSettings& settings, const TcpFraming& framing);

}  // namespace heddle
