// SPDX-License-Identifier: Apache-2.0

#include "measure/size_classes.h"

#include <gtest/gtest.h>

#include "core/random.h"

namespace heddle::size_classes_test {

std::string LabelIn(const std::string& set, int64_t size, int64_t bdp = 0) {
  const ClassSet classes = MakeClassSet(set, bdp);
  return classes.labels.at(classes.IndexOf(size));
}

// Specification: metrics.md, section 2.
TEST(ClassSetTest, BoundariesBelongToTheClassBelow) {
  EXPECT_EQ(LabelIn("smlxl", 1), "S");
  EXPECT_EQ(LabelIn("smlxl", 10'000), "S");
  EXPECT_EQ(LabelIn("smlxl", 10'001), "M");
  EXPECT_EQ(LabelIn("smlxl", 100'000), "M");
  EXPECT_EQ(LabelIn("smlxl", 100'001), "L");
  EXPECT_EQ(LabelIn("smlxl", 1'000'000), "L");
  EXPECT_EQ(LabelIn("smlxl", 1'000'001), "XL");
  EXPECT_EQ(LabelIn("sml", 100'000), "S");
  EXPECT_EQ(LabelIn("sml", 100'001), "M");
  EXPECT_EQ(LabelIn("sml", 1'000'000), "M");
  EXPECT_EQ(LabelIn("sml", 1'000'001), "L");
  EXPECT_EQ(LabelIn("pias", 100'000), "small");
  EXPECT_EQ(LabelIn("pias", 10'000'000), "medium");
  EXPECT_EQ(LabelIn("pias", 10'000'001), "large");
  EXPECT_EQ(LabelIn("all", 1), "all");
  EXPECT_EQ(LabelIn("all", int64_t{1} << 60), "all");
}

TEST(ClassSetTest, CongaCountsBelow100KilobytesAsSmall) {
  EXPECT_EQ(LabelIn("conga", 99'999), "small");
  EXPECT_EQ(LabelIn("conga", 100'000), "medium");
  EXPECT_EQ(LabelIn("conga", 10'000'000), "medium");
  EXPECT_EQ(LabelIn("conga", 10'000'001), "large");
}

TEST(ClassSetTest, FlowsOfExactlyTheBdpAreNotBelowIt) {
  EXPECT_EQ(LabelIn("bdp", 103'999, 104'000), "below_bdp");
  EXPECT_EQ(LabelIn("bdp", 104'000, 104'000), "bdp_and_above");
}

TEST(SizeClassesTest, AtomsRefineEverySet) {
  std::vector<ClassSet> sets;
  for (const std::string& name : ClassSetNames()) sets.push_back(MakeClassSet(name, 29'055));
  const SizeClasses classes(sets);
  Rng rng = Rng::Stream(1, "test", 0);
  for (int i = 0; i < 20'000; ++i) {
    const int64_t size = 1 + static_cast<int64_t>(rng.Next() >> (20 + rng.Below(44)));
    const size_t atom = classes.AtomOf(size);
    ASSERT_LT(atom, classes.atoms());
    for (const ClassSet& set : classes.sets()) {
      ASSERT_EQ(classes.ClassOf(set, atom), set.IndexOf(size)) << set.name << " " << size;
    }
  }
  for (const int64_t edge : {10'000, 29'054, 29'055, 99'999, 100'000, 1'000'000, 10'000'000}) {
    for (const int64_t size : {edge - 1, edge, edge + 1}) {
      for (const ClassSet& set : classes.sets()) {
        EXPECT_EQ(classes.ClassOf(set, classes.AtomOf(size)), set.IndexOf(size));
      }
    }
  }
}

}  // namespace heddle::size_classes_test
