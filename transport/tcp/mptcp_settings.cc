// SPDX-License-Identifier: Apache-2.0

#include "transport/tcp/mptcp_settings.h"

#include "core/subflow_id.h"

namespace heddle {
namespace {

// TCP options of RFC 8684, padded to words of four bytes. Sections 3.3.1 and 3.3.2: a signal with a
// mapping has 20 bytes, with a data acknowledgement alone 8. Section 3.2: MP_JOIN on a SYN has 12
// bytes, on a SYN-ACK 16; MP_CAPABLE, which is shorter, is counted as long.
constexpr int64_t kDataSignal = 20;
constexpr int64_t kAckSignal = 8;
constexpr int64_t kJoinSyn = 12;
constexpr int64_t kJoinSynAck = 16;

}  // namespace

void MptcpSettings::Declare(Fields& fields) {
  fields.Add("subflows", subflows, Between<int64_t>(1, kMostSubflows),
             "TCPs of a connection, with source ports one apart.");
  DeclareScheduler(fields);
  fields.Choice(
      "setup", setup, {{"instant", Setup::kInstant}, {"join", Setup::kJoin}},
      "instant: all subflows are open at once; join: the first subflow opens with SYN and "
      "SYN-ACK, the others then join, while the first sends (RFC 8684 sections 3.1, 3.2).");
}

void MptcpSettings::DeclareAfterSpraying(Fields& fields) {
  fields.Add("subflows", subflows, Between<int64_t>(1, kMostSubflows - 1),
             "TCPs that open besides the first one, with source ports one apart.");
  DeclareScheduler(fields);
  fields.Choice("setup", setup, {{"instant", Setup::kInstant}, {"join", Setup::kJoin}},
                "instant: subflows open without handshakes; join: the first one opens with SYN and "
                "SYN-ACK, and the others join when they are to open, while the first sends (RFC "
                "8684 sections 3.1, 3.2).");
}

void MptcpSettings::DeclareScheduler(Fields& fields) {
  fields.Choice(
      "scheduler", scheduler,
      {{"pull", Scheduler::kPull},
       {"min_rtt", Scheduler::kMinRtt},
       {"round_robin", Scheduler::kRoundRobin},
       {"redundant", Scheduler::kRedundant}},
      "Which subflow sends the next data. pull: whichever has room in its window first; "
      "min_rtt: of those with room the one with the shortest RTT, as in Linux; "
      "round_robin: of those with room the next in turn; redundant: each sends all data.");
}

void SprayPhase::Declare(Fields& fields) {
  fields.AddOr("never", "switch_bytes", switch_bytes,
               {.at_least = Bytes{0}, .at_most = Bytes{1'000'000'000'000}},
               "The subflows open when an ACK arrives and more than this has been sent; never: the "
               "bytes sent open none.");
  fields.AddOr("never", "switch_window", switch_window, Between<int64_t>(1, kMaxWindowSegments),
               "The subflows open when the window is larger, in segments; never: the window opens "
               "none.");
  fields.Add("switch_on_loss", switch_on_loss, "The first fast retransmit opens the subflows.");
  fields.Add("switch_when_calm", switch_when_calm,
             "None of the three opens the subflows while the first is in slow start or repairs a "
             "loss.");
  fields.AddOr("auto", "extra_dupacks", extra_dupacks, Between<int64_t>(0, kMaxWindowSegments),
               "Duplicate ACKs beyond dupthresh that the first subflow bears. auto: the number of "
               "shortest paths between the hosts at the start of the run; 0 if there is one.");
}

TcpSettings SprayPhase::FirstOf(const TcpSettings& others) {
  TcpSettings first = others;
  first.recovery = TcpSettings::Recovery::kNewReno;
  first.loss = TcpSettings::Loss::kDupAcks;
  first.undo = TcpSettings::Undo::kNone;
  first.tlp = first.rescue = first.prr = first.reordering_adapt = false;
  return first;
}

PacketSizes MptcpSizesOf(const TcpSettings& settings, const TcpFraming& framing) {
  const auto with = [&](int64_t options) {
    return framing.Sizes(settings.mtu, settings.header() + options);
  };
  PacketSizes sizes = with(kDataSignal);
  sizes.ack = with(kAckSignal).ack;
  sizes.syn = with(kJoinSyn).syn;
  sizes.syn_ack = with(kJoinSynAck).syn_ack;
  return sizes.With(settings.lb_header);
}

}  // namespace heddle
