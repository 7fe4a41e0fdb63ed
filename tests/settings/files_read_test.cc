// SPDX-License-Identifier: Apache-2.0

#include "settings/files_read.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "settings/digest.h"
#include "settings/files.h"
#include "tests/support/command.h"
#include "tests/support/status.h"

namespace heddle::files_read_test {

using testing::_;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(FilesReadTest, RemembersTheContentsOfWhatItHasRead) {
  const TemporaryFolder folder;
  const std::string a = folder.Write("a", "first").string();
  const std::string b = folder.Write("b", "").string();
  FilesRead files;
  EXPECT_EQ(files.Read(b, 10).value(), "");
  EXPECT_EQ(files.Read(a, 10).value(), "first");
  EXPECT_THAT(files.digests(), ElementsAre(Pair(a, Digest("first")), Pair(b, Digest(""))));
  folder.Write("a", "second");
  EXPECT_EQ(files.Read(a, 10).value(), "second");
  EXPECT_THAT(files.digests(), ElementsAre(Pair(a, Digest("second")), Pair(b, Digest(""))));
}

TEST(FilesReadTest, ForgetsWhatCannotBeRead) {
  const TemporaryFolder folder;
  const std::string large = folder.Write("large", "12345").string();
  FilesRead files;
  EXPECT_THAT(files.Read(large, 4), Fails(absl::StatusCode::kOutOfRange, "is larger than 4 bytes"));
  EXPECT_THAT(files.Read((folder / "absent").string(), 4), Fails(absl::StatusCode::kNotFound, _));
  EXPECT_THAT(files.digests(), IsEmpty());
}

// Two may be under way in one thread, and files that are read without one belong to neither.
TEST(FilesReadTest, KnowsNothingOfWhatOthersRead) {
  const TemporaryFolder folder;
  const std::string a = folder.Write("a", "first").string();
  const std::string b = folder.Write("b", "second").string();
  FilesRead one;
  FilesRead other;
  EXPECT_THAT(one.Read(a, 10), IsOk());
  EXPECT_THAT(other.Read(b, 10), IsOk());
  EXPECT_THAT(ReadTextFile(b, 10), IsOk());
  EXPECT_THAT(one.digests(), ElementsAre(Pair(a, Digest("first"))));
  EXPECT_THAT(other.digests(), ElementsAre(Pair(b, Digest("second"))));
}

}  // namespace heddle::files_read_test
