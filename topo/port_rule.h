// SPDX-License-Identifier: Apache-2.0
// The settings of switch ports of any rate: how much a port buffers, from which queue length it
// marks, how it schedules and pauses. SwitchPort() and MarkingAt() work out the values for one
// channel.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/units.h"
#include "fabric/fifo_port.h"
#include "fabric/marking.h"
#include "fabric/queued_port.h"
#include "settings/fields.h"
#include "topo/graph.h"
#include "topo/queue_rule.h"
#include "topo/trim_rule.h"

namespace heddle {

// A queue length: "375KB", "250pkts" or "unlimited".
struct QueueSize {
  enum class Unit { kBytes, kPackets, kNone };  // kNone: unlimited.

  int64_t count = 1;
  Unit unit = Unit::kBytes;

  friend bool operator==(QueueSize, QueueSize) = default;
};

ParseError ParseQuantity(std::string_view text, QueueSize& value);
std::string FormatQuantity(QueueSize value);
constexpr std::string_view TypeName(const QueueSize&) {
  return "size, N packets as Npkts, or unlimited";
}
inline ScalarShape ShapeOf(const QueueSize&) {
  return {.type = ScalarShape::Type::kPattern,
          .pattern = "^(unlimited|[0-9]+pkts|[0-9]+(\\.[0-9]+)?(B|KB|KiB|MB|MiB|GB|GiB|TB))$"};
}

// How ports mark packets if `marking` and `red` are auto.
struct UsualMarking {
  bool is_red = false;
  // By default, RED's thresholds are those of DCQCN: 1 and 4 KB per Gbps.
  double probability = 0.2;
  // If not 0: the bandwidth-delay product of hosts with links of rate `nic`, in full packets of
  // `packet` bytes. The thresholds are a fifth and four fifths of it, as in uet-htsim.
  int64_t bdp_packets = 0;
  int64_t packet = 0;
  BitRate nic{};
};

// The bandwidth-delay product in packets, rounded up.
int64_t BandwidthDelayPackets(Duration round_trip, BitRate rate, int64_t packet);

struct PortRule {
  enum class Mark { kAuto, kStep, kRed };
  enum class MarkAt { kAuto, kEnqueue, kDequeue, kDeparture };

  std::optional<QueueSize> buffer;  // Not set: 250 full Ethernet frames per 10 Gbps, at least 2 K.
  std::optional<QueueSize> ecn_above;  // K. Not set: see DefaultMarkingThreshold.

  Mark marking = Mark::kAuto;
  MarkAt mark_at = MarkAt::kAuto;
  RedRule red;
  Scheduler scheduler = Scheduler::kRoundRobin;
  std::vector<Bytes> quanta;
  MemoryRule memory;
  PauseRule pfc;
  TrimRule trim;

  void Declare(Fields& fields);

  // Returns how a port that sends on `channel` marks.
  Marking MarkingAt(const Channel& channel, const UsualMarking& usual) const;

  // Returns the settings of a switch port that sends on `channel`. `wire_overhead`: bytes that
  // occupy the wire but no buffer.
  PortSettings SwitchPort(const Channel& channel, Bytes wire_overhead) const;

  // Returns the settings of a host's NIC. It holds one packet at a time, so it neither drops nor
  // marks.
  static PortSettings Nic(const Channel& channel, Bytes wire_overhead);
};

}  // namespace heddle
