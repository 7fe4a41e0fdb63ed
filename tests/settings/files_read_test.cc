// SPDX-License-Identifier: Apache-2.0

#include "settings/files_read.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "settings/digest.h"
#include "settings/yaml.h"
#include "tests/support/command.h"

namespace heddle {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(FilesReadTest, RemembersTheContentsOfWhatItHasRead) {
  const TemporaryFolder folder;
  const std::string a = folder.Write("a", "first").string();
  const std::string b = folder.Write("b", "").string();
  FilesRead files;
  std::string message;
  EXPECT_EQ(files.Read(b, 10, message), "");
  EXPECT_EQ(files.Read(a, 10, message), "first");
  EXPECT_THAT(files.digests(), ElementsAre(Pair(a, Digest("first")), Pair(b, Digest(""))));
  folder.Write("a", "second");
  EXPECT_EQ(files.Read(a, 10, message), "second");
  EXPECT_THAT(files.digests(), ElementsAre(Pair(a, Digest("second")), Pair(b, Digest(""))));
}

TEST(FilesReadTest, ForgetsWhatCannotBeRead) {
  const TemporaryFolder folder;
  const std::string large = folder.Write("large", "12345").string();
  FilesRead files;
  std::string message;
  EXPECT_FALSE(files.Read(large, 4, message));
  EXPECT_EQ(message, "is larger than 4 bytes");
  EXPECT_FALSE(files.Read((folder / "absent").string(), 4, message));
  EXPECT_THAT(files.digests(), IsEmpty());
}

// Two may be under way in one thread, and files that are read without one belong to neither.
TEST(FilesReadTest, KnowsNothingOfWhatOthersRead) {
  const TemporaryFolder folder;
  const std::string a = folder.Write("a", "first").string();
  const std::string b = folder.Write("b", "second").string();
  FilesRead one;
  FilesRead other;
  std::string message;
  one.Read(a, 10, message);
  other.Read(b, 10, message);
  ReadTextFile(b, 10, message);
  EXPECT_THAT(one.digests(), ElementsAre(Pair(a, Digest("first"))));
  EXPECT_THAT(other.digests(), ElementsAre(Pair(b, Digest("second"))));
}

}  // namespace
}  // namespace heddle
