// SPDX-License-Identifier: Apache-2.0
// Two engines that do the same forwarding, without transport or statistics: hosts send at a steady
// rate over a leaf-spine with ECMP, drop-tail queues and ECN marking. ConventionalNetwork is a
// textbook simulator: one binary heap of events for the whole network, and packets from a pool.
// HeddleNetwork is made of Heddle's engine, switches and ports. Both count the same hops, drops and
// marks.

#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "core/engine.h"
#include "fabric/ecmp_hash.h"
#include "fabric/switch.h"
#include "topo/routing.h"

namespace heddle::forwarding {

inline constexpr BitRate kRate = 100_Gbps;
inline constexpr Duration kDelay = 1_us;
inline constexpr int64_t kFrame = 1518;
inline constexpr int64_t kOverhead = 20;
inline constexpr int64_t kBuffer = 700 * kFrame;
inline constexpr int64_t kMarkAbove = 65 * kFrame;
inline constexpr Duration kGap{1538 * 80 * 10 / 8};  // 80 % of the link rate.

struct Shape {
  uint32_t leaves;
  uint32_t hosts_per_leaf;
  uint32_t spines;

  uint32_t hosts() const { return leaves * hosts_per_leaf; }
};

inline constexpr Shape k128Hosts{8, 16, 8};
inline constexpr Shape k1024Hosts{32, 32, 32};

struct Counts {
  int64_t hops = 0;
  int64_t received = 0;
  int64_t dropped = 0;
  int64_t marked = 0;

  friend bool operator==(const Counts&, const Counts&) = default;
};

// The n-th packet of host h belongs to one of 16 flows, eight packets at a time.
inline uint32_t TupleOf(uint32_t host, uint32_t n) {
  return static_cast<uint32_t>(Mix64(host * 64 + (n >> 3) % 16));
}
inline uint64_t SaltOf(uint32_t s) { return Mix64(s + 99); }
inline Time FirstOf(uint32_t host) { return Time{host * 1000}; }

// --- The conventional engine ---

class ConventionalNetwork {
 public:
  explicit ConventionalNetwork(const Shape& shape) : shape_(shape) {
    const uint32_t hosts = shape.hosts();
    nodes_.resize(hosts + shape.leaves + shape.spines);
    for (uint32_t h = 0; h < hosts; ++h) AddPort(h, hosts + h / shape.hosts_per_leaf);
    for (uint32_t l = 0; l < shape.leaves; ++l) {
      for (uint32_t i = 0; i < shape.hosts_per_leaf; ++i) {
        AddPort(hosts + l, l * shape.hosts_per_leaf + i);
      }
      for (uint32_t s = 0; s < shape.spines; ++s) AddPort(hosts + l, hosts + shape.leaves + s);
    }
    for (uint32_t s = 0; s < shape.spines; ++s) {
      for (uint32_t l = 0; l < shape.leaves; ++l) AddPort(hosts + shape.leaves + s, hosts + l);
    }
    sent_.resize(hosts);
    for (uint32_t h = 0; h < hosts; ++h) Schedule(FirstOf(h), h, nullptr);
  }

  void Run(Time end) {
    while (events_.top().at < end) {
      const Event event = events_.top();
      events_.pop();
      if (event.packet == nullptr) {
        Originate(event.at, event.node);
      } else if (event.node < shape_.hosts()) {
        ++counts_.received;
        Free(event.packet);
      } else {
        ++event.packet->hops;
        Send(event.at, event.node, Route(event.node - shape_.hosts(), *event.packet), event.packet);
      }
    }
  }

  const Counts& counts() const { return counts_; }

 private:
  struct Record {  // Has the size of Heddle's packet.
    uint32_t dst;
    uint32_t tuple_hash;
    uint16_t bytes;
    bool marked;
    uint32_t hops;
    Record* next_free;
    char rest[40];
  };
  static_assert(sizeof(Record) == 64);
  struct Event {
    Time at;
    uint64_t number;
    Record* packet;  // Null: the host sends its next packet.
    uint32_t node;
    bool operator>(const Event& other) const {
      return at != other.at ? at > other.at : number > other.number;
    }
  };
  struct Port {
    uint32_t peer;
    Time busy_until;
    int64_t backlog = 0;
    std::queue<std::pair<Time, int64_t>> queue;
  };

  void AddPort(uint32_t node, uint32_t peer) { nodes_[node].push_back({peer, {}, 0, {}}); }

  void Schedule(Time at, uint32_t node, Record* packet) {
    events_.push({at, number_++, packet, node});
  }

  void Originate(Time now, uint32_t host) {
    Record* packet = Allocate();
    *packet = {.dst = (host + shape_.hosts_per_leaf) % shape_.hosts(),
               .tuple_hash = TupleOf(host, sent_[host]++),
               .bytes = kFrame,
               .marked = false,
               .hops = 0,
               .next_free = nullptr,
               .rest = {}};
    Send(now, host, 0, packet);
    Schedule(now + kGap, host, nullptr);
  }

  uint32_t Route(uint32_t s, const Record& packet) const {
    const uint32_t leaf = packet.dst / shape_.hosts_per_leaf;
    if (s >= shape_.leaves) return leaf;
    if (leaf == s) return packet.dst % shape_.hosts_per_leaf;
    Packet key;
    key.tuple_hash = packet.tuple_hash;
    return shape_.hosts_per_leaf +
           static_cast<uint32_t>(MapToRange(EcmpHash(key, SaltOf(s)), shape_.spines));
  }

  void Send(Time now, uint32_t node, uint32_t index, Record* packet) {
    Port& port = nodes_[node][index];
    while (!port.queue.empty() && port.queue.front().first <= now) {
      port.backlog -= port.queue.front().second;
      port.queue.pop();
    }
    if (port.backlog + packet->bytes > kBuffer) {
      ++counts_.dropped;
      return Free(packet);
    }
    port.backlog += packet->bytes;
    if (port.backlog > kMarkAbove && node >= shape_.hosts() && !packet->marked) {
      packet->marked = true;
      ++counts_.marked;
    }
    port.busy_until = std::max(port.busy_until, now) +
                      SerializationDelay(Bytes{packet->bytes + kOverhead}, kRate);
    port.queue.emplace(port.busy_until, packet->bytes);
    Schedule(port.busy_until + kDelay, port.peer, packet);
    ++counts_.hops;
  }

  Record* Allocate() {
    if (free_ == nullptr) {
      slabs_.push_back(std::make_unique<Record[]>(1024));
      for (int i = 0; i < 1024; ++i) Free(&slabs_.back()[static_cast<size_t>(i)]);
    }
    Record* packet = free_;
    free_ = packet->next_free;
    return packet;
  }
  void Free(Record* packet) {
    packet->next_free = free_;
    free_ = packet;
  }

  const Shape shape_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  uint64_t number_ = 0;
  std::vector<std::vector<Port>> nodes_;
  std::vector<uint32_t> sent_;
  std::vector<std::unique_ptr<Record[]>> slabs_;
  Record* free_ = nullptr;
  Counts counts_;
};

// --- Heddle's ---

class Ecmp final : public SwitchPolicy {
 public:
  explicit Ecmp(uint64_t salt) : salt_(salt) {}
  Decision OnPacket(SwitchView& /*view*/, const Packet& packet, PortIndex /*in_port*/,
                    const Candidates& candidates) override {
    return Decision::Forward(
        candidates.ports[MapToRange(EcmpHash(packet, salt_), candidates.ports.size())]);
  }
  std::optional<uint64_t> ecmp_salt() const override { return salt_; }
  size_t StateBytes() const override { return sizeof(salt_); }

 private:
  const uint64_t salt_;
};

// A host that sends at a steady rate and discards the packets that it receives.
class SteadyHost final : public Node {
 public:
  SteadyHost(uint32_t id, uint32_t dst, const PortSettings& port)
      : id_(id), dst_(dst), next_(FirstOf(id)), nic_(port) {}

  Time Due() const override { return std::min(next_, arrivals_.Next()); }
  void Run(const Window& window) override {
    while (Due() < window.end) {
      if (arrivals_.Next() <= next_) {
        ++received_;
        arrivals_.Pop();
      } else {
        Send(window);
      }
    }
  }

  FifoPort& nic() { return nic_; }
  int64_t received() const { return received_; }

 private:
  void Send(const Window& window) {
    Packet& packet = nic_.Slot(next_);
    packet.Clear();
    packet.src = static_cast<HostId>(id_);
    packet.dst = static_cast<HostId>(dst_);
    packet.bytes = kFrame;
    packet.flags = Packet::kEct;
    packet.tuple_hash = TupleOf(id_, sent_++);
    nic_.SendSlot(next_, window);
    next_ += kGap;
  }

  const uint32_t id_;
  const uint32_t dst_;
  Time next_;
  uint32_t sent_ = 0;
  int64_t received_ = 0;
  FifoPort nic_;
};

class RunUntil final : public Conductor {
 public:
  explicit RunUntil(Time end) : end_(end) {}
  Time Next() override { return kNever; }
  Time Open(Time /*start*/, Time latest) override { return latest; }
  void Close(Time /*end*/) override {}
  Time End() const override { return end_; }

 private:
  const Time end_;
};

class HeddleNetwork {
 public:
  HeddleNetwork(const Shape& shape, int threads) : graph_(GraphOf(shape)), routing_(graph_) {
    const PortSettings nic{.rate = kRate, .delay = kDelay, .wire_overhead = Bytes{kOverhead}};
    PortSettings port = nic;
    port.buffer = kBuffer;
    port.mark_above = kMarkAbove;
    for (size_t s = 0; s < graph_.switches.size(); ++s) engine_.AddGroup();
    for (uint32_t h = 0; h < shape.hosts(); ++h) {
      const uint32_t dst = (h + shape.hosts_per_leaf) % shape.hosts();
      hosts_.push_back(std::make_unique<SteadyHost>(h, dst, nic));
      nodes_.push_back(hosts_.back().get());
      engine_.Add(*hosts_.back(), h / shape.hosts_per_leaf);
    }
    for (uint32_t s = 0; s < graph_.switches.size(); ++s) {
      const size_t ports = shape.hosts_per_leaf + shape.leaves + shape.spines;
      switches_.push_back(std::make_unique<Switch>(static_cast<SwitchId>(s),
                                                   graph_.switches[s].tier, ports,
                                                   std::make_unique<Ecmp>(SaltOf(s))));
      engine_.Add(*switches_.back(), s);
    }
    for (const Graph::Link& link : graph_.links) {
      const bool from_host = graph_.IsHost(link.a);
      FifoPort& there =
          from_host ? hosts_[graph_.HostAt(link.a)]->nic() : SwitchOf(link.a).AddPort(port, false);
      FifoPort& back = SwitchOf(link.b).AddPort(port, from_host);
      engine_.Connect(NodeOf(link.a), there.wire(), NodeOf(link.b), kDelay);
      engine_.Connect(NodeOf(link.b), back.wire(), NodeOf(link.a), kDelay);
    }
    for (const auto& s : switches_) {
      s->SetRoutes(routing_.TableOf(s->id()));
      s->SetHosts(nodes_);
      s->Attach();
    }
    engine_.Place(threads);
    for (const auto& host : hosts_) host->Wake(host->Due());
  }

  void Run(Time end) {
    RunUntil conductor(end);
    engine_.Run(conductor);
  }

  Counts counts() {
    Counts counts;
    for (const auto& s : switches_) {
      for (FifoPort& port : s->ports()) {
        counts.hops += port.Committed().packets;
        counts.dropped += port.dropped();
        counts.marked += port.marked();
      }
    }
    for (const auto& host : hosts_) {
      counts.hops += host->nic().Committed().packets;
      counts.received += host->received();
    }
    return counts;
  }

 private:
  static Graph GraphOf(const Shape& shape) {
    Graph graph;
    graph.hosts = shape.hosts();
    const Channel channel{kRate, kDelay};
    for (uint32_t l = 0; l < shape.leaves; ++l) graph.switches.push_back({"leaf", 0});
    for (uint32_t s = 0; s < shape.spines; ++s) graph.switches.push_back({"spine", 1});
    for (uint32_t h = 0; h < graph.hosts; ++h) {
      graph.links.push_back({graph.VertexOfHost(h), graph.VertexOfSwitch(h / shape.hosts_per_leaf),
                             channel, channel, ""});
    }
    for (uint32_t l = 0; l < shape.leaves; ++l) {
      for (uint32_t s = 0; s < shape.spines; ++s) {
        graph.links.push_back({graph.VertexOfSwitch(l), graph.VertexOfSwitch(shape.leaves + s),
                               channel, channel, ""});
      }
    }
    return graph;
  }

  Switch& SwitchOf(VertexId vertex) { return *switches_[graph_.SwitchAt(vertex)]; }
  Node& NodeOf(VertexId vertex) {
    if (graph_.IsHost(vertex)) return *hosts_[graph_.HostAt(vertex)];
    return SwitchOf(vertex);
  }

  const Graph graph_;
  Routing routing_;
  std::vector<std::unique_ptr<SteadyHost>> hosts_;
  std::vector<std::unique_ptr<Switch>> switches_;
  std::vector<Node*> nodes_;
  Engine engine_;
};

}  // namespace heddle::forwarding
