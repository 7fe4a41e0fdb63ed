// SPDX-License-Identifier: Apache-2.0

#include "study/sweep/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace heddle {
namespace {

using testing::ElementsAre;

TEST(CsvTest, QuotesOnlyWhatNeedsIt) {
  EXPECT_EQ(CsvCell("letflow.gap=100us"), "letflow.gap=100us");
  EXPECT_EQ(CsvCell(""), "");
  EXPECT_EQ(CsvCell("a,b"), "\"a,b\"");
  EXPECT_EQ(CsvCell("a \"b\""), "\"a \"\"b\"\"\"");
  EXPECT_EQ(CsvCell("a\nb"), "a b");
}

TEST(CsvTest, ReadsBackWhatItWrites) {
  const std::string line = CsvCell("a,b") + "," + CsvCell("") + "," + CsvCell("\"") + "," +
                           CsvCell("x\",\"y") + "," + CsvCell("z");
  EXPECT_THAT(SplitCsvLine(line), ElementsAre("a,b", "", "\"", "x\",\"y", "z"));
  EXPECT_THAT(SplitCsvLine(""), ElementsAre(""));
}

TEST(CsvTest, GivesLinesUpToTheEnd) {
  CsvLines lines("a\n\nb");
  EXPECT_EQ(lines.Next(), "a");
  EXPECT_EQ(lines.Next(), "");
  EXPECT_EQ(lines.Next(), "b");
  EXPECT_EQ(lines.Next(), std::nullopt);
}

}  // namespace
}  // namespace heddle
