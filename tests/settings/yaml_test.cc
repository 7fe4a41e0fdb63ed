// SPDX-License-Identifier: Apache-2.0

#include "settings/yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/random.h"

namespace heddle::yaml_test {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

std::string Repeat(std::string_view text, size_t times) {
  std::string repeated;
  for (size_t i = 0; i < times; ++i) repeated += text;
  return repeated;
}

Value Parse(const std::string& text) {
  Diagnostics diagnostics;
  const std::optional<Value> value = ParseYaml(text, "test.yaml", diagnostics);
  EXPECT_TRUE(value) << diagnostics.Report();
  return value.value_or(Value{});
}

// All errors found in `text`.
std::vector<std::string> ErrorsIn(const std::string& text) {
  Diagnostics diagnostics;
  ParseYaml(text, "test.yaml", diagnostics);
  EXPECT_FALSE(diagnostics.ok()) << text.substr(0, 200);
  return diagnostics.errors();
}

TEST(ParseYamlTest, KeepsTextPlacesAndOrder) {
  const Value map = Parse("b: 1.50\na: [x, \"y z\"]  # comment\nc:\n  d: 010\n");
  ASSERT_EQ(map.kind, Value::Kind::kMap);
  ASSERT_EQ(map.entries.size(), 3u);
  EXPECT_EQ(map.entries[0].key, "b");
  EXPECT_EQ(map.entries[0].value.text, "1.50");  // Not a number yet.
  EXPECT_EQ(map.Find("a")->items.at(1).text, "y z");
  EXPECT_EQ(map.Find("a")->items.at(1).place.line, 2);
  EXPECT_EQ(map.Find("a")->items.at(1).place.column, 8);
  EXPECT_EQ(map.Find("c")->Find("d")->text, "010");
  EXPECT_EQ(map.entries[2].key_place.line, 3);
  EXPECT_EQ(map.entries[2].value.Find("d")->place.column, 6);
  EXPECT_EQ(map.Find("z"), nullptr);
}

TEST(ParseYamlTest, AnEmptyDocumentHoldsNothing) {
  for (const char* text : {"", "\n", "# only a comment\n", "---\n", "~", "null"}) {
    EXPECT_EQ(Parse(text).kind, Value::Kind::kNull) << text;
  }
}

TEST(ParseYamlTest, FollowsAliases) {
  const Value map = Parse("a: &x {b: [1, 2]}\nc: *x\n");
  EXPECT_EQ(map.Find("c")->Find("b")->items.at(1).text, "2");
}

TEST(ParseYamlTest, RefusesAKeyThatOccursTwice) {
  EXPECT_THAT(ErrorsIn("a: 1\nb: 2\na: 3\n"),
              ElementsAre("test.yaml:3:1: a: occurs twice in this map; remove one"));
  EXPECT_THAT(ErrorsIn("x: {a: 1, \"a\": 1}\ny: {b: 1, b: 1}"),
              ElementsAre(HasSubstr("test.yaml:1:11: x.a"), HasSubstr("y.b")));
  // The first stays, so that what else is wrong is found in the same run.
  Diagnostics diagnostics;
  const std::optional<Value> value = ParseYaml("a: 1\na: 2\n", "test.yaml", diagnostics);
  ASSERT_TRUE(value);
  EXPECT_EQ(value->Find("a")->text, "1");
}

TEST(ParseYamlTest, RefusesMergeKeysTagsAndKeysThatAreNoWords) {
  EXPECT_THAT(ErrorsIn("a: &a {x: 1}\nb:\n  <<: *a\n"),
              ElementsAre(AllOf(StartsWith("test.yaml:3:3: b.<<"), HasSubstr("merge keys"))));
  EXPECT_THAT(ErrorsIn("a: !!int 3\n"), ElementsAre(HasSubstr("is not supported")));
  EXPECT_THAT(ErrorsIn("a: !mine {b: 1}\n"), ElementsAre(HasSubstr("the tag !mine")));
  EXPECT_THAT(ErrorsIn("? [a, b]\n: 1\n"), ElementsAre(HasSubstr("a key must be a word")));
}

// JSON that repeats such a text could not be read.
TEST(ParseYamlTest, RefusesWhatIsNoUtf8WithItsPlace) {
  const std::string wrong[] = {"\xff",
                               "\xc3",
                               "\x80",
                               "\xc0\xaf",
                               "\xe0\x80\xaf",
                               "\xed\xa0\x80",
                               "\xf5\x80\x80\x80",
                               "\xf0\x80\x80\x80",
                               "\xf4\x90\x80\x80"};
  for (const std::string& bytes : wrong) {
    EXPECT_THAT(ErrorsIn("seed: 1\nname: \xc3\xa9t\xc3\xa9 " + bytes + " x\n"),
                ElementsAre("test.yaml:2:11: is not valid UTF-8; save the file in that encoding"));
  }
  for (const std::string text : {"\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x8e\x89", "\xed\x9f\xbf"}) {
    EXPECT_EQ(Parse("name: " + text).Find("name")->text, text);
  }
}

TEST(ParseYamlTest, RefusesSeveralDocuments) {
  EXPECT_THAT(ErrorsIn("a: 1\n---\nb: 2\n"), ElementsAre(HasSubstr("several documents")));
}

// yaml-cpp 0.7 reads such a text for ever when asked for all documents.
TEST(ParseYamlTest, RefusesWhatFollowsTheDocument) {
  for (const char* text : {",", "a: 1\n, x", "a: [1]]\n", "{a: 1}, b", "]", "[1] [2]"}) {
    EXPECT_FALSE(ErrorsIn(text).empty()) << text;
  }
}

// Nor does it mind a quotation that is open at the end of the last line.
TEST(ParseYamlTest, RefusesAQuotationThatNeverEnds) {
  for (const char* text : {"a: 'x", "a: 'x\n", "a: \"x\nb: 1\n", "a: \"x\\\n", "'x\r\n",
                           "a: 'x\n\n", "a: 'x\n  ", "a: 'x\n\t", "a: 'x  "}) {
    EXPECT_THAT(ErrorsIn(text), ElementsAre(HasSubstr("not valid YAML"))) << text;
  }
  EXPECT_EQ(Parse("a: |\n  x\n").Find("a")->text, "x\n");
  EXPECT_EQ(Parse("a: |\n  x\n  ").Find("a")->text, "x\n");
  EXPECT_EQ(Parse("a: |\n  x  ").Find("a")->text, "x  ");
  EXPECT_EQ(Parse("a: |+\n  x\n\n").Find("a")->text, "x\n\n");
  EXPECT_EQ(Parse("a: 'x\n\n  y'\n").Find("a")->text, "x\ny");
}

TEST(ParseYamlTest, SaysWhereTextIsNoYaml) {
  EXPECT_THAT(ErrorsIn("a: 1\nb: [1, 2\n"), ElementsAre(HasSubstr("not valid YAML")));
  EXPECT_THAT(ErrorsIn("a: 1\n\tb: 2\n"), ElementsAre(StartsWith("test.yaml:2:")));
  EXPECT_THAT(ErrorsIn("a:\n\t- 1\n"), ElementsAre(HasSubstr("not valid YAML")));
  EXPECT_THAT(ErrorsIn("a: *unknown\n"), ElementsAre(StartsWith("test.yaml:1:4: ")));
  EXPECT_THAT(ErrorsIn("a: 'open\n"), ElementsAre(HasSubstr("not valid YAML")));
  EXPECT_THAT(ErrorsIn("a: b: c\n"), ElementsAre(StartsWith("test.yaml:1:")));
}

TEST(ParseYamlTest, RefusesBinaryFiles) {
  EXPECT_THAT(ErrorsIn(std::string("a: 1\0b: 2", 9)), ElementsAre(HasSubstr("not a text file")));
  EXPECT_THAT(ErrorsIn(std::string("\xff\xfe\x61\0:\0", 6)),
              ElementsAre(HasSubstr("not a text file")));
}

TEST(ParseYamlTest, RefusesADocumentThatItsAliasesBlowUp) {
  std::string laughs = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string one = "*a" + std::to_string(i - 1) + ", ";
    laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + Repeat(one, 9) + "]\n";
  }
  EXPECT_THAT(ErrorsIn(laughs), ElementsAre(HasSubstr("too large")));
}

TEST(ParseYamlTest, RefusesAliasesThatContainThemselves) {
  EXPECT_THAT(ErrorsIn("a: &a [1, *a]\n"), ElementsAre(HasSubstr("nested more than 32 deep")));
  EXPECT_THAT(ErrorsIn("&a {b: *a}\n"), ElementsAre(HasSubstr("nested more than 32 deep")));
}

TEST(ParseYamlTest, RefusesDeepNestingInEveryStyle) {
  std::string steps;
  for (size_t i = 0; i < 2'000; ++i) steps += std::string(i, ' ') + "a:\n";
  const std::string documents[] = {
      Repeat("[", 100'000),
      Repeat("[", 33) + Repeat("]", 33),
      Repeat("{a: ", 60) + "1" + Repeat("}", 60),
      Repeat("- ", 100'000) + "1",
      Repeat("-  ", 100'000) + "1",
      Repeat("- ", 40) + "1",
      Repeat("? ", 100'000) + "1",
      Repeat("? - ", 50'000) + "1",
      Repeat("-\t", 100'000) + "1",
      steps,
      Repeat("[]\n]", 10) + Repeat("[", 100'000),
      "a: \"[[[[\"\nb: " + Repeat("[", 5'000),
  };
  for (const std::string& document : documents) EXPECT_FALSE(ErrorsIn(document).empty());
  EXPECT_EQ(Parse(Repeat("[", 32) + Repeat("]", 32)).kind, Value::Kind::kList);
}

TEST(ParseYamlTest, BracketsInTextAndCommentsDoNotNest) {
  const std::string open = Repeat("[", 200);
  EXPECT_EQ(Parse("a: '" + open + "'\n").Find("a")->text, open);
  EXPECT_EQ(Parse("a: 1  # " + open + "\n").Find("a")->text, "1");
}

// Linear in the keys: four times as many take about four times as long, where comparing each with
// each would take sixteen.
TEST(ParseYamlTest, ReadsAMapWithManyKeysInLinearTime) {
  const auto seconds = [](int keys) {
    std::string text;
    for (int i = 0; i < keys; ++i) text += "key" + std::to_string(i) + ": 1\n";
    double least = 1e9;
    for (int attempt = 0; attempt < 3; ++attempt) {
      const auto start = std::chrono::steady_clock::now();
      EXPECT_EQ(Parse(text).entries.size(), static_cast<size_t>(keys));
      const auto end = std::chrono::steady_clock::now();
      least = std::min(least, std::chrono::duration<double>(end - start).count());
    }
    return least;
  };
  EXPECT_LT(seconds(40'000), 9 * seconds(10'000));
}

// A folder of its own, gone afterwards.
class YamlFileTest : public testing::Test {
 protected:
  YamlFileTest() { std::filesystem::create_directories(folder_); }
  ~YamlFileTest() override { std::filesystem::remove_all(folder_); }

  std::string PathTo(const std::string& name) const { return (folder_ / name).string(); }
  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(PathTo(name), std::ios::binary) << text;
    return PathTo(name);
  }
  std::vector<std::string> ErrorsOf(const std::string& path) const {
    Diagnostics diagnostics;
    EXPECT_FALSE(ReadYamlFile(path, diagnostics));
    return diagnostics.errors();
  }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("heddle_yaml_test_" + std::to_string(getpid()));
};

TEST_F(YamlFileTest, IsReadLikeItsText) {
  Diagnostics diagnostics;
  const std::optional<Value> value = ReadYamlFile(Write("a.yaml", "a: 1\r\nb: 2\r\n"), diagnostics);
  ASSERT_TRUE(value);
  EXPECT_EQ(value->Find("b")->text, "2");
  EXPECT_EQ(value->Find("b")->place.source, PathTo("a.yaml"));
}

TEST_F(YamlFileTest, WhatIsNoReadableFileIsRefused) {
  EXPECT_THAT(ErrorsOf(PathTo("none.yaml")),
              ElementsAre(PathTo("none.yaml") + ": cannot be read: No such file or directory"));
  EXPECT_THAT(ErrorsOf(folder_.string()), ElementsAre(HasSubstr("is a folder")));
  EXPECT_THAT(ErrorsOf(Write("binary", std::string(100, '\0'))),
              ElementsAre(HasSubstr("not a text file")));
  EXPECT_THAT(ErrorsOf(Write("huge", std::string((4 << 20) + 1, '#'))),
              ElementsAre(HasSubstr("larger than 4194304 bytes")));
  EXPECT_THAT(ErrorsOf(""), ElementsAre(HasSubstr("cannot be read")));
}

TEST_F(YamlFileTest, AFileWithoutPermissionIsRefused) {
  if (geteuid() == 0) GTEST_SKIP() << "root reads everything";
  const std::string path = Write("secret", "a: 1");
  std::filesystem::permissions(path, std::filesystem::perms::none);
  EXPECT_THAT(ErrorsOf(path), ElementsAre(HasSubstr("Permission denied")));
}

std::string ReadBack(const std::string& text) {
  const Value map = Parse("key: " + QuoteYaml(text) + "\nlist: [" + QuoteYaml(text) + "]\n");
  const Value* value = map.Find("key");
  EXPECT_EQ(value->kind, Value::Kind::kScalar) << text;
  EXPECT_EQ(map.Find("list")->items.at(0).text, value->text);
  return value->text;
}

TEST(QuoteYamlTest, LeavesPlainWordsAlone) {
  for (const char* text : {"letflow", "100us", "1/16", "1.5Gbps", "a-b_c", "configs/x.yaml"}) {
    EXPECT_EQ(QuoteYaml(text), text);
  }
}

TEST(QuoteYamlTest, QuotesWhatSomeReadersTakeForSomethingElse) {
  for (const char* text : {"yes", "No",  "on",   "null", "~",   "true", "",    " ",
                           "-",   "- a", "a: b", "a:",   "# x", "a #b", "[1]", "{",
                           "*a",  "&a",  "!x",   "%x",   "@",   "`",    "'"}) {
    EXPECT_EQ(QuoteYaml(text).front(), '"') << text;
    EXPECT_EQ(ReadBack(text), text);
  }
}

TEST(QuoteYamlTest, AnyTextReadsBack) {
  for (const std::string text : {"1.0",
                                 "a\"b",
                                 "back\\slash",
                                 "tab\t",
                                 "two\nlines",
                                 "cr\r",
                                 "\x1b[0m",
                                 "\x7f",
                                 "gr\xc3\xbc\xc3\x9f",
                                 "\xe6\x97\xa5\xe6\x9c\xac",
                                 "\xf0\x9f\x90\x88",
                                 "nel\xc2\x85",
                                 "sep\xe2\x80\xa8",
                                 "bom\xef\xbb\xbf",
                                 "---",
                                 "...",
                                 "? x",
                                 ": x",
                                 "a,b",
                                 "a]b",
                                 "a}b",
                                 "NULL",
                                 "'single'",
                                 "0x10",
                                 "12:30:45"}) {
    EXPECT_EQ(ReadBack(text), text);
  }
  EXPECT_EQ(ReadBack(std::string(300, 'x')), std::string(300, 'x'));
}

TEST(QuoteYamlTest, RandomTextReadsBack) {
  static const std::string kPieces[] = {
      "a", "Z", "0", " ", ":", "-", "#", "\"", "'", "\\", "\n", "\t", ",",        "[",    "]",  "{",
      "}", "&", "*", "!", "|", ">", "%", "@",  "`", "~",  "?",  "=",  "\xc3\xa9", "\x01", "yes"};
  Rng rng = Rng::Stream(1, "texts", 0);
  for (int i = 0; i < 3'000; ++i) {
    std::string text;
    for (uint32_t n = rng.Below(8); n > 0; --n) text += kPieces[rng.Below(std::size(kPieces))];
    ASSERT_EQ(ReadBack(text), text);
  }
}

TEST(DiagnosticsTest, AnErrorIsOneLineWhateverTheUserWrote) {
  Diagnostics diagnostics;
  diagnostics.Error({"a.yaml", 1, 2}, "lb", "\"x\ny\x1b[2J\" is unknown");
  EXPECT_EQ(diagnostics.errors().front(), "a.yaml:1:2: lb: \"x\\ny\\x1b[2J\" is unknown");
}

}  // namespace heddle::yaml_test
