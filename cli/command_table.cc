// SPDX-License-Identifier: Apache-2.0

#include "cli/command_table.h"

#include <CLI/CLI.hpp>

#include <algorithm>

#include "cli/families.h"
#include "experiment/experiment.h"
#include "workload/sizes.h"

namespace heddle {
namespace {

// Returns the names that heddle describe knows.
std::vector<std::string> Names() {
  std::vector<std::string> names = {"experiment"};
  const auto add = [&names](const std::string& name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  for (const Family& family : Families()) {
    for (const KindInfo& kind : family.kinds()) add(kind.name);
  }
  for (const SizeTable& table : SizeTables()) add(std::string(table.name));
  for (const std::string& section : SectionNames()) add(section);
  return names;
}

// Returns the settings that users change most often, for the completion of --set.
std::vector<std::string> Settings() {
  std::vector<std::string> settings;
  for (const std::string& name : LoadBalancers().Names()) settings.push_back("lb=" + name);
  for (const std::string& name : Transports().Names()) settings.push_back("transport=" + name);
  settings.insert(settings.end(), {"seed=", "topology.", "transport.", "lb.", "workload[0].load=",
                                   "workload[0].flows=", "measure.", "routing."});
  return settings;
}

// Returns the words that a check allows, as in the type "NAME:{pcap,perfetto}".
std::vector<std::string> AllowedWords(const std::string& type) {
  std::vector<std::string> words;
  const size_t open = type.find('{');
  const size_t close = type.find('}');
  if (open == std::string::npos || close == std::string::npos) return words;
  return CLI::detail::split(type.substr(open + 1, close - open - 1), ',');
}

OptionInfo InfoOf(const CLI::Option& option) {
  OptionInfo info;
  for (const std::string& name : option.get_snames()) info.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) info.names.push_back("--" + name);
  info.meaning = option.get_description();
  info.preset = option.get_default_str();
  if (option.get_items_expected_max() == 0) return info;
  const std::string type = option.get_type_name();
  info.value = info.positional() ? option.get_name(true) : type.substr(0, type.find(':'));
  info.words = AllowedWords(type);
  if (option.check_lname("set")) info.words = Settings();
  if (info.value == "name" && info.positional()) info.words = Names();
  info.takes = !info.words.empty()        ? OptionInfo::Takes::kWord
               : type.starts_with("FILE") ? OptionInfo::Takes::kFile
               : type.starts_with("DIR")  ? OptionInfo::Takes::kFolder
                                          : OptionInfo::Takes::kOther;
  return info;
}

void Add(const CLI::App& app, const std::string& above, std::vector<CommandInfo>& commands) {
  CommandInfo info{.path = above + app.get_name(),
                   .meaning = app.get_description(),
                   .options = {},
                   .commands = {}};
  for (const CLI::Option* option : app.get_options()) info.options.push_back(InfoOf(*option));
  std::vector<const CLI::App*> below;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (!command->get_group().empty()) below.push_back(command);
  }
  for (const CLI::App* command : below) info.commands.push_back(command->get_name());
  const std::string path = info.path + " ";
  commands.push_back(std::move(info));
  for (const CLI::App* command : below) Add(*command, path, commands);
}

}  // namespace

std::vector<CommandInfo> CommandsOf(const CLI::App& app) {
  std::vector<CommandInfo> commands;
  Add(app, "", commands);
  return commands;
}

}  // namespace heddle
