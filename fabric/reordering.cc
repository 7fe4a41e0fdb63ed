// SPDX-License-Identifier: Apache-2.0

#include "fabric/reordering.h"

#include <algorithm>

namespace heddle {
namespace {

// The extent of a packet is at most this many arrivals.
constexpr int64_t kWindow = 4'096;
constexpr size_t kFewHoles = 64;
constexpr int32_t kMaxDegree = 64;

}  // namespace

void ReorderingTracker::Reset() {
  next_expected_ = 0;
  arrivals_ = 0;
  run_ = Run{};
  earlier_runs_.clear();
  holes_.clear();
  forgotten_until_ = Time{};
  forget_at_ = kFewHoles;
}

std::optional<Reordered> ReorderingTracker::OnIrregularArrival(uint32_t number, int64_t index,
                                                               Time now) {
  std::optional<Reordered> reordered;
  if (number >= next_expected_) {
    if (number > next_expected_) {
      ForgetHoles(index);
      holes_.push_back({next_expected_, number, index, now});
    }
    next_expected_ = number + 1;
  } else {
    reordered = FillHole(number, index, now);
    reordered->degree = DegreeOf(number);
  }
  Remember(number);
  return reordered;
}

// Lost packets leave holes that nothing fills. This removes the holes older than the window, many
// at once, because each removal moves the others.
void ReorderingTracker::ForgetHoles(int64_t index) {
  if (holes_.size() < forget_at_) return;
  const auto current =
      std::ranges::find_if(holes_, [&](const Hole& hole) { return hole.index >= index - kWindow; });
  if (current != holes_.begin()) forgotten_until_ = std::prev(current)->at;
  holes_.erase(holes_.begin(), current);
  forget_at_ = std::max(kFewHoles, 2 * holes_.size());
}

// The first arrival with a higher number is the one that opened the hole: numbers beyond it that
// had arrived before would have opened it earlier.
Reordered ReorderingTracker::FillHole(uint32_t number, int64_t index, Time now) {
  const auto hole = std::ranges::upper_bound(holes_, number, {}, &Hole::end);
  // Its hole has been removed, so it opened no later than forgotten_until_.
  if (hole == holes_.end() || number < hole->first) return {kWindow, 0, now - forgotten_until_};
  if (hole->index < index - kWindow) return {kWindow, 0, now - hole->at};
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
  if (run_.first <= number) return 0;
  int64_t degree = run_.count;
  const Ring<Run>& runs = earlier_runs_;
  for (size_t i = runs.size(); i-- > 0 && runs[i].first > number && degree < kMaxDegree;) {
    degree += runs[i].count;
  }
  return static_cast<int32_t>(std::min<int64_t>(degree, kMaxDegree));
}

void ReorderingTracker::Remember(uint32_t number) {
  if (run_.end() == number) {
    ++run_.count;
    return;
  }
  if (earlier_runs_.size() == kMaxDegree - 1) earlier_runs_.pop_front();
  if (run_.count > 0) earlier_runs_.push_back(run_);
  run_ = {number, 1};
}

void ReorderingStats::Add(const Reordered& packet) {
  degree1 += packet.degree == 1 ? 1 : 0;
  degree2 += packet.degree == 2 ? 1 : 0;
  degree3_plus += packet.degree >= 3 ? 1 : 0;
  extent.Add(packet.extent);
  late_ps.Add(packet.late.ps);
}

void ReorderingStats::Merge(const ReorderingStats& other) {
  degree1 += other.degree1;
  degree2 += other.degree2;
  degree3_plus += other.degree3_plus;
  extent.Merge(other.extent);
  late_ps.Merge(other.late_ps);
  behind.Merge(other.behind);
}

}  // namespace heddle
