// SPDX-License-Identifier: Apache-2.0
// FlowTable finds the slot of a flow at this host by its id. It uses open addressing with linear
// probing, sized for the flows alive. Up to four flows are in the table itself, as most hosts have
// no more, so their entries come with the object. It is only for finding; its order never reaches a
// result.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/packet.h"

namespace heddle {

class FlowTable {
 public:
  static constexpr uint32_t kAbsent = ~uint32_t{0};

  FlowTable() = default;
  FlowTable(const FlowTable&) = delete;
  FlowTable& operator=(const FlowTable&) = delete;

  // Returns the slot of `flow`, kAbsent if it is not here.
  uint32_t Find(FlowId flow) const {
    for (size_t i = Home(flow);; i = (i + 1) & mask_) {
      const Entry& entry = entries_[i];
      if (entry.slot == kAbsent) return kAbsent;
      if (entry.flow == flow) return entry.slot;
    }
  }

  // `flow` must not be in the table.
  void Insert(FlowId flow, uint32_t slot) {
    if (++size_ * 2 > mask_ + 1) Grow();
    size_t i = Home(flow);
    while (entries_[i].slot != kAbsent) i = (i + 1) & mask_;
    entries_[i] = {flow, slot};
  }

  // `flow` must be in the table.
  void Erase(FlowId flow) {
    size_t hole = Home(flow);
    while (entries_[hole].flow != flow || entries_[hole].slot == kAbsent) hole = (hole + 1) & mask_;
    // Pull back what probing would no longer find across the hole.
    for (size_t i = (hole + 1) & mask_; entries_[i].slot != kAbsent; i = (i + 1) & mask_) {
      const size_t distance = (i - Home(entries_[i].flow)) & mask_;
      if (distance >= ((i - hole) & mask_)) {
        entries_[hole] = entries_[i];
        hole = i;
      }
    }
    entries_[hole].slot = kAbsent;
    --size_;
  }

  size_t size() const { return size_; }
  size_t memory_bytes() const { return many_.capacity() * sizeof(Entry); }

 private:
  struct Entry {
    FlowId flow = 0;
    uint32_t slot = kAbsent;
  };

  // Fibonacci hashing: flow ids are consecutive.
  size_t Home(FlowId flow) const { return (flow * uint64_t{0x9e3779b97f4a7c15}) >> shift_; }

  void Grow() {
    std::vector<Entry> grown((mask_ + 1) * 2);
    std::span<const Entry> old(entries_, mask_ + 1);
    entries_ = grown.data();
    mask_ = grown.size() - 1;
    --shift_;
    for (const Entry& entry : old) {
      if (entry.slot == kAbsent) continue;
      size_t i = Home(entry.flow);
      while (entries_[i].slot != kAbsent) i = (i + 1) & mask_;
      entries_[i] = entry;
    }
    many_ = std::move(grown);
  }

  std::array<Entry, 8> few_;
  std::vector<Entry> many_;
  Entry* entries_ = few_.data();
  size_t mask_ = 7;
  int shift_ = 61;
  size_t size_ = 0;
};

}  // namespace heddle
