// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "settings/quantity.h"
#include "transport/congestion_controls.h"
#include "transport/model_parts.h"
#include "transport/rdma/roce.h"
#include "transport/rdma/roce_settings.h"
#include "transport/transports.h"

namespace heddle {
namespace {

// Bytes of in-band telemetry: five hops of 8 bytes each, and 2 more (Li et al., SIGCOMM 2019).
constexpr int64_t kTelemetryHeader = 42;

// RETH, which every packet carries if receivers place it out of order.
constexpr int64_t kAddressHeader = 16;

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
  Classes classes() const override { return ClassesOf(settings_); }
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

[[maybe_unused]] const bool roce_registered = Transports().Add<RoceModel>(
    {"rocev2", "RDMA over UDP: paced queue pairs, go-back-N or IRN, DCQCN and others.",
     "InfiniBand Architecture vol. 1; Mittal et al., SIGCOMM 2018"});

}  // namespace
}  // namespace heddle
