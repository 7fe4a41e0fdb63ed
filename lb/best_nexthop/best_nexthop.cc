// SPDX-License-Identifier: Apache-2.0
// Best-nexthop with in-band network telemetry (Lim et al., "Best nexthop Load Balancing Algorithm
// with Inband network telemetry", POSTECH). Packets collect the greatest latency, queue and
// utilisation on their way. A switch stores the values that came from each host through each port.
// It gives each flowlet the port with the smallest sum of the three, each as a share of its range.
//
// In the paper, packets collect values at the ports that they leave through, and a switch uses the
// values from a host for packets to that host, which wait in the opposite queues. By default a
// switch here adds the values of the port that the packet came in through, in the direction back to
// the source; `direction: forward` is as published. Where traffic is one-way, probes carry the
// values: each leaf sends one for each of its hosts over all uplinks, and upper switches copy it to
// all others below. The paper does not say what happens to old values: here they count as zero.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/random.h"
#include "core/ring.h"
#include "fabric/ecmp_hash.h"
#include "lb/best_nexthop/int_fields.h"
#include "lb/parts/dre.h"
#include "lb/parts/flow_table.h"
#include "lb/parts/load_balancer.h"
#include "lb/parts/route_changes.h"
#include "lb/parts/ties.h"

namespace heddle {
namespace {

enum class Scale { kDatacenter, kTestbed };
enum class ApplyAt { kEdge, kAll };
enum class Direction { kTowardSource, kForward };
enum class Key { kHost, kLeaf };

struct BestNexthopSettings {
  Scale scale = Scale::kDatacenter;
  std::optional<Duration> gap;
  std::optional<Duration> dre_period;
  double dre_alpha = 0.5;
  std::optional<Duration> probe_every;
  std::optional<Duration> stale;
  bool probes = true;
  ApplyAt apply_at = ApplyAt::kEdge;
  Direction direction = Direction::kTowardSource;
  Key key = Key::kHost;
  std::optional<Duration> latency_range;
  std::optional<int64_t> queue_range;
  std::optional<double> utilisation_range;
  FlowTableSettings flows = {.age = 5_ms};
};

// The settings with `auto` replaced by values.
struct BestNexthopTimes {
  Duration gap;
  Duration probe_every;
  Duration stale;
  DreSettings dre;
};

constexpr int64_t kPacketBytes = 1'500;

class BestNexthop final : public SwitchPolicy {
 public:
  BestNexthop(const BestNexthopSettings& settings, const BestNexthopTimes& times, int tiers,
              uint64_t salt, Rng rng)
      : settings_(settings),
        times_(times),
        probe_hops_(2 * (tiers - 1)),
        salt_(salt),
        rng_(rng),
        flows_(settings.flows) {}

  Packets asked_about() const override { return Packets::kEvery; }

  void Attach(SwitchView& view) override {
    for (size_t port = 0; port < view.ports(); ++port) {
      ports_.push_back(std::make_unique<Port>(times_.dre));
      ports_.back()->range = RangeOf(view, static_cast<PortIndex>(port));
    }
    keys_ = settings_.key == Key::kHost ? view.hosts() : view.leaves();
    known_.resize(keys_ * view.ports());
    towards_.resize(keys_);
    changes_.Resize(keys_);
    chooses_ = view.tier() == 0 || settings_.apply_at == ApplyAt::kAll;
    if (!settings_.probes || view.tier() > 0 || view.Uplinks().empty()) return;
    CollectSources(view);
    const double share = rng_.Uniform();  // Leaves must not all send at once.
    view.SetTimer(view.now() + Duration{static_cast<int64_t>(
                                   share * static_cast<double>(times_.probe_every.ps))},
                  0);
  }

  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex in_port,
                    const Candidates& candidates) override {
    IntFields fields;
    if (!view.IsAttached(packet.src)) fields = Collect(view, packet, in_port);
    if (packet.kind == PacketKind::kControl) {
      PassOn(view, packet, fields, in_port);
      return Decision::Consume();
    }
    carried_ = fields;
    if (!candidates.matters()) return Decision::Forward(candidates.ports.front());
    if (!chooses_) return Decision::Forward(EcmpPort(packet, salt_, candidates.ports));
    return Decision::Forward(Choose(view, packet, candidates));
  }

  void Prefetch(const Packet& packet) const override {
    if (chooses_) flows_.Prefetch(packet);
  }

  void OnEnqueue(SwitchView& view, Packet& packet, PortIndex port) override {
    std::array<Ring<Time>, kClasses>& waiting = ports_[port]->waiting;
    // A packet lost on a failed link never reaches OnTransmit(), so its entry is cleared here.
    if (view.QueuedPackets(port) <= 1) {
      for (Ring<Time>& of_class : waiting) of_class.clear();
    }
    waiting[packet.priority].push_back(view.now());
    if (packet.kind != PacketKind::kControl) {
      IntFields fields = view.FacesHost(port) ? IntFields{} : carried_;
      if (settings_.direction == Direction::kForward && !view.FacesHost(port)) {
        fields = IntFields::Merge(fields, LocalOf(view, port));
      }
      packet.SetScheme(fields);
    }
  }

  void OnTransmit(SwitchView& view, Packet& packet, PortIndex port) override {
    Port& its = *ports_[port];
    Ring<Time>& waiting = its.waiting[packet.priority];
    its.dre.Add(1, view.now());
    if (waiting.empty()) return;
    its.latency = view.now() - waiting.front();
    waiting.pop_front();
  }

  void OnTimer(SwitchView& view, uint32_t /*id*/) override {
    for (const HostId host : sources_) SendProbes(view, host);
    view.SetTimer(view.now() + times_.probe_every, 0);
  }

  size_t StateBytes() const override {
    const size_t learnt = known_.size() * sizeof(Known) + ports_.size() * sizeof(Port) +
                          towards_.size() * sizeof(Towards);
    return chooses_ ? flows_.memory_bytes() + learnt : learnt;
  }
  std::vector<Counter> Counters() const override {
    return {{"flowlets", flowlets_},
            {"reroutes", reroutes_},
            {"probes", probes_},
            {"probe_bytes", probes_ * kControlPacketBytes},
            {"stale", stale_},
            {"table_entries", static_cast<int64_t>(flows_.used())},
            {"table_evictions", flows_.evictions()}};
  }

 private:
  struct Flow {
    PortIndex port = kNoPort;
    Time last;  // When its latest packet left, or will leave, this switch.
  };
  struct Port {
    explicit Port(const DreSettings& settings) : dre(settings) {}
    Dre dre;  // Counts packets.
    // When each queued packet was enqueued, by class. Packets of one class leave in order.
    std::array<Ring<Time>, kClasses> waiting;
    Duration latency{0};
    IntRange range;
  };
  // The congestion on the way to one host, or leaf, through one port.
  struct Known {
    double congestion = 0;
    Time at{-kNever.ps};
  };

  // The state for one host, or leaf, that packets go to.
  struct Towards {
    Time heard{-kNever.ps};    // When a value last came, through any port.
    PortIndex best = kNoPort;  // The port chosen last, among the candidates
    uint32_t among = 0;        // with this id. It stays the best
    Time is_best{-kNever.ps};  // until this time, unless a new value comes.
  };

  size_t KeyOf(const SwitchView& view, HostId host) const {
    return settings_.key == Key::kHost ? host : view.LeafOf(host);
  }
  Known& KnownOf(size_t key, PortIndex port) { return known_[key * ports_.size() + port]; }

  // The largest values that the port can reach, or those of the settings. An unlimited buffer has
  // no range.
  IntRange RangeOf(SwitchView& view, PortIndex port) const {
    const Bytes buffer = view.BufferOf(port);
    const bool is_limited = buffer.count < kUnlimited / 2;
    const double bps = static_cast<double>(view.Rate(port).bps);
    IntRange range;
    if (is_limited) {
      range.latency = static_cast<double>(buffer.count) * 8 / bps;
      range.queue = static_cast<double>(buffer.count / kPacketBytes);
    }
    if (settings_.latency_range) range.latency = Seconds(*settings_.latency_range);
    if (settings_.queue_range) range.queue = static_cast<double>(*settings_.queue_range);
    // The register reaches its maximum just before a decay, with the port always busy.
    range.utilisation = settings_.utilisation_range.value_or(
        bps * Seconds(times_.dre.period) / settings_.dre_alpha / (8 * kPacketBytes));
    return range;
  }

  IntFields LocalOf(SwitchView& view, PortIndex port) {
    Port& its = *ports_[port];
    return IntFields(its.latency, view.QueuedPackets(port), its.dre.Read(view.now()));
  }

  // Stores the values that the packet carries and returns them, about the way to its source.
  IntFields Collect(SwitchView& view, const Packet& packet, PortIndex in_port) {
    IntFields fields = packet.Scheme<IntFields>();
    if (settings_.direction == Direction::kTowardSource) {
      fields = IntFields::Merge(fields, LocalOf(view, in_port));
    }
    if (fields.is_set()) {
      const size_t key = KeyOf(view, packet.src);
      KnownOf(key, in_port) = {CongestionOf(fields, ports_[in_port]->range), view.now()};
      towards_[key].heard = view.now();
      towards_[key].is_best = {-kNever.ps};
    }
    return fields;
  }

  PortIndex Choose(SwitchView& view, const Packet& packet, const Candidates& candidates) {
    const auto found = flows_.Touch(packet, view.now());
    Flow& flow = found.state;
    const bool lives = candidates.Has(flow.port);
    if (found.is_new || !lives || view.now() - flow.last > times_.gap) {
      const PortIndex port = Best(view, packet, candidates);
      ++flowlets_;
      if (!found.is_new && port != flow.port) ++reroutes_;
      flow.port = port;
    }
    flow.last = view.now() + view.QueueingDelay(flow.port);
    return flow.port;
  }

  PortIndex Best(SwitchView& view, const Packet& packet, const Candidates& candidates) {
    const size_t key = KeyOf(view, packet.dst);
    const Time now = view.now();
    Towards& towards = towards_[key];
    const auto forget = [&](PortIndex port) { KnownOf(key, port) = Known{}; };
    if (changes_.Note(key, candidates, view.Uplinks(), forget)) towards.is_best = {-kNever.ps};
    if (now <= towards.is_best && towards.among == candidates.id) return towards.best;
    if (now - towards.heard > times_.stale) return Unknowing(packet, candidates);
    Time oldest = kNever;  // When the oldest of the fresh values came.
    const PortIndex best = LeastOf(candidates.ports, towards.best, rng_, [&](PortIndex port) {
      const Known& known = KnownOf(key, port);
      const bool is_fresh = now - known.at <= times_.stale;
      if (is_fresh) oldest = std::min(oldest, known.at);
      return is_fresh ? known.congestion : 0.0;
    });
    if (oldest == kNever) return Unknowing(packet, candidates);
    towards.among = candidates.id;
    towards.is_best = oldest + times_.stale;
    return towards.best = best;
  }

  PortIndex Unknowing(const Packet& packet, const Candidates& candidates) {
    ++stale_;
    return EcmpPort(packet, salt_, candidates.ports);
  }

  // --- Probes: packets from a host of this leaf that go everywhere ---

  // Lists the hosts that this leaf probes for; with `key: leaf` one stands for all.
  void CollectSources(const SwitchView& view) {
    for (size_t host = 0; host < view.hosts(); ++host) {
      if (view.IsAttached(static_cast<HostId>(host))) {
        sources_.push_back(static_cast<HostId>(host));
      }
    }
    if (sources_.empty()) return;
    back_to_ = sources_.back();
    if (settings_.key == Key::kLeaf) sources_.resize(1);
  }

  void SendProbes(SwitchView& view, HostId source) {
    Packet probe;
    probe.kind = PacketKind::kControl;
    probe.bytes = kControlPacketBytes;
    probe.src = source;
    // Switches without a route back to this leaf discard the probe; they could not use it.
    probe.dst = source == back_to_ ? sources_.front() : back_to_;
    probe.sent = view.now();
    for (const PortIndex port : view.Uplinks()) Send(view, probe, IntFields{}, port);
  }

  // Copies a probe from below to all other ports, and a probe from above to all ports below. Leaves
  // copy none.
  void PassOn(SwitchView& view, const Packet& probe, const IntFields& fields, PortIndex in_port) {
    if (view.tier() == 0 || probe.hops >= probe_hops_) return;
    const std::span<const PortIndex> uplinks = view.Uplinks();
    const bool from_above = IsAmong(uplinks, in_port);
    for (size_t p = 0; p < view.ports(); ++p) {
      const PortIndex port = static_cast<PortIndex>(p);
      if (port == in_port || view.FacesHost(port)) continue;
      if (from_above && IsAmong(uplinks, port)) continue;
      Send(view, probe, fields, port);
    }
  }

  void Send(SwitchView& view, const Packet& probe, IntFields fields, PortIndex port) {
    if (settings_.direction == Direction::kForward)
      fields = IntFields::Merge(fields, LocalOf(view, port));
    Packet copy = probe;
    copy.SetScheme(fields);
    view.SendControl(copy, port);
    ++probes_;
  }

  const BestNexthopSettings settings_;
  const BestNexthopTimes times_;
  const int probe_hops_;  // Hops from one leaf to another.
  const uint64_t salt_;
  Rng rng_;
  AgedFlowTable<Flow> flows_;
  std::vector<std::unique_ptr<Port>> ports_;
  bool chooses_ = false;  // True if this switch chooses; false if it hashes.
  size_t keys_ = 0;
  std::vector<Known> known_;      // By key, then port.
  std::vector<Towards> towards_;  // By key.
  RouteChanges changes_;          // By key.
  std::vector<HostId> sources_;   // The hosts that this leaf sends probes for.
  HostId back_to_ = 0;            // A host of this leaf; probes are addressed to it.
  IntFields carried_;             // The values in the packet that is being forwarded.
  int64_t flowlets_ = 0;
  int64_t reroutes_ = 0;
  int64_t probes_ = 0;
  int64_t stale_ = 0;
};

class BestNexthopBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& fields) override {
    fields.Choice("scale", settings_.scale,
                  {{"datacenter", Scale::kDatacenter}, {"testbed", Scale::kTestbed}},
                  "Selects the values of auto below. datacenter: for round trips well below a "
                  "millisecond; testbed: for the paper's testbed with links of 8 Mbps.");
    fields.AddOr("auto", "gap", settings_.gap, {.above = Duration{0}, .at_most = 10_s},
                 "Flowlet gap: a flow may change its port after an idle time longer than this. "
                 "auto: 500us; testbed 50ms.");
    fields.AddOr("auto", "dre_period", settings_.dre_period, {.at_least = 1_ns, .at_most = 10_s},
                 "Time between two decays of a port's rate estimator. auto: 500us; testbed 50ms.");
    fields.Add("dre_alpha", settings_.dre_alpha, {.above = 0.0, .at_most = 1.0},
               "Share that a decay takes off.");
    fields.Add(
        "probes", settings_.probes,
        "Leaves send probes for their hosts; false: switches learn only from other packets.");
    fields.AddOr("auto", "probe_every", settings_.probe_every, {.at_least = 1_us, .at_most = 10_s},
                 "Time between two probes for a host. auto: 100us; testbed 10ms.");
    fields.AddOr("auto", "stale", settings_.stale, {.at_least = 1_ns, .at_most = 1000_s},
                 "Values older than this count as zero. auto: twice the gap.");
    fields.Choice("apply_at", settings_.apply_at,
                  {{"edge", ApplyAt::kEdge}, {"all", ApplyAt::kAll}},
                  "Switches that choose ports by the collected values. edge: leaves, as in the "
                  "paper's testbed, while other switches hash; all: every switch.");
    fields.Choice("direction", settings_.direction,
                  {{"toward_source", Direction::kTowardSource}, {"forward", Direction::kForward}},
                  "Queues whose values a packet collects. toward_source: the queues on the way "
                  "back to its source; forward: the queues that it has passed, as published.");
    fields.Choice("key", settings_.key, {{"host", Key::kHost}, {"leaf", Key::kLeaf}},
                  "host: a switch keeps values for each host; leaf: for each leaf, with one probe "
                  "for the whole leaf.");
    DeclareRanges(fields);
    settings_.flows.Declare(fields);
  }

  void Prepare(const FabricShape& fabric, std::string_view /*path*/,
               Diagnostics& /*diagnostics*/) override {
    tiers_ = fabric.tiers;
  }

  std::optional<Duration> flowlet_gap() const override { return TimesOf().gap; }

  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const override {
    const BestNexthopTimes times = TimesOf();
    BestNexthopSettings settings = settings_;
    // A flow forgotten within its gap would lose its port.
    settings.flows.age = std::max(settings.flows.age, 10 * times.gap);
    return std::make_unique<BestNexthop>(settings, times, tiers_, EcmpSalt(id, seed),
                                         Rng::Stream(seed, "best_nexthop", id));
  }

 private:
  void DeclareRanges(Fields& fields) {
    fields.AddOr(
        "auto", "latency_range", settings_.latency_range, Above(Duration{0}),
        "Latency that counts as 1 in the sum. auto: the latency of a full buffer of the port.");
    fields.AddOr(
        "auto", "queue_range", settings_.queue_range, AtLeast<int64_t>(1),
        "Queue length that counts as 1 in the sum, in packets. auto: a full buffer of the port.");
    fields.AddOr("auto", "utilisation_range", settings_.utilisation_range, Above(0.0),
                 "Value of the rate estimator that counts as 1 in the sum, in packets. auto: its "
                 "value when the port is always busy.");
  }

  BestNexthopTimes TimesOf() const {
    const bool testbed = settings_.scale == Scale::kTestbed;
    const Duration gap = settings_.gap.value_or(testbed ? 50_ms : 500_us);
    return {.gap = gap,
            .probe_every = settings_.probe_every.value_or(testbed ? 10_ms : 100_us),
            .stale = settings_.stale.value_or(2 * gap),
            .dre = {.period = settings_.dre_period.value_or(testbed ? 50_ms : 500_us),
                    .alpha = settings_.dre_alpha}};
  }

  BestNexthopSettings settings_;
  int tiers_ = FabricShape{}.tiers;
};

[[maybe_unused]] const bool registered = LoadBalancers().Add<BestNexthopBalancer>(
    {"best_nexthop",
     "Packets collect the latency, queue and utilisation of their way; each flowlet takes the port "
     "with the smallest sum.",
     "Lim et al., Best nexthop load balancing with in-band network telemetry"});

}  // namespace
}  // namespace heddle
