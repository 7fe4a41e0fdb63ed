// SPDX-License-Identifier: Apache-2.0

#include "study/papers/judged_paper.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

namespace heddle {
namespace {

// --- Checks ---

class PaperChecker {
 public:
  PaperChecker(const Paper& paper, Diagnostics& diagnostics)
      : paper_(paper), diagnostics_(diagnostics) {}

  void Check(const std::set<std::string>& chosen) {
    for (const PaperExperiment& experiment : paper_.experiments) {
      if (chosen.contains(experiment.id)) CheckExperiment(experiment);
    }
  }

 private:
  void CheckExperiment(const PaperExperiment& experiment) {
    experiment_ = &experiment;
    for (const Figure& figure : experiment.figures) {
      CheckSelection(figure.at, figure.path + ".at");
      if (figure.normalise_to) CheckSelection(*figure.normalise_to, figure.path + ".normalise_to");
      if (!figure.x.empty()) CheckAxis(figure.x, figure.place, figure.path + ".x");
      for (const std::string& axis : figure.lines) {
        if (axis != "lb") CheckAxis(axis, figure.place, figure.path + ".lines");
      }
    }
    for (const Claim& claim : experiment.claims) {
      for (const ClaimPart& part : claim.parts) CheckPart(part);
    }
  }

  void CheckPart(const ClaimPart& part) {
    CheckSelection(part.at, part.path + ".at");
    if (!part.along.empty()) CheckAxis(part.along, part.place, part.path + ".along");
    for (const auto* sides : {&part.firsts, &part.seconds, &part.except}) {
      for (const Side& side : *sides) CheckSelection(side, part.path);
    }
  }

  std::vector<const Points*> PointsOfExperiment() {
    std::vector<std::string> names = experiment_->from;
    if (names.empty()) names.push_back(experiment_->id);
    std::vector<const Points*> all;
    for (const std::string& name : names) {
      const auto [axes, is_new] = axes_.try_emplace(name);
      if (is_new) axes->second = AxesOf(*paper_.Find(name), diagnostics_);
      if (axes->second) all.push_back(&*axes->second);
    }
    return all;
  }

  bool CheckAxis(const std::string& axis, const Place& place, const std::string& path) {
    std::vector<std::string> known;
    for (const Points* points : PointsOfExperiment()) {
      for (const std::string& other : points->Axes()) {
        if (other != "seed") known.push_back(other);
      }
    }
    if (!experiment_->from.empty()) known.emplace_back(kExperimentAxis);
    if (known.empty() || std::ranges::find(known, axis) != known.end()) return true;
    diagnostics_.Error(place, path,
                       fmt::format("\"{}\" is not swept{}", axis, Suggestion(axis, known)));
    return false;
  }

  void CheckSelection(const Selection& selection, const std::string& path) {
    for (const Value::Entry& entry : selection) {
      if (!CheckAxis(entry.key, entry.key_place, path)) continue;
      std::vector<Value> patterns = {entry.value};
      if (entry.value.kind == Value::Kind::kList) patterns = entry.value.items;
      for (const Value& pattern : patterns) CheckPattern(entry.key, pattern, path);
    }
  }

  void CheckPattern(const std::string& axis, const Value& pattern, const std::string& path) {
    std::vector<std::string> labels;
    if (axis == kExperimentAxis) {
      labels = experiment_->from;
      if (std::ranges::find(labels, pattern.text) != labels.end()) return;
    }
    for (const Points* points : PointsOfExperiment()) {
      for (size_t i = 0; i < points->size(); ++i) {
        const Value* value = points->ChoiceOf(i, axis);
        if (value == nullptr) continue;
        if (MatchesChoice(pattern, *value)) return;
        const std::string label = ChoiceLabel(*value);
        if (std::ranges::find(labels, label) == labels.end()) labels.push_back(label);
      }
    }
    if (labels.empty()) return;  // The experiment has mistakes of its own.
    diagnostics_.Error(pattern.place, path,
                       fmt::format("{} has no {}{}", axis, Describe(pattern),
                                   Suggestion(ChoiceLabel(pattern), labels)));
  }

  const Paper& paper_;
  Diagnostics& diagnostics_;
  const PaperExperiment* experiment_ = nullptr;
  std::map<std::string, std::optional<Points>> axes_;  // By experiment; none if it cannot be read.
};

// --- Judgement ---

class Judge {
 public:
  Judge(const Paper& paper, const JudgeOptions& options, Diagnostics& diagnostics)
      : paper_(paper), options_(options), diagnostics_(diagnostics) {}

  JudgedExperiment Of(const PaperExperiment& experiment) {
    JudgedExperiment judged;
    judged.experiment = &experiment;
    PaperResults* results = ResultsOf(experiment);
    if (results == nullptr) {
      for (const Claim& claim : experiment.claims) judged.claims.push_back(Unreadable(claim));
      return judged;
    }
    // Read first, since some damage shows only when metrics are read.
    results->Read(experiment.metrics, NamesOf(experiment), diagnostics_);
    judged.points = results->points().size();
    judged.results = results->CountResults();
    judged.versions = results->Versions();
    judged.stale = static_cast<size_t>(
        std::ranges::count(results->points(), PointState::kStale, &PaperResults::Point::state));
    for (const Claim& claim : experiment.claims) {
      judged.claims.push_back(JudgeOne(claim, experiment, *results));
    }
    for (const Figure& figure : experiment.figures) {
      judged.figures.push_back(Draw(figure, experiment, *results, diagnostics_));
    }
    return judged;
  }

  // Returns the damaged folders among all that have been read.
  std::set<std::filesystem::path> Damaged() const {
    std::set<std::filesystem::path> folders;
    for (const auto& [id, results] : results_) folders.merge(results->Damaged());
    return folders;
  }

 private:
  // Returns the points of an experiment, loaded at the first call; null, with errors, if it has
  // mistakes.
  const ExperimentPoints* PointsOf(const std::string& id) {
    const auto [entry, is_new] = points_.try_emplace(id);
    if (is_new) {
      entry->second = ExperimentPoints::Load(paper_, *paper_.Find(id), options_.load, options_.out,
                                             diagnostics_);
    }
    return entry->second ? &*entry->second : nullptr;
  }

  PaperResults* ResultsOf(const PaperExperiment& experiment) {
    if (const auto known = results_.find(experiment.id); known != results_.end()) {
      return known->second.get();
    }
    const bool has_own = experiment.from.empty();
    std::vector<const ExperimentPoints*> points;
    for (const std::string& id : has_own ? std::vector{experiment.id} : experiment.from) {
      points.push_back(PointsOf(id));
      if (points.back() == nullptr) return nullptr;
    }
    auto results = std::make_unique<PaperResults>(points, !has_own, options_.with_stale);
    return results_.emplace(experiment.id, std::move(results)).first->second.get();
  }

  static std::vector<std::string> NamesOf(const PaperExperiment& experiment) {
    std::vector<std::string> names;
    for (const Claim& claim : experiment.claims) {
      const std::vector<std::string> of_claim = MetricsOf(claim);
      names.insert(names.end(), of_claim.begin(), of_claim.end());
    }
    for (const Figure& figure : experiment.figures) {
      if (figure.kind == FigureKind::kTime) continue;
      names.insert(names.end(), figure.metrics.begin(), figure.metrics.end());
    }
    return names;
  }

  static JudgedClaim Unreadable(const Claim& claim) {
    JudgedClaim judged;
    for (const ClaimPart& part : claim.parts) {
      judged.parts.emplace_back().reason = part.kind == ClaimKind::kNone
                                               ? part.because
                                               : "the experiment cannot be read at this scale";
    }
    return judged;
  }

  JudgedClaim JudgeOne(const Claim& claim, const PaperExperiment& experiment,
                       const PaperResults& results) {
    for (const ClaimPart& part : claim.parts) {
      if (part.than_experiment.empty()) continue;
      const PaperExperiment& other = *paper_.Find(part.than_experiment);
      PaperResults* of_other = ResultsOf(other);
      if (of_other == nullptr) return Unreadable(claim);
      const std::string& metric = part.than_metric.empty() ? part.metric : part.than_metric;
      of_other->Read(other.metrics, {metric}, diagnostics_);
    }
    return JudgeClaim(
        claim, experiment, results,
        [&](const std::string& id) -> const PaperResults& { return *results_.at(id); });
  }

  const Paper& paper_;
  const JudgeOptions& options_;
  Diagnostics& diagnostics_;
  std::map<std::string, std::optional<ExperimentPoints>> points_;
  std::map<std::string, std::unique_ptr<PaperResults>> results_;
};

}  // namespace

JudgedPaper JudgePaper(const Paper& paper, const std::set<std::string>& chosen,
                       const JudgeOptions& options, Diagnostics& diagnostics) {
  JudgedPaper judged{&paper, {}};
  Judge judge(paper, options, diagnostics);
  for (const PaperExperiment& experiment : paper.experiments) {
    if (chosen.contains(experiment.id)) judged.experiments.push_back(judge.Of(experiment));
  }
  judged.damaged = judge.Damaged();
  return judged;
}

void CheckPaper(const Paper& paper, const std::set<std::string>& chosen, Diagnostics& diagnostics) {
  PaperChecker(paper, diagnostics).Check(chosen);
}

std::string FullId(const Paper& paper, const PaperExperiment& experiment, const Claim& claim) {
  return fmt::format("{}-{}.{}", paper.id, experiment.id, claim.id);
}

}  // namespace heddle
