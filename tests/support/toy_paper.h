// SPDX-License-Identifier: Apache-2.0
// The fixture of tests about judging papers: an invented paper, "toy", whose results are written by
// hand. The value of a point is a function of its axes and its seed, so tests can derive by hand
// what should be found.

#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "settings/diagnostics.h"
#include "study/papers/claims.h"
#include "study/papers/judged_paper.h"
#include "study/papers/paper_results.h"
#include "tests/support/command.h"

namespace heddle {

inline constexpr const char* kToyBase =
    "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 2}\n"
    "workload: [{kind: poisson, sizes: small, load: 0.4, flows: 5}]\n";

// Four load balancers, three loads, three seeds.
inline constexpr const char* kToySweep =
    "sweep:\n"
    "  lb: [ecmp, rps, {kind: letflow, gap: 50us}, {kind: letflow, gap: 1ms}]\n"
    "  workload[0].load: [0.2, 0.4, 0.6]\n"
    "  seeds: 3\n";

// The number that a label begins with.
double NumberIn(const std::string& text);

class ToyPaper : public testing::Test {
 public:
  // The choices of a point, by axis.
  using At = std::map<std::string, std::string>;

 protected:
  using Values = std::function<double(const At& at, double seed)>;

  ToyPaper();

  // Writes the experiment `id`.yaml, and a result for each of its points: m.csv with the columns v
  // and twice, which is twice v.
  void Write(const std::string& id, const std::string& sweep, const Values& values);
  // Writes the result of one point.
  void WriteResult(const std::filesystem::path& run, double value, const std::string& version = "");
  // The points of an experiment that Write() has written.
  ExperimentPoints PointsOf(const std::string& id) const;
  // The folder of the first point that has this seed and, if given, this choice.
  std::filesystem::path RunOf(const std::string& id, const std::string& seed,
                              const std::string& choice = "") const;

  // Writes claims.yaml; `experiments` begins with the keys of the experiment e.
  void WriteClaims(const std::string& experiments);
  // Returns the errors of reading and checking the paper, as a user sees them; "" if there are
  // none.
  std::string ErrorsOf(const std::string& experiments);

  // Judges experiment e. All that the result refers to lives until the next call.
  JudgedPaper JudgePaperOf(const std::string& experiments, bool with_stale = false);
  JudgedExperiment Judge(const std::string& experiment, const std::string& more = "");
  // The one claim of experiment e.
  JudgedClaim One(const std::string& claim, const std::string& more = "");
  std::string VerdictOf(const std::string& claim, const std::string& more = "");
  static std::vector<std::string> Where(const JudgedClaim& claim);

  TemporaryFolder folder_;
  std::optional<Paper> paper_;
};

// Values over kToySweep: RPS above ECMP above both LetFlows; all grow with the load.
double Ordered(const ToyPaper::At& at, double seed);

}  // namespace heddle
