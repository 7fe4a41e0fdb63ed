// SPDX-License-Identifier: Apache-2.0

#include "transport/tcp/tcp_settings.h"

namespace heddle {
namespace {

constexpr int64_t kTcpIpHeader = 40;
constexpr int64_t kTimestampOption = 12;

}  // namespace

void TcpSettings::Declare(Fields& fields, Chosen<TcpFraming>& framing) {
  DeclareRecovery(fields);
  DeclareWindow(fields, "Receiver's window in segments; unlimited: 65535.");
  DeclareSetup(fields);
  DeclarePackets(fields, framing);
}

void TcpSettings::DeclareSubflow(Fields& fields, Chosen<TcpFraming>& framing) {
  DeclareRecovery(fields);
  DeclareWindow(
      fields,
      "Receive buffer of the connection in segments; unlimited: no limit. If it is full, a "
      "subflow with room sends the segment that it waits for again, and the subflow that "
      "has not delivered it halves its window, at most once in its RTT (Raiciu et al., "
      "NSDI 2012).");
  DeclarePackets(fields, framing);
}

int64_t TcpSettings::header() const { return kTcpIpHeader + (timestamps ? kTimestampOption : 0); }

void TcpSettings::DeclareRecovery(Fields& fields) {
  fields.Choice("recovery", recovery, {{"sack", Recovery::kSack}, {"newreno", Recovery::kNewReno}},
                "Loss recovery: RFC 6675 (sack) or RFC 6582 (newreno).");
  fields.AddOr("inf", "dupthresh", dupthresh, Between<int64_t>(1, kMaxWindowSegments),
               "Duplicate ACKs, or segments SACKed above it, after which a segment counts as lost "
               "(RFC 5681 section 3.2); inf: never.");
  fields.Choice("loss", loss, {{"dupacks", Loss::kDupAcks}, {"rack", Loss::kRack}},
                "How loss is found: by counting (dupthresh) or by time (RACK, RFC 8985).");
  fields.Add("tlp", tlp, "Tail loss probes (RFC 8985 section 7); with loss: rack.");
  fields.Add("rescue", rescue,
             "Once per recovery, if there is nothing else to send, retransmit the highest segment "
             "that is not SACKed (RFC 6675 section 4, NextSeg rule 4).");
  fields.Add("prr", prr, "Reduce the window in proportion to what arrives (RFC 6937).");
  fields.Choice("undo", undo, {{"none", Undo::kNone}, {"dsack", Undo::kDsack}},
                "dsack: restore the window when DSACKs have shown that all retransmissions of an "
                "episode were spurious (RFC 3708).");
  fields.Add("reordering_adapt", reordering_adapt,
             "Raise dupthresh to one more than the largest number of segments seen to overtake a "
             "segment, up to 300, as Linux does.");
}

void TcpSettings::DeclareWindow(Fields& fields, std::string_view rwnd_meaning) {
  fields.Add("iw", iw, Between<int64_t>(1, kMaxWindowSegments),
             "Initial window in segments (RFC 6928).");
  fields.Add("limited_transmit", limited_transmit,
             "Send a new segment on each of the first two duplicate ACKs (RFC 3042). With sack "
             "recovery the scoreboard allows them in any case.");
  fields.Add("min_rto", min_rto, {.above = Duration{0}, .at_most = 100_s},
             "Least retransmission timeout (RFC 6298).");
  fields.AddOr("min_rto", "rto_init", rto_init, {.above = Duration{0}, .at_most = 100_s},
               "Timeout before the first round trip has been measured.");
  fields.Add("max_rto", max_rto, {.above = Duration{0}, .at_most = 100_s},
             "Largest timeout, back-off included.");
  fields.Add("rto_granularity", rto_granularity, {.at_least = Duration{0}, .at_most = 1_s},
             "The clock granularity G of RFC 6298.");
  fields.Add("delack_count", delack_count, Between<int64_t>(1, 1000),
             "In-order segments per ACK; 1: every segment is acknowledged at once.");
  fields.Add("delack_timeout", delack_timeout, {.above = Duration{0}, .at_most = 10_s},
             "How long an ACK may be delayed, if delack_count > 1.");
  fields.AddOr("unlimited", "max_cwnd", max_cwnd, Between<int64_t>(1, kMaxWindowSegments),
               "Largest congestion window in segments; unlimited: 65535.");
  fields.AddOr("unlimited", "rwnd", rwnd, Between<int64_t>(1, kMaxWindowSegments), rwnd_meaning);
}

void TcpSettings::DeclareSetup(Fields& fields) {
  fields.Choice(
      "setup", setup,
      {{"none", Setup::kNone},
       {"handshake", Setup::kHandshake},
       {"persistent", Setup::kPersistent}},
      "none: data at once; handshake: SYN and SYN-ACK first; persistent: as none, and cwnd, "
      "ssthresh and RTT survive from the last flow between the same hosts.");
}

void TcpSettings::DeclarePackets(Fields& fields, Chosen<TcpFraming>& framing) {
  fields.Kind("framing", framing, TcpFramings(),
              "eth: 18 bytes of Ethernet buffered, 20 more of preamble and gap on the wire, "
              "64-byte minimum; ip1500: IP packets alone. Or a map of exact sizes.");
  fields.Add("mtu", mtu, Between<int64_t>(256, 9000), "IP packet size in bytes.");
  fields.Add("timestamps", timestamps,
             "Carry the timestamp option: 12 bytes less payload per packet (RFC 7323).");
  DeclareLbHeader(fields, lb_header);
  fields.Add("priority", priority, Between<int64_t>(1, 7), "Priority class of data packets.");
  fields.AddOr("data", "control_priority", control_priority, Between<int64_t>(0, 7),
               "Priority class of ACKs and of the handshake; data: the same as data packets, with "
               "which they compete on the way back.");
  fields.Require(
      mtu == kDefaultMtu || framing.settings->uses_mtu(), "mtu",
      "goes with a framing that has a name; framing.payload says how much a packet holds");
  fields.Require(min_rto <= max_rto, "max_rto", "is less than min_rto");
  fields.Require(!tlp || loss == Loss::kRack, "tlp", "needs loss: rack");
  fields.Require(!extended() || recovery == Recovery::kSack, "recovery",
                 "loss: rack, tlp, rescue, prr, undo and reordering_adapt need sack");
}

void TcpSettings::DeclareEcn(Fields& fields) {
  fields.Choice("ecn", ecn, {{"off", Ecn::kOff}, {"rfc3168", Ecn::kRfc3168}},
                "off: packets are not ECN-capable; rfc3168: a mark counts as a loss.");
}

PacketSizes SizesOf(const TcpSettings& settings, const TcpFraming& framing) {
  return framing.Sizes(settings.mtu, settings.header()).With(settings.lb_header);
}

}  // namespace heddle
