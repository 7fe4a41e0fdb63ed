// SPDX-License-Identifier: Apache-2.0
// Collectives in numbered steps: in each step a rank sends at most one message and receives at most
// one. It sends a step's message when it has received those of all earlier steps. Rings,
// halving-doubling, Bruck's algorithm, pairwise exchanges and many others are of this form.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/units.h"
#include "workload/jobs/schedule.h"

namespace heddle {

class StepAlgorithm {
 public:
  // A message to or from `peer`; `exists` is false if the rank has none in this step.
  struct Transfer {
    bool exists = false;
    uint32_t peer = 0;
    int64_t bytes = 0;
  };

  explicit StepAlgorithm(uint32_t ranks) : ranks_(ranks) {}
  virtual ~StepAlgorithm() = default;

  uint32_t ranks() const { return ranks_; }
  virtual uint32_t steps() const = 0;

  // The rank's message of a step, out of a buffer of `bytes`.
  virtual Transfer SendOf(uint32_t rank, uint32_t step, int64_t bytes) const = 0;

  // The rank that sends to `rank` in a step, with the size of its message.
  virtual Transfer RecvOf(uint32_t rank, uint32_t step, int64_t bytes) const = 0;

  // The number of messages that come to `rank`.
  virtual uint64_t ArrivalsAt(uint32_t rank) const;

  // Returns true if each rank needs something of every other one, directly or through others.
  virtual bool needs_all() const { return true; }

  // Returns true if all ranks send about the same, so that a few of them tell the totals.
  virtual bool is_even() const { return true; }

  // Returns true if what a rank receives in a step is added to what it has.
  virtual bool Reduces(uint32_t /*step*/) const { return false; }

 private:
  uint32_t ranks_;
};

struct StepSettings {
  // Each lane is a part of the buffer that goes through an algorithm independently of the others.
  struct Lane {
    const StepAlgorithm* algorithm;  // All have the same ranks and the same number of steps.
    int64_t bytes;
    uint32_t channel;
    uint32_t piece = 0;  // Among the lanes of its channel.
  };
  std::vector<Lane> lanes;
  // A rank sends a step's message only when those it has sent in earlier steps are finished, too.
  bool waits_for_sends = false;
  bool is_broadcast = false;
  // How fast a rank adds up what it receives; not set: in no time.
  std::optional<BitRate> reduce_rate = std::nullopt;
};

class StepSchedule final : public Schedule {
 public:
  // Owns the algorithms that the lanes refer to.
  StepSchedule(StepSettings settings, std::vector<std::unique_ptr<StepAlgorithm>> algorithms);

  ScheduleTotals Totals() const override;
  uint32_t ranks() const override { return ranks_; }
  uint64_t slots() const override { return settings_.lanes.size() * steps_ * uint64_t{ranks_}; }
  Message MessageOf(uint64_t index) const override;
  uint64_t IncomingOf(uint32_t /*rank*/) const override { return settings_.lanes.size() * steps_; }
  uint64_t OrdinalOf(uint64_t index) const override { return index / ranks_; }
  uint64_t ArrivalsAt(uint32_t rank) const override;
  bool goes_down_a_tree() const override { return settings_.is_broadcast; }
  bool waits_for_sends() const override { return settings_.waits_for_sends; }
  bool waits_for_all() const override;
  std::vector<uint64_t> MissingAt(uint32_t rank, const HasArrived& has_arrived) const override;
  std::unique_ptr<RankProgram> ProgramOf(uint32_t rank) const override;

 private:
  class Program;

  // A message's number is ((lane * steps) + step) * ranks + sender.
  uint64_t IndexOf(size_t lane, uint32_t step, uint32_t sender) const {
    return (lane * uint64_t{steps_} + step) * ranks_ + sender;
  }

  StepSettings settings_;
  std::vector<std::unique_ptr<StepAlgorithm>> algorithms_;
  uint32_t ranks_;
  uint32_t steps_;
};

}  // namespace heddle
