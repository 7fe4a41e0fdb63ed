// SPDX-License-Identifier: Apache-2.0
// The files of a finished run: read once, and each on its own.

#include "study/papers/run_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/command.h"
#include "tests/support/status.h"

namespace heddle::run_tables_test {

using testing::HasSubstr;

class RunTablesTest : public testing::Test {
 protected:
  RunTablesTest() {
    run_.Write("a.csv", "x,y\n1,2\n3,4\n");
    run_.Write("header.csv", "x,y\n");
    run_.Write("ragged.csv", "x,y\n1\n");
    run_.Write("summary.json", "{\"a\": {\"b\": 5}, \"manifest\": \"manifest.csv\"}\n");
    run_.Write("broken.json", "{\"a\":");
    MakeManifest(run_.path());
  }
  TemporaryFolder run_;
};

TEST_F(RunTablesTest, AreReadOnce) {
  RunTables tables(run_.path());
  const auto first = tables.Table("a.csv");
  ASSERT_THAT(first, IsOk());
  EXPECT_EQ((*first)->At(1, 0), "3");
  const auto json = tables.Json("summary.json");
  ASSERT_THAT(json, IsOk());
  EXPECT_EQ((*json)->at("a.b"), "5");
  std::filesystem::remove(run_ / "a.csv");
  std::filesystem::remove(run_ / "summary.json");
  const auto again = tables.Table("a.csv");
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(*again, *first);  // The same table, not a copy.
  EXPECT_EQ(*tables.Json("summary.json"), *json);
  EXPECT_FALSE(tables.found_damage());
}

// The failure of one table does not make the next one fail.
TEST_F(RunTablesTest, OneThatFailsDoesNotSpoilTheNext) {
  RunTables tables(run_.path());
  EXPECT_THAT(tables.Table("none.csv"), Fails(absl::StatusCode::kNotFound, HasSubstr("none.csv")));
  EXPECT_THAT(tables.Json("none.json"), Fails(absl::StatusCode::kNotFound, HasSubstr("none.json")));
  EXPECT_THAT(tables.Table("a.csv"), IsOk());
  EXPECT_THAT(tables.Json("summary.json"), IsOk());
  EXPECT_FALSE(tables.found_damage());
}

// A file that could not be read is not remembered as an empty one.
TEST_F(RunTablesTest, OneThatFailsFailsAgain) {
  RunTables tables(run_.path());
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(tables.Table("ragged.csv"),
                Fails(absl::StatusCode::kDataLoss, HasSubstr("row 1 has more or fewer cells")));
    EXPECT_THAT(tables.Json("broken.json"),
                Fails(absl::StatusCode::kDataLoss, HasSubstr("is not JSON")));
  }
}

TEST_F(RunTablesTest, AHeaderAloneIsATableWithoutRows) {
  RunTables tables(run_.path());
  const auto header = tables.Table("header.csv");
  ASSERT_THAT(header, IsOk());
  EXPECT_EQ((*header)->rows(), 0u);
  EXPECT_EQ((*header)->Column("y"), 1u);
}

TEST_F(RunTablesTest, DamageIsRemembered) {
  RunTables tables(run_.path());
  run_.Write("a.csv", "x,y\n1,2\n3,5\n");
  EXPECT_FALSE(tables.found_damage());
  EXPECT_THAT(tables.Table("a.csv"), Fails(absl::StatusCode::kDataLoss, HasSubstr("a.csv")));
  EXPECT_THAT(tables.Table("header.csv"), IsOk());
  EXPECT_TRUE(tables.found_damage());
  EXPECT_EQ(tables.run(), run_.path());
}

}  // namespace heddle::run_tables_test
