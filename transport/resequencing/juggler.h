// SPDX-License-Identifier: Apache-2.0
// JUGGLER (Geng et al., EuroSys 2016): resequencing in the receiving host's GRO layer, for the few
// flows that are active at a time. A flow that is in the table is in one of these phases:
//
//   build-up       It has just come. What it expects is the lowest segment seen so far, until the
//                  first ones go up.
//   active merge   Something is held: behind a hole for ofo_timeout at most, or in order for
//                  inseq_timeout, unless that makes 64 KB.
//   post merge     All has gone up. What it expects is still known.
//   loss recovery  A hole was given up. Everything goes up as it comes until that hole is filled.
//
// A flow that is not in the table is unknown, even if it was there before. When the table is full,
// the flow that has been in post merge for longest leaves. If none is in post merge, the flow that
// has been in any other phase for longest leaves, and its held packets go up.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/packet.h"
#include "core/units.h"
#include "settings/fields.h"
#include "transport/resequencing/index_list.h"
#include "transport/resequencing/resequencer.h"

namespace heddle {

struct JugglerSettings {
  Duration inseq_timeout{0};
  Duration ofo_timeout = 100_us;
  int64_t flows = 64;

  void Declare(Fields& fields);
};

class Juggler final : public Resequencer {
 public:
  Juggler(Sink& sink, const HoldLimits& limits, const JugglerSettings& settings)
      : Resequencer(sink, limits), settings_(settings) {}

  void Open(uint32_t slot) override;
  Time Deadline(uint32_t slot) const override;
  void Close(uint32_t slot, Time now) override;
  size_t memory_bytes() const override;

 private:
  enum class Phase : uint8_t { kAbsent, kBuildUp, kActiveMerge, kPostMerge, kLossRecovery };

  struct Entry {
    Phase phase = Phase::kAbsent;
    uint32_t lost = 0;  // In loss recovery: the first segment of the hole that was given up.
    // The packets held in order: segments [run_first, run_end), and their payload.
    uint32_t run_first = 0;
    uint32_t run_end = 0;
    int64_t run_bytes = 0;
    IndexList::Link link;
  };

  void Take(uint32_t slot, const Packet& packet) override;
  void Expire(uint32_t slot, Time now) override;
  void Note(uint32_t slot, const Packet& packet) override;
  void Enter(uint32_t slot, const Packet& packet);
  void Leave(uint32_t slot);
  void Evict(Time now);
  void Recover(uint32_t slot, const Packet& packet);
  void Merge(uint32_t slot, const Packet& packet);
  int64_t RunBytes(uint32_t slot);
  void Settle(uint32_t slot);
  IndexList& ListOf(Phase phase) { return phase == Phase::kPostMerge ? inactive_ : active_; }
  auto Links() {
    return [this](uint32_t slot) -> IndexList::Link& { return entries_[slot].link; };
  }

  const JugglerSettings settings_;
  std::vector<Entry> entries_;  // By slot.
  int64_t present_ = 0;         // Flows that are in the table.
  IndexList inactive_;          // Flows in post merge, longest since the last packet first.
  IndexList active_;            // Flows in other phases, longest first.
};

}  // namespace heddle
