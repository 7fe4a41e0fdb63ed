// SPDX-License-Identifier: Apache-2.0
// Finds out which of two ways of doing the same work takes less time on this machine. Work that
// comes in rounds is done one way, until a trial has shown that the other one is faster.

#pragma once

namespace heddle {

class FasterWay {
 public:
  // `way` is the one to begin with.
  explicit FasterWay(bool way) : best_(way) {}

  // The way to take in the next round, and whether it belongs to a trial, so that its time counts.
  bool way() const { return is_trial() && is_other_ ? !best_ : best_; }
  bool is_trial() const { return wait_ == 0; }

  // A round has passed that belonged to no trial.
  void Skip() { --wait_; }

  // A round of a trial took `cost` for each unit of its work. Two rounds of a trial, one each way,
  // are a pair. Each pair gives one vote, so that a round that was interrupted counts no more than
  // another. What comes first in a pair alternates, because the work may grow or shrink.
  void Add(double cost) {
    const bool was_other = is_other_;
    if (!is_second_) {
      first_cost_ = cost;
      is_second_ = true;
      is_other_ = !was_other;
      return;
    }
    is_second_ = false;  // The next pair begins with the way that this one has ended with.
    const bool other_won = was_other ? cost < first_cost_ : cost > first_cost_;
    lead_ += other_won ? 1 : -1;
    ++pairs_;
    if (lead_ < kLead && lead_ > -kLead && pairs_ < kPairs) return;
    if (lead_ >= kLead) best_ = !best_;
    lead_ = pairs_ = 0;
    is_other_ = false;
    wait_ = kRest;
  }

  static constexpr int kFirst = 16;   // Rounds before the first trial,
  static constexpr int kRest = 1024;  // and between trials.
  static constexpr int kLead = 8;     // The other way is faster if it has so many votes more.
  static constexpr int kPairs = 32;   // Without such a lead, a trial ends after so many.

 private:
  bool best_;
  bool is_other_ = false;   // The next round of the trial takes the other way,
  bool is_second_ = false;  // and is the second of its pair.
  double first_cost_ = 0;   // Of the first.
  int lead_ = 0;            // Votes for the other way less those for the best one so far.
  int pairs_ = 0;
  int wait_ = kFirst;  // Rounds before the next trial.
};

}  // namespace heddle
