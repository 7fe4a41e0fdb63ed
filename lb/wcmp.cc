// SPDX-License-Identifier: Apache-2.0
// WCMP (Zhou et al., EuroSys 2014): ECMP in which each next hop gets a share of the flows in
// proportion to the capacity of the paths behind it, towards each leaf. As in a switch, a group of
// next hops is a table in which each appears as often as its weight. A table has a limited number
// of entries; weights that do not fit are reduced by the paper's greedy algorithm.

#include <cstdint>
#include <vector>

#include "fabric/ecmp_hash.h"
#include "lb/parts/load_balancer.h"
#include "lb/parts/weights.h"

namespace heddle {
namespace {

struct WcmpSettings {
  int64_t entries = 64;
  double oversubscription = 1.05;
};

class Wcmp final : public SwitchPolicy {
 public:
  Wcmp(const WcmpSettings& settings, uint64_t salt) : settings_(settings), salt_(salt) {}

  bool wants_next_hops() const override { return true; }
  bool only_chooses() const override { return true; }

  void Attach(SwitchView& view) override {
    leaves_ = view.leaves();
    groups_.resize(leaves_);
  }

  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex /*in_port*/,
                    const Candidates& candidates) override {
    const size_t number = view.GroupOf(packet.dst);
    if (number >= groups_.size()) groups_.resize(number + 1);  // After a failure.
    Group& group = groups_[number];
    if (group.version != candidates.version) Fill(view, packet.dst, candidates, group);
    return Decision::Forward(EcmpPort(packet, salt_, group.ports));
  }

  // Each group has all its entries, of two bytes each.
  size_t StateBytes() const override {
    const size_t entries = static_cast<size_t>(settings_.entries);
    return sizeof(salt_) + leaves_ * entries * sizeof(PortIndex);
  }

 private:
  struct Group {
    uint32_t version = 0;  // Version of the candidates; 0: none yet.
    std::vector<PortIndex> ports;
  };

  // Fills the table; called once per change of routes.
  void Fill(const SwitchView& view, HostId dst, const Candidates& candidates, Group& group) const {
    group.version = candidates.version;
    group.ports.clear();
    std::vector<int64_t> capacities;
    for (const NextHop& hop : view.NextHopsTo(dst)) capacities.push_back(hop.capacity);
    const std::vector<int64_t> weights =
        ReduceWeights(capacities, settings_.entries, settings_.oversubscription);
    for (size_t i = 0; i < weights.size(); ++i) {
      group.ports.insert(group.ports.end(), static_cast<size_t>(weights[i]), candidates.ports[i]);
    }
  }

  size_t leaves_ = 0;
  const WcmpSettings settings_;
  const uint64_t salt_;
  std::vector<Group> groups_;  // By group of hosts (SwitchView::GroupOf).
};

class WcmpBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& fields) override {
    fields.Add("entries", settings_.entries, Between<int64_t>(1, 65'536),
               "Entries of the table of next hops towards each leaf; weights that need more are "
               "reduced.");
    fields.Add("oversubscription", settings_.oversubscription, {.at_least = 1.0, .at_most = 100.0},
               "Reduced weights are good enough if no port gets more than this times its share.");
  }

  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const override {
    return std::make_unique<Wcmp>(settings_, EcmpSalt(id, seed));
  }

 private:
  WcmpSettings settings_;
};

[[maybe_unused]] const bool registered = LoadBalancers().Add<WcmpBalancer>(
    {"wcmp", "Flows are hashed to paths in proportion to the capacity behind each next hop.",
     "Zhou et al., EuroSys 2014"});

}  // namespace
}  // namespace heddle
