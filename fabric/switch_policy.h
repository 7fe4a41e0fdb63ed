// SPDX-License-Identifier: Apache-2.0
// A policy is the load balancer of one switch. The switch asks it which live next hop a packet
// takes.
//
// A policy sees its own switch and the packet, and nothing else. It keeps its state in tables of
// limited size, so one object runs in a unit test, a microbenchmark and a fabric. Hooks allocate
// only for flows and destinations that are new, and tables grow by doubling. Hooks draw random
// numbers only from the stream they were given.

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

// Returns true if `port` is among `ports`, which ascend. Ports seldom have gaps, so two comparisons
// usually suffice; the branches of a search would be mispredicted.
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
  // True if `ports` holds one uplink, and the switch's other uplinks do not lead there now.
  bool is_last_uplink = false;
  // True if `ports` are several links to one host. The switch itself picks one of them by the hash
  // of the flow, as link aggregation does (IEEE 802.1AX), and asks policies only about that one.
  bool are_links_of_host = false;

  bool Has(PortIndex port) const { return IsAmong(ports, port); }
  // Returns true if there is a choice, or if a choice may return (is_last_uplink).
  bool matters() const { return ports.size() > 1 || is_last_uplink; }
};

// Routing's description of a next hop towards a leaf.
struct NextHop {
  // The capacity through this next hop in bits per second: the sum, over the paths that begin
  // there, of the slowest rate on each path.
  int64_t capacity;
  // Next hops are of one kind if their paths have the same rates link by link and are fed by the
  // same switches. Kinds count from 0.
  uint16_t kind;

  friend auto operator<=>(const NextHop&, const NextHop&) = default;
};

// How full the buffer of an input is for one lossless class.
struct InputFill {
  Bytes held;         // The bytes of packets that came through the input and have not left.
  Bytes pause_above;  // Above this the sender at the far end is paused, as the buffer is now.
};

// The fate of a packet, as the policy decides.
struct Decision {
  enum class Kind : uint8_t {
    kForward,  // It leaves through `port`.
    kConsume,  // The packet was for this switch's policy and ends here.
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

// A policy's view of its switch, and the actions that it may ask for.
class SwitchView {
 public:
  explicit SwitchView(Switch& self) : self_(self) {}

  Time now() const;
  SwitchId id() const;
  int tier() const;  // 0: leaf, growing towards the core.

  size_t ports() const;
  bool FacesHost(PortIndex port) const;
  BitRate Rate(PortIndex port) const;
  Duration TimeToSend(PortIndex port, Bytes size) const;  // At the port's rate.

  // QueueingDelay() is the wait of a packet enqueued now. Unsent() is the bytes not yet sent,
  // counted as on the wire: the queued packets and the unsent rest of the packet in transmission.
  Duration QueueingDelay(PortIndex port) const;
  Bytes Unsent(PortIndex port) const;
  // The part of Unsent() that goes before a packet of class `priority` if lower classes go first.
  Bytes UnsentBefore(PortIndex port, uint8_t priority) const;

  // For a policy whose watches_by_port() is true: calls OnTransmit() for the packets that have
  // begun to leave through `port` before now, if that has not been done.
  void ShowTransmissions(PortIndex port);

  // The bytes of `packet` on the wire: its bytes as in buffers, preamble and inter-frame gap.
  Bytes WireBytes(const Packet& packet) const;

  // Returns true if the far end of the link has paused class `priority` (PFC). QueueingDelay() does
  // not include the time that a pause will last.
  bool IsPaused(PortIndex port, uint8_t priority) const;

  // Returns nothing if packets of class `priority` are dropped rather than paused. From the first
  // call on, the switch counts its shared buffer packet by packet, which costs time. Not to be
  // called from Gauges().
  std::optional<InputFill> FillOf(PortIndex input, uint8_t priority) const;

  // The packets that have not left yet, the one on the wire included.
  int64_t QueuedPackets(PortIndex port) const;

  // IsAttached() returns true if `host` is attached to this switch. CandidatesTo() returns the next
  // hops towards it.
  bool IsAttached(HostId host) const;
  Candidates CandidatesTo(HostId host) const;

  // The static properties of the path through `port` to a leaf, and the buffer of `port`. Slow:
  // meant for Attach().
  std::optional<Way> WayTo(PortIndex port, uint16_t leaf) const;
  // The switch at the far end of `port`; nothing if a host is there. Slow, too.
  std::optional<SwitchId> PeerOf(PortIndex port) const;
  Bytes BufferOf(PortIndex port) const;

  // Leaves are the switches that have hosts, numbered from 0 to leaves() - 1. LeafOf() is the leaf
  // of `host`.
  size_t leaves() const;
  uint16_t LeafOf(HostId host) const;
  size_t hosts() const;  // In the whole fabric, numbered from 0.

  // Uplinks() are the ports towards the core, in ascending order. UplinkOf() is the uplink that a
  // path id chooses here; the switch must have uplinks.
  std::span<const PortIndex> Uplinks() const;
  PortIndex UplinkOf(uint16_t path) const;

  // Hosts of one group have the same candidates, unless they are attached to this switch. A group
  // is a leaf, or a host with several links of which some are down. Numbered from 0; the number of
  // groups may change with the version of candidates.
  uint16_t GroupOf(HostId host) const;

  // Describes the next hops towards `host`, which is not attached: one entry for each candidate, in
  // their order. Only for policies whose wants_next_hops() returns true.
  std::span<const NextHop> NextHopsTo(HostId host) const;

  // Sends a packet made by the policy out of `port`. It travels as any other, and may be dropped.
  void SendControl(const Packet& packet, PortIndex port);

  // The same in the class of data, behind the data packets that wait there.
  void SendAsData(const Packet& packet, PortIndex port);

  // Reserves room in the shared buffer for a packet that came through `in_port` and will leave
  // through `port`. Returns false if there is none; then the packet cannot be held.
  bool Hold(const Packet& packet, PortIndex in_port, PortIndex port);
  // Sends a held packet, as if it had arrived now. `port` is that of Hold(); the packet leaves
  // there or, if given, through `out`.
  void Release(const Packet& packet, PortIndex in_port, PortIndex port);
  void Release(const Packet& packet, PortIndex in_port, PortIndex port, PortIndex out);

  // OnTimer(id) is called at `at`, not before now. Timers of one instant fire by ascending id.
  void SetTimer(Time at, uint32_t id);

 private:
  [[noreturn]] static void RefuseNextHops();
  void CheckMayAct() const;

  Switch& self_;
};

class SwitchPolicy {
 public:
  // The calls that a policy can ask for, besides OnPacket() for packets with a choice. Hooks that
  // it does not have cost nothing. A policy has a hook if it overrides the function of that name,
  // or asks for it as noted here.
  enum Hook : uint32_t {
    kEveryPacket = 1,  // Packets::kEvery
    kTransmit = 2,
    kEnqueue = 4,
    kDropped = 8,
    kNextHops = 16,  // wants_next_hops()
    kPrefetch = 32,
    kLastUplink = 64,  // Packets::kWithLastUplink
  };

  // The hooks of a policy whose class is T. PolicyPtr calls this once, when it takes over the
  // policy.
  template <class T>
  static uint32_t HooksOf(const T& policy);

  // Returns true if the switch asks a policy with these hooks about a packet with these next hops.
  static bool AsksAbout(uint32_t hooks, const Candidates& candidates) {
    return candidates.ports.size() > 1 || (hooks & kEveryPacket) != 0 ||
           (candidates.is_last_uplink && (hooks & kLastUplink) != 0);
  }

  virtual ~SwitchPolicy() = default;

  // Which packets OnPacket() is asked about.
  enum class Packets : uint32_t {
    // Packets with more than one candidate.
    kWithChoice = 0,
    // Also packets with Candidates::is_last_uplink, for policies that time or count a flow's
    // packets.
    kWithLastUplink = kLastUplink,
    // All packets.
    kEvery = kEveryPacket,
  };
  virtual Packets asked_about() const { return Packets::kWithChoice; }

  // Returns true if the policy uses NextHopsTo(). Routing then describes the next hops after every
  // change.
  virtual bool wants_next_hops() const { return false; }

  // Hooks that the class overrides but this object, with its settings, does not need. The switch
  // does not call them.
  virtual uint32_t unused_hooks() const { return 0; }

  // Hooks that do nothing at this switch: for example, those that only leaves need. The switch asks
  // once, after Attach(), and does not call them from then on. kTransmit must not be among them.
  virtual uint32_t idle_hooks() const { return 0; }

  // A policy that has no hooks, sets no timers and always chooses the port of EcmpPort() returns
  // its salt. The switch then chooses this port itself, without a call for each packet.
  virtual std::optional<uint64_t> ecmp_salt() const { return std::nullopt; }

  // Returns true if OnEnqueue() does no more than write the packet's path, entropy or scheme
  // header: it reads no queue, sends nothing and sets no timer. Then a queued port that is free may
  // begin to send the packet before the call, which spares it a queue.
  virtual bool enqueue_only_stamps() const { return false; }

  // Returns true if OnPacket() only forwards the packet to a candidate. It may read the packet, the
  // candidates, the queues of their ports, the time and the policy's own state. The policy sends
  // and holds no packets, sets no timers and does not call FillOf(); if it does, the view stops the
  // program. Then a leaf with short links may send packets from outside to its hosts before it
  // handles what its hosts send (core/shard.h, hub). It never does so if the policy is asked about
  // every packet, or has one of the hooks kTransmit, kEnqueue and kDropped.
  virtual bool only_chooses() const { return false; }

  // Returns true if OnTransmit() reads and writes only the packet and the policy's state of this
  // port, sends nothing and sets no timer, and if the policy calls view.ShowTransmissions() before
  // it uses that state elsewhere. Then OnTransmit() is called port by port, in the order of
  // transmission at each port, which costs less than an order over all ports. It may be called
  // while the policy is in a call to the view. The switch asks once, before Attach().
  virtual bool watches_by_port() const { return false; }

  // Called before the first packet.
  virtual void Attach(SwitchView& /*view*/) {}

  // Decides about a packet that came in through `in_port`. Called with view.now() never decreasing.
  virtual Decision OnPacket(SwitchView& view, const Packet& packet, PortIndex in_port,
                            const Candidates& candidates) = 0;

  // Called before the packet's OnPacket(), usually before the preceding packet is handled, possibly
  // more than once. It may prefetch the state of the packet's flow, and do nothing else.
  virtual void Prefetch(const Packet& /*packet*/) const {}

  // `port` has accepted `packet`, which may be rewritten: its path, entropy, scheme header and CE
  // mark.
  virtual void OnEnqueue(SwitchView& /*view*/, Packet& /*packet*/, PortIndex /*port*/) {}

  // `port` has dropped `packet`, because its buffer is full or its link is down.
  virtual void OnDropped(SwitchView& /*view*/, const Packet& /*packet*/, PortIndex /*port*/) {}

  // `port` cuts the payload off `packet`, which was in its queue. The header goes on, mostly
  // through the same port: then OnEnqueue() is called for it, too.
  virtual void OnCut(SwitchView& /*view*/, Packet& /*packet*/, PortIndex /*port*/) {}

  // The first bit of `packet` leaves through `port` at view.now(): for rate estimators and in-band
  // telemetry, which may rewrite its scheme header and CE mark. Calls come in the order of
  // transmission, or port by port if watches_by_port() is true. Otherwise the policy may also send
  // packets and set timers here; a timer for view.now() fires before anything later.
  virtual void OnTransmit(SwitchView& /*view*/, Packet& /*packet*/, PortIndex /*port*/) {}

  virtual void OnTimer(SwitchView& /*view*/, uint32_t /*id*/) {}

  // Bytes of tables and registers that the policy needs in this switch.
  virtual size_t StateBytes() const = 0;

  // A count of the policy, with its name.
  struct Counter {
    std::string_view name;
    int64_t value;
  };
  virtual std::vector<Counter> Counters() const { return {}; }

  // The policy's gauges at `now`. Names and order stay the same; gauges may be missing until they
  // first have a value.
  virtual std::vector<Gauge> Gauges(Time /*now*/) const { return {}; }

 protected:
  // The hooks that the classes from T up to Base override, without Base itself.
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
