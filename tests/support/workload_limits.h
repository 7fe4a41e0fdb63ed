// SPDX-License-Identifier: Apache-2.0
// Checks which values a setting of a workload takes, and which it refuses.

#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/support/experiment_kit.h"
#include "tests/support/limits.h"

namespace heddle {

// `others` are the other settings of the workload, by their names.
inline void ExpectWorkloadLimits(const std::string& kind,
                                 const std::map<std::string, std::string>& others,
                                 const std::vector<SettingValues>& limits, const Stage& stage) {
  const auto mistakes = [&](const SettingValues& its, const std::string& value) {
    std::map<std::string, std::string> all = others;
    all[its.setting] = value;
    std::string yaml = "{kind: " + kind;
    for (const auto& [name, setting] : all) yaml += ", " + name + ": " + setting;
    return WorkloadErrors(yaml + "}", stage);
  };
  ExpectTakenAndRefused(limits, mistakes, [](const SettingValues& its, const std::string& value) {
    const bool is_list = value.starts_with('[');  // The mistake is an element's.
    return "workload." + its.setting + (is_list ? "[" : ": ");
  });
}

}  // namespace heddle
