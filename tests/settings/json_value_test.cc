// SPDX-License-Identifier: Apache-2.0

#include "settings/json_value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace heddle::json_value_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

Value Parse(const std::string& text) {
  Diagnostics diagnostics;
  const std::optional<Value> value = ParseJsonValue(text, "a.json", diagnostics);
  EXPECT_TRUE(value) << diagnostics.Report();
  return value.value_or(Value{});
}

std::vector<std::string> ErrorsIn(const std::string& text) {
  Diagnostics diagnostics;
  EXPECT_FALSE(ParseJsonValue(text, "a.json", diagnostics)) << text.substr(0, 100);
  return diagnostics.errors();
}

TEST(JsonValueTest, KeepsTextsOrderAndLines) {
  const Value map = Parse(
      "{\"b\": 1.50,\n\"a\": [7,\n -12\n, 18446744073709551615, 1e3],\n\n\"c\": {\n"
      "\"d\":\tnull, \"e\": true, \"f\": \"x\\n\\u00e9\"}}\n");
  ASSERT_EQ(map.kind, Value::Kind::kMap);
  ASSERT_THAT(map.entries, SizeIs(3));
  EXPECT_EQ(map.entries[0].key, "b");
  EXPECT_EQ(map.entries[0].value.text, "1.50");
  EXPECT_EQ(map.entries[0].key_place.line, 1);
  const Value& list = *map.Find("a");
  EXPECT_EQ(list.kind, Value::Kind::kList);
  EXPECT_EQ(list.place.line, 2);
  ASSERT_THAT(list.items, SizeIs(4));
  EXPECT_EQ(list.items[0].place.line, 2);
  EXPECT_EQ(list.items[1].text, "-12");
  EXPECT_EQ(list.items[1].place.line, 3);  // The parser has seen the end of the line.
  EXPECT_EQ(list.items[2].text, "18446744073709551615");
  EXPECT_EQ(list.items[2].place.line, 4);
  EXPECT_EQ(list.items[3].text, "1e3");
  EXPECT_EQ(map.entries[2].key_place.line, 6);
  const Value& inner = *map.Find("c");
  EXPECT_EQ(inner.Find("d")->kind, Value::Kind::kNull);
  EXPECT_EQ(inner.Find("d")->place.line, 7);
  EXPECT_EQ(inner.Find("e")->text, "true");
  EXPECT_EQ(inner.Find("f")->text, "x\n\xc3\xa9");
  EXPECT_EQ(Parse(" \"alone\"").text, "alone");
  EXPECT_EQ(Parse("{}").kind, Value::Kind::kMap);
  EXPECT_THAT(Parse("[]").items, IsEmpty());
}

TEST(JsonValueTest, TellsWhatIsWrongAndWhere) {
  EXPECT_THAT(ErrorsIn("{\"a\": 1,\n \"b\" 2}"),
              ElementsAre(StartsWith("a.json:2:6: not valid JSON: syntax error")));
  EXPECT_THAT(ErrorsIn("[1,\n2,]"), ElementsAre(StartsWith("a.json:2:3: not valid JSON: ")));
  EXPECT_THAT(ErrorsIn("[\"\xc3\xa9\" x]"), ElementsAre(StartsWith("a.json:1:6: ")));
  EXPECT_THAT(ErrorsIn(""), ElementsAre(HasSubstr("unexpected end of input")));
  EXPECT_THAT(ErrorsIn("{} {}"), ElementsAre(HasSubstr("not valid JSON: ")));
  EXPECT_THAT(ErrorsIn("a: 1"), ElementsAre(StartsWith("a.json:1:1: not valid JSON: ")));
  EXPECT_THAT(ErrorsIn("[\"\xff\"]"), ElementsAre(HasSubstr("UTF-8")));
  for (const char* text : {"[1, 2", "{\"a\": ", "{\"a\"", "[01]", "nul", "# none\n{}"}) {
    EXPECT_THAT(ErrorsIn(text), SizeIs(1)) << text;
  }
}

TEST(JsonValueTest, RefusesAKeyThatOccursTwice) {
  EXPECT_THAT(ErrorsIn("{\"a\": 1,\n\"b\": 2,\n\"a\": 3}"),
              ElementsAre("a.json:3:1: \"a\" occurs twice in this object; remove one"));
  EXPECT_THAT(Parse("[{\"a\": 1}, {\"a\": 2}]").items, SizeIs(2));
}

TEST(JsonValueTest, RefusesDeepNesting) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  Parse(nested(32));
  EXPECT_THAT(ErrorsIn("\n" + nested(33)), ElementsAre("a.json:2:1: nested more than 32 deep"));
  EXPECT_THAT(ErrorsIn(std::string(100'000, '{')), SizeIs(1));
  EXPECT_THAT(ErrorsIn(std::string(100'000, '[')), SizeIs(1));
}

}  // namespace heddle::json_value_test
