// SPDX-License-Identifier: Apache-2.0

#include "experiment/run_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/command.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

size_t EntriesOf(const fs::path& folder) {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder)) ++count;
  return count;
}

TEST(RunFolderTest, AppearsCompleteOrNotAtAll) {
  const TemporaryFolder place;
  {
    RunFolder folder(place / "run");
    ASSERT_TRUE(folder.Open(false)) << folder.error();
    ASSERT_TRUE(folder.Write("a.csv", "1\n"));
    ASSERT_TRUE(folder.Start("b.csv") && folder.Append("b.csv", "x") &&
                folder.Append("c.csv", "1") && folder.Append("b.csv", "y") &&
                folder.Append("c.csv", "2") && folder.Finish());
    EXPECT_FALSE(fs::exists(place / "run"));
    ASSERT_TRUE(folder.Commit()) << folder.error();
  }
  EXPECT_EQ(ReadFile(place / "run" / "a.csv"), "1\n");
  EXPECT_EQ(ReadFile(place / "run" / "b.csv"), "xy");
  EXPECT_EQ(ReadFile(place / "run" / "c.csv"), "12");
  EXPECT_EQ(EntriesOf(place.path()), 1u);
}

TEST(RunFolderTest, WritesAManifestOfWhatWasWritten) {
  const TemporaryFolder place;
  RunFolder folder(place / "run");
  ASSERT_TRUE(folder.Open(false) && folder.Write("b.csv", "123456789") &&
              folder.Append("a.csv", "") && folder.Append("a.csv", "12345") &&
              folder.Append("a.csv", "6789") && folder.Commit())
      << folder.error();
  EXPECT_EQ(ReadFile(place / "run" / "manifest.csv"),
            "file,bytes,crc32\na.csv,9,cbf43926\nb.csv,9,cbf43926\n");
}

// As if somebody removed the folder while the run writes to it.
TEST(RunFolderTest, HalfOfWhatWasWrittenIsNotCommitted) {
  for (const bool anew : {false, true}) {
    const TemporaryFolder place;
    {
      RunFolder folder(place / "run");
      ASSERT_TRUE(folder.Open(false) && folder.Start("flows.csv") &&
                  folder.Append("flows.csv", "text"));
      fs::remove(place / ".run.partial/flows.csv");
      ASSERT_TRUE(folder.Write("summary.csv", "text"));
      if (anew) place.Write(".run.partial/flows.csv", "another text");
      EXPECT_FALSE(folder.Commit());
      EXPECT_THAT(folder.error(), HasSubstr(anew ? "run/flows.csv: is not what was written"
                                                 : "run/flows.csv: is gone"));
      EXPECT_FALSE(folder.lacks_room());
    }
    EXPECT_EQ(EntriesOf(place.path()), 0u);
  }
}

TEST(RunFolderTest, LeavesNothingIfNotCommitted) {
  const TemporaryFolder place;
  {
    RunFolder folder(place / "run");
    ASSERT_TRUE(folder.Open(false));
    ASSERT_TRUE(folder.Start("flows.csv") && folder.Append("flows.csv", "half"));
  }
  EXPECT_EQ(EntriesOf(place.path()), 0u);
}

TEST(RunFolderTest, MakesTheFoldersAbove) {
  const TemporaryFolder place;
  RunFolder folder(place.path() / "a" / "b" / "c/");
  ASSERT_TRUE(folder.Open(false) && folder.Write("x", "") && folder.Commit()) << folder.error();
  EXPECT_TRUE(fs::exists(place.path() / "a" / "b" / "c" / "x"));
}

void WriteResults(const fs::path& path, const std::string& text, bool replace) {
  RunFolder folder(path);
  ASSERT_TRUE(folder.Open(replace)) << folder.error();
  ASSERT_TRUE(folder.Write("summary.json", text) && folder.Commit()) << folder.error();
}

TEST(RunFolderTest, ReplacesResultsOnlyIfToldTo) {
  const TemporaryFolder place;
  WriteResults(place / "run", "old", false);
  RunFolder refused(place / "run");
  EXPECT_FALSE(refused.Open(false));
  EXPECT_THAT(refused.error(), HasSubstr("--force"));
  EXPECT_EQ(ReadFile(place / "run" / "summary.json"), "old");
  {
    RunFolder abandoned(place / "run");
    ASSERT_TRUE(abandoned.Open(true));
    ASSERT_TRUE(abandoned.Write("summary.json", "half"));
  }
  EXPECT_EQ(ReadFile(place / "run" / "summary.json"), "old");
  WriteResults(place / "run", "new", true);
  EXPECT_EQ(ReadFile(place / "run" / "summary.json"), "new");
  EXPECT_EQ(EntriesOf(place.path()), 1u);
}

TEST(RunFolderTest, ReplacesNothingThatIsNotAFolderOfResults) {
  const TemporaryFolder place;
  fs::create_directory(place / "thesis");
  std::ofstream(place / "thesis/chapter1.tex") << "years of work";
  RunFolder folder(place / "thesis");
  EXPECT_FALSE(folder.Open(true));
  EXPECT_THAT(folder.error(), HasSubstr("holds no results of a run"));
  EXPECT_EQ(ReadFile(place / "thesis/chapter1.tex"), "years of work");
  place.Write("file", "text");
  RunFolder file(place / "file");
  EXPECT_FALSE(file.Open(true));
  EXPECT_EQ(ReadFile(place / "file"), "text");
}

TEST(RunFolderTest, CleansUpWhatAKilledRunLeft) {
  const TemporaryFolder place;
  fs::create_directories(place / ".run.partial/old");
  std::ofstream(place / ".run.partial/flows.csv") << "half";
  WriteResults(place / "run", "whole", false);
  EXPECT_EQ(EntriesOf(place.path()), 1u);
  EXPECT_EQ(EntriesOf(place / "run"), 2u);
}

TEST(RunFolderTest, IsHeldByOneRunAtATime) {
  const TemporaryFolder place;
  RunFolder first(place / "run");
  ASSERT_TRUE(first.Open(false));
  ASSERT_TRUE(first.Write("a", "first"));
  {
    RunFolder second(place / "run");
    EXPECT_FALSE(second.Open(false));
    EXPECT_THAT(second.error(), HasSubstr("another process is writing"));
  }
  ASSERT_TRUE(first.Commit()) << first.error();
  EXPECT_EQ(ReadFile(place / "run" / "a"), "first");
}

TEST(RunFolderTest, TellsOthersThatItIsBeingWritten) {
  const TemporaryFolder place;
  EXPECT_FALSE(RunFolder::IsBeingWritten(place / "run"));
  {
    RunFolder folder(place / "run");
    ASSERT_TRUE(folder.Open(false));
    EXPECT_TRUE(RunFolder::IsBeingWritten(place / "run"));
    RunFolder second(place / "run");
    EXPECT_FALSE(second.Open(false));
    EXPECT_TRUE(second.busy());
    EXPECT_FALSE(folder.busy());
  }
  EXPECT_FALSE(RunFolder::IsBeingWritten(place / "run"));
  EXPECT_EQ(EntriesOf(place.path()), 0u);
}

// A lock file that a killed process has left is nobody's.
TEST(RunFolderTest, TakesOverALockThatNobodyHolds) {
  const TemporaryFolder place;
  place.Write(".run.lock", "");
  EXPECT_FALSE(RunFolder::IsBeingWritten(place / "run"));
  RunFolder folder(place / "run");
  ASSERT_TRUE(folder.Open(false) && folder.Write("x", "") && folder.Commit()) << folder.error();
}

TEST(RunFolderTest, SaysWhyItCannotBeWritten) {
  const TemporaryFolder place;
  place.Write("file", "");
  RunFolder below_a_file(place / "file/run");
  EXPECT_FALSE(below_a_file.Open(false));
  EXPECT_THAT(below_a_file.error(), HasSubstr("Not a directory"));
  RunFolder folder(place / "run");
  ASSERT_TRUE(folder.Open(false));
  EXPECT_FALSE(folder.Write("no/such/folder.csv", ""));
  EXPECT_THAT(folder.error(), HasSubstr("No such file or directory"));
}

TEST(RunFolderTest, RemovesAllThatIsBeingWritten) {
  const TemporaryFolder place;
  RunFolder one(place / "one");
  RunFolder two(place / "two");
  ASSERT_TRUE(one.Open(false) && two.Open(false) && one.Write("a", "1"));
  RunFolder::RemoveAll();
  EXPECT_EQ(EntriesOf(place.path()), 0u);
}

// More than are open at a time; traces have a file for each link.
TEST(RunFolderTest, WritesManyFilesPieceByPiece) {
  const TemporaryFolder place;
  RunFolder folder(place / "results");
  ASSERT_TRUE(folder.Open(false));
  constexpr int kFiles = 300;
  const auto name = [](int i) { return "file" + std::to_string(i); };
  for (const char* piece : {"one ", "two"}) {
    for (int i = 0; i < kFiles; ++i) ASSERT_TRUE(folder.Append(name(i), piece)) << folder.error();
  }
  ASSERT_TRUE(folder.Finish());
  ASSERT_TRUE(folder.Commit());
  for (const int i : {0, 127, 128, kFiles - 1}) {
    EXPECT_EQ(ReadFile(place / "results" / name(i)), "one two");
  }
}

}  // namespace
}  // namespace heddle
