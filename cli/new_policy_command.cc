// SPDX-License-Identifier: Apache-2.0

#include "cli/new_policy_command.h"

#include <absl/status/status.h>
#include <absl/strings/str_replace.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/failures.h"
#include "lb/parts/load_balancer.h"
#include "settings/files.h"
#include "settings/status.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;

struct NewPolicyArguments {
  std::string name;
  std::string out_of_tree;
};

struct NewFile {
  fs::path path;
  std::string_view content;
};

// Turns my_policy into MyPolicy.
std::string ClassNameOf(const std::string& name) {
  std::string result;
  bool begins = true;
  for (const char c : name) {
    if (c != '_') result += begins ? static_cast<char>(std::toupper(c)) : c;
    begins = c == '_';
  }
  return result;
}

absl::Status CheckName(const std::string& name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  if (name.empty() || name[0] < 'a' || name[0] > 'z' || !std::ranges::all_of(name, fits)) {
    return absl::InvalidArgumentError(
        fmt::format("\"{}\" is no name for a load balancer; write it like_this", name));
  }
  if (LoadBalancers().Knows(name)) {
    return absl::AlreadyExistsError(fmt::format("a load balancer is called \"{}\" already", name));
  }
  return absl::OkStatus();
}

std::vector<NewFile> FilesInTree(const std::string& name) {
  return {{fs::path("lb") / (name + ".cc"), kPolicyTemplate},
          {fs::path("tests") / "lb" / (name + "_test.cc"), kPolicyTestTemplate}};
}

std::vector<NewFile> FilesIn(const fs::path& folder, const std::string& name) {
  return {{folder / (name + ".cc"), kPolicyTemplate},
          {folder / "main.cc", kMainTemplate},
          {folder / "CMakeLists.txt", kCmakeTemplate},
          {folder / "experiment.yaml", kExperimentTemplate},
          {folder / "README.md", kReadmeTemplate}};
}

absl::Status Write(const NewFile& file, const std::string& name) {
  const std::string text = absl::StrReplaceAll(std::string(file.content),
                                               {{"@name@", name}, {"@Name@", ClassNameOf(name)}});
  std::error_code ignored;  // If this fails, writing the file fails and is reported.
  if (file.path.has_parent_path()) fs::create_directories(file.path.parent_path(), ignored);
  return WriteWholeFile(file.path, text);
}

// Removes all files after a failure, since a part of them would block the next attempt.
void Remove(const std::vector<NewFile>& files) {
  std::error_code ignored;
  for (const NewFile& file : files) fs::remove(file.path, ignored);
}

int NewPolicy(const NewPolicyArguments& arguments) {
  if (const auto status = CheckName(arguments.name); !status.ok()) {
    return BadInput(status);
  }
  const bool in_tree = arguments.out_of_tree.empty();
  if (in_tree && !fs::exists("lb/parts/load_balancer.h")) {
    return BadInput(
        "this is not the root of Heddle's source tree; go there, or give --out-of-tree DIR");
  }
  if (!in_tree && (arguments.name == "main" || arguments.name == "my_heddle")) {
    return BadInput(fmt::format("\"{}\" is taken by the generated program; choose another name",
                                arguments.name));
  }
  const std::vector<NewFile> files =
      in_tree ? FilesInTree(arguments.name) : FilesIn(arguments.out_of_tree, arguments.name);
  for (const NewFile& file : files) {
    if (fs::exists(file.path))
      return BadInput(fmt::format("{} exists already", file.path.string()));
  }
  for (const NewFile& file : files) {
    const absl::Status status = Write(file, arguments.name);
    if (status.ok()) continue;
    Remove(files);
    fmt::print(stderr, "heddle: cannot write {}\n", MessageOf(status));
    return kExitFailed;
  }
  for (const NewFile& file : files) fmt::print("{}\n", file.path.string());
  return kExitDone;
}

}  // namespace

void AddNewPolicyCommand(CLI::App& app, std::function<int()>& command) {
  CLI::App* app_of =
      app.add_subcommand("new-policy", "Write the first files of a load balancer of your own");
  const auto arguments = std::make_shared<NewPolicyArguments>();
  app_of
      ->add_option("name", arguments->name,
                   "The name of the load balancer in experiments, such as my_policy")
      ->required();
  app_of
      ->add_option("--out-of-tree", arguments->out_of_tree,
                   "Write it into this folder, outside of Heddle's source tree")
      ->type_name("DIR");
  app_of->callback(
      [&command, arguments] { command = [arguments] { return NewPolicy(*arguments); }; });
}

}  // namespace heddle
