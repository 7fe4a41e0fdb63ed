// SPDX-License-Identifier: Apache-2.0
// A choice among kinds that need not be made, what depends on it, and keys that are told why they
// are not there.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "settings/diagnostics.h"
#include "settings/reader.h"
#include "settings/schema.h"
#include "settings/writer.h"
#include "settings/yaml.h"
#include "tests/support/settings_zoo.h"

namespace heddle::optional_kind_test {

using testing::ElementsAre;
using testing::HasSubstr;

// Without a guest it has a price.
struct Room {
  Chosen<Animal> guest;
  int64_t price = 10;

  void Declare(Fields& fields) {
    fields.Kind("guest", guest, Animals(), "Who lives there.");
    if (guest.settings) {
      fields.Absent("price", "a room with a guest has none");
    } else {
      fields.Add("price", price, AtLeast<int64_t>(0), "A night.");
    }
  }
};

std::vector<std::string> Read(const std::string& yaml, Room& room) {
  Diagnostics diagnostics;
  const std::optional<Value> document = ParseYaml(yaml, "room.yaml", diagnostics);
  ReadSettings(
      *document, [&](Fields& fields) { room.Declare(fields); }, diagnostics);
  return diagnostics.errors();
}
std::string Written(Room& room) {
  return WriteYaml([&](Fields& fields) { room.Declare(fields); });
}

TEST(OptionalKindTest, IsNotWrittenWhileItIsNotChosen) {
  Room room;
  EXPECT_THAT(Read("price: 5", room), ElementsAre());
  EXPECT_EQ(Written(room), "price: 5\n");
  Room again;
  EXPECT_THAT(Read(Written(room), again), ElementsAre());
  EXPECT_EQ(again.price, 5);
}

TEST(OptionalKindTest, IsReadAndWrittenWithItsSettings) {
  Room room;
  EXPECT_THAT(Read("guest: {kind: cat, lives: 3}", room), ElementsAre());
  EXPECT_EQ(room.guest.kind, "cat");
  EXPECT_EQ(Written(room), "guest:\n  kind: cat\n  lives: 3\n  nap: 2s\n");
  Room again;
  EXPECT_THAT(Read(Written(room), again), ElementsAre());
  EXPECT_EQ(Written(again), Written(room));
}

// The schema cannot know what depends on the choice: it has everything that there may be.
TEST(OptionalKindTest, LeavesInTheSchemaWhatIsThereWithoutIt) {
  Room room;
  const std::string schema =
      SchemaOf("A room", [&](Fields& fields) { room.Declare(fields); }, {"sweep", "{}"});
  EXPECT_THAT(schema, HasSubstr("\"price\""));
  EXPECT_THAT(schema, HasSubstr("#/definitions/animal.cat"));
  const std::vector<FieldInfo> fields = DescribeFields([&](Fields& all) { room.Declare(all); });
  ASSERT_EQ(fields.size(), 2u);
  EXPECT_EQ(fields[0].path, "guest");
  EXPECT_EQ(fields[0].type, "map of kind cat | dog");
  EXPECT_EQ(fields[0].preset, "");
  EXPECT_EQ(fields[1].path, "price");
}

TEST(AbsentKeyTest, IsAnErrorThatSaysWhyAtTheKey) {
  Room room;
  EXPECT_THAT(Read("guest: cat\nprice: 5", room),
              ElementsAre("room.yaml:2:1: price: a room with a guest has none"));
  Room other;
  EXPECT_THAT(Read("guest: cat\nprize: 5", other), ElementsAre(HasSubstr("prize: unknown key")));
}

TEST(WhyNotTest, IsSaidInsteadOfASuggestion) {
  Kinds<Animal> pets("pet");
  pets.Add<Cat>({"cat", "Purrs.", ""});
  pets.SetReason([](const std::string& name) {
    return name == "wolf" ? "is no pet; take a cat" : std::string();
  });
  const auto errors = [&](const std::string& yaml) {
    Diagnostics diagnostics;
    Chosen<Animal> pet;
    ReadSettings(
        *ParseYaml(yaml, "pet.yaml", diagnostics),
        [&](Fields& fields) { fields.Kind("pet", pet, pets, ""); }, diagnostics);
    return diagnostics.errors();
  };
  EXPECT_THAT(errors("pet: wolf"),
              ElementsAre("pet.yaml:1:6: pet.kind: \"wolf\" is no pet; take a cat"));
  EXPECT_THAT(errors("pet: cta"),
              ElementsAre(HasSubstr("no pet is called \"cta\"; did you mean \"cat\"?")));
}

}  // namespace heddle::optional_kind_test
