// SPDX-License-Identifier: Apache-2.0

#include "tests/support/lab.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "experiment/complete.h"
#include "network/ideal_fct.h"
#include "settings/files_read.h"
#include "tests/support/settings_from.h"
#include "topo/leaf_spine.h"
#include "transport/rdma/roce.h"
#include "transport/tcp/tcp.h"

namespace heddle {
namespace {

Graph::Link Both(uint32_t a, uint32_t b, Channel channel) {
  return {VertexId(a), VertexId(b), channel, channel, fmt::format("{}-{}", a, b)};
}

void AddSwitches(Graph& graph, size_t count) {
  for (size_t s = 0; s < count; ++s) {
    graph.switches.push_back({fmt::format("s{}", s), static_cast<int>(s)});
  }
}

Graph Built(const Topology& topology, uint64_t seed) {
  Diagnostics diagnostics;
  FilesRead files;
  Graph graph = topology.Build(seed, "topology", files, diagnostics);
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.Report();
  return graph;
}

}  // namespace

Graph Line(const std::vector<Channel>& links) {
  Graph graph{.hosts = 2, .switches = {}, .links = {}};
  AddSwitches(graph, links.size() - 1);
  const uint32_t last = static_cast<uint32_t>(links.size());
  for (uint32_t l = 0; l <= last - 1; ++l) {
    graph.links.push_back(Both(l == 0 ? 0 : l + 1, l + 1 == last ? 1 : l + 2, links[l]));
  }
  return graph;
}

Graph Star(size_t hosts, Channel link) {
  Graph graph{.hosts = hosts, .switches = {}, .links = {}};
  AddSwitches(graph, 1);
  const uint32_t hub = static_cast<uint32_t>(hosts);
  for (uint32_t h = 0; h < hub; ++h) graph.links.push_back(Both(h, hub, link));
  return graph;
}

Graph Dumbbell(size_t pairs, Channel edge, Channel core) {
  Graph graph{.hosts = 2 * pairs, .switches = {}, .links = {}};
  AddSwitches(graph, 2);
  const uint32_t left = static_cast<uint32_t>(graph.hosts);
  for (uint32_t h = 0; h < left; ++h) {
    graph.links.push_back(Both(h, h < pairs ? left : left + 1, edge));
  }
  graph.links.push_back(Both(left, left + 1, core));
  return graph;
}

std::map<std::string, Graph::Link> LinksByName(const Graph& graph) {
  std::map<std::string, Graph::Link> links;
  for (const Graph::Link& link : graph.links) links[link.name] = link;
  return links;
}

Graph GraphFrom(const std::string& yaml, uint64_t seed) {
  return Built(*KindFrom(yaml, Topologies()).settings, seed);
}

Graph LeafSpineFrom(const std::string& yaml, uint64_t seed) {
  LeafSpine shape;
  ReadTestSettings(yaml, [&](Fields& fields) { shape.Declare(fields); });
  return Built(shape, seed);
}

PortRule PortRuleFrom(const std::string& yaml) {
  PortRule rule;
  ReadTestSettings(yaml, [&](Fields& fields) { rule.Declare(fields); });
  return rule;
}

Chosen<TransportModel> TransportFrom(const std::string& yaml) {
  return KindFrom(yaml, Transports());
}

UdpSource Datagrams(uint32_t id, HostId src, HostId dst, BitRate rate, Time stop) {
  return {.id = id,
          .entry = id,
          .src = src,
          .dst = dst,
          .sport = 5'000,
          .path = kNoPath,
          .priority = 1,
          .payload = 1'472_B,
          .packet = 1'518_B,
          .wire = 1'538_B,
          .rate = rate,
          .pattern = {},
          .start = Time{},
          .stop = stop,
          .rng = Rng::Stream(1, "load", id)};
}

// --- Running ---

Lab::Plan FollowingPath(Graph graph, uint16_t path) {
  struct Fixed final : HostPolicy {
    explicit Fixed(uint16_t p) : path(p) {}
    void OnSend(HostView&, HostFlow&, Packet& packet) override { packet.path = path; }
    size_t StateBytes() const override { return 0; }
    uint16_t path;
  };
  Lab::Plan plan;
  plan.graph = std::move(graph);
  plan.balancer = "{kind: presto}";
  plan.host_policy = [path](HostId) { return std::make_unique<Fixed>(path); };
  return plan;
}

// The flow log of one thread.
class Lab::Log final : public FlowLog {
 public:
  void SenderDone(const FlowSpec& /*spec*/, Time done) override {
    ++senders_done;
    last_done = std::max(last_done, done);
  }
  void Add(const FlowRecord& record) override { records.push_back(record); }
  void FastRetransmit(Time /*at*/, bool /*dropped*/) override {}
  ReorderingStats& Reordering(uint16_t /*size_class*/) override { return reordering; }

  size_t senders_done = 0;
  Time last_done;
  std::vector<FlowRecord> records;
  ReorderingStats reordering;
};

class Lab::Runner final : public Conductor {
 public:
  Runner(Lab& lab, Time limit) : lab_(lab), end_(limit) {
    next_sample_ = lab.sample_ ? Time{0} : kNever;
  }

  Time Next() override {
    const Time start = next_ < lab_.flows_.size() ? lab_.flows_[next_].start : kNever;
    return std::min({start, next_sample_, lab_.network_->NextChange()});
  }

  Time Open(Time start, Time latest) override {
    if (next_sample_ <= start) {
      lab_.sample_(next_sample_);
      next_sample_ += lab_.sample_interval_;
    }
    lab_.network_->Change(start);
    latest = std::min({latest, next_sample_, lab_.network_->NextChange()});
    for (; next_ < lab_.flows_.size() && lab_.flows_[next_].start < latest; ++next_) {
      const FlowSpec& flow = lab_.flows_[next_];
      lab_.network_->host(flow.src).StartFlow(flow);
      lab_.network_->host(flow.dst).ExpectFlow(flow);
    }
    return latest;
  }

  void Close(Time end) override {
    size_t done = 0;
    Time last;
    for (const std::unique_ptr<Log>& log : lab_.logs_) {
      done += log->senders_done;
      last = std::max(last, log->last_done);
    }
    if (done < lab_.flows_.size()) return;
    // Receivers write their records at the close, in the window that holds it.
    end_ = std::min(end_, std::max(end, last + lab_.network_->close_delay() + 1_ps));
  }

  Time End() const override { return end_; }

 private:
  Lab& lab_;
  size_t next_ = 0;
  Time next_sample_;
  Time end_;
};

Lab::Lab(Plan plan)
    : graph_(std::move(plan.graph)),
      port_(PortRuleFrom(plan.port)),
      transport_(TransportFrom(plan.transport)),
      balancer_(BalancerFrom(plan.balancer)),
      background_(std::move(plan.background)),
      events_(std::move(plan.events)),
      faults_(std::move(plan.faults)) {
  Diagnostics diagnostics;
  const Routing routing(graph_);
  const Duration base_rtt =
      BaseRttOf(routing, transport_.settings->sizes(), /*leaves_are_alike=*/false);
  balancer_.settings->Prepare(ShapeOf(graph_, routing, port_, *transport_.settings, base_rtt), "lb",
                              diagnostics);
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.Report();
  auto switch_policy = plan.switch_policy;
  if (!switch_policy) {
    switch_policy = [this, seed = plan.seed](SwitchId id) {
      return balancer_.settings->ForSwitch(id, seed);
    };
  }
  auto host_policy = plan.host_policy;
  if (!host_policy && !plan.switch_policy) {
    host_policy = [this, seed = plan.seed](HostId id) {
      return balancer_.settings->ForHost(id, seed);
    };
  }
  network_ = std::make_unique<Network>(NetworkPlan{.graph = &graph_,
                                                   .port = &port_,
                                                   .transport = transport_.settings.get(),
                                                   .switch_policy = switch_policy,
                                                   .host_policy = host_policy,
                                                   .controller = plan.controller,
                                                   .background = background_,
                                                   .events = events_,
                                                   .faults = faults_,
                                                   .ack_path = plan.ack_path,
                                                   .seed = plan.seed,
                                                   .ports = plan.ports,
                                                   .threads = plan.threads,
                                                   .moves_switches = plan.threads > 2});
  std::vector<FlowLog*> logs;
  for (int t = 0; t < network_->engine().threads(); ++t) {
    logs_.push_back(std::make_unique<Log>());
    logs.push_back(logs_.back().get());
  }
  network_->SetLogs(logs);
}

// Log is complete only here.
Lab::~Lab() = default;

FlowId Lab::AddFlow(FlowSpec spec) {
  spec.id = static_cast<FlowId>(flows_.size());
  if (spec.sport == 0) spec.sport = static_cast<uint16_t>(1'000 + spec.id);
  if (spec.dport == 0) spec.dport = 80;
  EXPECT_TRUE(flows_.empty() || flows_.back().start <= spec.start);
  flows_.push_back(spec);
  return spec.id;
}

FlowId Lab::AddFlow(HostId src, HostId dst, int64_t size, Time start) {
  FlowSpec spec;
  spec.src = src;
  spec.dst = dst;
  spec.size = size;
  spec.start = start;
  return AddFlow(spec);
}

void Lab::SampleEvery(Duration interval, std::function<void(Time)> sample) {
  sample_interval_ = interval;
  sample_ = std::move(sample);
}

void Lab::Run(Time limit) {
  Runner runner(*this, limit);
  end_ = network_->engine().Run(runner);
  network_->CheckConservation();
  records_.resize(flows_.size());
  for (const FlowSpec& flow : flows_) records_[flow.id].spec = flow;
  unfinished_ = flows_.size();
  for (const std::unique_ptr<Log>& log : logs_) {
    unfinished_ -= log->records.size();
    for (const FlowRecord& record : log->records) records_[record.spec.id] = record;
  }
  if (unfinished_ > 0) CollectUnfinished();
  for (const FlowRecord& record : records_) CheckNotTooFast(record);
}

// No flow is faster than alone on the best path, or than all paths together let it be.
void Lab::CheckNotTooFast(const FlowRecord& record) const {
  if (record.receiver.done == kNever) return;
  const bool spreads = transport_.settings->spreads();
  const Routing& routing = network_->routing();
  const bool has_links =
      spreads && (routing.LinksOf(record.spec.src) > 1 || routing.LinksOf(record.spec.dst) > 1);
  // Small packets may have overtaken large ones. Paths from different links may have equal ids.
  if (record.receiver.paths_used > 1 || has_links) {
    IdealFct ideal(routing, transport_.settings->sizes(), /*may_detour=*/false, spreads);
    EXPECT_GE(FctRx(record), ideal.Of(record.spec.src, record.spec.dst, record.spec.size).least)
        << Describe(record);
    return;
  }
  Duration best{kNever.ps};
  size_t links = 0;
  for (const auto& path : routing.PathsBetween(record.spec.src, record.spec.dst)) {
    best = std::min(best, FctHopByHop(path, record.spec.size, transport_.settings->sizes()));
    links = std::max(links, path.size());
  }
  // A port rounds less often than IdealFct does if the rate is odd.
  const Duration rounding{record.sender.packets * static_cast<int64_t>(links)};
  EXPECT_GE(FctRx(record) + rounding, best) << Describe(record);
}

void Lab::CollectUnfinished() {
  std::vector<FlowRecord> senders;
  std::vector<FlowRecord> receivers;
  for (size_t h = 0; h < network_->hosts(); ++h) {
    network_->host(h).transport().CollectUnfinishedSenders(senders);
    network_->host(h).transport().CollectUnfinishedReceivers(receivers);
  }
  for (const FlowRecord& record : receivers) records_[record.spec.id] = record;
  for (const FlowRecord& record : senders) records_[record.spec.id].sender = record.sender;
}

int64_t Lab::LatePackets(HostId host) const {
  return network_->host(host).transport().late_packets();
}

ReorderingStats Lab::Reordering() const {
  ReorderingStats all;
  for (const std::unique_ptr<Log>& log : logs_) all.Merge(log->reordering);
  return all;
}

FifoPort& Lab::PortTo(VertexId vertex, VertexId peer) {
  for (const Network::Egress& egress : network_->egresses()) {
    if (egress.vertex == vertex && egress.peer == peer) return *egress.fifo;
  }
  ADD_FAILURE() << "no port from " << graph_.NameOf(vertex) << " to " << graph_.NameOf(peer);
  return *network_->egresses().front().fifo;
}

const TcpSender* Lab::Sender(FlowId flow) const {
  return dynamic_cast<const Tcp&>(network_->host(flows_[flow].src).transport()).FindSender(flow);
}

const RoceSender* Lab::QueuePair(FlowId flow) const {
  return dynamic_cast<const Roce&>(network_->host(flows_[flow].src).transport()).FindSender(flow);
}

// --- What tests compare ---

Duration FctHopByHop(const std::vector<Channel>& path, int64_t payload, const PacketSizes& sizes) {
  std::vector<Time> free(path.size());
  Time arrival;
  for (int64_t rest = payload; rest > 0; rest -= sizes.mss) {
    const Bytes wire{sizes.DataPacket(std::min(rest, sizes.mss)) + sizes.wire_overhead};
    arrival = Time{0};
    for (size_t l = 0; l < path.size(); ++l) {
      free[l] = std::max(free[l], arrival) + SerializationDelay(wire, path[l].rate);
      arrival = free[l] + path[l].delay;
    }
  }
  return arrival - Time{0};
}

std::string Describe(const FlowRecord& r) {
  const SenderRecord& s = r.sender;
  const ReceiverRecord& d = r.receiver;
  return fmt::format(
      "flow {} start {} tx {} {} {} {} {} {} {} {} {} {} {} rx {} {} {} {} {} {} {} {} {} {} {} {}",
      r.spec.id, r.spec.start.ps, s.done.ps, s.packets, s.packets_sent, s.retransmissions,
      s.retransmissions_spurious, s.retransmissions_loss, s.timeouts, s.fast_retransmits,
      s.fast_retransmits_reorder, s.nacks, s.cnps, d.done.ps, d.packets, d.duplicates, d.discarded,
      d.ce_marked, d.max_out_of_order_bytes, d.reordered_net, d.reordered_seq, d.max_extent,
      d.max_degree, d.paths_used, d.hops);
}

std::string Describe(const Lab& lab) {
  std::string all;
  for (const FlowRecord& record : lab.records()) all += Describe(record) + "\n";
  return all;
}

std::string RecordsOfSixteenHosts(Lab::Plan plan) {
  plan.graph = LeafSpineFrom(
      "{leaves: 4, spines: 4, hosts_per_leaf: 4, host_link: {rate: 100Gbps, delay: 1us}, "
      "fabric_link: {rate: 100Gbps, delay: 1us}}");
  Lab lab(std::move(plan));
  for (HostId h = 0; h < 16; ++h) lab.AddFlow(h, static_cast<HostId>((h + 5) % 16), 300'000);
  for (HostId h = 1; h < 16; ++h) lab.AddFlow(h, 0, 100'000);
  lab.Run();
  EXPECT_TRUE(lab.finished());
  return Describe(lab);
}

std::vector<LinkEvent> LongerLinksOf(const Graph& graph, std::string_view upper, Time at,
                                     Duration delay) {
  std::vector<LinkEvent> events;
  for (uint32_t link = 0; link < graph.links.size(); ++link) {
    if (!graph.links[link].name.ends_with(upper)) continue;
    events.push_back({.at = at, .link = link, .up = {}, .rate = {}, .delay = delay});
  }
  return events;
}

}  // namespace heddle
