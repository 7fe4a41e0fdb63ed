// SPDX-License-Identifier: Apache-2.0
// Tests the sums of CPU time and memory, over summaries that are written by hand.

#include "study/papers/costs.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "experiment/version.h"
#include "tests/support/status.h"
#include "tests/support/toy_paper.h"

namespace heddle::costs_test {

using testing::HasSubstr;
using testing::Not;

ExperimentCosts Costs(double seconds, double hops, int64_t memory) {
  return {.experiment = "toy-e",
          .points = 1,
          .results = 1,
          .cpu_seconds = seconds,
          .packet_hops = hops,
          .most_memory = memory,
          .longest_seconds = seconds};
}

// The cell of one experiment's row in the column of this header.
std::string CellOf(const ExperimentCosts& costs, size_t column) {
  const std::string text = CostsText({costs}, /*markdown=*/true);
  std::string row = text.substr(text.rfind('\n', text.size() - 2) + 1);
  for (size_t i = 0; i <= column; ++i) row = row.substr(row.find('|') + 1);
  row = row.substr(0, row.find('|'));
  const size_t start = row.find_first_not_of(' ');
  return start == std::string::npos ? "" : row.substr(start, row.find_last_not_of(' ') - start + 1);
}

TEST(CostsTextTest, MemoryHasNoPowersOfTen) {
  const auto memory = [](double bytes) {
    return CellOf(Costs(1, 1, static_cast<int64_t>(bytes)), 6);
  };
  EXPECT_EQ(memory(0), "0 MB");
  EXPECT_EQ(memory(12.34e6), "12.3 MB");
  EXPECT_EQ(memory(999.4e6), "999 MB");
  EXPECT_EQ(memory(999.5e6), "1 GB");  // As 1000 MB it would have four digits.
  EXPECT_EQ(memory(1.234e9), "1.23 GB");
  EXPECT_EQ(memory(999e9), "999 GB");
  EXPECT_EQ(memory(1234e9), "1,234 GB");
}

TEST(CostsTextTest, NeitherHavePacketHops) {
  const auto hops = [](double count) { return CellOf(Costs(1, count, 1), 4); };
  EXPECT_EQ(hops(1.5e6), "1.5 million");
  EXPECT_EQ(hops(999'400'000), "999 million");
  EXPECT_EQ(hops(999'600'000), "1,000 million");
  EXPECT_EQ(hops(1e9), "1 billion");
  EXPECT_EQ(hops(9'999e9), "9999 billion");
  EXPECT_EQ(hops(12'345e9), "12,345 billion");
  EXPECT_EQ(hops(1'234'567e9), "1,234,567 billion");
}

TEST(CostsTextTest, TimesAreInTheUnitsOfClocks) {
  const auto time = [](double seconds) { return CellOf(Costs(seconds, 1, 1), 2); };
  EXPECT_EQ(time(0), "0 s");
  EXPECT_EQ(time(12.5), "12.5 s");
  EXPECT_EQ(time(99.4), "99.4 s");
  EXPECT_EQ(time(99.5), "1 min 40 s");
  EXPECT_EQ(time(200), "3 min 20 s");
  EXPECT_EQ(time(3'599.4), "59 min 59 s");
  EXPECT_EQ(time(3'599.5), "1 h 00 min");
  EXPECT_EQ(time(7'500), "2 h 05 min");
  EXPECT_EQ(time(360'000), "100 h 00 min");
}

TEST(CostsTextTest, NanosecondsPerHopNeedHops) {
  EXPECT_EQ(Costs(2, 1e8, 1).NanosecondsPerHop(), 20);
  EXPECT_EQ(Costs(2, 0, 1).NanosecondsPerHop(), 0);
  EXPECT_EQ(CellOf(Costs(2, 1e8, 1), 5), "20");
}

TEST(CostsTextTest, AddsExperimentsUpInALastRow) {
  ExperimentCosts none;
  none.experiment = "toy-none";
  none.points = 4;
  ExperimentCosts large = Costs(60, 2e9, 3'000'000);
  large.points = 3;
  EXPECT_EQ(CostsText({Costs(30, 1e9, 5'000'000), large, none}, false),
            "experiment  points  CPU time  longest run  packet-hops  ns/hop  memory\n"
            "toy-e            1      30 s         30 s    1 billion      30    5 MB\n"
            "toy-e       1 of 3      60 s         60 s    2 billion      30    3 MB\n"
            "toy-none    0 of 4                                                    \n"
            "all         2 of 8      90 s         60 s    3 billion      30    5 MB\n");
}

TEST(CostsTextTest, OneExperimentIsItsOwnSum) {
  EXPECT_THAT(CostsText({Costs(1, 1e6, 1)}, false), Not(HasSubstr("\nall")));
  EXPECT_EQ(CostsText({Costs(1, 1e6, 1'000'000)}, true),
            "| experiment | points | CPU time | longest run | packet-hops | ns/hop | memory |\n"
            "|---|---:|---:|---:|---:|---:|---:|\n"
            "| toy-e      |      1 |      1 s |         1 s |   1 million |   1000 |   1 MB |\n");
}

class CostsOfTest : public ToyPaper {
 protected:
  void WriteSummary(const std::string& seed, const std::string& version, double seconds,
                    double hops, int64_t memory) {
    const std::filesystem::path run = RunOf("e", seed);
    folder_.Write(std::filesystem::relative(run, folder_.path()).string() + "/summary.json",
                  fmt::format("{{\"version\": \"{}\", \"commit\": \"{}\", \"complete\": true, "
                              "\"performance\": {{\"cpu_seconds\": {}, \"packet_hops\": {}, "
                              "\"peak_memory_bytes\": {}}}}}\n",
                              version, Commit(), seconds, hops, memory));
  }
};

TEST_F(CostsOfTest, AreThoseOfItsResults) {
  Write("e", "sweep: {lb: [ecmp], seeds: 4}\n", [](const At&, double) { return 1.0; });
  WriteSummary("1", std::string(Version()), 2, 100, 7'000);
  WriteSummary("2", std::string(Version()), 5, 200, 3'000);
  WriteSummary("3", "0.0.1", 10, 1'000, 9'000);
  std::filesystem::remove_all(RunOf("e", "4"));
  const auto costs = CostsOf("toy-e", PointsOf("e"), /*with_stale=*/false);
  ASSERT_THAT(costs, IsOk());
  EXPECT_EQ(costs->experiment, "toy-e");
  EXPECT_EQ(costs->points, 4u);
  EXPECT_EQ(costs->results, 2u);
  EXPECT_EQ(costs->cpu_seconds, 7);
  EXPECT_EQ(costs->longest_seconds, 5);
  EXPECT_EQ(costs->packet_hops, 300);
  EXPECT_EQ(costs->most_memory, 7'000);
  const auto with_stale = CostsOf("toy-e", PointsOf("e"), /*with_stale=*/true);
  ASSERT_THAT(with_stale, IsOk());
  EXPECT_EQ(with_stale->results, 3u);
  EXPECT_EQ(with_stale->cpu_seconds, 17);
  EXPECT_EQ(with_stale->most_memory, 9'000);
}

TEST_F(CostsOfTest, OfNoResultsAreNothing) {
  Write("e", "sweep: {lb: [ecmp], seeds: 2}\n", [](const At&, double) { return 1.0; });
  std::filesystem::remove_all(folder_ / "out");
  const auto costs = CostsOf("toy-e", PointsOf("e"), false);
  ASSERT_THAT(costs, IsOk());
  EXPECT_EQ(costs->points, 2u);
  EXPECT_EQ(costs->results, 0u);
  EXPECT_EQ(costs->NanosecondsPerHop(), 0);
}

}  // namespace heddle::costs_test
