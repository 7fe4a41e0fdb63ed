// SPDX-License-Identifier: Apache-2.0
// An instrument measures one thing of a run, and writes what it found to files of its own. The run
// holds a list of them, calls each between windows when it wants to act, and knows nothing else of
// them. Everything here is called between windows, by one thread, so an instrument may read the
// whole network; it must not change anything, so results are the same with it and without it.
//
// An instrument that is to hear of flows, senders or windows implements an observer as well:
//
//   class LiveFlows final : public Instrument, public FlowObserver { ... };
//
// How an instrument is registered, with its settings: measure/instruments.h.

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
  std::vector<std::string> warnings;  // What the user should know before trusting the results.
  bool incomplete = false;            // The results are there, but are not those that were meant.
  std::string problem;                // Why there are no results; empty if there are.
};

class Instrument {
 public:
  virtual ~Instrument() = default;

  // Before the network is built: may put a policy of its own around that of each switch, which then
  // sees every packet (fabric/around_policy.h). The result must not outlive the instrument.
  virtual SwitchPolicyPtr Around(SwitchPolicyPtr scheme) {
    return scheme;
  }

  // Before the run. `run` outlives all calls that follow.
  void Attach(MeasuredRun& run) {
    run_ = &run;
    Begin();
  }

  // When it wants to act next, kNever: not again as far as it knows. It may change in Act() and
  // OnWindowClosed() only.
  virtual Time Next() const { return kNever; }

  // Called at `now`, which is Next(), before every event of that instant.
  virtual void Act(Time /*now*/) {}

  // The run has ended at `end`: writes what has not been written yet.
  virtual void Finish(Time /*end*/, RunNotes& /*notes*/) {}

 protected:
  // Attached: run() and network() are there. Taps are put in now, and files get their headers.
  virtual void Begin() {}

  MeasuredRun& run() const { return *run_; }
  Network& network() const { return run_->network(); }

 private:
  MeasuredRun* run_ = nullptr;
};

// Hears of each flow.
class FlowObserver {
 public:
  virtual ~FlowObserver() = default;

  // A flow will start at spec.start, in the window that opens. In the order of ids.
  virtual void OnStart(const FlowSpec& /*spec*/) {}

  // All is known of a flow: its sender has ended, and so long ago that nothing of it can be on its
  // way; or the run has ended, and the flow may be unfinished. In the order of flows.csv.
  virtual void OnEnd(const FlowRecord& /*record*/) {}
};

// Hears of each flow whose last byte has been acknowledged, in the window that closes: long before
// FlowObserver::OnEnd(). In no particular order within a window.
class SenderObserver {
 public:
  virtual ~SenderObserver() = default;
  virtual void OnSenderDone(FlowId flow) = 0;
};

// Hears of each window that closes, for what threads have noted in it.
class WindowObserver {
 public:
  virtual ~WindowObserver() = default;
  virtual void OnWindowClosed(Time end) = 0;
};

}  // namespace heddle
