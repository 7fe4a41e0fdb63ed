// SPDX-License-Identifier: Apache-2.0

#include "network/network.h"

#include <algorithm>
#include <numeric>

#include "core/check.h"
#include "lb/parts/follow_path.h"
#include "network/bandwidth_delay.h"
#include "network/return_path.h"

namespace heddle {

int64_t PacketCounts::dropped_total() const {
  return std::accumulate(std::begin(dropped), std::end(dropped), int64_t{0});
}

Duration WorstRoundTrip(const Graph& graph, const Routing& routing, const PacketSizes& sizes) {
  Duration slowest{0};
  const Bytes packet{sizes.DataPacket(sizes.mss) + sizes.wire_overhead};
  int tiers = 0;
  for (const Graph::SwitchVertex& s : graph.switches) tiers = std::max(tiers, s.tier + 1);
  for (const Graph::Link& link : graph.links) {
    for (const Channel& channel : {link.a_to_b, link.b_to_a}) {
      slowest = std::max(slowest, channel.delay + SerializationDelay(packet, channel.rate));
    }
  }
  // The way leads up, down and back; it is longer where links do not lead straight up and down.
  return slowest * std::max<int64_t>(4 * tiers, 2 * (routing.MostSwitches() + 1));
}

namespace {

// The longest idle round trip if trimming or marking follows from it.
Duration RoundTripFor(const NetworkPlan& plan, const Routing& routing) {
  if (!plan.port->trim.on() && !plan.transport->marks_by_bandwidth_delay()) return Duration{0};
  return PairBandwidthDelay(*plan.graph, routing, plan.transport->sizes()).LongestRoundTrip();
}

}  // namespace

UsualMarking UsualMarkingFor(const TransportModel& transport, Duration base_rtt, BitRate nic) {
  UsualMarking marking{.is_red = transport.wants_red()};
  if (!transport.marks_by_bandwidth_delay()) return marking;
  const PacketSizes sizes = transport.sizes();
  marking.probability = 1;
  marking.packet = sizes.DataPacket(sizes.mss);
  marking.bdp_packets = BandwidthDelayPackets(base_rtt, nic, marking.packet);
  marking.nic = nic;
  return marking;
}

Traffic TrafficOf(const TransportModel& transport, std::span<const UdpSource> background,
                  Duration base_rtt, BitRate nic) {
  const TransportModel::Classes classes = transport.classes();
  const PacketSizes sizes = transport.sizes();
  Traffic traffic{.classes = static_cast<uint8_t>(1u << classes.data | 1u << classes.control),
                  .control = classes.control,
                  .marking = UsualMarkingFor(transport, base_rtt, nic),
                  .sizes = {sizes.DataPacket(sizes.mss), sizes.wire_overhead},
                  .telemetry = transport.wants_telemetry(),
                  .can_trim = transport.can_trim(),
                  .data = classes.data,
                  .base_rtt = base_rtt,
                  .marks_at_last_hop = transport.wants_marks_at_last_hop()};
  for (const UdpSource& source : background) {
    traffic.classes = static_cast<uint8_t>(traffic.classes | 1u << source.priority);
    traffic.sizes.packet = std::max(traffic.sizes.packet, source.packet.count);
  }
  return traffic;
}

Network::Network(const NetworkPlan& plan)
    : plan_(plan),
      live_(*plan.graph),
      routing_(*plan.graph),
      map_(*plan.graph, routing_, *plan.port, plan.transport->sizes()),
      queue_plan_(*plan.graph, *plan.port,
                  TrafficOf(*plan.transport, plan.background, RoundTripFor(plan, routing_),
                            SlowestNic(*plan.graph)),
                  {plan.events.begin(), plan.events.end()}),
      is_queued_(plan.ports != NetworkPlan::Ports::kCheapest || !queue_plan_.fifo_is_exact()),
      carries_(plan.graph->links.size()),
      announced_(plan.graph->links.size()),
      news_(plan.routing, plan.graph->links.size()) {
  if (plan.routing.detect) {
    tables_.resize(plan.graph->switches.size());
    next_hops_.resize(plan.graph->switches.size());
  }
  if (!plan.events.empty()) routed_ = *plan.graph;
  MakeNodes();
  const auto chooses = [](const HostPolicy* policy) { return policy != nullptr; };
  if (std::ranges::any_of(host_policies_, chooses)) paths_ = routing_.MakePathTable();
  const auto sends = [](const HostPolicy* policy) { return policy && policy->sends_packets(); };
  const bool policies_send = std::ranges::any_of(host_policies_, sends);
  const auto weighs = [](const auto& s) { return s->WantsNextHops(); };
  weighs_ = paths_ != nullptr || std::ranges::any_of(switches_, weighs);
  MakeLinks();
  if (is_queued_) MakeQueues();
  const TransportModel::Classes classes = plan.transport->classes();
  const PacketSizes sizes = plan.transport->sizes();
  close_delay_ = WorstRoundTrip(*plan.graph, routing_, sizes);
  // A letter travels for half of close_delay_, so it must be read within the other half. A single
  // switch, whose links are all within its group, would set no limit itself.
  engine_.LimitWindow(close_delay_ / 2);
  if (plan.transport->needs_bandwidth_delay()) {
    bandwidth_delay_ =
        std::make_unique<PairBandwidthDelay>(*plan.graph, routing_, *plan.transport, queue_plan_);
  }
  transport_ = plan.transport->Prepare(close_delay_, bandwidth_delay_.get());
  for (const std::unique_ptr<Switch>& s : switches_) {
    SetRoutes(*s, routing_.TableOf(s->id()));
    s->SetHosts(host_nodes_);
    s->SetClasses(classes.control, classes.data);
    s->SetMap(&map_);
    s->SetLeaves({leaf_of_host_, routing_.leaves()});
  }
  TellNextHops(routing_);
  for (const std::unique_ptr<Switch>& s : switches_) s->Attach();
  engine_.Place(plan.threads);
  if (plan.moves_switches) engine_.MoveGroupsAtRandom(/*seed=*/1);
  for (const std::unique_ptr<Host>& host : hosts_) {
    host->SetTransport(transport_->MakeFor(*host));
    host->SetClasses(classes.data, classes.control);
    host->SetPauseResponse(plan.port->pfc.response, plan.port->pfc.quanta_or_none());
    host->SetHosts(host_nodes_);
    host->SetPaths(paths_.get());
    host->SetPoliciesSend(policies_send);
    host->SetLeaves({leaf_of_host_, routing_.leaves()});
    if (host->nics() > 1) host->SetFirstHops(routing_.FirstHopsOf(host->id()), Time{});
    host->Attach();
  }
  MakeBackground();
  MakeController();
}

// A leaf and its hosts are a group: the links inside may be short.
void Network::MakeNodes() {
  const Graph& graph = *plan_.graph;
  const std::vector<bool> faulty = FaultyVertices();
  for (size_t s = 0; s < graph.switches.size(); ++s) engine_.AddGroup();
  for (size_t h = 0; h < graph.hosts; ++h) {
    const HostId id = static_cast<HostId>(h);
    auto policy = plan_.host_policy ? plan_.host_policy(id) : nullptr;
    host_policies_.push_back(policy.get());
    if (plan_.ack_path == AckPath::kSymmetric) {
      policy = std::make_unique<MirrorAcks>(std::move(policy));
    }
    hosts_.push_back(std::make_unique<Host>(id, routing_.LinksOf(id), std::move(policy)));
    leaf_of_host_.push_back(routing_.LeafIndexOf(id));
    host_nodes_.push_back(hosts_.back().get());
    engine_.Add(*hosts_.back(), routing_.LeafOf(id));
    const VertexId vertex = graph.VertexOfHost(h);
    if (!faulty[vertex.index()]) continue;
    for (PortIndex port = 0; port < routing_.LinksOf(id); ++port) {
      const uint32_t link = routing_.NicsOf(id)[port].link;
      hosts_[h]->SetLoss(port, std::make_unique<RandomLoss>(LossOf(vertex, link)));
    }
  }
  const auto is_pinned = [](const UdpSource& source) { return source.path != kNoPath; };
  const bool pins = plan_.pins != nullptr || std::ranges::any_of(plan_.background, is_pinned);
  for (size_t s = 0; s < graph.switches.size(); ++s) {
    const SwitchId id = static_cast<SwitchId>(s);
    const size_t ports = routing_.PortsOf(id).size();
    SwitchPolicyPtr policy = plan_.switch_policy(id);
    switch_policies_.push_back(policy.get());
    if (plan_.ack_path != AckPath::kPolicy) {
      policy = std::make_unique<ReturnPaths>(std::move(policy), plan_.ack_path, id, plan_.seed);
    }
    if (pins) policy = std::make_unique<FollowPins>(std::move(policy), plan_.pins);
    faults_.push_back(nullptr);
    if (faulty[graph.VertexOfSwitch(s).index()]) policy = WithFaults(id, std::move(policy));
    if (plan_.around) policy = plan_.around(std::move(policy));
    switches_.push_back(
        std::make_unique<Switch>(id, graph.switches[s].tier, ports, std::move(policy)));
    engine_.Add(*switches_.back(), id);
  }
}

// Marks the vertices where the schedule ever loses a packet.
std::vector<bool> Network::FaultyVertices() const {
  const Graph& graph = *plan_.graph;
  std::vector<bool> faulty(graph.vertices(), false);
  for (const LinkEvent& event : plan_.events) {
    if (!event.loses()) continue;
    const Graph::Link& link = graph.links[event.link];
    faulty[link.a.index()] = faulty[link.b.index()] = true;
  }
  for (const SwitchEvent& event : plan_.faults) {
    faulty[graph.VertexOfSwitch(event.id).index()] = true;
  }
  return faulty;
}

SwitchPolicyPtr Network::WithFaults(SwitchId id, SwitchPolicyPtr policy) {
  const VertexId vertex = plan_.graph->VertexOfSwitch(id);
  std::vector<LinkLoss> links;
  for (const Adjacency::Port& port : routing_.PortsOf(id)) {
    links.push_back(LossesOf(vertex, port.link));
  }
  auto faults = std::make_unique<SwitchFaults>(
      std::move(policy), std::move(links), RandomLoss(Rng::Stream(plan_.seed, "switch drop", id)));
  faults_[id] = faults.get();
  return faults;
}

// Each direction of a link draws its losses from a stream of its own.
RandomLoss Network::LossOf(VertexId receiver, uint32_t link) const {
  const uint64_t back = plan_.graph->links[link].a == receiver ? 1 : 0;
  return RandomLoss(Rng::Stream(plan_.seed, "link loss", uint64_t{link} * 2 + back));
}

LinkLoss Network::LossesOf(VertexId receiver, uint32_t link) const {
  const uint64_t back = plan_.graph->links[link].a == receiver ? 1 : 0;
  return LinkLoss(LossOf(receiver, link),
                  Rng::Stream(plan_.seed, "link errors", uint64_t{link} * 2 + back));
}

void Network::MakeBackground() {
  if (plan_.background.empty()) return;
  udp_of_host_.assign(hosts_.size(), nullptr);
  for (const UdpSource& source : plan_.background) {
    Udp& sender = UdpOf(source.src);
    hosts_[source.src]->SetBackground(&sender, source.priority);
    sender.Send(source);
    UdpOf(source.dst).Expect(source);
    hosts_[source.src]->NoteOpened(source.dst);
    hosts_[source.dst]->NoteOpened(source.src);
  }
}

Udp& Network::UdpOf(HostId host) {
  Udp*& udp = udp_of_host_[host];
  if (udp == nullptr) {
    udp_.push_back(std::make_unique<Udp>(*hosts_[host]));
    udp = udp_.back().get();
    hosts_[host]->SetBackground(udp, 0);
  }
  return *udp;
}

std::vector<UdpRecord> Network::CollectBackground() const {
  std::vector<UdpRecord> records(plan_.background.size());
  for (const std::unique_ptr<Udp>& udp : udp_) udp->Collect(records);
  return records;
}

void Network::MakeController() {
  fabric_ = {switch_policies_, host_policies_, routing_.leaf_of_host()};
  if (plan_.controller) controller_ = plan_.controller(fabric_);
}

// Ports are numbered in the order of links, at both ends.
void Network::MakeLinks() {
  for (const Graph::Link& link : plan_.graph->links) {
    FifoPort& there = AddPort(link.a, link.b, link.a_to_b);
    FifoPort& back = AddPort(link.b, link.a, link.b_to_a);
    if (plan_.transport->wants_telemetry()) {
      there.wire().CarryTelemetry();
      back.wire().CarryTelemetry();
    }
    engine_.Connect(NodeOf(link.a), there.wire(), NodeOf(link.b), LeastCrossing(link.a_to_b));
    engine_.Connect(NodeOf(link.b), back.wire(), NodeOf(link.a), LeastCrossing(link.b_to_a));
  }
  std::ranges::stable_sort(egresses_, {}, &Egress::vertex);
}

void Network::MakeQueues() {
  Queueing queueing = queue_plan_.queueing();
  queueing.eager = plan_.ports == NetworkPlan::Ports::kEager;
  queueing.seed = plan_.seed;
  for (const std::unique_ptr<Switch>& s : switches_) {
    const VertexId vertex = live_.VertexOfSwitch(s->id());
    const std::vector<SharedMemory::Port> shares = queue_plan_.SharesOf(vertex);
    std::vector<QueuedPorts::Port> ports;
    for (FifoPort& port : s->ports()) {
      const Channel channel{port.rate(), port.delay()};
      const bool to_host = queue_plan_.LeadsToHost(vertex, ports.size());
      ports.push_back({&port, queue_plan_.QueuesAt(channel, to_host), shares[ports.size()],
                       queue_plan_.TrimAt(channel)});
    }
    s->UseQueues(queueing, ports);
  }
}

// Returns the least time from the moment a port has a packet to the packet's arrival at the other
// end. One transmission is rounded up by less than a picosecond, and the next one may be shorter by
// as much.
Duration Network::LeastCrossing(const Channel& channel) const {
  const PacketSizes sizes = plan_.transport->sizes();
  int64_t least = std::min<int64_t>(kMinPacketBytes, sizes.Smallest());
  if (plan_.port->pfc.on()) {
    least = std::min<int64_t>(least, queue_plan_.queueing().pause.frame_bytes);
  }
  const Bytes smallest{least + sizes.wire_overhead};
  return channel.delay + SerializationDelay(smallest, channel.rate) - 1_ps;
}

FifoPort& Network::AddPort(VertexId vertex, VertexId peer, const Channel& channel) {
  const Graph& graph = *plan_.graph;
  const Bytes overhead{plan_.transport->sizes().wire_overhead};
  if (graph.IsHost(vertex)) {
    Host& host = HostAt(vertex);
    const PortIndex index = static_cast<PortIndex>(host.nics());
    FifoPort& nic = host.AddNic(PortRule::Nic(channel, overhead));
    egresses_.push_back({vertex, index, peer, &nic, channel.rate});
    return nic;
  }
  Switch& node = SwitchAt(vertex);
  const PortIndex index = static_cast<PortIndex>(node.ports().size());
  FifoPort& port = node.AddPort(SettingsOf(channel), graph.IsHost(peer));
  egresses_.push_back({vertex, index, peer, &port, channel.rate});
  return port;
}

// With queues in front of it, a port needs no limits of its own.
PortSettings Network::SettingsOf(const Channel& channel) const {
  PortSettings settings =
      plan_.port->SwitchPort(channel, Bytes{plan_.transport->sizes().wire_overhead});
  if (is_queued_) settings.buffer = settings.mark_above = kUnlimited;
  return settings;
}

Node& Network::NodeOf(VertexId vertex) {
  if (live_.IsHost(vertex)) return HostAt(vertex);
  return SwitchAt(vertex);
}

void Network::SetLogs(std::span<FlowLog* const> logs) {
  for (const std::unique_ptr<Host>& host : hosts_) {
    host->SetLog(logs[static_cast<size_t>(engine_.shard_of(*host))]);
  }
}

size_t Network::EgressOf(VertexId vertex, PortIndex port) const {
  const auto first = std::ranges::lower_bound(egresses_, vertex, {}, &Egress::vertex);
  return static_cast<size_t>(first - egresses_.begin()) + port;
}

PauseTotals Network::PausesOf(const Egress& egress, Time now) {
  if (live_.IsHost(egress.vertex)) return HostAt(egress.vertex).PausesUntil(egress.port, now);
  QueuedPorts* queued = SwitchAt(egress.vertex).queued();
  return queued == nullptr ? PauseTotals{} : queued->PausesOf(egress.port, now);
}

PacketCounts Network::CountPackets() const {
  PacketCounts counts;
  for (const std::unique_ptr<Host>& host : hosts_) {
    counts.data_sent += host->data_sent();
    counts.control_sent += host->control_sent();
    counts.datagrams_sent += host->datagrams_sent();
    counts.datagrams_received += host->datagrams_received();
    counts.received += host->received();
    for (PortIndex link = 0; link < host->nics(); ++link) {
      counts.dropped[static_cast<size_t>(DropReason::kLinkDown)] += host->nic(link).dropped_down();
    }
    counts.dropped[static_cast<size_t>(DropReason::kCorrupt)] += host->damaged();
  }
  for (const std::unique_ptr<Switch>& s : switches_) {
    counts.control_sent += s->control_sent();
    counts.consumed += s->consumed();
    counts.in_flight += s->held();
    if (s->queued() != nullptr) {
      counts.in_flight += s->queued()->waiting();
      counts.control_sent += s->queued()->frames_sent();
      counts.storms += s->queued()->storms();
      counts.trimmed += s->queued()->trimmed();
    }
    for (size_t r = 0; r < kDropReasons; ++r) {
      counts.dropped[r] += s->drops(static_cast<DropReason>(r));
    }
  }
  for (const Egress& egress : egresses_) {
    counts.marked += egress.fifo->marked();
    counts.hops += egress.fifo->Committed().packets;
  }
  counts.in_flight += static_cast<int64_t>(engine_.packets_on_wires());
  return counts;
}

PacketCounts Network::CheckConservation() const {
  for (const std::unique_ptr<Switch>& s : switches_) {
    if (s->queued() == nullptr) continue;
    s->queued()->CheckBooks();
    s->queued()->CheckTrimmedBytes();
  }
  const PacketCounts counts = CountPackets();
  const int64_t sent = counts.sent();
  const int64_t known =
      counts.received + counts.consumed + counts.dropped_total() + counts.in_flight;
  HEDDLE_CHECK(sent == known,
               "{} packets sent, but {} received, {} consumed, {} dropped and {} in flight", sent,
               counts.received, counts.consumed, counts.dropped_total(), counts.in_flight);
  // A link that fails takes pauses with it.
  const bool any_fails = std::ranges::any_of(
      plan_.events, [](const LinkEvent& event) { return event.up.has_value(); });
  const int64_t lost = counts.dropped[static_cast<size_t>(DropReason::kHeadroom)];
  const bool may_lose = plan_.port->pfc.allow_loss || plan_.port->pfc.watchdog.detect.has_value();
  HEDDLE_CHECK(lost == 0 || may_lose || any_fails, "{} packets of lossless classes were dropped",
               lost);
  return counts;
}

size_t Network::memory_bytes() const {
  size_t bytes = 0;
  for (const std::unique_ptr<Host>& host : hosts_) {
    bytes += sizeof(Host) + host->transport().memory_bytes();
    for (PortIndex link = 0; link < host->nics(); ++link) bytes += host->nic(link).memory_bytes();
  }
  for (const std::unique_ptr<Udp>& udp : udp_) bytes += udp->memory_bytes();
  for (const std::unique_ptr<Switch>& s : switches_) bytes += s->memory_bytes();
  return bytes;
}

}  // namespace heddle
