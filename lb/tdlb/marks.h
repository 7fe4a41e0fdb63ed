// SPDX-License-Identifier: Apache-2.0
// The congested flows that begin at one of TDLB's leaves, and the paths that they mark: the paper's
// hash array (Hu et al., Computer Networks 255, 2024, section 3.3). The leaf's policy calls Mark()
// and Clear() on notices, and IsMarked() and IsCongested() when it chooses a path.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/units.h"
#include "lb/parts/expiring_table.h"

namespace heddle {

class TdlbMarks {
 public:
  explicit TdlbMarks(size_t flows) : flows_(flows) {}

  void Attach(size_t leaves, size_t paths) {
    leaves_ = leaves;
    marks_.assign(leaves * paths, 0);
  }

  bool IsMarked(uint16_t leaf, uint16_t path) const { return marks_[path * leaves_ + leaf] > 0; }
  bool IsCongested(uint64_t flow) { return flows_.Find(flow) != nullptr; }

  // Marks this path for the flow, and removes the flow's mark from any other.
  void Mark(uint64_t flow, uint16_t leaf, uint16_t path, Time now) {
    const auto touched =
        flows_.Touch(flow, now, [this](uint64_t, const Marked& gone) { --At(gone); });
    if (!touched.is_new) --At(touched.state);
    touched.state = {leaf, path};
    ++At(touched.state);
  }
  void Clear(uint64_t flow) {
    const Marked* its = flows_.Find(flow);
    if (its == nullptr) return;
    --At(*its);
    flows_.Erase(flow);
  }
  // Removes the flows that have had no notice since `before`.
  void Expire(Time before) {
    flows_.ExpireBefore(before, [this](uint64_t, const Marked& gone) { --At(gone); });
  }

  size_t size() const { return flows_.size(); }
  int64_t evictions() const { return flows_.evictions(); }
  size_t memory_bytes() const { return flows_.memory_bytes() + marks_.size() * sizeof(uint32_t); }

 private:
  struct Marked {
    uint16_t leaf = 0;
    uint16_t path = 0;
  };

  uint32_t& At(const Marked& marked) { return marks_[marked.path * leaves_ + marked.leaf]; }

  ExpiringTable<Marked> flows_;  // By flow id and sending host.
  size_t leaves_ = 0;
  std::vector<uint32_t> marks_;  // The number of congested flows, by path, then leaf.
};

}  // namespace heddle
