// SPDX-License-Identifier: Apache-2.0
// The base class of instruments that measure the time that links.csv covers: from
// Timeline::links_from to links_until, or to the end of the run if that comes first. The panel
// calls Act() and Finish(), and this class calls Start(), Stop() and Write() once each, in this
// order.

#pragma once

#include "core/units.h"
#include "measure/instrument.h"

namespace heddle {

class LinkTime : public Instrument {
 public:
  Time Next() const final { return next_; }

  void Act(Time now) final {
    if (phase_ == Phase::kBefore) {
      phase_ = Phase::kDuring;
      next_ = run().plan().timeline.links_until;
      Start(now);
    } else {
      phase_ = Phase::kAfter;
      next_ = kNever;
      Stop(now);
    }
  }

  void Finish(Time end, RunNotes& notes) final {
    while (phase_ != Phase::kAfter) Act(end);
    Write(notes);
  }

 protected:
  // Called at the start and at the end of the time covered.
  virtual void Start(Time now) = 0;
  virtual void Stop(Time now) = 0;

  // Called at the end of the run, after Stop().
  virtual void Write(RunNotes& notes) = 0;

 private:
  enum class Phase { kBefore, kDuring, kAfter };

  void Begin() final { next_ = run().plan().timeline.links_from; }

  Phase phase_ = Phase::kBefore;
  Time next_ = kNever;
};

}  // namespace heddle
