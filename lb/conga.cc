// SPDX-License-Identifier: Apache-2.0
// CONGA (Alizadeh et al., SIGCOMM 2014, section 3). Leaves learn how congested the whole path to
// each other leaf is over each of their uplinks, and send each flowlet over the least congested
// one. Every fabric link has a rate estimator. A packet collects the largest reading on its way;
// its destination leaf stores it and returns it in the header of a packet that goes back.
//
// The paper's ASIC has four bits for an uplink's number and three for a reading; here an uplink's
// number may take eight bits.
//
// With three tiers an uplink does not determine the path. `mode: path` names whole paths instead of
// uplinks, which the switches above follow, and compares a few random ones for each flowlet.

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/random.h"
#include "fabric/ecmp_hash.h"
#include "lb/parts/dre.h"
#include "lb/parts/flowlets.h"
#include "lb/parts/follow_path.h"
#include "lb/parts/leaf_paths.h"
#include "lb/parts/load_balancer.h"
#include "lb/parts/ties.h"

namespace heddle {
namespace {

enum class Mode { kTwoTier, kPod, kPath };

struct CongaSettings {
  FlowletSettings flowlets;
  DreSettings dre;
  int64_t bits = 3;
  Duration age = 10_ms;
  Mode mode = Mode::kTwoTier;
  int64_t samples = 4;
};

constexpr uint8_t kNoTag = 255;

struct CongaHeader {
  uint8_t tag;              // LBTag: the source leaf's uplink, or path.
  uint8_t congestion;       // CE: the largest reading so far.
  uint8_t feedback_tag;     // FB_LBTag: an uplink of the packet's destination leaf; kNoTag: none.
  uint8_t feedback_metric;  // FB_Metric: the readings that packets over that uplink collected.
};

class Conga final : public SwitchPolicy {
 public:
  Conga(const CongaSettings& settings, PathDigits digits, uint64_t salt, Rng rng)
      : settings_(settings),
        digits_(digits),
        salt_(salt),
        rng_(rng),
        flowlets_(SlotsOf(settings)) {}

  Packets asked_about() const override { return Packets::kEvery; }
  uint32_t idle_hooks() const override {
    if (is_leaf_) return 0;
    return kPrefetch | kEnqueue | (settings_.mode == Mode::kPath ? 0 : uint32_t{kEveryPacket});
  }
  bool enqueue_only_stamps() const override { return true; }
  bool watches_by_port() const override { return true; }

  void Attach(SwitchView& view) override {
    links_.assign(view.ports(), Link{Dre(settings_.dre)});
    is_leaf_ = view.tier() == 0;
    if (!is_leaf_) return;
    flowlets_ = Flowlets(settings_.flowlets);
    tag_of_port_.assign(view.ports(), kNoTag);
    const std::span<const PortIndex> uplinks = view.Uplinks();
    for (size_t u = 0; u < uplinks.size(); ++u) tag_of_port_[uplinks[u]] = static_cast<uint8_t>(u);
    paths_.Attach(view, digits_);
    sampled_.reserve(paths_.count());
    to_leaf_.assign(view.leaves(), std::vector<ToLeaf>(paths_.count()));
    from_leaf_.resize(view.leaves());
  }

  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex in_port,
                    const Candidates& candidates) override {
    paths_.Forget();
    const bool ends = is_leaf_ && view.FacesHost(candidates.ports.front());
    if (ends && !view.FacesHost(in_port)) Learn(view, packet);
    if (settings_.mode == Mode::kPath && !ends) {
      return Decision::Forward(OnPath(view, packet, candidates));
    }
    if (!candidates.matters()) return Decision::Forward(candidates.ports.front());
    return Decision::Forward(is_leaf_ ? PortFor(view, packet, candidates)
                                      : EcmpPort(packet, salt_, candidates.ports));
  }

  void Prefetch(const Packet& packet) const override {
    if (is_leaf_) flowlets_.Prefetch(packet);
  }

  // The source leaf writes the header; feedback is added to any packet.
  void OnEnqueue(SwitchView& view, Packet& packet, PortIndex port) override {
    if (!is_leaf_ || tag_of_port_[port] == kNoTag || !view.IsAttached(packet.src)) return;
    paths_.Stamp(packet);
    const Feedback feedback =
        from_leaf_[view.LeafOf(packet.dst)].TakeNext(view.now() - settings_.age);
    packet.SetScheme(CongaHeader{tag_of_port_[port], 0, feedback.tag, feedback.metric});
  }

  void OnTransmit(SwitchView& view, Packet& packet, PortIndex port) override {
    if (view.FacesHost(port)) return;
    links_[port].estimator.Add(static_cast<double>(view.WireBytes(packet).count), view.now());
    CongaHeader header = packet.Scheme<CongaHeader>();
    header.congestion = std::max(header.congestion, static_cast<uint8_t>(Reading(view, port)));
    packet.SetScheme(header);
  }

  // As in the ASIC: a reading takes one byte, the time of its last update four more, and whether it
  // has changed one.
  size_t StateBytes() const override {
    size_t bytes = links_.size() * sizeof(Link) + flowlets_.memory_bytes();
    for (const auto& uplinks : to_leaf_) bytes += uplinks.size() * 5;
    for (const FromLeaf& from : from_leaf_)
      bytes += std::max(from.by_tag.size(), FromLeaf::kTags) * 6;
    return bytes;
  }
  std::vector<Counter> Counters() const override {
    return {{"flowlets", flowlet_count_},
            {"reroutes", reroutes_},
            {"feedback", feedback_count_},
            {"table_entries", flowlets_.used()}};
  }

 private:
  struct Link {
    Dre estimator;
    BitRate rate{0};
    double full = 0;  // The estimator's value at full rate; cached, as `rate` seldom changes.
  };

  // Congestion-To-Leaf: the metric of one uplink towards one leaf.
  struct ToLeaf {
    uint8_t metric = 0;
    Time updated;
  };

  // A packet carries this to its destination leaf: the metric of one of that leaf's uplinks.
  struct Feedback {
    uint8_t tag = kNoTag;
    uint8_t metric = 0;
  };

  // Congestion-From-Leaf: the metrics that packets from one leaf collected, by that leaf's uplinks.
  struct FromLeaf {
    static constexpr size_t kTags = 16;  // The ASIC's; a leaf with more uplinks has more.
    struct Entry {
      Time updated{-kNever.ps};
      uint8_t metric = 0;
      bool changed = false;
    };
    std::vector<Entry> by_tag = {};
    size_t next = 0;
    size_t changed = 0;  // Entries that have changed.

    void Note(uint8_t tag, uint8_t metric, Time now) {
      if (tag >= by_tag.size()) by_tag.resize(tag + size_t{1});
      Entry& entry = by_tag[tag];
      const bool is_known = entry.updated >= Time{};
      const bool is_new = !entry.changed && (!is_known || entry.metric != metric);
      changed += is_new ? 1 : 0;
      entry.changed = entry.changed || is_new;
      entry.metric = metric;
      entry.updated = now;
    }

    // Takes the metrics in turn. Those that have changed since they were last returned go first; of
    // the others, only those that a packet has updated since `since`. If an old metric were
    // returned for ever, it would never be old where it arrives, and its path would never be tried
    // again.
    Feedback TakeNext(Time since) {
      const size_t tags = by_tag.size();
      for (size_t i = 0, tag = next; i < tags; ++i, ++tag) {
        if (tag == tags) tag = 0;
        Entry& entry = by_tag[tag];
        if (changed > 0 ? !entry.changed : entry.updated < since) continue;
        changed -= std::exchange(entry.changed, false) ? 1 : 0;
        next = tag + 1;
        return {static_cast<uint8_t>(tag), entry.metric};
      }
      return {};
    }
  };

  static FlowletSettings SlotsOf(const CongaSettings& settings) {
    FlowletSettings none = settings.flowlets;
    none.slots = 1;  // One slot until Attach() finds that this switch is a leaf.
    return none;
  }

  uint32_t Reading(const SwitchView& view, PortIndex port) {
    Link& link = links_[port];
    const double sent = link.estimator.Read(view.now());
    if (sent == 0) return 0;
    if (link.rate != view.Rate(port)) {
      link.rate = view.Rate(port);
      link.full = Dre::FullBytes(link.rate, settings_.dre);
    }
    return Dre::Quantise(sent, link.full, static_cast<int>(settings_.bits));
  }

  uint32_t ReadingNow(SwitchView& view, PortIndex port) {
    view.ShowTransmissions(port);
    return Reading(view, port);
  }

  // The destination leaf reads the header.
  void Learn(const SwitchView& view, const Packet& packet) {
    const CongaHeader header = packet.Scheme<CongaHeader>();
    const uint16_t source = view.LeafOf(packet.src);
    const uint16_t tag = settings_.mode == Mode::kPath ? packet.path : header.tag;
    if (tag < kNoTag)
      from_leaf_[source].Note(static_cast<uint8_t>(tag), header.congestion, view.now());
    if (header.feedback_tag >= to_leaf_[source].size()) return;
    to_leaf_[source][header.feedback_tag] = {header.feedback_metric, view.now()};
    ++feedback_count_;
  }

  // A metric older than `age` decays to 0 within another `age`, so that an unused path is tried
  // again.
  uint32_t Aged(const ToLeaf& entry, Time now) const {
    if (entry.metric == 0) return 0;
    const Duration silence = now - entry.updated;
    if (silence <= settings_.age) return entry.metric;
    const int64_t steps =
        (silence - settings_.age) / (settings_.age / (int64_t{1} << settings_.bits));
    return static_cast<uint32_t>(std::max<int64_t>(0, entry.metric - steps));
  }

  PortIndex PortFor(SwitchView& view, const Packet& packet, const Candidates& candidates) {
    Flowlets::Slot& slot = flowlets_.Of(packet);
    const bool has_ended = flowlets_.HasEnded(slot, view.now());
    if (has_ended || !candidates.Has(slot.port)) {
      ++flowlet_count_;
      const std::vector<ToLeaf>& remote = to_leaf_[view.LeafOf(packet.dst)];
      const PortIndex before = slot.port;
      slot.port = LeastOf(candidates.ports, before, rng_, [&](PortIndex port) {
        const uint8_t tag = tag_of_port_[port];
        // No feedback comes about links between switches of one tier, which are no uplinks.
        const uint32_t beyond = tag == kNoTag ? 0 : Aged(remote[tag], view.now());
        return std::max(ReadingNow(view, port), beyond);
      });
      reroutes_ += before != kNoPort && before != slot.port ? 1 : 0;
    }
    slot.last = view.now();
    return slot.port;
  }

  // --- mode: path ---

  PortIndex OnPath(SwitchView& view, const Packet& packet, const Candidates& candidates) {
    if (is_leaf_ && view.IsAttached(packet.src) && !paths_.Live(candidates).empty()) {
      return paths_.Take(PathFor(view, packet, candidates));
    }
    return PathOrHash(view, packet, candidates, salt_);
  }

  // Slots hold paths instead of ports. The flow's current path is always compared too, or the flow
  // would move to a path that is no better.
  uint16_t PathFor(SwitchView& view, const Packet& packet, const Candidates& candidates) {
    Flowlets::Slot& slot = flowlets_.Of(packet);
    const bool lives = paths_.Lives(slot.port, candidates);
    if (flowlets_.HasEnded(slot, view.now()) || !lives) {
      ++flowlet_count_;
      const uint16_t leaf = view.LeafOf(packet.dst);
      // Flows to other leaves share the slot.
      const uint16_t before = lives ? paths_.AsTo(leaf, slot.port) : slot.port;
      Sample(leaf, candidates);
      if (lives && std::ranges::find(sampled_, before) == sampled_.end()) {
        sampled_.push_back(before);
      }
      const std::vector<ToLeaf>& remote = to_leaf_[leaf];
      slot.port = LeastOf(sampled_, before, rng_, [&](uint16_t path) {
        return std::max(ReadingNow(view, paths_.UplinkOf(path)), Aged(remote[path], view.now()));
      });
      reroutes_ += before != kNoPort && before != slot.port ? 1 : 0;
    }
    slot.last = view.now();
    return slot.port;
  }

  // Draws distinct paths: a path drawn twice would win ties more often.
  void Sample(uint16_t leaf, const Candidates& candidates) {
    const std::span<const uint16_t> live = paths_.LiveTo(leaf, candidates);
    sampled_.assign(live.begin(), live.end());
    const size_t n = std::min(sampled_.size(), static_cast<size_t>(settings_.samples));
    rng_.MoveToFront(sampled_, n);
    sampled_.resize(n);
  }

  const CongaSettings settings_;
  const PathDigits digits_;
  const uint64_t salt_;
  Rng rng_;
  bool is_leaf_ = false;
  std::vector<Link> links_;                   // By port.
  std::vector<uint8_t> tag_of_port_;          // kNoTag: the port is no uplink.
  LeafPaths paths_;                           // With two tiers the paths are the uplinks.
  std::vector<std::vector<ToLeaf>> to_leaf_;  // By leaf, then path.
  std::vector<FromLeaf> from_leaf_;           // By leaf.
  Flowlets flowlets_;
  std::vector<uint16_t> sampled_;  // The paths compared in one decision.
  int64_t flowlet_count_ = 0;
  int64_t reroutes_ = 0;
  int64_t feedback_count_ = 0;
};

class CongaBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& fields) override {
    settings_.flowlets.Declare(fields);
    settings_.dre.Declare(fields);
    fields.Add("bits", settings_.bits, Between<int64_t>(1, 8), "Bits of a congestion metric (Q).");
    fields.Add("age", settings_.age, {.at_least = 1_us, .at_most = 100_s},
               "A metric older than this decays to 0, within as long again.");
    fields.Choice("mode", settings_.mode,
                  {{"two_tier", Mode::kTwoTier}, {"pod", Mode::kPod}, {"path", Mode::kPath}},
                  "two_tier: as published; pod: an extension to three tiers, where an uplink's "
                  "metric covers all paths above it and the tiers above hash; path: another "
                  "extension, where leaves choose whole paths and have a metric for each path.");
    fields.Add(
        "samples", settings_.samples, Between<int64_t>(1, 254),
        "path: random paths that are compared for a flowlet, besides the flow's present path.");
  }

  void Prepare(const FabricShape& fabric, std::string_view path,
               Diagnostics& diagnostics) override {
    if (fabric.tiers > 2 && settings_.mode == Mode::kTwoTier) {
      diagnostics.ErrorAt(path,
                          "conga is defined for two tiers of switches, and this network has more; "
                          "set mode: pod or mode: path for extensions of it");
    }
    digits_ = DigitsOf(fabric);
    if (settings_.mode != Mode::kPath) digits_.second = 1;
    if (digits_.paths() >= kNoTag) {
      diagnostics.ErrorAt(path,
                          "conga numbers the uplinks of a leaf, or its paths with mode: path, with "
                          "8 bits; at most 254");
    }
  }

  std::optional<Duration> flowlet_gap() const override { return settings_.flowlets.gap; }

  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const override {
    return std::make_unique<Conga>(settings_, digits_, EcmpSalt(id, seed),
                                   Rng::Stream(seed, "conga", id));
  }

 private:
  CongaSettings settings_;
  PathDigits digits_;
};

[[maybe_unused]] const bool registered =
    LoadBalancers().Add<CongaBalancer>({"conga",
                                        "Leaves send each flowlet over the least congested path; "
                                        "the destination's leaf feeds congestion back.",
                                        "Alizadeh et al., SIGCOMM 2014"});

}  // namespace
}  // namespace heddle
