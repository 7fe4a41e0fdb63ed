// SPDX-License-Identifier: Apache-2.0
// Random packet spraying (Dixit et al., INFOCOM 2013): every packet, data or ACK, takes a random
// path.
//
// Flows that have lost paths to a failure send more over the other paths than flows that have not,
// so queues become unequal. The paper's remedy is selective RED (S-RED): packets of such flows are
// marked where they enter the fabric. Switches drop marked packets at random, as RED does (Floyd,
// Jacobson 1993), and others only when a buffer is full. The constants are ours.

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/random.h"
#include "lb/parts/load_balancer.h"

namespace heddle {
namespace {

enum class Weights { kEqual, kRate, kCapacity };

struct RpsSettings {
  Weights weights = Weights::kEqual;
  bool selective_red = false;
  Bytes red_from = 30_KB;
  Bytes red_to = 90_KB;
  double red_drop = 0.1;
};

// RED's weight of an arrival in the average of its queue.
constexpr double kRedGain = 0.002;

class Rps final : public SwitchPolicy {
 public:
  Rps(const RpsSettings& settings, Rng rng) : settings_(settings), rng_(rng) {}

  Packets asked_about() const override {
    return settings_.selective_red ? Packets::kEvery : Packets::kWithChoice;
  }
  bool wants_next_hops() const override {
    return settings_.selective_red || settings_.weights == Weights::kCapacity;
  }
  bool only_chooses() const override { return !settings_.selective_red; }
  uint32_t unused_hooks() const override {
    return settings_.selective_red ? 0 : uint32_t{kEnqueue};
  }

  void Attach(SwitchView& view) override {
    if (!settings_.selective_red) return;
    queues_.resize(view.ports());
    most_.resize(view.leaves());
    groups_.resize(view.leaves());
    // Records the capacities of the fabric as it was built.
    for (size_t h = 0; h < view.hosts(); ++h) {
      const HostId host = static_cast<HostId>(h);
      if (!view.IsAttached(host)) most_[view.LeafOf(host)] = CapacityTo(view, host);
    }
  }

  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex /*in_port*/,
                    const Candidates& candidates) override {
    const PortIndex port =
        candidates.ports.size() == 1 ? candidates.ports.front() : Draw(view, packet, candidates);
    if (!settings_.selective_red || packet.kind != PacketKind::kData) {
      return Decision::Forward(port);
    }
    is_marked_ = Begins(view, packet) ? HasLostPaths(view, packet.dst, candidates)
                                      : packet.Scheme<Mark>().has_lost_paths;
    if (!Drops(view, port)) return Decision::Forward(port);
    ++drops_;
    return Decision::Discard();
  }

  bool enqueue_only_stamps() const override { return true; }
  void OnEnqueue(SwitchView& view, Packet& packet, PortIndex /*port*/) override {
    if (packet.kind == PacketKind::kData && Begins(view, packet))
      packet.SetScheme(Mark{is_marked_});
  }

  size_t StateBytes() const override {
    return sizeof(rng_) + queues_.size() * sizeof(double) +
           most_.size() * (sizeof(int64_t) + sizeof(Group));
  }
  std::vector<Counter> Counters() const override {
    if (!settings_.selective_red) return {};
    return {{"red_drops", drops_}};
  }

 private:
  struct Mark {
    bool has_lost_paths;
  };
  // Routing knows this of the paths to a group of hosts.
  struct Group {
    uint32_t version = 0;  // Version of the candidates.
    bool has_lost_paths = false;
  };

  static bool Begins(const SwitchView& view, const Packet& packet) {
    return view.IsAttached(packet.src) && !view.IsAttached(packet.dst);
  }

  PortIndex Draw(const SwitchView& view, const Packet& packet, const Candidates& candidates) {
    const std::span<const PortIndex> ports = candidates.ports;
    if (settings_.weights == Weights::kEqual) {
      return ports[rng_.Below(static_cast<uint32_t>(ports.size()))];
    }
    if (settings_.weights == Weights::kRate) {
      return DrawBy(ports, [&](size_t i) { return view.Rate(ports[i]).bps; });
    }
    const std::span<const NextHop> hops = view.NextHopsTo(packet.dst);
    return DrawBy(ports, [&](size_t i) { return hops[i].capacity; });
  }

  // Draws a port with probability proportional to `weight`.
  template <class Weight>
  PortIndex DrawBy(std::span<const PortIndex> ports, const Weight& weight) {
    int64_t total = 0;
    for (size_t i = 0; i < ports.size(); ++i) total += weight(i);
    int64_t draw = static_cast<int64_t>(rng_.Uniform() * static_cast<double>(total));
    for (size_t i = 0; i < ports.size(); ++i) {
      draw -= weight(i);
      if (draw < 0) return ports[i];
    }
    return ports.back();
  }

  // --- Selective RED ---

  static int64_t CapacityTo(const SwitchView& view, HostId host) {
    int64_t capacity = 0;
    for (const NextHop& hop : view.NextHopsTo(host)) capacity += hop.capacity;
    return capacity;
  }

  bool HasLostPaths(const SwitchView& view, HostId dst, const Candidates& candidates) {
    const size_t number = view.GroupOf(dst);
    if (number >= groups_.size()) groups_.resize(number + 1);  // After a failure.
    Group& group = groups_[number];
    if (group.version == candidates.version) return group.has_lost_paths;
    group.version = candidates.version;
    int64_t& most = most_[view.LeafOf(dst)];
    const int64_t capacity = CapacityTo(view, dst);
    most = std::max(most, capacity);
    group.has_lost_paths = capacity < most;
    return group.has_lost_paths;
  }

  // Updates the average queue. Returns true if the packet is marked and RED drops it.
  bool Drops(const SwitchView& view, PortIndex port) {
    double& average = queues_[port];
    average += kRedGain * (static_cast<double>(view.Unsent(port).count) - average);
    if (!is_marked_) return false;
    const double from = static_cast<double>(settings_.red_from.count);
    const double to = static_cast<double>(settings_.red_to.count);
    if (average < from) return false;
    return average >= to || rng_.Uniform() < settings_.red_drop * (average - from) / (to - from);
  }

  const RpsSettings settings_;
  Rng rng_;
  std::vector<double> queues_;  // By port: average queue in bytes.
  std::vector<int64_t> most_;  // By leaf: the largest capacity so far of the paths to it, in bit/s.
  std::vector<Group> groups_;  // By group of hosts (SwitchView::GroupOf).
  bool is_marked_ = false;     // The data packet being forwarded has the mark.
  int64_t drops_ = 0;
};

class RpsBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& fields) override {
    RpsSettings& s = settings_;
    fields.Choice(
        "weights", s.weights,
        {{"equal", Weights::kEqual}, {"rate", Weights::kRate}, {"capacity", Weights::kCapacity}},
        "equal: every port is as likely, as published; rate: in proportion to the rate of "
        "the switch's own ports; capacity: to that of the paths behind them, as in WCMP.");
    fields.Add("selective_red", s.selective_red,
               "Drop data packets of flows that have lost paths, with a probability that grows "
               "with the average queue (the paper's S-RED).");
    fields.Add("red_from", s.red_from, {.at_least = Bytes{0}, .at_most = Bytes{1'000'000'000}},
               "Average queue above which S-RED begins to drop.");
    fields.Add("red_to", s.red_to, {.at_least = 1_B, .at_most = Bytes{1'000'000'000}},
               "Average queue above which S-RED drops all packets of such flows.");
    fields.Add("red_drop", s.red_drop, {.at_least = 0.0, .at_most = 1.0},
               "Drop probability of S-RED just below red_to.");
  }
  bool reorders() const override { return true; }

  void Prepare(const FabricShape& /*fabric*/, std::string_view path,
               Diagnostics& diagnostics) override {
    if (settings_.red_from < settings_.red_to) return;
    diagnostics.ErrorAt(std::string(path) + ".red_from",
                        "not less than red_to; with 30KB and 90KB dropping begins gently");
  }

  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const override {
    return std::make_unique<Rps>(settings_, Rng::Stream(seed, "rps", id));
  }

 private:
  RpsSettings settings_;
};

[[maybe_unused]] const bool registered = LoadBalancers().Add<RpsBalancer>(
    {"rps", "Every packet takes a random path.", "Dixit et al., INFOCOM 2013"});

}  // namespace
}  // namespace heddle
