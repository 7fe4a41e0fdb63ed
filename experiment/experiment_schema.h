// SPDX-License-Identifier: Apache-2.0
// Makes the JSON Schema of experiment files, with which editors complete and check them. `heddle
// schema` prints it.

#pragma once

#include <string>

namespace heddle {

std::string ExperimentSchema();

}  // namespace heddle
