// SPDX-License-Identifier: Apache-2.0

#include "fabric/shared_memory.h"

#include <algorithm>
#include <bit>

#include "core/check.h"
#include "fabric/input_share.h"

namespace heddle {
namespace {

using Model = MemorySettings::Model;

int64_t ReserveOf(const MemorySettings& settings) {
  switch (settings.model) {
    case Model::kHpcc:
      return settings.reserve;
    case Model::kBroadcom:
      return 2 * settings.mtu;  // One MTU for the (input, class), one for the input.
    default:
      return 0;
  }
}

// The largest b <= alpha * (pool - b), less one byte for the rounding.
int64_t LargestShare(double alpha, int64_t pool) {
  return static_cast<int64_t>(alpha / (1 + alpha) * static_cast<double>(pool)) - 1;
}

}  // namespace

double InputShare(const MemorySettings& settings, const SharedMemory::Port& port) {
  switch (settings.model) {
    case Model::kPrivate:
      return 1;  // The pool is unlimited, so only xoff counts.
    case Model::kDynamic:
      return settings.alpha;
    case Model::kHpcc:
      return std::min(1.0, settings.alpha * port.faster);
    case Model::kBroadcom:
      return settings.alpha_in;
  }
  return 0;
}

int64_t SharedMemory::PoolOf(const MemorySettings& settings, const std::vector<Port>& ports) {
  if (settings.model == Model::kPrivate) return kUnlimited;
  const int64_t inputs = static_cast<int64_t>(ports.size() * kClasses);
  int64_t pool = settings.size;
  for (const Port& port : ports) pool -= port.headroom * std::popcount(settings.lossless);
  if (settings.model == Model::kHpcc) pool -= inputs * settings.reserve;
  if (settings.model == Model::kBroadcom) pool -= inputs * settings.mtu;
  return pool;
}

SharedMemory::SharedMemory(const MemorySettings& settings, const std::vector<Port>& ports)
    : settings_(settings),
      ports_(ports),
      pool_(PoolOf(settings, ports)),
      out_pool_(settings.size - static_cast<int64_t>(ports.size() * kClasses) * settings.mtu),
      reserve_(ReserveOf(settings)),
      guarantee_(settings.model == Model::kBroadcom ? settings.mtu + 1 : 0),
      inputs_(ports.size() * kClasses),
      outputs_(ports.size() * kClasses) {
  for (const Port& port : ports) limits_.push_back({port.xoff, InputShare(settings, port)});
}

// Returns true if `bytes` more of an input fit its reserve and the pool.
bool SharedMemory::FitsShare(PortIndex in, const Input& input, int64_t bytes) const {
  const int64_t after = input.share + bytes;
  if (after <= reserve_) return true;
  if (in_pool_used_ + std::min(bytes, after - reserve_) > pool_) return false;
  return settings_.model == Model::kBroadcom || after - reserve_ <= PauseThreshold(in);
}

// Called for lossless classes only if settings_.limits_lossless.
std::optional<DropReason> SharedMemory::RefuseAtOutput(PortIndex out, size_t cls, int64_t bytes,
                                                       int64_t queued, int64_t size) const {
  const int64_t length = outputs_[out * kClasses + cls];
  switch (settings_.model) {
    case Model::kPrivate:
      if (queued + size > ports_[out].buffer) return DropReason::kTail;
      break;
    case Model::kDynamic: {
      const int64_t free = pool_ - in_pool_used_;
      if (length + bytes > Share(settings_.alpha, free) || bytes > free)
        return DropReason::kThreshold;
      break;
    }
    case Model::kBroadcom:
      if (BeyondGuarantee(length + bytes) > Share(settings_.alpha, out_pool_ - out_pool_used_))
        return DropReason::kThreshold;
      break;
    case Model::kHpcc:
      break;
  }
  return std::nullopt;
}

std::optional<DropReason> SharedMemory::Admit(PortIndex in, PortIndex out, size_t cls,
                                              int64_t bytes, int64_t queued, int64_t size) {
  if (cls == 0) return std::nullopt;
  const bool lossless = IsLossless(cls);
  if (!lossless || settings_.limits_lossless) {
    if (const auto refused = RefuseAtOutput(out, cls, bytes, queued, size)) return refused;
  }
  Input& input = At(in, cls);
  const bool limited =
      lossless || settings_.model == Model::kHpcc || settings_.model == Model::kBroadcom;
  if (!limited || FitsShare(in, input, bytes)) {
    Charge(input, out, cls, bytes, 0);
  } else if (lossless && input.headroom + bytes <= ports_[in].headroom) {
    Charge(input, out, cls, 0, bytes);
  } else {
    return lossless ? DropReason::kHeadroom : DropReason::kIngress;
  }
  return std::nullopt;
}

void SharedMemory::Add(PortIndex in, PortIndex out, size_t cls, int64_t bytes) {
  if (cls != 0) Charge(At(in, cls), out, cls, bytes, 0);
}

void SharedMemory::Charge(Input& input, PortIndex out, size_t cls, int64_t share,
                          int64_t headroom) {
  const int64_t before = InPool(input);
  input.share += share;
  input.headroom += headroom;
  in_pool_used_ += InPool(input) - before;
  const int64_t bytes = share + headroom;
  int64_t& length = Output(out, cls);
  out_pool_used_ += BeyondGuarantee(length + bytes) - BeyondGuarantee(length);
  length += bytes;
  used_ += bytes;
}

// In the worst case all bytes b belong to one input and wait for one output. Where buffers count
// packets, b bytes are at most b packets.
int64_t SharedMemory::SafeBytes(uint8_t classes) const {
  int64_t safe = std::min(pool_, SafeAtOutput(classes));
  for (const Limit& limit : limits_) {
    safe = std::min(safe, limit.xoff);
    if (settings_.model != Model::kPrivate) safe = std::min(safe, LargestShare(limit.alpha, pool_));
  }
  return safe;
}

// The bytes that are safe if all of them wait for one output.
int64_t SharedMemory::SafeAtOutput(uint8_t classes) const {
  const bool is_limited = settings_.limits_lossless || (classes & ~settings_.lossless & ~1) != 0;
  if (!is_limited) return kUnlimited;
  switch (settings_.model) {
    case Model::kDynamic:
      return LargestShare(settings_.alpha, pool_);
    case Model::kBroadcom:
      return LargestShare(settings_.alpha, out_pool_);
    case Model::kPrivate:
      return std::ranges::min(ports_, {}, &Port::buffer).buffer;
    case Model::kHpcc:
      break;
  }
  return kUnlimited;
}

// With a quarter of the pool in use, three quarters are left for the thresholds of inputs.
SharedMemory::Safe SharedMemory::SafeShares(uint8_t classes) const {
  const int64_t safe = SafeBytes(classes);
  const int64_t total = std::min(pool_ / 4, SafeAtOutput(classes));
  if (total <= safe) return {safe, safe};
  int64_t input = total;
  for (const Limit& limit : limits_) {
    input = std::min({input, limit.xoff, Share(limit.alpha, pool_ - total)});
  }
  return {total, input};
}

void SharedMemory::CheckBooks() const {
  int64_t at_inputs = 0;
  int64_t in_pool = 0;
  for (const Input& input : inputs_) {
    at_inputs += input.share + input.headroom;
    in_pool += InPool(input);
  }
  int64_t at_outputs = 0;
  int64_t out_pool = 0;
  for (const int64_t length : outputs_) {
    at_outputs += length;
    out_pool += BeyondGuarantee(length);
  }
  HEDDLE_CHECK(at_inputs == used_ && at_outputs == used_ && in_pool == in_pool_used_ &&
                   out_pool == out_pool_used_,
               "shared buffer: {} bytes in use; inputs count {} ({} of {} in the pool), outputs "
               "count {} ({} of {} in the pool)",
               used_, at_inputs, in_pool, in_pool_used_, at_outputs, out_pool, out_pool_used_);
}

}  // namespace heddle
