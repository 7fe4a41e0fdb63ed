// SPDX-License-Identifier: Apache-2.0

#include "settings/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/random.h"
#include "settings/reader.h"
#include "settings/yaml.h"
#include "tests/support/settings_zoo.h"

namespace heddle::writer_test {

std::string Write(Zoo& zoo) {
  return WriteYaml([&](Fields& fields) { zoo.Declare(fields); });
}

std::string RandomText(Rng& rng) {
  static const std::string kTexts[] = {
      "yes",  "1.0", "a: b", "",      "\"quoted\"",          "it's",  "gr\xc3\xbc\xc3\x9f",
      "null", "~",   "- x",  "#",     "two\nlines",          "plain", "[a]",
      "*x",   " ",   "\\",   "100us", std::string("a\0b", 3)};
  return kTexts[rng.Below(std::size(kTexts))];
}

Cage RandomCage(Rng& rng) {
  Cage cage;
  cage.least = rng.Below(100);
  cage.most = cage.least + rng.Below(100);
  cage.visitors = BitRate{1 + static_cast<int64_t>(rng.Next() >> (10 + rng.Below(50)))};
  return cage;
}

Chosen<Animal> RandomAnimal(Rng& rng) {
  if (rng.Below(2) == 0) {
    Chosen<Animal> cat = Animals().Make("cat");
    dynamic_cast<Cat&>(*cat.settings).lives = 1 + rng.Below(9);
    return cat;
  }
  Chosen<Animal> dog = Animals().Make("dog");
  dynamic_cast<Dog&>(*dog.settings).name = RandomText(rng);
  for (uint32_t i = rng.Below(3); i > 0; --i) {
    dynamic_cast<Dog&>(*dog.settings).bones.push_back(Bytes{1 + rng.Below(1'000'000)});
  }
  return dog;
}

Zoo RandomZoo(uint64_t seed) {
  Rng rng = Rng::Stream(seed, "zoo", 0);
  Zoo zoo;
  zoo.motto = RandomText(rng);
  zoo.open = rng.Below(2) == 0;
  zoo.price = 1 - rng.Uniform();
  zoo.pond = Bytes{rng.Below(1 << 30)};
  zoo.tour = 1_us + Duration{rng.Below(1'000'000) * int64_t{1'000}};
  zoo.season = rng.Below(2) == 0 ? Season::kSummer : Season::kWinter;
  if (rng.Below(2) == 0) zoo.closing = Duration{rng.Below(1'000'000)};
  if (rng.Below(2) == 0) zoo.discount = rng.Uniform() - 0.5;
  for (uint32_t i = rng.Below(4); i > 0; --i) zoo.numbers.push_back(int64_t{rng.Below(100)} - 50);
  for (uint32_t i = rng.Below(4); i > 0; --i) zoo.words.push_back(RandomText(rng));
  zoo.cage = RandomCage(rng);
  for (uint32_t i = rng.Below(4); i > 0; --i) zoo.cages.push_back(RandomCage(rng));
  zoo.mascot = RandomAnimal(rng);
  for (uint32_t i = rng.Below(4); i > 0; --i) zoo.animals.push_back(RandomAnimal(rng));
  return zoo;
}

TEST(WriterTest, WhatIsWrittenReadsBackAsTheSameSettings) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Zoo zoo = RandomZoo(seed);
    const std::string text = Write(zoo);
    Diagnostics diagnostics;
    const std::optional<Value> document = ParseYaml(text, "zoo.yaml", diagnostics);
    ASSERT_TRUE(document) << diagnostics.Report() << text;
    Zoo read;
    ReadSettings(
        *document, [&](Fields& fields) { read.Declare(fields); }, diagnostics);
    ASSERT_TRUE(diagnostics.ok()) << diagnostics.Report() << text;
    ASSERT_EQ(Write(read), text);
    ASSERT_EQ(read.motto, zoo.motto);
    ASSERT_EQ(read.words, zoo.words);
    ASSERT_EQ(read.price, zoo.price);
    ASSERT_EQ(read.closing, zoo.closing);
  }
}

TEST(WriterTest, WritesEveryDefault) {
  Zoo zoo;
  zoo.cages.resize(1);
  EXPECT_EQ(Write(zoo), R"(motto: none
open: true
price: 0.5
pond: 1MB
tour: 100us
season: summer
closing: never
discount: none
numbers: []
words: []
cage:
  least: 1
  most: 4
  visitors: 10Gbps
cages:
  - least: 1
    most: 4
    visitors: 10Gbps
mascot:
  kind: cat
  lives: 9
  nap: 2s
animals: []
)");
}

TEST(WriterTest, LeavesOutAKindThatIsNotChosen) {
  struct Maybe {
    Chosen<Animal> pet;
    bool last = true;
    void Declare(Fields& fields) {
      fields.Kind("pet", pet, Animals(), "If any.");
      fields.Add("last", last, "The end.");
    }
  } maybe;
  EXPECT_EQ(WriteYaml([&](Fields& fields) { maybe.Declare(fields); }), "last: true\n");
}

TEST(DescribeFieldsTest, ListsEverySettingWithTypeDefaultAndMeaning) {
  Zoo zoo;
  std::string table;
  for (const FieldInfo& row : DescribeFields([&](Fields& fields) { zoo.Declare(fields); })) {
    table += row.path + " | " + row.type + " | " + row.preset + " | " + row.meaning + "\n";
  }
  EXPECT_EQ(table, R"(motto | text | none | Above the gate.
open | true or false | true | Today.
price | number > 0 <= 1 | 0.5 | Of a ticket.
pond | size >= 0B | 1MB | Its size.
tour | duration >= 1us | 100us | Its length.
season | summer | winter | summer | Of the year.
closing | duration >= 0ps, or never | never | When.
discount | number, or none | none | For children.
numbers | list of integer | [] | Lucky ones.
words | list of text | [] | Signs.
cage | map |  | The usual one.
cage.least | integer >= 0 | 1 | Animals at least.
cage.most | integer >= 0 | 4 | Animals at most.
cage.visitors | rate > 0bps | 10Gbps | How fast they pass.
cages | list of maps | [] | Others.
cages[].least | integer >= 0 | 1 | Animals at least.
cages[].most | integer >= 0 | 4 | Animals at most.
cages[].visitors | rate > 0bps | 10Gbps | How fast they pass.
mascot | map of kind cat | dog | cat | On the poster.
animals | list of maps of kind cat | dog | [] | Inside.
)");
}

TEST(DescribeFieldsTest, SaysWhatIsRequired) {
  Dog dog;
  const auto rows = DescribeFields([&](Fields& fields) { dog.Declare(fields); });
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].preset, "(required)");
  EXPECT_EQ(rows[1].type, "list of size >= 1B");
}

}  // namespace heddle::writer_test
