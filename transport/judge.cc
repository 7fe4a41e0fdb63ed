// SPDX-License-Identifier: Apache-2.0

#include "transport/judge.h"

#include <algorithm>
#include <utility>

namespace heddle {

void RetransmissionJudge::Reset() {
  cases_.clear();
  drops_.clear();
  many_ = kMany;
}

// Drops become known nearly in the order of transmission, so few are moved, if any.
void RetransmissionJudge::OnDrop(const DropNotice& notice) {
  drops_.push_back({notice.tx_id, notice.at});
  for (size_t i = drops_.size() - 1; i > 0 && drops_[i - 1].tx_id > drops_[i].tx_id; --i) {
    std::swap(drops_[i - 1], drops_[i]);
  }
}

void RetransmissionJudge::Settle(Time known, SenderRecord& record, FlowLog& log) {
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
      log.FastRetransmit(c.at, lost);
    } else {
      ++(lost ? record.retransmissions_loss : record.retransmissions_spurious);
    }
  }
  cases_.erase(cases_.begin(), cases_.begin() + static_cast<std::ptrdiff_t>(decided));
  many_ = std::max(kMany, 2 * cases_.size());
}

}  // namespace heddle
