// SPDX-License-Identifier: Apache-2.0

#include "lb/tdlb/switch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "fabric/ecmp_hash.h"
#include "lb/parts/flow_key.h"
#include "lb/parts/follow_path.h"
#include "lb/parts/leaf_clock.h"
#include "lb/parts/queue_flows.h"
#include "lb/parts/route_changes.h"
#include "lb/parts/ties.h"
#include "lb/tdlb/control.h"
#include "lb/tdlb/marks.h"

namespace heddle {
namespace {

using DetectAt = TdlbSettings::DetectAt;
using Reroute = TdlbSettings::Reroute;
using PlaceBy = TdlbSettings::PlaceBy;
using ProbeMode = TdlbSettings::ProbeMode;

constexpr int64_t kMtu = 1'500;
constexpr uint32_t kCheck = 0;  // Ids of timers.
constexpr uint32_t kProbe = 1;

class Tdlb final : public SwitchPolicy {
 public:
  Tdlb(const TdlbSettings& settings, const PathDigits& digits, Duration base_rtt, uint64_t salt,
       Rng rng)
      : settings_(settings),
        digits_(digits),
        base_rtt_(base_rtt),
        probe_every_(settings.probe_every * static_cast<int64_t>(digits.second)),
        salt_(salt),
        rng_(rng),
        clock_ahead_(ClockAhead(settings.clock_spread, salt)),
        flows_(settings.flows),
        marks_(static_cast<size_t>(settings.flows.entries)) {}

  Packets asked_about() const override { return Packets::kEvery; }

  void Attach(SwitchView& view) override {
    leaves_ = view.leaves();
    if (view.tier() > 0 || view.Uplinks().empty()) return;
    for (size_t host = view.hosts(); host-- > 0;) {
      if (!view.IsAttached(static_cast<HostId>(host))) continue;
      own_host_ = static_cast<HostId>(host);
      is_leaf_ = true;
    }
    if (!is_leaf_) return;
    own_leaf_ = view.LeafOf(own_host_);
    paths_.Attach(view, digits_);
    for (size_t port = 0; port < view.ports(); ++port) {
      queues_.push_back(std::make_unique<Monitor>(static_cast<size_t>(settings_.queue_flows)));
      SetThresholds(view, static_cast<PortIndex>(port));
    }
    for (size_t leaf = 0; leaf < leaves_; ++leaf) {
      delays_.push_back(DelaysTo(view, static_cast<uint16_t>(leaf)));
    }
    marks_.Attach(leaves_, paths_.count());
    changes_.Resize(leaves_);
    unmarked_.reserve(paths_.count());
    given_.assign(paths_.count(), 0);
    for (const PortIndex uplink : view.Uplinks()) {
      alike_ = std::max(alike_, view.TimeToSend(uplink, Bytes{kMtu}));
    }
    // Random phases, so that leaves do not act at once.
    view.SetTimer(view.now() + Within(settings_.check_every), kCheck);
    view.SetTimer(view.now() + Within(probe_every_), kProbe);
  }

  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex in_port,
                    const Candidates& candidates) override {
    paths_.Forget();
    if (packet.kind == PacketKind::kControl) return OnControl(view, packet, in_port, candidates);
    const bool begins = is_leaf_ && IsData(packet) && view.FacesHost(in_port);
    const bool ends = view.FacesHost(candidates.ports.front());
    const size_t live = begins && !ends ? paths_.Live(candidates).size() : 0;
    if (live == 0 || (live == 1 && !candidates.is_last_uplink)) {
      return Decision::Forward(PathOrHash(view, packet, candidates, salt_));
    }
    return Decision::Forward(paths_.Take(Choose(view, packet, candidates)));
  }

  void OnEnqueue(SwitchView& view, Packet& packet, PortIndex port) override {
    if (!is_leaf_ || !IsData(packet)) return;
    paths_.Stamp(packet);
    if (!IsWatched(view, packet, port)) return;
    QueueFlows& queue = queues_[port]->flows;
    if (queue.distinct() > 0 && view.QueuedPackets(port) <= 1) queue.Empty();
    queue.Enter(packet, view.now(), [&](uint64_t key, const QueueFlows::Flow& flow) {
      if (flow.is_notified) Tell(view, key, flow, port, TdlbControl::kCleared);
    });
  }

  void OnTransmit(SwitchView& view, Packet& packet, PortIndex port) override {
    if (!is_leaf_ || !IsData(packet)) return;
    if (IsWatched(view, packet, port)) queues_[port]->flows.Leave(packet);
  }

  void OnTimer(SwitchView& view, uint32_t id) override {
    if (id == kProbe) {
      SendProbes(view);
      return view.SetTimer(view.now() + probe_every_, kProbe);
    }
    marks_.Expire(view.now() - settings_.notification_age);
    for (size_t port = 0; port < queues_.size(); ++port) {
      CheckPort(view, static_cast<PortIndex>(port));
    }
    view.SetTimer(view.now() + settings_.check_every, kCheck);
  }

  size_t StateBytes() const override {
    if (!is_leaf_) return sizeof(salt_);
    size_t bytes =
        flows_.memory_bytes() + marks_.memory_bytes() + given_.size() * sizeof(given_[0]);
    for (const PathDelays& delays : delays_) bytes += delays.memory_bytes();
    for (const auto& monitor : queues_) bytes += monitor->flows.memory_bytes();
    return bytes;
  }
  std::vector<Counter> Counters() const override {
    if (!is_leaf_) return {{"probes", probes_}, {"probe_bytes", probes_ * kControlPacketBytes}};
    return {{"reroutes", reroutes_},
            {"flowlets", flowlets_},
            {"episodes", episodes_},
            {"cns_sent", notices_sent_},
            {"cns_taken", notices_taken_},
            {"congested_flows", static_cast<int64_t>(marks_.size())},
            {"probes", probes_},
            {"probe_bytes", probes_ * kControlPacketBytes},
            {"table_entries", static_cast<int64_t>(flows_.used())},
            {"table_evictions", flows_.evictions() + marks_.evictions() + QueueEvictions()}};
  }

  // The flowlet gap after which a flow to a leaf may change its path.
  std::vector<Gauge> Gauges(Time now) const override {
    std::vector<Gauge> gauges;
    for (size_t leaf = 0; leaf < delays_.size(); ++leaf) {
      if (leaf == own_leaf_) continue;
      const double timeout_ps = static_cast<double>(delays_[leaf].Timeout(now).ps);
      gauges.push_back({fmt::format("timeout_ns[{}]", leaf), timeout_ps * 1e-3});
    }
    return gauges;
  }

 private:
  struct Flow {
    uint16_t path = kNoPath;
    Time last;
  };
  // The flows in one port's queue, and the port's thresholds of congestion.
  struct Monitor {
    explicit Monitor(size_t room) : flows(room) {}
    QueueFlows flows;
    int64_t above = 0;
    int64_t clear = 0;
    Duration one_packet;
  };

  int64_t QueueEvictions() const {
    int64_t sum = 0;
    for (const auto& monitor : queues_) sum += monitor->flows.evictions();
    return sum;
  }

  Duration Within(Duration period) {
    return {static_cast<int64_t>(rng_.Uniform() * static_cast<double>(period.ps))};
  }

  void SetThresholds(SwitchView& view, PortIndex port) {
    Monitor& monitor = *queues_[port];
    monitor.above = settings_.congested_above.value_or(Bytes{view.BufferOf(port).count / 2}).count;
    monitor.clear = settings_.clear_below.value_or(Bytes{monitor.above / 2}).count;
    monitor.one_packet = view.TimeToSend(port, Bytes{kMtu});
  }

  // Returns the delays before any measurement: propagation only. A path number that is unused here
  // has the delay of the one before it, and is never chosen.
  PathDelays DelaysTo(SwitchView& view, uint16_t leaf) {
    std::vector<Duration> idle;
    for (size_t path = 0; path < paths_.CountTo(leaf); ++path) {
      const auto way = view.WayTo(paths_.UplinkOf(static_cast<uint16_t>(path)), leaf);
      idle.push_back(way ? way->propagation : idle.empty() ? 0_ps : idle.back());
    }
    Duration floor{0};
    for (const PortIndex uplink : view.Uplinks()) {
      floor = std::max(floor, view.TimeToSend(uplink, Bytes{kMtu}));
    }
    return PathDelays(std::move(idle), settings_.stale.value_or(5 * probe_every_), floor,
                      settings_.table);
  }

  // --- Where flows begin ---

  uint16_t Choose(SwitchView& view, const Packet& packet, const Candidates& candidates) {
    const uint16_t leaf = view.LeafOf(packet.dst);
    changes_.Note(leaf, candidates, view.Uplinks(), [&](PortIndex port) { Forget(leaf, port); });
    const auto found = flows_.Touch(packet, view.now());
    Flow& flow = found.state;
    const bool is_placed = !found.is_new && paths_.Lives(flow.path, candidates);
    const uint16_t before = flow.path;
    flow.path = Place(view, packet, flow, is_placed, leaf, candidates);
    flow.last = view.now();
    if (!found.is_new && flow.path != before) ++reroutes_;
    return flow.path;
  }

  uint16_t Place(SwitchView& view, const Packet& packet, const Flow& flow, bool is_placed,
                 uint16_t leaf, const Candidates& candidates) {
    if (marks_.IsCongested(FlowKey(packet))) {
      return is_placed ? flow.path : Hashed(packet, leaf, candidates);
    }
    if (!is_placed) return FirstPath(view, packet, leaf, candidates);
    const bool may_move = settings_.reroute == Reroute::kAlways || marks_.IsMarked(leaf, flow.path);
    if (!may_move || view.now() - flow.last <= delays_[leaf].Timeout(view.now())) return flow.path;
    ++flowlets_;
    return Fastest(view, leaf, flow.path, candidates);
  }

  uint16_t Hashed(const Packet& packet, uint16_t leaf, const Candidates& candidates) {
    const std::span<const uint16_t> live = paths_.LiveTo(leaf, candidates);
    return live[MapToRange(EcmpHash(packet, salt_), live.size())];
  }

  uint16_t FirstPath(const SwitchView& view, const Packet& packet, uint16_t leaf,
                     const Candidates& candidates) {
    if (settings_.place == PlaceBy::kDelay) return Begin(view, leaf, candidates);
    const uint16_t path = Hashed(packet, leaf, candidates);
    return marks_.IsMarked(leaf, path) ? Fastest(view, leaf, kNoPath, candidates) : path;
  }

  // Picks, among the fastest paths, the one given to a new flow longest ago. Delays that differ by
  // less than a packet time count as equal. Otherwise all flows would begin on one path until the
  // next probe.
  uint16_t Begin(const SwitchView& view, uint16_t leaf, const Candidates& candidates) {
    const std::span<const uint16_t> among = Unmarked(leaf, candidates);
    const auto cost = [&](uint16_t path) { return CostOf(view, leaf, path); };
    auto most = cost(*std::ranges::min_element(among, {}, cost));
    most.second = most.second + alike_;
    const uint16_t path = LeastOf(among, kNoPath, rng_, [&](uint16_t other) {
      return std::pair(most < cost(other), given_[other]);
    });
    given_[path] = ++begun_;
    return path;
  }

  // Picks the fastest path, among the unmarked ones if there are any.
  uint16_t Fastest(const SwitchView& view, uint16_t leaf, uint16_t previous,
                   const Candidates& candidates) {
    return LeastOf(Unmarked(leaf, candidates), previous, rng_,
                   [&](uint16_t path) { return CostOf(view, leaf, path); });
  }

  // Paths that probes have recently come over are preferred: on others, packets may be lost where
  // routing does not know of a failure yet.
  std::pair<bool, Duration> CostOf(const SwitchView& view, uint16_t leaf, uint16_t path) const {
    return {!delays_[leaf].IsFresh(path, view.now()), delays_[leaf].Of(path)};
  }

  // Returns the unmarked live paths; all live paths if all are marked. Valid until the next call.
  std::span<const uint16_t> Unmarked(uint16_t leaf, const Candidates& candidates) {
    unmarked_.clear();
    const std::span<const uint16_t> live = paths_.LiveTo(leaf, candidates);
    for (const uint16_t path : live) {
      if (!marks_.IsMarked(leaf, path)) unmarked_.push_back(path);
    }
    return unmarked_.empty() ? live : std::span<const uint16_t>(unmarked_);
  }

  void Forget(uint16_t leaf, PortIndex uplink) {
    for (size_t p = paths_.FirstOver(uplink); p < paths_.CountTo(leaf); p += paths_.radix()) {
      delays_[leaf].Forget(p);
    }
  }

  // Marks the path that the flow has now. It may differ from the path of the flow's queued packets,
  // and from the path in an earlier notice.
  void Congest(SwitchView& view, uint64_t key, uint32_t tuple_hash, uint16_t leaf, uint16_t path) {
    const uint16_t now = PathNow(view, key, tuple_hash, path);
    if (now >= paths_.CountTo(leaf)) return;  // The path is not one that a leaf would choose.
    marks_.Mark(key, leaf, now, view.now());
  }
  uint16_t PathNow(SwitchView& view, uint64_t key, uint32_t tuple_hash, uint16_t path) {
    Packet as_data;
    as_data.flow = QueueFlows::FlowOf(key);
    as_data.src = QueueFlows::SourceOf(key);
    as_data.tuple_hash = tuple_hash;
    const Flow* flow = flows_.Find(as_data, view.now());
    return flow == nullptr ? path : flow->path;
  }

  // --- Where queues are ---

  // At ports to hosts only flows from other leaves are watched: others have no choice of paths.
  bool IsWatched(const SwitchView& view, const Packet& packet, PortIndex port) const {
    if (!view.FacesHost(port)) return settings_.detect_at == DetectAt::kLeaves;
    return !view.IsAttached(packet.src);
  }

  void CheckPort(SwitchView& view, PortIndex port) {
    Monitor& monitor = *queues_[port];
    const int64_t queue = view.Unsent(port).count;
    if (queue > monitor.above && IsDelayed(view, port)) {
      if (!monitor.flows.is_congested) {
        ++episodes_;
        monitor.flows.BeginEpisode();
      }
      NotifyAll(view, monitor.flows, port);
    } else if (monitor.flows.is_congested && queue <= monitor.clear) {
      monitor.flows.ForEach([&](uint64_t key, const QueueFlows::Flow& flow) {
        if (flow.is_notified) Tell(view, key, flow, port, TdlbControl::kCleared);
      });
      monitor.flows.EndEpisode();
    }
  }

  // Returns true if a path over the uplink has more than a packet's delay above its least. A queue
  // to a host is always a delay.
  bool IsDelayed(const SwitchView& view, PortIndex port) const {
    if (view.FacesHost(port)) return true;
    for (uint16_t leaf = 0; leaf < leaves_; ++leaf) {
      for (size_t p = paths_.FirstOver(port); p < paths_.CountTo(leaf); p += paths_.radix()) {
        if (delays_[leaf].Queueing(p) > queues_[port]->one_packet) return true;
      }
    }
    return false;
  }

  void NotifyAll(SwitchView& view, QueueFlows& queue, PortIndex port) {
    queue.ForEach([&](uint64_t key, QueueFlows::Flow& flow) {
      if (flow.packets == 0) return;
      if (flow.is_notified && view.now() - flow.told_at < base_rtt_) return;
      flow.is_notified = true;
      flow.told_at = view.now();
      Tell(view, key, flow, port, TdlbControl::kCongested);
    });
  }

  void Tell(SwitchView& view, uint64_t key, const QueueFlows::Flow& flow, PortIndex port,
            TdlbControl::Kind kind) {
    if (!view.FacesHost(port)) {  // The flow begins at this leaf.
      if (kind == TdlbControl::kCleared) return marks_.Clear(key);
      return Congest(view, key, flow.tuple_hash, view.LeafOf(flow.dst), paths_.FirstOver(port));
    }
    ++notices_sent_;
    Packet packet;
    packet.flow = QueueFlows::FlowOf(key);
    packet.tuple_hash = flow.tuple_hash;
    packet.src = flow.dst;
    packet.dst = QueueFlows::SourceOf(key);
    packet.SetScheme(TdlbControl{kind, 0, flow.path, 0});
    Send(view, packet, flow.path);
  }

  // Sends `packet` back over the path that a packet has taken, if the path is alive.
  void Send(SwitchView& view, Packet& packet, uint16_t path) {
    const Candidates candidates = view.CandidatesTo(packet.dst);
    if (candidates.ports.empty()) return;
    const PortIndex back = view.UplinkOf(path);
    packet.path = path;
    packet.kind = PacketKind::kControl;
    packet.bytes = kControlPacketBytes;
    ++probes_;
    view.SendControl(packet,
                     candidates.Has(back) ? back : EcmpPort(packet, salt_, candidates.ports));
  }

  // --- Control packets ---

  Decision OnControl(SwitchView& view, const Packet& packet, PortIndex in_port,
                     const Candidates& candidates) {
    const TdlbControl control = packet.Scheme<TdlbControl>();
    if (control.kind == TdlbControl::kProbe) {
      if (is_leaf_) {
        OnProbe(view, packet, in_port);
      } else {
        Replicate(view, packet, in_port);
      }
      return Decision::Consume();
    }
    if (!is_leaf_ || !view.IsAttached(packet.dst)) {
      return Decision::Forward(PathOrHash(view, packet, candidates, salt_));
    }
    Handle(view, packet, control);
    return Decision::Consume();
  }

  void Handle(SwitchView& view, const Packet& packet, const TdlbControl& control) {
    const uint16_t leaf = view.LeafOf(packet.src);
    switch (control.kind) {
      case TdlbControl::kProbe:
        return;
      case TdlbControl::kEcho:
        return Learn(view, leaf, control.path, 1'000_ps * int64_t{control.delay_ns});
      case TdlbControl::kCleared:
        ++notices_taken_;
        return marks_.Clear(FlowKey(packet.flow, packet.dst));
      case TdlbControl::kCongested:
        ++notices_taken_;
        return Congest(view, FlowKey(packet.flow, packet.dst), packet.tuple_hash, leaf,
                       control.path);
    }
  }

  void SendProbes(SwitchView& view) {
    Packet probe;
    probe.kind = PacketKind::kControl;
    probe.bytes = kControlPacketBytes;
    probe.src = own_host_;
    probe.sent = view.now() + clock_ahead_;
    probe.SetScheme(TdlbControl{TdlbControl::kProbe, 0, 0, 0});
    // The probe is for all other leaves. Its destination is this leaf's host, so switches without a
    // route back, from where no echo could come, discard it.
    probe.dst = probe.src;
    for (const PortIndex port : view.Uplinks()) {
      view.SendAsData(probe, port);
      ++probes_;
    }
  }

  // Copies a probe from below to all other ports, and one from above to the ports below. A probe
  // that did not come straight from its leaf is on a path that data never takes.
  void Replicate(SwitchView& view, const Packet& probe, PortIndex in_port) {
    const bool is_rising = !IsUplink(view, in_port);
    if (is_rising && probe.hops != view.tier()) return;
    for (size_t p = 0; p < view.ports(); ++p) {
      const PortIndex port = static_cast<PortIndex>(p);
      if (port == in_port || view.FacesHost(port)) continue;
      if (!is_rising && IsUplink(view, port)) continue;
      view.SendAsData(probe, port);
      ++probes_;
    }
  }

  static bool IsUplink(const SwitchView& view, PortIndex port) {
    return std::ranges::binary_search(view.Uplinks(), port);
  }

  void Learn(const SwitchView& view, uint16_t leaf, size_t path, Duration delay) {
    if (path < paths_.CountTo(leaf)) delays_[leaf].Learn(path, delay, view.now());
  }

  // Rounds down, negative values too, so that clock offsets never change a difference of delays.
  static int32_t WholeNanoseconds(Duration delay) {
    return static_cast<int32_t>((delay.ps - (delay.ps < 0 ? 999 : 0)) / 1'000);
  }

  void OnProbe(SwitchView& view, const Packet& probe, PortIndex in_port) {
    const uint16_t leaf = view.LeafOf(probe.src);
    if (leaf == own_leaf_) return;  // The probe came back over another link.
    const Duration delay = view.now() + clock_ahead_ - probe.sent;  // Measured by two clocks.
    if (settings_.probe == ProbeMode::kHula) {
      return Learn(view, leaf, PathBack(in_port, probe.taken), delay);
    }
    Packet echo;
    echo.src = own_host_;
    echo.dst = probe.src;
    echo.tuple_hash = static_cast<uint32_t>(Mix64(probe.taken));
    echo.SetScheme(TdlbControl{TdlbControl::kEcho, 0, probe.taken, WholeNanoseconds(delay)});
    Send(view, echo, probe.taken);
  }

  // Returns our path over the links of the path that ends at `in_port`.
  size_t PathBack(PortIndex in_port, uint16_t taken) const {
    const size_t above = digits_.second > 1 ? taken / paths_.radix() : 0;
    return paths_.FirstOver(in_port) + paths_.radix() * above;
  }

  const TdlbSettings settings_;
  const PathDigits digits_;
  const Duration base_rtt_;
  const Duration probe_every_;
  const uint64_t salt_;
  Rng rng_;
  const Duration clock_ahead_;
  AgedFlowTable<Flow> flows_;
  TdlbMarks marks_;  // The congested flows that begin here.
  bool is_leaf_ = false;
  size_t leaves_ = 0;
  HostId own_host_ = 0;  // The first host of this leaf.
  uint16_t own_leaf_ = 0;
  LeafPaths paths_;
  std::vector<std::unique_ptr<Monitor>> queues_;
  std::vector<PathDelays> delays_;  // By leaf.
  RouteChanges changes_;            // By leaf.
  std::vector<uint16_t> unmarked_;  // Scratch.
  Duration alike_{0};               // Delays that differ by no more count as equal.
  std::vector<int64_t> given_;      // By path: the number of the flow that last began there.
  int64_t begun_ = 0;
  int64_t reroutes_ = 0;
  int64_t flowlets_ = 0;
  int64_t episodes_ = 0;
  int64_t notices_sent_ = 0;
  int64_t notices_taken_ = 0;
  int64_t probes_ = 0;  // All control packets sent.
};

}  // namespace

SwitchPolicyPtr MakeTdlbSwitch(const TdlbSettings& settings, const PathDigits& digits,
                               Duration base_rtt, uint64_t salt, Rng rng) {
  return std::make_unique<Tdlb>(settings, digits, base_rtt, salt, rng);
}

}  // namespace heddle
