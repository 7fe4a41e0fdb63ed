// SPDX-License-Identifier: Apache-2.0

#include "core/check.h"

#include <gtest/gtest.h>

#include <cstdio>

namespace heddle::check_test {

TEST(CheckTest, ANumberThatHoldsCostsNoMessage) {
  int formatted = 0;
  const auto expensive = [&] { return ++formatted; };
  HEDDLE_CHECK(1 + 1 == 2, "{}", expensive());
  EXPECT_EQ(formatted, 0);
}

TEST(CheckDeathTest, SaysWhatBrokeWhereAndWhenAndExitsWithThree) {
  const auto fail = [] {
    SetCheckTime(Time{123'456});
    SetRunDescription("fig1.yaml, seed 42");
    HEDDLE_CHECK(2 + 2 == 5, "{} apples", 4);
  };
  EXPECT_EXIT(fail(), testing::ExitedWithCode(kExitBrokenInvariant),
              "broken invariant: 4 apples\n.*check_test.cc:[0-9]+: 2 \\+ 2 == 5\n"
              ".*simulated time at or after 123456 ps, fig1.yaml, seed 42\n"
              ".* This is a bug: please report it");
}

TEST(CheckDeathTest, NamesPluginsAsASuspect) {
  const auto fail = [] {
    SuspectPlugins();
    HEDDLE_CHECK(false, "no reason");
  };
  EXPECT_EXIT(fail(), testing::ExitedWithCode(3), "Unless a plug-in caused it, this is a bug");
}

TEST(CheckDeathTest, CallsTheHandlerBeforeTheEnd) {
  const auto fail = [] {
    SetBrokenInvariantHandler([] { std::fputs("tidied up\n", stderr); });
    HEDDLE_CHECK(false, "no reason");
  };
  EXPECT_EXIT(fail(), testing::ExitedWithCode(3), "no reason(.|\n)*tidied up");
}

}  // namespace heddle::check_test
