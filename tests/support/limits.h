// SPDX-License-Identifier: Apache-2.0
// Checks which values a setting takes, and which it refuses.
//
//   ExpectLimits<RedRule>({{"{probability: %}", "0", "-0.1"}, {"{probability: %}", "1", "1.1"}});

#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/support/settings_from.h"

namespace heddle {

struct Limit {
  std::string yaml;    // The % stands for the value.
  std::string last;    // The last value that is allowed,
  std::string beyond;  // and one beyond it that the range refuses.
};

template <class Settings>
std::string MistakesIn(const std::string& yaml) {
  Settings settings;
  return MistakesIn(yaml, [&](Fields& fields) { settings.Declare(fields); });
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

// Values that a setting takes and values that it refuses.
struct SettingValues {
  std::string setting;
  std::vector<std::string> taken;
  std::vector<std::string> refused;
  std::string beside = "";  // Other settings that these values need.
};

// `mistakes` returns the report of the mistakes if the setting has a value, and `complaint` a part
// of it that names what is refused.
using TextOfValue = std::function<std::string(const SettingValues&, const std::string& value)>;
inline void ExpectTakenAndRefused(const std::vector<SettingValues>& all,
                                  const TextOfValue& mistakes, const TextOfValue& complaint) {
  for (const SettingValues& its : all) {
    for (const std::string& value : its.taken) {
      EXPECT_EQ(mistakes(its, value), "") << its.setting << ": " << value;
    }
    for (const std::string& value : its.refused) {
      const std::string refused = mistakes(its, value);
      EXPECT_NE(refused.find(complaint(its, value)), std::string::npos)
          << its.setting << ": " << value << ": " << refused;
    }
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
