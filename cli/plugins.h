// SPDX-License-Identifier: Apache-2.0
// Load balancers from shared libraries, which register themselves as built-in ones do. `main` loads
// those that the command line names before the command runs, and hands them to whatever reads
// experiments: a point's id depends on the contents of the plug-in it uses.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/experiment.h"

namespace heddle {

// The contents of a section of a 64-bit ELF file; empty if there is none, or it is no such file.
std::string_view ElfSection(std::string_view file, std::string_view name);

class Plugins {
 public:
  // Loads a plug-in if it was built for this very program; nothing of it runs otherwise. Returns
  // what is wrong with it.
  std::optional<std::string> Load(const std::string& path);

  bool empty() const { return files_.empty(); }
  const std::vector<std::string>& files() const { return files_; }  // As the user named them.
  const PluginDigests& digests() const { return digests_; }

 private:
  std::vector<std::string> files_;
  PluginDigests digests_;
};

}  // namespace heddle
