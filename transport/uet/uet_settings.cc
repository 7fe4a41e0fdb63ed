// SPDX-License-Identifier: Apache-2.0

#include "transport/uet/uet_settings.h"

#include <fmt/format.h>

#include <algorithm>

namespace heddle {

void UetSettings::Declare(Fields& fields) {
  using Kind = NsccRules::Kind;
  fields.Choice("preset", preset,
                {{"none", Preset::kNone},
                 {"eqds", Preset::kEqds},
                 {"ndp", Preset::kNdp},
                 {"strack", Preset::kStrack}},
                "eqds: EQDS, which is cc: none, receiver: rccc, loss: timeout and rccc: {grants: "
                "whole, quantum: 512B, pull: 8, fabric: off}. ndp: NDP, which is cc: none, "
                "receiver: rccc, loss: timeout, ack_bytes: 1B, rto: 50ms and rccc: {grants: "
                "arrivals, first_window: 15, fabric: off}. Settings beside it override these. "
                "strack: an approximation of STrack, with cc: nscc and loss: sleek. Its packets "
                "are not trimmed. lb: strack belongs to it.");
  ApplyPreset();
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
               "Retransmission timeout, not doubled. auto: 15us and the time of 6 full queues; "
               "with preset: eqds, 150us and the same.");
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
  fields.Choice("planes", planes, {{"flow", Planes::kFlow}, {"packet", Planes::kPacket}},
                "With topology: planes, what stays in one plane. packet: each packet takes the "
                "plane whose NIC can send it first. A flow has one window for all planes; the load "
                "balancer learns about each of them apart.");
  fields.Require(!spreads() || !has_credit(), "planes",
                 "credit is paced for one link; set receiver: none, or planes: flow");
  fields.Add("priority", priority, Between<int64_t>(1, 7), "Priority class of data packets.");
  fields.Add("control_priority", control_priority, Between<int64_t>(0, 7),
             "Priority class of ACKs, NACKs, probes and pulls.");
  const PacketSizes sizes = Sizes();
  const int64_t full = sizes.DataPacket(sizes.mss);
  fields.Require(
      !window || window->count >= full, "window",
      fmt::format("is less than a full packet of {} bytes, so nothing could be sent", full));
}

// Writers declare the settings again, which changes nothing.
void UetSettings::ApplyPreset() {
  if (preset == applied_) return;
  applied_ = preset;
  if (preset != Preset::kEqds && preset != Preset::kNdp) return;
  cc = NsccRules::Kind::kNone;
  receiver = Receivers::kRccc;
  loss = Loss::kTimeout;
  rccc.fabric = RcccSettings::Fabric::kOff;
  if (preset == Preset::kEqds) {
    rccc.grants = RcccSettings::Grants::kWhole;
    rccc.quantum = Bytes{512};
    rccc.pull = 8;
  } else {
    ack_bytes = Bytes{1};
    rto = Duration{50'000'000'000};
    rccc.grants = RcccSettings::Grants::kArrivals;
    rccc.first_window = 15;
  }
}

void RcccSettings::Declare(Fields& fields) {
  fields.Choice(
      "grants", grants,
      {{"wished", Grants::kWished}, {"whole", Grants::kWhole}, {"arrivals", Grants::kArrivals}},
      "What a pull grants. wished: what the sender would like, up to pull quanta; whole: "
      "pull quanta in any case, and to flows that have lost packets first, as in EQDS; "
      "arrivals: one packet, for each data packet or header that has come, as in NDP.");
  fields.Add("quantum", quantum, {.at_least = Bytes{1}, .at_most = Bytes{9'000}},
             "The unit of credit.");
  fields.Add("pull", pull, Between<int64_t>(1, 4'096), "Quanta that a pull grants, at most.");
  fields.AddOr("auto", "interval", interval, {.above = Duration{0}, .at_most = 1_s},
               "Time from a pull of a host to its next. auto: the host's links take the bytes that "
               "it granted at 99 % of their rate; grants: whole: 0.99 times a full packet with 38 "
               "bytes around it, for each 4096 bytes that it granted; grants: arrivals: a full "
               "packet at 99 %.");
  fields.AddOr("auto", "first_window", first_window, Between<int64_t>(1, 1'000'000),
               "Packets that a flow may send before the receiver's first answer; with grants: "
               "arrivals, whatever it answers. auto: a greatest window, 1.5 bandwidth-delay "
               "products.");
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

constexpr double kShareOfLine = 0.99;

// EQDS paces pulls by a packet with the 38 bytes that surround an IP packet on Ethernet. Its 0.99
// shortens the time, but a pull grants less than a packet with its headers, 98.8 % of the line.
double PullBits(const UetSettings& settings, const PacketSizes& sizes) {
  constexpr double kAroundPacket = 38;
  constexpr double kBytesOfPull = 4'096;
  const int64_t full = sizes.DataPacket(sizes.mss);
  switch (settings.rccc.grants) {
    case RcccSettings::Grants::kWished:
      break;
    case RcccSettings::Grants::kWhole: {
      const double granted = static_cast<double>(settings.rccc.pull * settings.rccc.quantum.count);
      const double packet = static_cast<double>(full - sizes.link_header) + kAroundPacket;
      return kShareOfLine * 8 * packet * granted / kBytesOfPull;
    }
    case RcccSettings::Grants::kArrivals:
      return 8 * static_cast<double>(full + sizes.wire_overhead) / kShareOfLine;
  }
  return 0;
}

}  // namespace

Duration UetShared::PullInterval(int64_t quanta, double line, double share) const {
  const RcccSettings& rccc = settings.rccc;
  if (rccc.interval) {
    return Duration{static_cast<int64_t>(static_cast<double>(rccc.interval->ps) / share)};
  }
  if (pull_bits > 0) return Duration{static_cast<int64_t>(pull_bits * 1e12 / (share * line))};
  const double bits = static_cast<double>(8 * quanta * rccc.quantum.count);
  return Duration{static_cast<int64_t>(bits * 1e12 / (kShareOfLine * share * line))};
}

UetCredit::Terms UetShared::CreditFor(Duration base) const {
  if (!has_credit()) return {};
  const int64_t most = static_cast<int64_t>(rules.GreatestWindow(base));
  const std::optional<int64_t> packets = settings.rccc.first_window;
  UetCredit::Terms terms{.is_needed = true,
                         .quantum = static_cast<uint16_t>(settings.rccc.quantum.count),
                         .first = packets ? *packets * full() : most,
                         .most = most};
  if (counts_packets()) {
    terms.counts_packets = true;
    terms.quantum = static_cast<uint16_t>(full());
    terms.first = (terms.first + full() - 1) / full() * full();
  }
  terms.most = std::max(terms.most, terms.first);
  return terms;
}

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
  const double line = static_cast<double>(queues.host_rate.bps);
  rules.rate = settings.spreads() ? line * static_cast<double>(queues.host_links) : line;
  rules.rtt = bandwidth_delay.LongestRoundTrip();
  rules.target = settings.target.value_or(UsualTarget(rules, queues.trims));
  rules.gate = static_cast<int>(settings.qa_gate);
  const int64_t queue = queues.longest.count > 0
                            ? queues.longest.count
                            : static_cast<int64_t>(5 * rules.Bdp(rules.rtt) * line / rules.rate);
  using Fabric = RcccSettings::Fabric;
  shared.adapts_to_fabric =
      settings.has_credit() &&
      (settings.rccc.fabric == Fabric::kOn ||
       (settings.rccc.fabric == Fabric::kAuto && queues.oversubscribed && !rules.has_window()));
  // A queue may be longer than SerializationDelay() can take.
  const double drain = 6 * 8e12 * static_cast<double>(queue) / line;
  const Duration least = settings.preset == UetSettings::Preset::kEqds ? 150_us : 15_us;
  shared.rto = settings.rto.value_or(least + Duration{static_cast<int64_t>(drain)});
  shared.pull_bits = PullBits(settings, shared.sizes);
  shared.sleek = settings.loss == UetSettings::Loss::kSleek ||
                 (settings.loss == UetSettings::Loss::kAuto && !queues.trims);
  return shared;
}

}  // namespace heddle
