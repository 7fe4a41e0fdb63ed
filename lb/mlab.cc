// SPDX-License-Identifier: Apache-2.0
// MLAB, modularized load balancing ("Routing in black box", INFOCOM 2019). A switch takes all that
// lies behind one of its ports as a black box: it measures how long a data packet through the port
// needs until its ACK comes back, per destination leaf, and sends each flowlet to the port of the
// least time. This is a reconstruction from the title and a sentence in another paper: the
// estimator and all constants are ours.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/random.h"
#include "core/sparse_rows.h"
#include "lb/parts/flowlets.h"
#include "lb/parts/load_balancer.h"
#include "lb/parts/ties.h"

namespace heddle {
namespace {

struct MlabSettings {
  FlowletSettings flowlets{.gap = 100_us};
  Duration sample_every = 10_us;
  Duration stale = 1_ms;
  double gain = 0.125;
  double within = 0.1;
};

class Mlab final : public SwitchPolicy {
 public:
  Mlab(const MlabSettings& settings, Rng rng)
      : settings_(settings),
        rng_(rng),
        flowlets_(settings.flowlets),
        came_from_(static_cast<size_t>(settings.flowlets.slots), 1) {}

  Packets asked_about() const override { return Packets::kEvery; }

  void Attach(SwitchView& view) override {
    estimates_ = {view.leaves(), view.ports()};
    next_sample_.resize(view.ports());
    near_.reserve(view.ports());
  }

  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex in_port,
                    const Candidates& candidates) override {
    if (Answers(packet)) {
      Finish(Behind(view.LeafOf(packet.src), in_port), packet, view.now());
      return Decision::Forward(WayBack(packet, candidates));
    }
    if (packet.kind == PacketKind::kData) came_from_[SlotOf(packet.flow)]->port = in_port;
    if (!candidates.matters()) return Decision::Forward(candidates.ports.front());
    const PortIndex port = PortFor(view, packet, candidates);
    if (packet.kind == PacketKind::kData) Begin(view.LeafOf(packet.dst), port, packet, view.now());
    return Decision::Forward(port);
  }

  size_t StateBytes() const override {
    return flowlets_.memory_bytes() + came_from_.memory_bytes() + estimates_.memory_bytes() +
           next_sample_.size() * sizeof(Time);
  }
  std::vector<Counter> Counters() const override {
    return {{"flowlets", flowlet_count_},
            {"reroutes", reroutes_},
            {"samples", samples_},
            {"table_entries", flowlets_.used()}};
  }

 private:
  // The time from a packet's passage to its ACK's, through one port and to one leaf.
  struct Estimate {
    double ps = 0;
    Time at{-kNever.ps};     // When it was last measured.
    Time began{-kNever.ps};  // The sample under way: when its data packet passed,
    FlowId flow = 0;         // and which packet it was.
    uint32_t seq = 0;
    bool is_open = false;
  };

  // The port through which data of a flow last came.
  struct CameFrom {
    PortIndex port = kNoPort;
  };

  static bool Answers(const Packet& packet) {
    return packet.kind == PacketKind::kAck || packet.kind == PacketKind::kNack ||
           packet.kind == PacketKind::kCnp;
  }
  size_t SlotOf(FlowId flow) const { return Mix64(flow) % came_from_.rows(); }
  Estimate& Behind(uint16_t leaf, PortIndex port) { return estimates_[leaf][port]; }

  // ACKs go back through the port that the data came from, so that a sample measures one port.
  PortIndex WayBack(const Packet& packet, const Candidates& candidates) {
    if (candidates.ports.size() == 1) return candidates.ports.front();
    const PortIndex port = came_from_[SlotOf(packet.flow)]->port;
    return candidates.Has(port) ? port : Draw(candidates.ports);
  }

  PortIndex PortFor(const SwitchView& view, const Packet& packet, const Candidates& candidates) {
    Flowlets::Slot& slot = flowlets_.Of(packet);
    if (flowlets_.HasEnded(slot, view.now()) || !candidates.Has(slot.port)) {
      const PortIndex before = slot.port;
      slot.port = Best(view.LeafOf(packet.dst), candidates, view.now());
      ++flowlet_count_;
      reroutes_ += before != kNoPort && before != slot.port ? 1 : 0;
    }
    slot.last = view.now();
    return slot.port;
  }

  // Draws one of the ports whose time is near the least. A port without a recent sample counts as
  // the least, so that it is tried.
  PortIndex Best(uint16_t leaf, const Candidates& candidates, Time now) {
    const Estimate* const behind = estimates_[leaf];
    const auto time = [&](PortIndex port) {
      const Estimate& its = behind[port];
      return now - its.at > settings_.stale ? 0.0 : its.ps;
    };
    double least = std::numeric_limits<double>::infinity();
    for (const PortIndex port : candidates.ports) least = std::min(least, time(port));
    near_.clear();
    for (const PortIndex port : candidates.ports) {
      if (time(port) <= least * (1 + settings_.within)) near_.push_back(port);
    }
    return Draw(near_);
  }

  PortIndex Draw(std::span<const PortIndex> ports) {
    return ports[rng_.Below(static_cast<uint32_t>(ports.size()))];
  }

  // Begins a sample unless one is under way; a sample whose ACK does not come is given up.
  void Begin(uint16_t leaf, PortIndex port, const Packet& packet, Time now) {
    Estimate& its = Behind(leaf, port);
    if (now < next_sample_[port] || (its.is_open && now - its.began <= settings_.stale)) return;
    its.began = now;
    its.flow = packet.flow;
    its.seq = packet.seq;
    its.is_open = true;
    next_sample_[port] = now + settings_.sample_every;
  }

  void Finish(Estimate& its, const Packet& ack, Time now) {
    if (!its.is_open || ack.flow != its.flow || ack.seq <= its.seq) return;
    const auto sample = static_cast<double>((now - its.began).ps);
    const bool is_first = now - its.at > settings_.stale;
    its.ps = is_first ? sample : its.ps + settings_.gain * (sample - its.ps);
    its.at = now;
    its.is_open = false;
    ++samples_;
  }

  const MlabSettings settings_;
  Rng rng_;
  Flowlets flowlets_;
  SparseRows<CameFrom> came_from_;  // By hash of the flow.
  SparseRows<Estimate> estimates_;  // By leaf, then port.
  std::vector<Time> next_sample_;   // By port.
  std::vector<PortIndex> near_;     // Scratch.
  int64_t flowlet_count_ = 0;
  int64_t reroutes_ = 0;
  int64_t samples_ = 0;
};

class MlabBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& fields) override {
    settings_.flowlets.Declare(fields);
    fields.Add("sample_every", settings_.sample_every, {.at_least = Duration{0}, .at_most = 10_s},
               "The least time between two samples through one port.");
    fields.Add("stale", settings_.stale, {.above = Duration{0}, .at_most = 1000_s},
               "A port without a sample for this time is tried before all others.");
    fields.Add("gain", settings_.gain, {.above = 0.0, .at_most = 1.0},
               "Weight of a new sample in the moving average.");
    fields.Add("within", settings_.within, Between(0.0, 10.0),
               "Ports whose time is above the least by at most this share of it are drawn from.");
  }
  std::optional<Duration> flowlet_gap() const override { return settings_.flowlets.gap; }

  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const override {
    return std::make_unique<Mlab>(settings_, Rng::Stream(seed, "mlab", id));
  }

 private:
  MlabSettings settings_;
};

[[maybe_unused]] const bool registered = LoadBalancers().Add<MlabBalancer>(
    {"mlab", "Each flowlet takes the port whose ACKs come back soonest; a reconstruction.",
     "Routing in black box, INFOCOM 2019"});

}  // namespace
}  // namespace heddle
