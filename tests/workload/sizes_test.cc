// SPDX-License-Identifier: Apache-2.0

#include "workload/sizes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "settings/files_read.h"
#include "tests/support/command.h"
#include "tests/support/status.h"

namespace heddle::sizes_test {

std::unique_ptr<SizeDistribution> Sizes(const std::string& text, const SizeOptions& options = {}) {
  FilesRead files;
  auto sizes = ParseSizes(text, options, files);
  EXPECT_THAT(sizes, IsOk());
  return *std::move(sizes);
}

std::string SizesError(const std::string& text) {
  FilesRead files;
  const auto sizes = ParseSizes(text, {}, files);
  EXPECT_FALSE(sizes.ok()) << text;
  return MessageOf(sizes.status());
}

std::vector<int64_t> Draw(const SizeDistribution& sizes, size_t count, uint64_t seed = 1) {
  Rng rng = Rng::Stream(seed, "size", 0);
  std::vector<int64_t> samples(count);
  for (int64_t& sample : samples) sample = sizes.Sample(rng);
  return samples;
}

struct Moments {
  double mean = 0;
  double deviation = 0;
};
Moments MomentsOf(const std::vector<int64_t>& samples) {
  const double n = static_cast<double>(samples.size());
  double sum = 0;
  double squares = 0;
  for (const int64_t s : samples) sum += static_cast<double>(s);
  for (const int64_t s : samples) squares += std::pow(static_cast<double>(s) - sum / n, 2);
  return {sum / n, std::sqrt(squares / n)};
}

CdfPoints Cdf(const std::string& text) {
  const auto points = ParseCdf(text, "my.cdf");
  EXPECT_THAT(points, IsOk());
  return *points;
}

std::string CdfError(const std::string& text) {
  const auto points = ParseCdf(text, "my.cdf");
  EXPECT_THAT(points, Fails(absl::StatusCode::kInvalidArgument, testing::_)) << text;
  return MessageOf(points.status());
}

TEST(ParseCdfTest, ReportsEveryMistake) {
  EXPECT_EQ(CdfError("0 0\nx 3\n100 50\n50 60\n300 99\n"),
            "my.cdf:2: expected a size in bytes and the share of flows up to it\n"
            "my.cdf:4: the size 50 is less than the one before\n"
            "my.cdf:5: the last share is neither 1 nor 100");
}

TEST(SizeTablesTest, AreSortedByNameAndFoundByIt) {
  EXPECT_TRUE(std::ranges::is_sorted(SizeTables(), {}, &SizeTable::name));
  for (const SizeTable& table : SizeTables()) EXPECT_NE(Sizes(std::string(table.name)), nullptr);
}

// W1 and W2.
TEST(SizeTablesTest, AreSampledWithTheirMeanAndTheirShareAtEveryPoint) {
  for (const SizeTable& table : SizeTables()) {
    SCOPED_TRACE(table.name);
    const size_t count = table.name == "websearch" || table.name == "datamining" ? 200'000 : 40'000;
    const auto sizes = Sizes(std::string(table.name));
    std::vector<int64_t> samples = Draw(*sizes, count);
    const double n = static_cast<double>(count);
    const Moments moments = MomentsOf(samples);
    EXPECT_NEAR(moments.mean, sizes->mean(), 4 * moments.deviation / std::sqrt(n));
    std::ranges::sort(samples);
    for (size_t i = 0; i < table.points.size(); ++i) {
      const auto [x, share] = table.points[i];
      // The last of several points at one size holds.
      if (i + 1 < table.points.size() && table.points[i + 1].first == x) continue;
      if (x < 1) continue;  // Flows have at least a byte.
      const double below =
          static_cast<double>(std::ranges::upper_bound(samples, x) - samples.begin()) / n;
      // Rounding to whole bytes moves what lies within half a byte of the point.
      const double rounding = sizes->ShareAbove(x - 0.5) - sizes->ShareAbove(x + 0.5);
      const double atom =
          i > 0 && table.points[i - 1].first == x ? share - table.points[i - 1].second : 0;
      const double error = std::sqrt((share + rounding) * (1 - share + rounding) / n);
      EXPECT_NEAR(below, share, 4 * error + rounding - atom + 1e-9) << x;
    }
  }
}

TEST(SizeTablesTest, DataminingsSmallestFlowsAreExactlyOnePacket) {
  const std::vector<int64_t> samples = Draw(*Sizes("datamining"), 100'000);
  EXPECT_EQ(std::ranges::min(samples), 1'460);
  EXPECT_NEAR(static_cast<double>(std::ranges::count(samples, 1'460)), 50'000, 500);
}

TEST(InterpolationTest, StepsTakeTheUpperPoint) {
  const CdfPoints points = {{10, 0.25}, {20, 0.5}, {100, 1}};
  const auto linear = MakeCdf(points, {});
  const auto step = MakeCdf(points, {.interpolation = Interpolation::kStep});
  EXPECT_DOUBLE_EQ(linear->mean(), 10 * 0.25 + 15 * 0.25 + 60 * 0.5);
  EXPECT_DOUBLE_EQ(step->mean(), 10 * 0.25 + 20 * 0.25 + 100 * 0.5);
  for (const int64_t s : Draw(*step, 1'000)) EXPECT_TRUE(s == 10 || s == 20 || s == 100) << s;
  EXPECT_DOUBLE_EQ(step->ShareAbove(20), 0.5);
  EXPECT_DOUBLE_EQ(step->ShareAbove(19), 0.75);
  EXPECT_DOUBLE_EQ(linear->ShareAbove(60), 0.25);
}

TEST(InterpolationTest, FlowsHaveAtLeastOneByte) {
  const auto sizes = MakeCdf({{0, 0}, {0, 0.9}, {2, 1}}, {});
  EXPECT_EQ(std::ranges::min(Draw(*sizes, 1'000)), 1);
}

// Every way to write sizes; with cuts that fall into, below and above it.
TEST(SizeFormsTest, MeansSharesAndPacketsAgreeWithSamplesCutOrNot) {
  const TemporaryFolder folder;
  const std::string file = "file:" + folder.Write("a.cdf", "100 0\n5000 0.5\n70000 1\n").string();
  const std::vector<std::string> forms = {"fixed:20KB",
                                          "uniform:1KB:90KB",
                                          "pareto:30KB:2.5",
                                          "pareto_bounded:2KB:300KB:1.2",
                                          "pareto_bounded:2KB:300KB:1",
                                          "pareto_bounded:5KB:60KB:0.5",
                                          "classes:0.5:0.3:0.2:0",
                                          "classes:25:25:25:25",
                                          "mix:0.3:fixed:1KB:uniform:20KB:40KB",
                                          "mix:0.5:mix:0.5:small:hadoop:fixed:3B",
                                          "small",
                                          file};
  const size_t count = 20'000;
  const double n = static_cast<double>(count);
  for (const std::string& form : forms) {
    for (const int64_t cut : {0, 700, 1'500, 15'000, 120'000, 2'000'000}) {
      for (const Interpolation interpolation : {Interpolation::kLinear, Interpolation::kStep}) {
        if (interpolation == Interpolation::kStep && form != file && form != "small") continue;
        SCOPED_TRACE(form + " cut at " + std::to_string(cut));
        SizeOptions options{.interpolation = interpolation};
        if (cut > 0) options.largest = Bytes{cut};
        const auto sizes = Sizes(form, options);
        std::vector<int64_t> samples = Draw(*sizes, count);
        const Moments moments = MomentsOf(samples);
        // Half a byte for rounding; 8 deviations of the mean, as tails are heavy.
        EXPECT_NEAR(moments.mean, sizes->mean(), 8 * moments.deviation / std::sqrt(n) + 0.5);
        EXPECT_LE(std::ranges::max(samples), sizes->max());
        if (cut > 0) {
          EXPECT_LE(sizes->max(), cut);
        }
        double packets = 0;
        for (const int64_t s : samples) packets += std::ceil(static_cast<double>(s) / 1460);
        EXPECT_NEAR(packets / n, sizes->MeanPackets(1460),
                    8 * (moments.deviation / 1460 + 0.5) / std::sqrt(n) + 0.005);
        std::ranges::sort(samples);
        for (const double x : {50.0, 800.5, 1'499.5, 9'999.5, 60'000.5, 400'000.5}) {
          const double above =
              static_cast<double>(samples.end() - std::ranges::upper_bound(samples, x)) / n;
          EXPECT_NEAR(above, sizes->ShareAbove(x), 5 * 0.5 / std::sqrt(n)) << x;
        }
        const int64_t large = sizes->LargeFlow();
        EXPECT_LE(sizes->ShareAbove(static_cast<double>(large)), 0.01 + 1e-12);
        if (large > 1) {
          EXPECT_GT(sizes->ShareAbove(static_cast<double>(large - 1)), 0.01);
        }
      }
    }
  }
}

TEST(SizeFormsTest, NoSampleOfAHeavyTailIsBeyondTheMaximum) {
  const auto sizes = Sizes("pareto:1GB:1.01");
  const std::vector<int64_t> samples = Draw(*sizes, 400'000);
  EXPECT_LE(std::ranges::max(samples), sizes->max());
  EXPECT_GE(std::ranges::min(samples), 1);
}

// Powers of the least size are beyond a double there.
TEST(SizeFormsTest, SteepTailsHaveTheirMean) {
  EXPECT_NEAR(Sizes("pareto:100KB:80")->mean(), 100'000, 1e-3);
  EXPECT_NEAR(Sizes("pareto_bounded:1GB:2GB:90")->mean(), 1e9 * 90 / 89, 1);
  // Cut where much of the tail is left: L a / (a - 1) (1 - r^(1 - a)) / (1 - r^-a), r = H / L.
  EXPECT_NEAR(Sizes("pareto_bounded:1000MB:1010MB:90")->mean(),
              1e9 * 90 / 89 * (1 - std::pow(1.01, -89)) / (1 - std::pow(1.01, -90)), 1);
}

// Log-uniform from a to b: the mean is (b - a) / ln(b / a), and half are above the geometric mean.
TEST(SizeFormsTest, FlowsMayBeOfOneClass) {
  const double edges[] = {1e2, 1e4, 1e5, 1e6, 3e7};
  const char* forms[] = {"classes:1:0:0:0", "classes:0:100:0:0", "classes:0:0:1:0",
                         "classes:0:0:0:100"};
  for (size_t c = 0; c < 4; ++c) {
    SCOPED_TRACE(forms[c]);
    const auto sizes = Sizes(forms[c]);
    const double a = edges[c];
    const double b = edges[c + 1];
    EXPECT_NEAR(sizes->mean(), (b - a) / std::log(b / a), 1e-9 * b);
    EXPECT_EQ(sizes->ShareAbove(a), 1);
    EXPECT_NEAR(sizes->ShareAbove(std::sqrt(a * b)), 0.5, 1e-12);
    EXPECT_EQ(sizes->ShareAbove(b), 0);
    const std::vector<int64_t> samples = Draw(*sizes, 2'000);
    EXPECT_GE(static_cast<double>(std::ranges::min(samples)), a);
    EXPECT_LE(static_cast<double>(std::ranges::max(samples)), b);
  }
}

TEST(SizeFormsTest, SayWhatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"websaerch", "did you mean \"websearch\"?"},
      {"", "no size distribution is called \"\""},
      {"fixed", "expected fixed:SIZE"},
      {"fixed:100", "has no unit"},
      {"fixed:0B", "out of range"},
      {"fixed:-1KB", "out of range"},
      {"fixed:9TB", "out of range"},
      {"fixed:1KB:2", "\"2\" is left over"},
      {"small:1KB", "\"1KB\" is left over"},
      {"uniform:2KB:1KB", "first size of uniform is larger"},
      {"uniform:2KB", "expected uniform:SIZE:SIZE"},
      {"pareto:10KB:1", "shape above 1"},
      {"pareto:10KB:100.1", "shape above 1"},
      {"pareto:10KB:x", "is not a number; expected pareto:MEAN:SHAPE"},
      {"pareto:x:2", "expected pareto:MEAN:SHAPE"},
      {"uniform:x:2KB", "expected uniform:SIZE:SIZE"},
      {"pareto_bounded:x:2KB:1", "expected pareto_bounded:MIN:MAX:SHAPE"},
      {"pareto_bounded:1KB:x:1", "expected pareto_bounded:MIN:MAX:SHAPE"},
      {"pareto_bounded:1KB:2KB:x", "expected pareto_bounded:MIN:MAX:SHAPE"},
      {"pareto_bounded:1KB:2KB", "expected pareto_bounded:MIN:MAX:SHAPE"},
      {"mix:0.5:small:smal", "no size distribution is called \"smal\""},
      {"pareto_bounded:2KB:1KB:1", "not below the largest"},
      {"pareto_bounded:1KB:2KB:0", "shape above 0"},
      {"pareto_bounded:1KB:2KB:100.1", "shape above 0"},
      {"pareto_bounded:1KB:1KB:1", "not below the largest"},
      {"classes:1:1:1", "expected classes:S:M:L:XL"},
      {"classes:0.49:0.03:0.18:0.20", "sum to 0.9"},
      {"classes:-1:1:1:0", "negative"},
      {"mix:1.5:small:small", "not between 0 and 1"},
      {"mix:-0.1:small:small", "not between 0 and 1"},
      {"mix:0.5:small", "no size distribution"},
      {"mix:half:small:small", "is not a number"},
      {"mix:0.5:smal:small", "no size distribution"},
      {"file:", "needs a path"},
      {"file:nowhere.cdf", "nowhere.cdf cannot be read: No such file"}};
  for (const auto& [text, message] : wrong) {
    EXPECT_NE(SizesError(text).find(message), std::string::npos)
        << text << ": " << SizesError(text);
  }
}

// Eight mixes may be within another, on either side.
TEST(SizesTest, MixesAreNestedUpToEightDeep) {
  const auto nested = [](int depth, const std::string& before, const std::string& behind) {
    std::string text;
    for (int i = 0; i <= depth; ++i) text += "mix:0.5:" + before;
    text += "small";
    for (int i = 0; i <= depth; ++i) text += behind;
    return text;
  };
  for (const auto& [before, behind] : {std::pair("small:", ""), std::pair("", ":small")}) {
    EXPECT_NE(Sizes(nested(8, before, behind)), nullptr);
    EXPECT_NE(SizesError(nested(9, before, behind)).find("mix is nested too deep"),
              std::string::npos);
  }
}

// A table with a mistake in each of 30 lines.
TEST(SizesTest, NamesSomeOfManyMistakesOfATable) {
  const TemporaryFolder folder;
  std::string table;
  for (int i = 0; i < 30; ++i) table += "many bytes\n";
  const std::string error = SizesError("file:" + folder.Write("bad.cdf", table).string());
  EXPECT_NE(error.find("bad.cdf: and "), std::string::npos) << error;
  EXPECT_NE(error.find(" more mistakes"), std::string::npos) << error;
}

// Half of the sizes lie evenly between 1 and 501 bytes, the other half become 501.
TEST(SizesTest, AreCutWhereTheLineToTheNextPointCrossesTheLargest) {
  const auto cut = Sizes("uniform:1B:1001B", {.largest = 501_B});
  EXPECT_DOUBLE_EQ(cut->mean(), 0.5 * 251 + 0.5 * 501);
  const std::vector<int64_t> samples = Draw(*cut, 10'000);
  EXPECT_EQ(std::ranges::max(samples), 501);
  EXPECT_NEAR(static_cast<double>(std::ranges::count(samples, 501)), 5'000, 4 * 50);
}

TEST(SizesTest, MayBeAtTheirBounds) {
  EXPECT_EQ(Sizes("fixed:1B")->mean(), 1);
  EXPECT_EQ(Sizes("uniform:1KB:1KB")->mean(), 1'000);
  EXPECT_NEAR(Sizes("pareto:10KB:100")->mean(), 10'000, 1e-3);
  EXPECT_NEAR(Sizes("pareto_bounded:10KB:20KB:100")->mean(), 10'000.0 * 100 / 99, 1e-3);
  EXPECT_EQ(Cdf("0 0\n4000000000000 1\n").back().first, 4e12);
  EXPECT_NE(CdfError("0 0\n4000000000001 1\n").find("is out of range"), std::string::npos);
  EXPECT_EQ(Sizes("mix:0:fixed:1KB:fixed:2KB")->mean(), 2'000);
  EXPECT_EQ(Sizes("mix:1:fixed:1KB:fixed:2KB")->mean(), 1'000);
}

TEST(CdfFileTest, ReadsSharesPercentThreeColumnsAndComments) {
  const CdfPoints points = {{0, 0}, {100, 0.25}, {1000, 1}};
  EXPECT_EQ(Cdf("0 0\n100 0.25\n1000 1\n"), points);
  EXPECT_EQ(Cdf("0 0\n100 25\n1000 100"), points);
  EXPECT_EQ(Cdf("0 1 0\n100 1 0.25\n1000 1 1\n"), points);
  EXPECT_EQ(Cdf("# sizes\r\n\n0\t0 # none\r\n  100,0.25\r\n1e3 1\r\n"), points);
}

// No flow has a size between 100 and 500 bytes, and half of them have exactly 500.
TEST(CdfFileTest, MayHaveAGapAndAStep) {
  const CdfPoints points = {{0, 0}, {100, 0.5}, {500, 0.5}, {500, 1}};
  EXPECT_EQ(Cdf("0 0\n100 0.5\n500 0.5\n500 1\n"), points);
}

TEST(CdfFileTest, PointsToTheLineThatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"", "at least two points"},
      {"# nothing\n", "my.cdf:1: a CDF needs at least two points"},
      {"100 1\n", "my.cdf:1: a CDF needs at least two points"},
      {"0 0\n200 0.5\n100 1\n", "my.cdf:3: the size 100 is less"},
      {"0 0\n100 0.6\n200 0.5\n300 1\n", "my.cdf:3: the share 0.5 is less"},
      {"0 0\n100 0.9\n", "my.cdf:2: the last share is neither 1 nor 100"},
      {"0 0\n100 50\n", "the last share is neither 1 nor 100"},
      {"-5 0\n100 1\n", "my.cdf:1: the size -5 is out of range"},
      {"5 -0.1\n100 1\n", "my.cdf:1: the share -0.1 is out of range"},
      {"5 0\n100 101\n", "my.cdf:2: the share 101 is out of range"},
      {"0 0\nmany 1\n", "my.cdf:2: expected a size in bytes and the share"},
      {"0 0\n100\n", "my.cdf:2: expected a size"},
      {"0 0\n1 2 3 4\n", "my.cdf:2: expected a size"},
      {"0 nan\n1 1\n", "my.cdf:1: expected a size"},
      {"0 0\n1e300 1\n", "out of range"},
      {"0 0\n0 1\n", "all flows are empty"}};
  for (const auto& [text, message] : wrong) {
    EXPECT_NE(CdfError(text).find(message), std::string::npos) << text << ": " << CdfError(text);
  }
}

// A cut beyond the largest size changes nothing.
TEST(SizesTest, ACutBeyondTheLargestChangesNothing) {
  for (const std::string form : {"uniform:1B:1001B", "fixed:1001B", "small", "datamining"}) {
    const auto whole = Sizes(form);
    for (const int64_t more : {0, 1, 1'000}) {
      const auto cut = Sizes(form, {.largest = Bytes{whole->max() + more}});
      EXPECT_EQ(cut->max(), whole->max()) << form;
      EXPECT_EQ(cut->mean(), whole->mean()) << form;
      EXPECT_EQ(cut->LargeFlow(), whole->LargeFlow()) << form;
    }
  }
}

// 99 of 100 flows are not larger: of sizes 1 to 151, spread evenly, that is 149.5.
TEST(SizesTest, OneFlowInAHundredIsLarger) {
  EXPECT_EQ(Sizes("fixed:1B")->LargeFlow(), 1);
  EXPECT_EQ(Sizes("fixed:1460B")->LargeFlow(), 1'460);
  EXPECT_EQ(Sizes("uniform:1B:151B")->LargeFlow(), 150);
  EXPECT_EQ(Sizes("mix:0.98:fixed:1B:fixed:7KB")->LargeFlow(), 7'000);
  EXPECT_EQ(Sizes("mix:0.995:fixed:1B:fixed:7KB")->LargeFlow(), 1);
  EXPECT_EQ(MakeCdf({{0, 0}, {0, 0.995}, {2, 1}}, {})->LargeFlow(), 1);  // At least a byte.
}

// An MSS of 10: sizes of 10 and 11 bytes are one and two packets.
TEST(SizesTest, PacketsAreCountedByTheMss) {
  EXPECT_EQ(Sizes("fixed:1B")->MeanPackets(10), 1);
  EXPECT_EQ(Sizes("fixed:10B")->MeanPackets(10), 1);
  EXPECT_EQ(Sizes("fixed:11B")->MeanPackets(10), 2);
  EXPECT_EQ(Sizes("fixed:20B")->MeanPackets(10), 2);
  EXPECT_EQ(Sizes("fixed:21B")->MeanPackets(10), 3);
  EXPECT_DOUBLE_EQ(Sizes("mix:0.25:fixed:5B:fixed:35B")->MeanPackets(10), 0.25 + 0.75 * 4);
}

// A table whose last line cannot be read may end well; only that line is wrong.
TEST(CdfFileTest, WhatFollowsFromAnotherMistakeIsNone) {
  EXPECT_EQ(CdfError("0 0\n100 0.5\nx 1\n"),
            "my.cdf:3: expected a size in bytes and the share of flows up to it");
  EXPECT_EQ(CdfError("x 0\n100 1\n"),
            "my.cdf:1: expected a size in bytes and the share of flows up to it");
  EXPECT_EQ(CdfError("0 0\nx 1\n100 0.5\n"),
            "my.cdf:2: expected a size in bytes and the share of flows up to it\n"
            "my.cdf:3: the last share is neither 1 nor 100");
}

TEST(CdfFileTest, NamesTwentyMistakesAndCountsTheOthers) {
  for (const int wrong : {20, 21, 22}) {
    std::string text;
    for (int i = 0; i < wrong; ++i) text += "x\n";
    const std::string error = CdfError(text);
    EXPECT_EQ(std::ranges::count(error, '\n'), std::min(wrong - 1, 20));
    EXPECT_EQ(error.ends_with(wrong == 21 ? "\nmy.cdf: and 1 more mistake"
                                          : "\nmy.cdf: and 2 more mistakes"),
              wrong > 20);
  }
}

// Sizes up to 4 TB and shares up to 100 %; points may repeat.
TEST(CdfFileTest, NumbersHaveLimits) {
  EXPECT_EQ(Cdf("0 0\n0 0\n4e12 100\n4e12 100\n").size(), 4u);
  EXPECT_NE(CdfError("0 0\n4.001e12 1\n").find("my.cdf:2: the size 4001000000000 is out"),
            std::string::npos);
  EXPECT_NE(CdfError("-0.001 0\n5 1\n").find("my.cdf:1: the size -0.001 is out"),
            std::string::npos);
  EXPECT_NE(CdfError("1 0\n5 100.001\n").find("my.cdf:2: the share 100.001 is out"),
            std::string::npos);
  EXPECT_NE(CdfError("0 0\n0.999 1\n").find("all flows are empty"), std::string::npos);
  EXPECT_EQ(Cdf("0 0\n1 1\n").size(), 2u);
  EXPECT_EQ(Sizes("classes:0.25:0.25:0.25:0.25")->max(), 30'000'000);
  EXPECT_EQ(Sizes("fixed:4TB")->max(), 4'000'000'000'000);
  EXPECT_NE(SizesError("fixed:4000000000001B").find("out of range"), std::string::npos);
}

}  // namespace heddle::sizes_test
