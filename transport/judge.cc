// SPDX-License-Identifier: Apache-2.0

#include "transport/judge.h"

#include <algorithm>

namespace heddle {

void RetransmissionJudge::Reset() {
  cases_.clear();
  drops_.clear();
}

void RetransmissionJudge::Settle(Time known, SenderRecord& record) {
  std::ranges::sort(drops_, {}, &Drop::tx_id);
  auto dropped_before = [this](const Case& c) {
    const auto drop = std::ranges::lower_bound(drops_, c.tx_id, {}, &Drop::tx_id);
    return drop != drops_.end() && drop->tx_id == c.tx_id && drop->at < c.at;
  };
  size_t decided = 0;
  for (; decided < cases_.size() && cases_[decided].at < known; ++decided) {
    const Case& c = cases_[decided];
    const bool lost = dropped_before(c);
    if (c.fast_retransmit) {
      record.fast_retransmits_reorder += lost ? 0 : 1;
    } else {
      ++(lost ? record.retransmissions_loss : record.retransmissions_spurious);
    }
  }
  cases_.erase(cases_.begin(), cases_.begin() + static_cast<std::ptrdiff_t>(decided));
}

}  // namespace heddle
