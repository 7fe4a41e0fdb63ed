// SPDX-License-Identifier: Apache-2.0

#include "settings/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/status.h"

namespace heddle::json_test {

using testing::_;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST(JsonTest, GivesScalarsByTheirPaths) {
  EXPECT_THAT(
      ParseJson(R"({"a": {"b": 1.5, "c": [true, null, {"d": "x"}]}, "e": [], "f": {} })").value(),
      ElementsAre(Pair("a.b", "1.5"), Pair("a.c[0]", "true"), Pair("a.c[1]", ""),
                  Pair("a.c[2].d", "x")));
}

TEST(JsonTest, ReadsBackWhatQuoteJsonWrites) {
  const std::string text = "say \"no\" \\ to\nlines\tand \x01";
  EXPECT_THAT(ParseJson("{\"t\": " + QuoteJson(text) + "}").value(), ElementsAre(Pair("t", text)));
}

// Points.csv has them as the run wrote them, however large.
TEST(JsonTest, LeavesNumbersAsTheyAreWritten) {
  for (const char* number : {"0", "-7", "18446744073709551615", "18446744073709551616", "1e-05",
                             "0.10", "123456789012345678901234567890", "-1.5e+300"}) {
    EXPECT_THAT(ParseJson(number).value(), ElementsAre(Pair("", number)));
  }
}

TEST(JsonTest, ReadsEscapesOfOthers) {
  EXPECT_THAT(ParseJson(R"({"t": "\u00e9\ud83d\ude00\n\/"})").value(),
              ElementsAre(Pair("t", "\xc3\xa9\xf0\x9f\x98\x80\n/")));
}

TEST(JsonTest, RefusesWhatIsNotWhole) {
  for (const char* text : {"",
                           "{",
                           "{\"a\": 1",
                           "{\"a\" 1}",
                           "{\"a\": }",
                           "{\"a\": 1} x",
                           "[1,]",
                           "{\"a\": \"x}",
                           "{\"a\": nul}",
                           "{\"a\": \"\\u12\"}",
                           "{\"a\": --1}",
                           "nan",
                           "inf",
                           "01",
                           "1.",
                           ".5",
                           "'a'",
                           "{a: 1}",
                           "\"\x80\"",
                           "[1] // one"}) {
    EXPECT_THAT(ParseJson(text), Fails(absl::StatusCode::kInvalidArgument, HasSubstr("line 1")))
        << text;
  }
}

TEST(JsonTest, SaysWhereTheMistakeIs) {
  EXPECT_THAT(ParseJson("{\n  \"a\": 1,\n  \"b\": x\n}"),
              Fails(absl::StatusCode::kInvalidArgument, HasSubstr("line 3, column 8")));
}

// A tree of its own would leave out the first, and stacks of calls would overflow.
TEST(JsonTest, RefusesWhatHeddleNeverWrites) {
  EXPECT_THAT(ParseJson(R"({"a": 1, "a": 2})"),
              Fails(absl::StatusCode::kInvalidArgument, "a occurs twice"));
  EXPECT_THAT(ParseJson(R"({"a": {"b": 1}, "a.b": 2})"),
              Fails(absl::StatusCode::kInvalidArgument, "a.b occurs twice"));
  for (const char* open : {"[", "{\"a\":"}) {
    std::string deep;
    for (int i = 0; i < 100'000; ++i) deep += open;
    EXPECT_THAT(ParseJson(deep),
                Fails(absl::StatusCode::kInvalidArgument, "nests more than 32 deep"));
  }
}

TEST(JsonTest, PutsObjectsTogether) {
  JsonFields fields;
  fields.Text("text", "a \"b\"");
  fields.Integer("integer", std::numeric_limits<int64_t>::min());
  fields.Real("real", 0.1);
  fields.Real("none", std::numeric_limits<double>::infinity());
  fields.Bool("bool", true);
  fields.Add("list", JsonStrings({"x", "y"}));
  EXPECT_EQ(fields.Done(),
            R"({"text":"a \"b\"","integer":-9223372036854775808,"real":0.1,"none":null,)"
            R"("bool":true,"list":["x","y"]})");
}

TEST(JsonTest, IsLaidOutForPeople) {
  const std::string json = R"({"a":[1,{"b":"x, [y]: \"z\""}],"c":{},"d":[]})";
  EXPECT_EQ(IndentJson(json), R"({
  "a": [
    1,
    {
      "b": "x, [y]: \"z\""
    }
  ],
  "c": {},
  "d": []
}
)");
  EXPECT_EQ(IndentJson(json, JsonArrays::kInOneLine), R"({
  "a": [1, {
      "b": "x, [y]: \"z\""
    }],
  "c": {},
  "d": []
}
)");
}

}  // namespace heddle::json_test
