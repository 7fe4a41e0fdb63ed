// SPDX-License-Identifier: Apache-2.0

#include <memory>
#include <string>

#include "transport/congestion_controls.h"
#include "transport/model_parts.h"
#include "transport/tcp/tcp.h"
#include "transport/tcp/tcp_model.h"
#include "transport/tcp/tcp_settings.h"
#include "transport/transports.h"

namespace heddle {
namespace {

// TCP with any congestion control. Without `cc` the control is Reno, and its settings stand among
// TCP's.
class TcpModel : public WithResequencing {
 public:
  TcpModel() : TcpModel("reno") {}

  void Declare(Fields& fields) override {
    settings_.Declare(fields, framing_);
    DeclareControl(fields);
    DeclareEcn(fields, settings_, control());
    WithResequencing::Declare(fields);
  }
  PacketSizes sizes() const override { return SizesOf(settings_, *framing_.settings); }
  WireFormat wire_format() const override {
    return WireFormatOf(WireFormat::Protocol::kTcp, settings_, sizes());
  }
  int64_t max_flow_size() const override { return LargestFlow(sizes()); }
  Classes classes() const override { return ClassesOf(settings_); }
  bool is_ecn_capable() const override { return ecn() != TcpSettings::Ecn::kOff; }
  bool echoes_marks() const override { return is_ecn_capable(); }
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

[[maybe_unused]] const bool tcp_registered = Transports().Add<TcpModel>(
    {"tcp", "TCP Reno with SACK or NewReno recovery, with or without ECN.",
     "RFC 5681, 6298, 6582, 6675, 3168"});

[[maybe_unused]] const bool dctcp_registered = Transports().Add<DctcpModel>(
    {"dctcp", "Data Center TCP: the window shrinks with the share of marked packets.",
     "RFC 8257; Alizadeh et al., SIGCOMM 2010"});

}  // namespace
}  // namespace heddle
