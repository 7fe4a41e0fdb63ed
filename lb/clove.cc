// SPDX-License-Identifier: Apache-2.0
// Clove (Katta et al., CoNEXT 2017) works in hypervisors alone. A host uses a few paths to each
// other host and assigns each flowlet to one of them. With clove_ecn it draws the path by weights,
// and takes a third off the weight of a path whose packets came with an ECN mark. With clove_int
// packets collect the greatest utilisation on their way, and a flowlet takes the path with the
// least. The receiving host returns this news in the header of whatever it sends back.
//
// The paper's hypervisor finds out by traceroute which source ports lead over which paths. Here
// hosts name paths, and switches follow. The paper's hypervisor hides ECN marks from its guests
// until all paths have them, which changes what congestion control does; here this is an option
// (mask_ecn).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/random.h"
#include "lb/parts/dre.h"
#include "lb/parts/follow_path.h"
#include "lb/parts/load_balancer.h"

namespace heddle {
namespace {

enum class CloveKind { kEcn, kInt };

struct CloveSettings {
  std::optional<Duration> gap;
  int64_t paths = 8;
  std::optional<Duration> relay_every;
  double cut = 1.0 / 3;
  std::optional<Duration> recent;
  bool mask_ecn = false;
  Duration stale = 10_ms;
  DreSettings dre;
};

// The settings with `auto` replaced by values that follow from the fabric.
struct CloveRules {
  CloveKind kind = CloveKind::kEcn;
  Duration gap{};
  size_t paths = 8;
  Duration relay_every{};
  double cut = 0;
  Duration recent{};
  bool mask_ecn = false;
  Duration stale{};
};

// On data: the greatest utilisation on its way. On ACKs: the utilisation that data on `path` met.
struct CloveHeader {
  uint16_t path = kNoPath;  // kNoPath: no news.
  uint8_t utilisation = 0;  // 255: all of a link.
};

class CloveHost final : public HostPolicy {
 public:
  CloveHost(const CloveRules& rules, Rng rng) : rules_(rules), rng_(rng) {}

  uint32_t unused_hooks() const override { return rules_.mask_ecn ? 0 : uint32_t{kEcho}; }
  bool sends_packets() const override { return false; }

  void OnFlowStart(HostView& view, HostFlow& flow) override {
    FlowState& state = flow.State<FlowState>();
    state.to = &to_[flow.dst];
    state.path = kNoPath;
    if (state.to->version != view.PathsVersion()) Discover(view, flow.dst, *state.to);
  }

  void OnSend(HostView& view, HostFlow& flow, Packet& packet) override {
    FlowState& state = flow.State<FlowState>();
    Destination& to = *state.to;
    if (to.version != view.PathsVersion()) Discover(view, flow.dst, to);
    if (to.paths.empty()) return;
    const bool has_path = std::ranges::find(to.paths, state.path, &Path::id) != to.paths.end();
    if (!has_path || view.now() - state.last > rules_.gap) {
      const uint16_t path = Choose(to, view.now());
      ++flowlets_;
      reroutes_ += state.path != kNoPath && state.path != path ? 1 : 0;
      state.path = path;
    }
    state.last = view.now();
    packet.path = state.path;
    packet.SetScheme(CloveHeader());
  }

  // --- The receiver ---

  void OnData(HostView& view, const Packet& data) override {
    if (data.path == kNoPath) return;
    const bool is_marked = data.Has(Packet::kCe);
    if (rules_.kind == CloveKind::kEcn && !is_marked) return;
    News& news = NewsOf(from_[data.src], data.path, view.now());
    news.utilisation = data.Scheme<CloveHeader>().utilisation;
    news.is_due = true;
  }

  void OnSendAck(HostView& view, const Packet& data, Packet& ack) override {
    ack.SetScheme(NextNews(from_[data.src], view.now()));
  }

  // --- The sender learns about its paths ---

  void OnAck(HostView& view, HostFlow& flow, const Packet& ack, const AckNews& /*news*/) override {
    const CloveHeader header = ack.Scheme<CloveHeader>();
    Destination& to = *flow.State<FlowState>().to;
    const auto path = std::ranges::find(to.paths, header.path, &Path::id);
    if (header.path == kNoPath || path == to.paths.end()) return;
    ++relays_;
    path->heard = view.now();
    path->utilisation = header.utilisation;
    if (rules_.kind == CloveKind::kEcn) Cut(to, *path, view.now());
  }

  // While some path is free of congestion, the guest need not slow down.
  bool HidesEcho(HostView& view, HostFlow& flow) override {
    const bool hides = CountFree(*flow.State<FlowState>().to, view.now()) > 0;
    hidden_ += hides ? 1 : 0;
    return hides;
  }

  size_t StateBytes() const override {
    size_t bytes = sizeof(rng_);
    for (const auto& [host, to] : to_) bytes += to.paths.size() * sizeof(Path);
    for (const auto& [host, from] : from_) bytes += from.size() * sizeof(News);
    return bytes;
  }
  size_t FlowBytes() const override { return sizeof(FlowState); }
  std::vector<Counter> Counters() const override {
    std::vector<Counter> counters = {
        {"flowlets", flowlets_}, {"reroutes", reroutes_}, {"feedback", relays_}};
    if (rules_.mask_ecn) counters.push_back({"hidden_echoes", hidden_});
    return counters;
  }

 private:
  struct Path {
    uint16_t id;
    uint8_t utilisation = 0;
    double weight;           // The weights of all paths sum to 1.
    Time heard{-kNever.ps};  // When news last came; with ECN: of congestion.
  };
  struct Destination {
    uint32_t version = 0;  // Version of the paths that it was made from.
    std::vector<Path> paths;
  };
  // News about a path that packets arrive over, to be returned to their source.
  struct News {
    uint16_t path = kNoPath;
    uint8_t utilisation = 0;
    bool is_due = false;
    Time told{-kNever.ps};
    Time noted;
  };
  struct FlowState {
    Destination* to;
    Time last;
    uint16_t path;
  };

  // Draws a subset of the live paths. It forgets everything about the old ones, whose links may be
  // gone.
  void Discover(const HostView& view, HostId dst, Destination& to) {
    to.version = view.PathsVersion();
    to.paths.clear();
    const std::span<const PathChoice> live = view.PathsTo(dst);
    const size_t n = std::min(live.size(), rules_.paths);
    // Selection sampling: every path is equally likely to be among the n.
    for (size_t i = 0; i < live.size() && to.paths.size() < n; ++i) {
      const size_t wanted = n - to.paths.size();
      if (rng_.Below(static_cast<uint32_t>(live.size() - i)) >= wanted) continue;
      to.paths.push_back({.id = live[i].id, .weight = 1.0 / static_cast<double>(n)});
    }
  }

  uint16_t Choose(const Destination& to, Time now) {
    return rules_.kind == CloveKind::kEcn ? DrawByWeight(to) : LeastUsed(to, now);
  }

  uint16_t DrawByWeight(const Destination& to) {
    double left = rng_.Uniform();
    for (const Path& path : to.paths) {
      left -= path.weight;
      if (left < 0) return path.id;
    }
    return to.paths.back().id;  // Weights sum to 1 but for rounding.
  }

  // A path without news for a long time counts as idle, so that it is tried again.
  uint16_t LeastUsed(const Destination& to, Time now) {
    const auto use = [&](const Path& path) {
      return now - path.heard > rules_.stale ? 0 : int{path.utilisation};
    };
    int least = 256;
    uint32_t tied = 0;
    for (const Path& path : to.paths) {
      if (use(path) < least) tied = 0;
      least = std::min(least, use(path));
      tied += use(path) == least ? 1 : 0;
    }
    uint32_t skip = rng_.Below(tied);
    for (const Path& path : to.paths) {
      if (use(path) == least && skip-- == 0) return path.id;
    }
    return to.paths.back().id;
  }

  bool IsFree(const Path& path, Time now) const { return now - path.heard > rules_.recent; }
  int64_t CountFree(const Destination& to, Time now) const {
    return std::ranges::count_if(to.paths, [&](const Path& path) { return IsFree(path, now); });
  }

  // Spreads the weight taken off over the paths that are not known to be congested. If there are
  // none, no weight is taken off.
  void Cut(Destination& to, Path& congested, Time now) {
    const int64_t free = CountFree(to, now);
    if (free == 0) return;
    const double taken = rules_.cut * congested.weight;
    congested.weight -= taken;
    for (Path& path : to.paths) {
      if (IsFree(path, now)) path.weight += taken / static_cast<double>(free);
    }
  }

  // There are as many entries for a source as it uses paths. A new path replaces the one whose news
  // is oldest.
  News& NewsOf(std::vector<News>& from, uint16_t path, Time now) {
    if (from.empty()) from.resize(rules_.paths);
    News* oldest = &from.front();
    for (News& news : from) {
      if (news.path == path) {
        news.noted = now;
        return news;
      }
      if (news.path == kNoPath || news.noted < oldest->noted) oldest = &news;
      if (news.path == kNoPath) break;
    }
    *oldest = News{.path = path, .noted = now};
    return *oldest;
  }

  // Returns the due news that was sent longest ago, if any is due.
  CloveHeader NextNews(std::vector<News>& from, Time now) {
    News* next = nullptr;
    for (News& news : from) {
      if (!news.is_due || now - news.told < rules_.relay_every) continue;
      if (next == nullptr || news.told < next->told) next = &news;
    }
    if (next == nullptr) return {};
    next->is_due = false;
    next->told = now;
    return {next->path, next->utilisation};
  }

  const CloveRules rules_;
  Rng rng_;
  // The hosts that this one sends to, or receives from. Used for lookup only; elements do not move.
  std::unordered_map<HostId, Destination> to_;
  std::unordered_map<HostId, std::vector<News>> from_;
  int64_t flowlets_ = 0;
  int64_t reroutes_ = 0;
  int64_t relays_ = 0;
  int64_t hidden_ = 0;
};

// Follows the paths that packets name, and stamps data with the utilisation of fabric links.
class CloveIntSwitch final : public SwitchPolicy {
 public:
  CloveIntSwitch(const DreSettings& dre, uint64_t salt) : dre_(dre), follow_(salt) {}

  void Attach(SwitchView& view) override { estimators_.assign(view.ports(), Dre(dre_)); }
  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex in_port,
                    const Candidates& candidates) override {
    return follow_.OnPacket(view, packet, in_port, candidates);
  }

  void OnTransmit(SwitchView& view, Packet& packet, PortIndex port) override {
    if (view.FacesHost(port)) return;
    estimators_[port].Add(static_cast<double>(view.WireBytes(packet).count), view.now());
    if (packet.kind != PacketKind::kData) return;
    const uint32_t use = Dre::Quantise(estimators_[port].Read(view.now()),
                                       Dre::FullBytes(view.Rate(port), dre_), /*bits=*/8);
    CloveHeader header = packet.Scheme<CloveHeader>();
    header.utilisation = std::max(header.utilisation, static_cast<uint8_t>(use));
    packet.SetScheme(header);
  }

  size_t StateBytes() const override {
    return follow_.StateBytes() + estimators_.size() * sizeof(Dre);
  }

 private:
  const DreSettings dre_;
  FollowPath follow_;
  std::vector<Dre> estimators_;  // By port.
};

class CloveBalancer : public LoadBalancer {
 public:
  explicit CloveBalancer(CloveKind kind) { rules_.kind = kind; }

  void Declare(Fields& fields) override {
    const Range<Duration> delays{.above = Duration{0}, .at_most = 10_s};
    fields.AddOr(
        "auto", "gap", settings_.gap, delays,
        "Flowlet gap: a flow may change its path after an idle time longer than this. auto: the "
        "longest idle round trip plus the delay of the longest queue without ECN marks.");
    fields.Add(
        "paths", settings_.paths, Between<int64_t>(1, 64),
        "Largest number of paths that a host uses to each other host, drawn from all paths.");
    fields.AddOr("auto", "relay_every", settings_.relay_every, delays,
                 "Shortest time between two notes about a path to its sender. auto: half of the "
                 "longest idle round trip.");
    if (rules_.kind == CloveKind::kEcn) {
      fields.Add("cut", settings_.cut, {.above = 0.0, .at_most = 1.0},
                 "Share of its weight that a path loses to the other paths when a note reports an "
                 "ECN mark on it.");
      fields.AddOr("auto", "recent", settings_.recent, delays,
                   "Time after a note for which a path counts as congested and gains no weight "
                   "from other paths. auto: the longest idle round trip.");
      fields.Add("mask_ecn", settings_.mask_ecn,
                 "Hide ECN marks from congestion control as long as some path to the host is not "
                 "congested.");
    } else {
      fields.Add("stale", settings_.stale, {.above = Duration{0}, .at_most = 1000_s},
                 "A path without a note for longer than this counts as idle.");
      settings_.dre.Declare(fields);
    }
  }

  void Prepare(const FabricShape& fabric, std::string_view path,
               Diagnostics& diagnostics) override {
    if (settings_.mask_ecn && !fabric.echoes_marks) {
      diagnostics.ErrorAt(std::string(path) + ".mask_ecn",
                          "needs a transport whose ACKs echo marks; use transport: dctcp");
    }
    rules_.gap = settings_.gap.value_or(fabric.base_rtt + fabric.marking_delay);
    rules_.paths = static_cast<size_t>(settings_.paths);
    rules_.relay_every = settings_.relay_every.value_or(fabric.base_rtt / 2);
    rules_.cut = settings_.cut;
    rules_.recent = settings_.recent.value_or(fabric.base_rtt);
    rules_.mask_ecn = settings_.mask_ecn;
    rules_.stale = settings_.stale;
  }

  std::optional<Duration> flowlet_gap() const override { return rules_.gap; }

  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const override {
    if (rules_.kind == CloveKind::kEcn) return std::make_unique<FollowPath>(EcmpSalt(id, seed));
    return std::make_unique<CloveIntSwitch>(settings_.dre, EcmpSalt(id, seed));
  }
  HostPolicyPtr ForHost(HostId id, uint64_t seed) const override {
    return std::make_unique<CloveHost>(rules_, Rng::Stream(seed, "clove", id));
  }

 private:
  CloveSettings settings_;
  CloveRules rules_;
};

class CloveEcnBalancer final : public CloveBalancer {
 public:
  CloveEcnBalancer() : CloveBalancer(CloveKind::kEcn) {}
};
class CloveIntBalancer final : public CloveBalancer {
 public:
  CloveIntBalancer() : CloveBalancer(CloveKind::kInt) {}
};

[[maybe_unused]] const bool registered_ecn =
    LoadBalancers().Add<CloveEcnBalancer>({"clove_ecn",
                                           "Hosts draw a path for each flowlet by weights, and "
                                           "lower the weights of paths with ECN marks.",
                                           "Katta et al., CoNEXT 2017"});
[[maybe_unused]] const bool registered_int = LoadBalancers().Add<CloveIntBalancer>(
    {"clove_int",
     "Hosts give each flowlet the path with the least utilisation, which packets collect.",
     "Katta et al., CoNEXT 2017"});

}  // namespace
}  // namespace heddle
