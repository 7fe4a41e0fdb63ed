// SPDX-License-Identifier: Apache-2.0
// Checks that a setting takes the values up to its limits, and none beyond.
//
//   ExpectLimits<RedRule>({{"{probability: %}", "0", "-0.1"}, {"{probability: %}", "1", "1.1"}});

#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "settings/diagnostics.h"
#include "settings/reader.h"
#include "settings/yaml.h"

namespace heddle {

struct Limit {
  std::string yaml;    // The % stands for the value.
  std::string last;    // The last value that is allowed,
  std::string beyond;  // and one beyond it that the range refuses.
};

// What is wrong with the settings in `yaml`; empty if nothing is.
template <class Settings>
std::string MistakesIn(const std::string& yaml) {
  Settings settings;
  Diagnostics diagnostics;
  const std::optional<Value> document = ParseYaml(yaml, "test", diagnostics);
  if (document) {
    ReadSettings(
        *document, [&](Fields& fields) { settings.Declare(fields); }, diagnostics);
  }
  return diagnostics.ok() ? "" : diagnostics.Report();
}

template <class Settings>
void ExpectLimits(const std::vector<Limit>& limits) {
  for (const Limit& limit : limits) {
    const auto mistakes = [&](const std::string& value) {
      std::string yaml = limit.yaml;
      return MistakesIn<Settings>(yaml.replace(yaml.find('%'), 1, value));
    };
    SCOPED_TRACE(limit.yaml);
    EXPECT_EQ(mistakes(limit.last), "");
    const std::string refused = mistakes(limit.beyond);
    EXPECT_NE(refused.find("\"" + limit.beyond + "\" is out of range"), std::string::npos)
        << limit.beyond << ": " << refused;
  }
}

// Settings that do not go together, the setting that is to blame, and a part of the reason.
struct Clash {
  std::string yaml;
  std::string path;
  std::string reason;
};

template <class Settings>
void ExpectClashes(const std::vector<Clash>& clashes) {
  for (const Clash& clash : clashes) {
    const std::string mistakes = MistakesIn<Settings>(clash.yaml);
    EXPECT_NE(mistakes.find(" " + clash.path + ": "), std::string::npos)
        << clash.yaml << ": " << mistakes;
    EXPECT_NE(mistakes.find(clash.reason), std::string::npos) << clash.yaml << ": " << mistakes;
  }
}

}  // namespace heddle
