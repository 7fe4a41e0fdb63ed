// SPDX-License-Identifier: Apache-2.0

#include "settings/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/status.h"

namespace heddle::csv_test {

using testing::ElementsAre;
using testing::HasSubstr;

// Returns the cells of a text with one row.
std::vector<std::string> CellsOf(const std::string& text) {
  CsvReader reader(text);
  EXPECT_TRUE(reader.Next());
  EXPECT_THAT(reader.status(), IsOk());
  std::vector<std::string> cells(reader.cells().begin(), reader.cells().end());
  EXPECT_FALSE(reader.Next());
  return cells;
}

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
  EXPECT_THAT(CellsOf(line), ElementsAre("a,b", "", "\"", "x\",\"y", "z"));
}

TEST(CsvTest, KeepsBlanksOfCellsThatAreNotQuoted) {
  EXPECT_THAT(CellsOf(" a ,b\t, \"c \" ,"), ElementsAre(" a ", "b\t", "c ", ""));
}

TEST(CsvTest, RowsEndWithEitherLineEndAndTheLastMayHaveNone) {
  CsvReader reader("a,b\r\n\r\n\"c\"\r\nd");
  std::vector<std::vector<std::string>> rows;
  while (reader.Next()) {
    EXPECT_THAT(reader.status(), IsOk());
    rows.emplace_back(reader.cells().begin(), reader.cells().end());
    EXPECT_EQ(reader.line(), std::ssize(rows));
  }
  EXPECT_THAT(rows, ElementsAre(ElementsAre("a", "b"), ElementsAre(""), ElementsAre("c"),
                                ElementsAre("d")));
  EXPECT_FALSE(CsvReader("").Next());
}

TEST(CsvTest, AByteOrderMarkIsNoPartOfTheFirstCell) {
  EXPECT_THAT(CellsOf("\xEF\xBB\xBF\"a\",b"), ElementsAre("a", "b"));
  EXPECT_THAT(CellsOf("a,\xEF\xBB\xBF"), ElementsAre("a", "\xEF\xBB\xBF"));
}

TEST(CsvTest, RefusesQuotesInTheWrongPlace) {
  for (const auto& [row, why] : {std::pair{"\"a", "a quoted cell without an end"},
                                 {"x,\"a\"\"", "a quoted cell without an end"},
                                 {"\"a\"b,c", "text behind a quoted cell"},
                                 {"\"a\" \"b\"", "text behind a quoted cell"},
                                 {"a\"b\",c", "a quote in a cell that does not begin with one"}}) {
    const std::string text = std::string(row) + "\nnext,row";
    CsvReader reader(text);
    ASSERT_TRUE(reader.Next());
    EXPECT_THAT(reader.status(), Fails(absl::StatusCode::kInvalidArgument, HasSubstr(why))) << row;
    // A mistake does not spoil the rows behind it.
    ASSERT_TRUE(reader.Next());
    EXPECT_THAT(reader.status(), IsOk());
    EXPECT_THAT(reader.cells(), ElementsAre("next", "row"));
  }
}

TEST(CsvTest, RefusesSemicolonsBetweenTheCellsOfTheFirstRow) {
  CsvReader reader("src;dst\n1;2\n");
  ASSERT_TRUE(reader.Next());
  EXPECT_THAT(reader.status(), Fails(absl::StatusCode::kInvalidArgument,
                                     HasSubstr("semicolons between its cells; commas")));
  EXPECT_THAT(CellsOf("a;b,c"), ElementsAre("a;b", "c"));
}

TEST(ParsedCsvTest, HasAHeaderAndRows) {
  const auto parsed = ParsedCsv::Parse("name,\"size, B\"\n\"say \"\"x\"\"\",1\ny,\n");
  ASSERT_THAT(parsed, IsOk());
  EXPECT_THAT(parsed->header, ElementsAre("name", "size, B"));
  ASSERT_EQ(parsed->rows(), 2u);
  EXPECT_THAT(parsed->Row(0), ElementsAre("say \"x\"", "1"));
  EXPECT_EQ(parsed->At(1, 0), "y");
  EXPECT_EQ(parsed->At(1, 1), "");
  EXPECT_EQ(parsed->Column("size, B"), 1u);
  EXPECT_EQ(parsed->Column("size"), std::nullopt);
}

// Short texts lie within the object that holds them.
TEST(ParsedCsvTest, CellsStayWhenItMoves) {
  auto parsed = ParsedCsv::Parse("a\n\"\"\"\"\n").value();
  const ParsedCsv moved = std::move(parsed);
  EXPECT_EQ(moved.header.front(), "a");
  EXPECT_EQ(moved.At(0, 0), "\"");
}

TEST(ParsedCsvTest, RefusesRowsOfAnotherLength) {
  for (const auto& [text, why] :
       {std::pair{"", "is empty"},
        {"a,b\n1,2\n1\n", "row 2 has more or fewer cells than the header"},
        {"a,b\n1,2,3\n", "row 1 has more or fewer cells than the header"},
        {"a,b\n\n", "row 1 has more or fewer cells than the header"},
        {"a,b\n1,\"2\n", "row 1 has a quoted cell without an end"}}) {
    EXPECT_THAT(ParsedCsv::Parse(text), Fails(absl::StatusCode::kInvalidArgument, why));
  }
}

}  // namespace heddle::csv_test
