// SPDX-License-Identifier: Apache-2.0

#include "transport/uet_settings.h"

namespace heddle {

void UetSettings::Declare(Fields& fields) {
  using Kind = NsccRules::Kind;
  fields.Choice("preset", preset, {{"none", Preset::kNone}, {"strack", Preset::kStrack}},
                "strack: an approximation of STrack, with cc: nscc and loss: sleek. Its packets "
                "are not trimmed. lb: strack belongs to it.");
  fields.Choice("framing", framing, {{"uet", Framing::kUet}, {"uet_htsim", Framing::kHtsim}},
                "uet: 4096 bytes of payload, 74 of headers and 20 of preamble and gap; uet_htsim: "
                "packets of 4150 bytes with 64 of headers, as in the simulator of that name. "
                "Control packets have 64 bytes.");
  DeclareLbHeader(fields, lb_header);
  fields.Choice("cc", cc,
                {{"nscc", Kind::kNscc},
                 {"dctcp_ack", Kind::kDctcpAck},
                 {"mprdma_ack", Kind::kMprdmaAck},
                 {"constant", Kind::kConstant},
                 {"smartt", Kind::kSmartt},
                 {"none", Kind::kNone}},
                "Congestion control of senders. nscc: by delay and ECN, as in Ultra Ethernet; "
                "smartt: its forerunner SMaRTT, which also yields to marks without delay; "
                "dctcp_ack, mprdma_ack: each mark takes a third or a quarter of the bytes it "
                "acknowledges; constant: the window stays as it is; none: no window, beside "
                "receiver: rccc.");
  fields.Choice("receiver", receiver, {{"none", Receivers::kNone}, {"rccc", Receivers::kRccc}},
                "Congestion control of receivers, beside that of senders. rccc: they grant credit "
                "to the flows that come to them, in turn. A flow begins with a greatest window of "
                "credit. Ports to hosts do not mark.");
  fields.Section("rccc", rccc, "How receivers grant credit, with receiver: rccc.");
  fields.Require(cc != Kind::kNone || has_credit(), "cc",
                 "nothing limits senders; set receiver: rccc, or another cc");
  fields.Add("ack_bytes", ack_bytes, {.at_least = Bytes{1}, .at_most = Bytes{1'000'000'000}},
             "Bytes that a receiver takes before it acknowledges them. Marks, duplicates and "
             "packets that ask for it are acknowledged at once.");
  fields.AddOr("auto", "rto", rto, {.above = Duration{0}, .at_most = 100_s},
               "Retransmission timeout, not doubled. auto: 15us and the time of 6 full queues.");
  fields.AddOr("auto", "target", target, {.above = Duration{0}, .at_most = 1_s},
               "nscc, smartt: the queueing delay that it aims at. auto: the longest idle round "
               "trip, three quarters of it where switches trim; smartt: half of it.");
  fields.Add(
      "qa_gate", qa_gate, Between<int64_t>(0, 16),
      "nscc, smartt: after a loss the window becomes the bytes that have arrived in a round trip, "
      "if these are less than the greatest window divided by 2 to the power of this.");
  fields.Choice("loss", loss,
                {{"auto", Loss::kAuto}, {"sleek", Loss::kSleek}, {"timeout", Loss::kTimeout}},
                "How losses show, besides headers of trimmed packets. timeout: by the timeout "
                "alone; sleek: also by many packets beyond a hole, or by a probe. auto: timeout "
                "where switches trim, sleek elsewhere.");
  const bool is_strack = preset == Preset::kStrack;
  fields.Require(!is_strack || cc == Kind::kNscc, "cc", "preset: strack goes with cc: nscc");
  fields.Require(!is_strack || !has_credit(), "receiver",
                 "preset: strack goes without credit; set receiver: none");
  fields.Require(!is_strack || loss != Loss::kTimeout, "loss",
                 "preset: strack goes with loss: sleek, or auto");
  fields.Choice("base_rtt", base_rtt, {{"max", Scope::kMax}, {"pair", Scope::kPair}},
                "The idle round trip that a flow starts from: the longest of the network, or that "
                "of its hosts. Shorter samples lower it.");
  fields.Add("base_rtt_on_nack", base_rtt_on_nack,
             "The time from a packet to the NACK of its trimmed header counts as such a sample, if "
             "the packet was sent once.");
  fields.Add("rcv_pen", rcv_pen, Between<int64_t>(0, 255),
             "The penalty that receivers report in each ACK: the window loses (255 - rcv_pen) / "
             "255 of the bytes that the ACK reports. 255: nothing.");
  fields.AddOr("auto", "window", window, {.at_least = Bytes{1}, .at_most = Bytes{1'000'000'000}},
               "The first window, in bytes with headers. auto: 1.5 bandwidth-delay products.");
  fields.Add("priority", priority, Between<int64_t>(1, 7), "Priority class of data packets.");
  fields.Add("control_priority", control_priority, Between<int64_t>(0, 7),
             "Priority class of ACKs, NACKs, probes and pulls.");
}

void RcccSettings::Declare(Fields& fields) {
  fields.Choice(
      "fabric", fabric, {{"auto", Fabric::kAuto}, {"on", Fabric::kOn}, {"off", Fabric::kOff}},
      "on: receivers grant less while many packets are marked, or some are trimmed before "
      "the last hop. auto: on with cc: none if the fabric is oversubscribed, which means "
      "that a switch has less capacity upwards than downwards.");
}

PacketSizes UetSettings::Sizes() const {
  const bool is_htsim = framing == Framing::kHtsim;
  PacketSizes sizes{.mss = is_htsim ? 4'086 : 4'096,
                    .data_overhead = is_htsim ? 64 : 74,
                    .min_packet = is_htsim ? 0 : 64,
                    .ack = 0,
                    .wire_overhead = is_htsim ? 0 : 20,
                    .link_header = is_htsim ? 0 : 18};
  sizes.SetAllControl(64);
  return sizes.With(lb_header);
}

namespace {

// SMaRTT aims at a round trip of 1.5 idle ones.
Duration UsualTarget(const NsccRules& rules, bool trims) {
  if (rules.kind == NsccRules::Kind::kSmartt) return rules.rtt / 2;
  return trims ? Duration{rules.rtt.ps * 3 / 4} : rules.rtt;
}

}  // namespace

UetShared PrepareUet(const UetSettings& settings, const BandwidthDelay& bandwidth_delay,
                     Duration close_delay) {
  const BandwidthDelay::Queues queues = bandwidth_delay.queues();
  UetShared shared{.settings = settings,
                   .sizes = settings.Sizes(),
                   .rules = {},
                   .bandwidth_delay = &bandwidth_delay,
                   .close_delay = close_delay};
  NsccRules& rules = shared.rules;
  rules.kind = settings.cc;
  rules.packet = static_cast<double>(shared.full());
  rules.payload = static_cast<double>(shared.sizes.mss);
  rules.rate = static_cast<double>(queues.host_rate.bps);
  rules.rtt = bandwidth_delay.LongestRoundTrip();
  rules.target = settings.target.value_or(UsualTarget(rules, queues.trims));
  rules.gate = static_cast<int>(settings.qa_gate);
  const int64_t queue = queues.longest.count > 0 ? queues.longest.count
                                                 : static_cast<int64_t>(5 * rules.Bdp(rules.rtt));
  using Fabric = RcccSettings::Fabric;
  shared.adapts_to_fabric =
      settings.has_credit() &&
      (settings.rccc.fabric == Fabric::kOn ||
       (settings.rccc.fabric == Fabric::kAuto && queues.oversubscribed && !rules.has_window()));
  // A queue may be longer than SerializationDelay() can take.
  const double drain = 6 * 8e12 * static_cast<double>(queue) / rules.rate;
  shared.rto = settings.rto.value_or(15_us + Duration{static_cast<int64_t>(drain)});
  shared.sleek = settings.loss == UetSettings::Loss::kSleek ||
                 (settings.loss == UetSettings::Loss::kAuto && !queues.trims);
  return shared;
}

}  // namespace heddle
