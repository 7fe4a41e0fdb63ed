// SPDX-License-Identifier: Apache-2.0

#include "settings/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "settings/yaml.h"

namespace heddle {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(JsonTest, GivesScalarsByTheirPaths) {
  EXPECT_THAT(ParseJson(R"({"a": {"b": 1.5, "c": [true, null, {"d": "x"}]}, "e": [], "f": {} })"),
              testing::Optional(ElementsAre(Pair("a.b", "1.5"), Pair("a.c[0]", "true"),
                                            Pair("a.c[1]", ""), Pair("a.c[2].d", "x"))));
}

TEST(JsonTest, ReadsBackWhatQuoteJsonWrites) {
  const std::string text = "say \"no\" \\ to\nlines\tand \x01";
  EXPECT_THAT(ParseJson("{\"t\": " + QuoteJson(text) + "}"),
              testing::Optional(ElementsAre(Pair("t", text))));
}

TEST(JsonTest, RefusesWhatIsNotWhole) {
  for (const char* text : {"", "{", "{\"a\": 1", "{\"a\" 1}", "{\"a\": }", "{\"a\": 1} x", "[1,]",
                           "{\"a\": \"x}", "{\"a\": nul}", "{\"a\": \"\\u12\"}", "{\"a\": --1}"}) {
    EXPECT_EQ(ParseJson(text), std::nullopt) << text;
  }
  EXPECT_EQ(ParseJson(std::string(100'000, '[')), std::nullopt);
}

}  // namespace
}  // namespace heddle
