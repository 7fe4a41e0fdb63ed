// SPDX-License-Identifier: Apache-2.0

#include "experiment/version.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <string>

#include "tests/support/command.h"

namespace heddle::version_test {

// The first group of the first match of `pattern` in a file of the source tree; empty without one.
std::string Named(const std::string& file, const std::string& pattern) {
  const std::string text = ReadFile(std::filesystem::path(HEDDLE_SOURCE_DIR) / file);
  std::smatch match;
  return std::regex_search(text, match, std::regex(pattern)) ? match[1].str() : "";
}

// Version() is that of CMakeLists.txt. Whoever moves it finds here what moves with it.
TEST(VersionTest, IsTheSameInEveryFileThatNamesIt) {
  EXPECT_EQ(Named("CITATION.cff", "\nversion: (\\S+)\n"), Version());
  EXPECT_EQ(Named("docs/examples/kubernetes.yaml", "image: heddle:(\\S+)"), Version());
  EXPECT_EQ(Named("CHANGELOG.md", "\n## ([0-9.]+)"), Version());
  EXPECT_EQ(Named("docs/containers.md", "docker build -t heddle:(\\S+)"), Version());
}

// A version has a date once it is released, the same in both files.
TEST(VersionTest, HasOneDate) {
  const std::string date = Named("CITATION.cff", "\ndate-released: (\\S+)\n");
  EXPECT_NE(date, "");
  EXPECT_EQ(Named("CHANGELOG.md", "\n## [0-9.]+, (\\S+)\n"), date);
}

}  // namespace heddle::version_test
