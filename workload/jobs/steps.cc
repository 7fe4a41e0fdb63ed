// SPDX-License-Identifier: Apache-2.0

#include "workload/jobs/steps.h"

#include <algorithm>
#include <set>
#include <utility>

#include "workload/jobs/transfer_time.h"

namespace heddle {

uint64_t StepAlgorithm::ArrivalsAt(uint32_t rank) const {
  uint64_t count = 0;
  for (uint32_t step = 0; step < steps(); ++step) count += RecvOf(rank, step, 0).exists ? 1 : 0;
  return count;
}

StepSchedule::StepSchedule(StepSettings settings,
                           std::vector<std::unique_ptr<StepAlgorithm>> algorithms)
    : settings_(std::move(settings)),
      algorithms_(std::move(algorithms)),
      ranks_(settings_.lanes.front().algorithm->ranks()),
      steps_(settings_.lanes.front().algorithm->steps()) {}

Message StepSchedule::MessageOf(uint64_t index) const {
  const uint32_t sender = static_cast<uint32_t>(index % ranks_);
  const uint32_t step = static_cast<uint32_t>(index / ranks_ % steps_);
  const StepSettings::Lane& lane = settings_.lanes[index / ranks_ / steps_];
  const StepAlgorithm::Transfer sent = lane.algorithm->SendOf(sender, step, lane.bytes);
  return {sender, sent.peer, sent.bytes, lane.channel, step, lane.piece * steps_ + step};
}

ScheduleTotals StepSchedule::Totals() const {
  const bool is_even =
      std::ranges::all_of(algorithms_, [](const auto& its) { return its->is_even(); });
  const std::set<uint32_t> looked_at = is_even ? SampleOfRanks(ranks_) : AllRanks(ranks_);
  const double each = static_cast<double>(ranks_) / static_cast<double>(looked_at.size());
  ScheduleTotals totals;
  for (const uint32_t rank : looked_at) {
    double bytes = 0;
    for (const StepSettings::Lane& lane : settings_.lanes) {
      for (uint32_t step = 0; step < steps_; ++step) {
        const StepAlgorithm::Transfer sent = lane.algorithm->SendOf(rank, step, lane.bytes);
        if (sent.exists) totals.Add(sent.bytes, each, bytes);
      }
    }
  }
  return totals;
}

bool StepSchedule::waits_for_all() const {
  return !settings_.reduce_rate &&
         std::ranges::all_of(algorithms_, [](const auto& its) { return its->needs_all(); });
}

uint64_t StepSchedule::ArrivalsAt(uint32_t rank) const {
  uint64_t count = 0;
  for (const StepSettings::Lane& lane : settings_.lanes) count += lane.algorithm->ArrivalsAt(rank);
  return count;
}

// Of each lane, the message of the first step that is not there.
std::vector<uint64_t> StepSchedule::MissingAt(uint32_t rank, const HasArrived& has_arrived) const {
  std::vector<uint64_t> missing;
  for (size_t lane = 0; lane < settings_.lanes.size(); ++lane) {
    const StepSettings::Lane& its = settings_.lanes[lane];
    for (uint32_t step = 0; step < steps_; ++step) {
      const StepAlgorithm::Transfer received = its.algorithm->RecvOf(rank, step, its.bytes);
      if (!received.exists || has_arrived(IndexOf(lane, step, received.peer))) continue;
      missing.push_back(IndexOf(lane, step, received.peer));
      break;
    }
  }
  return missing;
}

class StepSchedule::Program final : public RankProgram {
 public:
  Program(const StepSchedule& schedule, uint32_t rank)
      : schedule_(schedule), rank_(rank), lanes_(schedule.settings_.lanes.size()) {}

  void Begin(RankActions& actions) override {
    unfinished_ = lanes_.size();
    for (size_t lane = 0; lane < lanes_.size(); ++lane) {
      lanes_[lane] = Lane();
      Advance(lane, actions);
    }
  }

  void OnReceived(uint64_t index, RankActions& actions) override {
    const auto [lane, step] = PlaceOf(index);
    const StepSettings::Lane& its = schedule_.settings_.lanes[lane];
    const std::optional<BitRate>& rate = schedule_.settings_.reduce_rate;
    if (rate && its.algorithm->Reduces(step)) {
      const int64_t bytes = its.algorithm->RecvOf(rank_, step, its.bytes).bytes;
      return actions.Compute(/*stream=*/0, TransferTime(bytes, *rate), index);
    }
    Take(lane, step, actions);
  }

  void OnComputed(uint64_t op, RankActions& actions) override {
    const auto [lane, step] = PlaceOf(op);
    Take(lane, step, actions);
  }

  void OnSent(uint64_t index, RankActions& actions) override {
    const size_t lane = PlaceOf(index).first;
    --lanes_[lane].unfinished_sends;
    Advance(lane, actions);
  }

  bool finished() const override { return unfinished_ == 0; }

 private:
  struct Lane {
    uint32_t received = 0;  // The messages of all steps below have arrived.
    uint32_t sent = 0;      // The next step whose message is to be sent.
    uint32_t unfinished_sends = 0;
    std::vector<uint32_t> early;  // Steps beyond `received` whose messages have arrived.
  };

  std::pair<size_t, uint32_t> PlaceOf(uint64_t index) const {
    const uint64_t row = index / schedule_.ranks_;
    return {row / schedule_.steps_, static_cast<uint32_t>(row % schedule_.steps_)};
  }

  void Take(size_t lane, uint32_t step, RankActions& actions) {
    lanes_[lane].early.push_back(step);
    Advance(lane, actions);
  }

  // Returns true if nothing is missing of the first step that has not been received.
  bool HasNext(size_t lane) {
    Lane& its = lanes_[lane];
    const StepSettings::Lane& settings = schedule_.settings_.lanes[lane];
    if (!settings.algorithm->RecvOf(rank_, its.received, settings.bytes).exists) return true;
    const auto found = std::ranges::find(its.early, its.received);
    if (found == its.early.end()) return false;
    its.early.erase(found);
    return true;
  }

  // Sends what may be sent. A step's message needs those of the earlier steps.
  void Advance(size_t lane, RankActions& actions) {
    Lane& its = lanes_[lane];
    const uint32_t steps = schedule_.steps_;
    const bool was_finished = its.received == steps && its.sent == steps;
    for (;;) {
      const bool waits = schedule_.settings_.waits_for_sends && its.unfinished_sends > 0;
      if (its.sent < steps && its.sent <= its.received && !waits) {
        SendStep(lane, its.sent++, actions);
      } else if (its.received < its.sent && HasNext(lane)) {
        ++its.received;
      } else {
        break;
      }
    }
    if (!was_finished && its.received == steps && its.sent == steps) --unfinished_;
  }

  void SendStep(size_t lane, uint32_t step, RankActions& actions) {
    const StepSettings::Lane& settings = schedule_.settings_.lanes[lane];
    if (!settings.algorithm->SendOf(rank_, step, settings.bytes).exists) return;
    ++lanes_[lane].unfinished_sends;
    actions.Send(schedule_.IndexOf(lane, step, rank_));
  }

  const StepSchedule& schedule_;
  const uint32_t rank_;
  std::vector<Lane> lanes_;
  size_t unfinished_ = 0;  // Lanes.
};

std::unique_ptr<RankProgram> StepSchedule::ProgramOf(uint32_t rank) const {
  return std::make_unique<Program>(*this, rank);
}

}  // namespace heddle
