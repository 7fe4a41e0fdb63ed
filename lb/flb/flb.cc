// SPDX-License-Identifier: Apache-2.0
// FLB (Hu et al., USENIX ATC 2025), for fabrics that lose nothing. Leaves reroute packet by packet:
// a flow moves to a quicker path when the packet before is so far ahead that it cannot be
// overtaken; leaves measure one-way delays to each other by stamps in packets. And they isolate: a
// queue that has become long has the flows in it notified (CNM, 64 bytes), and the leaves where
// those begin send them over as few uplinks as carry them, which other flows leave, so that a pause
// stops only those that caused it.
//
// Where the paper is silent: a delay counts from the moment that a packet is queued at its leaf, so
// that the leaf's own queues count; paths alike take turns with new flows; a flow that is isolated,
// or whose uplink is paused, is not forgotten; a flow whose uplink has just been isolated leaves it
// at once; an uplink is isolated for all destinations, as a pause stops all; delays that nobody
// carries back are sent back after a round trip.
//
// With three tiers leaves name whole paths, which switches above follow, and measure each of them.
// Isolated flows share whole paths, one over each isolated uplink.

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/random.h"
#include "lb/flb/delays.h"
#include "lb/flb/header.h"
#include "lb/flb/host.h"
#include "lb/flb/isolation.h"
#include "lb/flb/queues.h"
#include "lb/parts/ecmp_hash.h"
#include "lb/parts/flow_key.h"
#include "lb/parts/flow_table.h"
#include "lb/parts/follow_path.h"
#include "lb/parts/leaf_clock.h"
#include "lb/parts/leaf_paths.h"
#include "lb/parts/load_balancer.h"
#include "lb/parts/queue_flows.h"
#include "lb/parts/route_changes.h"
#include "lb/parts/ties.h"

namespace heddle {
namespace {

enum class Evict { kForce, kStrict };
enum class Compare { kRaw, kQueueing };
enum class IsolationScope { kUplink, kPath };

struct FlbSettings {
  std::optional<Duration> stamp_every;
  std::optional<Duration> gap_tick;
  std::optional<Bytes> isolate_above;
  std::optional<double> isolate_share;
  std::optional<Bytes> release_below;
  Evict evict = Evict::kForce;
  Compare compare = Compare::kRaw;
  IsolationScope scope = IsolationScope::kUplink;
  bool isolates = true;
  bool rate_control = false;
  Duration clock_spread{0};
  int64_t queue_flows = 512;
  FlowTableSettings flows = {.age = 1_ms};
  Duration held_age = 100_ms;

  // How long a flow is known that sends nothing because it cannot.
  Duration longest_age() const { return std::max(flows.age, held_age); }
};

// What follows from the fabric, too.
struct FlbConstants {
  FlbSettings settings;
  Duration base_rtt;
  Duration stamp_every;
  int64_t isolate_above;  // K
  int64_t release_below;
  PathDigits digits;
  int most_links = 2;  // On a path between leaves.
  Bytes packet;        // A full one, on the wire.
};

constexpr Duration kUnsure = 2_ns;  // Of a difference of measured delays.
constexpr int64_t kLast = std::numeric_limits<int64_t>::max();
constexpr uint16_t kControlBytes = 64;
constexpr uint32_t kReview = 0;  // The only timer.

class Flb final : public SwitchPolicy {
 public:
  Flb(const FlbConstants& constants, uint64_t salt, Rng rng)
      : fixed_(constants),
        salt_(salt),
        rng_(rng),
        delays_(constants.digits.paths(), constants.stamp_every,
                constants.settings.compare == Compare::kQueueing,
                ClockAhead(constants.settings.clock_spread, salt)),
        flows_(constants.settings.flows),
        queues_(constants.isolate_above, constants.release_below, constants.base_rtt,
                constants.settings.rate_control) {}

  uint32_t hooks() const override { return kEveryPacket | kEnqueue | kTransmit; }

  void Attach(SwitchView& view) override {
    if (view.tier() > 0 || view.Uplinks().empty()) return;
    leaves_ = view.leaves();
    paths_.Attach(view, fixed_.digits);
    const size_t scopes = fixed_.settings.scope == IsolationScope::kPath ? leaves_ : 1;
    isolation_.emplace(static_cast<size_t>(fixed_.settings.flows.entries), scopes, paths_.radix(),
                       fixed_.digits.second);
    delays_.Resize(leaves_, paths_.count());
    changes_.Resize(leaves_);
    host_of_leaf_.assign(leaves_, std::nullopt);
    live_.reserve(paths_.count());
    free_.reserve(paths_.count());
    fit_.resize(paths_.count());
    given_.assign(paths_.count(), 0);
    resumed_.assign(view.ports(), Time{-kNever.ps});
    is_stuck_.assign(view.ports(), 0);
    queues_.Attach(view.ports(), static_cast<size_t>(fixed_.settings.queue_flows));
    for (const PortIndex uplink : view.Uplinks()) {
      live_.push_back(paths_.FirstOver(uplink));
      for (size_t leaf = 0; leaf < leaves_; ++leaf) {
        SetIdle(view, uplink, static_cast<uint16_t>(leaf));
      }
    }
    AddSecondDigits();
  }

  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex in_port,
                    const Candidates& candidates) override {
    if (!isolation_) return Decision::Forward(PathOrHash(view, packet, candidates, salt_));
    paths_.Forget();
    const bool from_host = view.FacesHost(in_port);
    const bool arrives = !from_host && view.IsAttached(packet.dst);
    if (arrives && packet.kind == PacketKind::kControl) {
      OnControl(view, packet);
      if (fixed_.settings.rate_control && IsNotice(packet)) {
        return Decision::Forward(candidates.ports.front());
      }
      return Decision::Consume();
    }
    if (arrives) ReadHeader(view, packet);
    const bool begins = from_host && packet.kind != PacketKind::kControl;
    const bool ends = candidates.ports.size() == 1 && view.FacesHost(candidates.ports.front());
    if (!begins || ends) return Decision::Forward(PathOrHash(view, packet, candidates, salt_));
    const uint16_t leaf = view.LeafOf(packet.dst);
    const std::span<const uint16_t> live = paths_.LiveTo(leaf, candidates);
    if (live.empty()) [[unlikely]]
      return Decision::Forward(PathOrHash(view, packet, candidates, salt_));
    const bool chooses = live.size() > 1 || candidates.is_last_uplink;
    return Decision::Forward(
        paths_.Take(chooses ? Choose(view, packet, leaf, candidates, live) : live.front()));
  }

  void OnEnqueue(SwitchView& view, Packet& packet, PortIndex port) override {
    if (!isolation_ || packet.kind == PacketKind::kControl) return;
    if (!view.FacesHost(port)) {
      if (view.IsAttached(packet.src)) WriteHeader(view, packet, port);
      if (IsData(packet) && view.IsPaused(port, packet.priority)) is_stuck_[port] = 1;
    }
    if (fixed_.settings.isolates && IsData(packet)) {
      queues_.Enter(view, packet, port, Teller{*this, view, port});
    }
  }

  void OnTransmit(SwitchView& view, Packet& packet, PortIndex port) override {
    if (!isolation_ || !IsData(packet)) return;
    if (is_stuck_[port] != 0) [[unlikely]]
      NoteResume(view.now(), port);
    if (!fixed_.settings.isolates) return;
    queues_.Leave(view, packet, port, Teller{*this, view, port});
  }

  void OnTimer(SwitchView& view, uint32_t /*id*/) override {
    is_armed_ = false;
    isolation_->Review(view.now() - fixed_.settings.longest_age(), live_, rng_);
    SendOverdueNews(view);
    if (delays_.has_news() || !isolation_->is_idle()) Arm(view);
  }

  size_t StateBytes() const override {
    if (!isolation_) return sizeof(salt_);
    return flows_.memory_bytes() + isolation_->memory_bytes() + delays_.memory_bytes() +
           queues_.memory_bytes() + given_.size() * sizeof(given_[0]) +
           resumed_.size() * (sizeof(resumed_[0]) + sizeof(is_stuck_[0]));
  }
  std::vector<Counter> Counters() const override {
    if (!isolation_) return {};
    return {
        {"reroutes", reroutes_},
        {"forced_evictions", forced_evictions_},
        {"episodes", queues_.episodes()},
        {"cnms_sent", cnms_sent_},
        {"cnms_taken", cnms_taken_},
        {"isolated_flows", static_cast<int64_t>(isolation_->size())},
        {"isolated_ports", static_cast<int64_t>(isolation_->isolated_uplinks())},
        {"probes", controls_sent_},
        {"probe_bytes", controls_sent_ * kControlBytes},
        {"table_entries", static_cast<int64_t>(flows_.used())},
        {"table_evictions", flows_.evictions() + isolation_->evictions() + queues_.evictions()}};
  }

 private:
  struct Flow {
    uint16_t path = kNoPath;
    Time last;
  };

  static bool IsNotice(const Packet& packet) {
    return packet.Scheme<FlbControl>().kind != FlbControl::kDelay;
  }

  size_t ScopeOf(uint16_t leaf) const {
    return fixed_.settings.scope == IsolationScope::kPath ? leaf : 0;
  }

  // Whether packets name their paths: in two tiers the uplink says all.
  bool names_paths() const { return fixed_.digits.second > 1; }

  // Nothing is known of its paths: what an idle fabric would do to a full packet on the quickest.
  void SetIdle(SwitchView& view, PortIndex uplink, uint16_t leaf) {
    Duration idle{0};
    if (const std::optional<Way> way = view.WayTo(uplink, leaf)) {
      idle = way->propagation + view.TimeToSend(uplink, fixed_.packet) +
             SerializationDelay(fixed_.packet, way->last_rate) +
             SerializationDelay(fixed_.packet, way->least_rate) * std::max(way->links - 2, 0);
    }
    for (size_t path = paths_.FirstOver(uplink); path < paths_.count(); path += paths_.radix()) {
      delays_.Forget(leaf, static_cast<uint16_t>(path), idle);
    }
  }

  // --- Rerouting, algorithm 1 ---

  // Of `live`, the different paths to the packet's leaf.
  uint16_t Choose(SwitchView& view, const Packet& packet, uint16_t leaf,
                  const Candidates& candidates, std::span<const uint16_t> live) {
    NoteRoutes(view, packet.dst, leaf, candidates);
    const Time now = view.now();
    const auto found = flows_.Touch(
        packet, now, [&](const Flow& flow, Time last) { return IsHeld(view, packet, flow, last); });
    Flow& flow = found.state;
    const bool is_new = found.is_new || !IsAmong(live, flow.path);
    const uint16_t path = Place(packet, leaf, flow, is_new, now, live);
    if (!found.is_new && path != flow.path) ++reroutes_;
    flow = {path, now};
    return path;
  }

  // Silent since `last`: it is isolated, or has waited for its uplink's pause to end.
  bool IsHeld(SwitchView& view, const Packet& packet, const Flow& flow, Time last) const {
    const Time now = view.now();
    if (now - last > fixed_.settings.longest_age() || flow.path == kNoPath) return false;
    if (isolation_->Has(FlowKey(packet))) return true;
    const PortIndex uplink = paths_.UplinkOf(flow.path);
    return view.IsPaused(uplink, packet.priority) ||
           now - resumed_[uplink] <= fixed_.settings.flows.age;
  }
  void NoteResume(Time now, PortIndex port) {
    is_stuck_[port] = 0;
    resumed_[port] = now;
  }

  uint16_t Place(const Packet& packet, uint16_t leaf, const Flow& flow, bool is_new, Time now,
                 std::span<const uint16_t> live) {
    const bool isolates = !isolation_->is_idle();
    if (isolates) {
      if (const auto isolated = IsolatedPath(packet, leaf, now, live)) return *isolated;
    }
    const std::span<const uint16_t> free = isolates ? FreeOf(ScopeOf(leaf), live) : live;
    const Duration* delays = delays_.To(leaf);
    if (is_new) return Begin(delays, free);
    const bool must_leave = free.data() != live.data() && !IsAmong(free, flow.path);
    const Duration ahead = GapSince(flow.last, now);
    const std::optional<uint16_t> better =
        QuickestNotOvertaking(leaf, flow.path, ahead, must_leave, free);
    if (better) return *better;
    if (!must_leave || fixed_.settings.evict == Evict::kStrict) return flow.path;
    ++forced_evictions_;
    const Duration most = LeastDelay(delays, free) + kUnsure;
    return LeastOf(free, kNoPath, rng_, [=](uint16_t path) { return delays[path] > most; });
  }

  // Picks the quickest path that has been given to no flow for longest. Otherwise flows that begin
  // together would all take the only path that has been measured.
  uint16_t Begin(const Duration* delays, std::span<const uint16_t> free) {
    const Duration most = LeastDelay(delays, free) + kUnsure;
    const uint16_t path = LeastOf(free, kNoPath, rng_, [&](uint16_t other) {
      return delays[other] > most ? kLast : given_[other];
    });
    given_[path] = ++begun_;
    return path;
  }
  static Duration LeastDelay(const Duration* delays, std::span<const uint16_t> paths) {
    Duration least = delays[paths.front()];
    for (const uint16_t path : paths) least = std::min(least, delays[path]);
    return least;
  }

  // As an aging counter has it, if one is set: the ticks between.
  Duration GapSince(Time last, Time now) const {
    const std::optional<Duration> tick = fixed_.settings.gap_tick;
    if (!tick) return now - last;
    return *tick * (now.ps / tick->ps - last.ps / tick->ps);
  }

  // Nothing if the flow is not isolated.
  std::optional<uint16_t> IsolatedPath(const Packet& packet, uint16_t leaf, Time now,
                                       std::span<const uint16_t> live) {
    FlbIsolation::Flow* its = isolation_->Find(FlowKey(packet), now);
    if (its == nullptr) return std::nullopt;
    if (!IsAmong(live, paths_.AsTo(leaf, its->path))) {
      its->path = isolation_->AnyOf(ScopeOf(leaf), live, rng_);
    }
    return paths_.AsTo(leaf, its->path);
  }

  // Quicker than `from` by less than the packet before is ahead; if it must leave, also slower.
  // Each of the two delays may be off by up to a nanosecond, as stamps are whole ones: a difference
  // of two may be none.
  std::optional<uint16_t> QuickestNotOvertaking(uint16_t leaf, uint16_t from, Duration ahead,
                                                bool must_leave, std::span<const uint16_t> free) {
    const Duration* delays = delays_.To(leaf);
    const Duration least = delays[from] + kUnsure - ahead;
    const Duration below = must_leave ? Duration{kNever.ps} : delays[from] - kUnsure;
    size_t fit = 0;
    for (const uint16_t path : free) {
      fit_[fit] = path;
      fit += (delays[path] >= least) & (delays[path] < below);
    }
    if (fit == 0) return std::nullopt;
    const std::span<const uint16_t> found(fit_.data(), fit);
    const Duration most = LeastDelay(delays, found) + kUnsure;
    return LeastOf(found, from, rng_, [=](uint16_t path) { return delays[path] > most; });
  }

  // Those whose uplink is not isolated; all if all are.
  std::span<const uint16_t> FreeOf(size_t scope, std::span<const uint16_t> live) {
    if (isolation_->isolated_uplinks(scope) == 0) return live;
    free_.clear();
    for (const uint16_t path : live) {
      if (!isolation_->IsClosed(scope, path)) free_.push_back(path);
    }
    return free_.empty() ? live : std::span<const uint16_t>(free_);
  }

  void NoteRoutes(SwitchView& view, HostId host, uint16_t leaf, const Candidates& candidates) {
    const auto forget = [&](PortIndex port) { SetIdle(view, port, leaf); };
    if (!changes_.Note(leaf, candidates, view.Uplinks(), forget)) return;
    host_of_leaf_[leaf] = host;
    live_.clear();
    for (const PortIndex port : view.Uplinks()) {
      if (LeadsAnywhere(view, port)) live_.push_back(paths_.FirstOver(port));
    }
    AddSecondDigits();
  }

  // To the paths that are live_ with a second digit of zero, those with others.
  void AddSecondDigits() {
    for (size_t path = paths_.radix(); path < paths_.count(); ++path) {
      const uint16_t one_less = static_cast<uint16_t>(path - paths_.radix());
      if (IsAmong(live_, one_less)) live_.push_back(static_cast<uint16_t>(path));
    }
  }

  bool LeadsAnywhere(const SwitchView& view, PortIndex port) const {
    return std::ranges::any_of(host_of_leaf_, [&](const std::optional<HostId>& host) {
      return host && view.CandidatesTo(*host).Has(port);
    });
  }

  // --- One-way delays ---

  // Of a packet that begins here. Only paths that this leaf can choose are measured: one that was
  // pinned to another number keeps that.
  void WriteHeader(SwitchView& view, Packet& packet, PortIndex port) {
    const uint16_t leaf = view.LeafOf(packet.dst);
    uint16_t path = paths_.FirstOver(port);
    if (names_paths()) {
      paths_.Stamp(packet);
      path = packet.path < paths_.CountTo(leaf) ? packet.path : kNoPath;
    }
    if (path == kNoPath) return packet.SetScheme(FlbHeader());
    packet.SetScheme(delays_.HeaderFor(leaf, path, IsData(packet), view.now()));
  }

  void ReadHeader(SwitchView& view, const Packet& packet) {
    const uint16_t leaf = view.LeafOf(packet.src);
    const FlbHeader header = packet.Scheme<FlbHeader>();
    host_of_leaf_[leaf] = packet.src;
    own_host_ = packet.dst;
    if (header.news != 0) {
      Learn(leaf, static_cast<uint8_t>((header.news & 0xff) - 1),
            static_cast<int32_t>(header.news) >> 8);
    }
    // Where a link has just failed a packet may come by a detour, which is no path of its leaf.
    const int links = paths_.IsNear(leaf) ? 2 : fixed_.most_links;
    if (header.stamp == 0 || packet.hops != links) return;
    // Behind a link that has failed further up it stands for all that names the same path.
    const uint16_t path = names_paths() ? packet.path : packet.taken;
    if (path >= fixed_.digits.paths()) return;
    delays_.Measure(leaf, path, header.stamp, view.now());
    Arm(view);
  }

  void Learn(uint16_t leaf, uint8_t path, int32_t delay_ns) {
    if (path < paths_.CountTo(leaf)) delays_.Learn(leaf, path, delay_ns);
  }

  // What nobody has carried back within a round trip.
  void SendOverdueNews(SwitchView& view) {
    delays_.SendOverdue(view.now() - fixed_.base_rtt,
                        [&](uint16_t leaf, uint8_t path, int32_t delay_ns) {
                          Packet packet;
                          packet.src = own_host_;
                          packet.dst = *host_of_leaf_[leaf];
                          packet.SetScheme(FlbControl{FlbControl::kDelay, path, 0, delay_ns});
                          SendControl(view, packet, path);
                        });
  }

  // --- Congestion: where the queue is ---

  // Of a port.
  struct Teller {
    Flb& flb;
    SwitchView& view;
    PortIndex port;
    void operator()(uint64_t key, const QueueFlows::Flow& flow, const FlbControl& control) const {
      flb.Tell(view, key, flow, port, control);
    }
  };

  // The leaf where the flow begins, which may be this one: then, of flows between its own hosts
  // there is nothing to isolate.
  void Tell(SwitchView& view, uint64_t key, const QueueFlows::Flow& flow, PortIndex port,
            const FlbControl& header) {
    ++cnms_sent_;
    Packet packet;
    packet.flow = QueueFlows::FlowOf(key);
    packet.tuple_hash = flow.tuple_hash;
    packet.src = flow.dst;
    packet.dst = QueueFlows::SourceOf(key);
    packet.SetScheme(header);
    if (!view.IsAttached(packet.dst)) return SendControl(view, packet, flow.path);
    if (!view.FacesHost(port)) OnControl(view, packet);
    if (fixed_.settings.rate_control) SendControl(view, packet, flow.path);
  }

  // Back over the path that a packet has taken, if it lives.
  void SendControl(SwitchView& view, Packet& packet, uint16_t path) {
    const Candidates candidates = view.CandidatesTo(packet.dst);
    if (candidates.ports.empty()) return;
    const PortIndex back = view.UplinkOf(path);
    const bool lives = candidates.Has(back);
    if (lives && names_paths()) packet.path = path;
    packet.kind = PacketKind::kControl;
    packet.bytes = kControlBytes;
    ++controls_sent_;
    view.SendControl(packet, lives ? back : EcmpPort(packet, salt_, candidates.ports));
  }

  // --- Isolation: where flows begin ---

  void OnControl(SwitchView& view, const Packet& packet) {
    const FlbControl header = packet.Scheme<FlbControl>();
    const uint16_t leaf = view.LeafOf(packet.src);
    if (header.kind == FlbControl::kDelay) {
      return Learn(leaf, header.path, header.number);
    }
    ++cnms_taken_;
    const uint64_t key = FlowKey(packet.flow, packet.dst);
    if (header.kind == FlbControl::kReleased) {
      isolation_->Remove(key);
    } else {
      Isolate(view, packet, key, leaf, header.flows);
    }
    if (!isolation_->is_idle()) Arm(view);
  }

  // `cnm` goes to the host that sends the flow, as if from the one that receives it.
  void Isolate(SwitchView& view, const Packet& cnm, uint64_t key, uint16_t leaf, uint16_t flows) {
    const Candidates candidates = view.CandidatesTo(cnm.src);
    const std::span<const uint16_t> live = paths_.LiveTo(leaf, candidates);
    if (candidates.ports.size() < 2 || live.empty()) return;
    Packet as_data;
    as_data.flow = cnm.flow;
    as_data.src = cnm.dst;
    as_data.tuple_hash = cnm.tuple_hash;
    const Flow* flow = flows_.FindSince(as_data, view.now() - fixed_.settings.longest_age());
    const bool lives = flow != nullptr && IsAmong(live, flow->path);
    const uint16_t path = lives ? flow->path : live[rng_.Below(static_cast<uint32_t>(live.size()))];
    isolation_->Add(key, ScopeOf(leaf), flows, path, live, view.now(), rng_);
  }

  void Arm(SwitchView& view) {
    if (is_armed_) return;
    is_armed_ = true;
    view.SetTimer(view.now() + fixed_.base_rtt, kReview);
  }

  const FlbConstants fixed_;
  const uint64_t salt_;
  Rng rng_;
  FlbDelays delays_;
  AgedFlowTable<Flow> flows_;
  size_t leaves_ = 0;
  LeafPaths paths_;
  std::optional<FlbIsolation> isolation_;            // Nothing: this is no leaf, and only forwards.
  RouteChanges changes_;                             // By leaf.
  std::vector<std::optional<HostId>> host_of_leaf_;  // One that has been heard of.
  std::vector<uint16_t> live_;                       // Paths whose uplinks lead to any of these.
  HostId own_host_ = 0;                              // One of this leaf.
  FlbQueues queues_;
  bool is_armed_ = false;
  std::vector<uint16_t> free_;  // Scratch.
  std::vector<uint16_t> fit_;   // Scratch.
  std::vector<int64_t> given_;  // By path: which of the flows that have begun took it last.
  int64_t begun_ = 0;
  std::vector<Time> resumed_;      // By port: when a pause that packets waited for ended last.
  std::vector<uint8_t> is_stuck_;  // By port: packets wait for that.
  int64_t reroutes_ = 0;
  int64_t forced_evictions_ = 0;
  int64_t cnms_sent_ = 0;
  int64_t cnms_taken_ = 0;
  int64_t controls_sent_ = 0;
};

class FlbBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& fields) override {
    fields.AddOr("auto", "stamp_every", settings_.stamp_every, {.at_least = 1_ns, .at_most = 1_s},
                 "Time between two measurements of a path's one-way delay. auto: twice the base "
                 "round trip.");
    fields.Choice("compare", settings_.compare,
                  {{"raw", Compare::kRaw}, {"queueing", Compare::kQueueing}},
                  "What of two paths is compared. raw: their one-way delays; queueing: less the "
                  "least ever measured, as published, which hides that one is longer.");
    fields.AddOr("none", "gap_tick", settings_.gap_tick, {.at_least = 1_ns, .at_most = 1_ms},
                 "A gap between packets is counted in ticks of this length, as a switch's aging "
                 "counter does: by up to one too short or too long. none: it is exact.");
    fields.Add("isolate", settings_.isolates,
               "Flows that congest a queue are isolated; false: only rerouting.");
    fields.Add(
        "rate_control", settings_.rate_control,
        "FLB+RC: hosts pause flows that congest a queue, and send them at their share of the "
        "link when it is short again, until 1ms (table_age) without another notice.");
    fields.AddOr("auto", "isolate_above", settings_.isolate_above, Above(Bytes{0}),
                 "K: the queue from which the flows in it are isolated. auto: what a host's link "
                 "carries in a base round trip, at most half of pfc.xoff (of 256KB if that follows "
                 "from the memory); where congestion control heeds marks as much beyond the queue "
                 "from which packets are marked, at most halfway from there to pfc.xoff.");
    fields.AddOr("none", "isolate_share", settings_.isolate_share, {.above = 0.0, .at_most = 1.0},
                 "K as a share of the switch's memory, instead.");
    fields.AddOr("auto", "release_below", settings_.release_below, Above(Bytes{0}),
                 "The queue below which they are released. auto: isolate_above.");
    fields.Choice(
        "evict", settings_.evict, {{"force", Evict::kForce}, {"strict", Evict::kStrict}},
        "What other flows do on an uplink that has become isolated. force: leave at once; "
        "strict: leave when nothing is overtaken.");
    fields.Choice("scope", settings_.scope,
                  {{"uplink", IsolationScope::kUplink}, {"path", IsolationScope::kPath}},
                  "For whom an uplink is isolated. uplink: for all; path: for flows to the same "
                  "leaf.");
    DeclareClockSpread(fields, settings_.clock_spread);
    fields.Add("queue_flows", settings_.queue_flows, Between<int64_t>(1, 1 << 16),
               "Flows that a port keeps apart in its queue.");
    settings_.flows.Declare(fields);
    fields.Add(
        "held_age", settings_.held_age, {.above = Duration{0}, .at_most = 1000_s},
        "The same, if that is longer, for a flow that is isolated or whose uplink is paused: "
        "it is silent because it cannot send. Also how long an isolation lasts of which "
        "nothing is heard any more.");
    fields.Require(settings_.isolates || !settings_.rate_control, "rate_control",
                   "needs isolate: true, which notifies");
    fields.Require(!settings_.isolate_above || !settings_.isolate_share, "isolate_share",
                   "isolate_above is set already");
    fields.Require(!settings_.isolate_above || !settings_.release_below ||
                       *settings_.release_below <= *settings_.isolate_above,
                   "release_below", "is above isolate_above, so flows would be released at once");
  }

  void Prepare(const FabricShape& fabric, std::string_view path,
               Diagnostics& diagnostics) override {
    shape_ = fabric;
    if (fabric.tiers > 3) {
      diagnostics.ErrorAt(path, "flb is for two or three tiers; use drill");
    }
    if (settings_.rate_control && !fabric.limits_rates) {
      diagnostics.ErrorAt(std::string(path) + ".rate_control",
                          "needs flows that can be held to a rate; use transport: rocev2");
    }
    if (DigitsOf(shape_).paths() > kMostPaths) diagnostics.ErrorAt(path, TooManyPaths());
    CheckMarking(path, diagnostics);
  }

  std::unique_ptr<HostPolicy> ForHost(HostId /*id*/, uint64_t /*seed*/) const override {
    return settings_.rate_control
               ? std::make_unique<FlbHost>(settings_.flows.age,
                                           static_cast<size_t>(settings_.queue_flows))
               : nullptr;
  }

  std::unique_ptr<SwitchPolicy> ForSwitch(SwitchId id, uint64_t seed) const override {
    const int64_t above = IsolateAbove();
    const FlbConstants constants{
        .settings = settings_,
        .base_rtt = shape_.base_rtt,
        .stamp_every = settings_.stamp_every.value_or(2 * shape_.base_rtt),
        .isolate_above = above,
        .release_below = settings_.release_below.value_or(Bytes{above}).count,
        .digits = DigitsOf(shape_),
        .most_links = 2 * (shape_.tiers - 1),
        .packet = shape_.packet};
    return std::make_unique<Flb>(constants, EcmpSalt(id, seed), Rng::Stream(seed, "flb", id));
  }

 private:
  static constexpr size_t kMostPaths = 255;

  std::string TooManyPaths() const {
    if (shape_.tiers < 3) return "flb numbers paths in 8 bits; a leaf may have 255 uplinks";
    return fmt::format(
        "flb numbers the paths of a leaf in 8 bits, so {} are too many: {} uplinks times {} of the "
        "switches above; with up to {} it runs, or use drill",
        DigitsOf(shape_).paths(), shape_.leaf_uplinks, shape_.above_uplinks, kMostPaths);
  }

  // Congestion control keeps queues somewhat above where marking begins: there nothing is wrong
  // yet.
  void CheckMarking(std::string_view path, Diagnostics& diagnostics) const {
    const bool is_set = settings_.isolate_above || settings_.isolate_share;
    const int64_t marked = shape_.marked_above.count;
    if (!settings_.isolates || !is_set || 2 * IsolateAbove() >= 3 * marked) return;
    const char* const key = settings_.isolate_above ? ".isolate_above" : ".isolate_share";
    diagnostics.WarningAt(
        std::string(path) + key,
        fmt::format(
            "K is {}, and marking begins at {}: congestion control keeps queues near that, "
            "so flows are isolated all the time; leave both at auto and none, which makes K "
            "{}, or set more than {}",
            FormatQuantity(Bytes{IsolateAbove()}), FormatQuantity(Bytes{marked}),
            FormatQuantity(Bytes{AutoAbove()}), FormatQuantity(Bytes{3 * marked / 2})));
  }

  // The published range, from 2 d C to Q_PFC / n - 2 d C (n - 1), is empty but for few senders; its
  // lower end keeps the link busy after a resume and leaves most room to PFC.
  int64_t IsolateAbove() const {
    if (settings_.isolate_above) return settings_.isolate_above->count;
    if (settings_.isolate_share) {
      return static_cast<int64_t>(*settings_.isolate_share *
                                  static_cast<double>(shape_.switch_memory.count));
    }
    return AutoAbove();
  }

  // The paper's K is for flows that nothing but pauses slows down. Where marks do, the queue that
  // they keep is no sign of congestion: K counts from there, and halves what is left to a pause.
  int64_t AutoAbove() const {
    const double round_trip =
        Seconds(shape_.base_rtt) * static_cast<double>(shape_.host_rate.bps) / 8;
    const int64_t pause = shape_.pause_above.count;
    const int64_t marked = shape_.marked_above.count < pause ? shape_.marked_above.count : 0;
    return std::min(marked + static_cast<int64_t>(round_trip), marked + (pause - marked) / 2);
  }

  FlbSettings settings_;
  FabricShape shape_;
};

[[maybe_unused]] const bool registered = LoadBalancers().Add<FlbBalancer>(
    {"flb",
     "Packets move to quicker paths where they overtake nothing, and flows that congest a queue "
     "share a few isolated uplinks.",
     "Hu et al., USENIX ATC 2025"});

}  // namespace
}  // namespace heddle
