// SPDX-License-Identifier: Apache-2.0

#include "measure/table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace heddle::table_test {

struct Visit {
  std::string host;
  Time at;
  double share;
  std::optional<int64_t> bytes;
  bool first;
  uint8_t cls;
};

constexpr Column<Visit> kColumns[] = {
    {"host", [](const Visit& visit) -> std::string_view { return visit.host; }},
    {"time_ns", [](const Visit& visit) { return InNs(visit.at); }},
    {"share", [](const Visit& visit) { return visit.share; }},
    {"bytes", [](const Visit& visit) { return visit.bytes; }},
    {"first", [](const Visit& visit) { return visit.first; }},
    {"class", [](const Visit& visit) { return visit.cls; }}};
constexpr Table kTable(kColumns);

TEST(TableTest, HeaderAndRowsFollowFromOneDeclaration) {
  const std::vector<Visit> visits = {{"a", Time{1'500}, 0.1, 7, true, 3},
                                     {"b", Time{2'000}, 1e300, std::nullopt, false, 200}};
  EXPECT_EQ(kTable.Text(visits),
            "host,time_ns,share,bytes,first,class\n"
            "a,1.5,0.1,7,1,3\n"
            "b,2,1e+300,,0,200\n");
}

TEST(TableTest, LeavesOutItsLastColumns) {
  EXPECT_EQ(kTable.WithoutLast(4).Header(), "host,time_ns\n");
  std::string csv;
  kTable.WithoutLast(4).Append(csv, {"a", Time{1}, 0, 1, true, 1});
  EXPECT_EQ(csv, "a,0.001\n");
}

TEST(AppendCellTest, WritesExtremes) {
  const auto text = [](auto value) {
    std::string csv;
    AppendCell(csv, value);
    return csv;
  };
  EXPECT_EQ(text(std::numeric_limits<int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(text(std::numeric_limits<uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(text(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(text(std::nan("")), "");
  EXPECT_EQ(text(1.0 / 3), "0.3333333333333333");
  EXPECT_EQ(text(std::optional<double>()), "");
  EXPECT_EQ(text(std::optional(InNs(Duration{1'234'500}))), "1234.5");
}

TEST(AppendExactTest, WritesNoMoreDigitsThanNeeded) {
  const auto text = [](int64_t ps, int digits) {
    std::string out;
    AppendExact(out, ps, digits);
    return out;
  };
  EXPECT_EQ(text(1'234'500, 3), "1234.5");
  EXPECT_EQ(text(1'000, 3), "1");
  EXPECT_EQ(text(1'001, 3), "1.001");
  EXPECT_EQ(text(0, 3), "0");
  EXPECT_EQ(text(7, 3), "0.007");
  EXPECT_EQ(text(10, 3), "0.01");
}

}  // namespace heddle::table_test
