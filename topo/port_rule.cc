// SPDX-License-Identifier: Apache-2.0

#include "topo/port_rule.h"

#include <absl/numeric/int128.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace heddle {
namespace {

constexpr int64_t kFrame = 1518;  // Full-sized, as buffered.
constexpr int64_t kMtu = 1500;
constexpr std::string_view kPackets = "pkts";
constexpr std::string_view kUnlimitedWord = "unlimited";

// RED's thresholds at a port of this rate, in bytes.
std::pair<int64_t, int64_t> UsualThresholds(BitRate rate, const UsualMarking& usual) {
  if (usual.bdp_packets == 0) {
    const int64_t kilobyte = rate.bps / 1'000'000;  // 1 KB per Gbps.
    return {kilobyte, 4 * kilobyte};
  }
  const auto fifths = [&](int64_t n) {
    const absl::int128 bytes = (n * usual.bdp_packets + 4) / 5 * usual.packet;
    return static_cast<int64_t>(bytes * rate.bps / usual.nic.bps);
  };
  return {fifths(1), fifths(4)};
}

}  // namespace

int64_t BandwidthDelayPackets(Duration round_trip, BitRate rate, int64_t packet) {
  const absl::int128 bits = absl::int128(round_trip.ps) * rate.bps / kPicosecondsPerSecond;
  return (static_cast<int64_t>(bits / 8) + packet - 1) / packet;
}

ParseError ParseQuantity(std::string_view text, QueueSize& value) {
  if (text == kUnlimitedWord) {
    value = {kUnlimited, QueueSize::Unit::kNone};
    return std::nullopt;
  }
  QueueSize read;
  if (text.ends_with(kPackets)) {
    read.unit = QueueSize::Unit::kPackets;
    const std::string_view digits = text.substr(0, text.size() - kPackets.size());
    if (ParseError error = ParseQuantity(digits, read.count)) return error;
  } else {
    Bytes bytes;
    if (ParseError error = ParseQuantity(text, bytes)) return error;
    read.count = bytes.count;
  }
  if (read.count < 1)
    return fmt::format("\"{}\" is out of range; expected more than nothing", text);
  value = read;
  return std::nullopt;
}

std::string FormatQuantity(QueueSize value) {
  switch (value.unit) {
    case QueueSize::Unit::kNone:
      return std::string(kUnlimitedWord);
    case QueueSize::Unit::kPackets:
      return fmt::format("{}{}", value.count, kPackets);
    case QueueSize::Unit::kBytes:
      break;
  }
  return FormatQuantity(Bytes{value.count});
}

void PortRule::Declare(Fields& fields) {
  fields.AddOr("auto", "buffer", buffer,
               "Egress buffer of each switch port; a packet that would exceed it is dropped. "
               "auto: 37.95KB per Gbps (250 frames at 10Gbps), at least twice ecn_above.");
  fields.AddOr(
      "auto", "ecn_above", ecn_above,
      "DCTCP's K: an ECN-capable packet is marked if the queue is longer than this. auto: 30KB up "
      "to 1Gbps, 97.5KB at 10Gbps, 30KB per 10Gbps above 32.5 (Alizadeh et al., SIGCOMM 2010).");
  fields.Choice(
      "marking", marking, {{"auto", Mark::kAuto}, {"step", Mark::kStep}, {"red", Mark::kRed}},
      "step: above ecn_above all packets are marked; red: with a probability that grows "
      "between two lengths. auto: red for uet and for rocev2 with dcqcn, step otherwise.");
  fields.Choice(
      "mark_at", mark_at,
      {{"auto", MarkAt::kAuto},
       {"enqueue", MarkAt::kEnqueue},
       {"dequeue", MarkAt::kDequeue},
       {"departure", MarkAt::kDeparture}},
      "When a packet is marked, and by which queue length. enqueue: on arrival, by the queue with "
      "this packet; dequeue: when it begins to leave, by the queue behind it; departure: when it "
      "begins to leave, by the queue with this packet. auto: dequeue for red, enqueue for step.");
  fields.Section("red", red,
                 "The thresholds of marking: red, as in DCQCN (Zhu et al., SIGCOMM 2015).");
  fields.Choice("scheduler", scheduler,
                {{"strict", Scheduler::kStrict},
                 {"strict0_rr", Scheduler::kRoundRobin},
                 {"dwrr", Scheduler::kDeficit}},
                "strict: the lowest class first; strict0_rr: class 0 first, the others take turns; "
                "dwrr: class 0 first, the others take turns of quanta bytes.");
  fields.List(
      "quanta", quanta, {.at_least = Bytes{1}, .at_most = Bytes{1'000'000'000}},
      "dwrr: bytes of a turn of each class, from class 0 on. Default: a full packet for each.");
  fields.Section("memory", memory, "How the ports of a switch share its buffer.");
  fields.Section("pfc", pfc, "Priority flow control, IEEE 802.1Qbb.");
  fields.Section("trim", trim,
                 "Packet trimming: the header of a packet without room arrives in its place.");
  fields.Require(quanta.size() <= kClasses, "quanta", "there are 8 classes");
  const auto unit = [](const std::optional<QueueSize>& size) {
    return size ? size->unit : QueueSize::Unit::kNone;
  };
  fields.Require(unit(buffer) == QueueSize::Unit::kNone ||
                     unit(ecn_above) == QueueSize::Unit::kNone || unit(buffer) == unit(ecn_above),
                 "ecn_above", "counts in another unit than buffer; use bytes or packets for both");
}

Marking PortRule::MarkingAt(const Channel& channel, const UsualMarking& usual) const {
  const PortSettings port = SwitchPort(channel, Bytes{0});
  if (marking == Mark::kStep || (marking == Mark::kAuto && !usual.is_red)) {
    return {.above = port.mark_above,
            .all = port.mark_above,
            .at_dequeue = mark_at == MarkAt::kDequeue || mark_at == MarkAt::kDeparture,
            .counts_departing = mark_at == MarkAt::kDeparture};
  }
  const int64_t packet = usual.packet > 0 ? usual.packet : kMtu;
  const int64_t unit = port.count_packets ? packet : 1;
  const auto [min, max] = UsualThresholds(channel.rate, usual);
  return {.above = (red.min ? red.min->count : min) / unit,
          .all = (red.max ? red.max->count : max) / unit,
          .at_all = red.probability.value_or(usual.probability),
          .at_dequeue = mark_at != MarkAt::kEnqueue,
          .counts_departing = mark_at == MarkAt::kDeparture};
}

PortSettings PortRule::SwitchPort(const Channel& channel, Bytes wire_overhead) const {
  PortSettings port = Nic(channel, wire_overhead);
  port.count_packets = (buffer && buffer->unit == QueueSize::Unit::kPackets) ||
                       (ecn_above && ecn_above->unit == QueueSize::Unit::kPackets);
  port.mark_above = ecn_above            ? ecn_above->count
                    : port.count_packets ? DefaultMarkingThreshold(channel.rate).count / kMtu
                                         : DefaultMarkingThreshold(channel.rate).count;
  const int64_t frame = port.count_packets ? 1 : kFrame;
  const int64_t frames = 25 * (channel.rate.bps / 1'000'000) / 1'000;  // 250 at 10 Gbps.
  const int64_t twice = port.mark_above == kUnlimited ? 0 : 2 * port.mark_above;
  port.buffer = buffer ? buffer->count : std::max({frames * frame, twice, 10 * frame});
  return port;
}

PortSettings PortRule::Nic(const Channel& channel, Bytes wire_overhead) {
  return {.rate = channel.rate, .delay = channel.delay, .wire_overhead = wire_overhead};
}

}  // namespace heddle
