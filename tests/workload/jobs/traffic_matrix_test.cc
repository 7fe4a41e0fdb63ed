// SPDX-License-Identifier: Apache-2.0
// What a file must be to be read as a traffic matrix, and where its mistakes are reported.

#include "workload/jobs/traffic_matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/command.h"

namespace heddle::traffic_matrix_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class TrafficMatrixFileTest : public ::testing::Test {
 protected:
  std::optional<std::vector<int64_t>> Read(const std::string& text) {
    FilesRead files;
    Diagnostics diagnostics;
    const auto matrix = ReadTrafficMatrix(folder_.Write("m.csv", text).string(),
                                          "workload[0].matrix", files, diagnostics);
    EXPECT_EQ(matrix != nullptr, diagnostics.ok());
    errors_.clear();
    for (const Diagnostics::Problem& error : diagnostics.problems()) {
      // "<folder>/m.csv:2:1: message": the line and the message.
      const size_t line = error.line.find("m.csv:") + 6;
      const size_t end = error.line.find(":1: ", line);
      errors_.push_back(error.line.substr(line, end - line) + error.line.substr(end + 2));
    }
    return matrix ? std::optional(*matrix) : std::nullopt;
  }
  const std::vector<std::string>& ErrorsOf(const std::string& text) {
    EXPECT_EQ(Read(text), std::nullopt) << text;
    return errors_;
  }

  const TemporaryFolder folder_;
  std::vector<std::string> errors_;
};

TEST_F(TrafficMatrixFileTest, RowsAreSources) {
  using Matrix = std::vector<int64_t>;
  EXPECT_EQ(Read("7\n"), Matrix{7});
  EXPECT_EQ(Read("0,1\n2,3\n"), (Matrix{0, 1, 2, 3}));
  EXPECT_EQ(Read("0,1\n2,3"), (Matrix{0, 1, 2, 3}));
  EXPECT_EQ(Read("\n  0  ,1\n\n2,  3\n\n"), (Matrix{0, 1, 2, 3}));
}

TEST_F(TrafficMatrixFileTest, ACellIsAWholeNumberOfBytesUpToAPetabyte) {
  EXPECT_EQ(Read("1000000000000000\n"), (std::vector<int64_t>{1'000'000'000'000'000}));
  EXPECT_THAT(ErrorsOf("1000000000000001\n"),
              ElementsAre("1: \"1000000000000001\" is too large; a cell has at most 1 PB (10^15)"));
  for (const std::string cell :
       {"-1", "1.5", "1e3", "x", "1x", "1 2", "0x1", "9223372036854775808"}) {
    EXPECT_THAT(ErrorsOf("0,1\n2," + cell + "\n"),
                ElementsAre("2: \"" + cell + "\" is no number of bytes"));
  }
  EXPECT_THAT(ErrorsOf("0,\n2,3\n"), ElementsAre("1: \"\" is no number of bytes"));
}

TEST_F(TrafficMatrixFileTest, RowsHaveAsManyCellsAsThereAreRows) {
  EXPECT_THAT(ErrorsOf("0,1\n2\n"), ElementsAre("2: has 1 cells, the first row 2"));
  EXPECT_THAT(ErrorsOf("0\n1,2\n"), ElementsAre("2: has 2 cells, the first row 1"));
  EXPECT_THAT(ErrorsOf("0,1\n"),
              ElementsAre("1: has 1 rows of 2 cells; it must have as many rows as cells"));
  EXPECT_THAT(ErrorsOf("0,1\n2,3\n4,5\n"),
              ElementsAre("3: has 3 rows of 2 cells; it must have as many rows as cells"));
  EXPECT_THAT(ErrorsOf("1,2\n\n3\n"), ElementsAre("3: has 1 cells, the first row 2"));
  // With a mistake in a row, the rows are not counted as well.
  EXPECT_THAT(ErrorsOf("0,x\n"), ElementsAre("1: \"x\" is no number of bytes"));
}

TEST_F(TrafficMatrixFileTest, AnUnclosedQuoteIsAMistakeOfItsLine) {
  EXPECT_EQ(ErrorsOf("0,1\n\"2,3\n").size(), 1u);
  EXPECT_EQ(errors_.front().substr(0, 3), "2: ");
}

// Twenty of them, however they are spread over rows; and that reading stopped.
TEST_F(TrafficMatrixFileTest, ReportsTwentyMistakes) {
  const auto many = [](const std::string& first, const std::string& row) {
    std::string rows = first;
    for (int i = 0; i < 30; ++i) rows += row;
    return rows;
  };
  struct Case {
    std::string rows;
    std::string twentieth;
  };
  for (const auto& [rows, twentieth] :
       {Case{many("0,1\n", "5\n"), "21: has 1 cells, the first row 2"},
        Case{many("0,1\n", "5,x,6\n"), "11: \"x\" is no number of bytes"},
        Case{many("x,y,z\n", "x,y,z\n"), "7: \"y\" is no number of bytes"},
        Case{many("1,2\n", "\"a\"b,2\n"), "21: "}}) {
    ASSERT_EQ(ErrorsOf(rows).size(), 21u) << rows;
    EXPECT_THAT(errors_[19], StartsWith(twentieth));
    EXPECT_THAT(errors_[20], HasSubstr(": and perhaps more; reading stopped here"));
  }
  ErrorsOf(many("0,1\n", "5\n"));
  EXPECT_EQ(errors_.front(), "2: has 1 cells, the first row 2");
}

// A square of 2^15 rows has at least 2^31 bytes, twice the largest file that is read (1 GiB), so a
// longer row cannot belong to a square.
TEST_F(TrafficMatrixFileTest, ARowHasAtMost32768Cells) {
  std::string most = "0";
  for (int i = 1; i < 32'768; ++i) most += ",0";
  const std::string too_many = "has more than 32768 cells";
  EXPECT_THAT(ErrorsOf(most + ",0\n"), ElementsAre("1: " + too_many));
  EXPECT_THAT(ErrorsOf("0,1\n\n" + most + ",0\n"), ElementsAre("3: " + too_many));
  EXPECT_THAT(ErrorsOf("0,1\n2,3\n" + most + ",0"), ElementsAre("3: " + too_many));
  // One cell less is counted like any other row, the first one or a later one.
  EXPECT_THAT(ErrorsOf(most + "\n"),
              ElementsAre("1: has 1 rows of 32768 cells; it must have as many rows as cells"));
  EXPECT_THAT(ErrorsOf("0,1\n" + most + "\n"), ElementsAre("2: has 32768 cells, the first row 2"));
  EXPECT_THAT(
      ErrorsOf("0,1\n" + most + "\n" + most + "\n"),
      ElementsAre("2: has 32768 cells, the first row 2", "3: has 32768 cells, the first row 2"));
}

// 1000 cells of 10^15 bytes are 10^18, the most. A larger sum is one mistake, not one for each
// further cell.
TEST_F(TrafficMatrixFileTest, AllCellsAddUpToAnExabyteAtMost) {
  const std::string petabyte = "1000000000000000";
  const auto square = [&](int petabytes, const std::string& then) {
    std::string text;
    for (int i = 0; i < 32 * 32; ++i) {
      text += i < petabytes ? petabyte : i == petabytes ? then : "0";
      text += i % 32 == 31 ? "\n" : ",";
    }
    return text;
  };
  EXPECT_TRUE(Read(square(1'000, "0")));
  EXPECT_TRUE(Read(square(999, "999999999999999")));
  const std::string message = "with this row, the cells add up to more than 1 EB (10^18 bytes)";
  EXPECT_THAT(ErrorsOf(square(1'000, "1")), ElementsAre("32: " + message));
  EXPECT_THAT(ErrorsOf(square(1'001, "0")), ElementsAre("32: " + message));
  EXPECT_THAT(ErrorsOf(square(1'020, "0")), ElementsAre("32: " + message));
}

TEST_F(TrafficMatrixFileTest, AFileThatIsMissingIsAMistakeOfTheSetting) {
  FilesRead files;
  Diagnostics diagnostics;
  const std::string file = (folder_.path() / "nowhere.csv").string();
  EXPECT_EQ(ReadTrafficMatrix(file, "workload[0].matrix", files, diagnostics), nullptr);
  EXPECT_THAT(diagnostics.Report(), HasSubstr("workload[0].matrix: "));
  EXPECT_THAT(diagnostics.Report(), HasSubstr(file));
}

}  // namespace heddle::traffic_matrix_test
