// SPDX-License-Identifier: Apache-2.0
// Judged papers as text, Markdown, CSV and JSON, from results that are written by hand.

#include "study/papers/papers_output.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "settings/csv.h"
#include "settings/json.h"
#include "study/sweep/run_results.h"
#include "tests/support/status.h"
#include "tests/support/toy_paper.h"

namespace heddle::papers_output_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

class PapersOutputTest : public ToyPaper {
 protected:
  PapersOutputTest() {
    Write("e", "sweep: {lb: [ecmp, rps], seeds: 3}\n",
          [](const At& at, double seed) { return (at.at("lb") == "rps" ? 20 : 10) + seed; });
  }
  // RPS is 21, 22 and 23 by seed, ECMP 11, 12 and 13: 10 more each time, of 12 at the mean.
  std::vector<JudgedPaper> Judged() {
    return {JudgePaperOf(
        "    choices: {load: \"none | given\"}\n"
        "    figures: {a: {metric: v, kind: bars, title: \"A \\\"title\\\"\"}}\n"
        "    claims:\n"
        "      C1: {says: \"rps, the | higher\", depends_on: seeds, kind: ordering, metric: v, "
        "higher: rps, than: ecmp}\n"
        "      C1T: {says: y, kind: zero, metric: v}\n"
        "      C2: {says: z, kind: none, because: nobody knows}\n"
        "      C3: {says: w, ours: true, kind: nonzero, metric: v}\n")};
  }
};

TEST_F(PapersOutputTest, CsvHasARowForEachClaim) {
  const auto table = ParsedCsv::Parse(ClaimsCsv(Judged()));
  ASSERT_THAT(table, IsOk());
  ASSERT_EQ(table->rows(), 4u);
  EXPECT_THAT(table->Row(0),
              ElementsAre("toy-e.C1", "reproduced", "1", "1", "rps, the | higher", "v: rps > ecmp",
                          "+83.3 % +- 0 % (rps, ecmp)", "", "seeds", "claim"));
  EXPECT_THAT(table->Row(1), ElementsAre("toy-e.C1T", "contradicted", "0", "2", "y", "v is 0",
                                         testing::_, "", "", "twin"));
  EXPECT_THAT(table->Row(2), ElementsAre("toy-e.C2", "can't be judged", "0", "0", "z", "", "",
                                         "nobody knows", "", "claim"));
  EXPECT_EQ(table->At(3, 9), "ours");
}

TEST_F(PapersOutputTest, VerdictsAreReadBackAsTheyWere) {
  const std::vector<JudgedPaper> judged = Judged();
  const Verdicts verdicts = VerdictsOf(judged);
  EXPECT_THAT(verdicts,
              ElementsAre(Pair("toy-e.C1", "reproduced"), Pair("toy-e.C1T", "contradicted"),
                          Pair("toy-e.C2", "can't be judged"), Pair("toy-e.C3", "reproduced")));
  const auto read = ParseVerdicts(ClaimsCsv(judged));
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(*read, verdicts);
}

TEST_F(PapersOutputTest, OtherFilesAreNoVerdicts) {
  const auto refused = Fails(absl::StatusCode::kInvalidArgument, HasSubstr("is not a claims.csv"));
  EXPECT_THAT(ParseVerdicts(""), refused);
  EXPECT_THAT(ParseVerdicts("claim,verdict\na,tie\n"), refused);
  const std::string header = ClaimsCsv({});
  EXPECT_THAT(ParseVerdicts(header + "a,tie\n"), refused);  // Too few cells.
  EXPECT_THAT(ParseVerdicts(header.substr(0, header.size() - 1) + ",more\n"), refused);
  const auto none = ParseVerdicts(header);
  ASSERT_THAT(none, IsOk());
  EXPECT_TRUE(none->empty());
}

TEST_F(PapersOutputTest, TextSaysHowEachWasJudged) {
  const std::string text = ClaimsText(Judged());
  EXPECT_THAT(text, HasSubstr("Toy: Nobody\n\ntoy-e: x\n  6 of 6 points have results\n"
                              "  Chosen here:\n    load: none | given\n"));
  EXPECT_THAT(text, HasSubstr("  C1: reproduced\n"
                              "      says      rps, the | higher\n"
                              "      judged by v: rps > ecmp\n"
                              "      measured  +83.3 % +- 0 % (rps, ecmp)\n"
                              "      depends   seeds\n"
                              "  C1T: contradicted (0 of 2)\n"));
  EXPECT_THAT(text, HasSubstr("  C2: can't be judged\n      says      z\n"
                              "      because   nobody knows\n"));
  EXPECT_THAT(text, testing::EndsWith("2 claims: 1 reproduced, 1 can't be judged\n"
                                      "1 twins: 1 contradicted\n"
                                      "1 claims of ours: 1 reproduced\n"));
}

TEST_F(PapersOutputTest, LinesOfTextAreShort) {
  std::string says;
  for (int i = 0; i < 60; ++i) says += fmt::format("word{} ", i);
  says += std::string(150, 'x');  // A word that fits no line has its own.
  const std::string text =
      ClaimsText({JudgePaperOf("    claims: {C1: {says: " + says + ", kind: zero, metric: v}}\n")});
  size_t start = 0;
  size_t too_long = 0;
  for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', start)) {
    if (end - start > 100) ++too_long;
    start = end + 1;
  }
  EXPECT_EQ(too_long, 1u);
  for (int i = 0; i < 60; ++i) EXPECT_THAT(text, HasSubstr(fmt::format(" word{}", i)));
}

TEST_F(PapersOutputTest, MarkdownHasTotalsTablesAndNotes) {
  const std::string text = ClaimsMarkdown(Judged());
  EXPECT_THAT(text, testing::StartsWith(
                        "| paper | reproduced | same direction | tie | mixed | contradicted | "
                        "can't be judged |\n|---|---:|---:|---:|---:|---:|---:|\n"
                        "| Toy | 1 | 0 | 0 | 0 | 0 | 1 |\n"
                        "| all 1 twins | 0 | 0 | 0 | 0 | 1 | 0 |\n"
                        "| all 1 claims of ours | 1 | 0 | 0 | 0 | 0 | 0 |\n\n## Toy\n"));
  EXPECT_THAT(text, HasSubstr("- load: none \\| given\n"));
  EXPECT_THAT(text, HasSubstr("| C1 | rps, the \\| higher | +83.3 % +- 0 % | reproduced |\n"));
  EXPECT_THAT(text, HasSubstr("| C2 | z | nobody knows | can't be judged |\n"));
  EXPECT_THAT(text, HasSubstr("| C3 | ours: w | "));
  EXPECT_THAT(text, HasSubstr("- **C1**: +83.3 % +- 0 % (rps, ecmp). *It depends on:* seeds\n"));
  EXPECT_THAT(text, Not(HasSubstr("**C2**")));  // Nothing more to say.
}

TEST_F(PapersOutputTest, SeveralPapersHaveASum) {
  std::vector<JudgedPaper> papers = Judged();
  Paper other = *paper_;
  other.name = "Other";
  papers.push_back(papers.front());
  papers.back().paper = &other;
  const std::string text = ClaimsMarkdown(papers);
  EXPECT_THAT(text, HasSubstr("| Toy | 1 | 0 | 0 | 0 | 0 | 1 |\n"
                              "| Other | 1 | 0 | 0 | 0 | 0 | 1 |\n"
                              "| all 4 claims | 2 | 0 | 0 | 0 | 0 | 2 |\n"));
}

TEST_F(PapersOutputTest, NoPapersAreNoClaims) {
  EXPECT_EQ(ClaimsText({}), "0 claims\n");
  EXPECT_TRUE(VerdictsOf({}).empty());
}

TEST_F(PapersOutputTest, JsonHasEachComparisonAndTheFigures) {
  LoadOptions load;
  load.scale = "ci";
  load.sets = {"a=\"b\""};
  const auto json = ParseJson(PapersJson(Judged(), load));
  ASSERT_THAT(json, IsOk());
  const auto text = [&](const std::string& path) { return FindText(*json, path); };
  EXPECT_EQ(text("scale"), "ci");
  std::string paths;
  for (const auto& [path, value] : *json) paths += path + " = " + value + "\n";
  EXPECT_THAT(paths, HasSubstr("= a=\"b\"\n"));
  EXPECT_THAT(paths, HasSubstr("= A \"title\"\n"));
  EXPECT_THAT(paths, HasSubstr("= toy-e.C1\n"));
  EXPECT_THAT(paths, HasSubstr("mean = 10\n"));
  EXPECT_THAT(paths, HasSubstr("outcome = for\n"));
  EXPECT_THAT(paths, HasSubstr("outcome = against\n"));
}

}  // namespace heddle::papers_output_test
