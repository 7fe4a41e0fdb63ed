// SPDX-License-Identifier: Apache-2.0
// AMR ("Adaptive multipath routing based on hybrid data and control plane operation", INFOCOM
// 2019). Switches send each flowlet to a port that they draw by weights, one for each next hop and
// destination leaf. A controller computes the weights from time to time, from the spare
// capacity of each path's links. Switches themselves avoid ports that are down. This is a
// reconstruction from the title and a sentence in another paper: the weights and all constants are
// ours.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "core/random.h"
#include "lb/parts/flowlets.h"
#include "lb/parts/load_balancer.h"
#include "lb/parts/ties.h"

namespace heddle {
namespace {

struct AmrSettings {
  FlowletSettings flowlets{.gap = 100_us};
  std::optional<Duration> period = 10_ms;
  double least = 1.0 / 16;
};

class Amr final : public SwitchPolicy {
 public:
  Amr(const AmrSettings& settings, Rng rng)
      : settings_(settings), rng_(rng), flowlets_(settings.flowlets) {}

  Packets asked_about() const override { return Packets::kWithLastUplink; }
  bool wants_next_hops() const override { return true; }
  // Only the controller asks what ports have sent.
  uint32_t unused_hooks() const override {
    return settings_.period ? uint32_t{0} : uint32_t{kTransmit};
  }

  void Attach(SwitchView& view) override {
    view_ = &view;
    groups_.resize(view.leaves());
    sent_.resize(view.ports());
    for (size_t port = 0; port < view.ports(); ++port) {
      peers_.push_back(view.PeerOf(static_cast<PortIndex>(port)));
    }
    hosts_.resize(view.leaves());
    for (size_t host = view.hosts(); host-- > 0;) {
      hosts_[view.LeafOf(static_cast<HostId>(host))] = static_cast<HostId>(host);
    }
  }

  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex /*in_port*/,
                    const Candidates& candidates) override {
    Flowlets::Slot& slot = flowlets_.Of(packet);
    if (flowlets_.HasEnded(slot, view.now()) || !candidates.Has(slot.port)) {
      const PortIndex before = slot.port;
      slot.port = Draw(view, packet.dst, candidates);
      ++count_;
      reroutes_ += before != kNoPort && before != slot.port ? 1 : 0;
    }
    slot.last = view.now();
    return Decision::Forward(slot.port);
  }

  void OnTransmit(SwitchView& view, Packet& packet, PortIndex port) override {
    sent_[port] += view.WireBytes(packet).count;
  }

  size_t StateBytes() const override {
    const size_t of_group = 2 * sent_.size() * sizeof(double);
    return flowlets_.memory_bytes() + groups_.size() * of_group + sent_.size() * sizeof(int64_t);
  }
  std::vector<Counter> Counters() const override {
    return {{"flowlets", count_}, {"reroutes", reroutes_}, {"table_entries", flowlets_.used()}};
  }

  // --- For the controller ---

  size_t leaves() const { return groups_.size(); }
  size_t ports() const { return sent_.size(); }
  std::optional<SwitchId> PeerOf(PortIndex port) const { return peers_[port]; }
  bool HasHostsOf(size_t leaf) const { return view_->IsAttached(hosts_[leaf]); }
  std::span<const PortIndex> NextHopsTo(size_t leaf) const {
    return view_->CandidatesTo(hosts_[leaf]).ports;
  }
  // Returns what each port has left of its rate, in bits per second, since the last call.
  void TakeRest(Duration period, std::vector<double>& rest) {
    rest.resize(sent_.size());
    for (size_t port = 0; port < sent_.size(); ++port) {
      const double rate = static_cast<double>(view_->Rate(static_cast<PortIndex>(port)).bps);
      const double used = 8 * static_cast<double>(sent_[port]) / Seconds(period);
      rest[port] = std::max(0.0, rate - used);
      sent_[port] = 0;
    }
  }
  // The weights of the next hops to a leaf, by port.
  std::vector<double>& Tell(size_t leaf) {
    groups_[leaf].version = 0;
    groups_[leaf].told.assign(sent_.size(), kUntold);
    return groups_[leaf].told;
  }

 private:
  static constexpr double kUntold = -1;

  // The next hops towards a leaf.
  struct Group {
    uint32_t version = 0;         // Version of the candidates; 0: the weights are out of date.
    uint32_t candidates = 0;      // Their id: hosts with links that are down have others.
    std::vector<double> weights;  // By candidate: the sum of the weights up to it.
    // By port: its weight as the controller has it, or kUntold. Empty until the controller tells.
    std::vector<double> told;
  };

  // The draw may return the same port again.
  PortIndex Draw(const SwitchView& view, HostId dst, const Candidates& candidates) {
    Group& group = groups_[view.LeafOf(dst)];
    if (group.version != candidates.version || group.candidates != candidates.id) {
      Fill(view, dst, candidates, group);
    }
    const double point = rng_.Uniform() * group.weights.back();
    const auto chosen = std::ranges::upper_bound(group.weights, point);
    const size_t last = candidates.ports.size() - 1;  // Rounding may lead beyond it.
    return candidates.ports[std::min(static_cast<size_t>(chosen - group.weights.begin()), last)];
  }

  // A next hop that the controller does not know of, because it has just come back, has the
  // capacity behind it as its weight.
  static void Fill(const SwitchView& view, HostId dst, const Candidates& candidates, Group& group) {
    group.version = candidates.version;
    group.candidates = candidates.id;
    group.weights.clear();
    const std::span<const NextHop> next_hops = view.NextHopsTo(dst);
    double sum = 0;
    for (size_t i = 0; i < candidates.ports.size(); ++i) {
      const double told = group.told.empty() ? kUntold : group.told[candidates.ports[i]];
      sum += told == kUntold ? static_cast<double>(next_hops[i].capacity) : told;
      group.weights.push_back(sum);
    }
  }

  const AmrSettings settings_;
  Rng rng_;
  Flowlets flowlets_;
  const SwitchView* view_ = nullptr;
  std::vector<std::optional<SwitchId>> peers_;  // By port; nothing: a host.
  std::vector<HostId> hosts_;                   // By leaf: its first host.
  std::vector<Group> groups_;                   // By leaf.
  std::vector<int64_t> sent_;                   // By port: bytes since the controller asked.
  int64_t count_ = 0;
  int64_t reroutes_ = 0;
};

// Every period, it collects what each link has left of its rate. The weight of a next hop towards a
// leaf is the sum, over the paths that begin there, of what the fullest link of the path has left.
class AmrController final : public Controller {
 public:
  AmrController(const AmrSettings& settings, const FabricView& fabric)
      : period_(*settings.period), least_(settings.least), next_(Time{} + period_) {
    for (SwitchPolicy* policy : fabric.switches) {
      switches_.push_back(static_cast<Amr*>(policy));
    }
    rest_.resize(switches_.size());
  }

  Time Next() const override { return next_; }

  void Act(Time now) override {
    next_ = now + period_;
    for (size_t s = 0; s < switches_.size(); ++s) switches_[s]->TakeRest(period_, rest_[s]);
    for (size_t s = 0; s < switches_.size(); ++s) {
      for (size_t leaf = 0; leaf < switches_[s]->leaves(); ++leaf) Tell(s, leaf);
    }
  }

 private:
  void Tell(size_t s, size_t leaf) {
    Amr& its = *switches_[s];
    const std::span<const PortIndex> ports = its.NextHopsTo(leaf);
    if (ports.size() < 2 || its.HasHostsOf(leaf)) return;
    std::vector<double>& weights = its.Tell(leaf);
    double sum = 0;
    for (const PortIndex port : ports) {
      weights[port] = Behind(s, port, leaf, std::numeric_limits<double>::infinity());
      sum += weights[port];
    }
    const double even = sum / static_cast<double>(ports.size());
    for (const PortIndex port : ports) {
      weights[port] = even > 0 ? std::max(weights[port], least_ * even) : 1;
    }
  }

  // Returns the sum over the paths to the leaf through a port; links before it have `left` left.
  double Behind(size_t s, PortIndex port, size_t leaf, double left) const {
    left = std::min(left, rest_[s][port]);
    const std::optional<SwitchId> peer = switches_[s]->PeerOf(port);
    if (!peer || switches_[*peer]->HasHostsOf(leaf)) return left;
    double sum = 0;
    for (const PortIndex next : switches_[*peer]->NextHopsTo(leaf)) {
      sum += Behind(*peer, next, leaf, left);
    }
    return sum;
  }

  const Duration period_;
  const double least_;
  Time next_;
  std::vector<Amr*> switches_;
  std::vector<std::vector<double>> rest_;  // By switch, then port: bits per second.
};

class AmrBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& fields) override {
    settings_.flowlets.Declare(fields);
    fields.AddOr("off", "period", settings_.period, {.at_least = 1_us, .at_most = 1000_s},
                 "How often the controller computes weights. off: never; weights are capacities.");
    fields.Add("least", settings_.least, Between(0.0, 1.0),
               "The least weight of a next hop, as a share of the mean weight.");
  }
  std::optional<Duration> flowlet_gap() const override { return settings_.flowlets.gap; }

  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const override {
    return std::make_unique<Amr>(settings_, Rng::Stream(seed, "amr", id));
  }
  std::unique_ptr<Controller> ForFabric(const FabricView& fabric,
                                        uint64_t /*seed*/) const override {
    if (!settings_.period) return nullptr;
    return std::make_unique<AmrController>(settings_, fabric);
  }

 private:
  AmrSettings settings_;
};

[[maybe_unused]] const bool registered = LoadBalancers().Add<AmrBalancer>(
    {"amr",
     "Each flowlet draws a port by weights, which a controller sets by links' spare capacity; a "
     "reconstruction.",
     "Adaptive multipath routing, INFOCOM 2019"});

}  // namespace
}  // namespace heddle
