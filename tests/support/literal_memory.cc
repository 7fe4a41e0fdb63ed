// SPDX-License-Identifier: Apache-2.0

#include "tests/support/literal_memory.h"

#include <algorithm>
#include <cmath>

namespace heddle {
namespace {

using Model = MemorySettings::Model;

double Real(int64_t bytes) { return static_cast<double>(bytes); }

}  // namespace

LiteralMemory::LiteralMemory(const MemorySettings& settings,
                             const std::vector<SharedMemory::Port>& ports)
    : settings_(settings), ports_(ports), inputs_(ports.size()), outputs_(ports.size()) {
  for (auto& classes : outputs_) classes.fill(0);
}

// HPCC: 4 KB of each class of each port. Broadcom: an MTU of the class, an MTU of the port.
int64_t LiteralMemory::Reserve() const {
  if (settings_.model == Model::kHpcc) return settings_.reserve;
  if (settings_.model == Model::kBroadcom) return settings_.mtu + settings_.mtu;
  return 0;
}

int64_t LiteralMemory::Shared(const Input& input) const {
  return std::max<int64_t>(0, input.ingress - Reserve());
}

double LiteralMemory::PoolSize() const {
  if (settings_.model == Model::kPrivate) return HUGE_VAL;
  double pool = Real(settings_.size);
  for (const SharedMemory::Port& port : ports_) {
    for (size_t cls = 0; cls < kClasses; ++cls) {
      if (IsLossless(cls)) pool -= Real(port.headroom);
      if (settings_.model == Model::kHpcc) pool -= Real(settings_.reserve);
      if (settings_.model == Model::kBroadcom) pool -= Real(settings_.mtu);
    }
  }
  return pool;
}

double LiteralMemory::PoolUsed() const {
  int64_t used = 0;
  for (const auto& classes : inputs_) {
    for (const Input& input : classes) used += Shared(input);
  }
  return Real(used);
}

double LiteralMemory::OutPoolSize() const {
  return Real(settings_.size) - Real(settings_.mtu) * Real(kClasses) * Real(outputs_.size());
}

double LiteralMemory::OutPoolUsed() const {
  int64_t used = 0;
  for (const auto& classes : outputs_) {
    for (const int64_t length : classes) used += std::max<int64_t>(0, length - settings_.mtu - 1);
  }
  return Real(used);
}

double LiteralMemory::Threshold(PortIndex in) const {
  const double xoff = Real(ports_[in].xoff);
  const double free = PoolSize() - PoolUsed();
  switch (settings_.model) {
    case Model::kPrivate:
      return xoff;
    case Model::kDynamic:
      return std::min(xoff, settings_.alpha * free);
    case Model::kHpcc:
      return std::min(xoff, std::min(1.0, settings_.alpha * ports_[in].faster) * free);
    case Model::kBroadcom:
      return std::min(xoff, settings_.alpha_in * free);
  }
  return 0;
}

std::optional<DropReason> LiteralMemory::RefuseAtOutput(PortIndex out, size_t cls, int64_t bytes,
                                                        int64_t queued, int64_t size) const {
  const int64_t after = outputs_[out][cls] + bytes;
  switch (settings_.model) {
    case Model::kPrivate:
      if (queued + size > ports_[out].buffer) return DropReason::kTail;
      break;
    case Model::kDynamic:
      if (Real(after) > settings_.alpha * (PoolSize() - PoolUsed())) return DropReason::kThreshold;
      if (PoolUsed() + Real(bytes) > PoolSize()) return DropReason::kThreshold;
      break;
    case Model::kBroadcom:
      if (after > settings_.mtu + 1 &&
          Real(after - settings_.mtu - 1) > settings_.alpha * (OutPoolSize() - OutPoolUsed())) {
        return DropReason::kThreshold;
      }
      break;
    case Model::kHpcc:
      break;
  }
  return std::nullopt;
}

bool LiteralMemory::FitsBesideHeadroom(PortIndex in, size_t cls, int64_t bytes) const {
  const Input& input = inputs_[in][cls];
  Input after = input;
  after.ingress += bytes;
  if (Shared(after) == 0) return true;
  if (PoolUsed() + Real(Shared(after) - Shared(input)) > PoolSize()) return false;
  // Broadcom's inputs pause at their threshold, but take what comes until the pool is full.
  return settings_.model == Model::kBroadcom || Real(Shared(after)) <= Threshold(in);
}

std::optional<DropReason> LiteralMemory::Admit(PortIndex in, PortIndex out, size_t cls,
                                               int64_t bytes, int64_t queued, int64_t size) {
  const bool lossless = IsLossless(cls);
  if (!lossless || settings_.limits_lossless) {
    if (const auto refused = RefuseAtOutput(out, cls, bytes, queued, size)) return refused;
  }
  Input& input = inputs_[in][cls];
  const bool no_input_limit =
      !lossless && (settings_.model == Model::kPrivate || settings_.model == Model::kDynamic);
  if (no_input_limit || FitsBesideHeadroom(in, cls, bytes)) {
    input.ingress += bytes;
  } else if (!lossless) {
    return DropReason::kIngress;
  } else if (input.hdrm + bytes > ports_[in].headroom) {
    return DropReason::kHeadroom;
  } else {
    input.hdrm += bytes;
  }
  outputs_[out][cls] += bytes;
  return std::nullopt;
}

void LiteralMemory::Release(PortIndex in, PortIndex out, size_t cls, int64_t bytes) {
  outputs_[out][cls] -= bytes;
  Input& input = inputs_[in][cls];
  for (; bytes > 0 && input.hdrm > 0; --bytes) --input.hdrm;
  input.ingress -= bytes;
}

bool LiteralMemory::MustPause(PortIndex in, size_t cls) const {
  const Input& input = inputs_[in][cls];
  return input.hdrm > 0 || Real(Shared(input)) > Threshold(in);
}

bool LiteralMemory::MayResume(PortIndex in, size_t cls) const {
  const Input& input = inputs_[in][cls];
  if (input.hdrm > 0) return false;
  if (Shared(input) == 0) return true;
  return Real(Shared(input)) <= std::floor(Threshold(in)) - Real(settings_.resume_offset);
}

bool LiteralMemory::PublishedRuleRefuses(PortIndex in, PortIndex out, size_t cls, int64_t bytes,
                                         double& free) const {
  const Input& input = inputs_[in][cls];
  const int64_t headroom = IsLossless(cls) ? ports_[in].headroom : 0;
  const bool headroom_full = input.hdrm + bytes > headroom;
  if (settings_.model == Model::kHpcc) {
    free = Threshold(in);
    return headroom_full && Real(bytes + Shared(input)) > free;
  }
  free = PoolSize() - PoolUsed();
  if (input.ingress + bytes > Reserve() && PoolUsed() + Real(bytes) > PoolSize() && headroom_full) {
    return true;
  }
  if (IsLossless(cls) && !settings_.limits_lossless) return false;
  free = settings_.alpha * (OutPoolSize() - OutPoolUsed());
  const int64_t shared = std::max<int64_t>(0, outputs_[out][cls] - settings_.mtu - 1);
  return Real(shared + bytes) > free;
}

}  // namespace heddle
