// SPDX-License-Identifier: Apache-2.0
// Hedera (Al-Fares et al., NSDI 2010). Flows are hashed. Every period a controller collects the
// large flows, which have sent at more than a tenth of a host's link, and estimates what each would
// send if the network did not limit it. Global first fit places each large flow without a path on
// the first path with room on all links. Simulated annealing instead gives each destination a path.
// Leaves then send the flows there.
//
// The controller knows the links' rates as the network was built, and routing's next hops towards
// each leaf; it places flows again whose path has failed. It writes whole paths into a flow's
// packets, where the paper sets rules at two tiers of switches. It collects flows in no time,
// because it acts between windows; the paper's controller takes a fraction of its five-second
// period.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/random.h"
#include "lb/hedera/annealing.h"
#include "lb/hedera/demand.h"
#include "lb/parts/expiring_table.h"
#include "lb/parts/flow_key.h"
#include "lb/parts/follow_path.h"
#include "lb/parts/load_balancer.h"

namespace heddle {
namespace {

enum class Scheduler { kFirstFit, kAnnealing };

struct HederaSettings {
  Scheduler scheduler = Scheduler::kFirstFit;
  Duration period = 50_ms;
  double large_above = 0.1;
  int64_t table_entries = 65'536;
};

// The state that a leaf keeps for a flow that begins at it.
struct HederaFlow {
  HostId src = 0;
  HostId dst = 0;
  uint16_t path = kNoPath;  // The controller's choice.
  int64_t bytes = 0;        // On the wire, in this period.
};

class HederaSwitch final : public SwitchPolicy {
 public:
  HederaSwitch(const HederaSettings& settings, uint64_t salt)
      : period_(settings.period),
        salt_(salt),
        flows_(static_cast<size_t>(settings.table_entries)) {}

  Packets asked_about() const override { return Packets::kEvery; }

  void Attach(SwitchView& view) override {
    view_ = &view;
    tier_ = view.tier();
    first_host_.resize(view.leaves());
    for (const PortIndex uplink : view.Uplinks()) rates_.push_back(view.Rate(uplink).bps);
    for (size_t h = 0; h < view.hosts(); ++h) {
      const HostId host = static_cast<HostId>(h);
      const Candidates candidates = view.CandidatesTo(host);
      leaf_of_host_.push_back(view.LeafOf(host));
      if (!first_host_[view.LeafOf(host)]) first_host_[view.LeafOf(host)] = host;
      if (candidates.ports.empty()) continue;
      const bool is_below = !IsAmong(view.Uplinks(), candidates.ports.front());
      if (is_below) leaves_below_.push_back(view.LeafOf(host));
      if (tier_ == 0 && view.IsAttached(host)) host_bps_ = view.Rate(candidates.ports.front()).bps;
    }
    std::ranges::sort(leaves_below_);
    const auto same = std::ranges::unique(leaves_below_);
    leaves_below_.erase(same.begin(), same.end());
  }

  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex /*in_port*/,
                    const Candidates& candidates) override {
    stamp_ = std::nullopt;
    if (candidates.ports.size() == 1) return Decision::Forward(candidates.ports.front());
    if (tier_ == 0 && packet.kind == PacketKind::kData) stamp_ = Account(view, packet);
    Packet as_placed = packet;
    if (stamp_) as_placed.path = *stamp_;
    if (const auto uplink = OnItsPath(view, as_placed, candidates)) {
      return Decision::Forward(*uplink);
    }
    stamp_ = std::nullopt;  // The path has failed here.
    return Decision::Forward(EcmpPort(packet, salt_, candidates.ports));
  }

  bool enqueue_only_stamps() const override { return true; }
  void OnEnqueue(SwitchView& /*view*/, Packet& packet, PortIndex /*port*/) override {
    const std::optional<uint16_t> path = std::exchange(stamp_, std::nullopt);
    if (path && packet.path == kNoPath) packet.path = *path;  // A pinned packet keeps its own path.
  }

  size_t StateBytes() const override { return sizeof(salt_) + flows_.memory_bytes(); }
  std::vector<Counter> Counters() const override {
    return {{"reroutes", reroutes_},
            {"large_flows", large_flows_},
            {"table_entries", static_cast<int64_t>(most_flows_)},
            {"table_evictions", flows_.evictions()}};
  }

  // --- For the controller ---

  int tier() const { return tier_; }
  const std::vector<int64_t>& rates() const { return rates_; }  // By uplink.
  // Returns true if the uplink is a next hop towards the leaf.
  bool Lives(uint16_t leaf, size_t uplink) const {
    const Candidates candidates = view_->CandidatesTo(*first_host_[leaf]);
    return candidates.Has(view_->Uplinks()[uplink]);
  }
  int64_t host_bps() const { return host_bps_; }
  const std::vector<uint16_t>& leaf_of_host() const { return leaf_of_host_; }
  const std::vector<uint16_t>& leaves_below() const { return leaves_below_; }

  template <class Visit>
  void ForEachFlow(const Visit& visit) {
    flows_.ForEach([&](uint64_t, HederaFlow& flow) { visit(flow); });
  }
  // Forgets flows that have sent nothing for a period, and resets the counters of the others.
  void StartPeriod(Time now) {
    flows_.ExpireBefore(now - period_, [](uint64_t, const HederaFlow&) {});
    flows_.ForEach([](uint64_t, HederaFlow& flow) { flow.bytes = 0; });
  }
  void CountLarge() { ++large_flows_; }
  void CountPlaced() { ++reroutes_; }

 private:
  // Counts the packet for its flow. Returns the path that the controller has chosen, if any.
  std::optional<uint16_t> Account(const SwitchView& view, const Packet& packet) {
    if (!view.IsAttached(packet.src)) return std::nullopt;
    const auto [flow, is_new] =
        flows_.Touch(FlowKey(packet), view.now(), [](uint64_t, const HederaFlow&) {});
    if (is_new) {
      flow.src = packet.src;
      flow.dst = packet.dst;
      most_flows_ = std::max(most_flows_, flows_.size());
    }
    flow.bytes += view.WireBytes(packet).count;
    if (flow.path == kNoPath) return std::nullopt;
    return flow.path;
  }

  const Duration period_;
  const uint64_t salt_;
  const SwitchView* view_ = nullptr;  // The switch that this policy belongs to.
  int tier_ = 0;
  int64_t host_bps_ = 0;
  std::vector<int64_t> rates_;
  std::vector<uint16_t> leaf_of_host_;
  std::vector<std::optional<HostId>> first_host_;  // By leaf.
  std::vector<uint16_t> leaves_below_;
  ExpiringTable<HederaFlow> flows_;
  std::optional<uint16_t> stamp_;  // The path of the packet that is being forwarded.
  size_t most_flows_ = 0;
  int64_t large_flows_ = 0;
  int64_t reroutes_ = 0;
};

// The links of every path, and the bandwidth reserved there. A path id is the leaf's uplink, plus
// the aggregation switch's uplink times the number of the leaf's; both ends number alike
// (topo/routing.h).
class HederaLinks {
 public:
  explicit HederaLinks(std::span<HederaSwitch* const> switches) {
    for (HederaSwitch* its : switches) AddSwitch(*its);
  }

  // In a network of any shape, hosts may be attached to switches of other tiers.
  bool Knows(uint16_t leaf) const { return leaves_.contains(leaf); }

  size_t PathsBetween(uint16_t src, uint16_t dst) const {
    return PodOf(src) == PodOf(dst) ? leaves_.at(src)->rates().size() : PathsFrom(src);
  }
  // Returns the number of paths to other pods.
  size_t PathsFrom(uint16_t leaf) const {
    const size_t uplinks = leaves_.at(leaf)->rates().size();
    return aggs_.empty() ? uplinks : uplinks * aggs_.begin()->second->rates().size();
  }

  // Returns the first leaf of the leaf's pod, which stands for the pod.
  size_t PodOf(uint16_t leaf) const {
    const auto pod = pod_of_.find(leaf);
    return pod == pod_of_.end() ? leaf : pod->second;
  }

  // Returns true if routing has the path at each switch that chooses.
  bool Lives(uint16_t src, uint16_t dst, uint16_t path) const {
    const size_t uplinks = leaves_.at(src)->rates().size();
    const size_t u = path % uplinks;
    if (u >= leaves_.at(dst)->rates().size() || !leaves_.at(src)->Lives(dst, u)) return false;
    const auto agg = aggs_.find({PodOf(src), u});
    if (PodOf(src) == PodOf(dst) || agg == aggs_.end()) return true;
    const size_t v = path / uplinks;
    return v < agg->second->rates().size() && agg->second->Lives(dst, v);
  }

  // If all links of the path have room for `bps` more, reserves it and returns true.
  bool Reserve(uint16_t src, uint16_t dst, uint16_t path, double bps) {
    if (!Lives(src, dst, path) || !Fits(src, dst, path, bps)) return false;
    ForEachLink(src, dst, path, [&](const Key& link) { reserved_[link] += bps; });
    return true;
  }
  // Reserves `bps` for a flow that already uses the path, whether it fits or not.
  void Occupy(uint16_t src, uint16_t dst, uint16_t path, double bps) {
    ForEachLink(src, dst, path, [&](const Key& link) { reserved_[link] += bps; });
  }
  // Adds `bps` of either sign. Returns by how much the missing capacity of the path's links grows.
  double Shift(uint16_t src, uint16_t dst, uint16_t path, double bps) {
    double change = 0;
    ForEachLink(src, dst, path, [&](const Key& link) {
      double& reserved = reserved_[link];
      const double capacity = CapacityOf(link);
      change += std::max(0.0, reserved + bps - capacity) - std::max(0.0, reserved - capacity);
      reserved += bps;
    });
    return change;
  }
  void Clear() { reserved_.clear(); }

 private:
  // A link up from, or down to, a switch of a tier, with its uplink number there.
  struct Key {
    bool down;
    int tier;
    size_t at;  // The leaf, or the pod and the uplink of its leaves.
    size_t uplink;
    friend auto operator<=>(const Key&, const Key&) = default;
  };

  void AddSwitch(HederaSwitch& its) {
    if (its.leaves_below().empty()) return;
    const uint16_t first = its.leaves_below().front();
    if (its.tier() == 0) {
      leaves_[first] = &its;
      return;
    }
    if (its.tier() != 1) return;
    for (const uint16_t leaf : its.leaves_below()) pod_of_[leaf] = first;
    // The i-th aggregation switch of a pod is at the i-th uplink of its leaves.
    if (!its.rates().empty()) aggs_[{first, aggs_in_[first]++}] = &its;
  }

  template <class Visit>
  void ForEachLink(uint16_t src, uint16_t dst, uint16_t path, const Visit& visit) const {
    const size_t uplinks = leaves_.at(src)->rates().size();
    const size_t u = path % uplinks;
    const size_t v = path / uplinks;
    visit(Key{false, 0, src, u});
    visit(Key{true, 0, dst, u});
    const size_t from = PodOf(src);
    const size_t to = PodOf(dst);
    if (from == to || !aggs_.contains({from, u})) return;
    visit(Key{false, 1, from * kMostUplinks + u, v});
    visit(Key{true, 1, to * kMostUplinks + u, v});
  }

  bool Fits(uint16_t src, uint16_t dst, uint16_t path, double bps) const {
    bool fits = true;
    ForEachLink(src, dst, path, [&](const Key& link) {
      const auto reserved = reserved_.find(link);
      const double before = reserved == reserved_.end() ? 0 : reserved->second;
      // Demands are sums of shares: rounding must not reject a flow that fills a link exactly.
      fits = fits && before + bps <= 1.000'001 * CapacityOf(link);
    });
    return fits;
  }

  double CapacityOf(const Key& link) const {
    if (link.tier == 0) return static_cast<double>(leaves_.at(link.at)->rates()[link.uplink]);
    const auto agg = aggs_.find({link.at / kMostUplinks, link.at % kMostUplinks});
    if (agg == aggs_.end() || link.uplink >= agg->second->rates().size()) return 0;
    return static_cast<double>(agg->second->rates()[link.uplink]);
  }

  static constexpr size_t kMostUplinks = 65'536;

  std::map<size_t, HederaSwitch*> leaves_;
  std::map<size_t, size_t> pod_of_;                          // By leaf.
  std::map<size_t, size_t> aggs_in_;                         // By pod.
  std::map<std::pair<size_t, size_t>, HederaSwitch*> aggs_;  // By pod and uplink of its leaves.
  std::map<Key, double> reserved_;                           // Bits per second.
};

class HederaController final : public Controller {
 public:
  HederaController(const HederaSettings& settings, const FabricView& fabric, Rng rng)
      : scheduler_(settings.scheduler),
        period_(settings.period),
        large_above_(settings.large_above),
        annealing_(rng) {
    for (SwitchPolicy* its : fabric.switches) {
      switches_.push_back(static_cast<HederaSwitch*>(its));
    }
  }

  Time Next() const override { return next_; }

  void Act(Time now) override {
    // Policies know their switch only when the run has begun.
    if (!links_) Start();
    CollectLarge();
    EstimateDemands(demands_);
    links_->Clear();
    if (scheduler_ == Scheduler::kFirstFit) {
      FitFirst();
    } else if (!large_.empty()) {
      Anneal();
    }
    for (HederaSwitch* its : switches_) its->StartPeriod(now);
    next_ += period_;
  }

 private:
  struct Large {
    HederaSwitch* at;
    HederaFlow* flow;
    uint16_t src_leaf;
    uint16_t dst_leaf;
  };

  void Start() {
    links_.emplace(switches_);
    std::map<size_t, std::vector<HostId>> pods;
    const std::vector<uint16_t>& leaf_of_host = switches_.front()->leaf_of_host();
    for (size_t host = 0; host < leaf_of_host.size(); ++host) {
      if (!links_->Knows(leaf_of_host[host])) continue;
      pods[links_->PodOf(leaf_of_host[host])].push_back(static_cast<HostId>(host));
    }
    for (const auto& [pod, hosts] : pods) {
      const size_t paths = links_->PathsFrom(leaf_of_host[hosts.front()]);
      if (paths > 0) annealing_.AddPod(hosts, paths);
    }
  }

  void CollectLarge() {
    large_.clear();
    demands_.clear();
    for (HederaSwitch* its : switches_) {
      if (its->tier() != 0) continue;
      const double host_bps = static_cast<double>(its->host_bps());
      its->ForEachFlow([&](HederaFlow& flow) {
        const double bps = static_cast<double>(flow.bytes) * 8 / Seconds(period_);
        if (bps <= large_above_ * host_bps) return;
        const auto& leaf_of = its->leaf_of_host();
        if (!links_->Knows(leaf_of[flow.src]) || !links_->Knows(leaf_of[flow.dst])) return;
        its->CountLarge();
        large_.push_back({its, &flow, leaf_of[flow.src], leaf_of[flow.dst]});
        demands_.push_back({flow.src, flow.dst});
      });
    }
  }

  // A demand is a share of a host's link.
  double BpsOf(size_t i) const {
    return demands_[i].demand * static_cast<double>(large_[i].at->host_bps());
  }

  // --- Global first fit ---

  void FitFirst() {
    for (size_t i = 0; i < large_.size(); ++i) Keep(large_[i], BpsOf(i));
    for (size_t i = 0; i < large_.size(); ++i) {
      if (large_[i].flow->path == kNoPath) Place(large_[i], BpsOf(i));
    }
  }

  // A flow keeps its path unless the path has failed.
  void Keep(const Large& its, double bps) {
    uint16_t& path = its.flow->path;
    if (path == kNoPath) return;
    if (links_->Lives(its.src_leaf, its.dst_leaf, path)) {
      links_->Occupy(its.src_leaf, its.dst_leaf, path, bps);
    } else {
      path = kNoPath;
    }
  }

  void Place(const Large& its, double bps) {
    const size_t paths = links_->PathsBetween(its.src_leaf, its.dst_leaf);
    for (size_t path = 0; path < paths; ++path) {
      const uint16_t id = static_cast<uint16_t>(path);
      if (!links_->Reserve(its.src_leaf, its.dst_leaf, id, bps)) continue;
      its.flow->path = id;
      its.at->CountPlaced();
      return;
    }
  }

  // --- Simulated annealing ---

  void Anneal() {
    flows_to_.clear();
    for (size_t i = 0; i < large_.size(); ++i) flows_to_[demands_[i].dst].push_back(i);
    annealing_.ForEach([&](HostId host, uint16_t path) { ShiftAll(host, path, 1); });
    annealing_.Search([&](HostId host, uint16_t from, uint16_t to) {
      return ShiftAll(host, from, -1) + ShiftAll(host, to, 1);
    });
    annealing_.ForEach([&](HostId host, uint16_t path) {
      const auto flows = flows_to_.find(host);
      if (flows == flows_to_.end()) return;
      for (const size_t i : flows->second) Assign(large_[i], path);
    });
  }

  // Adds all large flows to a host to a path, or removes them. Returns how much more capacity links
  // then lack, as a share of a host's link; a failed path lacks all of it.
  double ShiftAll(HostId host, uint16_t path, int sign) {
    const auto flows = flows_to_.find(host);
    if (flows == flows_to_.end()) return 0;
    double change = 0;
    for (const size_t i : flows->second) {
      const Large& its = large_[i];
      const uint16_t id = PathFor(its, path);
      const double bps = sign * BpsOf(i);
      const double lacks = links_->Lives(its.src_leaf, its.dst_leaf, id)
                               ? links_->Shift(its.src_leaf, its.dst_leaf, id, bps)
                               : bps;
      change += lacks / static_cast<double>(its.at->host_bps());
    }
    return change;
  }

  // Within a pod only the lower digit of a path counts.
  uint16_t PathFor(const Large& its, uint16_t path) const {
    return static_cast<uint16_t>(path % links_->PathsBetween(its.src_leaf, its.dst_leaf));
  }

  void Assign(const Large& its, uint16_t path) const {
    const uint16_t id = PathFor(its, path);
    const uint16_t before = its.flow->path;
    its.flow->path = links_->Lives(its.src_leaf, its.dst_leaf, id) ? id : kNoPath;
    if (its.flow->path != before) its.at->CountPlaced();
  }

  const Scheduler scheduler_;
  const Duration period_;
  const double large_above_;
  Time next_ = Time{} + period_;
  std::vector<HederaSwitch*> switches_;  // By id.
  std::optional<HederaLinks> links_;
  std::vector<Large> large_;  // In the order of leaves, then of when the flows last sent.
  std::vector<FlowDemand> demands_;
  HederaAnnealing annealing_;
  std::map<HostId, std::vector<size_t>> flows_to_;  // Indices into `large_`, by destination.
};

class HederaBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& fields) override {
    fields.Choice("scheduler", settings_.scheduler,
                  {{"first_fit", Scheduler::kFirstFit}, {"annealing", Scheduler::kAnnealing}},
                  "first_fit: a large flow takes the first path with room for it, and stays; "
                  "annealing: every period each destination gets a path.");
    fields.Add("period", settings_.period, {.at_least = 10_us, .at_most = 1000_s},
               "How often the controller acts; 5s in the paper, whose flows last as long.");
    fields.Add("large_above", settings_.large_above, {.at_least = 0.0, .at_most = 1.0},
               "A flow is large if it has sent at more than this share of its host's link.");
    fields.Add(
        "table_entries", settings_.table_entries, Between<int64_t>(1, 1 << 24),
        "Flows that a leaf counts; a further flow replaces the one that has been idle longest.");
  }

  void Prepare(const FabricShape& fabric, std::string_view path,
               Diagnostics& diagnostics) override {
    if (fabric.tiers > 3) {
      diagnostics.ErrorAt(path,
                          "hedera's controller knows networks of two and three tiers; this "
                          "one has more");
    }
  }

  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const override {
    return std::make_unique<HederaSwitch>(settings_, EcmpSalt(id, seed));
  }
  std::unique_ptr<Controller> ForFabric(const FabricView& fabric, uint64_t seed) const override {
    return std::make_unique<HederaController>(settings_, fabric, Rng::Stream(seed, "hedera", 0));
  }

 private:
  HederaSettings settings_;
};

[[maybe_unused]] const bool registered = LoadBalancers().Add<HederaBalancer>(
    {"hedera",
     "ECMP, but a controller puts each large flow on a path with room for its estimated demand.",
     "Al-Fares et al., NSDI 2010"});

}  // namespace
}  // namespace heddle
