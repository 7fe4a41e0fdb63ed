// SPDX-License-Identifier: Apache-2.0
// The registry of instruments. A file in measure/instruments/ defines an instrument and registers
// it. From then on experiments can set it, and it is described, checked, written to run.yaml and
// run:
//
//   [[maybe_unused]] const bool registered = RegisterSeries<BufferSeries>(
//       {.name = "buffers"}, "series_buffer.csv: bytes in the buffer of each switch at each
//       multiple of this interval.");
//
// docs/writing-an-instrument.md shows one from end to end.

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/units.h"
#include "measure/instrument.h"
#include "measure/instrument_settings.h"
#include "settings/fields.h"

namespace heddle {

using InstrumentMaker = std::function<std::unique_ptr<Instrument>(const RunPlan&)>;

class InstrumentKinds {
 public:
  using SettingsMaker = std::function<std::unique_ptr<InstrumentSettings>()>;

  // Returns true if the name is new in its place. The result lets a file register in an
  // initialiser.
  bool Add(InstrumentInfo info, SettingsMaker make);
  template <class Settings>
  bool Add(InstrumentInfo info) {
    return Add(std::move(info), [] { return std::make_unique<Settings>(); });
  }

  std::vector<InstrumentInfo> infos() const;

  // Names that were added more than once in one place; the first instrument stays.
  const std::vector<std::string>& duplicates() const { return duplicates_; }

  // Makes fresh settings of all instruments of a place, in their order.
  std::vector<std::unique_ptr<InstrumentSettings>> MakeSettings(InstrumentPlace place) const;

 private:
  struct Entry {
    InstrumentInfo info;
    SettingsMaker make;
  };
  std::vector<Entry> entries_;  // By order, then name.
  std::vector<std::string> duplicates_;
};

// Every instrument in the program.
InstrumentKinds& Instruments();

// The recording intervals that a user may choose.
inline const Range<Duration> kRecordingIntervals = {.at_least = 1_ns, .at_most = 1000_s};

// --- Ways to register ---

// Registers an instrument that is asked for with an interval, `name: 10us`. T's constructor is
// given the interval.
template <class T>
bool RegisterSeries(InstrumentInfo info, std::string meaning) {
  class Settings final : public InstrumentSettings {
   public:
    Settings(std::string name, std::string meaning)
        : name_(std::move(name)), meaning_(std::move(meaning)) {}

    void Declare(Fields& fields) override {
      fields.AddOr("off", name_, every_, kRecordingIntervals, meaning_);
    }
    std::unique_ptr<Instrument> Make(const RunPlan& /*plan*/) const override {
      return every_ ? std::make_unique<T>(*every_) : nullptr;
    }

   private:
    const std::string name_;
    const std::string meaning_;
    std::optional<Duration> every_;
  };
  info.example = info.name + ": 10us";
  const std::string name = info.name;
  return Instruments().Add(std::move(info),
                           [=] { return std::make_unique<Settings>(name, meaning); });
}

// Registers an instrument that is asked for with `name: true`. T's constructor is given the plan of
// the run.
template <class T>
bool RegisterOption(InstrumentInfo info, std::string meaning) {
  class Settings final : public InstrumentSettings {
   public:
    Settings(std::string name, std::string meaning)
        : name_(std::move(name)), meaning_(std::move(meaning)) {}

    void Declare(Fields& fields) override { fields.Add(name_, asked_, meaning_); }
    std::unique_ptr<Instrument> Make(const RunPlan& plan) const override {
      return asked_ ? std::make_unique<T>(plan) : nullptr;
    }

   private:
    const std::string name_;
    const std::string meaning_;
    bool asked_ = false;
  };
  info.example = info.name + ": true";
  const std::string name = info.name;
  return Instruments().Add(std::move(info),
                           [=] { return std::make_unique<Settings>(name, meaning); });
}

// Registers an instrument without settings. `make` decides by the plan: null if the run has no such
// instrument.
bool RegisterForRuns(std::string name, InstrumentMaker make);

}  // namespace heddle
