// SPDX-License-Identifier: Apache-2.0
// An instrument measures one thing in a run and writes it to files of its own. The run holds a list
// of them, calls each between windows when it wants to act, and knows nothing else of them.
// Everything here is called between windows, by one thread, so an instrument may read the whole
// network; it must not change anything, so results are the same with it and without it.
//
// An instrument that needs to know about flows, senders or windows implements an observer as well:
//
//   class LiveFlows final : public Instrument, public FlowObserver { ... };
//
// measure/instruments.h shows how an instrument is registered, with its settings.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/units.h"
#include "fabric/flow.h"
#include "fabric/switch_policy.h"
#include "measure/measured_run.h"

namespace heddle {

// Remarks of instruments on a run that has ended.
struct RunNotes {
  std::vector<std::string>
      warnings;             // Warnings that the user should read before trusting the results.
  bool incomplete = false;  // There are results, but not the ones that were asked for.
  std::string problem;      // The reason why there are no results; empty if there are.
};

class Instrument {
 public:
  virtual ~Instrument() = default;

  // Called before the network is built. An instrument may wrap each switch's policy in one of its
  // own, which then sees every packet (fabric/around_policy.h). The result must not outlive the
  // instrument.
  virtual SwitchPolicyPtr Around(SwitchPolicyPtr scheme) { return scheme; }

  // Called before the run. `run` outlives all calls that follow.
  void Attach(MeasuredRun& run) {
    run_ = &run;
    Begin();
  }

  // Returns the time of the next Act(); kNever if none is planned. The value may change only in
  // Act() and OnWindowClosed().
  virtual Time Next() const { return kNever; }

  // Called at `now`, which is Next(), before every event of that instant.
  virtual void Act(Time /*now*/) {}

  // Called when the run has ended at `end`. Writes all that is not written yet.
  virtual void Finish(Time /*end*/, RunNotes& /*notes*/) {}

 protected:
  // Called by Attach(), when run() and network() can be used. Place taps and write the headers of
  // files here.
  virtual void Begin() {}

  MeasuredRun& run() const { return *run_; }
  Network& network() const { return run_->network(); }

 private:
  MeasuredRun* run_ = nullptr;
};

// Is told of each flow.
class FlowObserver {
 public:
  virtual ~FlowObserver() = default;

  // A flow will start at spec.start, or has started in the window that closes (messages of jobs).
  // The order of these calls depends on windows, so results must not.
  virtual void OnStart(const FlowSpec& /*spec*/) {}

  // The record of a flow is final: its sender ended so long ago that none of its packets can be in
  // flight, or the run has ended, and the flow may be unfinished. Called in the order of flows.csv.
  virtual void OnEnd(const FlowRecord& /*record*/) {}
};

// Is told of each flow whose last byte was acknowledged in the windows that have ended since the
// last time, long before FlowObserver::OnEnd(). The order of these flows is arbitrary.
class SenderObserver {
 public:
  virtual ~SenderObserver() = default;
  virtual void OnSenderDone(FlowId flow) = 0;
};

// Is told when a window closes, to gather what threads have noted in it. All nodes have run to the
// end of the window then (Engine::MergeSides()).
class WindowObserver {
 public:
  virtual ~WindowObserver() = default;
  virtual void OnWindowClosed(Time end) = 0;
};

}  // namespace heddle
