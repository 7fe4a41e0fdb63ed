// SPDX-License-Identifier: Apache-2.0
// In what two runs differ by their settings, defaults included.

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

// In the order of `a`, then those that `b` alone has.
std::vector<SettingDifference> DifferencesOf(const Value& a, const Value& b);

// The same for two folders of results, by what they say of their experiments. Names do not count.
std::vector<SettingDifference> DifferencesOfRuns(const std::filesystem::path& a,
                                                 const std::filesystem::path& b);

// Whether flows are drawn from what `key` says: then runs that differ in it meet other flows, even
// at the same seed.
bool DecidesFlows(std::string_view key);

}  // namespace heddle
