// SPDX-License-Identifier: Apache-2.0
// Writes settings as text, from the same declarations that read them: as a document that reads back
// as the same settings (run.yaml), or as a description of each setting (`heddle describe`).

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "settings/fields.h"
#include "settings/value.h"

namespace heddle {

// Writes all settings that `declare` declares, defaults included, as YAML.
std::string WriteYaml(const std::function<void(Fields&)>& declare);

// Writes YAML that reads back as the map `document`.
std::string WriteYaml(const Value& document);

struct FieldInfo {
  std::string path;  // With [] for the elements of lists.
  std::string type;
  std::string preset;  // The default, "(required)" if there is none.
  std::string meaning;
};

// Describes the settings that `declare` declares, in its order.
std::vector<FieldInfo> DescribeFields(const std::function<void(Fields&)>& declare);

}  // namespace heddle
