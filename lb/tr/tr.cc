// SPDX-License-Identifier: Apache-2.0
// TR, traffic-aware rerouting (Zhang et al., J. Cloud Computing 10:37, 2021). For each packet of a
// flow that begins at it, a leaf predicts its arrival at the destination's leaf over each uplink.
// It excludes uplinks over which the packet would overtake the previous one. Among the rest a short
// flow takes the earliest, and a long flow the uplink with the fewest short flows. ACKs that pass a
// spine carry the length of its queue, in a few bits.
//
// The paper is silent or could not work in places; our answers:
// - A leaf stores a spine's queue for each destination leaf, as a spine has a queue for each.
// - The packet's own serialization delay counts; without it short packets overtake long ones.
// - The uplink of the previous packet is never excluded: its queues keep the order in any case.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/random.h"
#include "lb/parts/expiring_table.h"
#include "lb/parts/flow_table.h"
#include "lb/parts/load_balancer.h"
#include "lb/parts/route_changes.h"
#include "lb/parts/ties.h"
#include "lb/tr/code.h"

namespace heddle {
namespace {

enum class Source { kAcks, kOwnClock };

struct TrSettings {
  Bytes long_above = 100_KB;
  int64_t bits = 5;
  std::optional<Duration> idle;
  std::optional<Bytes> buffer;
  Source telemetry = Source::kAcks;
  bool decays = false;
  bool own_serialization = true;
  FlowTableSettings flows = {.age = 100_ms};
};

// The policy of leaves and of spines; a switch finds out by its tier which it is.
class Tr final : public SwitchPolicy {
 public:
  Tr(const TrSettings& settings, Duration idle, Rng rng)
      : settings_(settings),
        idle_(idle),
        rng_(rng),
        flows_(settings.flows),
        present_(static_cast<size_t>(settings.flows.entries)) {}

  Packets asked_about() const override { return Packets::kEvery; }

  void Attach(SwitchView& view) override {
    ports_ = view.ports();
    leaves_ = view.leaves();
    is_leaf_ = view.tier() == 0;
    changes_.Resize(leaves_);
    onward_.resize(ports_ * leaves_);
    short_flows_.assign(view.ports(), 0);
    costs_.resize(view.ports());
    fit_.resize(view.ports());
    for (size_t port = 0; port < view.ports(); ++port) {
      for (size_t leaf = 0; leaf < leaves_; ++leaf) {
        const auto way = view.WayTo(static_cast<PortIndex>(port), static_cast<uint16_t>(leaf));
        if (!way) continue;
        Onward& onward = Beyond(static_cast<PortIndex>(port), static_cast<uint16_t>(leaf));
        onward.propagation = way->propagation;
        onward.ps_per_byte = 8e12 / static_cast<double>(way->last_rate.bps);
        onward.buffer = settings_.buffer.value_or(way->last_buffer);
      }
    }
  }

  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex in_port,
                    const Candidates& candidates) override {
    code_.is_set = false;
    if (packet.kind == PacketKind::kAck) LookAtAck(view, packet, in_port);
    if (!candidates.matters()) return Decision::Forward(candidates.ports.front());
    const bool is_data = packet.kind == PacketKind::kData || packet.kind == PacketKind::kDatagram;
    if (!is_data || !view.FacesHost(in_port)) return Decision::Forward(Any(candidates));
    return Decision::Forward(Choose(view, packet, candidates));
  }

  bool enqueue_only_stamps() const override { return true; }
  void OnEnqueue(SwitchView& /*view*/, Packet& packet, PortIndex /*port*/) override {
    if (code_.is_set && packet.kind == PacketKind::kAck) packet.SetScheme(code_);
    code_.is_set = false;
  }

  size_t StateBytes() const override {
    const size_t onward = onward_.size() * sizeof(Onward);
    if (!is_leaf_) return onward;
    return flows_.memory_bytes() + present_.memory_bytes() + onward +
           short_flows_.size() * sizeof(int32_t) + leaves_ * sizeof(uint32_t);
  }
  std::vector<Counter> Counters() const override {
    return {{"reroutes", reroutes_},
            {"s_empty", nothing_fits_},
            {"codes_read", codes_read_},
            {"told_decisions", told_decisions_},
            {"telemetry_age_ns", told_age_.ps / 1'000},
            {"short_flows", static_cast<int64_t>(present_.size())},
            {"table_entries", static_cast<int64_t>(flows_.used())},
            {"table_evictions", flows_.evictions() + present_.evictions()}};
  }

 private:
  // A flow that begins here.
  struct Flow {
    int64_t bytes = 0;
    Time arrival{-kNever.ps};  // The latest arrival predicted for its packets so far.
    PortIndex port = kNoPort;
    bool is_long = false;
  };

  // The state of the path beyond a port, towards a leaf.
  struct Onward {
    Duration propagation;
    double ps_per_byte = 0;  // Rate of the link from the spine to the leaf.
    Bytes buffer;            // The buffer of that link's port.
    int64_t queue = 0;       // Bytes at that port, as last reported,
    Duration wait{0};        // how long it takes to send them,
    Time told{-kNever.ps};   // and when that was.
    Time free;               // When the last packet of this leaf will have left it.

    void Forget() {
      queue = 0;
      wait = 0_ps;
      told = {-kNever.ps};
      free = Time{};
    }
  };

  struct Present {};

  Onward& Beyond(PortIndex port, uint16_t leaf) { return onward_[leaf * ports_ + port]; }

  static uint64_t PresenceOf(const Packet& packet, PortIndex port) {
    return uint64_t{packet.flow} << 32 | uint64_t{packet.src} << 16 | port;
  }

  PortIndex Any(const Candidates& candidates) {
    return candidates.ports[rng_.Below(static_cast<uint32_t>(candidates.ports.size()))];
  }

  // At a spine, notes its queue in the opposite direction for the ACK. At a leaf, reads the ACK's
  // code. After a link failure an ACK may take a detour, which is not a path of data.
  void LookAtAck(SwitchView& view, const Packet& ack, PortIndex in_port) {
    if (ack.hops != (is_leaf_ ? 2 : 1)) return;
    const uint16_t from = view.LeafOf(ack.src);
    Onward& onward = Beyond(in_port, from);
    const int bits = static_cast<int>(settings_.bits);
    if (!is_leaf_) {
      code_ = {EncodeQueue(view.Unsent(in_port), onward.buffer, bits), true};
      return;
    }
    const TrHeader header = ack.Scheme<TrHeader>();
    if (!header.is_set) return;
    onward.queue = DecodeQueue(header.code, onward.buffer, bits).count;
    onward.wait = TimeFor(onward.queue, onward);
    onward.told = view.now();
    ++codes_read_;
  }

  PortIndex Choose(SwitchView& view, const Packet& packet, const Candidates& candidates) {
    const Time now = view.now();
    const uint16_t leaf = view.LeafOf(packet.dst);
    changes_.Note(leaf, candidates, view.Uplinks(),
                  [&](PortIndex port) { Beyond(port, leaf).Forget(); });
    present_.ExpireBefore(now - idle_, [this](uint64_t key, Present) { Leave(key); });
    Flow& flow = flows_.Touch(packet, now).state;
    CountBytes(flow, packet);
    PredictAll(view, packet, candidates.ports, leaf);
    const std::span<const PortIndex> fit = Fitting(flow, candidates.ports);
    const PortIndex port = flow.is_long ? LeastBusy(fit, flow.port) : Earliest(fit, flow.port);
    if (flow.port != kNoPort && port != flow.port) ++reroutes_;
    flow.arrival = std::max(flow.arrival, costs_[port]);
    flow.port = port;
    if (!flow.is_long) BePresent(packet, port, now);
    if (settings_.telemetry == Source::kOwnClock) {
      Occupy(view, packet, port, leaf);
    } else {
      NoteAge(Beyond(port, leaf), now);
    }
    return port;
  }

  // A flow that becomes long is removed from the short flows of all ports.
  void CountBytes(Flow& flow, const Packet& packet) {
    flow.bytes += packet.data.payload;
    if (flow.is_long || flow.bytes <= settings_.long_above.count) return;
    flow.is_long = true;
    for (size_t port = 0; port < short_flows_.size(); ++port) {
      const uint64_t key = PresenceOf(packet, static_cast<PortIndex>(port));
      if (present_.Erase(key)) Leave(key);
    }
  }

  void BePresent(const Packet& packet, PortIndex port, Time now) {
    const auto touched = present_.Touch(PresenceOf(packet, port), now,
                                        [this](uint64_t key, Present) { Leave(key); });
    if (touched.is_new) ++short_flows_[port];
  }
  void Leave(uint64_t key) { --short_flows_[key & 0xffff]; }

  // TR eq. (1): predicts when the packet arrives at `leaf`, over each port.
  void PredictAll(SwitchView& view, const Packet& packet, std::span<const PortIndex> ports,
                  uint16_t leaf) {
    const Bytes size = settings_.own_serialization ? view.WireBytes(packet) : 0_B;
    for (const PortIndex port : ports) {
      const Time leaves = view.now() + view.QueueingDelay(port) + view.TimeToSend(port, size);
      costs_[port] = Predict(leaves, size, view.now(), Beyond(port, leaf));
    }
  }

  // Predicts the arrival of a packet that leaves this switch at `leaves`.
  Time Predict(Time leaves, Bytes size, Time now, const Onward& onward) const {
    const Duration sending = TimeFor(size.count, onward);
    // A prediction by codes adds the waits; their places on the way do not matter. With the leaf's
    // own clock the packet waits until `free`, which includes the same propagation delay.
    if (settings_.telemetry == Source::kOwnClock) {
      return std::max(leaves + onward.propagation, onward.free) + sending;
    }
    return leaves + onward.propagation + WaitAt(onward, now) + sending;
  }

  static Duration TimeFor(int64_t bytes, const Onward& onward) {
    return {static_cast<int64_t>(static_cast<double>(bytes) * onward.ps_per_byte)};
  }

  Duration WaitAt(const Onward& onward, Time now) const {
    if (!settings_.decays || onward.queue == 0) return onward.wait;
    const double drained = static_cast<double>((now - onward.told).ps) / onward.ps_per_byte;
    const int64_t gone = static_cast<int64_t>(std::min(drained, 1e15));
    return TimeFor(std::max<int64_t>(0, onward.queue - gone), onward);
  }

  // Adds up the age of the reports about the chosen port, if there was any.
  void NoteAge(const Onward& onward, Time now) {
    if (onward.told == Time{-kNever.ps}) return;
    told_age_ += now - onward.told;
    ++told_decisions_;
  }

  // The spine sends this packet on; later packets wait for it there.
  void Occupy(SwitchView& view, const Packet& packet, PortIndex port, uint16_t leaf) {
    Onward& onward = Beyond(port, leaf);
    const Bytes size = view.WireBytes(packet);
    const Time there =
        view.now() + view.QueueingDelay(port) + view.TimeToSend(port, size) + onward.propagation;
    onward.free = std::max(onward.free, there) + TimeFor(size.count, onward);
  }

  // Returns the ports over which the packet does not overtake the previous one. Equal arrival times
  // over two ports do not fit, because either order could result.
  std::span<const PortIndex> Fitting(const Flow& flow, std::span<const PortIndex> ports) {
    size_t fit = 0;
    for (const PortIndex port : ports) {
      fit_[fit] = port;
      fit += (costs_[port] > flow.arrival) | (port == flow.port);
    }
    if (fit > 0) return {fit_.data(), fit};
    ++nothing_fits_;  // The flow's port has failed.
    return ports;
  }

  PortIndex Earliest(std::span<const PortIndex> ports, PortIndex previous) {
    return LeastOf(ports, previous, rng_, [this](PortIndex port) { return costs_[port]; });
  }
  PortIndex LeastBusy(std::span<const PortIndex> ports, PortIndex previous) {
    return LeastOf(ports, previous, rng_,
                   [this](PortIndex port) { return std::pair(short_flows_[port], costs_[port]); });
  }

  const TrSettings settings_;
  const Duration idle_;
  Rng rng_;
  AgedFlowTable<Flow> flows_;
  ExpiringTable<Present> present_;    // Short flows, by flow and port.
  std::vector<int32_t> short_flows_;  // By port.
  size_t ports_ = 0;
  size_t leaves_ = 0;
  bool is_leaf_ = false;
  RouteChanges changes_;        // By leaf.
  std::vector<Onward> onward_;  // By leaf, then port.
  TrHeader code_;               // The code for the ACK that is being forwarded.
  std::vector<Time> costs_;     // Scratch, by port.
  std::vector<PortIndex> fit_;  // Scratch.
  int64_t reroutes_ = 0;
  int64_t nothing_fits_ = 0;
  int64_t codes_read_ = 0;
  Duration told_age_{0};  // Sum of the ages in told_decisions_ decisions.
  int64_t told_decisions_ = 0;
};

class TrBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& fields) override {
    fields.Add("long_above", settings_.long_above, Above(Bytes{0}),
               "Payload from which a flow counts as long.");
    fields.Add("bits", settings_.bits, Between<int64_t>(1, 8),
               "Bits of the code by which ACKs report a queue length.");
    fields.AddOr("auto", "idle", settings_.idle, {.at_least = 1_ns, .at_most = 1000_s},
                 "A short flow has left an uplink when it has sent nothing there for longer than "
                 "this. auto: the base round trip.");
    fields.AddOr("auto", "buffer", settings_.buffer, Above(Bytes{0}),
                 "Queue length that the code is scaled to: codes are steps of buffer / 2^bits. "
                 "auto: what a spine's port holds.");
    fields.Choice("telemetry", settings_.telemetry,
                  {{"ack5", Source::kAcks}, {"vclock", Source::kOwnClock}},
                  "Source of a spine's queue length. ack5: ACKs report it, as published; vclock: "
                  "the leaf computes it from its own packets alone.");
    fields.Add(
        "decay", settings_.decays,
        "Assume that a reported queue has been draining since the report; false: as published.");
    fields.Add("own_serialization", settings_.own_serialization,
               "The prediction includes the packet's own transmission time; false: as published.");
    settings_.flows.Declare(fields);
  }

  void Prepare(const FabricShape& fabric, std::string_view path,
               Diagnostics& diagnostics) override {
    base_rtt_ = fabric.base_rtt;
    if (fabric.tiers <= 2) return;
    diagnostics.ErrorAt(
        path, "tr is for two tiers: an ACK reports one queue; use drill, or conga with mode: path");
  }

  bool reorders() const override { return true; }

  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const override {
    return std::make_unique<Tr>(settings_, settings_.idle.value_or(base_rtt_),
                                Rng::Stream(seed, "tr", id));
  }

 private:
  TrSettings settings_;
  Duration base_rtt_ = FabricShape{}.base_rtt;
};

[[maybe_unused]] const bool registered = LoadBalancers().Add<TrBalancer>(
    {"tr",
     "Packets of short flows take the path predicted to be fastest, packets of long flows the path "
     "with the fewest short flows; delivery stays in order.",
     "Zhang et al., J. Cloud Computing 10:37, 2021"});

}  // namespace
}  // namespace heddle
