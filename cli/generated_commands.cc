// SPDX-License-Identifier: Apache-2.0

#include "cli/generated_commands.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>
#include <string>

#include "cli/command_table.h"
#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/man_page.h"
#include "experiment/experiment_schema.h"

namespace heddle {
namespace {

int Print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  return kExitDone;
}

std::string CompletionFor(const std::string& shell, const CLI::App& app) {
  const std::vector<CommandInfo> commands = CommandsOf(app);
  if (shell == "zsh") return ZshCompletion(commands);
  if (shell == "fish") return FishCompletion(commands);
  return BashCompletion(commands);
}

}  // namespace

void AddGeneratedCommands(CLI::App& app, std::function<int()>& command) {
  CLI::App* schema =
      app.add_subcommand("schema", "Print the JSON Schema of experiments, for editors");
  schema->callback([&] { command = [] { return Print(ExperimentSchema()); }; });

  CLI::App* completion = app.add_subcommand(
      "completion", "Print a script for the completion of heddle's commands in a shell");
  const auto shell = std::make_shared<std::string>();
  completion->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  completion->callback([&app, &command, shell] {
    command = [&app, shell] { return Print(CompletionFor(*shell, app)); };
  });

  CLI::App* man = app.add_subcommand("man", "Print the man page");
  man->group("");
  man->callback([&] { command = [&app] { return Print(ManPage(CommandsOf(app))); }; });
}

}  // namespace heddle
