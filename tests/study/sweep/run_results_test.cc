// SPDX-License-Identifier: Apache-2.0

#include "study/sweep/run_results.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "experiment/checked_folder.h"
#include "experiment/results.h"
#include "experiment/run.h"
#include "study/papers/run_tables.h"
#include "study/sweep/point_rows.h"
#include "study/sweep/result_row.h"
#include "tests/support/command.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/status.h"

namespace heddle::run_results_test {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

class RunResultsTest : public testing::Test {
 protected:
  RunResultsTest() {
    run_.Write("summary.json", "{\"complete\": true, \"manifest\": \"manifest.csv\"}");
    run_.Write("summary.csv", "class_set,class,n\nall,all,5\n");
    run_.Write("reorder.csv", "scope,class,ratio\nall,all,0.5\n");
    MakeManifest(run_.path());
  }
  // Damage that the manifest does not show: the file was written like that.
  void Rewrite(const std::string& file, const std::string& text) {
    run_.Write(file, text);
    std::filesystem::remove(run_ / kManifestFile);
    MakeManifest(run_.path());
  }

  TemporaryFolder run_;
};

TEST_F(RunResultsTest, AreReadTogether) {
  const auto results = ReadRunResults(run_.path());
  ASSERT_THAT(results, IsOk());
  EXPECT_THAT(results->summary.Row(0), ElementsAre("all", "all", "5"));
  EXPECT_EQ(FindText(results->summary_json, "complete"), "true");
  EXPECT_EQ(results->queueing.rows(), 0u);
  EXPECT_EQ(ReadPointRows(run_.path())->rows.size(), 1u);
  EXPECT_EQ(ReadTableRow(run_.path(), "label")->label, "label");
}

// A sweep prints what each of its runs would have printed, jobs included.
TEST(ReadTableRowTest, HasTheJobsOfTheRun) {
  const TemporaryFolder folder;
  for (const char* job : {"op: all_reduce, size: 70001B, iterations: 3, label: 'a \"b\"'",
                          "op: barrier, iterations: 2, jitter: 1us"}) {
    const Experiment experiment =
        ExperimentFrom(OnAStar(4, fmt::format("kind: collective, ranks: 4, {}", job)));
    const std::filesystem::path path = folder / "run";
    const RunOutcome run = RunToFolder(experiment, {}, path, /*replace=*/true).value();
    const auto read = ReadTableRow(path, run.row.label);
    ASSERT_THAT(read, IsOk());
    ASSERT_EQ(read->jobs.size(), 1u);
    EXPECT_EQ(FormatTable({*read}), FormatTable({run.row}));
    EXPECT_THAT(FormatTable({*read}), HasSubstr("Jobs: "));
  }
}

TEST_F(RunResultsTest, ADamagedFileIsLostData) {
  run_.Write("reorder.csv", "scope,class,ratio\nall,all,0.6\n");
  const auto damaged =
      Fails(absl::StatusCode::kDataLoss, EndsWith("reorder.csv: has other contents than were "
                                                  "written"));
  EXPECT_THAT(ReadRunResults(run_.path()), damaged);
  EXPECT_THAT(ReadPointRows(run_.path()), damaged);
  EXPECT_THAT(ReadTableRow(run_.path(), "label"), damaged);
  RunTables tables(run_.path());
  EXPECT_THAT(tables.Table("reorder.csv"), damaged);
  EXPECT_TRUE(tables.found_damage());
}

TEST_F(RunResultsTest, SoIsWhatIsNotOfItsFormat) {
  Rewrite("summary.json", "{\"complete\": tru}");
  EXPECT_THAT(ReadRunResults(run_.path()),
              Fails(absl::StatusCode::kDataLoss, EndsWith("summary.json: is not JSON")));
  Rewrite("summary.json", "{}");
  Rewrite("summary.csv", "class_set,class,n\nall,all\n");
  EXPECT_THAT(ReadRunResults(run_.path()),
              Fails(absl::StatusCode::kDataLoss,
                    EndsWith("summary.csv: row 1 has more or fewer cells than the header")));
  Rewrite("summary.csv", "class_set,class,n\nall,S,5\n");
  EXPECT_THAT(ReadPointRows(run_.path()),
              Fails(absl::StatusCode::kDataLoss, HasSubstr("its tables do not fit together")));
}

TEST_F(RunResultsTest, AFileThatWasNotAskedForIsNotFound) {
  RunTables tables(run_.path());
  EXPECT_THAT(tables.Table("udp.csv"),
              Fails(absl::StatusCode::kNotFound, EndsWith("the run has not written it")));
  EXPECT_FALSE(tables.found_damage());
  EXPECT_THAT(tables.Table("summary.csv"), IsOk());
  EXPECT_EQ(*tables.Table("summary.csv"), *tables.Table("summary.csv"));  // Read once.
  EXPECT_THAT(tables.Json("summary.json"), IsOk());
}

}  // namespace heddle::run_results_test
