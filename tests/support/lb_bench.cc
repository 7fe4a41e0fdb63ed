// SPDX-License-Identifier: Apache-2.0

#include "tests/support/lb_bench.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "fabric/around_policy.h"
#include "fabric/flow.h"
#include "tests/support/settings_from.h"

namespace heddle {
namespace {

constexpr uint32_t kPrompt = 0xffff'ffff;  // The last of all timers of one instant.

template <class Counters>
int64_t CountIn(const Counters& counters, std::string_view name) {
  for (const auto& counter : counters) {
    if (counter.name == name) return counter.value;
  }
  ADD_FAILURE() << "no counter is called " << name;
  return -1;
}

Window InstantAt(Time at) { return Window::Until(at + 1_ps); }

// Runs instant by instant, so that packets sent arrive beyond the window.
void RunUntil(Node& node, Time at) {
  while (node.Due() < at) node.Run(InstantAt(node.Due()));
  node.Run(InstantAt(at));
}

}  // namespace

Chosen<LoadBalancer> BalancerFrom(std::string_view settings, const FabricShape& fabric) {
  Chosen<LoadBalancer> balancer = KindFrom(settings, LoadBalancers());
  Diagnostics diagnostics;
  balancer.settings->Prepare(fabric, "lb", diagnostics);
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.Report();
  return balancer;
}

Packet LbPacket(uint32_t tuple_hash, uint32_t payload) {
  Packet packet;
  packet.tuple_hash = tuple_hash;
  packet.dst = 1;
  packet.bytes = static_cast<uint16_t>(payload + 40);
  packet.data.payload = static_cast<uint16_t>(payload);
  return packet;
}

std::vector<uint32_t> RandomTuples(uint64_t seed, size_t count) {
  Rng rng = Rng::Stream(seed, "tuples", 0);
  std::vector<uint32_t> tuples;
  for (size_t i = 0; i < count; ++i) {
    const auto draw = [&](uint32_t n) { return static_cast<uint16_t>(rng.Below(n)); };
    tuples.push_back(TupleHash(draw(128), draw(128), draw(65'536), 80));
  }
  return tuples;
}

void LbSink::Run(const Window& window) {
  while (arrivals_.Next() < window.end) arrivals_.Pop();
}

// --- The switch ---

// A policy between the switch and the scheme, which asks the scheme the test's questions.
class LbSwitch::Prompter final : public AroundSwitchPolicy {
 public:
  using AroundSwitchPolicy::AroundSwitchPolicy;
  void OnTimer(SwitchView& view, uint32_t id) override {
    if (id != kPrompt) return AroundSwitchPolicy::OnTimer(view, id);
    (*question)(view, scheme());
  }

  const SwitchPolicy& policy() { return scheme(); }
  const Question* question = nullptr;
};

LbSwitch::LbSwitch(std::string_view settings, Shape shape)
    : shape_(shape),
      prompter_(new Prompter(
          BalancerFrom(settings, shape.fabric).settings->ForSwitch(shape.id, shape.seed))),
      switch_(shape.id, /*tier=*/0, shape.uplinks.size() + 1, std::unique_ptr<Prompter>(prompter_)),
      view_(switch_) {
  MakePorts(shape);
  switch_.Attach();
}

LbSwitch::~LbSwitch() = default;

void LbSwitch::MakePorts(const Shape& shape) {
  engine_.Add(switch_, engine_.AddGroup());
  engine_.Add(sink_, engine_.AddGroup());
  const PortIndex n = static_cast<PortIndex>(shape.uplinks.size());
  RoutingTable routes;
  for (PortIndex p = 0; p <= n; ++p) {
    const BitRate rate = p < n ? shape.uplinks[p] : 100_Gbps;
    FifoPort& port = switch_.AddPort({.rate = rate, .delay = 1_us, .wire_overhead = 24_B}, p == n);
    engine_.Connect(switch_, port.wire(), sink_, 1_us);
    if (p < n) uplinks_.push_back(p);
    routes.ports.push_back(p);
  }
  engine_.Place(1);
  std::vector<uint16_t> sets(shape.remote_leaves + 1, 0);
  sets[0] = 1;
  routes.SetSetsOfHosts(sets);
  for (size_t host = 0; host <= shape.remote_leaves; ++host) {
    leaf_of_host_.push_back(static_cast<uint16_t>(host));
  }
  routes.sets = {{0, n}, {n, 1}};
  routes.uplinks = uplinks_;
  routes.path_divisor = shape.path_divisor;
  switch_.SetRoutes(std::move(routes));
  switch_.SetLeaves({leaf_of_host_, leaf_of_host_.size()});
  map_.ways = shape.ways;
  switch_.SetMap(&map_);
  live_ = uplinks_;
  TellNextHops();
}

// Gives the switch the next hops of the live uplinks.
void LbSwitch::TellNextHops() {
  NextHopTable table;
  table.set_of_leaf.push_back(0);
  table.sets.emplace_back();
  for (size_t leaf = 0; leaf < shape_.remote_leaves; ++leaf) {
    table.set_of_leaf.push_back(static_cast<uint16_t>(leaf + 1));
    std::vector<NextHop>& next_hops = table.sets.emplace_back();
    for (const PortIndex port : live_) {
      next_hops.push_back(leaf < shape_.next_hops.size() ? shape_.next_hops[leaf][port]
                                                         : NextHop{shape_.uplinks[port].bps, 0});
    }
  }
  switch_.SetNextHops(std::move(table));
}

void LbSwitch::At(Time at, const Question& ask) {
  // A packet that the policy sends must not arrive within the window that it is sent in.
  while (switch_.Due() < at) switch_.Run(InstantAt(switch_.Due()));
  prompter_->question = &ask;
  view_.SetTimer(at, kPrompt);
  RunUntil(switch_, at);
}

Decision LbSwitch::Decide(const Packet& packet, Time at, std::span<const PortIndex> live) {
  if (!std::ranges::equal(live, live_)) {
    live_.assign(live.begin(), live.end());
    ++version_;
    TellNextHops();
  }
  Decision decision = Decision::Discard();
  At(at, [&](SwitchView& view, SwitchPolicy& policy) {
    const PortIndex from_host = static_cast<PortIndex>(uplinks_.size());
    decision = policy.OnPacket(view, packet, from_host, {0, version_, live_});
  });
  return decision;
}

PortIndex LbSwitch::PortFor(const Packet& packet, Time at, std::span<const PortIndex> live) {
  const Decision decision = Decide(packet, at, live);
  EXPECT_EQ(decision.kind, Decision::Kind::kForward);
  return decision.port;
}

const SwitchPolicy& LbSwitch::policy() const { return prompter_->policy(); }

int64_t LbSwitch::Count(std::string_view counter) const {
  return CountIn(policy().Counters(), counter);
}

// --- The host ---

class LbHost::Prompter final : public AroundHostPolicy {
 public:
  using AroundHostPolicy::AroundHostPolicy;
  void OnTimer(HostView& view, uint32_t id) override {
    if (id != kPrompt) return AroundHostPolicy::OnTimer(view, id);
    (*question)(view, scheme());
  }

  const HostPolicy* policy() { return has_scheme() ? &scheme() : nullptr; }
  const Question* question = nullptr;
};

LbHost::LbHost(std::string_view settings, const PathTable& paths, HostId id, uint64_t seed,
               const FabricShape& fabric)
    : prompter_(new Prompter(BalancerFrom(settings, fabric).settings->ForHost(id, seed))),
      host_(id, 1, std::unique_ptr<Prompter>(prompter_)),
      view_(host_) {
  engine_.Add(host_, engine_.AddGroup());
  engine_.Add(sink_, engine_.AddGroup());
  FifoPort& nic = host_.AddNic({.rate = 100_Gbps, .delay = 1_us, .wire_overhead = 24_B});
  engine_.Connect(host_, nic.wire(), sink_, 1_us);
  engine_.Place(1);
  host_.SetPaths(&paths);
  host_.SetLeaves({kLeafOfHost, 2});
  host_.Attach();
}

LbHost::~LbHost() = default;

bool LbHost::has_policy() const { return prompter_->policy() != nullptr; }
const HostPolicy& LbHost::policy() const { return *prompter_->policy(); }
int64_t LbHost::Count(std::string_view counter) const {
  return CountIn(policy().Counters(), counter);
}

void LbHost::At(Time at, const Question& ask) {
  while (host_.Due() < at) host_.Run(InstantAt(host_.Due()));
  prompter_->question = &ask;
  view_.SetTimer(at, kPrompt);
  RunUntil(host_, at);
}

HostFlow LbHost::Start(HostId dst, FlowId id, Time at) {
  HostFlow flow;
  flow.id = id;
  flow.src = view_.id();
  flow.dst = dst;
  flow.tuple_hash = TupleHash(flow.src, dst, static_cast<uint16_t>(id), 80);
  At(at, [&](HostView& view, HostPolicy& policy) {
    if (Wants(HostPolicy::kFlows)) policy.OnFlowStart(view, flow);
  });
  return flow;
}

Packet LbHost::Send(HostFlow& flow, uint32_t payload, Time at) {
  Packet packet = LbPacket(flow.tuple_hash, payload);
  packet.dst = flow.dst;
  At(at, [&](HostView& view, HostPolicy& policy) {
    if (Wants(HostPolicy::kSend)) policy.OnSend(view, flow, packet);
  });
  flow.bytes_sent += payload;
  return packet;
}

PathTable PathsOfWeights(const std::vector<uint16_t>& weights) {
  PathTable table({0, 1, 0}, 2);
  std::vector<PathChoice> paths;
  for (const uint16_t weight : weights) {
    paths.push_back({static_cast<uint16_t>(paths.size()), weight});
  }
  table.Set(0, 1, std::move(paths));
  return table;
}

}  // namespace heddle
