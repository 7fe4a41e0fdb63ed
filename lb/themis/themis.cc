// SPDX-License-Identifier: Apache-2.0
// Themis ("Enabling Packet Spraying over Commodity RNICs with In-Network Support", EuroSys 2026).
// The leaf where a flow begins sprays its packets over the N paths in turn: packet p takes path
// p + offset modulo N. Network cards keep packets that come out of order, and ask for the packet
// that they expect by a NACK. The leaf where the flow ends drops NACKs that spraying has caused:
// packets of one path stay in order, so a packet is lost only if a later one of its path has come.
// When such a packet comes after its NACK has been dropped, the leaf sends the NACK itself.
//
// A reconstruction: the idea is published, and the steps are from memory of the paper. Where they
// leave something open we chose that
// - the first leaf tells the other one, in each packet, the number of paths, which set of paths
//   they are, and whether the host sends the packet again;
// - a packet that is sent again takes another path than before, and proves no loss;
// - the last leaf keeps, instead of a ring of the packets forwarded last, which of a window of
//   packets it has forwarded, and the latest one of each path. A ring forgets packets that wait in
//   a long queue to the host.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/random.h"
#include "fabric/ecmp_hash.h"
#include "lb/parts/expiring_table.h"
#include "lb/parts/flow_key.h"
#include "lb/parts/follow_path.h"
#include "lb/parts/leaf_paths.h"
#include "lb/parts/load_balancer.h"
#include "lb/themis/forwarded.h"
#include "lb/themis/header.h"

namespace heddle {
namespace {

struct ThemisSettings {
  int64_t window_packets = 16'384;
  std::optional<Duration> pass_for;
  int64_t table_entries = 1'024;
  Duration table_age = 100_ms;
};

// The settings with `auto` replaced by values that follow from the fabric.
struct ThemisRules {
  size_t window_packets = 0;
  Duration pass_for{};
  size_t table_entries = 0;
  Duration table_age{};
  PathDigits digits;
};

class Themis final : public SwitchPolicy {
 public:
  Themis(const ThemisRules& rules, uint64_t salt)
      : rules_(rules),
        salt_(salt),
        sources_(rules.table_entries),
        sinks_(rules.table_entries),
        forwarded_(rules.table_entries, rules.window_packets, rules.digits.paths()) {}

  Packets asked_about() const override { return Packets::kEvery; }

  void Attach(SwitchView& view) override {
    is_leaf_ = view.tier() == 0 && !view.Uplinks().empty();
    if (is_leaf_) paths_.Attach(view, rules_.digits);
  }

  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex /*in_port*/,
                    const Candidates& candidates) override {
    stamp_ = std::nullopt;
    ends_here_ = false;
    if (is_leaf_ && packet.kind == PacketKind::kData) {
      const bool begins = view.IsAttached(packet.src);
      const bool ends = view.IsAttached(packet.dst);
      if (begins && !ends && !paths_.Live(candidates).empty()) {
        return Decision::Forward(Spray(view, packet, candidates));
      }
      if (ends && !begins) Receive(view, packet);
    }
    if (is_leaf_ && packet.kind == PacketKind::kNack && view.IsAttached(packet.src) &&
        IsDropped(view, packet)) {
      return Drop(view, packet);
    }
    return Decision::Forward(PathOrHash(view, packet, candidates, salt_));
  }

  // Only packets for which the port has room count as forwarded.
  void OnEnqueue(SwitchView& view, Packet& packet, PortIndex /*port*/) override {
    if (packet.kind != PacketKind::kData) return;
    if (stamp_) {
      packet.path = stamp_->path;
      packet.SetScheme(stamp_->header);
      stamp_ = std::nullopt;
    } else if (ends_here_) {
      ends_here_ = false;
      NoteForwarded(view, packet);
    }
  }

  size_t StateBytes() const override {
    return sizeof(salt_) + sources_.memory_bytes() + sinks_.memory_bytes() +
           forwarded_.memory_bytes();
  }
  std::vector<Counter> Counters() const override {
    return {{"nacks_dropped", dropped_},
            {"nacks_passed", passed_},
            {"nacks_made", made_},
            {"table_evictions", sources_.evictions() + sinks_.evictions()}};
  }

 private:
  // The state of a flow at the leaf where it begins.
  struct Source {
    uint32_t highest = 0;  // The highest packet so far.
    uint32_t again = 0;    // Packets that were sent again.
  };
  // The state of a flow at the leaf where it ends.
  struct Sink {
    ThemisHeader paths;
    Time pass_until;  // NACKs pass until then.
    ForwardedPackets::Flow forwarded;
    bool is_unknown = false;  // The leaf has not seen, or cannot remember, all its packets.
    bool is_blocked = false;  // The NACK for the packet `blocked` has been dropped.
    uint32_t blocked = 0;
    Packet nack;  // That NACK.
  };
  struct Stamp {
    uint16_t path;
    ThemisHeader header;
  };

  // --- Where flows begin ---

  PortIndex Spray(SwitchView& view, const Packet& packet, const Candidates& candidates) {
    const auto gone = [](uint64_t, const Source&) {};
    sources_.ExpireBefore(view.now() - rules_.table_age, gone);
    const uint64_t key = FlowKey(packet);
    const auto [flow, is_new] = sources_.Touch(key, view.now(), gone);
    const std::span<const uint16_t> paths = paths_.LiveTo(view.LeafOf(packet.dst), candidates);
    const uint32_t count = static_cast<uint32_t>(paths.size());
    const bool is_again = !is_new && packet.seq <= flow.highest;
    const uint64_t offset = Mix64(key ^ salt_ ^ uint64_t{candidates.version} << 48) >> 32;
    uint64_t turn = packet.seq + offset;
    if (is_again) {
      if (count > 1) turn += 1 + flow.again++ % (count - 1);
    } else {
      flow.highest = packet.seq;
    }
    const uint16_t path = paths[turn % count];
    stamp_ = Stamp{path, ThemisHeader{static_cast<uint16_t>(count),
                                      static_cast<uint8_t>(candidates.version), is_again}};
    return paths_.UplinkOf(path);
  }

  // --- Where they end ---

  // The headers of trimmed packets overtake others, so they prove nothing.
  void Receive(SwitchView& view, const Packet& data) {
    const ThemisHeader header = data.Scheme<ThemisHeader>();
    if (header.paths == 0) return;
    ends_here_ = true;
    Sink* sink = sinks_.Find(FlowKey(data));
    if (sink == nullptr || !sink->is_blocked || !sink->paths.HasPathsOf(header)) return;
    if (header.is_again || data.Has(Packet::kTrimmed)) return;
    const int32_t ahead = static_cast<int32_t>(data.seq - sink->blocked);
    if (ahead <= 0 || static_cast<uint32_t>(ahead) % header.paths != 0) return;
    sink->is_blocked = false;
    SendNack(view, *sink, data);
  }

  void NoteForwarded(SwitchView& view, const Packet& data) {
    const auto gone = [&](uint64_t, const Sink& sink) { forwarded_.GiveBack(sink.forwarded); };
    sinks_.ExpireBefore(view.now() - rules_.table_age, gone);
    const auto [sink, is_new] = sinks_.Touch(FlowKey(data), view.now(), gone);
    const ThemisHeader header = data.Scheme<ThemisHeader>();
    if (is_new) {
      sink.forwarded = forwarded_.Take();
      sink.paths = header;
      // The first packet that comes is the first one on its path, unless the flow had been
      // forgotten.
      sink.is_unknown = data.seq >= header.paths || header.paths > rules_.digits.paths();
    } else if (!sink.paths.HasPathsOf(header)) {
      ChangePaths(view, sink, header);
    }
    if (sink.is_unknown) return;
    if (sink.is_blocked && sink.blocked == data.seq) sink.is_blocked = false;
    if (!forwarded_.Add(sink.forwarded, data.seq)) {
      sink.is_unknown = true;
      sink.is_blocked = false;
    } else if (!header.is_again && !data.Has(Packet::kTrimmed)) {
      forwarded_.NotePath(sink.forwarded, data.seq, header.paths);
    }
  }

  void ChangePaths(const SwitchView& view, Sink& sink, const ThemisHeader& header) {
    sink.paths = header;
    sink.pass_until = view.now() + rules_.pass_for;
    sink.is_blocked = false;
    sink.is_unknown = sink.is_unknown || header.paths > rules_.digits.paths();
    forwarded_.ForgetPaths(sink.forwarded);
  }

  // Returns true if the NACK is to be dropped, and remembers it.
  bool IsDropped(const SwitchView& view, const Packet& nack) {
    Sink* sink = sinks_.Find(FlowKey(nack.flow, nack.dst));
    if (sink == nullptr) return false;
    const ForwardedPackets::Fate fate = FateOf(view, *sink, nack);
    if (fate == ForwardedPackets::Fate::kLost) {
      ++passed_;
      sink->is_blocked = false;
      return false;
    }
    ++dropped_;
    if (fate == ForwardedPackets::Fate::kUnknown) {
      sink->is_blocked = true;
      sink->blocked = nack.seq;
      sink->nack = nack;
    }
    return true;
  }

  // A packet counts as lost where the leaf cannot tell.
  ForwardedPackets::Fate FateOf(const SwitchView& view, const Sink& sink,
                                const Packet& nack) const {
    if (nack.Has(Packet::kTrimmed) || view.now() < sink.pass_until || sink.is_unknown) {
      return ForwardedPackets::Fate::kLost;
    }
    return forwarded_.FateOf(sink.forwarded, nack.seq, sink.paths.paths);
  }

  // A congestion notification in the NACK goes on in an ACK.
  Decision Drop(SwitchView& view, const Packet& nack) {
    if (nack.Has(Packet::kNotify)) {
      Packet ack = nack;
      ack.kind = PacketKind::kAck;
      ack.ack = {};
      SendBack(view, ack);
    }
    return Decision::Consume();
  }

  // Sends the NACK that has been dropped, now that `proof` shows that the packet is lost.
  void SendNack(SwitchView& view, const Sink& sink, const Packet& proof) {
    Packet nack = sink.nack;
    nack.flags = proof.Has(Packet::kCe) ? uint8_t{Packet::kEce} : uint8_t{0};
    nack.sent = proof.sent;
    nack.nack.trigger = proof.seq;
    nack.hops = 0;
    ++made_;
    SendBack(view, nack);
  }

  void SendBack(SwitchView& view, const Packet& packet) {
    const Candidates candidates = view.CandidatesTo(packet.dst);
    if (candidates.ports.empty()) return;
    view.SendControl(packet, EcmpPort(packet, salt_, candidates.ports));
  }

  const ThemisRules rules_;
  const uint64_t salt_;
  bool is_leaf_ = false;
  bool ends_here_ = false;      // The packet that is being forwarded goes to a host of this leaf.
  std::optional<Stamp> stamp_;  // The header for the packet that is being forwarded.
  LeafPaths paths_;
  ExpiringTable<Source> sources_;
  ExpiringTable<Sink> sinks_;
  ForwardedPackets forwarded_;
  int64_t dropped_ = 0;
  int64_t passed_ = 0;
  int64_t made_ = 0;
};

class ThemisBalancer final : public LoadBalancer {
 public:
  bool reorders() const override { return true; }
  void Declare(Fields& fields) override {
    ThemisSettings& s = settings_;
    fields.Add("window_packets", s.window_packets, Between<int64_t>(1, 1 << 20),
               "Packets of a flow beyond the first one missing of which the last leaf remembers "
               "whether it has forwarded them. If one comes beyond, the flow's NACKs pass from "
               "then on.");
    fields.AddOr("auto", "pass_for", s.pass_for, {.at_least = Duration{0}, .at_most = 1_s},
                 "After a flow's set of paths has changed, NACKs pass for this long. auto: the "
                 "longest idle round trip between hosts.");
    fields.Add("table_entries", s.table_entries, Between<int64_t>(1, 1 << 20),
               "Flows from its hosts that a leaf remembers, and as many flows to its hosts. NACKs "
               "of other flows pass.");
    fields.Add("table_age", s.table_age, {.at_least = 1_us, .at_most = 1000_s},
               "A flow that has been idle for longer is forgotten.");
  }

  void Prepare(const FabricShape& fabric, std::string_view /*path*/,
               Diagnostics& /*diagnostics*/) override {
    rules_ = {.window_packets = static_cast<size_t>(settings_.window_packets),
              .pass_for = settings_.pass_for.value_or(fabric.base_rtt),
              .table_entries = static_cast<size_t>(settings_.table_entries),
              .table_age = settings_.table_age,
              .digits = DigitsOf(fabric)};
  }

  SwitchPolicyPtr ForSwitch(SwitchId id, uint64_t seed) const override {
    return std::make_unique<Themis>(rules_, EcmpSalt(id, seed));
  }

 private:
  ThemisSettings settings_;
  ThemisRules rules_;
};

[[maybe_unused]] const bool registered = LoadBalancers().Add<ThemisBalancer>(
    {"themis",
     "A reconstruction: leaves spray packets in turn, and drop the NACKs that this causes.",
     "Enabling Packet Spraying over Commodity RNICs, EuroSys 2026"});

}  // namespace
}  // namespace heddle
