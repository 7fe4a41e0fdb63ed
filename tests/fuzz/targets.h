// SPDX-License-Identifier: Apache-2.0
// Fuzzers call these functions. Each takes any bytes for the input of one reader, and
// checks what must hold. The reader refuses its input with an error that says where, or returns a
// sound value, which reads the same once it is written again.

#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace heddle {

using FuzzInput = std::span<const uint8_t>;

// Settings.
void FuzzYaml(FuzzInput input);
void FuzzArgument(FuzzInput input);  // --set
void FuzzJson(FuzzInput input);

// Experiments and their parts, which are read and not run. Lines that start
// with "#set ", "#scale " or "#seed " stand for the options of that name.
void FuzzExperiment(FuzzInput input);
void FuzzSizes(FuzzInput input);      // pareto:1MB:1.5
void FuzzSizeTable(FuzzInput input);  // A CDF.
void FuzzFlowList(FuzzInput input);
void FuzzLinkFile(FuzzInput input);
void FuzzTrafficMatrix(FuzzInput input);  // The bytes between ranks of an all-to-all.
void FuzzGoal(FuzzInput input);
void FuzzGoalBinary(FuzzInput input);
void FuzzChakra(FuzzInput input);
void FuzzChakraJson(FuzzInput input);
void FuzzChakraGroups(FuzzInput input);
void FuzzGzip(FuzzInput input);
void FuzzHtsimCm(FuzzInput input);
void FuzzFlowTxt(FuzzInput input);
void FuzzPlugin(FuzzInput input);  // The sections of a shared library.

// Results that are read back. A folder of files is one text, in which a line "=== NAME" starts
// each.
void FuzzManifest(FuzzInput input);  // manifest.csv beside files that it names.
void FuzzRunFolder(FuzzInput input);
void FuzzRunTable(FuzzInput input);  // The flows.csv of a run, by metrics of papers.
void FuzzPlan(FuzzInput input);
void FuzzVerdicts(FuzzInput input);
void FuzzClaims(FuzzInput input);

struct FuzzTarget {
  std::string_view name;
  void (*run)(FuzzInput input);
  int mutations;  // The number of mutations in the corpus test; they take about half a second.
};

std::span<const FuzzTarget> FuzzTargets();

}  // namespace heddle
