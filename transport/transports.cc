// SPDX-License-Identifier: Apache-2.0

#include "transport/transports.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "fabric/host.h"
#include "settings/quantity.h"
#include "transport/congestion_controls.h"
#include "transport/rdma/mprdma.h"
#include "transport/rdma/mprdma_settings.h"
#include "transport/rdma/roce.h"
#include "transport/rdma/roce_settings.h"
#include "transport/resequencing/resequencing.h"
#include "transport/tcp/mptcp.h"
#include "transport/tcp/mptcp_settings.h"
#include "transport/tcp/tcp.h"
#include "transport/tcp/tcp_settings.h"
#include "transport/uet/uet.h"
#include "transport/uet/uet_settings.h"

namespace heddle {
namespace {

// `Flows` holds the flows of one host, `Shared` the values that all hosts share.
template <class Flows, class Shared>
class Maker final : public TransportMaker {
 public:
  Maker(Shared shared, const ResequencingModel& resequencing)
      : shared_(std::move(shared)), resequencing_(resequencing) {}

  std::unique_ptr<Transport> MakeFor(Host& host) const override {
    return std::make_unique<Flows>(host, shared_, resequencing_);
  }

 private:
  Shared shared_;
  const ResequencingModel& resequencing_;
};

void DeclareNoCredit(Fields& fields) {
  fields.Absent("receiver", "kind: uet alone has credit from receivers; use that, or leave it out");
}

// The choice of resequencing, which both transports have.
class WithResequencing : public TransportModel {
 public:
  void Declare(Fields& fields) override {
    fields.Kind("resequencing", chosen_, Resequencings(),
                "How a receiving host puts packets in order before the transport sees them.");
    DeclareNoCredit(fields);
  }
  const std::string& resequencing() const override { return chosen_.kind; }
  std::string RemedyForReordering() const override {
    if (resequencing() != "off") return "raise the timeouts of transport.resequencing";
    const std::string own = OwnRemedyForReordering();
    return "set transport.resequencing" + (own.empty() ? "" : ", or " + own);
  }

 protected:
  const ResequencingModel& model() const { return *chosen_.settings; }

  // Names the settings other than resequencing that help against reordering; empty if none does.
  virtual std::string OwnRemedyForReordering() const = 0;

 private:
  Chosen<ResequencingModel> chosen_ = Resequencings().Make("off");
};

// Bytes of in-band telemetry: five hops of 8 bytes each, and 2 more (Li et al., SIGCOMM 2019).
constexpr int64_t kTelemetryHeader = 42;

// RETH, which every packet carries if receivers place it out of order.
constexpr int64_t kAddressHeader = 16;

// Packets are numbered in 32 bits.
int64_t LargestFlow(const PacketSizes& sizes) {
  return sizes.mss * (std::numeric_limits<uint32_t>::max() - 1);
}

// TCP and MPTCP describe their packets and their classes by these two functions.
WireFormat WireFormatOf(WireFormat::Protocol protocol, const TcpSettings& settings,
                        const PacketSizes& sizes) {
  return {.protocol = protocol,
          .sizes = sizes,
          .timestamps = settings.timestamps,
          .sack = settings.recovery == TcpSettings::Recovery::kSack};
}
TransportModel::Classes ClassesOf(const TcpSettings& settings) {
  return {static_cast<uint8_t>(settings.priority),
          static_cast<uint8_t>(settings.control_priority.value_or(settings.priority))};
}

// TCP with any congestion control. Without `cc` the control is Reno, and its settings stand among
// TCP's.
class TcpModel : public WithResequencing {
 public:
  TcpModel() : TcpModel("reno") {}

  void Declare(Fields& fields) override {
    settings_.Declare(fields, framing_);
    DeclareControl(fields);
    if (control().own_ecn()) {
      fields.Absent("ecn", "this congestion control brings its own ECN; leave it out");
    } else {
      settings_.DeclareEcn(fields);
    }
    control().Check(settings_, fields);
    WithResequencing::Declare(fields);
  }
  PacketSizes sizes() const override { return SizesOf(settings_, *framing_.settings); }
  WireFormat wire_format() const override {
    return WireFormatOf(WireFormat::Protocol::kTcp, settings_, sizes());
  }
  int64_t max_flow_size() const override { return LargestFlow(sizes()); }
  Classes classes() const override { return ClassesOf(settings_); }
  bool echoes_marks() const override { return ecn() != TcpSettings::Ecn::kOff; }
  std::string congestion_control() const override {
    return chosen_.settings ? chosen_.kind : usual_.kind;
  }
  std::unique_ptr<TransportMaker> Prepare(
      Duration close_delay, const BandwidthDelay* /*bandwidth_delay*/) const override {
    return std::make_unique<Maker<Tcp, TcpShared>>(
        TcpShared(settings_, ecn(), sizes(), control().Prepare(settings_), close_delay), model());
  }

 protected:
  explicit TcpModel(const std::string& usual)
      : usual_(CongestionControls().windows().Make(usual)) {}

  virtual void DeclareControl(Fields& fields) {
    fields.Kind("cc", chosen_, CongestionControls().windows(),
                "Congestion control. Not set: reno, with its `variant` beside this.");
    if (!chosen_.settings) DeclareUsual(fields);
  }
  void DeclareUsual(Fields& fields) { usual_.settings->Declare(fields); }
  std::string OwnRemedyForReordering() const override {
    if (settings_.loss == TcpSettings::Loss::kRack) return "";
    return "raise transport.dupthresh";
  }

 private:
  const WindowControlModel& control() const {
    return chosen_.settings ? *chosen_.settings : *usual_.settings;
  }
  TcpSettings::Ecn ecn() const { return control().own_ecn().value_or(settings_.ecn); }

  TcpSettings settings_;
  Chosen<TcpFraming> framing_ = TcpFramings().Make("eth");
  const Chosen<WindowControlModel> usual_;
  Chosen<WindowControlModel> chosen_;  // Empty without `cc`.
};

// `dctcp` is short for TCP with cc: dctcp. DCTCP's settings stand among TCP's.
class DctcpModel final : public TcpModel {
 public:
  DctcpModel() : TcpModel("dctcp") {}

 private:
  void DeclareControl(Fields& fields) override {
    fields.Absent("cc",
                  "kind: dctcp is short for {kind: tcp, cc: dctcp}; write kind: tcp to choose "
                  "another congestion control");
    DeclareUsual(fields);
  }
};

// MPTCP. Its subflows are TCPs; without `cc` they are coupled by LIA.
class MptcpModel : public TransportModel {
 public:
  MptcpModel() = default;

  void Declare(Fields& fields) override {
    DeclareConnection(fields, mptcp_);
    tcp_.DeclareSubflow(fields, framing_);
    fields.Kind("cc", control_, CongestionControls().subflows(),
                "Congestion control. lia and olia couple the subflows; others run on each alone.");
    if (control_.settings->own_ecn()) {
      fields.Absent("ecn", "this congestion control brings its own ECN; leave it out");
    } else {
      tcp_.DeclareEcn(fields);
    }
    control_.settings->Check(tcp_, fields);
    DeclareNoCredit(fields);
    fields.Absent("resequencing",
                  "mptcp has none: each subflow keeps its path under a load balancer that keeps "
                  "flows on theirs; use kind: tcp to put packets in order below the transport");
  }
  PacketSizes sizes() const override { return MptcpSizesOf(tcp_, *framing_.settings); }
  WireFormat wire_format() const override {
    return WireFormatOf(WireFormat::Protocol::kMptcp, tcp_, sizes());
  }
  int64_t max_flow_size() const override { return LargestFlow(sizes()); }
  Classes classes() const override { return ClassesOf(tcp_); }
  bool echoes_marks() const override { return ecn() != TcpSettings::Ecn::kOff; }
  const std::string& resequencing() const override { return resequencing_.kind; }
  std::string RemedyForReordering() const override {
    if (tcp_.loss == TcpSettings::Loss::kRack) return "use a load balancer that keeps the order";
    return "raise transport.dupthresh, or set transport.loss: rack";
  }
  std::string congestion_control() const override { return control_.kind; }
  bool has_subflows() const override { return true; }
  std::optional<Cargo> cargo_in_place_of_waiting() const override {
    return Cargo{"their data's number", "transport: tcp"};
  }
  std::unique_ptr<TransportMaker> Prepare(
      Duration close_delay, const BandwidthDelay* /*bandwidth_delay*/) const override {
    return PrepareWith(close_delay, nullptr);
  }

 protected:
  explicit MptcpModel(MptcpSettings::Scheduler usual) { mptcp_.scheduler = usual; }

  virtual void DeclareConnection(Fields& fields, MptcpSettings& mptcp) {
    mptcp.Declare(fields);
    fields.Require(mptcp.setup == MptcpSettings::Setup::kInstant || mptcp.subflows > 1, "setup",
                   "join needs several subflows; one subflow with a handshake is kind: tcp with "
                   "setup: handshake");
    fields.Require(mptcp.scheduler == MptcpSettings::Scheduler::kPull || mptcp.subflows > 1,
                   "scheduler", "chooses among several subflows; leave it out with subflows: 1");
  }
  std::unique_ptr<TransportMaker> PrepareWith(Duration close_delay,
                                              std::unique_ptr<SprayShared> spray) const {
    TcpShared subflows(tcp_, ecn(), sizes(), control_.settings->Prepare(tcp_), close_delay);
    return std::make_unique<Maker<Mptcp, MptcpShared>>(
        MptcpShared(mptcp_, std::move(subflows), std::move(spray)), *resequencing_.settings);
  }
  const TcpSettings& tcp() const { return tcp_; }
  TcpSettings::Ecn ecn() const { return control_.settings->own_ecn().value_or(tcp_.ecn); }

 private:
  MptcpSettings mptcp_;
  TcpSettings tcp_;
  Chosen<TcpFraming> framing_ = TcpFramings().Make("eth");
  Chosen<WindowControlModel> control_ = CongestionControls().subflows().Make("lia");
  const Chosen<ResequencingModel> resequencing_ = Resequencings().Make("off");
};

// MMPTCP. Its first subflow is a TCP with NewReno, whatever the others are; where they use ECN, it
// answers marks as RFC 3168 says.
class MmptcpModel final : public MptcpModel {
 public:
  MmptcpModel() : MptcpModel(MptcpSettings::Scheduler::kRoundRobin) {}

  WireFormat wire_format() const override {
    WireFormat format = MptcpModel::wire_format();
    format.varies_ports = true;
    return format;
  }
  std::string RemedyForReordering() const override { return "raise transport.extra_dupacks"; }
  bool needs_bandwidth_delay() const override { return true; }
  bool counts_paths() const override { return true; }
  AutoValues ValuesOfAuto(BitRate /*nic*/, const BandwidthDelay* network) const override {
    if (spray_.extra_dupacks) return {};
    const uint32_t paths = network->MostPaths();
    return {{"largest_extra_dupacks", FormatQuantity(int64_t{paths > 1 ? paths : 0})}};
  }
  std::unique_ptr<TransportMaker> Prepare(Duration close_delay,
                                          const BandwidthDelay* network) const override {
    const TcpSettings first = SprayPhase::FirstOf(tcp());
    const auto reno = CongestionControls().subflows().Make("reno");
    const auto echo = ecn() == TcpSettings::Ecn::kOff ? ecn() : TcpSettings::Ecn::kRfc3168;
    return PrepareWith(
        close_delay,
        std::make_unique<SprayShared>(SprayShared{
            spray_, TcpShared(first, echo, sizes(), reno.settings->Prepare(first), close_delay),
            network}));
  }

 protected:
  void DeclareConnection(Fields& fields, MptcpSettings& mptcp) override {
    spray_.Declare(fields);
    mptcp.DeclareAfterSpraying(fields);
    fields.Require(mptcp.scheduler != MptcpSettings::Scheduler::kRedundant, "scheduler",
                   "redundant sends all data on every subflow, but the first one sends alone; use "
                   "kind: mptcp, or another scheduler");
  }

 private:
  SprayPhase spray_;
};

class RoceModel final : public WithResequencing {
 public:
  void Declare(Fields& fields) override {
    settings_.Declare(fields, framing_);
    fields.Kind("cc", control_, CongestionControls().rates(), "Congestion control.");
    WithResequencing::Declare(fields);
  }
  PacketSizes sizes() const override {
    PacketSizes sizes = SizesOf(settings_, *framing_.settings);
    if (wants_telemetry()) sizes.data_overhead += kTelemetryHeader;
    if (settings_.is_ddp()) sizes.data_overhead += kAddressHeader;
    return sizes;
  }
  WireFormat wire_format() const override {
    return {.protocol = WireFormat::Protocol::kRoceV2,
            .sizes = sizes(),
            .ack_every = settings_.is_irn() ? 1 : settings_.ack_interval};
  }
  int64_t max_flow_size() const override { return LargestFlow(sizes()); }
  Classes classes() const override {
    return {static_cast<uint8_t>(settings_.priority),
            static_cast<uint8_t>(settings_.control_priority)};
  }
  bool wants_red() const override { return control_.settings->wants_red(); }
  bool wants_telemetry() const override { return control_.settings->wants_telemetry(); }
  bool limits_rates() const override { return true; }
  bool can_trim() const override { return true; }
  bool needs_order() const override { return !settings_.is_selective() && resequencing() == "off"; }
  std::string congestion_control() const override { return control_.kind; }
  bool needs_bandwidth_delay() const override {
    return (settings_.uses_bdp() && !settings_.bdp) || settings_.is_ddp() ||
           control_.settings->base_rtt() != BaseRtt::kNone;
  }
  std::unique_ptr<TransportMaker> Prepare(Duration close_delay,
                                          const BandwidthDelay* bandwidth_delay) const override {
    std::unique_ptr<const RateControl> control = control_.settings->Prepare();
    const CnpRule cnps = control->cnp_rule();
    RoceShared shared{
        settings_,         sizes(),         std::move(control), cnps, control_.settings->base_rtt(),
        wants_telemetry(), bandwidth_delay, close_delay};
    if (settings_.is_ddp()) {
      shared.ddp_rto = DdpRto(*bandwidth_delay);
      shared.ddp_window = DdpWindow(*bandwidth_delay);
    }
    return std::make_unique<Maker<Roce, RoceShared>>(std::move(shared), model());
  }
  AutoValues ValuesOfAuto(BitRate nic, const BandwidthDelay* bandwidth_delay) const override;

 protected:
  std::string OwnRemedyForReordering() const override {
    if (settings_.is_ddp()) return "transport.ddp_loss: timeout";
    if (settings_.is_sr()) return "transport.recovery: ddp";
    return settings_.is_irn() ? "raise transport.nack_threshold" : "transport.recovery: irn";
  }

 private:
  Duration DdpRto(const BandwidthDelay& network) const {
    return settings_.ddp_rto.value_or(std::max(3 * network.LongestRoundTrip(), 320_us));
  }
  static constexpr int64_t kMostDdpPackets = 1 << 14;  // Their number has 14 bits in ACKs.

  Bytes DdpWindowBytes(const BandwidthDelay& network) const {
    const int64_t most = kMostDdpPackets * sizes().mss;
    return settings_.ddp_window.value_or(Bytes{std::min(2 * network.Largest().count, most)});
  }
  uint32_t DdpWindow(const BandwidthDelay& network) const {  // In packets.
    const int64_t bytes = DdpWindowBytes(network).count;
    const int64_t mss = sizes().mss;
    return static_cast<uint32_t>(std::clamp<int64_t>((bytes + mss - 1) / mss, 1, kMostDdpPackets));
  }

  RoceSettings settings_;
  Chosen<RoceFraming> framing_ = RoceFramings().Make("rocev2");
  Chosen<RateControlModel> control_ = CongestionControls().rates().Make("dcqcn");
};

// Starts a queue pair as RoceSender does, and asks its congestion control.
AutoValues RoceModel::ValuesOfAuto(BitRate nic, const BandwidthDelay* bandwidth_delay) const {
  AutoValues values;
  const PacketSizes packets = sizes();
  if (!settings_.mtu) values.emplace_back("mtu", FormatQuantity(packets.mss));
  if (settings_.uses_bdp() && !settings_.bdp) {
    const bool is_for_all = settings_.bdp_scope == RoceSettings::Scope::kMax;
    values.emplace_back(is_for_all ? "bdp" : "largest_bdp",
                        FormatQuantity(bandwidth_delay->Largest()));
  }
  if (settings_.is_ddp() && !settings_.ddp_rto) {
    values.emplace_back("ddp_rto", FormatQuantity(DdpRto(*bandwidth_delay)));
  }
  if (settings_.is_ddp() && !settings_.ddp_window) {
    values.emplace_back("ddp_window", FormatQuantity(DdpWindowBytes(*bandwidth_delay)));
  }
  RateState state;
  state.line = state.rate = static_cast<double>(settings_.line_rate.value_or(nic).bps);
  state.packet_bits =
      static_cast<double>(8 * (packets.DataPacket(packets.mss) + packets.wire_overhead));
  if (control_.settings->base_rtt() != BaseRtt::kNone) {
    state.base_rtt = bandwidth_delay->LongestRoundTrip();
  }
  const std::unique_ptr<const RateControl> control = control_.settings->Prepare();
  control->Start(state);
  for (auto& [name, value] : control->ValuesOfAuto(state)) {
    values.emplace_back("cc." + name, std::move(value));
  }
  return values;
}

// Ultra Ethernet. Its receivers place packets in any order, so it has no resequencing.
class UetModel final : public TransportModel {
 public:
  void Declare(Fields& fields) override { settings_.Declare(fields); }
  PacketSizes sizes() const override { return settings_.Sizes(); }
  WireFormat wire_format() const override {
    return {.protocol = WireFormat::Protocol::kRoceV2, .sizes = sizes(), .ack_every = 1};
  }
  int64_t max_flow_size() const override { return LargestFlow(sizes()); }
  Classes classes() const override {
    return {static_cast<uint8_t>(settings_.priority),
            static_cast<uint8_t>(settings_.control_priority)};
  }
  bool wants_red() const override { return true; }
  bool echoes_marks() const override { return true; }
  bool can_trim() const override { return settings_.can_trim(); }
  // NDP's queues hold 15 packets in csg-htsim.
  std::optional<Switches> expected_switches() const override {
    constexpr int64_t kPackets = 15;
    const PacketSizes packets = sizes();
    const Bytes queue{kPackets * packets.DataPacket(packets.mss)};
    if (settings_.preset == UetSettings::Preset::kEqds) return Switches{"eqds", false, {}};
    if (settings_.preset == UetSettings::Preset::kNdp) return Switches{"ndp", true, queue};
    return std::nullopt;
  }
  bool needs_bandwidth_delay() const override { return true; }
  bool spreads() const override { return settings_.spreads(); }
  bool needs_planes() const override { return settings_.spreads(); }
  const std::string& resequencing() const override { return resequencing_.kind; }
  std::string RemedyForReordering() const override { return "raise transport.ack_bytes"; }
  std::string congestion_control() const override {
    static constexpr const char* kNames[] = {"nscc",     "dctcp_ack", "mprdma_ack",
                                             "constant", "smartt",    "none"};
    return kNames[static_cast<size_t>(settings_.cc)];
  }
  bool wants_marks_at_last_hop() const override { return !settings_.has_credit(); }
  std::optional<Cargo> cargo_in_place_of_waiting() const override {
    if (!settings_.has_wishes()) return std::nullopt;
    return Cargo{"the credit that their sender would like", "transport.receiver: none"};
  }
  AutoValues ValuesOfAuto(BitRate nic, const BandwidthDelay* bandwidth_delay) const override {
    const UetShared shared = PrepareUet(settings_, *bandwidth_delay, Duration{0});
    AutoValues values;
    if (!settings_.rto) values.emplace_back("rto", FormatQuantity(shared.rto));
    if (!settings_.target) values.emplace_back("target", FormatQuantity(shared.rules.target));
    if (!settings_.window && shared.rules.has_window()) {
      const int64_t window = std::llround(shared.greatest_window());
      values.emplace_back("window", FormatQuantity(Bytes{window}));
    }
    if (settings_.loss == UetSettings::Loss::kAuto) {
      values.emplace_back("loss", shared.sleek ? "sleek" : "timeout");
    }
    if (settings_.has_credit() && settings_.rccc.fabric == RcccSettings::Fabric::kAuto) {
      values.emplace_back("rccc.fabric", shared.adapts_to_fabric ? "on" : "off");
    }
    if (settings_.has_credit()) AddCreditValues(nic, shared, values);
    return values;
  }
  std::unique_ptr<TransportMaker> Prepare(Duration close_delay,
                                          const BandwidthDelay* bandwidth_delay) const override {
    return std::make_unique<Maker<Uet, UetShared>>(
        PrepareUet(settings_, *bandwidth_delay, close_delay), *resequencing_.settings);
  }

 private:
  // The interval is that behind a pull that grants as much as one may.
  void AddCreditValues(BitRate nic, const UetShared& shared, AutoValues& values) const {
    if (!settings_.rccc.interval) {
      values.emplace_back("rccc.interval",
                          FormatQuantity(shared.PullInterval(settings_.rccc.pull,
                                                             static_cast<double>(nic.bps), 1)));
    }
    if (!settings_.rccc.first_window) {
      const int64_t first = shared.CreditFor(shared.rules.rtt).first;
      values.emplace_back("rccc.first_window",
                          FormatQuantity((first + shared.full() - 1) / shared.full()));
    }
  }

  UetSettings settings_;
  const Chosen<ResequencingModel> resequencing_ = Resequencings().Make("off");
};

// MP-RDMA. Its receivers place packets in any order, so it has no resequencing.
class MpRdmaModel final : public TransportModel {
 public:
  void Declare(Fields& fields) override {
    settings_.Declare(fields, framing_);
    DeclareNoCredit(fields);
  }
  PacketSizes sizes() const override { return settings_.Sizes(*framing_.settings); }
  WireFormat wire_format() const override {
    return {.protocol = WireFormat::Protocol::kRoceV2, .sizes = sizes(), .ack_every = 1};
  }
  int64_t max_flow_size() const override { return LargestFlow(sizes()); }
  Classes classes() const override {
    return {static_cast<uint8_t>(settings_.priority),
            static_cast<uint8_t>(settings_.control_priority)};
  }
  bool echoes_marks() const override { return true; }
  bool needs_bandwidth_delay() const override { return true; }
  const std::string& resequencing() const override { return resequencing_.kind; }
  std::string RemedyForReordering() const override { return "raise transport.rto"; }
  std::string congestion_control() const override { return "mprdma"; }
  AutoValues ValuesOfAuto(BitRate /*nic*/, const BandwidthDelay* bandwidth_delay) const override {
    const MpRdmaShared shared = PrepareMpRdma(settings_, sizes(), *bandwidth_delay, Duration{0});
    AutoValues values;
    if (!settings_.mtu) values.emplace_back("mtu", FormatQuantity(shared.sizes.mss));
    if (!settings_.rto) values.emplace_back("rto", FormatQuantity(shared.rto));
    if (!settings_.first_window) {
      const int64_t mss = shared.sizes.mss;
      values.emplace_back("largest_first_window",
                          FormatQuantity((bandwidth_delay->Largest().count + mss - 1) / mss));
    }
    return values;
  }
  std::unique_ptr<TransportMaker> Prepare(Duration close_delay,
                                          const BandwidthDelay* bandwidth_delay) const override {
    return std::make_unique<Maker<MpRdma, MpRdmaShared>>(
        PrepareMpRdma(settings_, sizes(), *bandwidth_delay, close_delay), *resequencing_.settings);
  }

 private:
  MpRdmaSettings settings_;
  Chosen<RoceFraming> framing_ = RoceFramings().Make("rocev2");
  const Chosen<ResequencingModel> resequencing_ = Resequencings().Make("off");
};

}  // namespace

const Kinds<TransportModel>& Transports() {
  static const Kinds<TransportModel> kinds = [] {
    Kinds<TransportModel> all("transport");
    all.Add<DctcpModel>({"dctcp",
                         "Data Center TCP: the window shrinks with the share of marked packets.",
                         "RFC 8257; Alizadeh et al., SIGCOMM 2010"});
    all.Add<MmptcpModel>({"mmptcp",
                          "MMPTCP: sprays a flow's first packets, then opens MPTCP's subflows.",
                          "Kheirkhah et al., INFOCOM 2016"});
    all.Add<MpRdmaModel>({"mprdma",
                          "MP-RDMA: a queue pair over many paths, which ACKs keep in balance.",
                          "Lu et al., NSDI 2018"});
    all.Add<MptcpModel>({"mptcp",
                         "Multipath TCP: a flow is sent by several TCPs, with coupled windows.",
                         "RFC 8684, 6356; Raiciu et al., SIGCOMM 2011"});
    all.Add<RoceModel>({"rocev2",
                        "RDMA over UDP: paced queue pairs, go-back-N or IRN, DCQCN and others.",
                        "InfiniBand Architecture vol. 1; Mittal et al., SIGCOMM 2018"});
    all.Add<TcpModel>({"tcp", "TCP Reno with SACK or NewReno recovery, with or without ECN.",
                       "RFC 5681, 6298, 6582, 6675, 3168"});
    all.Add<UetModel>({"uet", "Ultra Ethernet: packets in any order, selective ACKs, NSCC, RCCC.",
                       "uet-htsim (Ultra Ethernet Consortium, 2025)"});
    return all;
  }();
  return kinds;
}

}  // namespace heddle
