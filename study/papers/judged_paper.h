// SPDX-License-Identifier: Apache-2.0
// Judges the claims of a paper and draws its figures from results. `heddle papers claims` calls it.

#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "settings/diagnostics.h"
#include "study/papers/claims.h"
#include "study/papers/draw.h"
#include "study/papers/judge.h"

namespace heddle {

struct JudgedExperiment {
  const PaperExperiment* experiment = nullptr;
  size_t points = 0;
  size_t results = 0;               // Points that have a result.
  size_t stale = 0;                 // Points whose result is from another version of Heddle.
  std::set<std::string> versions;   // The versions of Heddle of the results that count.
  std::vector<JudgedClaim> claims;  // In the order of the experiment.
  std::vector<DrawnFigure> figures;
};

struct JudgedPaper {
  const Paper* paper;
  std::vector<JudgedExperiment> experiments;
  std::set<std::filesystem::path> damaged = {};  // Folders of damaged points, which do not count.
};

struct JudgeOptions {
  LoadOptions load;           // The scale, and settings that differ from the experiments' own.
  std::filesystem::path out;  // The folder of the results.
  bool with_stale = false;
};

// Judges the experiments in `chosen`. Mistakes in the paper or its experiments, and results that
// cannot be read, are reported in `diagnostics`; claims that depend on them cannot be judged.
JudgedPaper JudgePaper(const Paper& paper, const std::set<std::string>& chosen,
                       const JudgeOptions& options, Diagnostics& diagnostics);

// Reports axes and values that claims or figures of the experiments in `chosen` name and the
// experiments do not have.
void CheckPaper(const Paper& paper, const std::set<std::string>& chosen, Diagnostics& diagnostics);

// Returns an id such as "pdlb-fig7.C1".
std::string FullId(const Paper& paper, const PaperExperiment& experiment, const Claim& claim);

}  // namespace heddle
