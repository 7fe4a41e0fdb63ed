// SPDX-License-Identifier: Apache-2.0
// A conductor that only ends the run at a given time, and tells of the end of each window.

#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "core/engine.h"
#include "core/units.h"

namespace heddle {

class UntilConductor : public Conductor {
 public:
  explicit UntilConductor(Time end, std::function<void(Time)> at_window_end = nullptr)
      : end_(end), at_window_end_(std::move(at_window_end)) {}
  Time Next() override { return kNever; }
  Time Open(Time start, Time latest) override {
    starts.push_back(start);
    return latest;
  }
  void Close(Time end) override {
    if (at_window_end_) at_window_end_(end);
  }
  Time End() const override { return end_; }

  std::vector<Time> starts;

 private:
  const Time end_;
  const std::function<void(Time)> at_window_end_;
};

}  // namespace heddle
