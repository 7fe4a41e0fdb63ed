// SPDX-License-Identifier: Apache-2.0

#include "study/papers/papers_output.h"

#include <absl/strings/str_replace.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>
#include <sstream>

#include "experiment/version.h"
#include "settings/csv.h"
#include "settings/json.h"
#include "settings/wording.h"

namespace heddle {
namespace {

constexpr size_t kTextWidth = 100;
constexpr std::string_view kCsvHeader =
    "claim,verdict,agreeing,of,says,expected,measured,reason,depends_on,counts_as";

using Visit =
    std::function<void(const Paper&, const JudgedExperiment&, const Claim&, const JudgedClaim&)>;

void ForEachClaim(const std::vector<JudgedPaper>& papers, const Visit& visit) {
  for (const JudgedPaper& paper : papers) {
    for (const JudgedExperiment& experiment : paper.experiments) {
      for (size_t i = 0; i < experiment.claims.size(); ++i) {
        visit(*paper.paper, experiment, experiment.experiment->claims[i], experiment.claims[i]);
      }
    }
  }
}

// Returns a text such as "reproduced (5 of 6)".
std::string VerdictText(const JudgedClaim& judged) {
  const std::string verdict(NameOf(judged.verdict));
  if (judged.all() < 2) return verdict;
  return fmt::format("{} ({} of {})", verdict, judged.agreeing(), judged.all());
}

// Wraps words into lines of at most kTextWidth; the first line begins with `head`.
std::string Wrapped(const std::string& head, const std::string& text) {
  if (text.empty()) return "";
  const std::string indent(head.size(), ' ');
  std::string out;
  std::string line = head;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (line.size() + 1 + word.size() > kTextWidth && line.size() > indent.size()) {
      out += line + "\n";
      line = indent;
    }
    line += " " + word;
  }
  return out + line + "\n";
}

std::string ChoicesText(const PaperExperiment& experiment) {
  std::string text;
  for (const auto& [name, choice] : experiment.choices) {
    text += Wrapped(fmt::format("    {}:", name), choice);
  }
  return text;
}

using VerdictCounts = std::map<ClaimVerdict, size_t>;

// Returns the counts of verdicts on claims with this role, by paper.
std::vector<std::pair<std::string, VerdictCounts>> CountsOf(const std::vector<JudgedPaper>& papers,
                                                            ClaimRole role) {
  std::vector<std::pair<std::string, VerdictCounts>> counts;
  for (const JudgedPaper& paper : papers) counts.emplace_back(paper.paper->name, VerdictCounts());
  ForEachClaim(papers, [&](const Paper& paper, const JudgedExperiment&, const Claim& claim,
                           const JudgedClaim& judged) {
    if (claim.role != role) return;
    ++std::ranges::find(counts, paper.name, &std::pair<std::string, VerdictCounts>::first)
          ->second[judged.verdict];
  });
  return counts;
}

VerdictCounts TotalsOf(const std::vector<JudgedPaper>& papers, ClaimRole role) {
  VerdictCounts totals;
  for (const auto& [paper, counts] : CountsOf(papers, role)) {
    for (const auto& [verdict, count] : counts) totals[verdict] += count;
  }
  return totals;
}

size_t SumOf(const VerdictCounts& counts) {
  size_t sum = 0;
  for (const auto& [verdict, count] : counts) sum += count;
  return sum;
}

// Returns a text such as "5 claims".
std::string CountText(size_t count, ClaimRole role) {
  static constexpr std::array<std::string_view, 3> kNouns = {"claims", "twins", "claims of ours"};
  return fmt::format("{} {}", count, kNouns[static_cast<size_t>(role)]);
}

constexpr std::array kRoles = {ClaimRole::kPaper, ClaimRole::kTwin, ClaimRole::kOurs};

std::string TotalsText(const std::vector<JudgedPaper>& papers) {
  std::string text;
  for (const ClaimRole role : kRoles) {
    const VerdictCounts counts = TotalsOf(papers, role);
    if (counts.empty() && role != ClaimRole::kPaper) continue;
    text += CountText(SumOf(counts), role);
    for (const auto& [verdict, count] : counts) {
      text += fmt::format("{} {} {}", &verdict == &counts.begin()->first ? ":" : ",", count,
                          NameOf(verdict));
    }
    text += "\n";
  }
  return text;
}

// Returns a text such as "2 of 6 points have results".
std::string ResultsText(const JudgedExperiment& experiment) {
  return fmt::format("{} of {} {} results", experiment.results,
                     CountedNoun(experiment.points, "point"),
                     experiment.points == 1 ? "has" : "have");
}

std::string PointsText(const JudgedExperiment& experiment) {
  std::string text = ResultsText(experiment);
  if (experiment.stale > 0) {
    text += fmt::format(", {} are of another version of Heddle", experiment.stale);
  }
  return text;
}

// Writes a row for each paper and one for all; twins and claims of ours have rows of their own
// below.
std::string TotalsMarkdown(const std::vector<JudgedPaper>& papers) {
  static constexpr std::array kVerdicts = {
      ClaimVerdict::kReproduced, ClaimVerdict::kSameDirection, ClaimVerdict::kTie,
      ClaimVerdict::kMixed,      ClaimVerdict::kContradicted,  ClaimVerdict::kUnjudged};
  std::string text = "| paper |";
  std::string line = "|---|";
  for (const ClaimVerdict verdict : kVerdicts) {
    text += fmt::format(" {} |", NameOf(verdict));
    line += "---:|";
  }
  text += "\n" + line + "\n";
  const auto add = [&](const std::string& name, const VerdictCounts& counts) {
    text += fmt::format("| {} |", name);
    for (const ClaimVerdict verdict : kVerdicts) {
      const auto count = counts.find(verdict);
      text += fmt::format(" {} |", count == counts.end() ? 0 : count->second);
    }
    text += "\n";
  };
  for (const auto& [paper, counts] : CountsOf(papers, ClaimRole::kPaper)) add(paper, counts);
  for (const ClaimRole role : kRoles) {
    const VerdictCounts totals = TotalsOf(papers, role);
    const bool is_needed = role == ClaimRole::kPaper ? papers.size() > 1 : !totals.empty();
    if (is_needed) add("all " + CountText(SumOf(totals), role), totals);
  }
  return text + "\n";
}

// Escapes a text for a cell of a Markdown table.
std::string Cell(const std::string& text) {
  return absl::StrReplaceAll(text, {{"|", "\\|"}, {"\n", " "}});
}

// Returns a text such as "12.3 +- 0.4"; numbers of bytes are whole.
std::string MeanText(const BySeed& values) {
  const Replications over = Over(values);
  if (over.half_width() == 0) return fmt::format("{:.10g}", over.mean());
  return fmt::format("{:.3g} +- {:.2g}", over.mean(), over.half_width());
}

// Writes a benchmark's figure as a table: a row for each line, a column for each x.
std::string TableOf(const DrawnFigure& drawn) {
  std::vector<std::string> columns;
  for (const DrawnLine& line : drawn.lines) {
    for (const DrawnPoint& point : line.points) {
      if (std::ranges::find(columns, point.x_text) == columns.end())
        columns.push_back(point.x_text);
    }
  }
  const std::string unit = drawn.unit.empty() ? "" : fmt::format(" ({})", drawn.unit);
  std::string text = fmt::format("| {}{} |", Cell(drawn.label), unit);
  std::string below = "\n|---|";
  for (const std::string& column : columns) {
    text += fmt::format(" {} {} |", column, Cell(drawn.figure->x_label));
    below += "---:|";
  }
  text += below + "\n";
  for (const DrawnLine& line : drawn.lines) {
    text += fmt::format("| {} |", Cell(line.name));
    for (const std::string& column : columns) {
      const auto point = std::ranges::find(line.points, column, &DrawnPoint::x_text);
      text += fmt::format(" {} |", point == line.points.end() ? "" : MeanText(point->values));
    }
    text += "\n";
  }
  return text + "\n";
}

// Writes a table with one short line for each claim; NotesOf() has the rest.
std::string ClaimsTable(const JudgedExperiment& judged) {
  if (judged.claims.empty()) return "";
  std::string text = "| claim | the paper says | measured | verdict |\n|---|---|---|---|\n";
  for (size_t i = 0; i < judged.claims.size(); ++i) {
    const Claim& claim = judged.experiment->claims[i];
    const JudgedClaim& of = judged.claims[i];
    const std::string range = of.Range();
    const std::string_view whose = claim.role == ClaimRole::kOurs ? "ours: " : "";
    text += fmt::format("| {} | {}{} | {} | {} |\n", claim.id, whose, Cell(claim.says),
                        Cell(range.empty() ? of.Reason() : range), VerdictText(of));
  }
  return text + "\n";
}

// Writes an item for each claim: where its results were measured, and what the verdict depends on.
std::string NotesOf(const JudgedExperiment& judged) {
  std::string text;
  for (size_t i = 0; i < judged.claims.size(); ++i) {
    const Claim& claim = judged.experiment->claims[i];
    const JudgedClaim& of = judged.claims[i];
    const std::string measured = of.Measured() == of.Range() ? "" : of.Measured();
    if (measured.empty() && claim.depends_on.empty()) continue;
    text += fmt::format("- **{}**: {}", claim.id, measured);
    if (!claim.depends_on.empty()) {
      text += fmt::format("{}*It depends on:* {}", measured.empty() ? "" : ". ", claim.depends_on);
    }
    text += "\n";
  }
  return text.empty() ? "" : text + "\n";
}

// --- JSON ---

std::string_view WordOf(Outcome outcome) {
  static constexpr std::array<std::string_view, 5> kWords = {"for", "in direction", "undecided",
                                                             "against", "unknown"};
  return kWords[static_cast<size_t>(outcome)];
}

std::string JsonOf(const JudgedCell& cell) {
  return JsonObject({{"where", QuoteJson(cell.where)},
                     {"outcome", QuoteJson(WordOf(cell.finding.outcome))},
                     {"mean", JsonNumber(cell.finding.mean)},
                     {"ci95", JsonNumber(cell.finding.half_width)},
                     {"relative", JsonNumber(cell.relative)},
                     {"seeds", fmt::format("{}", cell.finding.seeds)}});
}

std::string JsonOf(const JudgedPart& part) {
  std::vector<std::string> cells;
  for (const JudgedCell& cell : part.cells) cells.push_back(JsonOf(cell));
  return JsonObject({{"verdict", QuoteJson(NameOf(part.verdict))},
                     {"expected", QuoteJson(part.expected)},
                     {"measured", QuoteJson(part.measured)},
                     {"reason", QuoteJson(part.reason)},
                     {"cells", JsonArray(cells)}});
}

std::string JsonOf(const std::string& full_id, const Claim& claim, const JudgedClaim& judged) {
  std::vector<std::string> parts;
  for (const JudgedPart& part : judged.parts) parts.push_back(JsonOf(part));
  return JsonObject({{"id", QuoteJson(full_id)},
                     {"counts_as", QuoteJson(NameOf(claim.role))},
                     {"says", QuoteJson(claim.says)},
                     {"verdict", QuoteJson(NameOf(judged.verdict))},
                     {"agreeing", fmt::format("{}", judged.agreeing())},
                     {"of", fmt::format("{}", judged.all())},
                     {"expected", QuoteJson(judged.Expected())},
                     {"measured", QuoteJson(judged.Measured())},
                     {"range", QuoteJson(judged.Range())},
                     {"reason", QuoteJson(judged.Reason())},
                     {"depends_on", QuoteJson(claim.depends_on)},
                     {"parts", JsonArray(parts)}});
}

std::string JsonOf(const DrawnLine& line) {
  std::array<std::vector<std::string>, 5> columns;
  for (const DrawnPoint& point : line.points) {
    const Replications over = Over(point.values);
    columns[0].push_back(JsonNumber(point.x));
    columns[1].push_back(QuoteJson(point.x_text));
    columns[2].push_back(JsonNumber(over.mean()));
    columns[3].push_back(JsonNumber(over.half_width()));
    columns[4].push_back(fmt::format("{}", over.count()));
  }
  return JsonObject({{"name", QuoteJson(line.name)},
                     {"metric", QuoteJson(line.metric)},
                     {"x", JsonArray(columns[0])},
                     {"x_text", JsonArray(columns[1])},
                     {"mean", JsonArray(columns[2])},
                     {"ci95", JsonArray(columns[3])},
                     {"n", JsonArray(columns[4])}});
}

std::string JsonOf(const DrawnFigure& drawn) {
  static constexpr std::array<std::string_view, 3> kKinds = {"lines", "bars", "time"};
  const Figure& figure = *drawn.figure;
  std::vector<std::string> lines;
  for (const DrawnLine& line : drawn.lines) lines.push_back(JsonOf(line));
  return JsonObject({{"id", QuoteJson(figure.id)},
                     {"kind", QuoteJson(kKinds[static_cast<size_t>(figure.kind)])},
                     {"title", QuoteJson(figure.title)},
                     {"label", QuoteJson(drawn.label)},
                     {"unit", QuoteJson(drawn.unit)},
                     {"x", QuoteJson(figure.x)},
                     {"x_label", QuoteJson(figure.x_label)},
                     {"x_is_number", drawn.x_is_number ? "true" : "false"},
                     {"normalised_to", QuoteJson(drawn.normalised_to)},
                     {"lines", JsonArray(lines)}});
}

std::string JsonOf(const Paper& paper, const JudgedExperiment& judged) {
  const PaperExperiment& experiment = *judged.experiment;
  JsonMembers choices;
  for (const auto& [name, choice] : experiment.choices) {
    choices.emplace_back(name, QuoteJson(choice));
  }
  std::vector<std::string> claims;
  for (size_t i = 0; i < judged.claims.size(); ++i) {
    const Claim& claim = experiment.claims[i];
    claims.push_back(JsonOf(FullId(paper, experiment, claim), claim, judged.claims[i]));
  }
  std::vector<std::string> figures;
  for (const DrawnFigure& figure : judged.figures) figures.push_back(JsonOf(figure));
  return JsonObject({{"id", QuoteJson(experiment.id)},
                     {"about", QuoteJson(experiment.about)},
                     {"choices", JsonObject(choices)},
                     {"points", fmt::format("{}", judged.points)},
                     {"stale", fmt::format("{}", judged.stale)},
                     {"results", fmt::format("{}", judged.results)},
                     {"figures", JsonArray(figures)},
                     {"claims", JsonArray(claims)}});
}

}  // namespace

std::string ClaimsText(const std::vector<JudgedPaper>& papers) {
  std::string text;
  for (const JudgedPaper& paper : papers) {
    text += Wrapped(paper.paper->name + ":", paper.paper->title);
    for (const JudgedExperiment& judged : paper.experiments) {
      const PaperExperiment& experiment = *judged.experiment;
      text += fmt::format("\n{}-{}: {}\n", paper.paper->id, experiment.id, experiment.about);
      text += fmt::format("  {}\n", PointsText(judged));
      if (!experiment.choices.empty()) text += "  Chosen here:\n" + ChoicesText(experiment);
      for (size_t i = 0; i < judged.claims.size(); ++i) {
        const Claim& claim = experiment.claims[i];
        const JudgedClaim& of = judged.claims[i];
        text += fmt::format("  {}: {}\n", claim.id, VerdictText(of));
        text += Wrapped("      says     ", claim.says);
        text += Wrapped("      judged by", of.Expected());
        text += Wrapped("      measured ", of.Measured());
        text += Wrapped("      because  ", of.Reason());
        text += Wrapped("      depends  ", claim.depends_on);
      }
    }
    text += "\n";
  }
  return text + TotalsText(papers);
}

std::string ClaimsMarkdown(const std::vector<JudgedPaper>& papers) {
  std::string text = TotalsMarkdown(papers);
  for (const JudgedPaper& paper : papers) {
    text += fmt::format("## {}\n\n{}\n\n", paper.paper->name, paper.paper->title);
    for (const JudgedExperiment& judged : paper.experiments) {
      const PaperExperiment& experiment = *judged.experiment;
      text += fmt::format("### {}-{}\n\n{}\n\n{}", paper.paper->id, experiment.id, experiment.about,
                          ResultsText(judged));
      if (!judged.versions.empty()) {
        text += fmt::format(", of Heddle {}", fmt::join(judged.versions, ", "));
      }
      text += ".\n\n";
      for (const auto& [name, choice] : experiment.choices) {
        text += fmt::format("- {}: {}\n", name, Cell(choice));
      }
      if (!experiment.choices.empty()) text += "\n";
      if (experiment.bench) {
        for (const DrawnFigure& figure : judged.figures) text += TableOf(figure);
      }
      text += ClaimsTable(judged) + NotesOf(judged);
    }
  }
  return text;
}

std::string ClaimsCsv(const std::vector<JudgedPaper>& papers) {
  std::string csv = fmt::format("{}\n", kCsvHeader);
  ForEachClaim(papers, [&](const Paper& paper, const JudgedExperiment& experiment,
                           const Claim& claim, const JudgedClaim& judged) {
    csv += fmt::format("{},{},{},{},{},{},{},{},{},{}\n",
                       CsvCell(FullId(paper, *experiment.experiment, claim)),
                       NameOf(judged.verdict), judged.agreeing(), judged.all(), CsvCell(claim.says),
                       CsvCell(judged.Expected()), CsvCell(judged.Measured()),
                       CsvCell(judged.Reason()), CsvCell(claim.depends_on), NameOf(claim.role));
  });
  return csv;
}

std::string PapersJson(const std::vector<JudgedPaper>& papers, const LoadOptions& load) {
  std::vector<std::string> sets;
  for (const std::string& set : load.sets) sets.push_back(QuoteJson(set));
  std::vector<std::string> all;
  for (const JudgedPaper& judged : papers) {
    std::vector<std::string> experiments;
    for (const JudgedExperiment& experiment : judged.experiments) {
      experiments.push_back(JsonOf(*judged.paper, experiment));
    }
    all.push_back(JsonObject({{"id", QuoteJson(judged.paper->id)},
                              {"name", QuoteJson(judged.paper->name)},
                              {"title", QuoteJson(judged.paper->title)},
                              {"experiments", JsonArray(experiments)}}));
  }
  return IndentJson(JsonObject({{"version", QuoteJson(Version())},
                                {"commit", QuoteJson(Commit())},
                                {"scale", QuoteJson(load.scale)},
                                {"set", JsonArray(sets)},
                                {"papers", JsonArray(all)}}));
}

absl::StatusOr<Verdicts> ParseVerdicts(std::string_view csv) {
  const auto table = ParsedCsv::Parse(std::string(csv));
  if (!table.ok() || !csv.starts_with(fmt::format("{}\n", kCsvHeader))) {
    return absl::InvalidArgumentError("is not a claims.csv of heddle papers claims");
  }
  Verdicts verdicts;
  for (size_t row = 0; row < table->rows(); ++row) {
    verdicts[std::string(table->At(row, 0))] = table->At(row, 1);
  }
  return verdicts;
}

Verdicts VerdictsOf(const std::vector<JudgedPaper>& papers) {
  Verdicts verdicts;
  ForEachClaim(papers, [&](const Paper& paper, const JudgedExperiment& experiment,
                           const Claim& claim, const JudgedClaim& judged) {
    verdicts[FullId(paper, *experiment.experiment, claim)] = NameOf(judged.verdict);
  });
  return verdicts;
}

}  // namespace heddle
