// SPDX-License-Identifier: Apache-2.0
// Luopan (Wang et al., IEEE TPDS 30(1), 2019). A leaf probes a few random paths, and the best one
// so far, to each leaf that it sends to. Each flowcell of 64 KB takes the best path.
//
// This is a reconstruction: the principle is the paper's. The probing interval is ours, and so is
// the measure of congestion, the sum of the queues along the path. Probes do not wait in these
// queues, and replies are hashed. A best path that no reply confirms in a round is dropped.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/random.h"
#include "lb/parts/flow_table.h"
#include "lb/parts/follow_path.h"
#include "lb/parts/leaf_paths.h"
#include "lb/parts/load_balancer.h"

namespace heddle {
namespace {

struct LuopanSettings {
  int64_t samples = 2;
  Bytes cell{65'536};
  std::optional<Duration> probe_every;
  FlowTableSettings flows{.age = 100_ms};
};

struct LuopanHeader {
  enum Kind : uint8_t { kProbe, kReply };
  Kind kind;
  uint8_t round;
  uint16_t path;
  uint32_t queue;  // Bytes in the queues of all ports on the way.
};

class Luopan final : public SwitchPolicy {
 public:
  Luopan(const LuopanSettings& settings, Duration probe_every, PathDigits digits, uint64_t salt,
         Rng rng)
      : settings_(settings),
        probe_every_(probe_every),
        digits_(digits),
        salt_(salt),
        rng_(rng),
        flows_(settings.flows) {}

  Packets asked_about() const override { return Packets::kEvery; }

  void Attach(SwitchView& view) override {
    is_leaf_ = view.tier() == 0 && !view.Uplinks().empty();
    if (!is_leaf_) return;
    paths_.Attach(view, digits_);
    leaves_.resize(view.leaves());
    for (size_t h = view.hosts(); h-- > 0;) {
      const HostId host = static_cast<HostId>(h);
      leaves_[view.LeafOf(host)].host = host;
      if (view.IsAttached(host)) own_ = host;
    }
    // A random phase, so that leaves do not probe at once.
    const double phase = rng_.Uniform() * static_cast<double>(probe_every_.ps);
    view.SetTimer(view.now() + Duration{static_cast<int64_t>(phase)}, 0);
  }

  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex in_port,
                    const Candidates& candidates) override {
    paths_.Forget();
    const bool ends = view.FacesHost(candidates.ports.front());
    if (packet.kind == PacketKind::kControl && is_leaf_ && ends) {
      OnControl(view, packet);
      return Decision::Consume();
    }
    if (candidates.ports.size() == 1 && !view.FacesHost(in_port)) {
      return Decision::Forward(candidates.ports.front());
    }
    if (is_leaf_ && !ends && !paths_.Live(candidates).empty()) {
      return Decision::Forward(paths_.Take(PathFor(view, packet, candidates)));
    }
    return Decision::Forward(PathOrHash(view, packet, candidates, salt_));
  }

  void Prefetch(const Packet& packet) const override {
    if (is_leaf_) flows_.Prefetch(packet);
  }

  void OnEnqueue(SwitchView& view, Packet& packet, PortIndex port) override {
    if (packet.kind == PacketKind::kControl) return AddQueue(view, packet, port);
    paths_.Stamp(packet);
  }

  void OnTimer(SwitchView& view, uint32_t /*id*/) override {
    ++round_;
    for (Leaf& leaf : leaves_) {
      if (!std::exchange(leaf.is_heard, false)) leaf.best = kNoPath;
      if (std::exchange(leaf.is_active, false)) StartRound(view, leaf);
    }
    view.SetTimer(view.now() + probe_every_, 0);
  }

  size_t StateBytes() const override {
    return sizeof(salt_) + flows_.memory_bytes() + leaves_.size() * sizeof(Leaf);
  }
  std::vector<Counter> Counters() const override {
    return {{"cells", cells_},
            {"reroutes", reroutes_},
            {"probes", probes_},
            {"probe_bytes", probes_ * kControlPacketBytes},
            {"table_entries", static_cast<int64_t>(flows_.used())},
            {"table_evictions", flows_.evictions()}};
  }

 private:
  struct Flow {
    uint16_t path = kNoPath;
    int64_t left = 0;  // Bytes left in the current cell.
  };
  // The state of the paths to another leaf.
  struct Leaf {
    std::optional<HostId> host;  // A host that stands for the leaf.
    bool is_active = false;      // A packet has been sent there in this round.
    bool is_heard = false;       // A reply has come in this round.
    uint16_t best = kNoPath;     // kNoPath: no reply yet.
    uint32_t queue = 0;          // The best path's queues.
  };

  uint16_t PathFor(SwitchView& view, const Packet& packet, const Candidates& candidates) {
    const uint16_t to = view.LeafOf(packet.dst);
    Leaf& leaf = leaves_[to];
    leaf.is_active = true;
    Flow& flow = flows_.Touch(packet, view.now()).state;
    if (flow.left < packet.bytes || !paths_.Lives(flow.path, candidates)) {
      const uint16_t before = flow.path;
      flow.path = paths_.Lives(leaf.best, candidates) ? leaf.best : AnyOf(to, candidates);
      flow.left = settings_.cell.count;
      ++cells_;
      reroutes_ += before != kNoPath && before != flow.path ? 1 : 0;
    }
    flow.left -= packet.bytes;
    return flow.path;
  }

  uint16_t AnyOf(uint16_t leaf, const Candidates& candidates) {
    const std::span<const uint16_t> live = paths_.LiveTo(leaf, candidates);
    return live[rng_.Below(static_cast<uint32_t>(live.size()))];
  }

  // --- Probes ---

  void StartRound(SwitchView& view, Leaf& leaf) {
    const Candidates candidates = view.CandidatesTo(*leaf.host);
    const std::span<const uint16_t> live = paths_.LiveTo(view.LeafOf(*leaf.host), candidates);
    if (live.empty()) return;
    // Draws distinct paths: the i-th is drawn from the rest.
    sampled_.assign(live.begin(), live.end());
    const size_t n = std::min(sampled_.size(), static_cast<size_t>(settings_.samples));
    bool has_best = leaf.best == kNoPath || !paths_.Lives(leaf.best, candidates);
    for (size_t i = 0; i < n; ++i) {
      const size_t left = sampled_.size() - i;
      std::swap(sampled_[i], sampled_[i + rng_.Below(static_cast<uint32_t>(left))]);
      has_best = has_best || sampled_[i] == leaf.best;
      SendProbe(view, *leaf.host, sampled_[i]);
    }
    if (!has_best) SendProbe(view, *leaf.host, leaf.best);
  }

  void SendProbe(SwitchView& view, HostId to, uint16_t path) {
    Packet probe;
    probe.kind = PacketKind::kControl;
    probe.bytes = kControlPacketBytes;
    probe.src = own_;
    probe.dst = to;
    probe.path = path;
    probe.SetScheme(LuopanHeader{LuopanHeader::kProbe, round_, path, 0});
    view.SendControl(probe, paths_.UplinkOf(path));
    ++probes_;
  }

  static void AddQueue(const SwitchView& view, Packet& probe, PortIndex port) {
    LuopanHeader header = probe.Scheme<LuopanHeader>();
    if (header.kind != LuopanHeader::kProbe) return;
    const int64_t others = (view.Unsent(port) - view.WireBytes(probe)).count;
    header.queue += static_cast<uint32_t>(std::clamp<int64_t>(others, 0, 1 << 28));
    probe.SetScheme(header);
  }

  void OnControl(SwitchView& view, const Packet& packet) {
    LuopanHeader header = packet.Scheme<LuopanHeader>();
    if (header.kind == LuopanHeader::kReply) return Learn(leaves_[view.LeafOf(packet.src)], header);
    header.kind = LuopanHeader::kReply;
    Packet reply = packet;
    std::swap(reply.src, reply.dst);
    reply.path = kNoPath;
    reply.hops = 0;
    reply.SetScheme(header);
    const Candidates candidates = view.CandidatesTo(reply.dst);
    if (!candidates.ports.empty())
      view.SendControl(reply, EcmpPort(reply, salt_, candidates.ports));
  }

  // Keeps the best path among the replies of the current round.
  void Learn(Leaf& leaf, const LuopanHeader& header) {
    if (header.round != round_) return;
    if (leaf.is_heard && header.queue >= leaf.queue) return;
    leaf.is_heard = true;
    leaf.best = header.path;
    leaf.queue = header.queue;
  }

  const LuopanSettings settings_;
  const Duration probe_every_;
  const PathDigits digits_;
  const uint64_t salt_;
  Rng rng_;
  bool is_leaf_ = false;
  LeafPaths paths_;
  HostId own_ = 0;  // A host of this leaf.
  std::vector<Leaf> leaves_;
  AgedFlowTable<Flow> flows_;
  std::vector<uint16_t> sampled_;
  uint8_t round_ = 0;
  int64_t cells_ = 0;
  int64_t reroutes_ = 0;
  int64_t probes_ = 0;
};

class LuopanBalancer final : public LoadBalancer {
 public:
  void Declare(Fields& fields) override {
    fields.Add("samples", settings_.samples, Between<int64_t>(1, 65'535),
               "Random paths to a leaf that are probed each round, besides the best of the last "
               "round (d).");
    fields.Add("cell", settings_.cell, {.at_least = 1_B, .at_most = Bytes{1'000'000'000}},
               "Bytes of a flow that take one path.");
    fields.AddOr("auto", "probe_every", settings_.probe_every, {.at_least = 1_us, .at_most = 10_s},
                 "Time between two rounds of probes, within which replies count. auto: 100us, or "
                 "twice the longest idle round trip if that is longer.");
    settings_.flows.Declare(fields);
  }

  void Prepare(const FabricShape& fabric, std::string_view path,
               Diagnostics& diagnostics) override {
    digits_ = DigitsOf(fabric);
    probe_every_ = settings_.probe_every.value_or(std::max(100_us, 2 * fabric.base_rtt));
    if (probe_every_ < fabric.base_rtt) {
      diagnostics.ErrorAt(std::string(path) + ".probe_every",
                          "is shorter than a round trip, so that no reply would come in time; "
                          "leave it out");
    }
  }

  bool reorders() const override { return true; }

  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const override {
    return std::make_unique<Luopan>(settings_, probe_every_, digits_, EcmpSalt(id, seed),
                                    Rng::Stream(seed, "luopan", id));
  }

 private:
  LuopanSettings settings_;
  Duration probe_every_ = 100_us;
  PathDigits digits_;
};

[[maybe_unused]] const bool registered =
    LoadBalancers().Add<LuopanBalancer>({"luopan",
                                         "A reconstruction of Luopan: leaves probe a few paths, "
                                         "and flowcells take the one with the shortest queues.",
                                         "Wang et al., IEEE TPDS 2019"});

}  // namespace
}  // namespace heddle
