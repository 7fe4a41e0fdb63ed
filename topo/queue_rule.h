// SPDX-License-Identifier: Apache-2.0
// The settings of a switch's shared buffer and of PFC: how ports share the buffer, and when a
// switch pauses its neighbours. PortRule holds them, and QueuePlan turns them into values for each
// port.

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/units.h"
#include "fabric/queued_ports.h"
#include "settings/fields.h"
#include "topo/graph.h"

namespace heddle {

// How the ports of a switch share its buffer. What is not set follows from the model and the
// network; MemorySettings (fabric/shared_memory.h) has the values.
struct MemoryRule {
  MemorySettings::Model model = MemorySettings::Model::kPrivate;
  std::optional<Bytes> size;     // Of the whole switch.
  std::optional<double> alpha;   // A queue or an input may hold this times the free buffer.
  double alpha_in = 1.0 / 16;    // kBroadcom: the same for inputs.
  Bytes reserve{4'000};          // kHpcc: what a class of an input has for itself.
  bool limits_lossless = false;  // kBroadcom: alpha also limits queues of lossless classes.

  void Declare(Fields& fields);

  // The bytes of a switch whose hosts have links of rate `nic`. Not for kPrivate.
  Bytes SizeAt(BitRate nic) const;
};

// The PFC watchdog: what a port does if a class stays paused. It works as SONiC's, with the same
// defaults, but is off unless `detect` is set. See WatchdogSettings (fabric/queued_ports.h).
struct WatchdogRule {
  std::optional<Duration> detect;  // How long a class must have been paused.
  Duration restore = 200_ms;       // For how long the port then ignores pauses of the class.
  Duration poll = 100_ms;          // Time between two looks at the classes.
  bool drops = true;               // It also drops the packets of the class meanwhile.

  void Declare(Fields& fields);
};

// A pause frame on the wire: 64 bytes, preamble and inter-frame gap.
inline constexpr int64_t kPauseFrame = 84;

// Priority flow control, IEEE 802.1Qbb.
struct PauseRule {
  std::vector<int64_t> classes;        // Empty: off.
  std::optional<Bytes> xoff;           // An input with more of a class than this pauses its sender.
  std::optional<Bytes> headroom;       // What an input can hold beyond that; see HeadroomFor().
  std::optional<Bytes> resume_offset;  // An input resumes this far below its pause threshold.
  Duration response{0};                // From the arrival of a pause frame to its effect.
  std::optional<int64_t> quanta;       // Not set: a pause lasts until it is lifted.
  PauseSettings::Refresh refresh = PauseSettings::Refresh::kTimer;
  std::optional<Duration> refresh_interval;
  std::optional<Bytes> frame;  // A pause frame, without preamble and gap. Not set: 64 bytes.
  bool scan_all = false;       // A leaving packet may resume any input, not only its own.
  bool allow_loss = false;     // The user accepts that lossless classes may lose packets.
  std::optional<Duration> deadlock_check = 1_ms;  // Time between two searches. Not set: never.
  Duration deadlock_time = 10_ms;  // Ports paused in a circle for so long are a deadlock.
  bool deadlock_ends_run = true;
  WatchdogRule watchdog;

  void Declare(Fields& fields);

  bool on() const { return !classes.empty(); }
  uint8_t mask() const;
  uint16_t quanta_or_none() const { return static_cast<uint16_t>(quanta.value_or(0)); }
  // The bytes of a pause frame on the wire; a packet takes `overhead` more there than in the
  // buffer.
  int64_t FrameOnWire(int64_t overhead) const {
    return frame ? frame->count + overhead : kPauseFrame;
  }
};

// ECN marking between two queue lengths, as DCQCN uses it.
struct RedRule {
  std::optional<Bytes> min;
  std::optional<Bytes> max;
  std::optional<double> probability;

  void Declare(Fields& fields);
};

// The bytes of the largest packet in the buffer, and the bytes that any packet adds on the wire.
struct FrameSizes {
  int64_t packet;
  int64_t overhead;
  int64_t pause = kPauseFrame;  // A pause frame, on the wire.

  int64_t frame() const { return packet + overhead; }
};

// Returns the headroom of an input: the bytes that may arrive after it has decided to pause its
// sender, which sends on `in` and hears on `back`. The headroom holds what is on the wire both
// ways, a frame being sent in front of the pause frame, the pause frame, the packet that exceeded
// the threshold, the one that starts just before the pause takes effect, and what is sent while the
// sender reacts. Less would lose packets (802.1Qbb, annex O, states the same sum).
int64_t HeadroomFor(const Channel& in, const Channel& back, const FrameSizes& sizes,
                    Duration response);

}  // namespace heddle
