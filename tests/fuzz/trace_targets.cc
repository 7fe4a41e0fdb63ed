// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/fuzz/checks.h"
#include "tests/fuzz/targets.h"
#include "tests/support/timed_play.h"
#include "workload/jobs/collective.h"
#include "workload/jobs/graph_check.h"
#include "workload/jobs/graph_schedule.h"
#include "workload/jobs/traffic_matrix.h"
#include "workload/traces/chakra_graph.h"
#include "workload/traces/chakra_groups.h"
#include "workload/traces/flow_txt.h"
#include "workload/traces/goal_binary.h"
#include "workload/traces/goal_text.h"
#include "workload/traces/gzip.h"
#include "workload/traces/htsim_cm.h"

namespace heddle {
namespace {

constexpr size_t kMostOperations = 10'000;

// A graph without problems runs to its end, unless a receive may take a message that another one
// needs.
void RequireRuns(OperationGraph graph) {
  size_t operations = graph.ranks();
  bool has_wildcards = false;
  for (uint32_t rank = 0; rank < graph.ranks(); ++rank) {
    operations += graph.OpsOf(rank).size();
    has_wildcards = has_wildcards || graph.HasWildcards(rank);
  }
  if (operations > kMostOperations || !GraphProblems(graph).empty()) return;
  const auto schedule = MakeGraphSchedule(std::make_shared<const OperationGraph>(std::move(graph)));
  const TimedPlay play(*schedule, StarTimes);
  Require(has_wildcards || play.end() != kNever, "every rank of a sound trace finishes");
}

template <class Reader>
void FuzzReader(const Reader& read) {
  Diagnostics diagnostics;
  FileErrors errors("trace", diagnostics);
  std::optional<OperationGraph> graph = read(errors);
  RequirePlaces(diagnostics);
  Require(graph.has_value() == diagnostics.ok(), "a graph, or an error");
  if (graph) RequireRuns(*std::move(graph));
}

// One rank of two; the other one does nothing.
template <class Reader>
void FuzzNodes(const Reader& read) {
  FuzzReader([&](FileErrors& errors) -> std::optional<OperationGraph> {
    ChakraBuilder builder({.ignores_memory = true, .groups = {}, .algorithms = {}}, 2);
    const std::vector<ChakraNode> nodes = read(builder.ignored(), errors);
    if (!errors.any()) builder.AddRank(0, nodes, errors);
    if (errors.any()) return std::nullopt;
    builder.ignored().Text();
    return builder.Take();
  });
}

// --- Traffic matrices ---

using Matrix = std::shared_ptr<const std::vector<int64_t>>;

uint32_t RanksOf(const Matrix& matrix) {
  return static_cast<uint32_t>(std::lround(std::sqrt(static_cast<double>(matrix->size()))));
}

// Requires that each rank sends what its row says, whatever protocol adds to each message.
void RequireAllToAll(const Matrix& matrix) {
  constexpr uint32_t kMostRanks = 64;
  const uint32_t ranks = RanksOf(matrix);
  if (ranks < 2 || ranks > kMostRanks) return;
  CollectiveSettings settings;
  settings.op = CollectiveSettings::Op::kAllToAll;
  settings.algorithm = CollectiveSettings::Algorithm::kDirect;
  settings.matrix = "matrix.csv";
  settings.traffic = matrix;
  for (const NcclProtocol protocol :
       {NcclProtocol::kSimple, NcclProtocol::kLl, NcclProtocol::kLl128}) {
    settings.protocol = protocol;
    const auto schedule = settings.Make(ranks, /*seed=*/1, /*job=*/0);
    double payload = 0;
    double messages = 0;
    for (size_t cell = 0; cell < matrix->size(); ++cell) {
      if (cell % (ranks + 1) == 0 || (*matrix)[cell] == 0) continue;  // A rank's own block stays.
      ++messages;
      payload += static_cast<double>((*matrix)[cell]);
    }
    const ScheduleTotals totals = schedule->Totals();
    Require(totals.messages == messages, "each cell is a message");
    Require(totals.bytes >= payload * (1 - 1e-9), "messages carry what the cells say");
    Require(totals.bytes <= 3 * payload + 2e3 * messages, "and little more");
  }
  Require(settings.Operation(ranks).bytes >= 0, "the mean of the ranks' bytes does not overflow");
}

std::string MatrixCsv(const Matrix& matrix) {
  const size_t ranks = RanksOf(matrix);
  std::string csv;
  for (size_t cell = 0; cell < matrix->size(); ++cell) {
    csv += fmt::format("{}{}", (*matrix)[cell], (cell + 1) % ranks == 0 ? '\n' : ',');
  }
  return csv;
}

}  // namespace

// A matrix is square, reads the same when it is written again, and is what an all-to-all sends.
void FuzzTrafficMatrix(FuzzInput input) {
  FilesRead files;
  Diagnostics diagnostics;
  const auto read = [&](const std::string& text) {
    return ReadTrafficMatrix(WriteInput("matrix.csv", text), "workload[0].matrix", files,
                             diagnostics);
  };
  const Matrix matrix = read(TextOf(input));
  RequirePlaces(diagnostics);
  Require((matrix != nullptr) == diagnostics.ok(), "a matrix, or an error");
  if (!matrix) return;
  Require(size_t{RanksOf(matrix)} * RanksOf(matrix) == matrix->size(), "a matrix is square");
  Require(std::ranges::all_of(*matrix, [](int64_t bytes) { return bytes >= 0; }),
          "nobody sends less than nothing");
  const Matrix again = read(MatrixCsv(matrix));
  Require(again && *again == *matrix, "what is written reads the same");
  RequireAllToAll(matrix);
}

void FuzzGoal(FuzzInput input) {
  const std::string text = TextOf(input);
  FuzzReader([&](FileErrors& errors) {
    return ReadGoalText(text, {.o = 1_ns, .O = Duration{1}, .g = 2_ns}, errors);
  });
}

void FuzzGoalBinary(FuzzInput input) {
  const std::string bytes = TextOf(input);
  FuzzReader([&](FileErrors& errors) { return ReadGoalBinary(bytes, GoalSettings(), errors); });
}

void FuzzChakra(FuzzInput input) {
  const std::string bytes = TextOf(input);
  FuzzNodes([&](ChakraIgnored& ignored, FileErrors& errors) {
    return ReadChakraWire(bytes, ignored, errors);
  });
}

void FuzzChakraJson(FuzzInput input) {
  const std::string text = TextOf(input);
  FuzzNodes([&](ChakraIgnored& ignored, FileErrors& errors) {
    return ReadChakraJson(text, ignored, errors);
  });
}

// The file of groups, and the same text as the values of a metadata node.
void FuzzChakraGroups(FuzzInput input) {
  constexpr uint32_t kRanks = 4;
  const std::string text = TextOf(input);
  const auto check = [&](const auto& read) {
    Diagnostics diagnostics;
    FileErrors errors("groups", diagnostics);
    const ChakraGroups groups = read(errors);
    RequirePlaces(diagnostics);
    Require(errors.any() != diagnostics.ok(), "mistakes are errors");
    for (const auto& [name, group] : groups) {
      const std::set<uint32_t> ranks(group.begin(), group.end());
      Require(ranks.size() == group.size(), "each rank once");
      Require(ranks.empty() || *ranks.rbegin() < kRanks, "ranks that exist");
    }
  };
  check([&](FileErrors& errors) { return ReadChakraGroups(text, kRanks, errors); });
  check([&](FileErrors& errors) {
    ChakraNode node;
    node.input_values = text;
    ChakraGroups groups;
    AddDeclaredGroups(node, kRanks, groups, errors);
    return groups;
  });
}

// What can be decompressed decompresses to the same again within its length, and not within less.
void FuzzGzip(FuzzInput input) {
  constexpr size_t kLimit = 1 << 20;
  const std::string bytes = TextOf(input);
  const auto text = Gunzip(bytes, kLimit);
  if (!text.ok()) return Require(!text.status().message().empty(), "a reason");
  Require(text->size() <= kLimit, "the limit holds");
  Require(*Gunzip(bytes, text->size()) == *text, "the same within its length");
  if (!text->empty()) Require(!Gunzip(bytes, text->size() - 1).ok(), "too long for less");
}

void FuzzHtsimCm(FuzzInput input) {
  const std::string text = TextOf(input);
  using CrossHost = HtsimCmSettings::CrossHost;
  for (const CrossHost cross_host : {CrossHost::kDelay, CrossHost::kReceive, CrossHost::kRefuse}) {
    const HtsimCmSettings settings{.cross_host = cross_host};
    FuzzReader([&](FileErrors& errors) { return ReadHtsimCm(text, settings, errors); });
  }
}

void FuzzFlowTxt(FuzzInput input) {
  const std::string text = TextOf(input);
  FuzzReader([&](FileErrors& errors) { return ReadFlowTxt(text, {}, errors); });
}

}  // namespace heddle
