// SPDX-License-Identifier: Apache-2.0

#include "measure/instrument_panel.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace heddle {
namespace {

template <class Observer>
std::vector<Observer*> Those(const std::vector<Instrument*>& instruments) {
  std::vector<Observer*> observers;
  for (Instrument* instrument : instruments) {
    if (auto* observer = dynamic_cast<Observer*>(instrument)) observers.push_back(observer);
  }
  return observers;
}

}  // namespace

InstrumentPanel::InstrumentPanel(MeasuredRun& run, std::vector<Instrument*> instruments)
    : run_(run),
      instruments_(std::move(instruments)),
      flow_observers_(Those<FlowObserver>(instruments_)),
      sender_observers_(Those<SenderObserver>(instruments_)),
      window_observers_(Those<WindowObserver>(instruments_)) {
  if (!sender_observers_.empty()) {
    for (const auto& recorder : run_.recorders()) recorder->KeepSendersDone();
  }
  if (!window_observers_.empty()) run_.network().engine().MergeSides();
  for (Instrument* instrument : instruments_) instrument->Attach(run_);
  FindNext();
}

void InstrumentPanel::Act(Time now) {
  for (Instrument* instrument : instruments_) {
    if (instrument->Next() <= now) instrument->Act(now);
  }
  FindNext();
}

void InstrumentPanel::TellOfWindow(Time end) {
  for (WindowObserver* observer : window_observers_) observer->OnWindowClosed(end);
  if (!sender_observers_.empty()) {
    for (const std::unique_ptr<FlowRecorder>& recorder : run_.recorders()) {
      for (const FlowId flow : recorder->senders_done()) {
        for (SenderObserver* observer : sender_observers_) observer->OnSenderDone(flow);
      }
      recorder->ClearSendersDone();
    }
  }
  FindNext();
}

void InstrumentPanel::FindNext() {
  next_ = kNever;
  for (const Instrument* instrument : instruments_) next_ = std::min(next_, instrument->Next());
}

RunNotes InstrumentPanel::Finish(Time end) {
  RunNotes notes;
  for (Instrument* instrument : instruments_) instrument->Finish(end, notes);
  next_ = kNever;
  return notes;
}

}  // namespace heddle
