// SPDX-License-Identifier: Apache-2.0

#include "measure/packet_meter.h"

#include <utility>

#include "fabric/around_policy.h"

namespace heddle {

// Around the policy of one switch.
class PacketMeter::Stamp final : public AroundSwitchPolicy {
 public:
  Stamp(SwitchPolicyPtr scheme, const Flows& flows, size_t atoms)
      : AroundSwitchPolicy(std::move(scheme)), flows_(flows), atoms_(atoms) {}

  void Attach(SwitchView& view) override {
    payload_.assign(view.ports() * atoms_, 0);
    AroundSwitchPolicy::Attach(view);
  }

  // The instant is taken off here and added again when the packet leaves. Packets that a scheme
  // holds back come to a port when it lets them go.
  void OnEnqueue(SwitchView& view, Packet& packet, PortIndex port) override {
    if (packet.kind == PacketKind::kData) packet.AddWaited(Time{} - view.now());
    AroundSwitchPolicy::OnEnqueue(view, packet, port);
  }

  void OnTransmit(SwitchView& view, Packet& packet, PortIndex port) override {
    if (packet.kind == PacketKind::kData) {
      packet.AddWaited(view.now() - Time{});
      payload_[port * atoms_ + flows_.atom[packet.flow]] += packet.data.payload;
    }
    AroundSwitchPolicy::OnTransmit(view, packet, port);
  }

  const std::vector<int64_t>& payload() const { return payload_; }

 private:
  const Flows& flows_;
  const size_t atoms_;
  std::vector<int64_t> payload_;  // By port, then atom.
};

// What arrives at the hosts of one thread.
class PacketMeter::Arrivals final : public Tap {
 public:
  Arrivals(const Flows& flows, size_t atoms) : flows_(flows), waited_(atoms) {}

  void OnArrival(uint32_t /*point*/, const Packet& packet) override {
    if (packet.kind != PacketKind::kData || !flows_.measured[packet.flow]) return;
    waited_[flows_.atom[packet.flow]].Add(packet.Waited().ps);
  }

  const std::vector<Histogram>& waited() const { return waited_; }

 private:
  const Flows& flows_;
  std::vector<Histogram> waited_;  // By atom.
};

PacketMeter::PacketMeter(Asked asked, const SizeClasses& classes)
    : asked_(asked), classes_(classes) {}

PacketMeter::~PacketMeter() = default;

SwitchPolicyPtr PacketMeter::Around(SwitchPolicyPtr scheme) {
  auto stamp = std::make_unique<Stamp>(std::move(scheme), flows_, classes_.atoms());
  stamps_.push_back(stamp.get());
  return stamp;
}

void PacketMeter::Watch(Network& network) {
  if (!asked_.queueing) return;
  for (int i = 0; i < network.engine().threads(); ++i) {
    taps_.push_back(std::make_unique<Arrivals>(flows_, classes_.atoms()));
  }
  for (size_t h = 0; h < network.hosts(); ++h) {
    Host& host = network.host(h);
    const size_t thread = static_cast<size_t>(network.engine().shard_of(host));
    TappedNode& tapped = hosts_.emplace_back(host, *taps_[thread]);
    for (PortIndex port = 0; port < host.nics(); ++port) tapped.Watch(port, port);
    network.engine().Insert(tapped);
  }
}

void PacketMeter::OnStart(const FlowSpec& spec) {
  flows_.atom.push_back(static_cast<uint16_t>(classes_.AtomOf(spec.size)));
  flows_.measured.push_back(spec.measured);
}

std::vector<int64_t> PacketMeter::PayloadByClass() const {
  std::vector<int64_t> all;
  for (const Stamp* stamp : stamps_) {
    all.insert(all.end(), stamp->payload().begin(), stamp->payload().end());
  }
  return all;
}

std::vector<Histogram> PacketMeter::Queueing() const {
  std::vector<Histogram> all(classes_.atoms());
  for (const std::unique_ptr<Arrivals>& tap : taps_) {
    for (size_t atom = 0; atom < all.size(); ++atom) all[atom].Merge(tap->waited()[atom]);
  }
  return all;
}

}  // namespace heddle
