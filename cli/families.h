// SPDX-License-Identifier: Apache-2.0
// Everything that an experiment chooses by name, and the sections of settings inside: what `heddle
// list` and `heddle describe` print, and shell completion offers.

#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "settings/kinds.h"
#include "settings/writer.h"

namespace heddle {

// A group of kinds that an experiment chooses from, such as load balancers.
struct Family {
  std::string heading;
  std::string key;  // The key in an experiment.
  std::function<std::vector<KindInfo>()> kinds;
  std::function<std::vector<FieldInfo>(const std::string& kind)> fields;
};

std::vector<Family> Families();

// Returns all settings that an experiment has whatever it chooses.
std::vector<FieldInfo> ExperimentFields();

// Settings below one key, such as topology.port.pfc.
struct SettingSection {
  std::string path;
  std::vector<std::string> kinds;  // The kinds that have exactly these settings; none: they are in
                                   // every experiment.
  std::vector<FieldInfo> fields;   // With whole paths.
};

// Returns the sections that `name` may mean: their whole paths ("topology.port.pfc"), or the last
// parts of these ("port.pfc", "pfc").
std::vector<SettingSection> SectionsCalled(std::string_view name);

// Returns the last part of every section's path.
std::vector<std::string> SectionNames();

}  // namespace heddle
