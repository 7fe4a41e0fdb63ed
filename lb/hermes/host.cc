// SPDX-License-Identifier: Apache-2.0

#include "lb/hermes/host.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "fabric/host.h"  // HostView is inline there
#include "lb/hermes/table.h"
#include "lb/parts/load_balancer.h"
#include "lb/parts/ties.h"

namespace heddle {
namespace {

// On ACKs: the state of the data packet that they answer. On probes and their replies: the probe's.
struct HermesHeader {
  enum Kind : uint8_t { kNone, kEcho, kProbe, kReply };
  uint16_t path;
  Kind kind;
  bool marked;
  uint32_t delay_ns;  // One-way delay of the data packet or probe.
};

enum class PathType { kGood, kGray, kCongested, kFailed };

class HermesHost final : public HostPolicy {
 public:
  HermesHost(const HermesRules& rules, HostId id, Rng rng) : rules_(rules), id_(id), rng_(rng) {}

  void Attach(HostView& view) override {
    table_.Attach(view);
    nic_bps_ = static_cast<double>(view.NicRate().bps);
    std::vector<HostId> first(view.leaves(), id_);
    for (size_t h = view.hosts(); h-- > 0;) {
      first[view.LeafOf(static_cast<HostId>(h))] = static_cast<HostId>(h);
    }
    if (first[view.LeafOf(id_)] != id_ || view.leaves() < 2) return;
    first_hosts_ = std::move(first);  // This host sends its rack's probes.
    probed_.assign(view.leaves(), Probed{kNoPath, kNoPath, kNoPath});
    const double phase = rng_.Uniform() * static_cast<double>(rules_.probe_interval.ps);
    view.SetTimer(view.now() + Duration{static_cast<int64_t>(phase)}, 0);
  }

  void OnFlowStart(HostView& view, HostFlow& flow) override {
    flow.State<FlowState>() = FlowState();
    table_.RowTo(view, flow.dst);
  }

  void OnSend(HostView& view, HostFlow& flow, Packet& packet) override {
    const std::span<const PathChoice> paths = view.PathsTo(flow.dst);
    if (paths.empty()) return;
    Forget(view);
    Row& row = table_.RowTo(view, flow.dst);
    FlowState& state = flow.State<FlowState>();
    const Choice choice{view, flow.dst, paths, row};
    const uint16_t path = Choose(choice, state);
    if (path != state.path) {
      reroutes_ += state.path == kNoPath ? 0 : 1;
      state.previous = state.path;
      state.path = path;
      state.moved_at = state.next;
      state.sent_since_move = 0;
    }
    state.timed_out = false;
    Account(view.now(), state, row, packet);
    packet.path = path;
  }

  void OnSendAck(HostView& view, const Packet& data, Packet& ack) override {
    ack.SetScheme(HermesHeader{data.path, HermesHeader::kEcho, data.Has(Packet::kCe),
                               NanosecondsSince(data.sent, view.now())});
  }

  void OnAck(HostView& view, HostFlow& flow, const Packet& ack, const AckNews& news) override {
    const HermesHeader echo = ack.Scheme<HermesHeader>();
    if (echo.kind != HermesHeader::kEcho || echo.path == kNoPath) return;
    Learn(view.now(), table_.RowTo(view, flow.dst), echo, view.now() - ack.sent);
    if (news.newly_acked > 0 && !timeouts_.empty()) timeouts_.erase({flow.dst, echo.path});
  }

  void OnLoss(HostView& view, HostFlow& flow, LossSign sign) override {
    if (sign != LossSign::kTimeout || !rules_.failures) return;
    FlowState& state = flow.State<FlowState>();
    state.timed_out = true;
    if (state.path == kNoPath) return;
    // Few pairs of a destination and a path have timeouts at once; a host with more than this has
    // lost its network.
    if (timeouts_.size() >= kMostTimeouts) timeouts_.clear();
    Timeouts& timeouts = timeouts_[{flow.dst, state.path}];
    timeouts.last = view.now();
    if (++timeouts.count == rules_.timeouts) ++failed_paths_;
  }

  // --- Probes ---

  void OnTimer(HostView& view, uint32_t /*id*/) override {
    Forget(view);
    const uint16_t own = view.LeafOf(id_);
    for (uint16_t leaf = 0; leaf < first_hosts_.size(); ++leaf) {
      if (leaf != own) Probe(view, leaf);
    }
    view.SetTimer(view.now() + rules_.probe_interval, 0);
  }

  void OnControl(HostView& view, const Packet& packet) override {
    HermesHeader header = packet.Scheme<HermesHeader>();
    if (header.kind == HermesHeader::kReply) {
      Learn(view.now(), table_.RowTo(view, packet.src), header, view.now() - packet.sent);
      return;
    }
    header.kind = HermesHeader::kReply;
    header.marked = packet.Has(Packet::kCe);
    header.delay_ns = NanosecondsSince(packet.sent, view.now());
    Packet reply = ProbeTo(packet.src, packet.sent);
    reply.tuple_hash = packet.tuple_hash;
    reply.SetScheme(header);
    view.SendControl(reply);
  }

  HermesTable& table() { return table_; }

  size_t StateBytes() const override {
    return sizeof(rng_) + timeouts_.size() * sizeof(Timeouts) + table_.memory_bytes();
  }
  size_t FlowBytes() const override { return sizeof(FlowState); }
  std::vector<Counter> Counters() const override {
    return {{"reroutes", reroutes_},
            {"probes", probes_},
            {"probe_bytes", probes_ * kControlPacketBytes},
            {"failed_paths", failed_paths_}};
  }

 private:
  using Row = HermesTable::Row;
  using Probed = std::array<uint16_t, 3>;  // Path ids; kNoPath: fewer than three.

  static constexpr size_t kMostTimeouts = 4096;

  struct FlowState {
    uint16_t path = kNoPath;
    uint16_t previous = kNoPath;   // The path before the last move.
    uint32_t next = 0;             // The first segment that has not been sent,
    uint32_t moved_at = 0;         // and its value when the flow moved.
    uint32_t sent_since_move = 0;  // Bytes; the counter saturates.
    SentRate rate;
    Time tried{-kNever.ps};  // When it last tried to move.
    bool timed_out = false;
  };
  struct Timeouts {
    int64_t count = 0;
    Time last;
  };
  struct Choice {
    HostView& view;
    HostId dst;
    std::span<const PathChoice> paths;
    Row& row;
  };

  static uint32_t NanosecondsSince(Time sent, Time now) {
    return static_cast<uint32_t>(std::min<int64_t>((now - sent).ps / 1'000, 0xffff'ffff));
  }

  void Forget(const HostView& view) {
    if (table_.Forget(view)) timeouts_.clear();
  }

  void Learn(Time now, Row& row, const HermesHeader& echo, Duration rtt) {
    if (echo.path >= row.size()) return;
    HermesPath& path = row[echo.path];
    const double sample = rules_.delay == HermesRules::Delay::kOneWay ? echo.delay_ns * 1e3
                                                                      : static_cast<double>(rtt.ps);
    path.rtt_ps =
        path.rtt_ps == 0 ? sample : path.rtt_ps + rules_.rtt_gain * (sample - path.rtt_ps);
    path.ecn += rules_.ecn_gain * ((echo.marked ? 1.0 : 0.0) - path.ecn);
    path.updated = now;
  }

  // Counts a packet that is about to leave on `path`, for the flow and for the path.
  void Account(Time now, FlowState& state, Row& row, const Packet& packet) {
    HermesPath& path = row[state.path];
    const double bytes = static_cast<double>(packet.bytes);
    state.rate.Add(bytes, now, rules_.rate_tau);
    path.sent.Add(bytes, now, rules_.rate_tau);
    constexpr uint32_t kMost = 0xffff'ffff - 0xffff;
    state.sent_since_move = std::min(state.sent_since_move, kMost) + packet.data.payload;
    EndEpoch(now, path);
    ++path.packets;
    if (packet.Has(Packet::kRetransmission)) NoteLoss(now, state, row, packet.seq);
    state.next = std::max(state.next, packet.seq + 1);
  }

  // Called when a segment is retransmitted. The original was lost on the path that the flow had
  // then; the loss does not count against a congested path.
  void NoteLoss(Time now, const FlowState& state, Row& row, uint32_t segment) {
    const bool before = segment < state.moved_at && state.previous < row.size();
    HermesPath& path = row[before ? state.previous : state.path];
    if (before) EndEpoch(now, path);
    if (!IsCongested(path)) ++path.retransmitted;
  }

  // An epoch ends with the first packet after its length.
  void EndEpoch(Time now, HermesPath& path) {
    if (now - path.epoch < rules_.epoch) return;
    const double lost = rules_.retransmitted * static_cast<double>(path.packets);
    if (rules_.failures && path.retransmitted > lost) {
      failed_paths_ += now < path.failed_until ? 0 : 1;
      path.failed_until = now + rules_.failed_for;
    }
    path.packets = path.retransmitted = 0;
    path.epoch = now;
  }

  bool IsCongested(const HermesPath& path) const {
    const bool slow = path.rtt_ps > static_cast<double>(rules_.high.ps);
    return slow && (!rules_.has_ecn || path.ecn > rules_.ecn_high);
  }

  PathType TypeOf(const Choice& choice, uint16_t id) const {
    const HermesPath& path = choice.row[id];
    const Time now = choice.view.now();
    if (now < path.failed_until || HasTimedOut(now, choice.dst, id)) return PathType::kFailed;
    if (path.rtt_ps == 0) return PathType::kGray;
    const bool fast = path.rtt_ps < static_cast<double>(rules_.low.ps);
    if (fast && (!rules_.has_ecn || path.ecn < rules_.ecn_high)) return PathType::kGood;
    return IsCongested(path) ? PathType::kCongested : PathType::kGray;
  }

  bool HasTimedOut(Time now, HostId dst, uint16_t path) const {
    if (timeouts_.empty()) return false;
    const auto found = timeouts_.find({dst, path});
    return found != timeouts_.end() && found->second.count >= rules_.timeouts &&
           now - found->second.last < rules_.failed_for;
  }

  uint16_t Choose(const Choice& choice, FlowState& state) {
    const bool is_live =
        std::ranges::find(choice.paths, state.path, &PathChoice::id) != choice.paths.end();
    const PathType type = is_live ? TypeOf(choice, state.path) : PathType::kFailed;
    if (state.timed_out || type == PathType::kFailed) {
      return ChooseAnew(choice, is_live && !state.timed_out ? state.path : kNoPath);
    }
    if (type != PathType::kCongested || !MayMove(choice.view.now(), state)) return state.path;
    for (const PathType wanted : {PathType::kGood, PathType::kGray}) {
      const auto fits = [&](uint16_t id) {
        return TypeOf(choice, id) == wanted && IsBetter(choice.row[id], choice.row[state.path]);
      };
      if (const uint16_t path = LeastSent(choice, fits); path != kNoPath) return path;
    }
    return state.path;
  }

  // Chooses for a flow that is new or whose path has failed. If all paths have failed the flow
  // stays on `own`; otherwise each packet would take another path.
  uint16_t ChooseAnew(const Choice& choice, uint16_t own) {
    for (const PathType wanted : {PathType::kGood, PathType::kGray}) {
      const auto fits = [&](uint16_t id) { return TypeOf(choice, id) == wanted; };
      if (const uint16_t path = LeastSent(choice, fits); path != kNoPath) return path;
    }
    const auto works = [&](uint16_t id) { return TypeOf(choice, id) != PathType::kFailed; };
    const uint16_t path = AnyOf(choice, works);
    if (path != kNoPath || own != kNoPath) return path != kNoPath ? path : own;
    return AnyOf(choice, [](uint16_t) { return true; });
  }

  bool MayMove(Time now, FlowState& state) {
    const bool pays = state.sent_since_move > static_cast<uint64_t>(rules_.sent_above.count) &&
                      state.rate.Bps(now, rules_.rate_tau) < rules_.rate_below * nic_bps_;
    const bool was_idle = rules_.idle_moves && now - state.rate.last() > *rules_.idle_moves;
    if ((!pays && !was_idle) || now - state.tried < rules_.try_every) return false;
    state.tried = now;
    return rules_.move >= 1 || rng_.Uniform() < rules_.move;
  }

  bool IsBetter(const HermesPath& other, const HermesPath& current) const {
    if (other.rtt_ps == 0) return false;  // The other path has no measurement.
    const bool faster = current.rtt_ps - other.rtt_ps > static_cast<double>(rules_.better.ps);
    return faster && (!rules_.has_ecn || current.ecn - other.ecn > rules_.ecn_better);
  }

  template <class Fits>
  void Collect(const Choice& choice, const Fits& fits) {
    candidates_.clear();
    candidates_.reserve(choice.row.size());
    for (const PathChoice& path : choice.paths) {
      if (fits(path.id)) candidates_.push_back(path.id);
    }
  }

  // Returns the path that this host sends least on, among those that fit and have the lowest delay
  // level; kNoPath if none fits.
  template <class Fits>
  uint16_t LeastSent(const Choice& choice, const Fits& fits) {
    Collect(choice, fits);
    if (candidates_.empty()) return kNoPath;
    return LeastOf(candidates_, kNoPort, rng_, [&](uint16_t id) {
      const HermesPath& path = choice.row[id];
      const double level = static_cast<double>(rules_.level.ps);
      return std::pair(level > 0 ? static_cast<int64_t>(path.rtt_ps / level) : 0,
                       path.sent.Bps(choice.view.now(), rules_.rate_tau));
    });
  }

  template <class Fits>
  uint16_t AnyOf(const Choice& choice, const Fits& fits) {
    Collect(choice, fits);
    if (candidates_.empty()) return kNoPath;
    return candidates_[rng_.Below(static_cast<uint32_t>(candidates_.size()))];
  }

  // Probes two random paths and the best of the last round: the power of two choices, with memory.
  void Probe(HostView& view, uint16_t leaf) {
    const HostId to = first_hosts_[leaf];
    const std::span<const PathChoice> paths = view.PathsTo(to);
    if (paths.empty()) return;
    const Row& row = table_.RowTo(view, to);
    const uint16_t best = rules_.probe_best ? BestOf(probed_[leaf], paths, row) : kNoPath;
    const uint32_t n = static_cast<uint32_t>(paths.size());
    const uint32_t first = rng_.Below(n);
    const uint32_t second = n == 1 ? first : (first + 1 + rng_.Below(n - 1)) % n;
    Probed now{paths[first].id, kNoPath, kNoPath};
    if (second != first) now[1] = paths[second].id;
    if (best != now[0] && best != now[1]) now[2] = best;
    for (const uint16_t path : now) {
      if (path != kNoPath) SendProbe(view, to, path);
    }
    probed_[leaf] = now;
  }

  // Returns the best probed path that is live and measured; kNoPath if there is none.
  static uint16_t BestOf(const Probed& probed, std::span<const PathChoice> paths, const Row& row) {
    uint16_t best = kNoPath;
    for (const uint16_t path : probed) {
      const bool is_live = std::ranges::find(paths, path, &PathChoice::id) != paths.end();
      if (!is_live || row[path].rtt_ps == 0) continue;
      if (best == kNoPath || row[path].rtt_ps < row[best].rtt_ps) best = path;
    }
    return best;
  }

  void SendProbe(HostView& view, HostId to, uint16_t path) {
    Packet probe = ProbeTo(to, view.now());
    probe.path = path;
    probe.Set(Packet::kEct);
    probe.SetScheme(HermesHeader{path, HermesHeader::kProbe, false, 0});
    if (view.SendProbe(probe)) ++probes_;
  }

  Packet ProbeTo(HostId to, Time sent) const {
    Packet packet;
    packet.kind = PacketKind::kControl;
    packet.src = id_;
    packet.dst = to;
    packet.sent = sent;
    packet.bytes = kControlPacketBytes;
    packet.tuple_hash = static_cast<uint32_t>(Mix64(uint64_t{id_} << 16 | to));
    return packet;
  }

  const HermesRules rules_;
  const HostId id_;
  Rng rng_;
  double nic_bps_ = 0;
  HermesTable table_;
  // Consecutive timeouts by destination and path; an ACK resets them.
  std::map<std::pair<HostId, uint16_t>, Timeouts> timeouts_;
  std::vector<HostId> first_hosts_;  // By leaf; empty at hosts that send no probes.
  std::vector<Probed> probed_;       // By leaf: the paths probed in the last round.
  std::vector<uint16_t> candidates_;
  int64_t reroutes_ = 0;
  int64_t probes_ = 0;
  int64_t failed_paths_ = 0;
};

}  // namespace

HostPolicyPtr MakeHermesHost(const HermesRules& rules, HostId id, Rng rng) {
  return std::make_unique<HermesHost>(rules, id, rng);
}

HermesTable& HermesTableOf(HostPolicy& policy) { return static_cast<HermesHost&>(policy).table(); }

}  // namespace heddle
