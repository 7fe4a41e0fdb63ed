// SPDX-License-Identifier: Apache-2.0

#include "settings/quantity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "core/random.h"

namespace heddle::quantity_test {

using testing::HasSubstr;
using testing::Not;

// The value that `text` reads as; a text that cannot be read fails the test.
template <class T>
T Read(std::string_view text) {
  T value{};
  const ParseError error = ParseQuantity(text, value);
  EXPECT_FALSE(error) << *error;
  return value;
}

// Returns the error about `text`, or an empty string. An error must leave the value as it was.
template <class T>
std::string ErrorOf(std::string_view text) {
  T value{};
  return ParseQuantity(text, value).value_or("");
}

TEST(QuantityTest, ReadsEveryUnitOfTime) {
  EXPECT_EQ(Read<Duration>("7ps"), 7_ps);
  EXPECT_EQ(Read<Duration>("7ns"), 7_ns);
  EXPECT_EQ(Read<Duration>("7us"), 7_us);
  EXPECT_EQ(Read<Duration>("7ms"), 7_ms);
  EXPECT_EQ(Read<Duration>("7s"), 7_s);
}

TEST(QuantityTest, ReadsEveryUnitOfRate) {
  EXPECT_EQ(Read<BitRate>("3bps"), BitRate{3});
  EXPECT_EQ(Read<BitRate>("3Kbps"), BitRate{3'000});
  EXPECT_EQ(Read<BitRate>("3Mbps"), 3_Mbps);
  EXPECT_EQ(Read<BitRate>("3Gbps"), 3_Gbps);
  EXPECT_EQ(Read<BitRate>("3Tbps"), 3'000_Gbps);
}

TEST(QuantityTest, ReadsEveryUnitOfSize) {
  EXPECT_EQ(Read<Bytes>("3B"), 3_B);
  EXPECT_EQ(Read<Bytes>("3KB"), 3'000_B);
  EXPECT_EQ(Read<Bytes>("3KiB"), 3'072_B);
  EXPECT_EQ(Read<Bytes>("3MB"), 3_MB);
  EXPECT_EQ(Read<Bytes>("3MiB"), Bytes{3 << 20});
  EXPECT_EQ(Read<Bytes>("3GB"), 3'000_MB);
  EXPECT_EQ(Read<Bytes>("3GiB"), Bytes{int64_t{3} << 30});
  EXPECT_EQ(Read<Bytes>("3TB"), 3'000'000_MB);
}

TEST(QuantityTest, ReadsFractionsThatAreWholeInTheSmallestUnit) {
  EXPECT_EQ(Read<Duration>("1.5us"), 1'500_ns);
  EXPECT_EQ(Read<Duration>("0.001ns"), 1_ps);
  EXPECT_EQ(Read<Duration>("0.000000000001s"), 1_ps);
  EXPECT_EQ(Read<Duration>("2.50000ms"), 2'500_us);
  EXPECT_EQ(Read<BitRate>("2.5Gbps"), 2'500_Mbps);
  EXPECT_EQ(Read<Bytes>("1.5KiB"), 1'536_B);
  EXPECT_EQ(Read<Duration>("0us"), 0_ps);
  EXPECT_EQ(Read<Duration>("-1.5us"), Duration{-1'500'000});
}

TEST(QuantityTest, NeverRounds) {
  EXPECT_THAT(ErrorOf<Duration>("0.0001ps"), HasSubstr("not a whole number of ps"));
  EXPECT_THAT(ErrorOf<Duration>("1.0000001us"), HasSubstr("not a whole number of ps"));
  EXPECT_THAT(ErrorOf<BitRate>("0.5bps"), HasSubstr("not a whole number of bps"));
  EXPECT_THAT(ErrorOf<Bytes>("0.3KiB"), HasSubstr("not a whole number of B"));
}

TEST(QuantityTest, ABareNumberIsAskedForItsUnit) {
  EXPECT_EQ(ErrorOf<Duration>("100"),
            "\"100\" has no unit; write \"100us\" (units: ps, ns, us, ms, s)");
  EXPECT_THAT(ErrorOf<BitRate>("40"), HasSubstr("write \"40Gbps\""));
  EXPECT_THAT(ErrorOf<Bytes>("1.5"), HasSubstr("write \"1.5KB\""));
  EXPECT_THAT(ErrorOf<Duration>("0"), HasSubstr("has no unit"));
  EXPECT_THAT(ErrorOf<Bytes>("9"), HasSubstr("write \"9KB\" ("));
  EXPECT_THAT(ErrorOf<Bytes>("96000"), HasSubstr("write \"96000B\" or \"96KB\" ("));
  EXPECT_THAT(ErrorOf<Bytes>("1460"), HasSubstr("write \"1460B\" ("));
  EXPECT_THAT(ErrorOf<Bytes>("-96000"), HasSubstr("write \"-96000B\" or \"-96KB\" ("));
  EXPECT_THAT(ErrorOf<BitRate>("100"), HasSubstr("write \"100Gbps\" ("));
  EXPECT_THAT(ErrorOf<BitRate>("25000"), HasSubstr("write \"25000Mbps\" or \"25Gbps\" ("));
  EXPECT_THAT(ErrorOf<BitRate>("10000000000"), HasSubstr("write \"10000000000bps\" or \"10Gbps\""));
  EXPECT_THAT(ErrorOf<Duration>("0.5"), HasSubstr("write \"0.5us\" ("));
  EXPECT_THAT(ErrorOf<Duration>("1000000"), HasSubstr("write \"1000000ns\" or \"1ms\" ("));
  EXPECT_THAT(ErrorOf<Duration>("5000000000"), HasSubstr("write \"5000000000ps\" or \"5ms\" ("));
  EXPECT_THAT(ErrorOf<Bytes>("1" + std::string(40, '0')), HasSubstr("has no unit; write \"1"));
}

TEST(QuantityTest, RefusesUnknownUnitsAndSpaces) {
  EXPECT_THAT(ErrorOf<Duration>("10min"), HasSubstr("unknown unit \"min\""));
  EXPECT_THAT(ErrorOf<Duration>("10 us"), HasSubstr("written without a space"));
  EXPECT_THAT(ErrorOf<Duration>("10US"), HasSubstr("unknown unit"));
  EXPECT_THAT(ErrorOf<BitRate>("10Gb"), HasSubstr("unknown unit \"Gb\""));
  EXPECT_THAT(ErrorOf<BitRate>("10gbps"), HasSubstr("unknown unit"));
  EXPECT_THAT(ErrorOf<Bytes>("10kB"), HasSubstr("unknown unit"));
  EXPECT_THAT(ErrorOf<Bytes>("10us"), HasSubstr("unknown unit"));
  EXPECT_THAT(ErrorOf<Duration>("10us "), HasSubstr("unknown unit"));
}

TEST(QuantityTest, SuggestsAUnitThatDiffersInCaseAlone) {
  EXPECT_EQ(ErrorOf<Duration>("10US"),
            "\"10US\" has an unknown unit \"US\"; did you mean \"us\"? (units: ps, ns, us, ms, s, "
            "written without a space)");
  EXPECT_THAT(ErrorOf<BitRate>("10gbps"), HasSubstr("did you mean \"Gbps\"?"));
  EXPECT_THAT(ErrorOf<Bytes>("10kib"), HasSubstr("did you mean \"KiB\"?"));
  EXPECT_THAT(ErrorOf<BitRate>("10Gb"), Not(HasSubstr("did you mean")));
}

TEST(QuantityTest, RefusesWhatIsNoDecimalNumberWithAUnit) {
  for (const char* text :
       {"",        " ",       "us",   "-",     "-us",    ".us",       ".5us",
        "5.us",    "1.2.3us", "+5us", "--5us", "0x10us", "1e3us",     "1,5us",
        "1_000us", "nan",     "inf",  "infs",  "1/2us",  "\xc2\xb5s", "5\xc2\xb5s"}) {
    EXPECT_NE(ErrorOf<Duration>(text), "") << text;
  }
}

TEST(QuantityTest, RefusesWhatIsTooLargeHoweverManyDigitsItHas) {
  for (size_t digits = 19; digits < 200; ++digits) {
    const std::string text = std::string(digits, '9') + "s";
    EXPECT_THAT(ErrorOf<Duration>(text), HasSubstr("is too large")) << digits;
    EXPECT_THAT(ErrorOf<Duration>("-" + text), HasSubstr("is too large")) << digits;
    EXPECT_NE(ErrorOf<int64_t>(std::string(digits, '9')), "") << digits;
    // 2^64 and 2^128 in a unit of 10^12 must not come out as zero.
    EXPECT_NE(ErrorOf<Duration>("1" + std::string(digits, '0') + "s"), "") << digits;
  }
  EXPECT_EQ(Read<Duration>("2305843009213693951ps"), Duration{kNever.ps});
  EXPECT_THAT(ErrorOf<Duration>("2305843009213693952ps"), HasSubstr("too large"));
  EXPECT_THAT(ErrorOf<Duration>("2305844s"), HasSubstr("too large"));
}

TEST(QuantityTest, RefusesFractionsHoweverManyDigitsTheyHave) {
  for (size_t zeros = 12; zeros < 200; ++zeros) {
    EXPECT_NE(ErrorOf<Duration>("0." + std::string(zeros, '0') + "1s"), "") << zeros;
  }
  EXPECT_EQ(Read<Duration>("1." + std::string(20, '0') + "us"), 1_us);
}

TEST(QuantityTest, ReadsIntegersInPlainDecimalOnly) {
  EXPECT_EQ(Read<int64_t>("0"), 0);
  EXPECT_EQ(Read<int64_t>("-17"), -17);
  EXPECT_EQ(Read<int64_t>("2305843009213693951"), kNever.ps);
  EXPECT_THAT(ErrorOf<int64_t>("010"), HasSubstr("octal"));
  EXPECT_THAT(ErrorOf<int64_t>("-010"), HasSubstr("octal"));
  for (const char* text : {"0x10", "1e3", "1.0", "", "-", "+1", " 1", "1 ", "1_000", "1,000", "ten",
                           "0b1", "1/1", "nan", "--1"}) {
    EXPECT_THAT(ErrorOf<int64_t>(text), HasSubstr("whole number")) << text;
  }
  EXPECT_THAT(ErrorOf<int64_t>("2305843009213693952"), HasSubstr("too large"));
  EXPECT_THAT(ErrorOf<int64_t>("9223372036854775808"), HasSubstr("too large"));
  EXPECT_THAT(ErrorOf<int64_t>("-9223372036854775809"), HasSubstr("too large"));
}

TEST(QuantityTest, ReadsNumbersAndFractions) {
  EXPECT_EQ(Read<double>("0.25"), 0.25);
  EXPECT_EQ(Read<double>("1/16"), 0.0625);
  EXPECT_EQ(Read<double>("-3/4"), -0.75);
  EXPECT_EQ(Read<double>("1e-3"), 0.001);
  EXPECT_EQ(Read<double>("42"), 42);
  for (const char* text :
       {"",     "1/0",      "0/0",   "1/",    "/2",   "1/2/3", "nan",          "inf",
        "-inf", "infinity", "1/inf", "nan/1", "0x10", "1e999", "1e308/1e-308", "1.5x",
        " 1",   "1 ",       "+1",    "1,5",   "50%"}) {
    EXPECT_NE(ErrorOf<double>(text), "") << text;
  }
}

TEST(QuantityTest, SaysHowAPercentageIsWritten) {
  EXPECT_EQ(ErrorOf<double>("50%"), "\"50%\" is not a number; write 0.5");
  EXPECT_EQ(ErrorOf<double>("33.3%"), "\"33.3%\" is not a number; write 0.333");
  EXPECT_EQ(ErrorOf<double>("half%"), "\"half%\" is not a number");
}

TEST(QuantityTest, ReadsOnlyTrueAndFalseAsSuch) {
  EXPECT_TRUE(Read<bool>("true"));
  EXPECT_FALSE(Read<bool>("false"));
  for (const char* text : {"yes", "no", "on", "True", "TRUE", "1", "0", ""}) {
    EXPECT_THAT(ErrorOf<bool>(text), HasSubstr("neither true nor false")) << text;
  }
}

TEST(QuantityTest, TakesAnyTextAsText) {
  EXPECT_EQ(Read<std::string>(" a: b "), " a: b ");
  EXPECT_EQ(Read<std::string>(""), "");
}

template <class T>
void ExpectReadsBack(T value) {
  const std::string text = FormatQuantity(value);
  ASSERT_EQ(Read<T>(text), value) << text;
}

TEST(QuantityTest, WhatIsWrittenReadsBackAsTheSame) {
  Rng rng = Rng::Stream(1, "quantities", 0);
  constexpr int64_t kPowers[] = {1,       1'000, 1'000'000, 1'000'000'000, 1 << 10,
                                 1 << 20, 10,    500,       1'500'000,     1'000'000'000'000};
  for (int i = 0; i < 20'000; ++i) {
    int64_t value = static_cast<int64_t>(rng.Next() >> (3 + rng.Below(60)));
    if (rng.Below(2) == 0) value = value % 1'000 * kPowers[rng.Below(std::size(kPowers))];
    if (rng.Below(8) == 0) value = -value;
    ExpectReadsBack(Duration{value});
    ExpectReadsBack(BitRate{value});
    ExpectReadsBack(Bytes{value});
    ExpectReadsBack(value);
  }
  for (const int64_t value : {kNever.ps, -kNever.ps, int64_t{0}}) {
    ExpectReadsBack(Duration{value});
    ExpectReadsBack(value);
  }
}

TEST(QuantityTest, DoublesReadBackBitForBit) {
  Rng rng = Rng::Stream(1, "doubles", 0);
  for (int i = 0; i < 20'000; ++i) {
    const double value = std::bit_cast<double>(rng.Next());
    if (!std::isfinite(value)) continue;
    ASSERT_EQ(std::bit_cast<uint64_t>(Read<double>(FormatQuantity(value))),
              std::bit_cast<uint64_t>(value));
  }
  ExpectReadsBack(std::numeric_limits<double>::max());
  ExpectReadsBack(std::numeric_limits<double>::denorm_min());
}

TEST(QuantityTest, IsRoundedForPeople) {
  EXPECT_EQ(RoundedQuantity(Duration{109'470'429'274}), "109.47ms");
  EXPECT_EQ(RoundedQuantity(Duration{0}), "0ps");
  EXPECT_EQ(RoundedQuantity(Duration{999}), "999ps");
  EXPECT_EQ(RoundedQuantity(1_us), "1us");
  EXPECT_EQ(RoundedQuantity(100_s), "100s");
}

TEST(QuantityTest, IsWrittenInTheLargestUnitThatDividesIt) {
  EXPECT_EQ(FormatQuantity(500_us), "500us");
  EXPECT_EQ(FormatQuantity(1'500_ns), "1500ns");
  EXPECT_EQ(FormatQuantity(0_ps), "0ps");
  EXPECT_EQ(FormatQuantity(100_Gbps), "100Gbps");
  EXPECT_EQ(FormatQuantity(65'536_B), "65536B");
  EXPECT_EQ(FormatQuantity(0.0625), "0.0625");
  EXPECT_EQ(FormatQuantity(true), "true");
}

}  // namespace heddle::quantity_test
