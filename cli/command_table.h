// SPDX-License-Identifier: Apache-2.0
// The commands and options of the program as data, taken from what parses them: the man page and
// shells' completion are made of it.

#pragma once

#include <string>
#include <vector>

#include "cli/app.h"

namespace heddle {

struct OptionInfo {
  enum class Takes { kNothing, kFile, kFolder, kWord, kOther };

  std::vector<std::string> names;  // "-o", "--out"; empty: an argument that is known by its place.
  std::string value;               // "DIR"; of one known by its place, its name.
  std::string meaning;
  std::string preset;  // Empty if there is none.
  Takes takes = Takes::kNothing;
  std::vector<std::string> words;  // That its value may begin with, of those that are known.

  bool positional() const { return names.empty(); }
};

struct CommandInfo {
  std::string path;  // "heddle", "heddle bench lb".
  std::string meaning;
  std::vector<OptionInfo> options;
  std::vector<std::string> commands;  // Below it, by their last words.
};

// `app` first, then all that is below it, in their order; not what is hidden.
std::vector<CommandInfo> CommandsOf(const CLI::App& app);

}  // namespace heddle
