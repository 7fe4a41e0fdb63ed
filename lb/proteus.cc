// SPDX-License-Identifier: Apache-2.0
// Proteus (Hu et al., ICNP 2023), for lossless fabrics. Packets collect their waiting time and the
// greatest link utilisation on their way, and leaves report both to each other, path by path. A new
// flow takes a path with low values of both. When a packet has waited long behind a PFC pause, the
// switch notifies the leaf where its flow begins. The leaf then moves the flow to a path of a
// better class, and counts the old path as heavy for a while.
//
// This is a reconstruction of the paper's principle: the classes of paths and all thresholds are
// ours. The delay of a path is the time that packets waited on it, not a round trip.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/random.h"
#include "lb/parts/dre.h"
#include "lb/parts/flow_table.h"
#include "lb/parts/follow_path.h"
#include "lb/parts/leaf_paths.h"
#include "lb/parts/load_balancer.h"
#include "lb/parts/ties.h"

namespace heddle {
namespace {

struct ProteusSettings {
  std::optional<Duration> wait_light;
  std::optional<Duration> wait_heavy;
  std::optional<Duration> notice_above;
  std::optional<Duration> heavy_for;
  double use_light = 0.5;
  double use_heavy = 0.9;
  Duration stale = 1_ms;
  DreSettings dre;
  FlowTableSettings flows{.age = 1_ms};
};

// The settings with `auto` replaced by values that follow from the fabric.
struct ProteusRules : ProteusSettings {
  Duration light{};
  Duration heavy{};
  Duration notice{};
  Duration hold{};     // heavy_for, and the least time between two moves of a flow.
  int64_t coarse = 1;  // Factor by which all units of time are longer.
  PathDigits digits;
};

constexpr uint16_t kNoticeBytes = 64;
constexpr size_t kMostNotices = 256;  // Notices that wait for the end of an instant.

// The header of packets between leaves. Waits count in units of 0.1 us; utilisation 255 is all of a
// link. All units of time are longer by `coarse` if a threshold is above 250 us.
struct ProteusHeader {
  uint16_t entered;     // When it joined its present queue: units of 16 ns, modulo 1 ms.
  uint16_t waited;      // At the ports before.
  uint8_t utilisation;  // The greatest so far.
  uint8_t told_path;    // A path of the receiving leaf, plus 1; 0: no report.
  uint8_t told_waited;  // Packets' waiting time on it, in units of 1 us.
  uint8_t told_utilisation;
};
constexpr size_t kMostPaths = 254;

struct ProteusNotice {
  uint16_t path;
};

class Proteus final : public SwitchPolicy {
 public:
  Proteus(const ProteusRules& rules, uint64_t salt, Rng rng)
      : rules_(rules), salt_(salt), rng_(rng), flows_(rules.flows) {}

  Packets asked_about() const override { return Packets::kEvery; }

  void Attach(SwitchView& view) override {
    estimators_.assign(view.ports(), Dre(rules_.dre));
    paused_at_.assign(view.ports(), Time{-kNever.ps});
    notices_.reserve(kMostNotices);
    is_leaf_ = view.tier() == 0 && !view.Uplinks().empty();
    if (!is_leaf_) return;
    paths_.Attach(view, rules_.digits);
    to_.resize(view.leaves() * paths_.count());
    from_.resize(view.leaves() * paths_.count());
    next_.resize(view.leaves());
  }

  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex in_port,
                    const Candidates& candidates) override {
    paths_.Forget();
    if (is_leaf_ && packet.kind == PacketKind::kControl && view.IsAttached(packet.dst)) {
      OnNotice(view, packet);
      return Decision::Consume();
    }
    const bool begins = is_leaf_ && view.IsAttached(packet.src);
    const bool ends = is_leaf_ && view.IsAttached(packet.dst);
    if (ends && !begins && !view.FacesHost(in_port)) Learn(view, packet);
    if (begins && !ends && !paths_.Live(candidates).empty()) {
      return Decision::Forward(paths_.Take(PathFor(view, packet, candidates)));
    }
    return Decision::Forward(PathOrHash(view, packet, candidates, salt_));
  }

  void OnEnqueue(SwitchView& view, Packet& packet, PortIndex port) override {
    if (view.IsPaused(port, packet.priority)) paused_at_[port] = view.now();
    if (packet.kind == PacketKind::kControl) return;
    ProteusHeader header = packet.Scheme<ProteusHeader>();
    if (is_leaf_ && view.IsAttached(packet.src) && !view.IsAttached(packet.dst)) {
      paths_.Stamp(packet);
      header = NewsFor(view.LeafOf(packet.dst));
    }
    header.entered = Ticks(view.now());
    packet.SetScheme(header);
  }

  void OnTransmit(SwitchView& view, Packet& packet, PortIndex port) override {
    if (packet.kind == PacketKind::kControl || view.FacesHost(port)) return;
    estimators_[port].Add(static_cast<double>(view.WireBytes(packet).count), view.now());
    ProteusHeader header = packet.Scheme<ProteusHeader>();
    const Duration here =
        16'000_ps * rules_.coarse * static_cast<uint16_t>(Ticks(view.now()) - header.entered);
    const int64_t waited = header.waited + here.ps / (100'000 * rules_.coarse);
    header.waited = static_cast<uint16_t>(std::min<int64_t>(waited, 0xffff));
    const uint32_t use = Dre::Quantise(estimators_[port].Read(view.now()),
                                       Dre::FullBytes(view.Rate(port), rules_.dre), /*bits=*/8);
    header.utilisation = std::max(header.utilisation, static_cast<uint8_t>(use));
    packet.SetScheme(header);
    const bool was_paused = paused_at_[port] >= view.now() - here;
    if (was_paused && 100'000_ps * rules_.coarse * waited > rules_.notice) {
      NoticeLater(view, packet);
    }
  }

  // Sends the notices about packets that left at this instant.
  void OnTimer(SwitchView& view, uint32_t /*id*/) override {
    for (const Packet& data : notices_) SendNotice(view, data);
    notices_.clear();
  }

  size_t StateBytes() const override {
    return sizeof(salt_) + flows_.memory_bytes() + estimators_.size() * sizeof(Dre) +
           paused_at_.size() * sizeof(Time) + to_.size() * sizeof(Known) +
           from_.size() * sizeof(From) + kMostNotices * sizeof(Packet);
  }
  std::vector<Counter> Counters() const override {
    return {{"placed", placed_},
            {"reroutes", reroutes_},
            {"probes", notices_sent_},
            {"probe_bytes", notices_sent_ * kNoticeBytes},
            {"notices_taken", notices_taken_},
            {"table_entries", static_cast<int64_t>(flows_.used())},
            {"table_evictions", flows_.evictions()}};
  }

 private:
  enum Class { kLight, kMiddle, kHeavy };

  struct Flow {
    uint16_t path = kNoPath;
    Time moved;
  };
  // The state of one of our paths to a leaf.
  struct Known {
    Time at{-kNever.ps};
    Time heavy_until{-kNever.ps};
    uint8_t waited = 0;  // In units of 1 us.
    uint8_t utilisation = 0;
  };
  // The values of packets that came over one path of a leaf.
  struct From {
    uint8_t waited = 0;  // In units of 1 us.
    uint8_t utilisation = 0;
    bool is_due = false;
  };

  uint16_t Ticks(Time at) const { return static_cast<uint16_t>(at.ps / (16'000 * rules_.coarse)); }

  // --- What leaves tell each other ---

  void Learn(const SwitchView& view, const Packet& packet) {
    const ProteusHeader header = packet.Scheme<ProteusHeader>();
    const size_t leaf = view.LeafOf(packet.src) * paths_.count();
    if (packet.path < paths_.count()) {
      const uint16_t waited = std::min<uint16_t>(header.waited / 10, 255);
      from_[leaf + packet.path] = {static_cast<uint8_t>(waited), header.utilisation, true};
    }
    if (header.told_path == 0 || header.told_path > paths_.count()) return;
    Known& known = to_[leaf + header.told_path - 1];
    known.at = view.now();
    known.waited = header.told_waited;
    known.utilisation = header.told_utilisation;
  }

  // Reports the paths in turn, only those with new packets since their last report.
  ProteusHeader NewsFor(uint16_t leaf) {
    ProteusHeader header{};
    const size_t n = paths_.count();
    for (size_t i = 0; i < n; ++i) {
      const size_t path = (next_[leaf] + i) % n;
      From& from = from_[leaf * n + path];
      if (!from.is_due) continue;
      from.is_due = false;
      next_[leaf] = path + 1;
      header.told_path = static_cast<uint8_t>(path + 1);
      header.told_waited = from.waited;
      header.told_utilisation = from.utilisation;
      break;
    }
    return header;
  }

  // --- Paths ---

  uint16_t PathFor(SwitchView& view, const Packet& packet, const Candidates& candidates) {
    Flow& flow = flows_.Touch(packet, view.now()).state;
    if (paths_.Lives(flow.path, candidates)) return flow.path;
    flow.path = AnyOfTheBest(view.now(), view.LeafOf(packet.dst), candidates);
    flow.moved = view.now();
    ++placed_;
    return flow.path;
  }

  // A path without a recent report counts as idle.
  Class ClassOf(Time now, const Known& known) const {
    if (now < known.heavy_until) return kHeavy;
    if (now - known.at > rules_.stale) return kLight;
    const Duration waited = 1'000'000_ps * rules_.coarse * known.waited;
    const double use = known.utilisation / 255.0;
    if (waited > rules_.heavy || use > rules_.use_heavy) return kHeavy;
    return waited < rules_.light && use < rules_.use_light ? kLight : kMiddle;
  }

  uint16_t AnyOfTheBest(Time now, uint16_t leaf, const Candidates& candidates) {
    return LeastOf(paths_.LiveTo(leaf, candidates), kNoPort, rng_, [&](uint16_t path) {
      return static_cast<int>(ClassOf(now, to_[leaf * paths_.count() + path]));
    });
  }

  // --- Notices ---

  // By a timer, rather than while a transmission is being shown.
  void NoticeLater(SwitchView& view, const Packet& data) {
    if (notices_.size() == kMostNotices) return;
    if (notices_.empty()) view.SetTimer(view.now(), 0);
    notices_.push_back(data);
  }

  void SendNotice(SwitchView& view, const Packet& data) {
    if (data.kind != PacketKind::kData) return;
    Packet notice;
    notice.kind = PacketKind::kControl;
    notice.bytes = kNoticeBytes;
    notice.flow = data.flow;
    notice.tuple_hash = data.tuple_hash;
    notice.src = data.dst;
    notice.dst = data.src;
    notice.SetScheme(ProteusNotice{data.path});
    ++notices_sent_;
    if (view.IsAttached(data.src)) return OnNotice(view, notice);
    const Candidates candidates = view.CandidatesTo(data.src);
    if (!candidates.ports.empty())
      view.SendControl(notice, EcmpPort(notice, salt_, candidates.ports));
  }

  void OnNotice(SwitchView& view, const Packet& notice) {
    const uint16_t path = notice.Scheme<ProteusNotice>().path;
    if (path >= paths_.count()) return;
    ++notices_taken_;
    const uint16_t leaf = view.LeafOf(notice.src);
    to_[leaf * paths_.count() + path].heavy_until = view.now() + rules_.hold;
    Packet as_data;
    as_data.flow = notice.flow;
    as_data.src = notice.dst;
    as_data.dst = notice.src;
    as_data.tuple_hash = notice.tuple_hash;
    if (flows_.Find(as_data, view.now()) != nullptr) Move(view, as_data, leaf, path);
  }

  // Moves the flow if its last move is long enough ago and a path of a better class exists.
  void Move(SwitchView& view, const Packet& as_data, uint16_t leaf, uint16_t from) {
    Flow& flow = flows_.Touch(as_data, view.now()).state;
    const Candidates candidates = view.CandidatesTo(as_data.dst);
    if (flow.path != from || view.now() - flow.moved < rules_.hold) return;
    if (paths_.Live(candidates).empty()) return;
    const uint16_t best = AnyOfTheBest(view.now(), leaf, candidates);
    const Known* const known = &to_[leaf * paths_.count()];
    if (ClassOf(view.now(), known[best]) >= ClassOf(view.now(), known[from])) return;
    flow.path = best;
    flow.moved = view.now();
    ++reroutes_;
  }

  const ProteusRules rules_;
  const uint64_t salt_;
  Rng rng_;
  bool is_leaf_ = false;
  LeafPaths paths_;
  std::vector<Dre> estimators_;  // By port.
  std::vector<Time> paused_at_;  // By port: when a packet last joined its queue during a pause.
  std::vector<Known> to_;        // By leaf, then our path.
  std::vector<From> from_;       // By leaf, then its path.
  std::vector<size_t> next_;     // By leaf: its path to report next.
  AgedFlowTable<Flow> flows_;
  std::vector<Packet> notices_;
  int64_t placed_ = 0;
  int64_t reroutes_ = 0;
  int64_t notices_sent_ = 0;
  int64_t notices_taken_ = 0;
};

class ProteusBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& fields) override {
    ProteusSettings& s = rules_;
    const Range<Duration> delays{.above = Duration{0}, .at_most = 10_s};
    const Range<double> shares{.at_least = 0.0, .at_most = 1.0};
    fields.AddOr("auto", "wait_light", s.wait_light, delays,
                 "A path is light if its packets waited less than this (see also use_light). auto: "
                 "half of the delay of the longest queue without ECN marks.");
    fields.AddOr("auto", "wait_heavy", s.wait_heavy, delays,
                 "A path is heavy if its packets waited longer than this (see also use_heavy). "
                 "auto: twice the delay of the longest queue without ECN marks.");
    fields.Add("use_light", s.use_light, shares,
               "A path is light only if the utilisation of its busiest link is below this, too.");
    fields.Add("use_heavy", s.use_heavy, shares,
               "A path is also heavy if the utilisation of its busiest link is above this.");
    fields.AddOr("auto", "notice_above", s.notice_above, delays,
                 "A packet that waited longer than this behind a pause is reported at once. auto: "
                 "the delay of the longest queue without ECN marks.");
    fields.AddOr("auto", "heavy_for", s.heavy_for, delays,
                 "Time for which a reported path counts as heavy, and the shortest time between "
                 "two moves of a flow. auto: the longest idle round trip.");
    fields.Add("stale", s.stale, {.at_least = 1_ns, .at_most = 1000_s},
               "A path whose last report is older than this counts as light.");
    s.dre.Declare(fields);
    s.flows.Declare(fields);
  }

  void Prepare(const FabricShape& fabric, std::string_view path,
               Diagnostics& diagnostics) override {
    const Duration queue =
        fabric.marking_delay > Duration{0} ? fabric.marking_delay : fabric.base_rtt / 2;
    rules_.light = rules_.wait_light.value_or(queue / 2);
    rules_.heavy = rules_.wait_heavy.value_or(2 * queue);
    rules_.notice = rules_.notice_above.value_or(queue);
    rules_.hold = rules_.heavy_for.value_or(fabric.base_rtt);
    const Duration longest = std::max({rules_.light, rules_.heavy, rules_.notice});
    rules_.coarse = 1 + (longest - 1_ps) / 250_us;
    rules_.digits = DigitsOf(fabric);
    if (rules_.digits.paths() > kMostPaths) {
      diagnostics.ErrorAt(path, "proteus numbers the paths of a leaf with 8 bits; at most 254");
    }
  }

  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const override {
    return std::make_unique<Proteus>(rules_, EcmpSalt(id, seed), Rng::Stream(seed, "proteus", id));
  }

 private:
  ProteusRules rules_;
};

[[maybe_unused]] const bool registered = LoadBalancers().Add<ProteusBalancer>(
    {"proteus",
     "A reconstruction of Proteus: new flows take light paths, and flows leave paths on which a "
     "pause delays them.",
     "Hu et al., ICNP 2023"});

}  // namespace
}  // namespace heddle
