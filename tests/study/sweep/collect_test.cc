// SPDX-License-Identifier: Apache-2.0

#include "study/sweep/collect.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>

#include "experiment/version.h"
#include "tests/support/command.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/status.h"

namespace heddle::collect_test {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::EndsWith;

// A sweep with points a and b, two seeds of one load balancer.
class CollectTest : public testing::Test {
 protected:
  CollectTest() {
    EXPECT_THAT(sweep_.Make(), IsOk());
    for (const char* id : {"a", "b"}) {
      plan_.points.push_back({.id = id, .label = id, .seed = "1", .choices = {"ecmp"}});
      WriteRun(id, "mean,p99", "1,2");
    }
    plan_.points.back().seed = "2";
  }

  void WriteRun(const std::string& id, const std::string& columns, const std::string& cells,
                const std::string& complete = "true", const std::string& version = Version()) {
    const std::string point = "points/" + id;
    fs::remove_all(folder_ / point);
    fs::create_directories(folder_ / point);
    folder_.Write(point + "/summary.csv",
                  fmt::format("class_set,class,{}\nall,all,{}\n", columns, cells));
    folder_.Write(point + "/reorder.csv", "scope,class,ratio\nall,all,0\n");
    folder_.Write(point + "/summary.json",
                  fmt::format(R"({{"version": "{}", "commit": "{}", "complete": {}}})", version,
                              Commit(), complete));
    MakeManifest(folder_ / point);
  }
  Collected CollectAll(bool with_stale = false) {
    return Collect(sweep_, plan_, with_stale, folder_.path());
  }
  CsvTable Points() { return CsvTable(ReadFile(folder_ / "points.csv")); }

  TemporaryFolder folder_;
  const SweepFolder sweep_{folder_.path()};
  Plan plan_{{"lb"}, {}};
};

TEST_F(CollectTest, WritesARowForEachPointAndTheirMeans) {
  WriteRun("b", "mean,p99", "5,8");
  const Collected collected = CollectAll();
  ASSERT_THAT(collected.status, IsOk());
  EXPECT_EQ(collected.taken, 2u);
  EXPECT_THAT(collected.states, ElementsAre(PointState::kDone, PointState::kDone));
  ASSERT_EQ(Points().rows.size(), 2u);
  EXPECT_EQ(Points().At(1, "point"), "b");
  EXPECT_EQ(Points().At(1, "seed"), "2");
  EXPECT_EQ(Points().At(1, "p99"), "8");
  const CsvTable means(ReadFile(folder_ / "means.csv"));
  ASSERT_EQ(means.rows.size(), 1u);
  EXPECT_EQ(means.At(0, "mean"), "3");
  EXPECT_EQ(means.At(0, "p99"), "5");
  EXPECT_EQ(means.At(0, "seeds"), "2");
}

TEST_F(CollectTest, AnIncompletePointIsCollectedAsSuch) {
  WriteRun("b", "mean,p99", "1,2", "false");
  const Collected collected = CollectAll();
  ASSERT_THAT(collected.status, IsOk());
  EXPECT_THAT(collected.states, ElementsAre(PointState::kDone, PointState::kIncomplete));
  EXPECT_EQ(Points().At(0, "complete"), "1");
  EXPECT_EQ(Points().At(1, "complete"), "0");
}

TEST_F(CollectTest, AnotherVersionsPointIsLeftOutUnlessItIsAskedFor) {
  WriteRun("a", "mean,p99", "1,2", "true", "0.0.9");
  EXPECT_THAT(CollectAll().states, ElementsAre(PointState::kStale, PointState::kDone));
  ASSERT_EQ(Points().rows.size(), 1u);
  EXPECT_EQ(Points().At(0, "point"), "b");
  EXPECT_EQ(CollectAll(/*with_stale=*/true).taken, 2u);
  EXPECT_EQ(Points().rows.size(), 2u);
}

// Cells stand below the columns of the first point, so columns that are missing, added or in
// another order would put them below wrong names.
TEST_F(CollectTest, RefusesAPointWithOtherColumns) {
  for (const auto& [columns, cells] : {std::pair{"mean", "1"},
                                       {"mean,p99,max", "1,2,3"},
                                       {"p99,mean", "2,1"},
                                       {"mean,p999", "1,2"}}) {
    SCOPED_TRACE(columns);
    WriteRun("b", columns, cells);
    const Collected collected = CollectAll();
    EXPECT_THAT(collected.status,
                Fails(absl::StatusCode::kFailedPrecondition,
                      EndsWith("points/b: has other columns than the points before it")));
    EXPECT_FALSE(fs::exists(folder_ / "points.csv"));
    EXPECT_FALSE(fs::exists(folder_ / "means.csv"));
  }
}

TEST_F(CollectTest, LeavesOutAPointWhoseTablesDoNotFitTogether) {
  folder_.Write("points/a/reorder.csv", "scope,class,ratio\nall,S,0\n");
  fs::remove(folder_ / "points/a/manifest.csv");
  MakeManifest(folder_ / "points/a");
  const Collected collected = CollectAll();
  ASSERT_THAT(collected.status, IsOk());
  EXPECT_THAT(collected.states, ElementsAre(PointState::kDamaged, PointState::kDone));
  EXPECT_EQ(Points().rows.size(), 1u);
}

TEST_F(CollectTest, SaysThatThereIsNothingToTake) {
  for (const char* id : {"a", "b"}) fs::remove_all(folder_ / "points" / id);
  const Collected collected = CollectAll();
  EXPECT_THAT(collected.states, ElementsAre(PointState::kMissing, PointState::kMissing));
  EXPECT_THAT(collected.status,
              Fails(absl::StatusCode::kNotFound, EndsWith("no point has usable results yet")));
  EXPECT_FALSE(fs::exists(folder_ / "points.csv"));
}

}  // namespace heddle::collect_test
