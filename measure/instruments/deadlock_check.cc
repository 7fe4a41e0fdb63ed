// SPDX-License-Identifier: Apache-2.0
// topology.port.pfc.deadlock_check: looks for a PFC deadlock, that is ports that wait for each
// other. It ends the run at one if the setting asks for that.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <string>
#include <vector>

#include "measure/instruments.h"
#include "network/deadlock.h"
#include "settings/quantity.h"

namespace heddle {
namespace {

class DeadlockCheck final : public Instrument {
 public:
  explicit DeadlockCheck(const PauseRule& rule)
      : rule_(rule), next_(Time{} + *rule.deadlock_check) {}

  Time Next() const override { return next_; }

  // The run goes on to the end of this window.
  void Act(Time now) override {
    next_ = now + *rule_.deadlock_check;
    ports_ = FindDeadlock(network(), now, rule_.deadlock_time);
    if (ports_.empty()) return;
    found_at_ = now;
    next_ = kNever;
    if (rule_.deadlock_ends_run) run().End();
  }

  void Finish(Time /*end*/, RunNotes& notes) override {
    if (ports_.empty()) return;
    notes.incomplete = true;
    notes.warnings.push_back(fmt::format("DEADLOCK at {}: paused ports wait for each other: {}",
                                         FormatQuantity(found_at_ - Time{}),
                                         fmt::join(ports_, " -> ")));
  }

 private:
  const PauseRule& rule_;
  Time next_;
  std::vector<std::string> ports_;  // Ports that wait for each other; empty if none do.
  Time found_at_;
};

[[maybe_unused]] const bool registered = RegisterForRuns("deadlock", [](const RunPlan& plan) {
  const PauseRule& rule = *plan.pfc;
  return rule.on() && rule.deadlock_check ? std::make_unique<DeadlockCheck>(rule) : nullptr;
});

}  // namespace
}  // namespace heddle
