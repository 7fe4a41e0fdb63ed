// SPDX-License-Identifier: Apache-2.0
// ConWeave (Song et al., SIGCOMM 2023, section 3). The leaf where a flow begins repeatedly asks the
// leaf where it ends for a reply. If none comes within a little more than an idle round trip, it
// draws two random paths and moves the flow to one that is not known to be congested. The last
// packet on the old path says so (TAIL). The other leaf holds back the packets that come over the
// new path (REROUTED) until the TAIL has come, or should have, and then allows the next reroute
// (CLEAR). So hosts receive packets in order, and a flow changes its path at most once per round
// trip.
//
// Only data is rerouted; all else is hashed. Where the paper and the authors' code differ, we
// follow the paper: a flow that finds no better path does not begin to reroute.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/random.h"
#include "core/sparse_rows.h"
#include "lb/conweave/header.h"
#include "lb/conweave/holds.h"
#include "lb/parts/expiring_table.h"
#include "lb/parts/flow_key.h"
#include "lb/parts/follow_path.h"
#include "lb/parts/leaf_paths.h"
#include "lb/parts/load_balancer.h"

namespace heddle {
namespace {

struct ConWeaveSettings {
  std::optional<Duration> reply_within;
  std::optional<Duration> busy_for;
  std::optional<Duration> unseen_busy_for;
  std::optional<Duration> inactive;
  std::optional<Duration> resume_default;
  std::optional<Duration> resume_extra;
  int64_t samples = 2;
  int64_t queues = 31;
  int64_t queue_packets = 4'096;
  int64_t table_entries = 65'536;
  Duration table_age = 100_ms;
};

// The settings with `auto` replaced by values that follow from the fabric.
struct ConWeaveRules {
  Duration reply_within{};
  Duration busy_for{};
  Duration unseen_busy_for{};  // 0: no longer than for other paths.
  Duration inactive{};
  Duration resume_default{};
  Duration resume_extra{};
  size_t samples = 2;
  size_t queues = 31;
  size_t queue_packets = 0;
  size_t table_entries = 0;
  Duration table_age{};
  PathDigits digits;
};

constexpr uint32_t kNoQueue = 0xffff'ffff;

class ConWeave final : public SwitchPolicy {
 public:
  ConWeave(const ConWeaveRules& rules, uint64_t salt, Rng rng)
      : rules_(rules),
        salt_(salt),
        rng_(rng),
        sources_(rules.table_entries),
        sinks_(rules.table_entries),
        holds_(rules.queues, rules.queue_packets) {}

  Packets asked_about() const override { return Packets::kEvery; }
  uint32_t idle_hooks() const override { return is_leaf_ ? 0 : kEveryPacket | kEnqueue; }

  void Attach(SwitchView& view) override {
    is_leaf_ = view.tier() == 0 && !view.Uplinks().empty();
    if (!is_leaf_) return;
    paths_.Attach(view, rules_.digits);
    busy_until_ = {view.leaves(), paths_.count()};
    told_ = {view.leaves(), paths_.count()};
    holds_.Attach(view.ports());
  }

  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex in_port,
                    const Candidates& candidates) override {
    stamp_ = std::nullopt;
    const bool ends = is_leaf_ && view.FacesHost(candidates.ports.front());
    if (ends && packet.kind == PacketKind::kControl) {
      OnControl(view, packet);
      return Decision::Consume();
    }
    if (ends && packet.kind == PacketKind::kData && !view.FacesHost(in_port)) {
      return Receive(view, packet, in_port, candidates.ports.front());
    }
    const bool begins =
        is_leaf_ && !ends && packet.kind == PacketKind::kData && view.IsAttached(packet.src);
    if (begins && !paths_.Live(candidates).empty()) {
      return Decision::Forward(Dispatch(view, packet, candidates));
    }
    if (candidates.ports.size() == 1) return Decision::Forward(candidates.ports.front());
    if (packet.kind == PacketKind::kData) {
      if (const auto uplink = OnItsPath(view, packet, candidates)) {
        return Decision::Forward(*uplink);
      }
    }
    return Decision::Forward(EcmpPort(packet, salt_, candidates.ports));
  }

  bool enqueue_only_stamps() const override { return true; }
  void OnEnqueue(SwitchView& /*view*/, Packet& packet, PortIndex /*port*/) override {
    if (!stamp_ || packet.kind != PacketKind::kData) return;
    packet.path = stamp_->path;
    packet.SetScheme(stamp_->header);
    stamp_ = std::nullopt;
  }

  // The timer of a queue: the TAIL that it waits for has come by now, or should have.
  void OnTimer(SwitchView& view, uint32_t queue) override {
    stamp_ = std::nullopt;
    ConWeaveHolds::Queue& hold = holds_[queue];
    if (!hold.is_taken || view.now() < hold.resume) return;  // An outdated timer.
    Sink* sink = sinks_.Find(hold.flow);
    if (sink != nullptr && !sink->tail_has_come) {
      ++tails_lost_;
      const bool is_seen = sink->old_came >= Time{};
      Tell(view, hold.packets.front().packet,
           {is_seen ? ConWeaveControl::kClear : ConWeaveControl::kClearUnseen, sink->epoch, 0});
      sink->tail_has_come = true;
    }
    if (sink != nullptr) sink->queue = kNoQueue;
    Flush(view, queue);
  }

  size_t StateBytes() const override {
    return sizeof(salt_) + sources_.memory_bytes() + sinks_.memory_bytes() + holds_.memory_bytes() +
           busy_until_.memory_bytes() + told_.memory_bytes();
  }
  std::vector<Counter> Counters() const override {
    return {{"epochs", epochs_},
            {"reroutes", reroutes_},
            {"no_better_path", stays_},
            {"held", held_},
            {"not_held", not_held_},
            {"tails_lost", tails_lost_},
            {"probes", controls_},
            {"probe_bytes", controls_ * kControlPacketBytes},
            {"table_entries", static_cast<int64_t>(most_entries_)},
            {"table_evictions", sources_.evictions() + sinks_.evictions()}};
  }

 private:
  // The state of a flow at the leaf where it begins.
  struct Source {
    Time last{-kNever.ps};
    Time deadline;  // The reply's deadline.
    uint16_t path = kNoPath;
    uint16_t left = kNoPath;  // The path before the reroute,
    uint16_t tail = 0;        // and the time of the reroute in ticks.
    uint8_t epoch = 0;
    bool is_rerouted : 1 = false;  // True until CLEAR comes.
    bool may_start : 1 = false;    // The reply or CLEAR for this epoch has come.
  };
  // The state of a flow at the leaf where it ends.
  struct Sink {
    Time old_came{-kNever.ps};  // When the last packet of this epoch came over the old path,
    uint16_t old_sent = 0;      // and when it was sent, in ticks.
    uint16_t tail_sent = 0;
    uint8_t epoch = 0;
    bool tail_has_come = false;
    uint32_t queue = kNoQueue;
  };
  // When this leaf last reported a path of another leaf as congested.
  struct Told {
    Time at{-kNever.ps};
  };
  struct Stamp {
    uint16_t path;
    ConWeaveHeader header;
  };

  // --- Where flows begin ---

  // Neither this nor Receive() is inlined: ACKs, half of all packets, need none of it.
  [[gnu::noinline]] PortIndex Dispatch(SwitchView& view, const Packet& packet,
                                       const Candidates& candidates) {
    const auto gone = [](uint64_t, const Source&) {};
    sources_.ExpireBefore(view.now() - rules_.table_age, gone);
    Source& flow = sources_.Touch(FlowKey(packet), view.now(), gone).state;
    most_entries_ = std::max(most_entries_, sources_.size());
    const uint16_t leaf = view.LeafOf(packet.dst);
    ConWeaveHeader header{.flags = ConWeaveHeader::kStamped, .sent = ConWeaveTicks(view.now())};
    if (view.now() - flow.last > rules_.inactive || !paths_.Lives(flow.path, candidates)) {
      flow.path = FreshPath(flow.path, leaf, view.now(), candidates);
      StartEpoch(flow, view.now(), header);
    } else if (flow.may_start) {
      StartEpoch(flow, view.now(), header);
    }
    uint16_t path = flow.path;
    if (flow.is_rerouted) {
      header.flags |= ConWeaveHeader::kRerouted;
      header.tail = flow.tail;
    } else if (view.now() > flow.deadline) {
      path = TryReroute(flow, leaf, view.now(), candidates, header);
    }
    flow.last = view.now();
    header.epoch = flow.epoch;
    stamp_ = Stamp{path, header};
    return paths_.UplinkOf(path);
  }

  void StartEpoch(Source& flow, Time now, ConWeaveHeader& header) {
    ++flow.epoch;
    flow.is_rerouted = flow.may_start = false;
    flow.deadline = now + rules_.reply_within;
    header.flags |= ConWeaveHeader::kRequest;
    ++epochs_;
  }

  // Called when the reply is late. Returns the path of this packet, which is the TAIL if the flow
  // moves.
  uint16_t TryReroute(Source& flow, uint16_t leaf, Time now, const Candidates& candidates,
                      ConWeaveHeader& header) {
    const auto other = Sample(flow.path, leaf, now, candidates);
    if (!other) {
      ++stays_;
      return flow.path;
    }
    ++reroutes_;
    header.flags |= ConWeaveHeader::kTail;
    flow.is_rerouted = true;
    flow.tail = header.sent;
    flow.left = std::exchange(flow.path, *other);
    return flow.left;
  }

  // Chooses a path for a flow that has no packets in flight any more.
  uint16_t FreshPath(uint16_t current, uint16_t leaf, Time now, const Candidates& candidates) {
    if (const auto path = Sample(kNoPath, leaf, now, candidates)) return *path;
    return paths_.Lives(current, candidates) ? current : AnyOf(leaf, candidates);
  }

  // Draws a few random paths and returns the first that is neither `current` nor known to be
  // congested. A path may be drawn twice, as in the authors' code.
  std::optional<uint16_t> Sample(uint16_t current, uint16_t leaf, Time now,
                                 const Candidates& candidates) {
    for (size_t i = 0; i < rules_.samples; ++i) {
      const uint16_t path = AnyOf(leaf, candidates);
      if (path != current && BusyUntil(leaf, path) <= now) return path;
    }
    return std::nullopt;
  }
  uint16_t AnyOf(uint16_t leaf, const Candidates& candidates) {
    const std::span<const uint16_t> live = paths_.LiveTo(leaf, candidates);
    return live[rng_.Below(static_cast<uint32_t>(live.size()))];
  }

  Time& BusyUntil(uint16_t leaf, uint16_t path) { return busy_until_[leaf][path]; }

  void OnControl(SwitchView& view, const Packet& packet) {
    const ConWeaveControl control = packet.Scheme<ConWeaveControl>();
    if (control.kind == ConWeaveControl::kNotify) {
      if (control.path >= paths_.count()) return;
      BusyUntil(view.LeafOf(packet.src), control.path) = view.now() + rules_.busy_for;
      return;
    }
    Source* flow = sources_.Find(FlowKey(packet.flow, packet.dst));
    if (flow == nullptr || control.epoch != flow->epoch) return;
    const bool is_clear = control.kind != ConWeaveControl::kReply;
    if (is_clear != flow->is_rerouted) return;
    if (control.kind == ConWeaveControl::kClearUnseen) {
      Time& busy_until = BusyUntil(view.LeafOf(packet.src), flow->left);
      busy_until = std::max(busy_until, view.now() + rules_.unseen_busy_for);
    }
    if (is_clear || view.now() <= flow->deadline) flow->may_start = true;
  }

  // --- Where they end ---

  [[gnu::noinline]] Decision Receive(SwitchView& view, const Packet& packet, PortIndex in_port,
                                     PortIndex port) {
    const ConWeaveHeader header = packet.Scheme<ConWeaveHeader>();
    if ((header.flags & ConWeaveHeader::kStamped) == 0) return Decision::Forward(port);
    const auto gone = [&](uint64_t, const Sink& sink) {
      if (sink.queue != kNoQueue) Flush(view, sink.queue);
    };
    sinks_.ExpireBefore(view.now() - rules_.table_age, gone);
    const uint64_t key = FlowKey(packet);
    const auto [sink, is_new] = sinks_.Touch(key, view.now(), gone);
    if (packet.Has(Packet::kCe)) Notify(view, packet);
    if (is_new) sink.epoch = header.epoch;
    if (IsOlderEpoch(header.epoch, sink.epoch)) return Decision::Forward(port);
    if (header.epoch != sink.epoch) EnterEpoch(view, sink, header.epoch);
    if (header.flags & ConWeaveHeader::kRequest) {
      Tell(view, packet, {ConWeaveControl::kReply, header.epoch, 0});
    }
    if (header.flags & ConWeaveHeader::kTail) return OnTail(view, packet, sink, port);
    if (header.flags & ConWeaveHeader::kRerouted) {
      return OnRerouted(view, packet, header, key, sink, in_port, port);
    }
    sink.old_came = view.now();
    sink.old_sent = header.sent;
    if (sink.queue != kNoQueue) SetResume(view, sink);
    return Decision::Forward(port);
  }

  void EnterEpoch(SwitchView& view, Sink& sink, uint8_t epoch) {
    if (sink.queue != kNoQueue) Flush(view, sink.queue);
    sink = Sink{.epoch = epoch};
  }

  // Held packets follow the TAIL: the timer fires after all arrivals of this instant.
  Decision OnTail(SwitchView& view, const Packet& packet, Sink& sink, PortIndex port) {
    if (!sink.tail_has_come) Tell(view, packet, {ConWeaveControl::kClear, sink.epoch, 0});
    sink.tail_has_come = true;
    if (sink.queue != kNoQueue) {
      holds_[sink.queue].resume = view.now();
      view.SetTimer(view.now(), sink.queue);
    }
    return Decision::Forward(port);
  }

  Decision OnRerouted(SwitchView& view, const Packet& packet, const ConWeaveHeader& header,
                      uint64_t key, Sink& sink, PortIndex in_port, PortIndex port) {
    if (sink.tail_has_come && sink.queue == kNoQueue) return Decision::Forward(port);
    const bool is_first = sink.queue == kNoQueue;
    const uint32_t queue = is_first ? holds_.Take(key, port).value_or(kNoQueue) : sink.queue;
    if (queue == kNoQueue || holds_.IsFull(queue) || !view.Hold(packet, in_port, port)) {
      if (is_first && queue != kNoQueue) holds_.GiveBack(queue);
      ++not_held_;
      return Decision::Forward(port);
    }
    sink.queue = queue;
    holds_.Push(queue, packet, in_port);
    ++held_;
    if (is_first) {
      sink.tail_sent = header.tail;
      SetResume(view, sink);
    }
    return Decision::Hold();
  }

  // Sets when the TAIL should come: as long after the last packet on the old path as it was sent
  // after it.
  void SetResume(SwitchView& view, const Sink& sink) {
    Time resume = view.now() + rules_.resume_default;
    if (sink.old_came >= Time{}) {
      const uint16_t later = static_cast<uint16_t>(sink.tail_sent - sink.old_sent);
      resume = std::max(view.now(), sink.old_came + kConWeaveTick * later + rules_.resume_extra);
    }
    holds_[sink.queue].resume = resume;
    view.SetTimer(resume, sink.queue);
  }

  void Flush(SwitchView& view, uint32_t queue) {
    ConWeaveHolds::Queue& hold = holds_[queue];
    for (; !hold.packets.empty(); hold.packets.pop_front()) {
      view.Release(hold.packets.front().packet, hold.packets.front().in_port, hold.port);
    }
    holds_.GiveBack(queue);
  }

  void Notify(SwitchView& view, const Packet& packet) {
    if (packet.path >= paths_.count()) return;
    Told& told = told_[view.LeafOf(packet.src)][packet.path];
    if (view.now() - told.at < rules_.busy_for) return;
    told.at = view.now();
    Tell(view, packet, {ConWeaveControl::kNotify, 0, packet.path});
  }

  // Sends `control` to the leaf where the flow of `data` begins.
  void Tell(SwitchView& view, const Packet& data, const ConWeaveControl& control) {
    const Candidates candidates = view.CandidatesTo(data.src);
    if (candidates.ports.empty()) return;
    Packet packet;
    packet.kind = PacketKind::kControl;
    packet.bytes = kControlPacketBytes;
    packet.flow = data.flow;
    packet.tuple_hash = data.tuple_hash;
    packet.src = data.dst;
    packet.dst = data.src;
    packet.SetScheme(control);
    view.SendControl(packet, EcmpPort(packet, salt_, candidates.ports));
    ++controls_;
  }

  const ConWeaveRules rules_;
  const uint64_t salt_;
  Rng rng_;
  bool is_leaf_ = false;
  LeafPaths paths_;
  SparseRows<Time> busy_until_;  // By leaf, then our path: until when it is congested.
  SparseRows<Told> told_;        // By leaf, then its path.
  ExpiringTable<Source> sources_;
  ExpiringTable<Sink> sinks_;
  ConWeaveHolds holds_;
  std::optional<Stamp> stamp_;  // The header for the packet that is being forwarded.
  size_t most_entries_ = 0;
  int64_t epochs_ = 0;
  int64_t reroutes_ = 0;
  int64_t stays_ = 0;
  int64_t held_ = 0;
  int64_t not_held_ = 0;
  int64_t tails_lost_ = 0;
  int64_t controls_ = 0;
};

class ConWeaveBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& fields) override {
    ConWeaveSettings& s = settings_;
    const Range<Duration> delays{.above = Duration{0}, .at_most = 1_s};
    fields.AddOr(
        "auto", "reply_within", s.reply_within, delays,
        "A flow looks for another path if its RTT request is not answered within this time "
        "(theta_reply). auto: the longest idle round trip between hosts; 8us in the paper.");
    fields.AddOr(
        "auto", "busy_for", s.busy_for, delays,
        "After an ECN mark on a path, no flow moves to this path for this long (theta_path_busy). "
        "auto: the delay of the longest queue without ECN marks, or 8us.");
    fields.AddOr("none", "unseen_busy_for", s.unseen_busy_for, delays,
                 "After a flow has left a path, and none of the packets it sent there arrived "
                 "before the hold timed out, the path may be dead: no flow moves to it for this "
                 "long. none: as published; 10ms is a reasonable time.");
    fields.AddOr("auto", "inactive", s.inactive, delays,
                 "A flow takes any path after an idle time longer than this (theta_inactive). "
                 "auto: 300us, with three tiers 1ms.");
    fields.AddOr("auto", "resume_default", s.resume_default, delays,
                 "How long packets are held if no packet has come over the old path. auto: 200us; "
                 "with three tiers 300us, and 600us if the network is lossless.");
    fields.AddOr("auto", "resume_extra", s.resume_extra, {.at_least = Duration{0}, .at_most = 1_s},
                 "How long packets are held after the last packet on the old path is due. auto: "
                 "16us; with three tiers 64us if the network is lossless.");
    fields.Add("samples", s.samples, Between<int64_t>(1, 1'000),
               "Random paths that a flow considers when it moves.");
    fields.Add("queues", s.queues, Between<int64_t>(1, 1'024),
               "Flows to one host whose packets can be held at once; packets of further flows pass "
               "out of order.");
    fields.Add("queue_packets", s.queue_packets, Between<int64_t>(1, 1 << 20),
               "Packets of one flow that can be held; further packets pass out of order.");
    fields.Add("table_entries", s.table_entries, Between<int64_t>(1, 1 << 24),
               "Flows from its hosts that a leaf remembers, and as many flows to its hosts.");
    fields.Add("table_age", s.table_age, {.at_least = 1_us, .at_most = 1000_s},
               "A flow that has been idle for longer is forgotten.");
  }

  void Prepare(const FabricShape& fabric, std::string_view /*path*/,
               Diagnostics& /*diagnostics*/) override {
    const bool is_tall = fabric.tiers > 2;
    const bool is_slow = is_tall && fabric.is_lossless;
    const Duration marking = fabric.marking_delay > Duration{0} ? fabric.marking_delay : 8_us;
    const ConWeaveSettings& s = settings_;
    rules_ = {.reply_within = s.reply_within.value_or(fabric.base_rtt),
              .busy_for = s.busy_for.value_or(marking),
              .unseen_busy_for = s.unseen_busy_for.value_or(0_ps),
              .inactive = s.inactive.value_or(is_tall ? 1_ms : 300_us),
              .resume_default = s.resume_default.value_or(is_slow   ? 600_us
                                                          : is_tall ? 300_us
                                                                    : 200_us),
              .resume_extra = s.resume_extra.value_or(is_slow ? 64_us : 16_us),
              .samples = static_cast<size_t>(s.samples),
              .queues = static_cast<size_t>(s.queues),
              .queue_packets = static_cast<size_t>(s.queue_packets),
              .table_entries = static_cast<size_t>(s.table_entries),
              .table_age = s.table_age,
              .digits = DigitsOf(fabric)};
  }

  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const override {
    return std::make_unique<ConWeave>(rules_, EcmpSalt(id, seed),
                                      Rng::Stream(seed, "conweave", id));
  }

 private:
  ConWeaveSettings settings_;
  ConWeaveRules rules_;
};

[[maybe_unused]] const bool registered =
    LoadBalancers().Add<ConWeaveBalancer>({"conweave",
                                           "Leaves reroute flows whose paths answer late; the "
                                           "destination's leaf holds back packets that overtook.",
                                           "Song et al., SIGCOMM 2023"});

}  // namespace
}  // namespace heddle
