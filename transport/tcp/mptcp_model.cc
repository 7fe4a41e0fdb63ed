// SPDX-License-Identifier: Apache-2.0

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "settings/quantity.h"
#include "transport/congestion_controls.h"
#include "transport/model_parts.h"
#include "transport/tcp/mptcp.h"
#include "transport/tcp/mptcp_settings.h"
#include "transport/tcp/tcp_model.h"
#include "transport/transports.h"

namespace heddle {
namespace {

// MPTCP. Its subflows are TCPs; without `cc` they are coupled by LIA.
class MptcpModel : public WithoutResequencing {
 public:
  MptcpModel() = default;

  void Declare(Fields& fields) override {
    DeclareConnection(fields, mptcp_);
    tcp_.DeclareSubflow(fields, framing_);
    fields.Kind("cc", control_, CongestionControls().subflows(),
                "Congestion control. lia and olia couple the subflows; others run on each alone.");
    DeclareEcn(fields, tcp_, *control_.settings);
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
  bool is_ecn_capable() const override { return ecn() != TcpSettings::Ecn::kOff; }
  bool echoes_marks() const override { return is_ecn_capable(); }
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
        MptcpShared(mptcp_, std::move(subflows), std::move(spray)), model());
  }
  const TcpSettings& tcp() const { return tcp_; }
  TcpSettings::Ecn ecn() const { return control_.settings->own_ecn().value_or(tcp_.ecn); }

 private:
  MptcpSettings mptcp_;
  TcpSettings tcp_;
  Chosen<TcpFraming> framing_ = TcpFramings().Make("eth");
  Chosen<WindowControlModel> control_ = CongestionControls().subflows().Make("lia");
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

[[maybe_unused]] const bool mptcp_registered = Transports().Add<MptcpModel>(
    {"mptcp", "Multipath TCP: a flow is sent by several TCPs, with coupled windows.",
     "RFC 8684, 6356; Raiciu et al., SIGCOMM 2011"});

[[maybe_unused]] const bool mmptcp_registered = Transports().Add<MmptcpModel>(
    {"mmptcp", "MMPTCP: sprays a flow's first packets, then opens MPTCP's subflows.",
     "Kheirkhah et al., INFOCOM 2016"});

}  // namespace
}  // namespace heddle
