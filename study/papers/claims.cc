// SPDX-License-Identifier: Apache-2.0

#include "study/papers/claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <set>
#include <string_view>

#include "settings/yaml.h"
#include "study/papers/claim_part.h"
#include "study/papers/map_reader.h"

namespace heddle {
namespace {

const std::vector<std::string> kFigureKinds = {"lines", "bars", "time"};

// --- A paper ---

class PaperReader {
 public:
  PaperReader(const Value& document, std::filesystem::path folder, Diagnostics& diagnostics)
      : map_(document, "", diagnostics), folder_(std::move(folder)), diagnostics_(diagnostics) {}

  Paper Read() {
    paper_.id = folder_.filename().string();
    paper_.name = map_.RequireText("paper", "its short name");
    paper_.title = map_.RequireText("title", "its full citation");
    metrics_ = ReadMetrics(map_.Entries("metrics"), "metrics", {}, diagnostics_);
    names_ = TextsOf("names", map_);
    map_.Require("experiments", "a map from names, such as fig7, to experiments");
    for (const Value::Entry& entry : map_.Entries("experiments")) ReadOwnMetrics(entry);
    for (const Value::Entry& entry : map_.Entries("experiments")) {
      paper_.experiments.push_back(ReadExperiment(entry));
    }
    map_.RefuseOthers();
    CheckReferences();
    return std::move(paper_);
  }

 private:
  std::map<std::string, std::string> TextsOf(std::string_view key, MapReader& map) {
    std::map<std::string, std::string> texts;
    for (const Value::Entry& entry : map.Entries(key)) {
      const std::string path = map.PathOf(key) + "." + entry.key;
      texts[entry.key] = TextOf(entry.value, path, diagnostics_).value_or("");
    }
    return texts;
  }

  // Reads an experiment's own metrics. Called for all experiments first, since they may use metrics
  // of others.
  void ReadOwnMetrics(const Value::Entry& entry) {
    const Value* metrics = entry.value.Find("metrics");
    if (metrics == nullptr || metrics->kind != Value::Kind::kMap) return;
    const std::string path = fmt::format("experiments.{}.metrics", entry.key);
    diagnostics_.Note(path, metrics->place);
    own_metrics_[entry.key] = ReadMetrics(metrics->entries, path, metrics_, diagnostics_);
  }

  // Returns an experiment's own metrics, those of the experiments its points are from, and those of
  // the paper.
  Metrics MetricsOf(const PaperExperiment& experiment) {
    Metrics metrics = own_metrics_[experiment.id];
    for (const std::string& name : experiment.from) {
      for (const auto& [metric, definition] : own_metrics_[name]) {
        const auto [known, is_new] = metrics.emplace(metric, definition);
        if (is_new || own_metrics_[experiment.id].contains(metric)) continue;
        diagnostics_.ErrorAt(experiment.path + ".from",
                             fmt::format("several of them define the metric {}; define it here, or "
                                         "at the top",
                                         metric));
      }
    }
    metrics.insert(metrics_.begin(), metrics_.end());
    return metrics;
  }

  PaperExperiment ReadExperiment(const Value::Entry& entry) {
    PaperExperiment experiment;
    MapReader map(entry.value, "experiments." + entry.key, diagnostics_);
    experiment.place = entry.key_place;
    experiment.path = map.path();
    experiment.id = entry.key;
    experiment.about = map.RequireText("about", "the question that it answers, in one line");
    for (const Value::Entry& choice : map.Entries("choices")) {
      const auto text =
          TextOf(choice.value, map.PathOf("choices") + "." + choice.key, diagnostics_);
      experiment.choices.emplace_back(choice.key, text.value_or(""));
    }
    experiment.names = TextsOf("names", map);
    experiment.names.insert(names_.begin(), names_.end());
    map.Entries("metrics");
    ReadPoints(map, experiment);
    experiment.metrics = MetricsOf(experiment);
    for (const Value::Entry& figure : map.Entries("figures")) {
      experiment.figures.push_back(ReadFigure(figure, map.PathOf("figures"), experiment.metrics));
    }
    ReadClaims(map, experiment);
    map.RefuseOthers();
    return experiment;
  }

  void ReadPoints(MapReader& map, PaperExperiment& experiment) {
    const auto file = map.Text("file");
    experiment.from = map.Texts("from");
    if (const Value* bench = map.Find("bench")) experiment.bench = ReadBench(*bench, map);
    if (map.Has("file") + map.Has("from") + map.Has("bench") > 1) {
      map.Error("", "expected one of: file, from, bench");
    }
    if (!experiment.from.empty() || experiment.bench) return;
    experiment.file = folder_ / file.value_or(experiment.id + ".yaml");
    std::error_code ignored;
    if (std::filesystem::exists(experiment.file, ignored)) return;
    const std::string message =
        fmt::format("there is no {}; an experiment without a file has `from` or `bench`",
                    experiment.file.string());
    if (file) return map.Error("file", message);
    diagnostics_.Error(experiment.place, experiment.path, message);
  }

  BenchPlan ReadBench(const Value& value, const MapReader& around) {
    BenchPlan plan;
    MapReader map(value, around.PathOf("bench"), diagnostics_);
    map.Require("policies", "a list of load balancers");
    plan.policies = map.Texts("policies");
    const auto numbers = [&](const std::string& key, std::vector<int64_t>& into) {
      if (!map.Has(key)) return (void)map.Find(key);
      into.clear();
      for (const std::string& text : map.Texts(key)) {
        int64_t number = 0;
        const ParseError error = ParseInRange(text, number, AtLeast<int64_t>(1));
        if (error) map.Error(key, *error);
        into.push_back(number);
      }
    };
    numbers("candidates", plan.candidates);
    numbers("flows", plan.flows);
    plan.repeats = map.Whole("repeats", 1).value_or(plan.repeats);
    map.RefuseOthers();
    return plan;
  }

  void CheckMetric(const std::string& name, const std::string& path, const Metrics& metrics) {
    if (metrics.contains(name)) return;
    std::vector<std::string> known;
    for (const auto& [metric, unused] : metrics) known.push_back(metric);
    diagnostics_.ErrorAt(
        path, fmt::format("no metric is called \"{}\"{}", name, Suggestion(name, known)));
  }

  Figure ReadFigure(const Value::Entry& entry, const std::string& path, const Metrics& metrics) {
    Figure figure;
    MapReader map(entry.value, path + "." + entry.key, diagnostics_);
    figure.place = entry.key_place;
    figure.path = map.path();
    figure.id = entry.key;
    if (const auto word = map.Word("kind", kFigureKinds)) {
      figure.kind = EnumOf<FigureKind>(kFigureKinds, *word);
    }
    figure.title = map.Text("title").value_or("");
    map.Require("metric", "the name of a metric, or of several");
    figure.metrics = map.Texts("metric");
    for (const std::string& metric : figure.metrics) {
      CheckMetric(metric, map.PathOf("metric"), metrics);
    }
    figure.x = map.Text("x").value_or("");
    if (figure.kind == FigureKind::kLines && figure.x.empty()) {
      map.Error("", "x is missing; expected: an axis of the sweep");
    }
    figure.x_label = map.Text("x_label").value_or(LastPart(figure.x));
    if (const Value* values = map.Find("x_values")) {
      for (const Value& item : ItemsOf(*values)) {
        const auto number = NumberOf(item, map.PathOf("x_values"), diagnostics_);
        figure.x_values.push_back(number.value_or(0));
      }
    }
    figure.x_scale = map.Number("x_scale").value_or(1);
    figure.lines = map.Texts("lines");
    if (!map.Has("lines")) figure.lines = {"lb"};
    figure.at = map.Entries("at");
    if (const Value* normal = map.Find("normalise_to")) {
      figure.normalise_to = NormalOf(*normal, figure.lines);
    }
    map.RefuseOthers();
    return figure;
  }

  // Reads the line that is 1: a value of the lines' axis, or a map of axes.
  static Selection NormalOf(const Value& value, const std::vector<std::string>& lines) {
    const bool is_value = value.kind != Value::Kind::kMap || value.Find("kind") != nullptr;
    if (!is_value) return value.entries;
    return {{lines.empty() ? "lb" : lines.front(), value.place, value}};
  }

  // A claim may name settings that the experiment also has as the paper prints them. Then a twin
  // with the printed settings follows it: C6L after C6, unless there is one.
  void ReadClaims(MapReader& map, PaperExperiment& experiment) {
    const std::map<std::string, std::string> printed = TextsOf("printed", map);
    const std::vector<Value::Entry>& claims = map.Entries("claims");
    const std::string path = map.PathOf("claims");
    for (const Value::Entry& claim : claims) {
      const size_t errors = diagnostics_.problems().size();
      experiment.claims.push_back(ReadClaim(claim, path, experiment.metrics));
      if (diagnostics_.problems().size() > errors)
        continue;  // The twin would have the same errors.
      const auto literal = AsPrinted(claim, printed);
      const bool is_new =
          experiment.claims.back().role == ClaimRole::kPaper &&
          std::ranges::find(claims, claim.key + "L", &Value::Entry::key) == claims.end();
      if (literal && is_new) {
        experiment.claims.push_back(ReadClaim(*literal, path, experiment.metrics));
      } else if (claim.value.Find("printed_depends_on") != nullptr) {
        diagnostics_.ErrorAt(path + "." + claim.key + ".printed_depends_on",
                             "there is no second claim; see `printed` of the experiment");
      }
    }
    ReferToCorrected(experiment.claims);
  }

  // Returns the claim with the printed settings; nothing if it names none that are printed
  // otherwise.
  static std::optional<Value::Entry> AsPrinted(const Value::Entry& claim,
                                               const std::map<std::string, std::string>& printed) {
    Value::Entry literal = claim;
    if (!Replace(literal.value, printed)) return std::nullopt;
    literal.key += "L";
    Value* says = literal.value.Find("says");
    says->text = "as printed: " + says->text;
    std::erase_if(literal.value.entries, [](const auto& e) { return e.key == "depends_on"; });
    for (Value::Entry& entry : literal.value.entries) {
      if (entry.key == "printed_depends_on") entry.key = "depends_on";
    }
    return literal;
  }

  // Returns true if there was anything to replace.
  static bool Replace(Value& value, const std::map<std::string, std::string>& by) {
    bool any = false;
    if (value.kind == Value::Kind::kScalar) {
      const auto found = by.find(value.text);
      if (found == by.end()) return false;
      value.text = found->second;
      return true;
    }
    for (Value& item : value.items) any |= Replace(item, by);
    for (Value::Entry& entry : value.entries) any |= Replace(entry.value, by);
    return any;
  }

  // The letter behind the number of C6L or C2T says that C6 or C2 is judged once more.
  static ClaimRole RoleOf(const std::string& id, bool is_ours) {
    if (is_ours) return ClaimRole::kOurs;
    const bool has_letter = id.size() > 1 && id.back() >= 'A' && id.back() <= 'Z';
    return has_letter ? ClaimRole::kTwin : ClaimRole::kPaper;
  }

  Claim ReadClaim(const Value::Entry& entry, const std::string& path, const Metrics& metrics) {
    Claim claim;
    MapReader map(entry.value, path + "." + entry.key, diagnostics_);
    claim.id = entry.key;
    claim.role = RoleOf(claim.id, map.Flag("ours").value_or(false));
    claim.says = map.RequireText("says", "what the paper says, in our words");
    claim.depends_on = map.Text("depends_on").value_or("");
    map.Find("printed_depends_on");
    const auto read = [&](const Value& part, const std::string& part_path,
                          const std::vector<std::string>& others) {
      claim.parts.push_back(ReadClaimPart(part, part_path, metrics, others, diagnostics_));
    };
    const Value* all = map.Find("all");
    if (all == nullptr) {
      if (entry.value.kind == Value::Kind::kMap) {
        read(entry.value, map.path(), {"says", "ours", "depends_on", "printed_depends_on"});
      }
      return claim;
    }
    const std::vector<Value> parts = ItemsOf(*all);
    for (size_t i = 0; i < parts.size(); ++i) {
      read(parts[i], fmt::format("{}[{}]", map.PathOf("all"), i), {});
    }
    if (parts.empty()) map.Error("all", "expected a list of parts");
    map.RefuseOthers();
    return claim;
  }

  // C6L, the claim as printed, depends on the same as C6 unless it says otherwise.
  static void ReferToCorrected(std::vector<Claim>& claims) {
    for (Claim& literal : claims) {
      if (!literal.id.ends_with('L') || !literal.depends_on.empty()) continue;
      const std::string corrected = literal.id.substr(0, literal.id.size() - 1);
      const auto found = std::ranges::find(claims, corrected, &Claim::id);
      if (found == claims.end() || found->depends_on.empty()) continue;
      literal.depends_on =
          found->depends_on.starts_with("see ") ? found->depends_on : "see " + corrected;
    }
  }

  // Checked at the end, since experiments may refer to later ones.
  void CheckReferences() {
    for (const PaperExperiment& experiment : paper_.experiments) {
      for (const std::string& name : experiment.from) {
        const PaperExperiment* other = CheckExperiment(name, experiment.path + ".from");
        if (other != nullptr && !other->from.empty()) {
          diagnostics_.ErrorAt(experiment.path + ".from",
                               fmt::format("{} has no points of its own", name));
        }
      }
      for (const Claim& claim : experiment.claims) {
        for (const ClaimPart& part : claim.parts) CheckOther(part);
      }
    }
  }

  void CheckOther(const ClaimPart& part) {
    if (part.than_experiment.empty()) return;
    const auto* other = CheckExperiment(part.than_experiment, part.path + ".than_experiment");
    const std::string& metric = part.than_metric.empty() ? part.metric : part.than_metric;
    if (other != nullptr) CheckMetric(metric, part.path + ".than_experiment", other->metrics);
  }

  const PaperExperiment* CheckExperiment(const std::string& name, const std::string& path) {
    const PaperExperiment* found = paper_.Find(name);
    if (found != nullptr) return found;
    std::vector<std::string> known;
    for (const PaperExperiment& experiment : paper_.experiments) known.push_back(experiment.id);
    diagnostics_.ErrorAt(
        path, fmt::format("no experiment is called \"{}\"{}", name, Suggestion(name, known)));
    return nullptr;
  }

  MapReader map_;
  const std::filesystem::path folder_;
  Diagnostics& diagnostics_;
  Metrics metrics_;
  std::map<std::string, Metrics> own_metrics_;  // By experiment.
  std::map<std::string, std::string> names_;
  Paper paper_;
};

}  // namespace

std::string_view NameOf(ClaimRole role) {
  static constexpr std::array<std::string_view, 3> kNames = {"claim", "twin", "ours"};
  return kNames[static_cast<size_t>(role)];
}

const PaperExperiment* Paper::Find(const std::string& experiment) const {
  const auto found = std::ranges::find(experiments, experiment, &PaperExperiment::id);
  return found == experiments.end() ? nullptr : &*found;
}

std::optional<Paper> ReadPaper(const std::filesystem::path& folder, Diagnostics& diagnostics) {
  const auto document = ReadYamlFile((folder / "claims.yaml").string(), diagnostics);
  if (!document) return std::nullopt;
  return PaperReader(*document, folder, diagnostics).Read();
}

}  // namespace heddle
