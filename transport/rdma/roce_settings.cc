// SPDX-License-Identifier: Apache-2.0

#include "transport/rdma/roce_settings.h"

namespace heddle {

void RoceSettings::Declare(Fields& fields, Chosen<RoceFraming>& framing) {
  fields.Kind("framing", framing, RoceFramings(),
              "rocev2: 62 bytes of headers buffered, 20 more of preamble and gap on the wire, "
              "64-byte minimum; ns3_rdma: 48 bytes of headers and ACKs of 60, as in HPCC's and "
              "ConWeave's simulators; ip1500: 40 bytes of headers, ACKs of 40. Or a map of exact "
              "sizes.");
  fields.AddOr("auto", "mtu", mtu, Between<int64_t>(256, 9000),
               "Payload of a full packet in bytes. auto: 1024 (rocev2), 1000 (ns3_rdma), 1460 "
               "(ip1500).");
  DeclareLbHeader(fields, lb_header);
  fields.Choice(
      "recovery", recovery,
      {{"gbn", Recovery::kGoBackN},
       {"irn", Recovery::kIrn},
       {"ddp", Recovery::kDdp},
       {"sr", Recovery::kSelective}},
      "gbn: go-back-N, as commodity NICs do; irn: selective repeat with a window of one "
      "bandwidth-delay product (Mittal et al., SIGCOMM 2018); ddp: the receiver places packets "
      "in any order and never sends a NACK for a gap, as NICs for adaptive routing do. "
      "Each data packet then carries its address, 16 bytes more; sr: selective repeat as commodity "
      "NICs do, whose receivers keep packets that come out of order and ask for one missing packet "
      "at a time.");
  fields.Choice(
      "nack", nack, {{"per_gap", Nack::kPerGap}, {"timer", Nack::kTimer}},
      "gbn, sr: one NACK until the expected packet has come (per_gap), or another one every "
      "nack_interval while packets come out of order (timer).");
  fields.Add("nack_interval", nack_interval, {.above = Duration{0}, .at_most = 1_s},
             "nack: timer: time between two NACKs.");
  fields.Add("ack_interval", ack_interval, Between<int64_t>(1, 1000),
             "gbn, sr, ddp: packets per ACK; the last one of a flow is always acknowledged at "
             "once. irn acknowledges every packet.");
  fields.AddOr(
      "never", "rto", rto, {.above = Duration{0}, .at_most = 100_s},
      "gbn, sr: retransmission timeout. Each packet sent and each ACK restarts it; it is not "
      "doubled.");
  fields.Add("nack_threshold", nack_threshold, Between<int64_t>(1, 65'535),
             "irn: number of out-of-order packets after which the missing packets before them "
             "count as lost.");
  fields.Add("rto_low", rto_low, {.above = Duration{0}, .at_most = 100_s},
             "irn: timeout with few packets in flight, where a lost tail cannot cause a NACK.");
  fields.Add("rto_high", rto_high, {.above = Duration{0}, .at_most = 100_s},
             "irn: timeout otherwise.");
  fields.Add("rto_low_packets", rto_low_packets, Between<int64_t>(0, 65'535),
             "irn: number of packets in flight up to which rto_low applies.");
  fields.Choice("ddp_loss", ddp_loss,
                {{"timeout", DdpLoss::kTimeout}, {"threshold", DdpLoss::kThreshold}},
                "ddp: packets count as lost after ddp_rto, or also when nack_threshold packets "
                "sent after them have arrived.");
  fields.AddOr("auto", "ddp_rto", ddp_rto, {.above = Duration{0}, .at_most = 100_s},
               "ddp: a packet sent longer ago than this, and not acknowledged, is sent again. "
               "auto: three of the longest idle round trips, at least 320us.");
  fields.AddOr("auto", "ddp_window", ddp_window,
               {.at_least = Bytes{1}, .at_most = Bytes{1'000'000'000}},
               "ddp: payload beyond the packet expected that the receiver places; later packets "
               "are dropped. auto: two of the largest bandwidth-delay products.");
  fields.Choice("window", window,
                {{"none", Window::kNone}, {"bdp", Window::kBdp}, {"bdp_var", Window::kBdpVar}},
                "Limit of what is in flight: none; bdp; or bdp_var, which shrinks with the rate. "
                "With irn the "
                "bdp is a limit in any case.");
  fields.Choice("bdp_scope", bdp_scope, {{"pair", Scope::kPair}, {"max", Scope::kMax}},
                "bdp: auto is that of the two hosts, or the largest of all pairs.");
  fields.AddOr("auto", "bdp", bdp, {.at_least = Bytes{1}, .at_most = Bytes{1'000'000'000}},
               "Bandwidth-delay product in bytes of payload. auto: propagation both ways and one "
               "packet's payload over each link on the way there, times the least rate.");
  fields.AddOr(
      "nic", "line_rate", line_rate, Above(BitRate{0}),
      "Rate at which queue pairs start, and the highest that congestion control gives them; it "
      "replaces the line rate wherever a default follows from that. nic: the NIC's rate.");
  fields.AddOr("exact", "gap_unit", gap_unit, {.above = Duration{0}, .at_most = 1_ms},
               "The time from one packet to the next at a rate is a whole number of these, rounded "
               "down, as with the clock of some simulators.");
  fields.Add("retime_on_rate_change", retime_on_rate_change,
             "A new rate also changes the sending time of the packet that already waits.");
  fields.Choice("turns", turns, {{"from_end", Turns::kFromEnd}, {"from_start", Turns::kFromStart}},
                "A queue pair that may send another packet joins its NIC's round when the last one "
                "has left, as in NICs that choose when they are free, or when it begins to leave.");
  fields.Add("priority", priority, Between<int64_t>(1, 7), "Priority class of data packets.");
  fields.Add("control_priority", control_priority, Between<int64_t>(0, 7),
             "Priority class of ACKs, NACKs and CNPs.");
  fields.Require(
      !mtu || framing.settings->uses_mtu(), "mtu",
      "goes with a framing that has a name; framing.payload says how much a packet holds");
  fields.Require(rto_low <= rto_high, "rto_high", "is less than rto_low");
}

PacketSizes SizesOf(const RoceSettings& settings, const RoceFraming& framing) {
  return framing.Sizes(settings.mtu).With(settings.lb_header);
}

}  // namespace heddle
