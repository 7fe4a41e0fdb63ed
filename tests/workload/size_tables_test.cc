// SPDX-License-Identifier: Apache-2.0
// The built-in size tables against figures that follow from the published points by exact
// arithmetic with fractions, done outside of Heddle.

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "settings/files_read.h"
#include "workload/sizes.h"

namespace heddle::size_tables_test {

struct Figures {
  double mean;
  double packets;  // The mean number of packets of 1460 bytes.
  int64_t large;   // The size that one flow in a hundred exceeds.
};

// Every point of a table moves its mean: a size that is one byte off moves it by more than the
// tolerance below.
const std::map<std::string, Figures> kPublished = {
    {"alistorage", {40'869.8, 28.5039377, 1'293'928}},
    {"cachefollower", {712'573.5, 488.6391767, 2'940'000}},
    {"cachefollower_dense", {687'657.1797, 471.5697464, 3'060'692}},
    {"datamining", {7'470'236, 5'116.85, 97'333'820}},
    {"datamining_fine", {5'036'535.175, 3'450.2625445, 100'000'000}},
    {"datamining_xpass", {7'487'883.716043, 5'129.1912819, 100'000'000}},
    {"hadoop", {120'420.75, 83.0675104, 2'000'000}},
    {"hadoop_interrack", {3'423'730.99194265, 2'345.518829, 146'000'172}},
    {"small", {17'112.5, 12.372245, 233'334}},
    {"solar", {39'423.50452, 27.3170274, 222'823}},
    {"websearch", {1'711'250, 1'172.5906649, 23'333'334}},
    {"websearch_fine", {1'490'032.942444, 1'021.0664343, 19'893'236}},
    {"websearch_xpass", {1'710'004.445, 1'171.786263, 23'333'334}},
    {"webserver", {66'121, 45.8418156, 480'000}},
    {"webserver_dense", {62'480.31075, 43.3814104, 553'616}}};

TEST(PublishedSizeTablesTest, HaveTheMeansAndTailsOfThePublishedPoints) {
  EXPECT_EQ(SizeTables().size(), kPublished.size());
  for (const auto& [name, published] : kPublished) {
    SCOPED_TRACE(name);
    FilesRead files;
    const auto sizes = ParseSizes(name, {}, files);
    ASSERT_TRUE(sizes.ok());
    EXPECT_NEAR((*sizes)->mean(), published.mean, 1e-6);
    EXPECT_NEAR((*sizes)->MeanPackets(1'460), published.packets, 1e-6);
    // Where the distribution passes through 99 % at a whole byte, the last bit of a double decides.
    EXPECT_NEAR(static_cast<double>((*sizes)->LargeFlow()), static_cast<double>(published.large),
                1);
  }
}

}  // namespace heddle::size_tables_test
