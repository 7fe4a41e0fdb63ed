// SPDX-License-Identifier: Apache-2.0
// The settings of instruments, as an experiment holds them. Instruments themselves are in
// measure/instrument.h, the ways to register one in measure/instruments.h.

#pragma once

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "settings/fields.h"

namespace heddle {

class Instrument;
struct RunPlan;

// The settings of one instrument, and how it is made.
class InstrumentSettings {
 public:
  virtual ~InstrumentSettings() = default;

  virtual void Declare(Fields& /*fields*/) {}

  // The instrument for a run; null if it is not asked for, or has nothing to measure there. The
  // settings outlive it.
  virtual std::unique_ptr<Instrument> Make(const RunPlan& plan) const = 0;
};

// The map of an experiment that holds an instrument's settings.
enum class InstrumentPlace {
  kMeasure,  // `measure`
  kRecord,   // `measure.record`, for what is written over time.
};

struct InstrumentInfo {
  std::string name;  // Of its first setting.
  InstrumentPlace place = InstrumentPlace::kRecord;
  // Settings stand by this in every document, then by name. New instruments leave it: those that
  // were there before keep their place in run.yaml and in the descriptions.
  int order = std::numeric_limits<int>::max();
  std::string example = {};  // Asks for it, as in "queues: 10us"; empty: nobody has to.
};

// The settings of all instruments of one place.
class InstrumentSet {
 public:
  explicit InstrumentSet(InstrumentPlace place);

  void Declare(Fields& fields);

  // Adds those that are asked for.
  void Make(const RunPlan& plan, std::vector<std::unique_ptr<Instrument>>& instruments) const;

 private:
  std::vector<std::unique_ptr<InstrumentSettings>> settings_;
};

}  // namespace heddle
