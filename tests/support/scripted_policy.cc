// SPDX-License-Identifier: Apache-2.0

#include "tests/support/scripted_policy.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "fabric/switch.h"

namespace heddle {

Match AllData(FlowId flow) {
  return [flow](const Packet& p) { return p.kind == PacketKind::kData && p.flow == flow; };
}

Match AllAcks(FlowId flow) {
  return [flow](const Packet& p) { return p.kind == PacketKind::kAck && p.flow == flow; };
}

Match Data(FlowId flow, uint32_t seq) {
  return [flow, seq](const Packet& p) {
    return p.kind == PacketKind::kData && p.flow == flow && p.seq == seq;
  };
}

Match Ack(FlowId flow, uint32_t seq) {
  return [flow, seq](const Packet& p) {
    return p.kind == PacketKind::kAck && p.flow == flow && p.seq == seq;
  };
}

Match Anything() {
  return [](const Packet&) { return true; };
}

Match Anything(PacketKind kind) {
  return [kind](const Packet& p) { return p.kind == kind; };
}

Match WithProbability(double p, uint64_t seed, Match match) {
  auto rng = std::make_shared<Rng>(Rng::Stream(seed, "scripted", 0));
  return [p, rng, match = std::move(match)](const Packet& packet) {
    return match(packet) && rng->Uniform() < p;
  };
}

Rule Rule::Times(int64_t times) const {
  Rule rule = *this;
  rule.count = times;
  return rule;
}

Rule Rule::Skip(int64_t packets) const {
  Rule rule = *this;
  rule.first = packets;
  return rule;
}

Rule DropAt(SwitchId at, Match match) { return {.at = at, .match = std::move(match)}; }

Rule HoldAt(SwitchId at, Match match, Duration hold) {
  return {.at = at, .match = std::move(match), .act = Rule::Act::kHold, .hold = hold};
}

Rule LetPassAt(SwitchId at, Match match, int64_t m) {
  return {.at = at, .match = std::move(match), .act = Rule::Act::kPass, .overtaken_by = m};
}

Rule MarkAt(SwitchId at, Match match) {
  return {.at = at, .match = std::move(match), .act = Rule::Act::kMark};
}

Rule WatchAt(SwitchId at, Match match, Rule::Watcher watcher) {
  return {
      .at = at, .match = std::move(match), .act = Rule::Act::kWatch, .watcher = std::move(watcher)};
}

ScriptedPolicy::ScriptedPolicy(std::vector<Rule> rules) {
  for (Rule& rule : rules) rules_.push_back({std::move(rule)});
}

ScriptedPolicy::Scripted* ScriptedPolicy::FirstMatch(SwitchView& view, const Packet& packet) {
  Scripted* found = nullptr;
  for (Scripted& s : rules_) {
    if (!s.rule.match(packet)) continue;
    const int64_t number = s.seen++ - s.rule.first;
    if (number < 0 || number >= s.rule.count) continue;
    if (s.rule.act == Rule::Act::kWatch) {
      s.rule.watcher(view, packet);
    } else if (found == nullptr) {
      found = &s;
    }
  }
  return found;
}

// Returns true if it has sent `packet` already, with a held packet behind it.
bool ScriptedPolicy::ReleaseBehind(SwitchView& view, const Packet& packet, PortIndex port) {
  for (const uint32_t id : waiting_) {
    Held& held = held_[id];
    if (held.packet.flow != packet.flow || held.packet.kind != packet.kind) continue;
    if (--held.overtakers_left > 0) continue;
    view.SendControl(packet, port);
    view.Release(held.packet, held.in_port, held.port);
    std::erase(waiting_, id);
    return true;
  }
  return false;
}

Decision ScriptedPolicy::OnPacket(SwitchView& view, const Packet& packet, PortIndex in_port,
                                  const Candidates& candidates) {
  const PortIndex port = candidates.ports.front();
  const Scripted* s = FirstMatch(view, packet);
  if (s == nullptr) {
    return ReleaseBehind(view, packet, port) ? Decision::Consume() : Decision::Forward(port);
  }
  const uint32_t id = static_cast<uint32_t>(held_.size());
  switch (s->rule.act) {
    case Rule::Act::kDrop:
      return Decision::Discard();
    case Rule::Act::kHold:
      if (!view.Hold(packet, in_port, port)) return Decision::Forward(port);
      held_.push_back({packet, in_port, port, 0});
      view.SetTimer(view.now() + s->rule.hold, id);
      return Decision::Hold();
    case Rule::Act::kPass:
      if (s->rule.overtaken_by == 0 || !view.Hold(packet, in_port, port)) break;
      held_.push_back({packet, in_port, port, s->rule.overtaken_by});
      waiting_.push_back(id);
      return Decision::Hold();
    case Rule::Act::kMark:
      mark_next_ = true;
      break;
    case Rule::Act::kWatch:
      break;
  }
  return Decision::Forward(port);
}

void ScriptedPolicy::OnEnqueue(SwitchView& /*view*/, Packet& packet, PortIndex /*port*/) {
  if (std::exchange(mark_next_, false)) packet.Set(Packet::kCe);
}

void ScriptedPolicy::OnTimer(SwitchView& view, uint32_t id) {
  view.Release(held_[id].packet, held_[id].in_port, held_[id].port);
}

std::function<SwitchPolicyPtr(SwitchId)> Scripted(std::vector<Rule> rules) {
  return [rules = std::move(rules)](SwitchId id) {
    std::vector<Rule> mine;
    std::ranges::copy_if(rules, std::back_inserter(mine),
                         [id](const Rule& rule) { return rule.at == id; });
    return std::make_unique<ScriptedPolicy>(std::move(mine));
  };
}

}  // namespace heddle
