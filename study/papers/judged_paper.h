// SPDX-License-Identifier: Apache-2.0
// A paper with its results: claims judged and figures drawn.

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
  size_t results = 0;               // Points that have one,
  size_t stale = 0;                 // and points whose result is of another version of Heddle.
  std::set<std::string> versions;   // Of the results that count.
  std::vector<JudgedClaim> claims;  // As in the experiment.
  std::vector<DrawnFigure> figures;
};

struct JudgedPaper {
  const Paper* paper;
  std::vector<JudgedExperiment> experiments;
  std::set<std::filesystem::path> damaged = {};  // Folders of points, which don't count.
};

struct JudgeOptions {
  LoadOptions load;           // The scale, and what is set otherwise than in the experiments.
  std::filesystem::path out;  // Of these results.
  bool with_stale = false;
};

// The experiments in `chosen`. What is wrong with the paper or its experiments, or cannot be read
// from results, is in `diagnostics`; claims that this concerns cannot be judged.
JudgedPaper JudgePaper(const Paper& paper, const std::set<std::string>& chosen,
                       const JudgeOptions& options, Diagnostics& diagnostics);

// Whether claims and figures of the experiments in `chosen` speak of axes, and values of them, that
// these have.
void CheckPaper(const Paper& paper, const std::set<std::string>& chosen, Diagnostics& diagnostics);

// "pdlb-fig7.C1"
std::string FullId(const Paper& paper, const PaperExperiment& experiment, const Claim& claim);

}  // namespace heddle
