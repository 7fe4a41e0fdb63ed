// SPDX-License-Identifier: Apache-2.0
// Settings as text: a document that reads back as the same settings, and tables for people.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "settings/fields.h"
#include "settings/value.h"

namespace heddle {

// Everything that `declare` declares, defaults included, as YAML.
std::string WriteYaml(const std::function<void(Fields&)>& declare);

// A document that reads back as the map `document`.
std::string WriteYaml(const Value& document);

struct FieldInfo {
  std::string path;  // With [] for the elements of lists.
  std::string type;
  std::string preset;  // The default, "(required)" if there is none.
  std::string meaning;
};

// What `declare` declares, in its order.
std::vector<FieldInfo> DescribeFields(const std::function<void(Fields&)>& declare);

}  // namespace heddle
