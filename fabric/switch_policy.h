// SPDX-License-Identifier: Apache-2.0
// The question a switch asks its load balancer: which live next hop does this packet take?
//
// A policy sees its own switch and the packet, and nothing else. What it remembers lives in tables
// of fixed size: one object runs in a unit test, a microbenchmark and a fabric. Hooks allocate
// nothing, and draw random numbers only from the stream they were given.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/packet.h"
#include "core/random.h"
#include "core/units.h"
#include "fabric/fabric_map.h"
#include "fabric/gauge.h"
#include "fabric/policy_ptr.h"
#include "fabric/shared_memory.h"

namespace heddle {

class Switch;

// Whether `port` is one of `ports`, which ascend. They seldom have gaps, and a search would guess
// wrongly at every other step.
inline bool IsAmong(std::span<const PortIndex> ports, PortIndex port) {
  if (ports.empty()) return false;
  if (ports.back() - ports.front() != static_cast<int>(ports.size()) - 1) [[unlikely]]
    return std::ranges::binary_search(ports, port);
  return port >= ports.front() && port <= ports.back();
}

// The live next hops towards a destination, in ascending order of port; at least one.
struct Candidates {
  uint32_t id;       // Small and stable: destinations with the same id share their next hops.
  uint32_t version;  // Changes whenever `ports` does.
  std::span<const PortIndex> ports;
  // There is one port, of several uplinks that the switch has: the others don't lead there, now.
  bool is_last_uplink = false;

  bool Has(PortIndex port) const { return IsAmong(ports, port); }
  // To choose, or to follow a flow until there is a choice again.
  bool matters() const { return ports.size() > 1 || is_last_uplink; }
};

// What routing knows of a next hop towards a leaf.
struct NextHop {
  // Of the paths that begin there, the sum of the least rates along them, in bits per second.
  int64_t capacity;
  // Next hops are alike if their paths are: link by link the same rates, and the same switches
  // feeding them. Such have the same number, counted from 0.
  uint16_t kind;

  friend auto operator<=>(const NextHop&, const NextHop&) = default;
};

// What becomes of a packet.
struct Decision {
  enum class Kind : uint8_t {
    kForward,  // It leaves through `port`.
    kConsume,  // It was for this switch's policy and ends here.
    kDiscard,  // It is dropped, and counted by `reason`.
    kHold,     // The policy keeps a copy, which Hold() has found room for, to Release() it later.
  };
  Kind kind;
  DropReason reason;
  PortIndex port;

  static Decision Forward(PortIndex port) { return {Kind::kForward, DropReason::kPolicy, port}; }
  static Decision Consume() { return {Kind::kConsume, DropReason::kPolicy, 0}; }
  static Decision Discard(DropReason reason = DropReason::kPolicy) {
    return {Kind::kDiscard, reason, 0};
  }
  static Decision Hold() { return {Kind::kHold, DropReason::kPolicy, 0}; }
};

// A policy's view of its switch, and what it may ask the switch to do.
class SwitchView {
 public:
  explicit SwitchView(Switch& self) : self_(self) {}

  Time now() const;
  SwitchId id() const;
  int tier() const;  // 0: leaf, growing towards the core.

  size_t ports() const;
  bool FacesHost(PortIndex port) const;
  BitRate Rate(PortIndex port) const;
  Duration TimeToSend(PortIndex port, Bytes size) const;  // At that rate.

  // The wait of a packet enqueued now, and the bytes not yet sent: those queued plus the unsent
  // rest of the packet on the wire, counted as they occupy the wire.
  Duration QueueingDelay(PortIndex port) const;
  Bytes Unsent(PortIndex port) const;
  // Of these, what goes before a packet of class `priority` if lower classes go first.
  Bytes UnsentBefore(PortIndex port, uint8_t priority) const;

  // What `packet` occupies of the wire: its bytes as buffered, preamble and gap.
  Bytes WireBytes(const Packet& packet) const;

  // Whether packets of class `priority` must wait there until the link's far end says otherwise
  // (PFC). The delay above does not know for how long.
  bool IsPaused(PortIndex port, uint8_t priority) const;

  // The packets that have not left yet, the one on the wire included.
  int64_t QueuedPackets(PortIndex port) const;

  // Whether `host` is attached to this switch, and the next hops towards it.
  bool IsAttached(HostId host) const;
  Candidates CandidatesTo(HostId host) const;

  // What is known beforehand of the way through `port` to a leaf, and of what `port` can hold.
  // Slow: for Attach().
  std::optional<Way> WayTo(PortIndex port, uint16_t leaf) const;
  Bytes BufferOf(PortIndex port) const;

  // Switches that have hosts are numbered from 0 to leaves() - 1; the one that `host` is on.
  size_t leaves() const;
  uint16_t LeafOf(HostId host) const;
  size_t hosts() const;  // In the whole fabric, numbered from 0.

  // The ports towards the core, in ascending order, and the one of them that a path id names here.
  // There are some: a leaf of a single-switch fabric has no choice to make.
  std::span<const PortIndex> Uplinks() const;
  PortIndex UplinkOf(uint16_t path) const;

  // What is known of the next hops towards `host`, which is not attached: one for each candidate,
  // in their order. For policies that say so in wants_next_hops().
  std::span<const NextHop> NextHopsTo(HostId host) const;

  // Sends a packet made by the policy out of `port`. It travels as any other, and may be dropped.
  void SendControl(const Packet& packet, PortIndex port);

  // The same in the class of data, behind what waits there.
  void SendAsData(const Packet& packet, PortIndex port);

  // Takes room in the switch's memory for a packet that came through `in_port` and is to leave
  // through `port`. False: there is none, and the packet cannot be held.
  bool Hold(const Packet& packet, PortIndex in_port, PortIndex port);
  // Sends a packet that was held so. It goes on its way as if it had come now.
  void Release(const Packet& packet, PortIndex in_port, PortIndex port);

  // OnTimer(id) is called at `at`, not before now. Timers of one instant fire by ascending id.
  void SetTimer(Time at, uint32_t id);

 private:
  [[noreturn]] static void RefuseNextHops();

  Switch& self_;
};

class SwitchPolicy {
 public:
  // What a switch does for its policy, besides asking it about packets that have a choice; the rest
  // costs nothing. A policy has a hook if it overrides the function of that name, or says so below.
  enum Hook : uint32_t {
    kEveryPacket = 1,  // Packets::kEvery
    kTransmit = 2,
    kEnqueue = 4,
    kDropped = 8,
    kNextHops = 16,  // wants_next_hops()
    kPrefetch = 32,
    kLastUplink = 64,  // Packets::kWithLastUplink
  };

  // The hooks of a policy whose class is T. PolicyPtr looks once, when the policy has been made.
  template <class T>
  static uint32_t HooksOf(const T& policy);

  // Whether a policy with these hooks is asked about a packet with these next hops.
  static bool AsksAbout(uint32_t hooks, const Candidates& candidates) {
    return candidates.ports.size() > 1 || (hooks & kEveryPacket) != 0 ||
           (candidates.is_last_uplink && (hooks & kLastUplink) != 0);
  }

  virtual ~SwitchPolicy() = default;

  // Which packets OnPacket() is asked about.
  enum class Packets : uint32_t {
    // Those with more than one candidate.
    kWithChoice = 0,
    // Also those with Candidates::is_last_uplink, for policies that time or count a flow's packets.
    kWithLastUplink = kLastUplink,
    // All.
    kEvery = kEveryPacket,
  };
  virtual Packets asked_about() const { return Packets::kWithChoice; }

  // Whether routing works out what next hops are like, again after every change.
  virtual bool wants_next_hops() const { return false; }

  // Hooks that the class overrides and this policy, with its settings, has no use for: they are not
  // called.
  virtual uint32_t unused_hooks() const { return 0; }

  // Before the first packet; the only hook that may allocate.
  virtual void Attach(SwitchView& /*view*/) {}

  // Decides about a packet that came in through `in_port`. Called with view.now() never decreasing.
  virtual Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex in_port,
                            const Candidates& candidates) = 0;

  // Before OnPacket() of the packet before it, if both come within one window: may ask for the
  // memory in which it will look for the packet's flow, and nothing else.
  virtual void Prefetch(const Packet& /*packet*/) const {}

  // `port` has accepted `packet`, which may be rewritten: its path, entropy, scheme header and CE
  // mark.
  virtual void OnEnqueue(SwitchView& /*view*/, Packet& /*packet*/, PortIndex /*port*/) {}

  // `port` has dropped `packet`, because its buffer is full.
  virtual void OnDropped(SwitchView& /*view*/, const Packet& /*packet*/, PortIndex /*port*/) {}

  // The first bit of `packet` leaves through `port` at view.now(): for rate estimators and in-band
  // telemetry, which may rewrite its scheme header and CE mark. In the order of transmission.
  virtual void OnTransmit(SwitchView& /*view*/, Packet& /*packet*/, PortIndex /*port*/) {}

  virtual void OnTimer(SwitchView& /*view*/, uint32_t /*id*/) {}

  // Bytes of tables and registers that this switch needs.
  virtual size_t StateBytes() const = 0;

  // What the policy has counted, by name.
  struct Counter {
    std::string_view name;
    int64_t value;
  };
  virtual std::vector<Counter> Counters() const { return {}; }

  // What it shows of its state at `now`, always the same names in the same order, but for what has
  // not come into being yet.
  virtual std::vector<Gauge> Gauges(Time /*now*/) const { return {}; }

 protected:
  // Likewise, for the hooks that classes from T up to Base override, without Base.
  template <class Base, class T>
  static uint32_t HooksBelow(const T& policy);
};

using SwitchPolicyPtr = PolicyPtr<SwitchPolicy>;

HEDDLE_DEFINE_OVERRIDES(SwitchPolicy, OnTransmit)
HEDDLE_DEFINE_OVERRIDES(SwitchPolicy, OnEnqueue)
HEDDLE_DEFINE_OVERRIDES(SwitchPolicy, OnDropped)
HEDDLE_DEFINE_OVERRIDES(SwitchPolicy, Prefetch)

template <class T, class Base>
constexpr uint32_t OverriddenSwitchHooks() {
  return (OverridesOnTransmit<T, Base>() ? uint32_t{SwitchPolicy::kTransmit} : 0) |
         (OverridesOnEnqueue<T, Base>() ? uint32_t{SwitchPolicy::kEnqueue} : 0) |
         (OverridesOnDropped<T, Base>() ? uint32_t{SwitchPolicy::kDropped} : 0) |
         (OverridesPrefetch<T, Base>() ? uint32_t{SwitchPolicy::kPrefetch} : 0);
}

template <class Base, class T>
uint32_t SwitchPolicy::HooksBelow(const T& policy) {
  const SwitchPolicy& its = policy;
  return (OverriddenSwitchHooks<T, Base>() & ~its.unused_hooks()) |
         static_cast<uint32_t>(its.asked_about()) |
         (its.wants_next_hops() ? uint32_t{kNextHops} : 0);
}

template <class T>
uint32_t SwitchPolicy::HooksOf(const T& policy) {
  return HooksBelow<SwitchPolicy>(policy);
}

}  // namespace heddle
