// SPDX-License-Identifier: Apache-2.0
// A conductor that only ends the run at a given time.

#pragma once

#include <vector>

#include "core/engine.h"
#include "core/units.h"

namespace heddle {

class UntilConductor : public Conductor {
 public:
  explicit UntilConductor(Time end) : end_(end) {}
  Time Next() override { return kNever; }
  Time Open(Time start, Time latest) override {
    starts.push_back(start);
    return latest;
  }
  void Close(Time) override {}
  Time End() const override { return end_; }

  std::vector<Time> starts;

 private:
  const Time end_;
};

}  // namespace heddle
