// SPDX-License-Identifier: Apache-2.0

#include "settings/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "settings/yaml.h"
#include "tests/support/settings_zoo.h"

namespace heddle::schema_test {

using testing::HasSubstr;

// The schema as a document: JSON is YAML.
Value ZooSchema() {
  Zoo zoo;
  const std::string schema = SchemaOf("A zoo", [&](Fields& fields) { zoo.Declare(fields); },
                                      {"sweep", "{\"type\":\"object\"}"});
  Diagnostics diagnostics;
  return ParseYaml(schema, "schema.json", diagnostics).value();
}

const Value& At(const Value& value, const std::vector<std::string>& keys) {
  const Value* at = &value;
  for (const std::string& key : keys) {
    at = at->Find(key);
    if (at == nullptr) throw std::runtime_error("no key " + key);
  }
  return *at;
}

TEST(SchemaTest, SaysWhatEachSettingMayBe) {
  const Value schema = ZooSchema();
  EXPECT_EQ(At(schema, {"$schema"}).text, "http://json-schema.org/draft-07/schema#");
  EXPECT_EQ(At(schema, {"additionalProperties"}).text, "false");
  EXPECT_EQ(At(schema, {"properties", "sweep", "type"}).text, "object");
  EXPECT_EQ(At(schema, {"properties", "pond", "pattern"}).text,
            "^-?[0-9]+(\\.[0-9]+)?(B|KB|KiB|MB|MiB|GB|GiB|TB)$");
  EXPECT_EQ(At(schema, {"properties", "pond", "default"}).text, "1MB");
  EXPECT_THAT(At(schema, {"properties", "tour", "description"}).text,
              HasSubstr("Its length. (duration >= 1us)"));
  EXPECT_EQ(At(schema, {"properties", "season", "enum"}).items.size(), 2u);
  EXPECT_EQ(At(schema, {"properties", "closing", "anyOf"}).items[1].Find("enum")->items[0].text,
            "never");
}

TEST(SchemaTest, BoundsOfNumbersAreExact) {
  const Value schema = ZooSchema();
  const Value& price = At(schema, {"properties", "price", "anyOf"}).items[0];
  EXPECT_EQ(At(price, {"exclusiveMinimum"}).text, "0");
  EXPECT_EQ(At(price, {"maximum"}).text, "1");
  const Value& lives =
      At(schema, {"definitions", "animal.cat", "properties", "lives", "anyOf"}).items[0];
  EXPECT_EQ(At(lives, {"minimum"}).text, "1");
  EXPECT_EQ(At(lives, {"maximum"}).text, "9");
}

TEST(SchemaTest, AKindIsANameOrAMapOfItsOwn) {
  const Value schema = ZooSchema();
  const Value& forms = At(schema, {"properties", "mascot", "oneOf"});
  ASSERT_EQ(forms.items.size(), 3u);
  EXPECT_EQ(At(forms.items[0], {"enum"}).items[0].text, "cat");
  EXPECT_EQ(At(forms.items[2], {"$ref"}).text, "#/definitions/animal.dog");
  const Value& dog = At(schema, {"definitions", "animal.dog"});
  EXPECT_EQ(At(dog, {"properties", "kind", "const"}).text, "dog");
  EXPECT_EQ(At(dog, {"additionalProperties"}).text, "false");
  EXPECT_EQ(At(dog, {"properties", "bones", "items", "type"}).text, "string");
  EXPECT_EQ(At(schema, {"properties", "animals", "type"}).text, "array");
}

}  // namespace heddle::schema_test
