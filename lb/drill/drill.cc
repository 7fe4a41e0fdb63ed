// SPDX-License-Identifier: Apache-2.0
// DRILL (Ghorbani et al., SIGCOMM 2017): for each packet a switch compares the queues of d random
// ports and of the m ports that were best before, and takes the shortest. Where paths differ
// (section 3.4), next hops with equal paths form a component. Flows are hashed to components in
// proportion to their capacity, and packets are sprayed within a component, so that they meet equal
// queues.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/random.h"
#include "fabric/ecmp_hash.h"
#include "lb/drill/unseen_bytes.h"
#include "lb/parts/load_balancer.h"
#include "lb/parts/port_load.h"
#include "lb/parts/ties.h"

namespace heddle {
namespace {

enum class DrillMetric {
  kBytes,
  kDelay,
  kWaiting,  // Packets in the queue, without the one being sent.
};

enum class MemoryPer { kSwitch, kHost };

struct DrillSettings {
  int64_t d = 2;
  int64_t m = 1;
  int64_t engines = 1;
  DrillMetric metric = DrillMetric::kBytes;
  MemoryPer memory_per = MemoryPer::kSwitch;
  Duration visible_after{0};
  bool per_class = false;
  bool components = true;
};

class Drill final : public SwitchPolicy {
 public:
  Drill(const DrillSettings& settings, uint64_t salt, Rng rng)
      : settings_(settings), salt_(salt), rng_(rng) {}

  bool wants_next_hops() const override { return settings_.components; }
  bool only_chooses() const override { return true; }
  uint32_t unused_hooks() const override {
    return settings_.visible_after > Duration{0} ? 0 : uint32_t{kEnqueue};
  }

  void Attach(SwitchView& view) override {
    group_of_.resize(view.leaves());
    uplinks_ = view.Uplinks().size();
    unseen_.assign(view.ports(), UnseenBytes(settings_.visible_after));
    memories_ = settings_.memory_per == MemoryPer::kHost ? view.hosts() : 1;
    best_.resize(static_cast<size_t>(std::max<int64_t>(settings_.m, 1)));
  }

  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex in_port,
                    const Candidates& candidates) override {
    if (version_ != candidates.version) Forget(candidates.version);
    const size_t number = view.GroupOf(packet.dst);
    if (number >= group_of_.size()) group_of_.resize(number + 1, kUnknown);  // After a failure.
    uint32_t& group = group_of_[number];
    if (group == kUnknown) group = FindGroup(view, packet.dst, candidates);
    Component& component = ComponentOf(packet, groups_[group]);
    const size_t engine =
        settings_.engines == 1 ? 0 : in_port % static_cast<size_t>(settings_.engines);
    const size_t host = memories_ == 1 ? 0 : packet.dst;
    const size_t memory = host * static_cast<size_t>(settings_.engines) + engine;
    return Decision::Forward(Choose(view, packet.priority, component, memory));
  }

  void OnEnqueue(SwitchView& view, Packet& packet, PortIndex port) override {
    unseen_[port].Add(view.WireBytes(packet).count, view.now());
  }

  // Counts the remembered ports of each engine (and host), and the components of one group: a
  // symmetric fabric has only one.
  size_t StateBytes() const override {
    const size_t remembered = static_cast<size_t>(settings_.m * settings_.engines) * memories_;
    return sizeof(salt_) + (remembered + uplinks_) * sizeof(PortIndex);
  }

 private:
  static constexpr uint32_t kUnknown = std::numeric_limits<uint32_t>::max();

  // Next hops with equal paths, and for each engine (and host) the m best ports of its last
  // decision.
  struct Component {
    std::vector<PortIndex> ports;
    uint64_t capacity = 0;
    std::vector<PortIndex> memory;  // kNoPort: nothing remembered yet.
  };
  // Leaves reached through the same next hops share a group, and so its remembered ports.
  struct Group {
    uint32_t candidates;
    std::vector<NextHop> next_hops;
    uint64_t capacity = 0;
    std::vector<Component> components = {};
  };
  struct Sample {
    int64_t load;
    PortIndex port;
  };

  // Forgets all groups; called once per change of routes.
  void Forget(uint32_t version) {
    version_ = version;
    groups_.clear();
    std::ranges::fill(group_of_, kUnknown);
  }

  uint32_t FindGroup(const SwitchView& view, HostId dst, const Candidates& candidates) {
    std::vector<NextHop> next_hops(candidates.ports.size(), NextHop{1'000'000, 0});
    if (settings_.components) {
      const std::span<const NextHop> known = view.NextHopsTo(dst);
      next_hops.assign(known.begin(), known.end());
    }
    const auto same = std::ranges::find_if(groups_, [&](const Group& group) {
      return group.candidates == candidates.id && group.next_hops == next_hops;
    });
    const uint32_t found = static_cast<uint32_t>(same - groups_.begin());
    if (same == groups_.end()) AddGroup(candidates, next_hops);
    return found;
  }

  void AddGroup(const Candidates& candidates, const std::vector<NextHop>& next_hops) {
    Group& group = groups_.emplace_back(Group{candidates.id, next_hops});
    for (size_t i = 0; i < next_hops.size(); ++i) {
      const size_t kind = next_hops[i].kind;
      if (kind >= group.components.size()) group.components.resize(kind + 1);
      Component& component = group.components[kind];
      component.ports.push_back(candidates.ports[i]);
      // Mbps, so that a hash times the sum fits in 64 bits.
      component.capacity += static_cast<uint64_t>(next_hops[i].capacity + 999'999) / 1'000'000;
    }
    for (Component& component : group.components) {
      const size_t each = static_cast<size_t>(settings_.m * settings_.engines);
      component.memory.assign(each * memories_, kNoPort);
      group.capacity += component.capacity;
    }
  }

  Component& ComponentOf(const Packet& packet, Group& group) const {
    if (group.components.size() == 1) return group.components.front();
    uint64_t point = (uint64_t{EcmpHash(packet, salt_)} * group.capacity) >> 32;
    for (Component& component : group.components) {
      if (point < component.capacity) return component;
      point -= component.capacity;
    }
    return group.components.back();
  }

  // Compares the remembered ports, by their present load, and then d random ports.
  PortIndex Choose(const SwitchView& view, uint8_t priority, Component& component,
                   size_t memory_of) {
    const size_t m = static_cast<size_t>(settings_.m);
    const std::span<PortIndex> memory(component.memory.data() + memory_of * m, m);
    found_ = 0;
    for (const PortIndex port : memory) {
      if (port != kNoPort) Keep({VisibleLoadOf(view, port, priority), port});
    }
    const size_t count = std::min(static_cast<size_t>(settings_.d), component.ports.size());
    rng_.MoveToFront(component.ports, count);
    for (size_t i = 0; i < count; ++i) {
      const PortIndex port = component.ports[i];
      // With one remembered port, a copy of it changes nothing.
      if (m > 1 && std::ranges::find(memory, port) != memory.end()) continue;
      Keep({VisibleLoadOf(view, port, priority), port});
    }
    for (size_t i = 0; i < m; ++i) memory[i] = i < found_ ? best_[i].port : kNoPort;
    return best_.front().port;
  }

  // Inserts the sample if it is among the best so far, behind its equals.
  void Keep(Sample sample) {
    size_t at = found_;
    if (found_ < best_.size()) {
      ++found_;
    } else if (sample.load < best_[--at].load) {
      // It takes the place of the worst.
    } else {
      return;
    }
    for (; at > 0 && sample.load < best_[at - 1].load; --at) best_[at] = best_[at - 1];
    best_[at] = sample;
  }

  // Queues are FIFO, so bytes not visible yet are the last to leave.
  int64_t VisibleLoadOf(const SwitchView& view, PortIndex port, uint8_t priority) {
    if (settings_.metric == DrillMetric::kWaiting) {
      return std::max<int64_t>(0, view.QueuedPackets(port) - 1);
    }
    const LoadMetric metric =
        settings_.metric == DrillMetric::kBytes ? LoadMetric::kBytes : LoadMetric::kDelay;
    if (settings_.per_class) return LoadBefore(view, port, priority, metric);
    if (settings_.visible_after == Duration{0}) return LoadOf(view, port, metric);
    const int64_t unseen = unseen_[port].At(view.now());
    const Bytes visible{std::max<int64_t>(0, view.Unsent(port).count - unseen)};
    return metric == LoadMetric::kBytes ? visible.count : view.TimeToSend(port, visible).ps;
  }

  const DrillSettings settings_;
  const uint64_t salt_;
  Rng rng_;
  size_t uplinks_ = 0;
  size_t memories_ = 1;              // Memories of an engine: one, or one for each host.
  std::vector<UnseenBytes> unseen_;  // By port.
  uint32_t version_ = 0;             // Version of the routes that the groups were made from.
  std::vector<uint32_t> group_of_;
  std::vector<Group> groups_;
  std::vector<Sample> best_;  // The best samples of one decision, least load first,
  size_t found_ = 0;          // and how many there are.
};

class DrillBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& fields) override {
    fields.Add("d", settings_.d, Between<int64_t>(1, 1'000), "Random ports looked at.");
    fields.Add("m", settings_.m, Between<int64_t>(0, 1'000), "Best ports remembered.");
    fields.Add("engines", settings_.engines, Between<int64_t>(1, 1'000),
               "Forwarding engines of a switch, each with its own remembered ports; inputs are "
               "assigned to engines in turn.");
    fields.Choice(
        "memory_per", settings_.memory_per,
        {{"switch", MemoryPer::kSwitch}, {"host", MemoryPer::kHost}},
        "Packets that share the remembered ports. switch: all packets with the same next hops; "
        "host: packets to the same host, in a table with an entry for each host, as in the paper.");
    fields.Choice(
        "metric", settings_.metric,
        {{"bytes", DrillMetric::kBytes},
         {"delay", DrillMetric::kDelay},
         {"waiting", DrillMetric::kWaiting}},
        "How ports are compared. bytes: by the bytes not yet sent, including the rest of the "
        "packet being sent; delay: by the time that sending these takes, which fits ports of "
        "different rates; waiting: by waiting packets, without the one being sent.");
    fields.Add("visible_after", settings_.visible_after, {.at_least = Duration{0}, .at_most = 1_s},
               "Time from queueing a packet until it counts, as hardware counts a packet only once "
               "it is written to the queue. 0ps: at once.");
    DeclarePerClass(fields, settings_.per_class);
    fields.Require(
        !settings_.per_class || settings_.visible_after == Duration{0}, "per_class",
        "bytes not visible yet are known only for a whole port; leave visible_after out");
    const bool counts_packets = settings_.metric == DrillMetric::kWaiting;
    fields.Require(!counts_packets || !settings_.per_class, "metric",
                   "waiting is known only for a whole port; leave per_class out");
    fields.Require(!counts_packets || settings_.visible_after == Duration{0}, "metric",
                   "waiting counts packets at once; leave visible_after out");
    fields.Add("components", settings_.components,
               "Hash flows to components of next hops whose paths are alike, link by link, in "
               "proportion to their capacity; false: spread all packets over all next hops.");
  }
  bool reorders() const override { return true; }
  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const override {
    return std::make_unique<Drill>(settings_, EcmpSalt(id, seed), Rng::Stream(seed, "drill", id));
  }

 private:
  DrillSettings settings_;
};

[[maybe_unused]] const bool registered = LoadBalancers().Add<DrillBalancer>(
    {"drill",
     "Every packet takes the shortest queue of d random ports and the m that were best before.",
     "Ghorbani et al., SIGCOMM 2017"});

}  // namespace
}  // namespace heddle
