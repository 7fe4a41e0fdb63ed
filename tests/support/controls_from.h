// SPDX-License-Identifier: Apache-2.0
// Makes congestion controls from YAML, as an experiment would choose them: "{kind: dcqcn, rp:
// nic}". Unit tests call these functions; errors in the YAML fail the test.

#pragma once

#include <memory>
#include <string_view>

#include "tests/support/settings_from.h"
#include "transport/congestion_controls.h"

namespace heddle {

inline std::unique_ptr<const RateControl> RateControlFrom(std::string_view yaml) {
  return KindFrom(yaml, CongestionControls().rates()).settings->Prepare();
}

inline std::unique_ptr<const WindowControl> WindowControlFrom(std::string_view yaml,
                                                              const TcpSettings& tcp = {}) {
  return KindFrom(yaml, CongestionControls().windows()).settings->Prepare(tcp);
}

}  // namespace heddle
