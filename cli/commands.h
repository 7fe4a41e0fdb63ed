// SPDX-License-Identifier: Apache-2.0
// The functions behind the commands run, check and others, which heddle_main calls with the parsed
// arguments. Each returns the exit code.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/plugins.h"
#include "experiment/experiment.h"
#include "measure/trace/tracer.h"

namespace heddle {

inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;    // A failure, or an incomplete result.
inline constexpr int kExitBadInput = 2;  // Wrong input. 3 is a broken invariant, see core/check.h.

struct RunArguments {
  std::vector<std::string> files;
  std::vector<std::string> sets;
  std::optional<uint64_t> seed;
  std::string scale = std::string(kFullScale);
  int threads = 1;
  std::string out;
  bool quiet = false;
  bool force = false;
  bool verbose = false;                // heddle check: the details of every point of a sweep.
  std::optional<TraceSettings> trace;  // Set by heddle trace, for one experiment.
  const Plugins* plugins = nullptr;    // The loaded plug-ins.
};

int Run(const RunArguments& arguments);
int Check(const RunArguments& arguments);
int List();
int DescribeName(const std::string& name);
std::string VersionText();

}  // namespace heddle
