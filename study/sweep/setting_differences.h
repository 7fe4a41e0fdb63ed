// SPDX-License-Identifier: Apache-2.0
// Lists the settings in which two runs differ, defaults included. `heddle compare` prints them.

#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "settings/value.h"

namespace heddle {

struct SettingDifference {
  std::string key;  // A path, as in workload[0].flows.
  std::string a;    // "-" where there is no such setting.
  std::string b;

  friend bool operator==(const SettingDifference&, const SettingDifference&) = default;
};

// Returns the differences in the order of `a`, then settings that only `b` has.
std::vector<SettingDifference> DifferencesOf(const Value& a, const Value& b);

// Does the same for two folders of results, by their run.yaml. The experiments' names do not count.
std::vector<SettingDifference> DifferencesOfRuns(const std::filesystem::path& a,
                                                 const std::filesystem::path& b);

// Returns true if the generated flows depend on the setting `key`. Runs that differ in it have
// different flows, even at the same seed.
bool DecidesFlows(std::string_view key);

}  // namespace heddle
