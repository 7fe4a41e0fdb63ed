// SPDX-License-Identifier: Apache-2.0
// HULA (Katta et al., SOSR 2016). Every switch knows one best next hop for each leaf: the one whose
// path has the least utilisation, according to probes from that leaf. A probe travels up and down
// against the direction of data, and each switch raises its value to the utilisation of the link
// that data would take. A switch sends its best value on to the others, and new flowlets take the
// best next hop.
//
// The paper leaves two questions open. Here a next hop without a probe for `fail_after` gives way
// to any other, and flows are hashed until the first probe has come. A switch passes on only probes
// that update its best next hop.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/random.h"
#include "fabric/ecmp_hash.h"
#include "lb/parts/flowlets.h"
#include "lb/parts/load_balancer.h"

namespace heddle {
namespace {

struct HulaSettings {
  Duration probe_every = 200_us;
  std::optional<Duration> tau;
  std::optional<Duration> fail_after;
  FlowletSettings flowlets{.gap = 100_us};
};

struct HulaProbe {
  uint16_t leaf;        // torID: the leaf that sent it.
  uint8_t utilisation;  // minUtil: the bottleneck's on the way to that leaf; 255: all of a link.
};

// A link's utilisation estimator. It decays linearly between packets, as in hardware without
// multipliers: the paper's U = D + U (1 - dt / tau). It tends to rate x tau.
class LinkUse {
 public:
  void Add(double bytes, Time now, Duration tau) {
    bytes_ = Read(now, tau) + bytes;
    at_ = now;
  }
  double Read(Time now, Duration tau) const {
    const Duration silence = now - at_;
    return silence >= tau
               ? 0
               : bytes_ * (1 - static_cast<double>(silence.ps) / static_cast<double>(tau.ps));
  }

 private:
  double bytes_ = 0;
  Time at_;
};

class Hula final : public SwitchPolicy {
 public:
  Hula(const HulaSettings& settings, int tiers, uint64_t salt, Rng rng)
      : probe_every_(settings.probe_every),
        tau_(settings.tau.value_or(2 * settings.probe_every)),
        fail_after_(settings.fail_after.value_or(3 * settings.probe_every)),
        probe_hops_(2 * (tiers - 1)),
        salt_(salt),
        rng_(rng),
        flowlets_(settings.flowlets) {}

  Packets asked_about() const override { return Packets::kEvery; }

  void Attach(SwitchView& view) override {
    use_.resize(view.ports());
    best_.resize(view.leaves());
    if (view.tier() > 0 || view.Uplinks().empty()) return;
    for (size_t h = view.hosts(); h-- > 0;) {
      if (view.IsAttached(static_cast<HostId>(h))) own_ = static_cast<HostId>(h);
    }
    if (!own_) return;
    // A random phase, so that leaves do not probe at once.
    const double phase = rng_.Uniform() * static_cast<double>(probe_every_.ps);
    view.SetTimer(view.now() + Duration{static_cast<int64_t>(phase)}, 0);
  }

  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex in_port,
                    const Candidates& candidates) override {
    if (packet.kind == PacketKind::kControl) {
      OnProbe(view, packet, in_port);
      return Decision::Consume();
    }
    if (!candidates.matters()) return Decision::Forward(candidates.ports.front());
    return Decision::Forward(PortFor(view, packet, candidates));
  }

  void OnTransmit(SwitchView& view, Packet& packet, PortIndex port) override {
    use_[port].Add(static_cast<double>(view.WireBytes(packet).count), view.now(), tau_);
  }

  void OnTimer(SwitchView& view, uint32_t /*id*/) override {
    const HulaProbe nothing_yet{view.LeafOf(*own_), 0};
    for (const PortIndex port : view.Uplinks()) Send(view, ProbeFrom(*own_), nothing_yet, port);
    view.SetTimer(view.now() + probe_every_, 0);
  }

  size_t StateBytes() const override {
    return flowlets_.memory_bytes() + best_.size() * sizeof(Best) + use_.size() * sizeof(LinkUse);
  }
  std::vector<Counter> Counters() const override {
    return {{"flowlets", flowlet_count_},
            {"reroutes", reroutes_},
            {"probes", probes_},
            {"probe_bytes", probes_ * kControlPacketBytes},
            {"table_entries", flowlets_.used()}};
  }

 private:
  // The best next hop towards one leaf.
  struct Best {
    PortIndex port = kNoPort;
    uint8_t utilisation = 0;
    Time at{-kNever.ps};
  };

  PortIndex PortFor(const SwitchView& view, const Packet& packet, const Candidates& candidates) {
    Flowlets::Slot& slot = flowlets_.Of(packet);
    const bool has_ended = flowlets_.HasEnded(slot, view.now());
    if (has_ended || !candidates.Has(slot.port)) {
      const PortIndex before = slot.port;
      slot.port = NextHop(view, packet, candidates);
      ++flowlet_count_;
      reroutes_ += before != kNoPort && before != slot.port ? 1 : 0;
    }
    slot.last = view.now();
    return slot.port;
  }

  PortIndex NextHop(const SwitchView& view, const Packet& packet,
                    const Candidates& candidates) const {
    const PortIndex best = best_[view.LeafOf(packet.dst)].port;
    if (candidates.Has(best)) return best;
    return EcmpPort(packet, salt_, candidates.ports);
  }

  // --- Probes ---

  void OnProbe(SwitchView& view, const Packet& packet, PortIndex in_port) {
    HulaProbe probe = packet.Scheme<HulaProbe>();
    // Data for that leaf leaves through `in_port`.
    probe.utilisation = std::max(probe.utilisation, UtilisationOf(view, in_port));
    Best& best = best_[probe.leaf];
    const bool is_news = probe.utilisation < best.utilisation || in_port == best.port ||
                         view.now() - best.at > fail_after_;
    if (!is_news) return;
    best = {in_port, probe.utilisation, view.now()};
    PassOn(view, packet, probe, in_port);
  }

  // Copies a probe from below to all other ports, and one from above to all ports below. Leaves
  // copy none.
  void PassOn(SwitchView& view, const Packet& packet, const HulaProbe& probe, PortIndex in_port) {
    if (view.tier() == 0 || packet.hops >= probe_hops_) return;
    const std::span<const PortIndex> uplinks = view.Uplinks();
    const bool from_above = IsAmong(uplinks, in_port);
    for (size_t p = 0; p < view.ports(); ++p) {
      const PortIndex port = static_cast<PortIndex>(p);
      if (port == in_port || view.FacesHost(port)) continue;
      if (from_above && IsAmong(uplinks, port)) continue;
      Send(view, packet, probe, port);
    }
  }

  // The destination does not matter: switches look only at the source.
  static Packet ProbeFrom(HostId host) {
    Packet packet;
    packet.kind = PacketKind::kControl;
    packet.bytes = kControlPacketBytes;
    packet.src = host;
    packet.dst = host;
    return packet;
  }

  void Send(SwitchView& view, Packet packet, const HulaProbe& probe, PortIndex port) {
    packet.SetScheme(probe);
    view.SendControl(packet, port);
    ++probes_;
  }

  uint8_t UtilisationOf(const SwitchView& view, PortIndex port) const {
    const double full = static_cast<double>(view.Rate(port).bps) / 8 * Seconds(tau_);
    return static_cast<uint8_t>(std::min(255.0, 255 * use_[port].Read(view.now(), tau_) / full));
  }

  const Duration probe_every_;
  const Duration tau_;
  const Duration fail_after_;
  const int probe_hops_;  // Hops from one leaf to another.
  const uint64_t salt_;
  Rng rng_;
  std::vector<LinkUse> use_;   // By port.
  std::vector<Best> best_;     // By leaf.
  std::optional<HostId> own_;  // A host of this leaf; nothing: it sends no probes.
  Flowlets flowlets_;
  int64_t flowlet_count_ = 0;
  int64_t reroutes_ = 0;
  int64_t probes_ = 0;
};

class HulaBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& fields) override {
    fields.Add("probe_every", settings_.probe_every, {.at_least = 1_us, .at_most = 10_s},
               "Time between two probes of a leaf (T_p); longer than a round trip.");
    fields.AddOr("auto", "tau", settings_.tau, {.at_least = 1_ns, .at_most = 10_s},
                 "Time constant of the estimators of utilisation. auto: twice probe_every.");
    fields.AddOr("auto", "fail_after", settings_.fail_after, {.at_least = 1_ns, .at_most = 1000_s},
                 "Any other next hop replaces a best next hop that no probe has confirmed for "
                 "longer than this. auto: three times probe_every.");
    settings_.flowlets.Declare(fields);
  }

  void Prepare(const FabricShape& fabric, std::string_view /*path*/,
               Diagnostics& /*diagnostics*/) override {
    tiers_ = fabric.tiers;
  }

  std::optional<Duration> flowlet_gap() const override { return settings_.flowlets.gap; }

  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const override {
    return std::make_unique<Hula>(settings_, tiers_, EcmpSalt(id, seed),
                                  Rng::Stream(seed, "hula", id));
  }

 private:
  HulaSettings settings_;
  int tiers_ = FabricShape{}.tiers;
};

[[maybe_unused]] const bool registered =
    LoadBalancers().Add<HulaBalancer>({"hula",
                                       "Each flowlet takes the next hop whose path has the least "
                                       "utilisation; probes from the destination measure it.",
                                       "Katta et al., SOSR 2016"});

}  // namespace
}  // namespace heddle
