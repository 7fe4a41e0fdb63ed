// SPDX-License-Identifier: Apache-2.0

#include "settings/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "settings/yaml.h"
#include "tests/support/settings_zoo.h"

namespace heddle::reader_test {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

// Reads `text` into `zoo`, and returns the errors.
std::vector<std::string> ReadInto(Zoo& zoo, const std::string& text) {
  Diagnostics diagnostics;
  const std::optional<Value> document = ParseYaml(text, "zoo.yaml", diagnostics);
  if (document) {
    ReadSettings(
        *document, [&](Fields& fields) { zoo.Declare(fields); }, diagnostics);
  }
  return diagnostics.errors();
}

std::vector<std::string> ErrorsIn(const std::string& text) {
  Zoo zoo;
  return ReadInto(zoo, text);
}

TEST(ReaderTest, ReadsEveryTypeAndLeavesTheRestAtItsDefault) {
  Zoo zoo;
  const auto errors = ReadInto(zoo, R"(
motto: "a: b"
open: false
price: 1/4
pond: 3KiB
season: winter
closing: 5us
numbers: [1, -2]
cage: {least: 2}
cages: [{most: 7}, {}]
animals: [{kind: dog, name: rex, bones: [3B]}, cat]
)");
  EXPECT_THAT(errors, ElementsAre());
  EXPECT_EQ(zoo.motto, "a: b");
  EXPECT_FALSE(zoo.open);
  EXPECT_EQ(zoo.price, 0.25);
  EXPECT_EQ(zoo.pond, 3'072_B);
  EXPECT_EQ(zoo.tour, 100_us);
  EXPECT_EQ(zoo.season, Season::kWinter);
  EXPECT_EQ(zoo.closing, 5_us);
  EXPECT_EQ(zoo.discount, std::nullopt);
  EXPECT_THAT(zoo.numbers, ElementsAre(1, -2));
  EXPECT_EQ(zoo.cage.least, 2);
  EXPECT_EQ(zoo.cage.most, 4);
  EXPECT_EQ(zoo.cages.at(0).most, 7);
  EXPECT_EQ(zoo.cages.at(1).most, 4);
  EXPECT_EQ(zoo.mascot.kind, "cat");
  EXPECT_EQ(dynamic_cast<Dog&>(*zoo.animals.at(0).settings).name, "rex");
  EXPECT_EQ(zoo.animals.at(1).kind, "cat");
}

TEST(ReaderTest, ReportsAllMistakesAtOnceEachAtItsPlace) {
  EXPECT_THAT(ErrorsIn("open: maybe\n"
                       "price: 2\n"
                       "cage:\n"
                       "  visitors: 10\n"
                       "cages:\n"
                       "  - {most: 1}\n"
                       "  - most: -1\n"
                       "numbers: [1, two]\n"
                       "tuor: 5us\n"),
              testing::UnorderedElementsAre(
                  "zoo.yaml:1:7: open: \"maybe\" is neither true nor false",
                  AllOf(StartsWith("zoo.yaml:2:8: price: \"2\" is out of range"),
                        HasSubstr("expected a number > 0 <= 1")),
                  StartsWith("zoo.yaml:4:13: cage.visitors: \"10\" has no unit; write \"10Gbps\""),
                  StartsWith("zoo.yaml:7:11: cages[1].most: \"-1\" is out of range"),
                  StartsWith("zoo.yaml:8:14: numbers[1]: \"two\" is not a whole number"),
                  AllOf(StartsWith("zoo.yaml:9:1: tuor: unknown key; did you mean \"tour\"?"),
                        HasSubstr("known: motto, open"))));
}

TEST(ReaderTest, AMistakeLeavesTheValueAsItWas) {
  Zoo zoo;
  ReadInto(zoo, "tour: 1ns\nseason: autumn\nclosing: soon\nprice: 7");
  EXPECT_EQ(zoo.tour, 100_us);
  EXPECT_EQ(zoo.season, Season::kSummer);
  EXPECT_EQ(zoo.closing, std::nullopt);
  EXPECT_EQ(zoo.price, 0.5);
}

TEST(ReaderTest, SuggestsOnlyWhatIsNear) {
  EXPECT_THAT(ErrorsIn("elephants: 1"),
              ElementsAre(HasSubstr("unknown key; expected one of: motto, open, price")));
  EXPECT_THAT(ErrorsIn("season: sumer"), ElementsAre(HasSubstr("did you mean \"summer\"?")));
  EXPECT_THAT(ErrorsIn("mascot: {kind: cat, live: 3}"),
              ElementsAre(HasSubstr("mascot.live: unknown key; did you mean \"lives\"? "
                                    "(known: kind, lives, nap)")));
  // Swapped letters count as one mistake, also in a short word.
  EXPECT_THAT(ErrorsIn("mascot: {kind: cat, npa: 1s}"),
              ElementsAre(HasSubstr("mascot.npa: unknown key; did you mean \"nap\"?")));
}

TEST(ReaderTest, ChoosesAKindByNameAloneOrWithItsSettings) {
  Zoo zoo;
  EXPECT_THAT(ReadInto(zoo, "mascot: cat"), ElementsAre());
  EXPECT_THAT(ReadInto(zoo, "mascot: {lives: 3, kind: cat}"), ElementsAre());
  EXPECT_EQ(dynamic_cast<Cat&>(*zoo.mascot.settings).lives, 3);
}

TEST(ReaderTest, ExplainsWhatIsWrongWithAKind) {
  EXPECT_THAT(ErrorsIn("mascot: kat"),
              ElementsAre("zoo.yaml:1:9: mascot.kind: no animal is called \"kat\"; did you mean "
                          "\"cat\"? (known: cat, dog)"));
  EXPECT_THAT(ErrorsIn("mascot: {lives: 3}"),
              ElementsAre("zoo.yaml:1:9: mascot.kind: is missing; expected: cat | dog"));
  EXPECT_THAT(ErrorsIn("mascot: {kind: [cat]}"), ElementsAre(HasSubstr("mascot.kind")));
  EXPECT_THAT(ErrorsIn("mascot: dog"), ElementsAre(HasSubstr("mascot.name: is missing")));
  EXPECT_THAT(ErrorsIn("mascot: [cat]"), ElementsAre(HasSubstr("a list where a map is expected")));
  EXPECT_THAT(ErrorsIn("mascot:"), ElementsAre(HasSubstr("nothing where a map is expected")));
  EXPECT_THAT(ErrorsIn("animals: cat"), ElementsAre(HasSubstr("where a list of maps is expected")));
}

TEST(ReaderTest, WithoutAKindReportsKeysThatNoKindHas) {
  EXPECT_THAT(ErrorsIn("mascot: {type: cat, nap: 1s}"),
              ElementsAre(HasSubstr("mascot.kind: is missing"),
                          "zoo.yaml:1:10: mascot.type: unknown key; did you mean \"kind\"?"));
  EXPECT_THAT(ErrorsIn("mascot: {live: 3, wings: 2}"),
              ElementsAre(HasSubstr("mascot.kind: is missing"),
                          "zoo.yaml:1:10: mascot.live: unknown key; did you mean \"lives\"?",
                          "zoo.yaml:1:19: mascot.wings: unknown key"));
}

TEST(ReaderTest, RefusesTheWrongShape) {
  EXPECT_THAT(ErrorsIn("open: {}"), ElementsAre(HasSubstr("a map where a value is expected")));
  EXPECT_THAT(ErrorsIn("tour:"), ElementsAre(HasSubstr("nothing where a value is expected")));
  EXPECT_THAT(ErrorsIn("numbers: 1"),
              ElementsAre(HasSubstr("\"1\" where a list of integer is expected; write [1]")));
  EXPECT_THAT(ErrorsIn("words: one, two"),
              ElementsAre(HasSubstr("where a list of text is expected; write [one, two]")));
  EXPECT_THAT(ErrorsIn("numbers: [[1]]"), ElementsAre(HasSubstr("numbers[0]: a list where")));
  EXPECT_THAT(ErrorsIn("cage: 3"), ElementsAre(HasSubstr("\"3\" where a map is expected")));
  EXPECT_THAT(ErrorsIn("cages: {}"), ElementsAre(HasSubstr("a map where a list of maps")));
  EXPECT_THAT(ErrorsIn("[1]"), ElementsAre(HasSubstr("a list where a map of settings")));
  EXPECT_THAT(ErrorsIn(""), ElementsAre(HasSubstr("nothing where a map of settings")));
}

TEST(ReaderTest, ARuleIsReportedAtTheSettingItNames) {
  EXPECT_THAT(ErrorsIn("cage:\n  most: 3\n  least: 5\n"),
              ElementsAre("zoo.yaml:3:10: cage.least: is more than most"));
  // Not written: the place is that of the map around it.
  EXPECT_THAT(ErrorsIn("cages:\n  - most: 0\n"),
              ElementsAre("zoo.yaml:2:5: cages[0].least: is more than most"));
}

TEST(ReaderTest, ARuleIsJudgedOnlyWhenTheRestIsRight) {
  EXPECT_THAT(ErrorsIn("cage: {least: 5, most: x}"), ElementsAre(HasSubstr("cage.most: \"x\"")));
  EXPECT_THAT(ErrorsIn("cage: {least: 5, mots: 9}"), ElementsAre(HasSubstr("cage.mots: unknown")));
  EXPECT_THAT(ErrorsIn("cages: [{}, {}, {}, {}, {}, {least: 9}]"),
              ElementsAre(HasSubstr("cages[5].least: is more than most")));
  EXPECT_THAT(ErrorsIn("cages: [{}, {}, {}, {}, {}, {}]"), ElementsAre(HasSubstr("are too many")));
}

TEST(ReaderTest, TheWordForNotSetUnsets) {
  Zoo zoo;
  zoo.closing = 3_us;
  EXPECT_THAT(ReadInto(zoo, "closing: never"), ElementsAre());
  EXPECT_EQ(zoo.closing, std::nullopt);
  EXPECT_THAT(ErrorsIn("closing: -1us"), ElementsAre(HasSubstr("is out of range")));
}

TEST(DiagnosticsTest, ReportsALineEachAndHowMany) {
  Diagnostics diagnostics;
  EXPECT_TRUE(diagnostics.ok());
  diagnostics.Error({"a.yaml", 3, 4}, "x.y", "is odd");
  diagnostics.Warning({"a.yaml", 1, 1}, "z", "is slow");
  EXPECT_EQ(diagnostics.Report(), "a.yaml:3:4: x.y: is odd\n1 error\n");
  diagnostics.Error({"--set a", 0, 0}, "", "is wrong");
  EXPECT_EQ(diagnostics.Report(), "a.yaml:3:4: x.y: is odd\n--set a: is wrong\n2 errors\n");
  EXPECT_THAT(diagnostics.warnings(), ElementsAre("a.yaml:1:1: z: is slow"));
}

TEST(DiagnosticsTest, FindsTheNearestPlaceAround) {
  Diagnostics diagnostics;
  diagnostics.ErrorAt("a", "first");
  diagnostics.Note("", {"f", 1, 1});
  diagnostics.Note("a.b[0]", {"f", 2, 2});
  diagnostics.ErrorAt("a.b[0].c", "x");
  diagnostics.ErrorAt("a.b[1].c", "y");
  EXPECT_THAT(diagnostics.errors(),
              ElementsAre("experiment: a: first", "f:1:1: a.b[1].c: y", "f:2:2: a.b[0].c: x"));
}

}  // namespace heddle::reader_test
