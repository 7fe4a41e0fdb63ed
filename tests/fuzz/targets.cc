// SPDX-License-Identifier: Apache-2.0

#include "tests/fuzz/targets.h"

namespace heddle {
namespace {

// CMakeLists.txt and scripts/fuzz find the names here.
constexpr FuzzTarget kTargets[] = {
    {"yaml", FuzzYaml, 4'000},
    {"argument", FuzzArgument, 4'000},
    {"json", FuzzJson, 20'000},
    {"experiment", FuzzExperiment, 1'000},
    {"sizes", FuzzSizes, 4'000},
    {"size_table", FuzzSizeTable, 4'000},
    {"flow_list", FuzzFlowList, 4'000},
    {"link_file", FuzzLinkFile, 4'000},
    {"traffic_matrix", FuzzTrafficMatrix, 4'000},
    {"plugin", FuzzPlugin, 20'000},
    {"manifest", FuzzManifest, 4'000},
    {"run_folder", FuzzRunFolder, 1'000},
    {"run_table", FuzzRunTable, 2'000},
    {"plan", FuzzPlan, 10'000},
    {"verdicts", FuzzVerdicts, 10'000},
    {"claims", FuzzClaims, 1'000},
    {"goal", FuzzGoal, 4'000},
    {"goal_binary", FuzzGoalBinary, 10'000},
    {"htsim_cm", FuzzHtsimCm, 4'000},
    {"flow_txt", FuzzFlowTxt, 4'000},
    {"chakra", FuzzChakra, 10'000},
    {"chakra_json", FuzzChakraJson, 2'000},
    {"chakra_groups", FuzzChakraGroups, 4'000},
    {"gzip", FuzzGzip, 10'000},
};

}  // namespace

std::span<const FuzzTarget> FuzzTargets() { return kTargets; }

}  // namespace heddle
