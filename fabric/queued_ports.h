// SPDX-License-Identifier: Apache-2.0
// The queued ports of a switch with their shared buffer, and the pauses (PFC) that it causes. The
// switch offers every packet to Pass(), and those that do not pass to SendControl() or Accept(). It
// also runs the events of the ports.
//
// The ports of a switch are late or eager, all together. Late ports are served when something
// happens to them, and at the end of a window. That takes one event per packet-hop, as for FIFO
// ports. At eager ports each end of a transmission is an event of the switch. Both ways give the
// same result.
//
// With a shared buffer, a packet that leaves one port changes what another port may do, and may end
// a pause, so the ports would have to be eager. But while the buffer holds few bytes, in all and
// from each input, no packet can be refused and no input must pause (SharedMemory::SafeShares).
// Ports with a shared buffer begin late. They add up the bytes that arrive, and do not subtract
// those that leave. When a sum exceeds the safe bytes, they count what the buffer holds, and become
// eager if that is more than three quarters of the safe bytes. At the end of a window they become
// late again if the buffer holds at most half of the safe bytes, none of it in headroom, and no
// input is paused.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/node.h"
#include "core/timers.h"
#include "core/tournament.h"
#include "fabric/pause_log.h"
#include "fabric/pause_meter.h"
#include "fabric/queued_port.h"
#include "fabric/shared_memory.h"
#include "fabric/trimming.h"

namespace heddle {

struct PauseSettings {
  Duration response{0};       // Time from the arrival of a pause frame to its effect.
  bool scan_all = false;      // A leaving packet may resume any input, not only its own.
  uint16_t frame_bytes = 64;  // Size of a pause frame as in buffers.
  uint16_t quanta = 0;        // How long a pause lasts, in times of 512 bits (IEEE 802.3, annex
                              // 31B); 0: until a resume frame ends it.

  // When the switch repeats the pause frame to a sender that must stay paused.
  enum class Refresh { kTimer, kArrivals, kNone };
  Refresh refresh = Refresh::kTimer;
  Duration interval{0};  // kTimer. 0: half the time that a pause lasts.
};

// Every `poll`, the watchdog looks at all lossless classes. It gives up on a class that was paused
// for 99 % of `detect`, had packets and sent none. For the time `restore` the port then ignores
// pauses of the class, and drops its packets if `drops` is set.
struct WatchdogSettings {
  Duration detect{0};  // 0: off.
  Duration restore{0};
  Duration poll{0};
  bool drops = true;
};

// Settings common to the queued ports of all switches.
struct Queueing {
  MemorySettings memory;
  PauseSettings pause;
  WatchdogSettings watchdog;
  TrimSettings trim;
  bool eager = false;  // Makes ports eager all the time.
  uint64_t seed = 1;   // Seed of random marks.
};

class QueuedPorts {
 public:
  struct Port {
    FifoPort* out;
    QueueSettings queues;
    SharedMemory::Port memory;
    TrimLimits trim = {};
  };
  // If a policy watches transmissions, the ports are `watched`: late ones are then served in order
  // of time by ServeFirst(), or by CatchUp(), which calls the function given to SetShown().
  QueuedPorts(const Queueing& queueing, const std::vector<Port>& ports, uint64_t switch_id,
              bool watched);

  bool eager() const { return eager_; }
  Time Due() const { return eager_ ? NextEvent() : std::min(NextLate(), NextEffect()); }
  QueuedPort& operator[](PortIndex port) { return ports_[port]; }
  size_t size() const { return ports_.size(); }
  void Prefetch() const {
    PrefetchLines<4>(this);
    for (const QueuedPort& port : ports_) port.Prefetch();
  }

  // A packet that came in through port `in` and will leave through port `out`.
  struct Offer {
    const Packet& packet;
    const Telemetry* telemetry;  // The record that came with the packet, or null.
    uint16_t path_part;          // This hop's term in the id of the path taken.
    PortIndex in;
    PortIndex out;
    bool is_last;  // Nothing else arrives at this instant, no timer is due, and no hook needs the
                   // packet in its queue.
  };

  // Sends a packet of any class past the queues, if the ports are late, and its port is free and
  // has room. Most packets pass. Returns the packet on the wire. If this returns null, nothing has
  // changed: call SendsControlAtOnce() or Accept().
  Packet* Pass(const Offer& offer, Time now, const Window& window);

  // Returns true if a class-0 packet goes to SendControl(), at once, and not to Accept().
  [[gnu::always_inline]] bool SendsControlAtOnce(PortIndex out, Time now, const Window& window) {
    CatchUp(out, now, window);
    return ports_[out].SendsControlAtOnce(now);
  }
  // Admits a copy of a packet that Pass() has not sent, or returns why not.
  std::optional<DropReason> Accept(const Offer& offer, Time now, const Window& window);
  // The packet that Accept() took last: in its queue, or on the wire if it has_passed().
  Packet& accepted() { return *accepted_; }
  bool has_passed() const { return has_passed_; }

  // For packets that a policy holds back, which occupy the shared buffer as if they were queued.
  // Keep() charges a packet from input `in` to output `out`, or returns why there is no room. To
  // send it, call LetGo(), Accept() and LookAgain() in this order.
  std::optional<DropReason> Keep(const Packet& packet, PortIndex in, PortIndex out, Time now,
                                 const Window& window);
  void LetGo(const Packet& packet, PortIndex in, PortIndex out);
  void LookAgain(const Packet& packet, PortIndex in, Time now, const Window& window);

  // Sends a packet of class 0, which goes before all others. Returns false if the link is down.
  [[gnu::always_inline]] bool SendControl(const Offer& offer, Time now, const Window& window) {
    FifoPort& port = outs_[offer.out];
    if (!port.Send(offer.packet, offer.path_part, now, window)) return false;
    if (offer.telemetry != nullptr) port.wire().Extra(port.wire().pushed() - 1) = *offer.telemetry;
    return true;
  }

  // --- Ports that trim packets; see fabric/trimming.h ---

  bool trims() const { return trimming_ != nullptr; }
  const Trimming* trimming() const { return trimming_.get(); }  // Null if no port trims.
  // Like Pass() and then Accept(), but may cut packets. Those are in trimming().cut afterwards, as
  // they came. Returns why the packet offered was dropped; a cut packet does not count as dropped.
  std::optional<DropReason> AcceptOrCut(const Offer& offer, Time now, const Window& window);
  // Returns true if a class-0 packet of `bytes` fits the limit for headers, and counts it.
  bool AdmitsHeader(PortIndex out, int64_t bytes, Time now, const Window& window);
  Trimming& trimming() { return *trimming_; }
  int64_t trimmed() const;  // Packets cut at all ports.
  // Stops the program if a port has not sent, dropped, cut or kept all bytes that it was offered.
  void CheckTrimmedBytes();

  // `frame` has come from the other end of the link at `port`.
  void OnPause(const Packet& frame, PortIndex port, Time now, const Window& window);

  // When the next pause takes effect: an event of the switch.
  Time NextEffect() const { return effects_.Next(); }
  void HandleEffect(const Window& window);

  // The transmission that was started; null if none.
  struct Started {
    PortIndex port = 0;
    Packet* packet = nullptr;
  };

  // --- Ports served late ---

  // Makes the decisions of `port` that were due before `time`. Does nothing for eager ports.
  void CatchUp(PortIndex port, Time time, const Window& window) {
    if (eager_) return;
    for (Time start = ports_[port].NextService(); start < time;
         start = ports_[port].NextService()) {
      Packet& packet = ports_[port].Serve(window);
      if (shown_) shown_({port, &packet}, start);
    }
  }
  // Sets the function to call for each transmission that CatchUp() starts, and when it starts.
  void SetShown(std::function<void(const Started&, Time)> shown) { shown_ = std::move(shown); }
  // The same for all ports, at the end of a window. Afterwards NextLate() is when the next decision
  // is due. At other times it is a lower bound of that.
  void CatchUpAll(Time time, const Window& window);
  Time NextLate() const { return next_late_; }

  // Some ports may run ahead of the others if all ports are sure to stay late meanwhile.
  // StaysLate() returns true if they do with `bytes` more from input `in` and `others` from any.
  // CountMemory() counts what the shared buffer holds now, so that packets which have left do not
  // count any more. Reserve() takes room for a packet that comes later; call Unreserve() before it
  // comes.
  bool StaysLate(PortIndex in, int64_t bytes, int64_t others) const {
    if (!memory_) return true;
    if (in_memory_ + bytes + others > safe_bytes_) return false;
    return from_input_.empty() || from_input_[in] + bytes <= safe_from_input_;
  }
  void CountMemory(Time now, const Window& window);
  void Reserve(PortIndex in, int64_t bytes) { CountMore(in, bytes); }
  void Unreserve(PortIndex in, int64_t bytes) { CountMore(in, -bytes); }
  // Some ports have run to `end`, ahead of the others. Until then, the buffer cannot be counted.
  void NoteAhead(Time end) { ahead_until_ = end; }

  // For ports that are watched: makes decisions in the order of time and port. FindFirst() finds
  // the first one and returns when it is due, ServeFirst() makes it.
  Time FindFirst();
  Started ServeFirst(const Window& window) {
    Packet& packet = ports_[first_late_].Serve(window);
    next_late_ = std::min(second_late_, ports_[first_late_].NextService());
    return {first_late_, &packet};
  }
  // The packet that `port` accepted last, at `now`, starts now if it may. Nothing else may happen
  // at `now`, and no other port may have a decision due before `others`.
  Started StartAtOnce(PortIndex port, Time now, Time others, const Window& window) {
    if (eager_ || ports_[port].NextService() > now) return {};
    Packet& packet = ports_[port].Serve(window);
    next_late_ = std::min(others, ports_[port].NextService());
    return {port, &packet};
  }

  // --- Eager ports ---

  // When the next transmission ends, and when the next port may choose a packet. The order of the
  // events of one instant is that of core/node.h.
  Time NextEnd() const { return ends_.Next(); }
  Time NextChoice() const { return choices_.Next(); }
  Time NextEvent() const { return std::min({NextEnd(), NextEffect(), NextChoice()}); }

  // `other` is when the switch next has an arrival or a timer.
  Started HandleEnd(Time other, const Window& window);
  Started HandleChoice(const Window& window);

  // Called at the end of a window: makes the ports late again if they may be.
  void CalmDown(const Window& window);

  // --- Between windows ---

  // The link of `port` goes down in the direction from here: waiting packets are lost, and the far
  // end hears of no pause any more. `now` is the start of the next window.
  void TakeDown(PortIndex port, Time now, const std::function<void(const Packet&)>& lost);
  // It goes down in the other direction: the pauses that the far end has asked for end, because no
  // frame would end them.
  void VoidPauses(PortIndex port, Time now);

  // The link of `port` has another rate or delay.
  void OnNewChannel(PortIndex port, bool new_rate, Time now);

  PauseTotals PausesOf(PortIndex port, Time now) { return meters_[port].Until(now); }
  // The shared buffer, null if there is none. While the ports are late, it counts only the packets
  // that a policy holds back.
  const SharedMemory* memory() const { return memory_.get(); }
  // Makes the ports eager from now on, so that it counts all packets. `window` is null before the
  // run.
  void AlwaysCount(Time now, const Window* window);
  // The bytes in the shared buffer, with those of packets whose transmission ends after `time`. The
  // ports must have made all decisions up to `time`. kNever: without packets in transmission, if
  // the ports are late.
  int64_t BytesInMemory(Time time) const;
  // Stops the program if the books of the shared buffer do not agree.
  void CheckBooks() const;
  // From now on every pause is logged.
  PauseLog& LogPauses() {
    if (!pause_log_) pause_log_ = std::make_unique<PauseLog>(ports_.size());
    return *pause_log_;
  }
  int64_t waiting() const;
  int64_t frames_sent() const { return frames_sent_; }
  int64_t storms() const { return storms_; }  // Times that the watchdog has given up on a class.

  // Sets the function to call for packets that are dropped after they were accepted.
  void SetLost(std::function<void(const Packet&)> lost) { lost_ = std::move(lost); }
  size_t memory_bytes() const;

 private:
  // The watchdog's state of one class of one port.
  struct Watch {
    Duration stuck{0};      // How long the class has been stuck, in whole polls.
    Duration paused{0};     // Its total pause time at the last poll.
    bool has_sent = false;  // A packet of the class has begun to leave since then.
  };
  // Returns true if the packet offered would leave at once.
  bool IsFree(const Offer& offer, Time now) const {
    return offer.is_last && ports_[offer.out].IsFree(now) && NextEffect() > now;
  }
  // Between windows: when `port` may send next, after its link or a pause has changed.
  void FindNextService(PortIndex port);
  std::optional<DropReason> Charge(const Packet& packet, PortIndex in, PortIndex out, Time now,
                                   const Window& window);
  std::optional<DropReason> Refuse(const Packet& packet, PortIndex in, PortIndex out, Time now);
  void LookForStorms(Time now, const Window& window);
  bool IsStuck(PortIndex port, size_t cls, Time now);
  void GiveUp(PortIndex port, size_t cls, Time now, const Window& window);
  void Free(PortIndex from, PortIndex out, size_t cls, int64_t bytes, Time now,
            const Window& window);
  bool IsPausing(PortIndex in, size_t cls) const { return (pausing_[in] >> cls & 1) != 0; }
  static constexpr int64_t kNonePasses = -1;
  static uint64_t BitOf(PortIndex port) { return uint64_t{1} << (port % 64); }
  // Counts bytes of an input if it may have so many; a packet is counted in in_memory_, too.
  bool CountFrom(PortIndex in, int64_t bytes) {
    if (from_input_.empty()) return true;
    const int64_t sum = from_input_[in] + bytes;
    if (sum > safe_from_input_) return false;
    from_input_[in] = sum;
    return true;
  }
  void CountMore(PortIndex in, int64_t bytes) {
    if (!memory_) return;
    in_memory_ += bytes;
    if (!from_input_.empty()) from_input_[in] += bytes;
  }
  bool FindSpace(PortIndex in, int64_t bytes, Time now, const Window& window);
  // Calls visit(input, bytes) for each packet that late ports hold in the shared buffer at `time`.
  template <class Visit>
  void ForEachHeldLate(Time time, const Visit& visit) const;
  // Counts anew what the shared buffer holds at `time`, and how much of it is from each input.
  void CountHeld(Time time);
  bool HoldsAtMost(int64_t quarters) const;
  void SetEager(bool eager);
  int64_t LargestWithRoom() const;
  void BecomeEager(Time now);
  // Calls visit(packet, input) for each packet that waits at `port` and is charged to the shared
  // buffer. Class 0 is not.
  template <class Visit>
  void ForEachCharged(PortIndex port, const Visit& visit) const;
  // Calls visit(port) for each late port that may have something waiting. It returns when the next
  // decision of the port is due.
  template <class Visit>
  void ForEachBacklogged(const Visit& visit);
  bool PausesAny() const {
    return std::ranges::any_of(pausing_, [](uint8_t classes) { return classes != 0; });
  }
  // `port` may have something to send. An eager one gets the time at which it chooses its next
  // packet, unless it has one or is transmitting.
  void Arm(PortIndex port, Time now) {
    if (eager_ && (choices_.Has(port) || ends_.Has(port))) return;
    const Time next = ports_[port].NextService();
    if (!eager_) {
      backlogged_[port / 64] |= BitOf(port);
      next_late_ = std::min(next_late_, next);
    } else if (next != kNever) {
      choices_.Set(port, std::max(next, now));
    }
  }
  Started Start(PortIndex port, const Window& window);
  // An eager port has started a packet.
  void NoteStart(PortIndex port) {
    const QueuedPort::InService& sent = ports_[port].in_service();
    ends_.Set(port, sent.end);
    if (!watches_.empty()) watches_[port * kClasses + sent.cls].has_sent = true;
  }
  void Release(PortIndex out, Time now, const Window& window);
  void PauseIfFull(PortIndex in, size_t cls, Time now, const Window& window) {
    if (!memory_->IsLossless(cls)) return;
    if (IsPausing(in, cls) && !repeats_on_arrival_) return;
    if (memory_->MustPause(in, cls)) Tell(in, cls, true, now, window);
  }
  void AskAgainLater(PortIndex in, size_t cls, Time now);
  void AskAgain(PortIndex in, size_t cls, Time now, const Window& window);
  void EndPauses(PortIndex port, unsigned classes, Time now, const Window& window);
  void ResumeAfter(PortIndex from, size_t cls, Time now, const Window& window);
  void TryResume(PortIndex in, size_t cls, Time now, const Window& window);
  void Tell(PortIndex in, size_t cls, bool stop, Time now, const Window& window);
  void Apply(PortIndex port, uint8_t classes, bool stop, Time now, const Window& window);
  void SetPaused(PortIndex port, uint8_t classes, bool paused, Time now, const Window& window);
  void NoteBacklog(PortIndex port, Time now);

  // Members that every packet touches come first. Those marked `Late` are used by late ports alone.
  std::vector<QueuedPort> ports_;
  FifoPort* outs_;         // Of all ports, which lie side by side.
  int64_t in_memory_ = 0;  // Late: their bytes in the shared buffer, or more.
  // Late: while in_memory_ is at most this, the ports stay late. Without a shared buffer: the
  // largest packet that each free port has room for.
  int64_t safe_bytes_ = 0;
  // A packet passes if in_memory_ with it is at most this; kNonePasses while ports are eager.
  int64_t passes_up_to_ = kNonePasses;
  Time next_late_ = kNever;  // See NextLate().
  Packet* accepted_ = nullptr;
  std::unique_ptr<SharedMemory> memory_;
  // Late, by input: its bytes in the shared buffer, or more. While these are at most
  // safe_from_input_, the ports stay late. Empty if only their sum matters.
  std::vector<int64_t> from_input_;
  int64_t safe_from_input_ = 0;
  bool has_passed_ = false;
  bool always_eager_;
  bool eager_;
  const bool expires_;  // Pauses expire.
  const bool repeats_on_arrival_;
  std::vector<uint64_t> backlogged_;  // Late: those that may have something waiting, bit by bit.
  Timers effects_;                    // Key: number, port, classes and kind of effect.
  std::vector<uint8_t> given_up_;     // By port: classes that the watchdog has given up.
  std::function<void(const Started&, Time)> shown_;

  Time ahead_until_;          // Late: see NoteAhead().
  PortIndex first_late_ = 0;  // Late: the port found by FindFirst(), and when another one is due.
  Time second_late_ = kNever;
  const Queueing queueing_;
  std::vector<int64_t> buffers_;  // The buffers of ports that share nothing.
  std::unique_ptr<Trimming> trimming_;

  // By port: when its transmission ends, and when it chooses its next packet. A port waits for one
  // of the two at most. It chooses when nothing else is due at that instant, or after packets of
  // class 0.
  Tournament ends_;
  Tournament choices_;

  std::vector<uint8_t> pausing_;  // By input: the classes whose sender has been told to stop.
  std::vector<uint8_t> asked_;    // By port: the classes that its far end wants to be paused.
  uint32_t effects_set_ = 0;
  // By port, then class, if pauses expire: until when the class is paused, and when the switch
  // sends the next pause frame to the sender at this input.
  struct Expiry {
    Time until = kNever;
    Time again = kNever;
  };
  std::vector<Expiry> expiries_;
  std::vector<Time> void_before_;  // By port: pause frames that arrived before this are void.
  std::vector<PauseMeter> meters_;
  std::vector<Watch> watches_;  // By port, then class; empty without a watchdog.
  int64_t storms_ = 0;
  std::function<void(const Packet&)> lost_;
  std::unique_ptr<PauseLog> pause_log_;  // Null unless LogPauses() was called.
  int64_t frames_sent_ = 0;
};

// A packet of class 0 is not charged. This takes no branch: it would be mispredicted, as data
// packets and ACKs follow no pattern. The watchdog needs no check, as its ports are eager.
[[gnu::always_inline]] inline Packet* QueuedPorts::Pass(const Offer& offer, Time now,
                                                        const Window& window) {
  if (!IsFree(offer, now)) return nullptr;
  QueuedPort& port = ports_[offer.out];
  const uint32_t is_data = offer.packet.priority != 0 ? 1 : 0;
  const uint32_t charged = offer.packet.bytes & (0 - is_data);
  const int64_t in_memory = in_memory_ + charged;
  if (in_memory > passes_up_to_ || port.out().is_down()) [[unlikely]]
    return nullptr;
  if (memory_) {
    if (!CountFrom(offer.in, charged)) [[unlikely]]
      return nullptr;
    in_memory_ = in_memory;
  }
  return &port.Pass(offer.packet, static_cast<uint16_t>(charged), offer.path_part, offer.in, now,
                    window);
}

// Takes room for a packet and pauses its input if need be, or returns why there is no room.
[[gnu::always_inline]] inline std::optional<DropReason> QueuedPorts::Charge(const Packet& packet,
                                                                            PortIndex in,
                                                                            PortIndex out, Time now,
                                                                            const Window& window) {
  CatchUp(out, now, window);
  if (!memory_) return Refuse(packet, in, out, now);
  if (packet.priority == 0) return std::nullopt;
  if (!eager_) {
    in_memory_ += packet.bytes;
    if (in_memory_ <= safe_bytes_ && CountFrom(in, packet.bytes)) [[likely]]
      return std::nullopt;
    if (FindSpace(in, packet.bytes, now, window)) return std::nullopt;
  }
  const auto refused = Refuse(packet, in, out, now);
  if (!refused) PauseIfFull(in, packet.priority, now, window);
  return refused;
}

inline std::optional<DropReason> QueuedPorts::Refuse(const Packet& packet, PortIndex in,
                                                     PortIndex out, Time now) {
  const QueuedPort& port = ports_[out];
  const int64_t queued = port.Length(now);
  const int64_t size = port.SizeOf(packet);
  if (memory_) {
    return memory_->Admit(in, out, packet.priority, packet.bytes, queued, size);
  }
  if (packet.priority != 0 && queued + size > buffers_[out]) return DropReason::kTail;
  return std::nullopt;
}

[[gnu::always_inline]] inline std::optional<DropReason> QueuedPorts::Accept(const Offer& offer,
                                                                            Time now,
                                                                            const Window& window) {
  const PortIndex out = offer.out;
  const size_t cls = offer.packet.priority;
  QueuedPort& port = ports_[out];
  has_passed_ = false;
  if (port.out().is_down()) [[unlikely]]
    return DropReason::kLinkDown;
  if ((given_up_[out] >> cls & 1) != 0 && queueing_.watchdog.drops) [[unlikely]]
    return DropReason::kWatchdog;
  if (const auto refused = Charge(offer.packet, offer.in, out, now, window)) [[unlikely]]
    return refused;
  has_passed_ = cls != 0 && IsFree(offer, now);
  if (has_passed_) {
    accepted_ =
        &port.Pass(offer.packet, offer.packet.bytes, offer.path_part, offer.in, now, window);
    if (eager_) NoteStart(out);
    return std::nullopt;
  }
  accepted_ = &port.Enqueue(offer.packet, offer.telemetry, offer.path_part, offer.in, now);
  if (port.paused() != 0) [[unlikely]]
    NoteBacklog(out, now);
  Arm(out, now);
  return std::nullopt;
}

}  // namespace heddle
