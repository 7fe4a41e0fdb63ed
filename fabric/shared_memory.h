// SPDX-License-Identifier: Apache-2.0
// The shared buffer of a switch: which port may use how much of it, and when the sender at the far
// end of a link must pause (PFC). QueuedPorts calls Admit() and Release() for each packet while its
// ports are eager. While they are late, only packets that a policy holds back are charged here.
//
// Every packet is charged twice, to the (input, class) it came from and to the (output, class) it
// waits for. Beyond its reserve, an input takes bytes from the common pool. A lossless class may
// also take them from headroom, which belongs to that input alone and holds the packets that arrive
// between the decision to pause a sender and the pause's effect (IEEE 802.1Qbb). Packets of class
// 0 are not charged and never dropped for lack of buffer, except at ports that trim packets, which
// limit them (fabric/trimming.h).

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/check.h"
#include "core/packet.h"
#include "core/units.h"
#include "fabric/fifo_port.h"

namespace heddle {

inline constexpr size_t kClasses = 8;  // Packet::priority.

enum class DropReason : uint8_t {
  kTail,       // The port's own buffer is full.
  kThreshold,  // The queue would exceed its dynamic threshold.
  kIngress,    // The input would exceed its share of the pool.
  kHeadroom,   // A lossless class has used up its headroom.
  kWatchdog,   // Its class was paused for so long that the port gave up on it.
  kPolicy,
  kLoop,
  kNoRoute,
  kLinkDown,
  kCorrupt,    // A link has damaged it.
  kRandom,     // A faulty switch dropped it by chance.
  kBlackhole,  // A faulty switch drops all packets like it (same ends, hash or in-port).
  kTrimFull,   // A trimmed header, or another class-0 packet, exceeds the limit for headers.
};
inline constexpr size_t kDropReasons = 13;
inline constexpr const char* kDropReasonNames[kDropReasons] = {
    "TAIL",    "DT",       "INGRESS", "HEADROOM", "WATCHDOG",  "POLICY",   "LOOP",
    "NOROUTE", "LINKDOWN", "CORRUPT", "RANDOM",   "BLACKHOLE", "TRIM_FULL"};

struct MemorySettings {
  enum class Model {
    kPrivate,   // Each port has a buffer of its own.
    kDynamic,   // A queue may hold alpha times the free pool (Choudhury and Hahne, ToN 1998).
    kHpcc,      // An input may hold alpha times the free pool; no limit at outputs (HPCC, 2019).
    kBroadcom,  // A lossless class of an input pauses above alpha_in times the free pool of inputs;
                // a queue holds alpha times that of outputs (the simulator of ConWeave, 2023).
  };

  Model model = Model::kPrivate;
  int64_t size = 0;      // Bytes of the whole switch; unused by kPrivate.
  double alpha = 1;      // kDynamic: queues, lossless inputs. kHpcc: inputs. kBroadcom: queues.
  double alpha_in = 0;   // kBroadcom: inputs.
  int64_t reserve = 0;   // kHpcc: bytes for each (input, class).
  int64_t mtu = 0;       // kBroadcom: the unit of its guarantees.
  uint8_t lossless = 0;  // Classes that are paused rather than dropped; bit mask.
  int64_t resume_offset = 0;     // An input resumes this many bytes below its pause threshold.
  bool limits_lossless = false;  // alpha also limits queues of lossless classes.
};

class SharedMemory {
 public:
  struct Port {
    int64_t buffer;             // kPrivate: bytes or packets for lossy classes.
    int64_t headroom = 0;       // Bytes for each lossless class of this input.
    int64_t xoff = kUnlimited;  // Bytes beyond the reserve above which a lossless class of this
                                // input pauses, even if the pool has room.
    double faster = 1;          // Rate over that of the slowest NIC: scales kHpcc's alpha, up to 1.
  };
  SharedMemory(const MemorySettings& settings, const std::vector<Port>& ports);

  bool IsLossless(size_t cls) const { return (settings_.lossless >> cls & 1) != 0; }

  // Charges a packet of `bytes`, or returns why there is no room for it. `queued` is the queue of
  // output `out` over all classes and `size` the size of the packet, both in the unit of the port's
  // own buffer.
  std::optional<DropReason> Admit(PortIndex in, PortIndex out, size_t cls, int64_t bytes,
                                  int64_t queued, int64_t size);
  void Release(PortIndex in, PortIndex out, size_t cls, int64_t bytes);
  // Charges a packet for which there is room, without headroom.
  void Add(PortIndex in, PortIndex out, size_t cls, int64_t bytes);

  // While the buffer holds at most so many bytes, no packet of `classes` (a bit mask) is refused
  // and no input must pause, whoever holds the bytes.
  int64_t SafeBytes(uint8_t classes) const;

  // The same with a limit for each input, over all classes. Often far more bytes are safe if they
  // come from several inputs.
  struct Safe {
    int64_t total;
    int64_t input;
  };
  Safe SafeShares(uint8_t classes) const;

  // MustPause() is true if the sender at `in` must pause; MayResume() if a paused one may go on.
  bool MustPause(PortIndex in, size_t cls) const;
  bool MayResume(PortIndex in, size_t cls) const;

  // The bytes of one (input, class) in the buffer, those of an input, and the bytes above which its
  // sender must pause, as the pool is now.
  int64_t held(PortIndex in, size_t cls) const { return At(in, cls).share + At(in, cls).headroom; }
  int64_t held(PortIndex in) const {
    int64_t bytes = 0;
    for (size_t cls = 1; cls < kClasses; ++cls) bytes += held(in, cls);
    return bytes;
  }
  int64_t pause_above(PortIndex in) const { return reserve_ + PauseThreshold(in); }

  // Bytes charged in the whole switch, and bytes in the headroom of one (input, class).
  int64_t used() const { return used_; }
  int64_t headroom_used(PortIndex in, size_t cls) const { return At(in, cls).headroom; }
  bool UsesHeadroom() const {
    return std::ranges::any_of(inputs_, [](const Input& input) { return input.headroom > 0; });
  }

  // Bytes left for the pool after reserves and headroom; negative if these exceed the buffer.
  static int64_t PoolOf(const MemorySettings& settings, const std::vector<Port>& ports);

  // Stops the program if the books of inputs and outputs do not agree.
  void CheckBooks() const;

 private:
  struct Input {
    int64_t share = 0;     // Bytes in the reserve, then in the pool.
    int64_t headroom = 0;  // Bytes in the headroom.
  };

  Input& At(PortIndex in, size_t cls) { return inputs_[in * kClasses + cls]; }
  const Input& At(PortIndex in, size_t cls) const { return inputs_[in * kClasses + cls]; }
  int64_t& Output(PortIndex out, size_t cls) { return outputs_[out * kClasses + cls]; }

  int64_t InPool(const Input& input) const {
    return input.share > reserve_ ? input.share - reserve_ : 0;
  }
  int64_t BeyondGuarantee(int64_t queued) const {
    return queued > guarantee_ ? queued - guarantee_ : 0;
  }
  static int64_t Share(double alpha, int64_t free) {
    return static_cast<int64_t>(alpha * static_cast<double>(std::max<int64_t>(free, 0)));
  }
  int64_t PauseThreshold(PortIndex in) const {
    return std::min(limits_[in].xoff, Share(limits_[in].alpha, pool_ - in_pool_used_));
  }
  void Charge(Input& input, PortIndex out, size_t cls, int64_t share, int64_t headroom);
  bool FitsShare(PortIndex in, const Input& input, int64_t bytes) const;
  std::optional<DropReason> RefuseAtOutput(PortIndex out, size_t cls, int64_t bytes, int64_t queued,
                                           int64_t size) const;

  int64_t SafeAtOutput(uint8_t classes) const;

  // An input pauses above the smaller of `xoff` and `alpha` times the free pool.
  struct Limit {
    int64_t xoff;
    double alpha;
  };

  const MemorySettings settings_;
  const std::vector<Port> ports_;
  std::vector<Limit> limits_;
  const int64_t pool_;       // Bytes for inputs, beyond reserves and headroom.
  const int64_t out_pool_;   // kBroadcom: bytes for outputs.
  const int64_t reserve_;    // Bytes for each (input, class).
  const int64_t guarantee_;  // Bytes for each (output, class).
  std::vector<Input> inputs_;
  std::vector<int64_t> outputs_;
  int64_t in_pool_used_ = 0;
  int64_t out_pool_used_ = 0;
  int64_t used_ = 0;
};

inline void SharedMemory::Release(PortIndex in, PortIndex out, size_t cls, int64_t bytes) {
  if (cls == 0) return;
  Input& input = At(in, cls);
  const int64_t from_headroom = std::min(bytes, input.headroom);
  const int64_t before = InPool(input);
  input.headroom -= from_headroom;
  input.share -= bytes - from_headroom;
  in_pool_used_ += InPool(input) - before;
  int64_t& length = Output(out, cls);
  out_pool_used_ += BeyondGuarantee(length - bytes) - BeyondGuarantee(length);
  length -= bytes;
  used_ -= bytes;
  HEDDLE_CHECK(input.share >= 0 && length >= 0, "input {} holds {} bytes, output {} has {}", in,
               input.share, out, length);
}

inline bool SharedMemory::MustPause(PortIndex in, size_t cls) const {
  const Input& input = At(in, cls);
  return input.headroom > 0 || InPool(input) > PauseThreshold(in);
}

inline bool SharedMemory::MayResume(PortIndex in, size_t cls) const {
  const Input& input = At(in, cls);
  if (input.headroom > 0) return false;
  return InPool(input) == 0 || InPool(input) <= PauseThreshold(in) - settings_.resume_offset;
}

}  // namespace heddle
