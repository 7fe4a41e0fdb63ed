// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "settings/quantity.h"
#include "transport/model_parts.h"
#include "transport/transports.h"
#include "transport/uet/uet.h"
#include "transport/uet/uet_settings.h"

namespace heddle {
namespace {

// Ultra Ethernet. Its receivers place packets in any order, so it has no resequencing.
class UetModel final : public WithoutResequencing {
 public:
  void Declare(Fields& fields) override { settings_.Declare(fields); }
  PacketSizes sizes() const override { return settings_.Sizes(); }
  WireFormat wire_format() const override {
    return {.protocol = WireFormat::Protocol::kRoceV2, .sizes = sizes(), .ack_every = 1};
  }
  int64_t max_flow_size() const override { return LargestFlow(sizes()); }
  Classes classes() const override { return ClassesOf(settings_); }
  bool wants_red() const override { return true; }
  bool marks_by_bandwidth_delay() const override { return true; }
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
        PrepareUet(settings_, *bandwidth_delay, close_delay), model());
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
};

[[maybe_unused]] const bool uet_registered = Transports().Add<UetModel>(
    {"uet", "Ultra Ethernet: packets in any order, selective ACKs, NSCC, RCCC.",
     "uet-htsim (Ultra Ethernet Consortium, 2025)"});

}  // namespace
}  // namespace heddle
