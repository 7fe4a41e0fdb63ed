// SPDX-License-Identifier: Apache-2.0
// The settings of instruments, which an experiment holds and the run makes its instruments from.
// Instruments are defined in measure/instrument.h and registered as measure/instruments.h says.

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

  // Makes the instrument for a run. Returns null if it is not asked for or has nothing to measure.
  // The settings outlive the instrument.
  virtual std::unique_ptr<Instrument> Make(const RunPlan& plan) const = 0;
};

// The map of an experiment that holds an instrument's settings.
enum class InstrumentPlace {
  kMeasure,  // `measure`
  kRecord,   // `measure.record`, for series over time.
};

struct InstrumentInfo {
  std::string name;  // The name of the instrument's first setting.
  InstrumentPlace place = InstrumentPlace::kRecord;
  // Documents list instruments by this number, then by name. New instruments leave the default, so
  // that older ones keep their place in run.yaml and in the descriptions.
  int order = std::numeric_limits<int>::max();
  std::string example =
      {};  // A line that asks for the instrument, such as "queues: 10us"; empty if it needs none.
};

// The settings of all instruments of one place.
class InstrumentSet {
 public:
  explicit InstrumentSet(InstrumentPlace place);

  void Declare(Fields& fields);

  // Adds the instruments that are asked for.
  void Make(const RunPlan& plan, std::vector<std::unique_ptr<Instrument>>& instruments) const;

 private:
  std::vector<std::unique_ptr<InstrumentSettings>> settings_;
};

}  // namespace heddle
