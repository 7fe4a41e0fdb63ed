// SPDX-License-Identifier: Apache-2.0
// Options that several commands share. Each function adds one to a command.

#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace heddle {

// Adds --set KEY=VALUE to a command that reads experiments.
inline CLI::Option* AddSetOption(CLI::App& command, std::vector<std::string>& sets) {
  return command
      .add_option("--set", sets,
                  "Override a setting, such as lb.gap=100us; repeatable. A relative path starts "
                  "at the folder of the experiment's file")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
}

}  // namespace heddle
