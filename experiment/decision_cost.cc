// SPDX-License-Identifier: Apache-2.0

#include "experiment/decision_cost.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include "core/check.h"
#include "core/engine.h"
#include "experiment/experiment.h"
#include "experiment/simulation.h"
#include "fabric/around_policy.h"
#include "fabric/flow.h"
#include "fabric/paths.h"
#include "settings/fields.h"
#include "settings/reader.h"
#include "settings/yaml.h"

namespace heddle {
namespace {

constexpr uint32_t kPrompt = 0xffff'ffff;  // The last of all timers of one instant.
constexpr Duration kLinkDelay = 5_us;
constexpr Duration kVisit = 4_us;  // Shorter, so that what a visit sends arrives after it.

// --- Recording ---

// Writes down what it is asked about, and forwards it by its hash.
class Recorder final : public SwitchPolicy {
 public:
  explicit Recorder(std::vector<RecordedPacket>* into) : into_(into) {}
  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex /*in_port*/,
                    const Candidates& candidates) override {
    if (into_ != nullptr) into_->push_back({view.now(), packet});
    return Decision::Forward(candidates.ports[packet.tuple_hash % candidates.ports.size()]);
  }
  size_t StateBytes() const override { return 0; }

 private:
  std::vector<RecordedPacket>* const into_;
};

class RecorderBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& /*fields*/) override {}
  std::unique_ptr<SwitchPolicy> ForSwitch(SwitchId id, uint64_t /*seed*/) const override {
    return std::make_unique<Recorder>(id == 0 ? into : nullptr);
  }

  std::vector<RecordedPacket>* into = nullptr;
};

// --- Measuring ---

double Nanoseconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

// Misses of the last-level cache in user code of this thread, while it runs.
class MissCounter {
 public:
  MissCounter() {
    perf_event_attr what = {};
    what.size = sizeof(what);
    what.type = PERF_TYPE_HARDWARE;
    what.config = PERF_COUNT_HW_CACHE_MISSES;
    what.disabled = 1;
    what.exclude_kernel = 1;
    file_ = static_cast<int>(syscall(SYS_perf_event_open, &what, 0, -1, -1, 0));
  }
  ~MissCounter() {
    if (file_ >= 0) close(file_);
  }
  MissCounter(const MissCounter&) = delete;
  MissCounter& operator=(const MissCounter&) = delete;

  bool works() const { return file_ >= 0; }
  void Start() {
    if (works()) ioctl(file_, PERF_EVENT_IOC_ENABLE, 0);
  }
  void Stop() {
    if (works()) ioctl(file_, PERF_EVENT_IOC_DISABLE, 0);
  }
  std::optional<int64_t> Count() const {
    int64_t count = 0;
    if (!works() || read(file_, &count, sizeof(count)) != sizeof(count)) return std::nullopt;
    return count;
  }

 private:
  int file_;
};

// Where wires lead: takes everything and does nothing.
class Sink final : public Node {
 public:
  void Run(const Window& window) override {
    while (arrivals_.Next() < window.end) arrivals_.Pop();
  }
  Time Due() const override { return arrivals_.Next(); }
};

Window Until(Time end) { return {end, end}; }

// Two leaves with a spine for each uplink, which all run the scheme, so that what it needs to be
// told arrives. The first leaf, of host 0, is measured; ports 0 .. n-1 of both lead to spines, port
// n to the host.
class LeafPair {
 public:
  LeafPair(const LoadBalancer& balancer, size_t uplinks)
      : prompter_(new Prompter(balancer.ForSwitch(0, /*seed=*/1))),
        to_host_(static_cast<PortIndex>(uplinks)),
        prefetches_((prompter_->hooks() & SwitchPolicy::kPrefetch) != 0),
        hosts_(2) {
    AddSwitch(0, uplinks + 1, std::unique_ptr<SwitchPolicy>(prompter_));
    AddSwitch(0, uplinks + 1, balancer.ForSwitch(1, /*seed=*/1));
    for (SwitchId spine = 2; spine < uplinks + 2; ++spine) {
      AddSwitch(1, 2, balancer.ForSwitch(spine, /*seed=*/1));
    }
    engine_.Add(sink_, engine_.AddGroup());
    Link(uplinks);
    engine_.Place(1);
    for (PortIndex p = 0; p < to_host_; ++p) uplinks_.push_back(p);
    for (const auto& node : switches_) Prepare(*node);
    view_.emplace(leaf());
  }

  // Nanoseconds for the questions about `packets`, all at the time of the first.
  double Ask(std::span<const RecordedPacket> packets, Time start, MissCounter* misses) {
    double ns = 0;
    prompter_->question = [&](SwitchView& view, SwitchPolicy& policy) {
      if (misses != nullptr) misses->Start();
      ns = Nanoseconds([&] {
        for (size_t i = 0; i < packets.size(); ++i) {
          if (prefetches_ && i + 1 < packets.size()) policy.Prefetch(packets[i + 1].packet);
          Decide(view, policy, packets[i].packet);
        }
      });
      if (misses != nullptr) misses->Stop();
    };
    const Time at = start + (packets.front().at - Time{});
    view_->SetTimer(at, kPrompt);
    RunUntil(at + 1_ps);
    return ns;
  }

  // Nanoseconds for all that the measured leaf does until `packets`, which come within a visit,
  // have been forwarded, while the other leaf's host sends the same the other way.
  double Forward(std::span<const RecordedPacket> packets, Time start) {
    for (const RecordedPacket& recorded : packets) {
      Packet packet = recorded.packet;
      packet.hops = 0xff;  // Ports of switches count; it has passed none.
      for (HostId host = 0; host < 2; ++host) {
        packet.src = host;
        packet.dst = static_cast<HostId>(1 - host);
        hosts_[host].Send(packet, 0, start + (recorded.at - Time{}), Until(ran_to_));
      }
    }
    return RunUntil(start + (packets.front().at - Time{}) + kLinkDelay + kVisit);
  }

  size_t state_bytes() const { return prompter_->StateBytes(); }

 private:
  // Stands around the scheme, to ask questions of its own.
  class Prompter final : public AroundSwitchPolicy {
   public:
    using AroundSwitchPolicy::AroundSwitchPolicy;
    void OnTimer(SwitchView& view, uint32_t id) override {
      if (id != kPrompt) return AroundSwitchPolicy::OnTimer(view, id);
      question(view, scheme());
    }
    std::function<void(SwitchView&, SwitchPolicy&)> question;
  };

  Switch& leaf() { return *switches_.front(); }

  void Decide(SwitchView& view, SwitchPolicy& policy, const Packet& packet) const {
    Decision decision = policy.OnPacket(view, packet, to_host_, {0, 1, uplinks_});
    asm volatile("" : : "g"(&decision) : "memory");  // It is used.
  }

  void AddSwitch(int tier, size_t ports, std::unique_ptr<SwitchPolicy> policy) {
    const auto id = static_cast<SwitchId>(switches_.size());
    switches_.push_back(std::make_unique<Switch>(id, tier, ports, std::move(policy)));
    engine_.Add(*switches_.back(), engine_.AddGroup());
  }

  // In the order in which their ends number them.
  void Link(size_t uplinks) {
    const PortSettings link{.rate = 100_Gbps, .delay = kLinkDelay, .wire_overhead = 24_B};
    const auto connect = [&](Switch& from, Node& to, bool faces_host) {
      engine_.Connect(from, from.AddPort(link, faces_host).wire(), to, kLinkDelay);
    };
    for (size_t l = 0; l < 2; ++l) {
      for (size_t p = 0; p < uplinks; ++p) {
        connect(*switches_[l], *switches_[2 + p], false);
        connect(*switches_[2 + p], *switches_[l], false);
      }
      connect(*switches_[l], sink_, true);
      // One sender stands for 16 hosts: fast enough that packets keep their times.
      PortSettings fast = link;
      fast.rate = 8'000_Gbps;
      engine_.Connect(sink_, hosts_.Add(fast).wire(), *switches_[l], kLinkDelay);
    }
  }

  void Prepare(Switch& node) {
    const size_t n = uplinks_.size();
    RoutingTable routes;
    NextHopTable next_hops;
    next_hops.set_of_leaf = {0, 1};
    if (node.tier() > 0) {
      routes.ports = {0, 1};
      routes.set_of_host = {0, 1};
      routes.sets = {{0, 1}, {1, 1}};
      routes.path_divisor = static_cast<uint32_t>(n);
      next_hops.sets = {{{(100_Gbps).bps, 0}}, {{(100_Gbps).bps, 0}}};
    } else {
      routes.ports = uplinks_;
      routes.ports.push_back(to_host_);
      routes.set_of_host = {0, 0};
      routes.set_of_host[node.id()] = 1;
      routes.sets = {{0, to_host_}, {to_host_, 1}};
      routes.uplinks = uplinks_;
      next_hops.sets.resize(2);
      next_hops.sets[1 - node.id()].resize(n, {(100_Gbps).bps, 0});
    }
    node.SetRoutes(std::move(routes));
    node.SetLeaves({kLeafOfHost, 2});
    node.SetNextHops(std::move(next_hops));
    node.Attach();
  }

  // Nanoseconds that the measured leaf takes, up to `end`. By visits, as what is sent within one
  // arrives after it.
  double RunUntil(Time end) {
    double ns = 0;
    while (ran_to_ < end) {
      const Window window = Until(std::min(end, ran_to_ + kVisit));
      ns += Nanoseconds([&] { leaf().Run(window); });
      for (size_t s = 1; s < switches_.size(); ++s) switches_[s]->Run(window);
      sink_.Run(window);
      ran_to_ = window.end;
    }
    return ns;
  }

  static constexpr uint16_t kLeafOfHost[] = {0, 1};

  Prompter* const prompter_;  // Owned by the leaf.
  const PortIndex to_host_;
  const bool prefetches_;  // The policy wants to know of the packet behind.
  Engine engine_;
  std::vector<std::unique_ptr<Switch>> switches_;  // Leaves, then spines.
  std::optional<SwitchView> view_;                 // Of the measured leaf.
  Sink sink_;                                      // Both hosts.
  FixedVector<FifoPort> hosts_;                    // What they send through.
  std::vector<PortIndex> uplinks_;
  Time ran_to_;
};

// Host 0, with as many paths to host 1 as there are uplinks.
class LoneHost {
 public:
  LoneHost(const LoadBalancer& balancer, size_t paths)
      : prompter_(new Prompter(balancer.ForHost(0, /*seed=*/1))),
        host_(0, 1, std::unique_ptr<HostPolicy>(prompter_)),
        view_(host_),
        paths_({0, 1}, 2) {
    engine_.Add(host_, engine_.AddGroup());
    engine_.Add(sink_, engine_.AddGroup());
    FifoPort& nic = host_.AddNic({.rate = 100_Gbps, .delay = kLinkDelay, .wire_overhead = 24_B});
    engine_.Connect(host_, nic.wire(), sink_, kLinkDelay);
    engine_.Place(1);
    std::vector<PathChoice> choices;
    for (size_t p = 0; p < paths; ++p) choices.push_back({static_cast<uint16_t>(p), 1});
    paths_.Set(0, 1, std::move(choices));
    host_.SetPaths(&paths_);
    host_.SetLeaves({kLeafOfHost, 2});
    host_.Attach();
  }

  bool sends() const { return (prompter_->hooks() & HostPolicy::kSend) != 0; }
  size_t state_bytes() const {
    const auto has_started = [](const HostFlow& flow) { return flow.size != 0; };
    const auto started = static_cast<size_t>(std::ranges::count_if(flows_, has_started));
    return prompter_->StateBytes() + prompter_->FlowBytes() * started;
  }

  // Nanoseconds for what the policy does to `packets`, all at the time of the first.
  double Send(std::span<const RecordedPacket> packets, Time start) {
    double ns = 0;
    At(start + (packets.front().at - Time{}), [&](HostView& view, HostPolicy& policy) {
      for (const RecordedPacket& recorded : packets) MakeFlow(view, policy, recorded.packet);
      ns = Nanoseconds([&] {
        for (const RecordedPacket& recorded : packets) {
          HostFlow& flow = flows_[recorded.packet.flow];
          Packet packet = recorded.packet;
          policy.OnSend(view, flow, packet);
          flow.bytes_sent += packet.data.payload;
        }
      });
    });
    return ns;
  }

 private:
  using Question = std::function<void(HostView&, HostPolicy&)>;

  class Prompter final : public AroundHostPolicy {
   public:
    using AroundHostPolicy::AroundHostPolicy;
    void OnTimer(HostView& view, uint32_t id) override {
      if (id != kPrompt) return AroundHostPolicy::OnTimer(view, id);
      question(view, scheme());
    }
    Question question;
  };

  void At(Time at, const Question& question) {
    prompter_->question = question;
    view_.SetTimer(at, kPrompt);
    while (host_.Due() <= at) {
      const Time end = host_.Due() + 1_ps;
      host_.Run(Until(end));
      sink_.Run(Until(end));
    }
  }

  void MakeFlow(HostView& view, HostPolicy& policy, const Packet& packet) {
    if (packet.flow >= flows_.size()) flows_.resize(packet.flow + 1);
    HostFlow& flow = flows_[packet.flow];
    if (flow.size != 0) return;
    flow.id = packet.flow;
    flow.dst = packet.dst;
    flow.tuple_hash = packet.tuple_hash;
    flow.size = 1'000'000'000;
    if (policy.hooks() & HostPolicy::kFlows) policy.OnFlowStart(view, flow);
  }

  static constexpr uint16_t kLeafOfHost[] = {0, 1};

  Prompter* const prompter_;  // Owned by the host.
  Engine engine_;
  Host host_;
  HostView view_;
  PathTable paths_;
  Sink sink_;
  std::vector<HostFlow> flows_;
};

// Calls `visit` with one visit's packets after the other, and when the recording began: it goes
// round after round. Returns the least time of a round, per packet; the first only warms up.
using Visit = std::function<double(std::span<const RecordedPacket>, Time)>;

double LeastOfRounds(const std::vector<RecordedPacket>& packets, int rounds, const Visit& visit) {
  double least = 0;
  Time start;
  for (int round = 0; round <= rounds; ++round) {
    double ns = 0;
    for (size_t first = 0, last = 0; first < packets.size(); first = last) {
      while (last < packets.size() && packets[last].at < packets[first].at + kVisit) ++last;
      ns += visit({packets.data() + first, last - first}, start);
    }
    start = start + (packets.back().at - Time{}) + kLinkDelay * 4;
    if (round == 1 || (round > 1 && ns < least)) least = ns;
  }
  return least / static_cast<double>(packets.size());
}

std::vector<RecordedPacket> DataOf(const std::vector<RecordedPacket>& packets) {
  std::vector<RecordedPacket> data;
  std::ranges::copy_if(packets, std::back_inserter(data), [](const RecordedPacket& recorded) {
    return recorded.packet.kind == PacketKind::kData;
  });
  return data;
}

bool Refuses(LoadBalancer& balancer, size_t candidates) {
  FabricShape fabric;
  fabric.leaf_uplinks = candidates;
  fabric.host_rate = 25_Gbps;
  fabric.fabric_rate = 100_Gbps;
  Diagnostics diagnostics;
  balancer.Prepare(fabric, "lb", diagnostics);
  return !diagnostics.ok();
}

}  // namespace

std::vector<RecordedPacket> RecordLeaf() {
  Diagnostics diagnostics;
  std::vector<Experiment> experiments = LoadExperimentsFromText(
      "name: recorded\n"
      "topology: {kind: leaf_spine, leaves: 2, spines: 4, hosts_per_leaf: 16,"
      " host_link: {rate: 25Gbps, delay: 1us}, fabric_link: {rate: 100Gbps, delay: 1us}}\n"
      "lb: ecmp\n"
      "workload: [{kind: poisson, sizes: websearch, load: 0.6, duration: 2ms}]\n"
      "measure: {warm_up: 0us, unfinished: drop, t_max: 2ms}\n",
      "recorded", "", {}, diagnostics);
  HEDDLE_CHECK(diagnostics.ok(), "{}", diagnostics.Report());
  std::vector<RecordedPacket> packets;
  auto recorder = std::make_unique<RecorderBalancer>();
  recorder->into = &packets;
  experiments.front().settings.lb = {"recorder", std::move(recorder)};
  Simulate(experiments.front(), {}, [](std::string_view) { return true; });
  const Duration begin = packets.front().at - Time{};
  for (RecordedPacket& recorded : packets) {
    recorded.at = recorded.at - begin;
    recorded.packet.src = 0;  // The hosts of the measured leaf.
    recorded.packet.dst = 1;
  }
  return packets;
}

std::vector<RecordedPacket> WithLiveFlows(const std::vector<RecordedPacket>& recorded, size_t count,
                                          size_t flows) {
  std::map<FlowId, FlowId> number_of;
  for (const RecordedPacket& one : recorded) number_of.emplace(one.packet.flow, number_of.size());
  const size_t kinds = number_of.size();
  const auto copies = static_cast<uint32_t>(std::max<size_t>(1, (flows + kinds / 2) / kinds));
  Rng rng = Rng::Stream(1, "decision_cost", 0);
  std::vector<RecordedPacket> packets;
  packets.reserve(count);
  Time start;
  while (packets.size() < count) {
    const RecordedPacket& from = recorded[packets.size() % recorded.size()];
    packets.push_back(from);
    packets.back().at = start + (from.at - Time{});
    Packet& packet = packets.back().packet;
    packet.flow = number_of[packet.flow] + static_cast<FlowId>(kinds) * rng.Below(copies);
    packet.tuple_hash = TupleHash(0, 1, static_cast<uint16_t>(packet.flow),
                                  static_cast<uint16_t>(packet.flow >> 16));
    if (packets.size() % recorded.size() == 0) start = packets.back().at + 1_ns;
  }
  return packets;
}

Chosen<LoadBalancer> ReadBalancer(const std::string& yaml, Diagnostics& diagnostics) {
  Chosen<LoadBalancer> balancer;
  const std::optional<Value> value = ParseYaml(yaml, yaml, diagnostics);
  if (!value) return balancer;
  Value document;
  document.kind = Value::Kind::kMap;
  document.place = value->place;
  document.entries.push_back({"lb", value->place, *value});
  const auto declare = [&](Fields& fields) {
    fields.Kind("lb", balancer, LoadBalancers(), "", Fields::kRequired);
  };
  ReadSettings(document, declare, diagnostics);
  return balancer;
}

std::optional<DecisionCost> MeasureDecisions(const CostPlan& plan,
                                             const std::vector<RecordedPacket>& packets) {
  Diagnostics diagnostics;
  const Chosen<LoadBalancer> balancer = ReadBalancer(plan.balancer, diagnostics);
  HEDDLE_CHECK(diagnostics.ok(), "{}", diagnostics.Report());
  if (Refuses(*balancer.settings, plan.candidates)) return std::nullopt;
  DecisionCost cost;
  LeafPair asked(*balancer.settings, plan.candidates);
  MissCounter misses;
  cost.decide_ns = LeastOfRounds(packets, plan.rounds, [&](auto visit, Time start) {
    return asked.Ask(visit, start, nullptr);
  });
  cost.switch_bytes = asked.state_bytes();
  if (misses.works()) {
    LeafPair counted(*balancer.settings, plan.candidates);
    LeastOfRounds(packets, /*rounds=*/1, [&](auto visit, Time start) {
      return counted.Ask(visit, start, start == Time{} ? nullptr : &misses);
    });
    const auto count = misses.Count();
    if (count) cost.misses = static_cast<double>(*count) / static_cast<double>(packets.size());
  }
  LeafPair whole(*balancer.settings, plan.candidates);
  cost.switch_ns = LeastOfRounds(packets, plan.rounds, [&](auto visit, Time start) {
    return whole.Forward(visit, start) / 2;  // Both ways.
  });
  LoneHost host(*balancer.settings, plan.candidates);
  if (host.sends()) {
    cost.host_ns = LeastOfRounds(DataOf(packets), plan.rounds,
                                 [&](auto visit, Time start) { return host.Send(visit, start); });
    cost.host_bytes = host.state_bytes();
  }
  return cost;
}

bool CountsCacheMisses() { return MissCounter().works(); }

}  // namespace heddle
