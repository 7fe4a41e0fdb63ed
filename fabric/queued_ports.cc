// SPDX-License-Identifier: Apache-2.0

#include "fabric/queued_ports.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/check.h"
#include "fabric/pause_time.h"

namespace heddle {
namespace {

// The key of a pause frame that has not taken effect. Keys are numbered, so that effects of one
// instant keep their order. The top bit means: look at inputs that may resume.
constexpr uint64_t kStop = uint64_t{1} << 8;
constexpr int kPortShift = 16;
constexpr int kNumberShift = 32;
constexpr uint64_t kLookAgain = uint64_t{1} << 63;
// Timers of the watchdog: one looks for stuck classes, the other obeys pauses again.
constexpr uint64_t kPoll = uint64_t{1} << 62;
constexpr uint64_t kRestore = uint64_t{1} << 61;
// Timers of pauses that expire: one repeats the pause frame, the other ends a pause.
constexpr uint64_t kAskAgain = uint64_t{1} << 60;
constexpr uint64_t kExpiry = uint64_t{1} << 59;
constexpr uint64_t kNumbers = kExpiry - 1;

bool SharesMemory(const MemorySettings& memory) {
  return memory.lossless != 0 || memory.model != MemorySettings::Model::kPrivate;
}

// The watchdog looks at all ports at once. A port that trims takes packets out of its queue: these
// are charged to the shared buffer, and may be packets that a policy has been shown.
bool IsAlwaysEager(const Queueing& queueing, bool watched) {
  const bool trims = queueing.trim.when != TrimSettings::When::kOff;
  return queueing.eager || queueing.watchdog.detect != Duration{0} ||
         (trims && (watched || SharesMemory(queueing.memory)));
}

}  // namespace

QueuedPorts::QueuedPorts(const Queueing& queueing, const std::vector<Port>& ports,
                         uint64_t switch_id, bool watched)
    : outs_(ports.empty() ? nullptr : ports.front().out),
      always_eager_(IsAlwaysEager(queueing, watched)),
      eager_(always_eager_),
      expires_(queueing.pause.quanta != 0),
      repeats_on_arrival_(expires_ && queueing.pause.refresh == PauseSettings::Refresh::kArrivals),
      queueing_(queueing),
      pausing_(ports.size(), 0),
      asked_(ports.size(), 0),
      expiries_(expires_ ? ports.size() * kClasses : 0),
      void_before_(ports.size()),
      meters_(ports.size()) {
  std::vector<SharedMemory::Port> shares;
  for (size_t p = 0; p < ports.size(); ++p) {
    Rng rng = Rng::Stream(queueing.seed, "marks", switch_id << kPortShift | p);
    const uint32_t id = static_cast<uint32_t>(switch_id << kPortShift | p);
    HEDDLE_CHECK(ports[p].out == outs_ + p, "port {} does not follow the one before it in memory",
                 p);
    ports_.emplace_back(*ports[p].out, ports[p].queues, rng, id);
    buffers_.push_back(ports[p].memory.buffer);
    shares.push_back(ports[p].memory);
  }
  backlogged_.resize((ports.size() + 63) / 64);
  ends_.Resize(ports.size());
  choices_.Resize(ports.size());
  if (SharesMemory(queueing.memory)) {
    memory_ = std::make_unique<SharedMemory>(queueing.memory, shares);
    uint8_t classes = 0;
    for (const Port& port : ports) classes |= port.queues.classes;
    const SharedMemory::Safe safe = memory_->SafeShares(classes);
    safe_bytes_ = safe.total;
    if (safe.input < safe.total) {
      safe_from_input_ = safe.input;
      from_input_.resize(ports.size());
    }
    // Ports would become eager and late again with each packet or two.
    if (safe.input < 3'000) always_eager_ = eager_ = true;
  } else {
    safe_bytes_ = LargestWithRoom();
  }
  SetEager(eager_);
  given_up_.resize(ports.size());
  if (queueing.trim.when != TrimSettings::When::kOff) {
    std::vector<TrimLimits> limits;
    for (const Port& port : ports) limits.push_back(port.trim);
    trimming_ = std::make_unique<Trimming>(queueing.trim, limits, queueing.seed, switch_id);
  }
  if (queueing.watchdog.detect == Duration{0}) return;
  watches_.resize(ports.size() * kClasses);
  effects_.Set(Time{} + queueing.watchdog.poll, kPoll);
}

void QueuedPorts::SetEager(bool eager) {
  eager_ = eager;
  passes_up_to_ = eager ? kNonePasses : safe_bytes_;
}

// The bytes of the largest packet that each port has room for, if nothing waits there.
int64_t QueuedPorts::LargestWithRoom() const {
  int64_t bytes = kUnlimited;
  for (size_t p = 0; p < ports_.size(); ++p) {
    const bool has_room_for_any = outs_[p].counts_packets() && buffers_[p] > 0;
    if (!has_room_for_any) bytes = std::min(bytes, buffers_[p]);
  }
  return bytes;
}

// --- Eager ports ---

// Usually nothing else happens at that instant, and the port may choose its next packet at once.
QueuedPorts::Started QueuedPorts::HandleEnd(Time other, const Window& window) {
  const PortIndex out = static_cast<PortIndex>(ends_.First());
  const Time now = ends_.Next();
  ends_.Set(out, kNever);
  Release(out, now, window);
  if (now < other && now < NextEvent() && ports_[out].NextService() <= now) {
    return Start(out, window);
  }
  Arm(out, now);
  return {};
}

QueuedPorts::Started QueuedPorts::Start(PortIndex port, const Window& window) {
  Packet& packet = ports_[port].Serve(window);
  NoteStart(port);
  return {port, &packet};
}

// Frees the shared buffer of the packet that `out` has finished sending.
void QueuedPorts::Release(PortIndex out, Time now, const Window& window) {
  if (!memory_) return;
  const QueuedPort::InService& sent = ports_[out].in_service();
  Free(sent.in, out, sent.cls, sent.bytes, now, window);
}

void QueuedPorts::Free(PortIndex from, PortIndex out, size_t cls, int64_t bytes, Time now,
                       const Window& window) {
  memory_->Release(from, out, cls, bytes);
  ResumeAfter(from, cls, now, window);
}

// Resumes the inputs that may go on, after a packet from input `from` has left.
void QueuedPorts::ResumeAfter(PortIndex from, size_t cls, Time now, const Window& window) {
  if (queueing_.memory.lossless == 0) return;
  if (!queueing_.pause.scan_all) return TryResume(from, cls, now, window);
  for (size_t in = 0; in < ports_.size(); ++in) {
    for (unsigned left = pausing_[in]; left != 0; left &= left - 1) {
      TryResume(static_cast<PortIndex>(in), static_cast<size_t>(std::countr_zero(left)), now,
                window);
    }
  }
}

std::optional<DropReason> QueuedPorts::Keep(const Packet& packet, PortIndex in, PortIndex out,
                                            Time now, const Window& window) {
  if (!memory_) return std::nullopt;
  const auto refused = Charge(packet, in, out, now, window);
  if (!refused && !eager_) memory_->Add(in, out, packet.priority, packet.bytes);
  return refused;
}

void QueuedPorts::LetGo(const Packet& packet, PortIndex in, PortIndex out) {
  if (memory_) memory_->Release(in, out, packet.priority, packet.bytes);
}

void QueuedPorts::LookAgain(const Packet& packet, PortIndex in, Time now, const Window& window) {
  if (memory_) ResumeAfter(in, packet.priority, now, window);
}

QueuedPorts::Started QueuedPorts::HandleChoice(const Window& window) {
  const PortIndex out = static_cast<PortIndex>(choices_.First());
  const Time now = choices_.Next();
  choices_.Set(out, kNever);
  if (ends_.Has(out)) return {};
  if (ports_[out].NextService() <= now) return Start(out, window);
  Arm(out, now);  // Paused meanwhile, or a packet of class 0 went first.
  return {};
}

// --- Pauses ---

void QueuedPorts::TryResume(PortIndex in, size_t cls, Time now, const Window& window) {
  if (IsPausing(in, cls) && memory_->MayResume(in, cls)) Tell(in, cls, false, now, window);
}

// Sends a pause frame to the other end of the link at `in`. The frame waits only for the packet in
// transmission (IEEE 802.1Qbb), so it goes to the transmitter at once.
void QueuedPorts::Tell(PortIndex in, size_t cls, bool stop, Time now, const Window& window) {
  FifoPort& out = ports_[in].out();
  if (out.is_down()) return;  // The next packet that arrives after the repair pauses it.
  const unsigned bit = 1u << cls;
  pausing_[in] = static_cast<uint8_t>(stop ? pausing_[in] | bit : pausing_[in] & ~bit);
  Packet& frame = out.Slot(now);
  frame.Clear();
  frame.kind = PacketKind::kPause;
  frame.bytes = queueing_.pause.frame_bytes;
  frame.pause = {static_cast<uint8_t>(bit), stop};
  out.SendSlot(now, window);
  ++frames_sent_;
  PauseTotals& counts = meters_[in].counts();
  ++(stop ? counts.pauses_sent : counts.resumes_sent);
  if (stop && expires_) AskAgainLater(in, cls, now);
}

// Schedules the next pause frame for a sender that may have to stay paused. Both ends of the link
// are taken to have the same rate.
void QueuedPorts::AskAgainLater(PortIndex in, size_t cls, Time now) {
  const PauseSettings& pause = queueing_.pause;
  if (pause.refresh != PauseSettings::Refresh::kTimer) return;
  const Duration half = PauseTime(pause.quanta, ports_[in].out().rate()) / 2;
  const Time at = now + (pause.interval > Duration{0} ? pause.interval : std::max(half, 1_ps));
  expiries_[in * kClasses + cls].again = at;
  effects_.Set(at, kAskAgain | uint64_t{in} << kPortShift | cls);
}

void QueuedPorts::AskAgain(PortIndex in, size_t cls, Time now, const Window& window) {
  if (IsPausing(in, cls) && expiries_[in * kClasses + cls].again == now) {
    Tell(in, cls, true, now, window);
  }
}

// Ends the pauses of `classes`, except those that a later frame has extended.
void QueuedPorts::EndPauses(PortIndex port, unsigned classes, Time now, const Window& window) {
  unsigned ended = 0;
  for (unsigned left = classes & asked_[port]; left != 0; left &= left - 1) {
    const size_t cls = static_cast<size_t>(std::countr_zero(left));
    if (expiries_[port * kClasses + cls].until == now) ended |= 1u << cls;
  }
  if (ended != 0) Apply(port, static_cast<uint8_t>(ended), false, now, window);
}

void QueuedPorts::OnPause(const Packet& frame, PortIndex port, Time now, const Window& window) {
  PauseTotals& counts = meters_[port].counts();
  ++(frame.pause.stop ? counts.pauses : counts.resumes);
  if (queueing_.pause.response == Duration{0}) {
    return Apply(port, frame.pause.classes, frame.pause.stop, now, window);
  }
  const uint64_t number = uint64_t{effects_set_++} << kNumberShift & kNumbers;
  const uint64_t key =
      number | uint64_t{port} << kPortShift | (frame.pause.stop ? kStop : 0) | frame.pause.classes;
  effects_.Set(now + queueing_.pause.response, key);
}

void QueuedPorts::HandleEffect(const Window& window) {
  const Timer effect = effects_.Pop();
  const PortIndex port = static_cast<PortIndex>(effect.key >> kPortShift);
  if ((effect.key & kPoll) != 0) return LookForStorms(effect.at, window);
  if ((effect.key & kRestore) != 0) {
    // From now on the port obeys again, also to what it was told meanwhile.
    const uint8_t classes = static_cast<uint8_t>(effect.key);
    given_up_[port] &= static_cast<uint8_t>(~classes);
    return SetPaused(port, asked_[port] & classes, true, effect.at, window);
  }
  if ((effect.key & kAskAgain) != 0) return AskAgain(port, effect.key & 0xff, effect.at, window);
  if ((effect.key & kExpiry) != 0) return EndPauses(port, effect.key & 0xff, effect.at, window);
  if ((effect.key & kLookAgain) == 0) {
    if (effect.at - queueing_.pause.response < void_before_[port]) return;
    return Apply(port, static_cast<uint8_t>(effect.key), (effect.key & kStop) != 0, effect.at,
                 window);
  }
  for (size_t in = 0; in < ports_.size(); ++in) {
    for (unsigned left = pausing_[in]; left != 0; left &= left - 1) {
      TryResume(static_cast<PortIndex>(in), static_cast<size_t>(std::countr_zero(left)), effect.at,
                window);
    }
  }
}

// A frame from the far end takes effect.
void QueuedPorts::Apply(PortIndex port, uint8_t classes, bool stop, Time now,
                        const Window& window) {
  uint8_t& asked = asked_[port];
  asked = static_cast<uint8_t>(stop ? asked | classes : asked & ~classes);
  SetPaused(port, stop ? classes & static_cast<uint8_t>(~given_up_[port]) : classes, stop, now,
            window);
  if (!stop || !expires_ || classes == 0) return;
  const Time until = now + PauseTime(queueing_.pause.quanta, ports_[port].out().rate());
  for (unsigned left = classes; left != 0; left &= left - 1) {
    expiries_[port * kClasses + static_cast<size_t>(std::countr_zero(left))].until = until;
  }
  effects_.Set(until, kExpiry | uint64_t{port} << kPortShift | classes);
}

void QueuedPorts::SetPaused(PortIndex port, uint8_t classes, bool paused, Time now,
                            const Window& window) {
  CatchUp(port, now, window);
  ports_[port].SetPaused(classes, paused, now);
  NoteBacklog(port, now);
  if (!paused) Arm(port, now);
}

void QueuedPorts::NoteBacklog(PortIndex port, Time now) {
  meters_[port].Set(ports_[port].paused(), ports_[port].backlogged(), now);
  if (pause_log_) pause_log_->Set(port, ports_[port].paused(), ports_[port].backlogged(), now);
}

// --- Watchdog ---

void QueuedPorts::LookForStorms(Time now, const Window& window) {
  effects_.Set(now + queueing_.watchdog.poll, kPoll);
  for (PortIndex port = 0; port < ports_.size(); ++port) {
    for (unsigned left = queueing_.memory.lossless; left != 0; left &= left - 1) {
      const size_t cls = static_cast<size_t>(std::countr_zero(left));
      if (IsStuck(port, cls, now)) GiveUp(port, cls, now, window);
    }
  }
}

// Returns true if the class was stuck at all polls within the detection time.
bool QueuedPorts::IsStuck(PortIndex port, size_t cls, Time now) {
  const QueuedPort& queued = ports_[port];
  Watch& watch = watches_[port * kClasses + cls];
  const Duration paused = queued.PausedFor(cls, now);
  const bool stuck = queued.waiting(cls) > 0 && !watch.has_sent &&
                     100 * (paused - watch.paused) >= 99 * queueing_.watchdog.poll;
  watch.stuck = stuck ? watch.stuck + queueing_.watchdog.poll : Duration{0};
  watch.paused = paused;
  watch.has_sent = false;
  if (watch.stuck < queueing_.watchdog.detect) return false;
  watch.stuck = Duration{0};
  return true;
}

void QueuedPorts::GiveUp(PortIndex port, size_t cls, Time now, const Window& window) {
  ++storms_;
  const uint8_t bit = static_cast<uint8_t>(1u << cls);
  given_up_[port] |= bit;
  effects_.Set(now + queueing_.watchdog.restore, kRestore | uint64_t{port} << kPortShift | bit);
  if (queueing_.watchdog.drops) {
    ports_[port].ClearClass(cls, [&](const Packet& packet, PortIndex in) {
      Free(in, port, cls, packet.bytes, now, window);
      lost_(packet);
    });
  }
  SetPaused(port, bit, false, now, window);
}

// --- Between windows ---

void QueuedPorts::TakeDown(PortIndex port, Time now,
                           const std::function<void(const Packet&)>& lost) {
  QueuedPort& queued = ports_[port];
  if (ends_.Has(port)) {
    const QueuedPort::InService& sent = queued.in_service();
    if (memory_) memory_->Release(sent.in, port, sent.cls, sent.bytes);
    ends_.Set(port, kNever);
  }
  choices_.Set(port, kNever);
  queued.Clear([&](const Packet& packet, PortIndex in) {
    if (memory_ && eager_) memory_->Release(in, port, packet.priority, packet.bytes);
    lost(packet);
  });
  pausing_[port] = 0;
  if (trimming_) trimming_->totals(port).was_down = true;
  NoteBacklog(port, now);
  if (memory_) effects_.Set(now, kLookAgain);
}

void QueuedPorts::VoidPauses(PortIndex port, Time now) {
  void_before_[port] = now;
  ports_[port].SetPaused(std::exchange(asked_[port], uint8_t{0}), false, now);
  NoteBacklog(port, now);
  FindNextService(port);
}

// A pause that the far end obeys from now on lasts for a time that follows from the new rate.
void QueuedPorts::OnNewChannel(PortIndex port, bool new_rate, Time now) {
  for (unsigned left = expires_ && new_rate ? pausing_[port] : 0; left != 0; left &= left - 1) {
    const size_t cls = static_cast<size_t>(std::countr_zero(left));
    if (queueing_.pause.refresh != PauseSettings::Refresh::kTimer) break;
    expiries_[port * kClasses + cls].again = now;
    effects_.Set(now, kAskAgain | uint64_t{port} << kPortShift | cls);
  }
  FindNextService(port);
}

void QueuedPorts::FindNextService(PortIndex port) {
  const Time next = ports_[port].NextService();
  if (!eager_) {
    if (next != kNever) backlogged_[port / 64] |= BitOf(port);  // Not while it was paused.
    next_late_ = std::min(next_late_, next);
  } else if (!ends_.Has(port)) {
    choices_.Set(port, next);
  }
}

int64_t QueuedPorts::waiting() const {
  int64_t packets = 0;
  for (const QueuedPort& port : ports_) packets += port.waiting();
  return packets;
}

size_t QueuedPorts::memory_bytes() const {
  size_t bytes = sizeof(*this);
  for (const QueuedPort& port : ports_) bytes += port.memory_bytes();
  return bytes;
}

}  // namespace heddle
