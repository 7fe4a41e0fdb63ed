// SPDX-License-Identifier: Apache-2.0
// From what users say of a network to the cases of the papers' models, worked out by hand.

#include "study/papers/model_inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "settings/reader.h"
#include "settings/yaml.h"

namespace heddle::model_inputs_test {

using testing::HasSubstr;

template <class Inputs>
Inputs ReadInputs(const std::string& yaml, Diagnostics& diagnostics) {
  Inputs inputs;
  const auto document = ParseYaml(yaml, "f.yaml", diagnostics);
  ReadSettings(
      document.value(), [&](Fields& fields) { inputs.Declare(fields); }, diagnostics);
  return inputs;
}

template <class Inputs>
Inputs From(const std::string& yaml) {
  Diagnostics diagnostics;
  const Inputs inputs = ReadInputs<Inputs>(yaml, diagnostics);
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.Report();
  return inputs;
}

template <class Inputs>
std::string ErrorsOf(const std::string& yaml) {
  Diagnostics diagnostics;
  ReadInputs<Inputs>(yaml, diagnostics);
  return diagnostics.Report();
}

// A packet is 12,000 bits on the wire: 1 Gbps for 100 us are 8.33 packets, of which 8 are whole,
// and 20 wait.
TEST(PdlbInputsTest, DefaultsAreThePapers) {
  const PdlbCase found = From<PdlbInputs>("{}").Case();
  EXPECT_EQ(found.packets, 10'000);
  EXPECT_EQ(found.paths, 8);
  EXPECT_EQ(found.slow_share, 0.25);
  EXPECT_EQ(found.slowness, 3);
  EXPECT_EQ(found.delay, 100_us);
  EXPECT_EQ(found.rate, 1_Gbps);
  EXPECT_EQ(found.max_window, 28);
}

TEST(PdlbInputsTest, FlowsBeyondThePathsShareThem) {
  EXPECT_EQ(From<PdlbInputs>("{paths: 4, flows: 4}").Case().rate, 1_Gbps);
  EXPECT_EQ(From<PdlbInputs>("{paths: 4, flows: 5}").Case().rate, 800_Mbps);
  EXPECT_EQ(From<PdlbInputs>("{paths: 4, flows: 1}").Case().rate, 1_Gbps);
}

// 100 kbps for 100 us are less than a packet, and none waits.
TEST(PdlbInputsTest, AWindowHasAPacketAtLeast) {
  EXPECT_EQ(From<PdlbInputs>("{rate: 100Kbps, queue: 0}").Case().max_window, 1);
  EXPECT_EQ(From<PdlbInputs>("{rate: 1Gbps, delay: 24us, queue: 0}").Case().max_window, 2);
}

TEST(PdlbInputsTest, SlowPathsAreSomeOfThePaths) {
  EXPECT_EQ(From<PdlbInputs>("{paths: 4, slow: 4}").Case().slow_share, 1);
  EXPECT_EQ(From<PdlbInputs>("{paths: 4, slow: 0.5}").Case().slow_share, 0.125);
  EXPECT_THAT(ErrorsOf<PdlbInputs>("{paths: 4, slow: 4.1}"),
              HasSubstr("f.yaml:1:18: slow: more slow paths than there are paths"));
  EXPECT_THAT(ErrorsOf<PdlbInputs>("{paths: 1}"), HasSubstr("slow: more slow paths"));
}

TEST(PdlbInputsTest, RefusesWhatMakesNoSense) {
  for (const std::string bad :
       {"packets: 0", "paths: 0", "paths: 1025", "slow: -1", "ratio: 0.9", "delay: 0us",
        "delay: 11s", "rate: 1bps", "queue: -1", "flows: 0", "granularity: 0", "form: other"}) {
    EXPECT_THAT(ErrorsOf<PdlbInputs>("{slow: 0, " + bad + "}"), HasSubstr("f.yaml:1:")) << bad;
  }
  EXPECT_EQ(From<PdlbInputs>("{form: literal}").form, PdlbForm::kLiteral);
  EXPECT_EQ(From<PdlbInputs>("{form: corrected}").form, PdlbForm::kCorrected);
}

// 100 KB are 68.5 segments of 1460 B; 1500 B at 1 Gbps take 12 us.
TEST(TrInputsTest, DefaultsAreThePapers) {
  const TrCase found = From<TrInputs>("{}").Case();
  EXPECT_EQ(found.flows, 20);
  EXPECT_EQ(found.packets, 69);
  EXPECT_EQ(found.good_paths, 5);
  EXPECT_EQ(found.bad_paths, 5);
  EXPECT_EQ(found.buffer, 250);
  EXPECT_EQ(found.packet_time, 12_us);
  EXPECT_EQ(found.good_delay, 200_us);
  EXPECT_EQ(found.bad_delay, 300_us);
  EXPECT_EQ(found.duplicate_acks, 3);
}

TEST(TrInputsTest, SizesAreRoundedUpToSegments) {
  EXPECT_EQ(From<TrInputs>("{size: 1B}").Case().packets, 1);
  EXPECT_EQ(From<TrInputs>("{size: 1460B}").Case().packets, 1);
  EXPECT_EQ(From<TrInputs>("{size: 1461B}").Case().packets, 2);
}

TEST(TrInputsTest, SlowPathsAreSlowerByTheRatio) {
  EXPECT_EQ(From<TrInputs>("{delay: 100us, ratio: 1}").Case().bad_delay, 100_us);
  EXPECT_EQ(From<TrInputs>("{delay: 10us, ratio: 3.5}").Case().bad_delay, 35_us);
}

TEST(TrInputsTest, NeedsAPath) {
  EXPECT_THAT(ErrorsOf<TrInputs>("{good: 0, bad: 0}"),
              HasSubstr("f.yaml:1:8: good: there is no path"));
  EXPECT_EQ(From<TrInputs>("{good: 0, bad: 1}").Case().bad_paths, 1);
  EXPECT_EQ(From<TrInputs>("{good: 1, bad: 0}").Case().good_paths, 1);
  for (const std::string bad : {"good: -1", "buffer: 0", "rate: 1bps", "delay: 0us", "dupthresh: 0",
                                "flows: 0", "size: 0B", "ratio: 0.5"}) {
    EXPECT_THAT(ErrorsOf<TrInputs>("{" + bad + "}"), HasSubstr("f.yaml:1:")) << bad;
  }
}

}  // namespace heddle::model_inputs_test
