// SPDX-License-Identifier: Apache-2.0
// Compares a host that has several links, lanes, pauses and failures with a model of it, over
// random scenarios.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/random.h"
#include "fabric/host.h"
#include "tests/support/host_bench.h"

namespace heddle::host_model_test {

using namespace host_bench;

// A run is a list of steps. Those of one instant happen in the order of their phases.
struct Step {
  enum class Kind { kRoutes, kDown, kUp, kCount, kFrame, kOffer, kWithdraw, kAck };
  Time at;
  Kind kind;
  size_t link = 0;                   // kDown, kUp, kFrame
  std::vector<PortIndex> hops = {};  // kRoutes: the links that begin a shortest path.
  unsigned classes = 0;              // kFrame
  bool stop = false;                 // kFrame
  Lane lane = Lane::kTransport;      // kOffer, kWithdraw
  uint32_t slot = 0;                 // Likewise.
  int packets = 0;                   // kOffer

  // Between windows; arrivals; timers.
  int phase() const { return kind < Kind::kFrame ? 0 : kind == Kind::kFrame ? 1 : 2; }
};

struct Scenario {
  size_t links = 1;
  BitRate others = 10_Gbps;
  uint8_t background = kBackgroundClass;
  bool at_end = false;
  Duration response{0};
  uint16_t quanta = 0;
  std::map<uint32_t, uint8_t> nics;
  std::vector<Step> steps;  // By time, then phase, then link.
};

// The host as host.h describes it. Everything is an event, handled at its time; who waits is sorted
// by when it began to, and the times in pauses are added up step by step.
class Model {
 public:
  using Kind = Step::Kind;

  explicit Model(const Scenario& scenario) : its_(scenario), nics_(scenario.links) {
    for (PortIndex link = 0; link < scenario.links; ++link) hops_.push_back(link);
  }

  struct Sent {
    Time left;
    std::string name;
    std::optional<DropNotice> notice;  // If it is data.
  };
  struct Flow {
    int left = 0;
    uint32_t sent = 0;
    bool in_round = false;
    Time since;  // Since when it waits; later if that has been counted.
    Duration blocked{0};
  };
  std::vector<Sent> sent(size_t link) const { return nics_[link].sent; }
  PauseTotals pauses(size_t link) const { return nics_[link].pauses; }
  Duration blocked(Lane of, uint32_t slot) { return FlowOf(of, slot).blocked; }
  std::vector<DropNotice> drops;
  std::vector<PauseInterval> log;

  void Run() {
    for (Time next = Next(); next != kNever; next = Next()) {
      AddUp(next - now_);
      now_ = next;
      for (int phase = 0; phase < 3; ++phase) {
        if (phase == 2) EndPauses();
        while (next_ < its_.steps.size() && Due(its_.steps[next_]) == now_ &&
               its_.steps[next_].phase() == phase) {
          Handle(its_.steps[next_++]);
          Log();
        }
      }
      for (size_t link = 0; link < nics_.size();) link = Serve(link) ? 0 : link + 1;
    }
  }

 private:
  // A flow's place in the round: since when, before or after what happened at that instant.
  struct Turn {
    Time at;
    bool behind;
    int number;
    uint32_t slot;
    friend auto operator<=>(const Turn&, const Turn&) = default;
  };
  struct LaneState {
    std::set<Turn> round;
    bool paused = false;
    Time paused_since;
    Time until = kNever;
    bool MaySend() const { return !paused && !round.empty(); }
  };
  struct Open {
    Time start = kNever;
    Time blocked = kNever;
  };
  struct Nic {
    std::array<LaneState, kLanes> lanes;
    size_t served = 0;
    Time free;
    bool down = false;
    Time down_at{-kNever.ps};
    std::vector<Sent> sent;
    PauseTotals pauses;
    std::array<Open, kClasses> open;
  };

  Time Due(const Step& step) const {
    return step.kind == Kind::kFrame ? step.at + its_.response : step.at;
  }
  uint8_t ClassOf(size_t lane) const { return lane == 0 ? kDataClass : its_.background; }
  Flow& FlowOf(Lane of, uint32_t slot) { return flows_[{of, slot}]; }
  BitRate RateOf(size_t link) const { return link == 0 ? 10_Gbps : its_.others; }

  Time Next() const {
    Time next = next_ < its_.steps.size() ? Due(its_.steps[next_]) : kNever;
    for (const Nic& nic : nics_) {
      for (const LaneState& lane : nic.lanes) {
        if (lane.paused) next = std::min(next, lane.until);
        if (lane.MaySend()) next = std::min(next, std::max(now_, nic.free));
      }
    }
    return next;
  }

  void AddUp(Duration time) {
    for (Nic& nic : nics_) {
      const auto& [first, second] = nic.lanes;
      const auto is_blocked = [](const LaneState& l) { return l.paused && !l.round.empty(); };
      if (first.paused || second.paused) nic.pauses.paused += time;
      if (is_blocked(first) || is_blocked(second)) nic.pauses.blocked += time;
    }
  }

  void Handle(const Step& step) {
    Nic& nic = nics_[step.link];
    switch (step.kind) {
      case Kind::kRoutes:
        return Move(step.hops);
      case Kind::kDown:
        nic.down = true;
        nic.down_at = now_;
        nic.free = std::min(nic.free, now_);
        for (const Sent& packet : nic.sent) {
          if (packet.left + kLink >= now_ && packet.notice) {
            drops.push_back({packet.notice->flow, packet.notice->tx_id, now_});
          }
        }
        std::erase_if(nic.sent, [&](const Sent& packet) { return packet.left + kLink >= now_; });
        for (size_t lane = 0; lane < kLanes; ++lane) Resume(nic, lane);
        return;
      case Kind::kUp:
        if (nic.down) nic.free = std::min(nic.free, now_);
        nic.down = false;
        return;
      case Kind::kCount:
        for (Nic& each : nics_) {
          for (size_t lane = 0; lane < kLanes; ++lane) CountBlocked(each, lane);
        }
        return;
      case Kind::kFrame:
        ++(step.stop ? nic.pauses.pauses : nic.pauses.resumes);
        if (step.at < nic.down_at) return;  // Its sender has failed since it arrived.
        for (size_t lane = 0; lane < kLanes; ++lane) {
          if ((step.classes >> ClassOf(lane) & 1) != 0) Pause(nic, step, lane);
        }
        return;
      case Kind::kOffer: {
        Flow& flow = FlowOf(step.lane, step.slot);
        flow.left += step.packets;
        if (!std::exchange(flow.in_round, true)) Join(step.lane, step.slot, false);
        return;
      }
      case Kind::kWithdraw:
        FlowOf(step.lane, step.slot).left = 0;
        return;
      case Kind::kAck:
        Send(nics_[HashedLink(0)], 125, {.left = {}, .name = "ack", .notice = {}});
    }
  }

  void Pause(Nic& nic, const Step& frame, size_t lane) {
    if (!frame.stop) return Resume(nic, lane);
    LaneState& its = nic.lanes[lane];
    if (!std::exchange(its.paused, true)) its.paused_since = now_;
    const size_t link = static_cast<size_t>(&nic - nics_.data());
    // A quantum is the time of 512 bits.
    if (its_.quanta != 0)
      its.until = now_ + 51'200_ps * its_.quanta * (10'000'000'000 / RateOf(link).bps);
  }
  void Resume(Nic& nic, size_t lane) {
    CountBlocked(nic, lane);
    nic.lanes[lane].paused = false;
    nic.lanes[lane].until = kNever;
  }
  void EndPauses() {
    for (Nic& nic : nics_) {
      for (size_t lane = 0; lane < kLanes; ++lane) {
        if (nic.lanes[lane].paused && nic.lanes[lane].until == now_) Resume(nic, lane);
      }
    }
    Log();
  }
  void CountBlocked(Nic& nic, size_t lane) {
    LaneState& its = nic.lanes[lane];
    if (!its.paused) return;
    for (const Turn& turn : its.round) {
      Flow& flow = FlowOf(static_cast<Lane>(lane), turn.slot);
      flow.blocked += now_ - std::max(flow.since, its.paused_since);
      flow.since = now_;
    }
  }

  PortIndex HashedLink(uint32_t hash) const { return hops_[Mix64(hash) % hops_.size()]; }
  PortIndex LinkFor(Lane of, uint32_t slot) const {
    const auto asked = its_.nics.find(slot);
    if (of == Lane::kBackground || asked == its_.nics.end()) {
      return HashedLink(Actor::HashOf(slot));
    }
    if (asked->second == kFreestNic) return FreestLink();
    const bool is_one = std::ranges::find(hops_, asked->second) != hops_.end();
    return is_one ? asked->second : HashedLink(Actor::HashOf(slot));
  }
  PortIndex FreestLink() const {
    std::optional<std::tuple<bool, size_t, Time, PortIndex>> best;
    for (size_t turn = 1; turn <= nics_.size(); ++turn) {
      const PortIndex link = static_cast<PortIndex>((last_ + turn) % nics_.size());
      if (std::ranges::find(hops_, link) == hops_.end()) continue;
      const LaneState& lane = nics_[link].lanes[0];
      const std::tuple rank(lane.paused, lane.round.size(), std::max(nics_[link].free, now_));
      if (best && rank >= std::tuple(std::get<0>(*best), std::get<1>(*best), std::get<2>(*best))) {
        continue;
      }
      best = std::tuple_cat(rank, std::tuple(link));
    }
    return std::get<3>(*best);
  }

  void Join(Lane of, uint32_t slot, bool behind) {
    Nic& nic = nics_[LinkFor(of, slot)];
    Flow& flow = FlowOf(of, slot);
    flow.since = now_;
    // With joins at the end, a transport flow whose packet is leaving waits for that first.
    const auto leaving = leaving_.find({of, slot});
    const bool waits = its_.at_end && of == Lane::kTransport && leaving != leaving_.end() &&
                       leaving->second > now_;
    nic.lanes[static_cast<size_t>(of)].round.insert(
        {waits ? leaving->second : now_, waits || behind, ++number_, slot});
  }

  void Move(const std::vector<PortIndex>& hops) {
    hops_ = hops;
    for (size_t lane = 0; lane < kLanes; ++lane) {
      std::vector<uint32_t> moving;
      for (Nic& nic : nics_) {
        CountBlocked(nic, lane);
        for (const Turn& turn : nic.lanes[lane].round) moving.push_back(turn.slot);
        nic.lanes[lane].round.clear();
      }
      for (const uint32_t slot : moving) Join(static_cast<Lane>(lane), slot, false);
    }
  }

  // Returns true if the link had its turn.
  bool Serve(size_t link) {
    Nic& nic = nics_[link];
    const bool first = nic.lanes[0].MaySend();
    const bool second = nic.lanes[1].MaySend();
    if (nic.free > now_ || !(first || second)) return false;
    nic.served = first && second ? 1 - nic.served : second ? 1 : 0;
    const Lane of = static_cast<Lane>(nic.served);
    std::set<Turn>& round = nic.lanes[nic.served].round;
    const uint32_t slot = round.begin()->slot;
    round.erase(round.begin());
    Flow& flow = FlowOf(of, slot);
    if (flow.left == 0) {
      flow.in_round = false;
      return true;
    }
    const bool data = of == Lane::kTransport;
    const std::string name(1, static_cast<char>((data ? 'A' : 'a') + slot));
    const DropNotice notice{slot, flow.sent++, now_};
    Send(nic, 1'250,
         {.left = {}, .name = name, .notice = data ? std::optional(notice) : std::nullopt});
    last_ = link;
    leaving_[{of, slot}] = nic.free;
    flow.in_round = --flow.left > 0;
    if (flow.in_round) Join(of, slot, true);
    return true;
  }

  void Send(Nic& nic, int64_t bytes, Sent packet) {
    const size_t link = static_cast<size_t>(&nic - nics_.data());
    nic.free = std::max(nic.free, now_) + SerializationDelay(Bytes{bytes}, RateOf(link));
    packet.left = nic.free;
    if (!nic.down) return nic.sent.push_back(packet);
    if (packet.notice) drops.push_back(*packet.notice);
  }

  // Both lanes may have one class.
  void Log() {
    for (PortIndex link = 0; link < nics_.size(); ++link) {
      for (uint8_t cls = 0; cls < kClasses; ++cls) {
        bool paused = false;
        bool waits = false;
        for (size_t lane = 0; lane < kLanes; ++lane) {
          const LaneState& its = nics_[link].lanes[lane];
          if (ClassOf(lane) != cls || !its.paused) continue;
          paused = true;
          waits = waits || !its.round.empty();
        }
        Open& open = nics_[link].open[cls];
        if (paused && open.start == kNever) open.start = now_;
        if (waits) open.blocked = std::min(open.blocked, now_);
        if (paused || open.start == kNever) continue;
        log.push_back({open.start, now_, now_ - std::min(open.blocked, now_), link, cls});
        open = {};
      }
    }
  }

  const Scenario its_;
  std::vector<Nic> nics_;
  std::vector<PortIndex> hops_;
  std::map<std::pair<Lane, uint32_t>, Flow> flows_;
  std::map<std::pair<Lane, uint32_t>, Time> leaving_;  // When a flow's last packet leaves.
  size_t last_ = 0;  // The link that the last packet of a flow took.
  size_t next_ = 0;
  int number_ = 0;
  Time now_;
};

// Everything that a host may meet, on a grid of 100 ns so that much happens at one instant. While
// flows join at the end of their packets, links and routes stay as they are.
Scenario RandomScenario(uint64_t seed) {
  Rng rng = Rng::Stream(seed, "host", 0);
  Scenario scenario;
  scenario.links = 1 + rng.Below(3);
  scenario.others = rng.Below(2) == 0 ? 10_Gbps : 5_Gbps;
  scenario.background = rng.Below(3) == 0 ? kDataClass : kBackgroundClass;
  scenario.at_end = rng.Below(3) == 0;
  const bool fails = !scenario.at_end && rng.Below(2) == 0;
  if (rng.Below(2) == 0) scenario.response = 700_ns;
  if (rng.Below(2) == 0) scenario.quanta = static_cast<uint16_t>(1 + rng.Below(120));
  for (uint32_t slot = 0; slot < 6; ++slot) {
    const uint32_t asks = rng.Below(6);
    if (asks < 3) scenario.nics[slot] = static_cast<uint8_t>(asks);
    if (asks == 3 && !scenario.at_end) scenario.nics[slot] = kFreestNic;
  }
  std::set<std::pair<Time, size_t>> frames;  // One at a time on a link.
  for (int i = 0; i < 80; ++i) {
    Step step{.at = At(1_us + 100_ns * int64_t{rng.Below(600)}), .kind = Step::Kind::kOffer};
    step.link = rng.Below(static_cast<uint32_t>(scenario.links));
    const uint32_t kind = rng.Below(fails ? 12 : 10);
    if (kind < 5) {
      step.lane = rng.Below(3) == 0 ? Lane::kBackground : Lane::kTransport;
      step.slot = rng.Below(step.lane == Lane::kTransport ? 6 : 2);
      step.packets = static_cast<int>(1 + rng.Below(4));
    } else if (kind < 8) {
      step.kind = Step::Kind::kFrame;
      step.classes =
          rng.Below(3) == 0 ? 0xff : Bit(rng.Below(2) == 0 ? kDataClass : kBackgroundClass);
      step.stop = rng.Below(2) == 0;
      if (!frames.emplace(step.at, step.link).second) continue;
    } else if (kind == 8) {
      step.kind = rng.Below(2) == 0 ? Step::Kind::kAck : Step::Kind::kCount;
    } else if (kind == 9) {
      step.kind = Step::Kind::kWithdraw;
      step.slot = rng.Below(6);
    } else if (kind == 10) {
      step.kind = rng.Below(2) == 0 ? Step::Kind::kDown : Step::Kind::kUp;
    } else {
      step.kind = Step::Kind::kRoutes;
      for (PortIndex link = 0; link < scenario.links; ++link) {
        if (rng.Below(2) == 0) step.hops.push_back(link);
      }
      if (step.hops.empty()) step.hops = {static_cast<PortIndex>(step.link)};
    }
    scenario.steps.push_back(step);
  }
  for (size_t link = 0; link < scenario.links; ++link) {
    scenario.steps.push_back(
        {.at = At(200_us), .kind = Step::Kind::kFrame, .link = link, .classes = 0xff});
  }
  std::ranges::stable_sort(scenario.steps, {}, [&](const Step& s) {
    const Duration later = s.kind == Step::Kind::kFrame ? scenario.response : Duration{0};
    return std::tuple(s.at + later, s.phase(), s.phase() == 1 ? s.link : 0);
  });
  return scenario;
}

// Plays the scenario to a host.
void Play(const Scenario& scenario, Bench& bench) {
  Host& host = bench.host();
  host.SetPauseResponse(scenario.response, scenario.quanta);
  if (scenario.at_end) host.LetFlowsJoinAtEnd();
  bench.transport().nics = scenario.nics;
  Host::FirstHops all{{0, 0}, {{}}};
  for (PortIndex link = 0; link < scenario.links; ++link) all.sets[0].push_back(link);
  host.SetFirstHops(all, At(0_us));
  uint64_t key = 0;
  std::map<PortIndex, bool> down;
  for (const Step& step : scenario.steps) {
    const PortIndex link = static_cast<PortIndex>(step.link);
    Actor& actor = step.lane == Lane::kTransport ? bench.transport() : bench.background();
    switch (step.kind) {
      case Step::Kind::kRoutes:
        bench.Do(step.at, [&] { host.SetFirstHops({{0, 0}, {step.hops}}, step.at); });
        break;
      case Step::Kind::kDown:
        bench.Do(step.at, [&, link] {
          host.TakeDown(link, step.at);
          host.VoidPauses(link, step.at);
        });
        break;
      case Step::Kind::kUp:
        bench.Do(step.at, [&, link] { host.BringUp(link, step.at); });
        break;
      case Step::Kind::kCount:
        bench.Do(step.at, [&] { host.CountPausesUnderWay(step.at); });
        break;
      case Step::Kind::kFrame:
        bench.ArrivePause(step.at, step.classes, step.stop, step.link);
        break;
      case Step::Kind::kOffer:
        actor.Schedule(step.at, key++, [&] { actor.Offer(step.slot, step.packets); });
        break;
      case Step::Kind::kWithdraw:
        actor.Schedule(step.at, key++, [&] { actor.Withdraw(step.slot); });
        break;
      case Step::Kind::kAck:
        actor.Schedule(step.at, key++, [&] { actor.SendAck(); });
    }
  }
  bench.Run();
}

TEST(HostTest, DoesWhatItsModelDoes) {
  size_t losses = 0;
  Duration blocked{0};
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const Scenario scenario = RandomScenario(seed);
    Model model(scenario);
    model.Run();
    Bench bench(scenario.links, scenario.others, scenario.background);
    PauseLog& log = bench.host().LogPauses();
    Play(scenario, bench);
    const auto order = [](const PauseInterval& p) { return std::tuple(p.end, p.port, p.cls); };
    const auto text = [&](std::vector<PauseInterval> pauses) {
      std::ranges::stable_sort(pauses, {}, order);
      std::string all;
      for (const PauseInterval& p : pauses) {
        all += fmt::format("{} to {}, {} ps, {} {}\n", p.start.ps, p.end.ps, p.blocked.ps, p.port,
                           p.cls);
      }
      return all;
    };
    for (size_t link = 0; link < scenario.links; ++link) {
      std::vector<std::string> sent;
      for (const Model::Sent& packet : model.sent(link)) {
        sent.push_back(Microsecond(packet.left) + " " + packet.name);
      }
      ASSERT_EQ(bench.Left(link), sent) << "link " << link;
      for (const Packet& packet : bench.received(link)) {
        const bool is_data = packet.kind == PacketKind::kData;
        const bool is_ack = packet.kind == PacketKind::kAck;
        ASSERT_EQ(packet.priority, is_data  ? kDataClass
                                   : is_ack ? kControlClass
                                            : scenario.background);
      }
      const PauseTotals totals = bench.host().PausesUntil(static_cast<PortIndex>(link), At(300_us));
      const PauseTotals expected = model.pauses(link);
      ASSERT_EQ(totals.paused, expected.paused);
      ASSERT_EQ(totals.blocked, expected.blocked);
      ASSERT_EQ(totals.pauses, expected.pauses);
      ASSERT_EQ(totals.resumes, expected.resumes);
    }
    ASSERT_EQ(text(log.ended()), text(model.log));
    const std::vector<DropNotice>& drops = bench.transport().drops;
    ASSERT_EQ(drops.size(), model.drops.size());
    for (size_t i = 0; i < drops.size(); ++i) {
      ASSERT_EQ(std::tuple(drops[i].flow, drops[i].tx_id, drops[i].at),
                std::tuple(model.drops[i].flow, model.drops[i].tx_id, model.drops[i].at));
    }
    for (uint32_t slot = 0; slot < 6; ++slot) {
      ASSERT_EQ(bench.transport().blocked(slot), model.blocked(Lane::kTransport, slot)) << slot;
      ASSERT_EQ(bench.background().blocked(slot), model.blocked(Lane::kBackground, slot)) << slot;
      blocked += bench.transport().blocked(slot);
    }
    losses += drops.size();
  }
  EXPECT_GT(losses, 500u);
  EXPECT_GT(blocked, 1_ms);
}

}  // namespace heddle::host_model_test
