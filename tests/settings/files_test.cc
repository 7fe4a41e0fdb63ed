// SPDX-License-Identifier: Apache-2.0

#include "settings/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "tests/support/command.h"
#include "tests/support/file_size_limit.h"
#include "tests/support/status.h"

namespace heddle::files_test {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

size_t EntriesOf(const fs::path& folder) {
  const auto entries = fs::directory_iterator(folder);
  return static_cast<size_t>(std::distance(fs::begin(entries), fs::end(entries)));
}

TEST(FileStatusTest, TellsAFullDiskFromWhatElseMayBeWrong) {
  for (const int error : {ENOSPC, EDQUOT, EFBIG}) {
    EXPECT_TRUE(absl::IsResourceExhausted(FileStatus(error, "x"))) << error;
  }
  EXPECT_TRUE(absl::IsNotFound(FileStatus(ENOENT, "x")));
  EXPECT_TRUE(absl::IsPermissionDenied(FileStatus(EACCES, "x")));
  EXPECT_TRUE(absl::IsUnavailable(FileStatus(EMFILE, "x")));  // Files that are open, not bytes.
  EXPECT_TRUE(absl::IsUnavailable(FileStatus(0, "x")));       // A failure all the same.
  EXPECT_EQ(MessageOf(FileStatus(ENOSPC, "out/a.csv")), "out/a.csv: No space left on device");
}

TEST(ReadTextFileTest, SaysWhyAFileCannotBeRead) {
  const TemporaryFolder folder;
  EXPECT_THAT(ReadTextFile((folder / "none").string(), 10),
              Fails(absl::StatusCode::kNotFound, "cannot be read: No such file or directory"));
  EXPECT_THAT(ReadTextFile(folder.path().string(), 10),
              Fails(absl::StatusCode::kFailedPrecondition, "is a folder; a file is expected"));
}

TEST(ReadTextFileTest, AFileOfExactlyTheLimitIsRead) {
  const TemporaryFolder folder;
  folder.Write("limit", std::string(1'000, 'x'));
  const std::string path = (folder / "limit").string();
  EXPECT_EQ(ReadTextFile(path, 1'000)->size(), 1'000u);
  EXPECT_THAT(ReadTextFile(path, 999),
              Fails(absl::StatusCode::kOutOfRange, "is larger than 999 bytes"));
  folder.Write("empty", "");
  EXPECT_EQ(ReadTextFile((folder / "empty").string(), 10).value(), "");
}

TEST(WholeFileTest, AppearsWholeOrNotAtAll) {
  const TemporaryFolder folder;
  folder.Write("a.csv", "old");
  {
    WholeFile file(folder / "a.csv");
    ASSERT_THAT(file.Append("new "), IsOk());
    EXPECT_EQ(ReadFile(folder / "a.csv"), "old");
  }
  EXPECT_EQ(ReadFile(folder / "a.csv"), "old");
  EXPECT_EQ(EntriesOf(folder.path()), 1u);
  WholeFile file(folder / "a.csv");
  ASSERT_THAT(file.Append("new "), IsOk());
  ASSERT_THAT(file.Append("text"), IsOk());
  ASSERT_THAT(file.Commit(), IsOk());
  EXPECT_EQ(ReadFile(folder / "a.csv"), "new text");
  EXPECT_EQ(EntriesOf(folder.path()), 1u);
}

TEST(WholeFileTest, IsReadByWhoeverReadsOtherFiles) {
  const TemporaryFolder folder;
  const mode_t before = umask(022);
  EXPECT_THAT(WriteWholeFile(folder / "a.csv", "text"), IsOk());
  umask(before);
  struct stat status = {};
  ASSERT_EQ(stat((folder / "a.csv").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0644u);
}

TEST(WholeFileTest, LeavesTheOldFileOnAFullDisk) {
  const TemporaryFolder folder;
  folder.Write("a.csv", "old");
  const FileSizeLimit limit(1'000);
  {
    WholeFile file(folder / "a.csv");
    file.Append(std::string(2'000, 'x')).IgnoreError();  // It may be buffered.
    const absl::Status full = file.Commit();
    EXPECT_THAT(full, Fails(absl::StatusCode::kResourceExhausted,
                            (folder / "a.csv").string() + ": File too large"));
    EXPECT_EQ(file.Append("more"), full);
    EXPECT_EQ(file.Commit(), full);
  }
  EXPECT_EQ(ReadFile(folder / "a.csv"), "old");
  EXPECT_EQ(EntriesOf(folder.path()), 1u);
}

TEST(WholeFileTest, SaysWhyItCannotBeWritten) {
  const TemporaryFolder folder;
  EXPECT_THAT(WriteWholeFile(folder / "none/a.csv", "text"),
              Fails(absl::StatusCode::kNotFound, AllOf(StartsWith((folder / "none/a.csv").string()),
                                                       HasSubstr("No such file or directory"))));
}

TEST(WholeFileTest, AFileThatSaysTheSameIsLeftAlone) {
  const TemporaryFolder folder;
  ASSERT_THAT(WriteWholeFile(folder / "a.csv", "text"), IsOk());
  const auto identity = [&] {
    struct stat status = {};
    stat((folder / "a.csv").c_str(), &status);
    return status.st_ino;
  };
  const ino_t first = identity();
  ASSERT_THAT(WriteWholeFile(folder / "a.csv", "text"), IsOk());
  EXPECT_EQ(identity(), first);
  ASSERT_THAT(WriteWholeFile(folder / "a.csv", "tex"), IsOk());
  EXPECT_EQ(ReadFile(folder / "a.csv"), "tex");
}

}  // namespace heddle::files_test
