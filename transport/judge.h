// SPDX-License-Identifier: Apache-2.0
// RetransmissionJudge decides for a sender which retransmissions were spurious. A segment sent
// again was needed if the copy sent before it had been dropped by then. Otherwise the copy was
// delivered or still on its way, and the retransmission spurious.
//
// The node that drops a packet says so in a letter, which is read windows later, so the verdict on
// a retransmission waits until every drop before it must be known.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/units.h"
#include "fabric/flow.h"
#include "fabric/letters.h"

namespace heddle {

class RetransmissionJudge {
 public:
  void Reset();

  // The copy `tx_id` of a segment is being sent again at `now`, or presumed lost on account of
  // duplicate ACKs.
  void OnRetransmission(uint32_t tx_id, Time now) { cases_.push_back({tx_id, false, now}); }
  void OnFastRetransmit(uint32_t tx_id, Time now) { cases_.push_back({tx_id, true, now}); }

  void OnDrop(const DropNotice& notice);

  // Returns true if it is worth calling Settle before the flow ends.
  bool HasMany() const { return cases_.size() >= many_; }

  // Decides into `record` the cases before `known`, the time up to which all drops are known. Tells
  // `log` the verdicts on duplicate ACKs.
  void Settle(Time known, SenderRecord& record, FlowLog& log);

  size_t memory_bytes() const {
    return cases_.capacity() * sizeof(Case) + drops_.capacity() * sizeof(Drop);
  }

 private:
  struct Case {
    uint32_t tx_id;
    bool fast_retransmit;
    Time at;
  };
  struct Drop {
    uint32_t tx_id;
    Time at;
  };

  static constexpr size_t kMany = 64;

  std::vector<Case> cases_;  // Sorted by time.
  std::vector<Drop> drops_;  // By tx_id.
  size_t many_ = kMany;      // More cases than were left open the last time.
};

}  // namespace heddle
