// SPDX-License-Identifier: Apache-2.0

#include "experiment/run_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/command.h"
#include "tests/support/file_size_limit.h"
#include "tests/support/status.h"

namespace heddle::run_folder_test {

namespace fs = std::filesystem;
using testing::EndsWith;
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
    ASSERT_THAT(folder.Open(false), IsOk());
    ASSERT_THAT(folder.Write("a.csv", "1\n"), IsOk());
    ASSERT_THAT(folder.Start("b.csv"), IsOk());
    ASSERT_THAT(folder.Append("b.csv", "x"), IsOk());
    ASSERT_THAT(folder.Append("c.csv", "1"), IsOk());
    ASSERT_THAT(folder.Append("b.csv", "y"), IsOk());
    ASSERT_THAT(folder.Append("c.csv", "2"), IsOk());
    ASSERT_THAT(folder.Finish(), IsOk());
    EXPECT_FALSE(fs::exists(place / "run"));
    ASSERT_THAT(folder.Commit(), IsOk());
  }
  EXPECT_EQ(ReadFile(place / "run" / "a.csv"), "1\n");
  EXPECT_EQ(ReadFile(place / "run" / "b.csv"), "xy");
  EXPECT_EQ(ReadFile(place / "run" / "c.csv"), "12");
  EXPECT_EQ(EntriesOf(place.path()), 1u);
}

TEST(RunFolderTest, WritesAManifestOfWhatWasWritten) {
  const TemporaryFolder place;
  RunFolder folder(place / "run");
  ASSERT_THAT(folder.Open(false), IsOk());
  ASSERT_THAT(folder.Write("b.csv", "123456789"), IsOk());
  ASSERT_THAT(folder.Append("a.csv", ""), IsOk());
  ASSERT_THAT(folder.Append("a.csv", "12345"), IsOk());
  ASSERT_THAT(folder.Append("a.csv", "6789"), IsOk());
  ASSERT_THAT(folder.Commit(), IsOk());
  EXPECT_EQ(ReadFile(place / "run" / "manifest.csv"),
            "file,bytes,crc32\na.csv,9,cbf43926\nb.csv,9,cbf43926\n");
}

// A file of the folder is removed or replaced while the run writes to it.
TEST(RunFolderTest, HalfOfWhatWasWrittenIsNotCommitted) {
  for (const bool anew : {false, true}) {
    const TemporaryFolder place;
    {
      RunFolder folder(place / "run");
      ASSERT_THAT(folder.Open(false), IsOk());
      ASSERT_THAT(folder.Start("flows.csv"), IsOk());
      ASSERT_THAT(folder.Append("flows.csv", "text"), IsOk());
      fs::remove(place / ".run.partial/flows.csv");
      ASSERT_THAT(folder.Write("summary.csv", "text"), IsOk());
      if (anew) place.Write(".run.partial/flows.csv", "another text");
      EXPECT_THAT(
          folder.Commit(),
          Fails(absl::StatusCode::kDataLoss,
                HasSubstr(anew ? "run/flows.csv: differs from the contents that were written"
                               : "run/flows.csv: was written but is gone")));
    }
    EXPECT_EQ(EntriesOf(place.path()), 0u);
  }
}

TEST(RunFolderTest, LeavesNothingIfNotCommitted) {
  const TemporaryFolder place;
  {
    RunFolder folder(place / "run");
    ASSERT_THAT(folder.Open(false), IsOk());
    ASSERT_THAT(folder.Start("flows.csv"), IsOk());
    ASSERT_THAT(folder.Append("flows.csv", "half"), IsOk());
  }
  EXPECT_EQ(EntriesOf(place.path()), 0u);
}

TEST(RunFolderTest, MakesTheFoldersAbove) {
  const TemporaryFolder place;
  RunFolder folder(place.path() / "a" / "b" / "c/");
  ASSERT_THAT(folder.Open(false), IsOk());
  ASSERT_THAT(folder.Write("x", ""), IsOk());
  ASSERT_THAT(folder.Commit(), IsOk());
  EXPECT_TRUE(fs::exists(place.path() / "a" / "b" / "c" / "x"));
}

void WriteResults(const fs::path& path, const std::string& text, bool replace) {
  RunFolder folder(path);
  ASSERT_THAT(folder.Open(replace), IsOk());
  ASSERT_THAT(folder.Write("summary.json", text), IsOk());
  ASSERT_THAT(folder.Commit(), IsOk());
}

TEST(RunFolderTest, ReplacesResultsOnlyIfToldTo) {
  const TemporaryFolder place;
  WriteResults(place / "run", "old", false);
  RunFolder refused(place / "run");
  EXPECT_THAT(refused.Open(false), Fails(absl::StatusCode::kAlreadyExists, HasSubstr("--force")));
  EXPECT_EQ(ReadFile(place / "run" / "summary.json"), "old");
  {
    RunFolder abandoned(place / "run");
    ASSERT_THAT(abandoned.Open(true), IsOk());
    ASSERT_THAT(abandoned.Write("summary.json", "half"), IsOk());
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
  EXPECT_THAT(folder.Open(true),
              Fails(absl::StatusCode::kFailedPrecondition, HasSubstr("has no results of a run")));
  EXPECT_EQ(ReadFile(place / "thesis/chapter1.tex"), "years of work");
  place.Write("file", "text");
  RunFolder file(place / "file");
  EXPECT_THAT(file.Open(true),
              Fails(absl::StatusCode::kFailedPrecondition, HasSubstr("has no results of a run")));
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
  ASSERT_THAT(first.Open(false), IsOk());
  ASSERT_THAT(first.Write("a", "first"), IsOk());
  {
    RunFolder second(place / "run");
    EXPECT_THAT(second.Open(false),
                Fails(absl::StatusCode::kAborted, HasSubstr("another process is writing")));
  }
  ASSERT_THAT(first.Commit(), IsOk());
  EXPECT_EQ(ReadFile(place / "run" / "a"), "first");
}

TEST(RunFolderTest, TellsOthersThatItIsBeingWritten) {
  const TemporaryFolder place;
  EXPECT_FALSE(RunFolder::IsBeingWritten(place / "run"));
  {
    RunFolder folder(place / "run");
    ASSERT_THAT(folder.Open(false), IsOk());
    EXPECT_TRUE(RunFolder::IsBeingWritten(place / "run"));
    RunFolder second(place / "run");
    EXPECT_THAT(second.Open(false), Fails(absl::StatusCode::kAborted, HasSubstr("another")));
    EXPECT_THAT(folder.status(), IsOk());
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
  ASSERT_THAT(folder.Open(false), IsOk());
  ASSERT_THAT(folder.Write("x", ""), IsOk());
  ASSERT_THAT(folder.Commit(), IsOk());
}

TEST(RunFolderTest, SaysWhyItCannotBeWritten) {
  const TemporaryFolder place;
  place.Write("file", "");
  RunFolder below_a_file(place / "file/run");
  EXPECT_THAT(below_a_file.Open(false),
              Fails(absl::StatusCode::kFailedPrecondition, HasSubstr("Not a directory")));
  RunFolder folder(place / "run");
  ASSERT_THAT(folder.Open(false), IsOk());
  EXPECT_THAT(folder.Write("no/such/folder.csv", ""),
              Fails(absl::StatusCode::kNotFound, HasSubstr("No such file or directory")));
}

TEST(RunFolderTest, KeepsItsFirstFailure) {
  const TemporaryFolder place;
  {
    RunFolder folder(place / "run");
    ASSERT_THAT(folder.Open(false), IsOk());
    const absl::Status first = folder.Write("no/such/folder.csv", "");
    EXPECT_FALSE(first.ok());
    EXPECT_EQ(folder.Write("a.csv", "1"), first);
    EXPECT_EQ(folder.Append("b.csv", "2"), first);
    EXPECT_EQ(folder.Finish(), first);
    EXPECT_EQ(folder.Commit(), first);
    EXPECT_EQ(folder.status(), first);
  }
  EXPECT_EQ(EntriesOf(place.path()), 0u);
}

// A limit on the size of files stands for a full disk; the kernel's message is another.
TEST(RunFolderTest, SaysThatThereIsNoRoom) {
  const TemporaryFolder place;
  const FileSizeLimit limit(1'000);
  {
    RunFolder folder(place / "run");
    ASSERT_THAT(folder.Open(false), IsOk());
    folder.Append("flows.csv", std::string(2'000, 'x')).IgnoreError();  // It may be buffered.
    EXPECT_THAT(folder.Commit(), Fails(absl::StatusCode::kResourceExhausted,
                                       EndsWith("run/flows.csv: File too large")));
  }
  EXPECT_EQ(EntriesOf(place.path()), 0u);
}

TEST(RunFolderTest, RemovesAllThatIsBeingWritten) {
  const TemporaryFolder place;
  RunFolder one(place / "one");
  RunFolder two(place / "two");
  ASSERT_THAT(one.Open(false), IsOk());
  ASSERT_THAT(two.Open(false), IsOk());
  ASSERT_THAT(one.Write("a", "1"), IsOk());
  RunFolder::RemoveAll();
  EXPECT_EQ(EntriesOf(place.path()), 0u);
}

// More than are open at a time; traces have a file for each link.
TEST(RunFolderTest, WritesManyFilesPieceByPiece) {
  const TemporaryFolder place;
  RunFolder folder(place / "results");
  ASSERT_THAT(folder.Open(false), IsOk());
  constexpr int kFiles = 300;
  const auto name = [](int i) { return "file" + std::to_string(i); };
  for (const char* piece : {"one ", "two"}) {
    for (int i = 0; i < kFiles; ++i) ASSERT_THAT(folder.Append(name(i), piece), IsOk());
  }
  ASSERT_THAT(folder.Finish(), IsOk());
  ASSERT_THAT(folder.Commit(), IsOk());
  for (const int i : {0, 127, 128, kFiles - 1}) {
    EXPECT_EQ(ReadFile(place / "results" / name(i)), "one two");
  }
}

// A run removes nothing that has come to its path meanwhile, unless that holds the same results.
TEST(RunFolderTest, LeavesWhatHasAppearedDuringTheRun) {
  const TemporaryFolder place;
  const auto commit = [&](const std::string& appears, const std::string& text, bool replace) {
    RunFolder folder(place / "run");
    EXPECT_THAT(folder.Open(replace), IsOk());
    folder.Write("run.yaml", "seed: 1\n").IgnoreError();
    fs::create_directory(place / "run");
    place.Write("run/" + appears, text);
    return folder.Commit();
  };
  EXPECT_THAT(commit("notes.txt", "mine", false),
              Fails(absl::StatusCode::kDataLoss, HasSubstr("the results are in ")));
  EXPECT_TRUE(fs::exists(place / "run/notes.txt"));
  EXPECT_TRUE(fs::exists(place / "run-2/run.yaml"));
  fs::remove_all(place / "run");
  EXPECT_THAT(commit("run.yaml", "seed: 2\n", false),
              Fails(absl::StatusCode::kDataLoss, HasSubstr("run-3")));
  EXPECT_TRUE(fs::exists(place / "run-3/run.yaml"));
  fs::remove_all(place / "run");
  EXPECT_THAT(commit("run.yaml", "seed: 1\n", false), IsOk());
  fs::remove_all(place / "run");
  EXPECT_THAT(commit("run.yaml", "seed: 2\n", true), IsOk());
}

// A flow list of the user may have the name of a result.
TEST(RunFolderTest, ReplacesNoFolderForItsFlowsAlone) {
  const TemporaryFolder place;
  fs::create_directory(place / "run");
  place.Write("run/flows.csv", "start_ps,src,dst,size_bytes\n");
  RunFolder folder(place / "run");
  EXPECT_THAT(folder.Open(true),
              Fails(absl::StatusCode::kFailedPrecondition, HasSubstr("no results")));
}

}  // namespace heddle::run_folder_test
