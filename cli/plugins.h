// SPDX-License-Identifier: Apache-2.0
// Load balancers, congestion controls and instruments from shared libraries, which register
// themselves as built-in ones do. heddle loads the plug-ins that the command line names before the
// command runs. Readers of experiments get their digests, since a point's id depends on the
// plug-ins it uses.

#pragma once

#include <absl/status/status.h>

#include <string>
#include <string_view>
#include <vector>

#include "experiment/experiment.h"

namespace heddle {

// Returns the contents of a section of a 64-bit ELF file; empty if there is no such section or the
// file is no ELF file.
std::string_view ElfSection(std::string_view file, std::string_view name);

class Plugins {
 public:
  // Loads a plug-in if it was built for this very program; otherwise none of its code runs.
  // NotFound: the file cannot be read. FailedPrecondition: it is no plug-in, or one for another
  // Heddle. AlreadyExists: it is loaded already, or its name is taken. InvalidArgument: it has
  // nothing to load. The message does not name the file.
  absl::Status Load(const std::string& path);

  bool empty() const { return files_.empty(); }
  const std::vector<std::string>& files() const {
    return files_;
  }  // The files, as the user named them.
  const PluginDigests& digests() const { return digests_; }

 private:
  std::vector<std::string> files_;
  PluginDigests digests_;
};

}  // namespace heddle
