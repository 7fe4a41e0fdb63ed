// SPDX-License-Identifier: Apache-2.0
// All instruments of one run. The run calls only the panel, between windows. The panel knows when
// the next instrument acts, and which instruments observe flows, senders and windows.

#pragma once

#include <vector>

#include "core/units.h"
#include "fabric/flow.h"
#include "measure/instrument.h"

namespace heddle {

class InstrumentPanel {
 public:
  // Attaches the instruments to `run`, in their order. All must outlive it.
  InstrumentPanel(MeasuredRun& run, std::vector<Instrument*> instruments);

  // The time at which the next instrument acts.
  Time Next() const { return next_; }

  // Calls Act() of the instruments whose time is `now`.
  void Act(Time now);

  void OnStart(const FlowSpec& spec) {
    for (FlowObserver* observer : flow_observers_) observer->OnStart(spec);
  }
  void OnEnd(const FlowRecord& record) {
    for (FlowObserver* observer : flow_observers_) observer->OnEnd(record);
  }

  // Call it when a round of windows has ended, before OnEnd() for its flows.
  void CloseWindow(Time end) {
    if (!window_observers_.empty() || !sender_observers_.empty()) TellOfWindow(end);
  }

  // Call it when the run has ended.
  RunNotes Finish(Time end);

 private:
  void TellOfWindow(Time end);
  void FindNext();

  MeasuredRun& run_;
  const std::vector<Instrument*> instruments_;
  std::vector<FlowObserver*> flow_observers_;
  std::vector<SenderObserver*> sender_observers_;
  std::vector<WindowObserver*> window_observers_;
  Time next_ = kNever;
};

}  // namespace heddle
