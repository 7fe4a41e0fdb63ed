// SPDX-License-Identifier: Apache-2.0
// A reference switch with queues, which the tests compare fabric/ with. Every end of a
// transmission, arrival, pause and service decision is an event, handled in the order of time, and
// the switch keeps nothing that it can count again. It is slow, and shares only the settings with
// fabric/.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/packet.h"
#include "core/units.h"
#include "fabric/fifo_port.h"
#include "fabric/queued_ports.h"
#include "tests/support/literal_memory.h"

namespace heddle {

struct SwitchPlan {
  std::vector<PortSettings> ports;
  QueueSettings queues;
  Queueing queueing;
  std::vector<SharedMemory::Port> shares;  // By port.
  TrimLimits trim = {};   // Of every port, if queueing.trim is on; the reference knows none.
  bool of_hosts = false;  // The peers are hosts, although there is a policy.
  bool fifo = false;      // FIFO ports, with the limits in `ports` and no queues in front of them.
};

// A packet that is received whole at `at` through `in`. It leaves through packet.dst. A kPause is
// for the port itself.
struct Offer {
  Time at;
  PortIndex in;
  Packet packet;
};

// The link of a port fails or comes up, before anything else of its time. A port loses what it
// holds and what has not arrived, forgets pauses, and drops what comes while the link is down.
struct PortChange {
  Time at;
  PortIndex port;
  bool up;
};

// Sorts by time, then in-port; the order is kept otherwise.
void SortOffers(std::vector<Offer>& offers);

// One egress port. It sends class 0 first (pause frames before other packets of class 0 if it
// queues), and the other classes as the scheduler says. It marks by a step.
class EventPort {
 public:
  struct Queued {
    Packet packet;
    PortIndex in;
  };
  struct Sent {
    Time start;
    Time departure;
    Packet packet;
  };

  EventPort(const PortSettings& settings, const QueueSettings& queues)
      : settings_(settings), rule_(queues) {}

  std::vector<Sent> sent;  // Ordered by departure; the last may not have left yet.

  void Enqueue(const Packet& packet, PortIndex in, Time now);
  void SetPaused(uint8_t classes, bool stop, Time now);
  struct Lost {
    int64_t on_wire = 0;       // Packets that have left and not arrived.
    std::vector<Queued> held;  // The packet being sent, and those that wait.
  };
  Lost Fail(Time now);
  void ComeUp() { down_ = false; }
  bool is_down() const { return down_; }

  // The packet whose transmission ends at `now`, if one does.
  std::optional<Queued> Complete(Time now);
  // Starts the next packet if the port is free and has one that may go.
  void Serve(Time now);

  Time end() const { return sending_ ? sent.back().departure : kNever; }
  int64_t SizeOf(const Packet& packet) const {
    return settings_.count_packets ? 1 : int64_t{packet.bytes};
  }
  // The queue length of a class, or of all classes but 0, in the unit of the buffer. The packet
  // being sent counts.
  int64_t Length(size_t cls) const;
  int64_t Length() const;
  int64_t QueuedPackets() const;
  // The same of one class in bytes and in packets, whatever the buffer counts.
  QueueLength QueueOf(size_t cls) const;
  // The time until all queued packets would have left.
  Duration Wait(Time now) const;

 private:
  void Overtake(Queued frame);
  bool CanSendData() const;
  std::optional<size_t> Pick();
  std::optional<size_t> PickInTurn() const;
  std::optional<size_t> PickByDeficit();
  bool MayGo(size_t cls) const { return !queues_[cls].empty() && (paused_ >> cls & 1) == 0; }
  Time After(int64_t bits) const;  // The time of that many bits of this busy period.
  int64_t WireBits(const Packet& packet) const {
    return (packet.bytes + settings_.wire_overhead.count) * 8;
  }

  const PortSettings settings_;
  const QueueSettings rule_;
  std::array<std::deque<Queued>, kClasses> queues_;
  std::array<int64_t, kClasses> deficit_ = {};
  size_t turn_ = 0;
  unsigned paused_ = 0;
  std::optional<Queued> sending_;
  // A busy period sends its n-th bit at the exact time, rounded up. It ends when the port has
  // nothing to send, and before a packet of class 0 that finds it at rest.
  bool down_ = false;
  bool rested_ = true;
  bool begun_ =
      false;  // The first packet of class 0 found the port idle, so that nothing goes before.
  Time busy_since_;
  int64_t bits_ = 0;
};

class EventSwitch {
 public:
  explicit EventSwitch(const SwitchPlan& plan);

  void Run(const std::vector<Offer>& sorted, const std::vector<PortChange>& changes = {});

  std::vector<EventPort>& ports() { return ports_; }
  std::array<int64_t, kDropReasons> drops = {};
  int64_t frames_sent = 0;
  LiteralMemory& memory() { return memory_; }

 private:
  using Effect = std::pair<PortIndex, Packet>;
  using ByClass = std::array<Time, kClasses>;  // kNever: nothing of that kind is due.

  void Change(const PortChange& change);
  void Complete(Time now);
  void Arrive(const Offer& offer);
  void Tell(PortIndex in, size_t cls, bool stop, Time now);
  void TryResume(PortIndex in, size_t cls, Time now);
  void TryResumeAll(Time now);
  void Take(PortIndex port, const Packet& frame, Time now);
  void EndPauses(Time now);
  void AskAgain(Time now);
  Time Quanta(PortIndex port, int64_t quanta, Time now) const;

  const SwitchPlan plan_;
  std::vector<EventPort> ports_;
  LiteralMemory memory_;
  std::vector<std::array<bool, kClasses>> pausing_;
  std::multimap<Time, Effect> effects_;  // Ordered by arrival.
  std::vector<ByClass> paused_until_;    // By port.
  std::vector<ByClass> asks_again_;      // By input.
  std::vector<Time> failed_at_;          // By port.
  bool looks_again_ = false;             // A link has failed at this instant.
};

}  // namespace heddle
