// SPDX-License-Identifier: Apache-2.0
// All instruments of one run. The conductor talks to the panel alone; the panel knows when the next
// instrument wants to act, and which of them hear of flows, senders and windows.

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

  // When one of them wants to act next.
  Time Next() const { return next_; }

  // Lets those act that want to at `now`.
  void Act(Time now);

  void OnStart(const FlowSpec& spec) {
    for (FlowObserver* observer : flow_observers_) observer->OnStart(spec);
  }
  void OnEnd(const FlowRecord& record) {
    for (FlowObserver* observer : flow_observers_) observer->OnEnd(record);
  }

  // A window has ended; before the flows of this window end.
  void CloseWindow(Time end) {
    if (!window_observers_.empty() || !sender_observers_.empty()) TellOfWindow(end);
  }

  // The run has ended.
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
