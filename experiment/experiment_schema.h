// SPDX-License-Identifier: Apache-2.0
// The JSON Schema of experiments, for editors.

#pragma once

#include <string>

namespace heddle {

std::string ExperimentSchema();

}  // namespace heddle
