// SPDX-License-Identifier: Apache-2.0
// Reads traces in tests.

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "settings/diagnostics.h"
#include "tests/support/timed_play.h"
#include "workload/file_errors.h"
#include "workload/jobs/graph_check.h"
#include "workload/jobs/graph_schedule.h"

namespace heddle {

// A trace as a reader returns it, with its mistakes; those that only the whole graph shows, too.
struct ReadTrace {
  std::optional<OperationGraph> graph;
  std::vector<std::string> errors;    // "7: ...", with the line.
  std::vector<std::string> warnings;  // As they are printed.

  // The ends of all ranks if messages never wait for each other; see StarTimes().
  std::vector<Time> Ends() const {
    const auto schedule = MakeGraphSchedule(std::make_shared<const OperationGraph>(*graph));
    return TimedPlay(*schedule, StarTimes).ends();
  }
};

template <class Reader>
ReadTrace ReadTraceWith(const Reader& reader) {
  Diagnostics diagnostics;
  FileErrors errors("file", diagnostics);
  ReadTrace read{reader(errors), {}, {}};
  if (read.graph && !errors.any()) {
    for (const GraphProblem& problem : GraphProblems(*read.graph)) {
      errors.Add(problem.line, problem.message);
    }
  }
  for (const std::string& error : diagnostics.errors()) {
    std::string text = error.substr(std::string_view("file:").size());
    const size_t column = text.find(":1: ");
    if (column != std::string::npos) text.erase(column, 2);
    read.errors.push_back(text);
  }
  read.warnings = diagnostics.warnings();
  return read;
}

}  // namespace heddle
