// SPDX-License-Identifier: Apache-2.0
// Halves the windows of a run, which must not change its results.

#pragma once

#include "measure/instrument.h"

namespace heddle {

class HalvedWindows final : public Instrument {
 private:
  void Begin() override {
    Engine& engine = network().engine();
    engine.LimitWindow(Duration{engine.lookahead().ps / 2});
  }
};

}  // namespace heddle
