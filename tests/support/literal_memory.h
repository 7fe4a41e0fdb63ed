// SPDX-License-Identifier: Apache-2.0
// The published memory models of switches, rule by rule. Tests compare SharedMemory with them.
// Every sum is calculated anew whenever it is needed.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "fabric/shared_memory.h"

namespace heddle {

class LiteralMemory {
 public:
  LiteralMemory(const MemorySettings& settings, const std::vector<SharedMemory::Port>& ports);

  std::optional<DropReason> Admit(PortIndex in, PortIndex out, size_t cls, int64_t bytes,
                                  int64_t queued, int64_t size);
  void Release(PortIndex in, PortIndex out, size_t cls, int64_t bytes);
  bool MustPause(PortIndex in, size_t cls) const;
  bool MayResume(PortIndex in, size_t cls) const;
  bool IsLossless(size_t cls) const { return (settings_.lossless >> cls & 1) != 0; }

  // Returns true if the models would refuse the packet under the rule that no packet lies partly in
  // a reserve or guarantee: the pool must have room for its whole size. `free` is set to the room
  // for it.
  bool PublishedRuleRefuses(PortIndex in, PortIndex out, size_t cls, int64_t bytes,
                            double& free) const;

  int64_t ingress(PortIndex in, size_t cls) const { return inputs_[in][cls].ingress; }
  int64_t hdrm(PortIndex in, size_t cls) const { return inputs_[in][cls].hdrm; }
  int64_t egress(PortIndex out, size_t cls) const { return outputs_[out][cls]; }

 private:
  struct Input {
    int64_t ingress = 0;  // Reserve and pool.
    int64_t hdrm = 0;
  };

  double PoolSize() const;
  double PoolUsed() const;     // The sum over inputs.
  double OutPoolSize() const;  // broadcom_mmu.
  double OutPoolUsed() const;
  int64_t Shared(const Input& input) const;
  int64_t Reserve() const;
  double Threshold(PortIndex in) const;
  std::optional<DropReason> RefuseAtOutput(PortIndex out, size_t cls, int64_t bytes, int64_t queued,
                                           int64_t size) const;
  bool FitsBesideHeadroom(PortIndex in, size_t cls, int64_t bytes) const;

  const MemorySettings settings_;
  const std::vector<SharedMemory::Port> ports_;
  std::vector<std::array<Input, kClasses>> inputs_;
  std::vector<std::array<int64_t, kClasses>> outputs_;
};

}  // namespace heddle
