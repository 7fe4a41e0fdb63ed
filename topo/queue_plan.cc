// SPDX-License-Identifier: Apache-2.0

#include "topo/queue_plan.h"

#include <absl/numeric/int128.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <string>

#include "fabric/pause_time.h"

namespace heddle {
namespace {

using Model = MemorySettings::Model;

Graph WithLongestDelays(Graph graph, const std::vector<LinkEvent>& events) {
  for (const LinkEvent& event : events) {
    if (!event.delay) continue;
    Graph::Link& link = graph.links[event.link];
    link.a_to_b.delay = std::max(link.a_to_b.delay, *event.delay);
    link.b_to_a.delay = std::max(link.b_to_a.delay, *event.delay);
  }
  return graph;
}

// The lowest rate at which a packet may still be on its way when the link has become faster.
std::vector<BitRate> SlowestRates(const Graph& graph, const std::vector<LinkEvent>& events) {
  constexpr BitRate kFastest{std::numeric_limits<int64_t>::max()};
  std::vector<BitRate> slowest(graph.links.size(), kFastest);
  std::vector<BitRate> present(graph.links.size(), kFastest);
  for (const LinkEvent& event : events) {  // In the order of time.
    if (!event.rate) continue;
    BitRate& rate = present[event.link];
    if (*event.rate > rate) slowest[event.link] = std::min(slowest[event.link], rate);
    rate = *event.rate;
  }
  return slowest;
}

// The least pause threshold of the inputs that may fill the queue of `port`.
int64_t LeastXoffOfOthers(const std::vector<SharedMemory::Port>& shares, size_t port) {
  int64_t least = kUnlimited;
  for (size_t in = 0; in < shares.size(); ++in) {
    if (in != port) least = std::min(least, shares[in].xoff);
  }
  return least;
}

Traffic WithPauseFrame(Traffic traffic, const PortRule& rule) {
  traffic.sizes.pause = rule.pfc.FrameOnWire(traffic.sizes.overhead);
  return traffic;
}

// Returns the time between the latest refresh of a pause and the end of the pause; it is negative
// if the pause may end first. The refresh may wait for a packet that the first pause frame did not
// wait for.
Duration SlackOfRefresh(const PauseRule& pfc, const FrameSizes& sizes, const Channel& paused,
                        const Channel& back) {
  const uint16_t quanta = pfc.quanta_or_none();
  const Duration half = PauseTime(quanta, back.rate) / 2;
  return PauseTime(quanta, paused.rate) - pfc.refresh_interval.value_or(half) -
         SerializationDelay(Bytes{sizes.frame() + sizes.pause}, back.rate);
}

// A setting that lets packets of lossless classes be lost: its path and the reason.
struct Risk {
  std::string path;
  std::string reason;
};

std::optional<Risk> RiskOfLoss(const Graph& graph, const PortRule& rule, const FrameSizes& sizes) {
  const PauseRule& pfc = rule.pfc;
  if (rule.memory.limits_lossless)
    return Risk{".memory.limit_lossless", "full queues drop packets"};
  if (!pfc.quanta) return std::nullopt;
  if (pfc.refresh != PauseSettings::Refresh::kTimer) {
    return Risk{".pfc.refresh", "a pause can end while the input still holds too much"};
  }
  for (const Graph::Link& link : graph.links) {
    for (const bool at_a : {true, false}) {
      if (graph.IsHost(at_a ? link.a : link.b)) continue;
      const Channel& in = at_a ? link.b_to_a : link.a_to_b;
      const Channel& back = at_a ? link.a_to_b : link.b_to_a;
      if (SlackOfRefresh(pfc, sizes, in, back) >= Duration{0}) continue;
      return Risk{pfc.refresh_interval ? ".pfc.refresh_interval" : ".pfc.quanta",
                  fmt::format("a pause of {} can end before the next one comes", link.name)};
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<Channel> SwitchChannels(const Graph& graph) {
  std::vector<Channel> channels;
  const auto add = [&](VertexId from, const Channel& channel) {
    if (graph.IsHost(from)) return;
    if (std::ranges::find(channels, channel.rate, &Channel::rate) != channels.end()) return;
    channels.push_back(channel);
  };
  for (const Graph::Link& link : graph.links) {
    add(link.a, link.a_to_b);
    add(link.b, link.b_to_a);
  }
  return channels;
}

BitRate SlowestNic(const Graph& graph) {
  BitRate slowest{std::numeric_limits<int64_t>::max()};
  for (const Graph::Link& link : graph.links) {
    if (graph.IsHost(link.a)) slowest = std::min(slowest, link.a_to_b.rate);
    if (graph.IsHost(link.b)) slowest = std::min(slowest, link.b_to_a.rate);
  }
  return slowest;
}

int64_t FewestNics(const Graph& graph) {
  std::vector<int64_t> links(graph.hosts);
  for (const Graph::Link& link : graph.links) {
    if (graph.IsHost(link.a)) ++links[link.a.index()];
    if (graph.IsHost(link.b)) ++links[link.b.index()];
  }
  return links.empty() ? 1 : std::ranges::min(links);
}

bool IsOversubscribed(const Graph& graph) {
  const Adjacency adjacency(graph);
  for (size_t s = 0; s < graph.switches.size(); ++s) {
    int64_t down = 0;
    int64_t others = 0;
    for (const Adjacency::Port& port : adjacency.Of(graph.VertexOfSwitch(s))) {
      (graph.TierOf(port.peer) < graph.switches[s].tier ? down : others) += port.out.rate.bps;
    }
    if (others > 0 && others < down) return true;
  }
  return false;
}

QueuePlan::QueuePlan(const Graph& graph, const PortRule& rule, const Traffic& traffic,
                     const std::vector<LinkEvent>& events)
    : graph_(WithLongestDelays(graph, events)),
      rule_(rule),
      traffic_(WithPauseFrame(traffic, rule)),
      adjacency_(graph_),
      slowest_(SlowestRates(graph_, events)),
      nic_(SlowestNic(graph_)) {}

bool QueuePlan::fifo_is_exact() const {
  if (!std::has_single_bit(traffic_.classes) || rule_.memory.model != Model::kPrivate ||
      rule_.pfc.on() || traffic_.telemetry || trims() || !traffic_.marks_at_last_hop) {
    return false;
  }
  return std::ranges::all_of(SwitchChannels(graph_), [this](const Channel& channel) {
    const Marking marking = rule_.MarkingAt(channel, traffic_.marking);
    return !marking.needs_queue() &&
           marking.above == rule_.SwitchPort(channel, Bytes{0}).mark_above;
  });
}

Queueing QueuePlan::queueing() const {
  const MemoryRule& memory = rule_.memory;
  const bool hpcc = memory.model == Model::kHpcc;
  Queueing queueing;
  queueing.memory = {.model = memory.model,
                     .size = memory.SizeAt(nic_).count,
                     .alpha = memory.alpha.value_or(hpcc ? 1.0 / 8 : 1.0),
                     .alpha_in = memory.alpha_in,
                     .reserve = memory.reserve.count,
                     .mtu = traffic_.sizes.packet,
                     .lossless = rule_.pfc.mask(),
                     .resume_offset = rule_.pfc.resume_offset ? rule_.pfc.resume_offset->count
                                      : hpcc                  ? 3'000
                                      : memory.model == Model::kBroadcom
                                          ? 16
                                          : 2 * traffic_.sizes.packet,
                     .limits_lossless = memory.limits_lossless};
  queueing.pause = {
      .response = rule_.pfc.response,
      .scan_all = rule_.pfc.scan_all,
      .frame_bytes = static_cast<uint16_t>(traffic_.sizes.pause - traffic_.sizes.overhead),
      .quanta = rule_.pfc.quanta_or_none(),
      .refresh = rule_.pfc.refresh,
      .interval = rule_.pfc.refresh_interval.value_or(0_ps)};
  const WatchdogRule& watchdog = rule_.pfc.watchdog;
  queueing.watchdog = {.detect = rule_.pfc.on() ? watchdog.detect.value_or(0_ps) : 0_ps,
                       .restore = watchdog.restore,
                       .poll = watchdog.poll,
                       .drops = watchdog.drops};
  if (trims()) queueing.trim = rule_.trim.settings();
  return queueing;
}

// Returns the headroom that the input at the end a of a link needs, or that at its end b. A pause
// frame may have to wait for a packet that was sent when the link was slowest.
int64_t QueuePlan::NeededHeadroom(size_t number, bool at_a) const {
  const Graph::Link& link = graph_.links[number];
  const Channel& in = at_a ? link.b_to_a : link.a_to_b;
  Channel back = at_a ? link.a_to_b : link.b_to_a;
  back.rate = std::min(back.rate, slowest_[number]);
  return HeadroomFor(in, back, traffic_.sizes, rule_.pfc.response);
}

int64_t QueuePlan::HeadroomAt(size_t number, bool at_a) const {
  if (!rule_.pfc.on()) return 0;
  return rule_.pfc.headroom ? rule_.pfc.headroom->count : NeededHeadroom(number, at_a);
}

int64_t QueuePlan::XoffAt(const Channel& out, int64_t headroom) const {
  if (rule_.pfc.xoff) return rule_.pfc.xoff->count;
  if (rule_.memory.model != Model::kPrivate || !rule_.pfc.on()) return kUnlimited;
  const PortSettings port = rule_.SwitchPort(out, Bytes{traffic_.sizes.overhead});
  if (port.buffer == kUnlimited) return kUnlimited;
  return port.buffer * (port.count_packets ? traffic_.sizes.packet : 1) - headroom;
}

std::vector<SharedMemory::Port> QueuePlan::SharesOf(VertexId vertex) const {
  std::vector<SharedMemory::Port> shares;
  for (const Adjacency::Port& port : adjacency_.Of(vertex)) {
    const int64_t headroom = HeadroomAt(port.link, graph_.links[port.link].a == vertex);
    shares.push_back(
        {.buffer = rule_.SwitchPort(port.out, Bytes{traffic_.sizes.overhead}).buffer,
         .headroom = headroom,
         .xoff = XoffAt(port.out, headroom),
         .faster = static_cast<double>(port.out.rate.bps) / static_cast<double>(nic_.bps)});
  }
  return shares;
}

QueueSettings QueuePlan::QueuesAt(const Channel& channel, bool to_host) const {
  QueueSettings queues{.classes = traffic_.classes,
                       .scheduler = rule_.scheduler,
                       .telemetry = traffic_.telemetry,
                       .queues_control = rule_.pfc.on(),
                       .marking = rule_.MarkingAt(channel, traffic_.marking)};
  const bool trims_instead = trims() && rule_.trim.when == TrimSettings::When::kMark;
  if (trims_instead || (to_host && !traffic_.marks_at_last_hop)) {
    queues.marking.above = queues.marking.all = kUnlimited;
  }
  queues.quantum.fill(traffic_.sizes.packet);
  for (size_t cls = 0; cls < rule_.quanta.size(); ++cls) {
    queues.quantum[cls] = rule_.quanta[cls].count;
  }
  return queues;
}

// A threshold of auto is the bandwidth-delay product in whole packets; a port slower or faster than
// the hosts' links has its share of that.
TrimLimits QueuePlan::TrimAt(const Channel& channel) const {
  TrimLimits limits;
  if (!trims()) return limits;
  const int64_t packet = traffic_.sizes.packet;
  const int64_t bdp = BandwidthDelayPackets(traffic_.base_rtt, nic_, packet) * packet;
  const absl::int128 scaled = absl::int128(bdp) * channel.rate.bps / nic_.bps;
  limits.threshold = rule_.trim.threshold ? rule_.trim.threshold->count
                                          : std::max(static_cast<int64_t>(scaled), packet);
  limits.headers = rule_.trim.header_limit ? rule_.trim.header_limit->count : 2 * limits.threshold;
  limits.marking = rule_.MarkingAt(channel, traffic_.marking);
  if (rule_.trim.when != TrimSettings::When::kPort) limits.threshold = kUnlimited;
  return limits;
}

Bytes QueuePlan::LongestQueue() const {
  const Channel channel{nic_, Duration{0}};
  const TrimLimits limits = TrimAt(channel);
  if (limits.threshold != kUnlimited) return Bytes{limits.threshold};
  const Model model = rule_.memory.model;
  if (model == Model::kDynamic || model == Model::kBroadcom) {
    // A queue takes alpha times what is free when it alone fills the buffer.
    const double alpha = rule_.memory.alpha.value_or(1);
    return Bytes{static_cast<int64_t>(alpha / (1 + alpha) *
                                      static_cast<double>(rule_.memory.SizeAt(nic_).count))};
  }
  const PortSettings port = rule_.SwitchPort(channel, Bytes{0});
  if (model != Model::kPrivate || port.buffer == kUnlimited) return Bytes{0};
  return Bytes{port.buffer * (port.count_packets ? traffic_.sizes.packet : 1)};
}

void QueuePlan::CheckTrimming(const std::string& path, Diagnostics& diagnostics) const {
  if (!rule_.trim.on()) return;
  const std::string trim = path + ".trim";
  const unsigned classes = rule_.trim.settings().classes;
  if ((classes & rule_.pfc.mask()) != 0) {
    diagnostics.ErrorAt(trim + ".classes",
                        "a class is trimmed or lossless, not both; take it out of here or out of "
                        "pfc.classes");
  }
  if (!traffic_.can_trim) {
    return diagnostics.WarningAt(trim + ".when",
                                 "has no effect: receivers of this transport do not understand "
                                 "trimmed packets, so switches drop whole packets");
  }
  if (traffic_.control != 0) {
    diagnostics.ErrorAt("transport.control_priority",
                        "must be 0: headers of trimmed packets and ACKs share class 0");
  }
  if ((classes >> traffic_.data & 1) == 0) {
    diagnostics.WarningAt(
        trim + ".classes",
        fmt::format("no packet is trimmed: data packets are in class {}", traffic_.data));
  }
  for (const Channel& channel : SwitchChannels(graph_)) {
    if (!rule_.SwitchPort(channel, Bytes{0}).count_packets) continue;
    return diagnostics.ErrorAt(trim + ".when",
                               "needs buffer and ecn_above in bytes, not in packets");
  }
  if (rule_.trim.when == TrimSettings::When::kAdmission && rule_.memory.model == Model::kHpcc) {
    diagnostics.ErrorAt(trim + ".when",
                        "admission needs a limit at outputs, which memory.model: hpcc_mmu does not "
                        "have; use port or mark");
  }
  if (rule_.trim.threshold && rule_.trim.threshold->count < traffic_.sizes.packet) {
    diagnostics.ErrorAt(trim + ".threshold", fmt::format("is less than a full packet of {} bytes",
                                                         traffic_.sizes.packet));
  }
  CheckMarksBeforeTrimming(path, diagnostics);
}

// Congestion control should hear of a queue before its packets are trimmed. The thresholds named
// are those of uet-htsim: a fifth and four fifths of a bandwidth-delay product.
void QueuePlan::CheckMarksBeforeTrimming(const std::string& path, Diagnostics& diagnostics) const {
  const TrimLimits limits = TrimAt({nic_, Duration{0}});
  const bool is_red = limits.marking.above != limits.marking.all;
  if (!is_red || limits.threshold == kUnlimited || limits.marking.all <= limits.threshold) return;
  diagnostics.WarningAt(
      path + ".red",
      fmt::format(
          "ports mark from {} on, and all packets only above {}, but trim above {}: "
          "senders hear little of queues before packets are trimmed; set red: {{min: {}, "
          "max: {}, probability: 1}}",
          FormatQuantity(Bytes{limits.marking.above}), FormatQuantity(Bytes{limits.marking.all}),
          FormatQuantity(Bytes{limits.threshold}), FormatQuantity(Bytes{limits.threshold / 5}),
          FormatQuantity(Bytes{limits.threshold / 5 * 4})));
}

void QueuePlan::Check(const std::string& path, Diagnostics& diagnostics) const {
  CheckTrimming(path, diagnostics);
  const unsigned lossless = rule_.pfc.mask();
  if ((lossless >> traffic_.control & 1) != 0) {
    diagnostics.ErrorAt(path + ".pfc.classes",
                        fmt::format("ACKs are in class {}, and must not be paused; give them a "
                                    "class of their own by transport.control_priority",
                                    traffic_.control));
  }
  if (rule_.pfc.on() && (lossless & traffic_.classes) == 0) {
    const unsigned data = traffic_.classes & ~(1u << traffic_.control);
    diagnostics.WarningAt(
        path + ".pfc.classes",
        fmt::format("no packet belongs to these classes; data is in class {}",
                    std::countr_zero(data != 0 ? data : unsigned{traffic_.classes})));
  }
  if (rule_.pfc.on() && !rule_.pfc.allow_loss) {
    if (const auto risk = RiskOfLoss(graph_, rule_, traffic_.sizes)) {
      diagnostics.ErrorAt(path + risk->path, risk->reason +
                                                 "; if lossless classes may lose packets set "
                                                 "pfc.allow_loss: true");
    }
  }
  CheckMarking(path, diagnostics);
  CheckMarksBeforeLoss(path, diagnostics);
  CheckHeadroom(path, diagnostics);
  CheckMemory(path, diagnostics);
}

// A threshold that follows from the rate may lie on the wrong side of the other.
void QueuePlan::CheckMarking(const std::string& path, Diagnostics& diagnostics) const {
  for (const Channel& channel : SwitchChannels(graph_)) {
    const Marking marking = rule_.MarkingAt(channel, traffic_.marking);
    if (marking.above <= marking.all) continue;
    const char* set = rule_.red.min ? "min" : "max";
    const char* other = rule_.red.min ? "max" : "min";
    return diagnostics.ErrorAt(fmt::format("{}.red.{}", path, set),
                               fmt::format("at {}: max would be less than min; set {} as well",
                                           FormatQuantity(channel.rate), other));
  }
}

// Congestion control should hear of a queue before its packets are dropped or their sender pauses.
// CheckPorts() warns of step marking at ports that drop.
void QueuePlan::CheckMarksBeforeLoss(const std::string& path, Diagnostics& diagnostics) const {
  const bool pauses = (rule_.pfc.mask() >> traffic_.data & 1) != 0;
  for (size_t s = 0; s < graph_.switches.size(); ++s) {
    const VertexId vertex = graph_.VertexOfSwitch(s);
    const std::vector<SharedMemory::Port> shares = SharesOf(vertex);
    for (size_t port = 0; port < shares.size(); ++port) {
      const Channel& out = adjacency_.Of(vertex)[port].out;
      const PortSettings limits = rule_.SwitchPort(out, Bytes{traffic_.sizes.overhead});
      const Marking marking = QueuesAt(out, LeadsToHost(vertex, port)).marking;
      const bool is_red = marking.above != marking.all;
      const bool is_told = !is_red && marking.above > limits.buffer / 2;  // By CheckPorts().
      if (marking.above == kUnlimited || is_told) continue;
      if (!is_red && !(pauses && rule_.ecn_above)) continue;
      const int64_t unit = limits.count_packets ? traffic_.sizes.packet : 1;
      const bool drops = !pauses && rule_.memory.model == Model::kPrivate;
      const int64_t limit = pauses  ? LeastXoffOfOthers(shares, port)
                            : drops ? std::min(limits.buffer, kUnlimited / unit) * unit
                                    : kUnlimited;
      if (marking.above * unit < limit) continue;
      return diagnostics.WarningAt(
          path + (is_red ? ".red.min" : ".ecn_above"),
          fmt::format(
              "at {}: packets are marked where the queue is longer than {}, but {} {}; set "
              "less here",
              FormatQuantity(out.rate), FormatQuantity(Bytes{marking.above * unit}),
              pauses ? "a sender that alone fills the queue pauses at" : "the buffer is full at",
              FormatQuantity(Bytes{limit})));
    }
  }
}

void QueuePlan::CheckHeadroom(const std::string& path, Diagnostics& diagnostics) const {
  if (!rule_.pfc.on() || !rule_.pfc.headroom || rule_.pfc.allow_loss) return;
  for (size_t l = 0; l < graph_.links.size(); ++l) {
    const Graph::Link& link = graph_.links[l];
    for (const bool at_a : {true, false}) {
      if (graph_.IsHost(at_a ? link.a : link.b)) continue;
      const int64_t needed = NeededHeadroom(l, at_a);
      if (rule_.pfc.headroom->count >= needed) continue;
      return diagnostics.ErrorAt(
          path + ".pfc.headroom",
          fmt::format("is {}, but {} needs {} bytes so that nothing is lost; leave it auto, set at "
                      "least that, or allow_loss: true",
                      FormatQuantity(*rule_.pfc.headroom), link.name, needed));
    }
  }
}

void QueuePlan::CheckMemory(const std::string& path, Diagnostics& diagnostics) const {
  const MemorySettings memory = queueing().memory;
  for (size_t s = 0; s < graph_.switches.size(); ++s) {
    const std::vector<SharedMemory::Port> shares = SharesOf(graph_.VertexOfSwitch(s));
    const std::string& name = graph_.switches[s].name;
    for (const SharedMemory::Port& share : shares) {
      if (!rule_.pfc.on() || share.xoff >= traffic_.sizes.packet) continue;
      return diagnostics.ErrorAt(
          path + (rule_.pfc.xoff ? ".pfc.xoff" : ".buffer"),
          fmt::format(
              "an input of {1} may hold {0} bytes before it pauses its sender, and {2} more "
              "as headroom; a packet has {3} bytes, so set more",
              std::max<int64_t>(share.xoff, 0), name, share.headroom, traffic_.sizes.packet));
    }
    if (memory.model == Model::kPrivate) continue;
    const int64_t pool = SharedMemory::PoolOf(memory, shares);
    const int64_t least = static_cast<int64_t>(shares.size()) * traffic_.sizes.packet;
    if (pool < least) {
      return diagnostics.ErrorAt(
          path + ".memory.size",
          fmt::format(
              "is {}, of which headroom and reserves take {} at {} with its {} ports; set at "
              "least {}",
              FormatQuantity(Bytes{memory.size}), memory.size - pool, name, shares.size(),
              FormatQuantity(Bytes{memory.size - pool + least})));
    }
    if (!rule_.pfc.xoff) continue;
    const int64_t at_pause = rule_.pfc.xoff->count * static_cast<int64_t>(shares.size()) *
                             std::popcount(memory.lossless);
    if (at_pause > pool) {
      diagnostics.WarningAt(
          path + ".pfc.xoff",
          fmt::format(
              "{0} times {1} exceed the pool of {2} ({3} bytes beside headroom): if all inputs "
              "fill at once, the pool is exhausted before they reach xoff, and they pause then",
              shares.size(), FormatQuantity(*rule_.pfc.xoff), name, pool));
      return;
    }
  }
}

}  // namespace heddle
