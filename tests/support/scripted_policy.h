// SPDX-License-Identifier: Apache-2.0
// A switch policy for tests. It drops, holds back, marks or watches the packets that its rules
// match, or lets others overtake them. Every other packet leaves through the first candidate.
//
//   plan.switch_policy = Scripted({DropAt(0, Data(1, 9)).Times(3)});  // Switch 0, flow 1, segment
//   9

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/packet.h"
#include "core/units.h"
#include "fabric/switch_policy.h"

namespace heddle {

using Match = std::function<bool(const Packet&)>;

// Every data packet, or ACK, of a flow; those that carry, or ask for, segment `seq`.
Match AllData(FlowId flow);
Match AllAcks(FlowId flow);
Match Data(FlowId flow, uint32_t seq);
Match Ack(FlowId flow, uint32_t seq);
Match Anything();
Match Anything(PacketKind kind);

// True with probability `p`, from a random stream of its own.
Match WithProbability(double p, uint64_t seed, Match match);

// A rule acts on the matching packets number first, ..., first + count - 1 at one switch.
struct Rule {
  enum class Act { kDrop, kHold, kPass, kMark, kWatch };
  using Watcher = std::function<void(const SwitchView&, const Packet&)>;

  SwitchId at = 0;
  Match match;
  Act act = Act::kDrop;
  int64_t first = 0;
  int64_t count = INT64_MAX;
  Duration hold{0};
  int64_t overtaken_by = 0;  // Counts packets of the same flow and kind.
  Watcher watcher = nullptr;

  Rule Times(int64_t times) const;
  Rule Skip(int64_t packets) const;
};

Rule DropAt(SwitchId at, Match match);
// Sends the packet into its port `hold` later.
Rule HoldAt(SwitchId at, Match match, Duration hold);
// Sends the packet right behind the `m`-th later packet of its flow and kind. It holds one packet
// at a time.
Rule LetPassAt(SwitchId at, Match match, int64_t m);
Rule MarkAt(SwitchId at, Match match);
// Shows the packet to `watcher`. The packet may match other rules too.
Rule WatchAt(SwitchId at, Match match, Rule::Watcher watcher);

class ScriptedPolicy final : public SwitchPolicy {
 public:
  explicit ScriptedPolicy(std::vector<Rule> rules);

  Packets asked_about() const override { return Packets::kEvery; }
  Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex in_port,
                    const Candidates& candidates) override;
  void OnEnqueue(SwitchView& view, Packet& packet, PortIndex port) override;
  void OnTimer(SwitchView& view, uint32_t id) override;
  size_t StateBytes() const override { return sizeof(*this); }

 private:
  struct Scripted {
    Rule rule;
    int64_t seen = 0;
  };
  struct Held {
    Packet packet;
    PortIndex in_port;
    PortIndex port;
    int64_t overtakers_left;  // 0: released by a timer.
  };

  Scripted* FirstMatch(SwitchView& view, const Packet& packet);
  bool ReleaseBehind(SwitchView& view, const Packet& packet, PortIndex port);

  std::vector<Scripted> rules_;
  std::vector<Held> held_;  // By timer id; never shrinks.
  std::vector<uint32_t> waiting_;
  bool mark_next_ = false;
};

// Set NetworkPlan::switch_policy to the result: each switch gets the rules that name it.
std::function<SwitchPolicyPtr(SwitchId)> Scripted(std::vector<Rule> rules);

}  // namespace heddle
