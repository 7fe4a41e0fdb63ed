// SPDX-License-Identifier: Apache-2.0
// The commands and options of the program as data, taken from the parser. The man page and the
// completion scripts are made from it.

#pragma once

#include <string>
#include <vector>

#include "cli/app.h"

namespace heddle {

struct OptionInfo {
  enum class Takes { kNothing, kFile, kFolder, kWord, kOther };

  std::vector<std::string> names;  // "-o", "--out"; empty for a positional argument.
  std::string value;               // "DIR"; for a positional argument its name.
  std::string meaning;
  std::string preset;  // The default; empty if there is none.
  Takes takes = Takes::kNothing;
  std::vector<std::string> words;  // Known words that its value may begin with.

  bool positional() const { return names.empty(); }
};

struct CommandInfo {
  std::string path;  // "heddle", "heddle bench lb".
  std::string meaning;
  std::vector<OptionInfo> options;
  std::vector<std::string> commands;  // Its subcommands, by their last words.
};

// Returns `app`, then all commands below it in their order, without hidden ones.
std::vector<CommandInfo> CommandsOf(const CLI::App& app);

}  // namespace heddle
