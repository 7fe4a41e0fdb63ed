// SPDX-License-Identifier: Apache-2.0
// Maps of claims.yaml: what is read, and each mistake with its place and text.

#include "study/papers/map_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "settings/yaml.h"

namespace heddle::map_reader_test {

using testing::ElementsAre;
using testing::IsEmpty;

class MapReaderTest : public testing::Test {
 protected:
  // Reads the map in `yaml` at the path "m", and returns the errors.
  std::string Read(const std::string& yaml, const std::function<void(MapReader&)>& read,
                   const std::string& path = "m") {
    Diagnostics diagnostics;
    const auto document = ParseYaml(yaml, "f.yaml", diagnostics);
    EXPECT_TRUE(document) << diagnostics.Report();
    MapReader map(*document, path, diagnostics);
    read(map);
    return diagnostics.ok() ? "" : diagnostics.Report();
  }
};

TEST_F(MapReaderTest, ReadsEachKind) {
  const std::string errors = Read(
      "a: text\nb: 1/4\nc: 7\nd: true\ne: two\nf: [x, y]\ng: {k: v, l: w}\n", [](MapReader& map) {
        EXPECT_EQ(map.Text("a"), "text");
        EXPECT_EQ(map.Number("b"), 0.25);
        EXPECT_EQ(map.Whole("c", 7), 7);
        EXPECT_EQ(map.Flag("d"), true);
        EXPECT_EQ(map.Word("e", {"one", "two"}), "two");
        EXPECT_THAT(map.Texts("f"), ElementsAre("x", "y"));
        EXPECT_THAT(map.Texts("a"), ElementsAre("text"));  // Short for a list of one.
        ASSERT_EQ(map.Entries("g").size(), 2u);
        EXPECT_EQ(map.Entries("g")[1].key, "l");
        EXPECT_TRUE(map.Has("a"));
        map.RefuseOthers();
      });
  EXPECT_EQ(errors, "");
}

TEST_F(MapReaderTest, WhatIsMissingIsNothingAndNoError) {
  EXPECT_EQ(Read("{}",
                 [](MapReader& map) {
                   EXPECT_EQ(map.Find("a"), nullptr);
                   EXPECT_EQ(map.Text("a"), std::nullopt);
                   EXPECT_EQ(map.Number("a"), std::nullopt);
                   EXPECT_EQ(map.Whole("a", 1), std::nullopt);
                   EXPECT_EQ(map.Flag("a"), std::nullopt);
                   EXPECT_EQ(map.Word("a", {"b"}), std::nullopt);
                   EXPECT_THAT(map.Texts("a"), IsEmpty());
                   EXPECT_THAT(map.Entries("a"), IsEmpty());
                   EXPECT_FALSE(map.Has("a"));
                   map.RefuseOthers();
                 }),
            "");
}

TEST_F(MapReaderTest, AnEmptyListHasNoTexts) {
  EXPECT_EQ(Read("a: []\n", [](MapReader& map) { EXPECT_THAT(map.Texts("a"), IsEmpty()); }), "");
}

TEST_F(MapReaderTest, ValuesOfAnotherTypeAreErrorsWithTheirPlace) {
  const std::string errors =
      Read("a: [1]\nb: many\nc: 2\nd: maybe\ne: too\nf: [x, {y: z}]\ng: 3\n", [](MapReader& map) {
        EXPECT_EQ(map.Text("a"), std::nullopt);
        EXPECT_EQ(map.Number("a"), std::nullopt);
        EXPECT_EQ(map.Number("b"), std::nullopt);
        EXPECT_EQ(map.Whole("c", 3), std::nullopt);
        EXPECT_EQ(map.Flag("d"), std::nullopt);
        EXPECT_EQ(map.Word("e", {"one", "two"}), std::nullopt);
        EXPECT_THAT(map.Texts("f"), ElementsAre("x"));
        EXPECT_THAT(map.Entries("g"), IsEmpty());
      });
  EXPECT_THAT(errors, testing::HasSubstr("f.yaml:1:4: m.a: a list where text is expected"));
  EXPECT_THAT(errors, testing::HasSubstr("f.yaml:2:4: m.b: "));
  EXPECT_THAT(errors, testing::HasSubstr("f.yaml:3:4: m.c: "));
  EXPECT_THAT(errors, testing::HasSubstr("f.yaml:4:4: m.d: "));
  EXPECT_THAT(errors,
              testing::HasSubstr("f.yaml:5:4: m.e: \"too\" is not known; did you mean \"two\"?"));
  EXPECT_THAT(errors, testing::HasSubstr("f.yaml:6:8: m.f: a map where text is expected"));
  EXPECT_THAT(errors, testing::HasSubstr("f.yaml:7:4: m.g: \"3\" where a map is expected"));
}

TEST_F(MapReaderTest, RequiredKeysSayWhatIsExpected) {
  EXPECT_EQ(Read("a: 1\n",
                 [](MapReader& map) {
                   EXPECT_EQ(map.RequireText("a", "a number"), "1");
                   EXPECT_EQ(map.RequireText("b", "a name"), "");
                   EXPECT_EQ(map.Require("c", "a map"), nullptr);
                 }),
            "f.yaml:1:1: m: b is missing; expected: a name\n"
            "f.yaml:1:1: m: c is missing; expected: a map\n2 errors\n");
}

TEST_F(MapReaderTest, RefusesKeysThatNobodyAskedFor) {
  EXPECT_EQ(Read("metric: 1\nmetrik: 2\nq: 3\n",
                 [](MapReader& map) {
                   map.Find("metric");
                   map.Find("metric");  // Twice is once.
                   map.Text("absent");
                   map.RefuseOthers();
                 }),
            "f.yaml:2:1: m.metrik: unknown key; did you mean \"metric\"? (known: metric, absent)\n"
            "f.yaml:3:1: m.q: unknown key; expected one of: metric, absent\n2 errors\n");
}

TEST_F(MapReaderTest, WhatIsNoMapIsReadAsAnEmptyOne) {
  EXPECT_EQ(Read("[1, 2]",
                 [](MapReader& map) {
                   EXPECT_FALSE(map.Has("a"));
                   EXPECT_EQ(map.Text("a"), std::nullopt);
                   map.RefuseOthers();
                 }),
            "f.yaml:1:1: m: a list where a map is expected\n1 error\n");
}

TEST_F(MapReaderTest, PathsHaveDotsBetweenTheirParts) {
  Read("a: 1", [](MapReader& map) {
    EXPECT_EQ(map.PathOf("a"), "m.a");
    EXPECT_EQ(map.PathOf(""), "m");
    EXPECT_EQ(map.path(), "m");
  });
  Read(
      "a: 1", [](MapReader& map) { EXPECT_EQ(map.PathOf("a"), "a"); }, "");
}

TEST(ItemsOfTest, AnythingButAListIsOneItem) {
  Diagnostics diagnostics;
  const auto document = ParseYaml("a: [1, 2]\nb: 3\nc: {d: 4}\ne: []\n", "f.yaml", diagnostics);
  ASSERT_TRUE(document);
  EXPECT_EQ(ItemsOf(*document->Find("a")).size(), 2u);
  EXPECT_EQ(ItemsOf(*document->Find("b")).size(), 1u);
  EXPECT_EQ(ItemsOf(*document->Find("c")).front().Find("d")->text, "4");
  EXPECT_EQ(ItemsOf(*document->Find("e")).size(), 0u);
}

}  // namespace heddle::map_reader_test
