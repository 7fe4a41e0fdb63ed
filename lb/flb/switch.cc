// SPDX-License-Identifier: Apache-2.0

#include "lb/flb/switch.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "fabric/ecmp_hash.h"
#include "lb/flb/delays.h"
#include "lb/flb/header.h"
#include "lb/flb/isolation.h"
#include "lb/flb/queues.h"
#include "lb/parts/flow_key.h"
#include "lb/parts/follow_path.h"
#include "lb/parts/leaf_clock.h"
#include "lb/parts/queue_flows.h"
#include "lb/parts/route_changes.h"
#include "lb/parts/ties.h"

namespace heddle {
namespace {

using Evict = FlbSettings::Evict;
using Compare = FlbSettings::Compare;
using IsolationScope = FlbSettings::IsolationScope;

constexpr Duration kUnsure = 2_ns;  // Accuracy of a difference of measured delays.
constexpr int64_t kLast = std::numeric_limits<int64_t>::max();
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

  Packets asked_about() const override { return Packets::kEvery; }

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
        {"probe_bytes", controls_sent_ * kControlPacketBytes},
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

  // Returns true if packets name their paths; in two tiers the uplink determines the path.
  bool names_paths() const { return fixed_.digits.second > 1; }

  // Sets the delays of an uplink's paths to the delay of a full packet in an idle fabric.
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

  // Returns one of `live`, which are the distinct paths to the packet's leaf.
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

  // A flow silent since `last` is kept if it is isolated or has waited for its uplink's pause to
  // end.
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

  // Picks, among the fastest paths, the one given to a new flow longest ago. Otherwise flows that
  // begin together would all take the only path that has been measured.
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

  // Returns the flow's gap; with `gap_tick`, as an aging counter counts it, in ticks.
  Duration GapSince(Time last, Time now) const {
    const std::optional<Duration> tick = fixed_.settings.gap_tick;
    if (!tick) return now - last;
    return *tick * (now.ps / tick->ps - last.ps / tick->ps);
  }

  // Returns nothing if the flow is not isolated.
  std::optional<uint16_t> IsolatedPath(const Packet& packet, uint16_t leaf, Time now,
                                       std::span<const uint16_t> live) {
    FlbIsolation::Flow* its = isolation_->Find(FlowKey(packet), now);
    if (its == nullptr) return std::nullopt;
    if (!IsAmong(live, paths_.AsTo(leaf, its->path))) {
      its->path = isolation_->AnyOf(ScopeOf(leaf), live, rng_);
    }
    return paths_.AsTo(leaf, its->path);
  }

  // Returns the fastest path that is faster than `from` by less than the previous packet's lead; if
  // the flow must leave, slower paths count too. Stamps are whole nanoseconds, so each delay may be
  // off by up to one: smaller differences do not count.
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

  // Returns the paths whose uplink is not isolated; all paths if every uplink is.
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

  // Adds to live_ the paths with the other second digits.
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

  // Writes the header of a packet that begins here. Only paths that this leaf can choose are
  // measured; a packet pinned to another path number keeps that.
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
    // After a link failure a packet may take a detour, which is not a path of its leaf.
    const int links = paths_.IsNear(leaf) ? 2 : fixed_.most_links;
    if (header.stamp == 0 || packet.hops != links) return;
    // After a failure further up, the measurement stands for all packets that name the same path.
    const uint16_t path = names_paths() ? packet.path : packet.taken;
    if (path >= fixed_.digits.paths()) return;
    delays_.Measure(leaf, path, header.stamp, view.now());
    Arm(view);
  }

  void Learn(uint16_t leaf, uint8_t path, int32_t delay_ns) {
    if (path < paths_.CountTo(leaf)) delays_.Learn(leaf, path, delay_ns);
  }

  // Sends the delays that no packet has carried back within a round trip.
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

  // Tells flows of one port's queue.
  struct Teller {
    Flb& flb;
    SwitchView& view;
    PortIndex port;
    void operator()(uint64_t key, const QueueFlows::Flow& flow, const FlbControl& control) const {
      flb.Tell(view, key, flow, port, control);
    }
  };

  // Tells the leaf where the flow begins. If it is this leaf, flows between its own hosts need no
  // isolation.
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

  // Sends `packet` back over the path that a packet has taken, if the path is alive.
  void SendControl(SwitchView& view, Packet& packet, uint16_t path) {
    const Candidates candidates = view.CandidatesTo(packet.dst);
    if (candidates.ports.empty()) return;
    const PortIndex back = view.UplinkOf(path);
    const bool lives = candidates.Has(back);
    if (lives && names_paths()) packet.path = path;
    packet.kind = PacketKind::kControl;
    packet.bytes = kControlPacketBytes;
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
  std::optional<FlbIsolation> isolation_;            // Nothing if not a leaf: it only forwards.
  RouteChanges changes_;                             // By leaf.
  std::vector<std::optional<HostId>> host_of_leaf_;  // A host of each leaf, if known.
  std::vector<uint16_t> live_;                       // Paths whose uplinks lead to any of them.
  HostId own_host_ = 0;                              // A host of this leaf.
  FlbQueues queues_;
  bool is_armed_ = false;
  std::vector<uint16_t> free_;  // Scratch.
  std::vector<uint16_t> fit_;   // Scratch.
  std::vector<int64_t> given_;  // By path: the number of the flow that last began there.
  int64_t begun_ = 0;
  std::vector<Time> resumed_;      // By port: when the last pause that delayed packets ended.
  std::vector<uint8_t> is_stuck_;  // By port: packets wait for a pause to end.
  int64_t reroutes_ = 0;
  int64_t forced_evictions_ = 0;
  int64_t cnms_sent_ = 0;
  int64_t cnms_taken_ = 0;
  int64_t controls_sent_ = 0;
};

}  // namespace

SwitchPolicyPtr MakeFlbSwitch(const FlbConstants& constants, uint64_t salt, Rng rng) {
  return std::make_unique<Flb>(constants, salt, rng);
}

}  // namespace heddle
