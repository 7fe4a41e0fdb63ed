// SPDX-License-Identifier: Apache-2.0

#include "fabric/reordering.h"

#include <algorithm>

namespace heddle {
namespace {

// A packet later than this many arrivals is taken to have just this extent.
constexpr int64_t kWindow = 4'096;
constexpr int32_t kMaxDegree = 64;

}  // namespace

void ReorderingTracker::Reset() {
  next_expected_ = 0;
  arrivals_ = 0;
  recent_.clear();
  holes_.clear();
}

std::optional<Reordered> ReorderingTracker::OnIrregularArrival(uint32_t number, int64_t index,
                                                               Time now) {
  std::optional<Reordered> reordered;
  if (number >= next_expected_) {
    if (number > next_expected_) holes_.push_back({next_expected_, number, index, now});
    next_expected_ = number + 1;
  } else {
    reordered = FillHole(number, index, now);
    reordered->degree = DegreeOf(number);
  }
  Remember(number);
  return reordered;
}

// The first arrival with a higher number is the one that opened the hole: numbers beyond it that
// had arrived before would have opened it earlier.
Reordered ReorderingTracker::FillHole(uint32_t number, int64_t index, Time now) {
  const auto current =
      std::ranges::find_if(holes_, [&](const Hole& hole) { return hole.index >= index - kWindow; });
  holes_.erase(holes_.begin(), current);
  const auto hole = std::ranges::upper_bound(holes_, number, {}, &Hole::end);
  if (hole == holes_.end() || number < hole->first) return {kWindow, 0, Duration{0}};
  const Reordered reordered{index - hole->index, 0, now - hole->at};
  const Hole rest{number + 1, hole->end, hole->index, hole->at};
  hole->end = number;
  const bool keeps_front = hole->first < hole->end;
  if (rest.first == rest.end) {
    if (!keeps_front) holes_.erase(hole);
  } else if (keeps_front) {
    holes_.insert(hole + 1, rest);
  } else {
    *hole = rest;
  }
  return reordered;
}

int32_t ReorderingTracker::DegreeOf(uint32_t number) const {
  int64_t degree = 0;
  for (size_t i = recent_.size(); i-- > 0 && recent_[i].first > number && degree < kMaxDegree;) {
    degree += recent_[i].count;
  }
  return static_cast<int32_t>(std::min<int64_t>(degree, kMaxDegree));
}

void ReorderingTracker::Remember(uint32_t number) {
  if (!recent_.empty() && recent_.back().end() == number) {
    ++recent_.back().count;
    return;
  }
  if (recent_.size() == kMaxDegree) recent_.pop_front();
  recent_.push_back({number, 1});
}

void ReorderingStats::Add(const Reordered& packet) {
  ++(packet.degree >= 3 ? degree3_plus : packet.degree == 2 ? degree2 : degree1);
  extent.Add(packet.extent);
  late_ps.Add(packet.late.ps);
}

void ReorderingStats::Merge(const ReorderingStats& other) {
  degree1 += other.degree1;
  degree2 += other.degree2;
  degree3_plus += other.degree3_plus;
  extent.Merge(other.extent);
  late_ps.Merge(other.late_ps);
}

}  // namespace heddle
