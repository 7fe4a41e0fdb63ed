// SPDX-License-Identifier: Apache-2.0
// Training steps: what they compute and send, against worked numbers and closed forms.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tests/support/timed_play.h"
#include "workload/jobs/graph_check.h"
#include "workload/jobs/graph_schedule.h"
#include "workload/jobs/training_graph.h"
#include "workload/jobs/training_model.h"

namespace heddle::training_test {

TrainingSettings SmallModel() {
  TrainingSettings settings;  // A model of 7 billion parameters.
  settings.parallel.data = 64;
  return settings;
}

TrainingSettings LargeModel() {
  TrainingSettings settings;
  settings.model.layers = 80;
  settings.model.hidden = 8192;
  settings.model.ffn = 28'672;
  settings.model.kv_hidden = 1024;
  settings.model.micro_batches = 64;
  settings.parallel = {.tensor = 8, .pipeline = 8, .data = 16};
  return settings;
}

TEST(TrainingModelTest, HasTheWorkedNumbers) {
  const TrainingModel small(SmallModel(), 64);
  EXPECT_EQ(small.ParametersOfLayer(), 202'383'360);
  EXPECT_EQ(small.Parameters(), 6'738'415'616);
  EXPECT_EQ(small.ForwardFlop(), 1'932'802'392'064.0);
  EXPECT_EQ(small.forward(), Duration{4'832'005'980});
  EXPECT_EQ(small.backward(), 2 * Duration{4'832'005'980});
  EXPECT_EQ(small.LayerParameters(), 404'766'720);

  const TrainingModel large(LargeModel(), 1024);
  EXPECT_EQ(large.ParametersOfLayer(), 855'654'400);
  EXPECT_EQ(large.Parameters(), 68'976'648'192);
  EXPECT_EQ(large.forward(), Duration{2'362'273'955});
  EXPECT_EQ(large.Activation(), 67'108'864);
  EXPECT_EQ(large.PipelineMessage(), 67'108'864);
  int64_t inner = 0;
  for (uint32_t layer = 0; layer < 10; ++layer) inner += large.GradientsOf(3, layer);
  EXPECT_EQ(inner, 2'139'136'000);
  TrainingSettings scattered = LargeModel();
  scattered.scatter = true;
  EXPECT_EQ(TrainingModel(scattered, 1024).PipelineMessage(), 8'388'608);
}

// The bytes of the collectives of rank 0, by label, in the order of its operations. They follow
// from what the rank sends in each.
struct Part {
  std::string label;
  uint32_t ranks;
  double bytes;  // That all ranks send.

  friend bool operator==(const Part&, const Part&) = default;
};
std::vector<Part> PartsOf(const TrainingSettings& settings, uint32_t ranks, uint32_t rank = 0) {
  const auto graph = MakeTrainingGraph(settings, ranks);
  std::vector<Part> parts;
  for (const Operation& op : graph->OpsOf(rank)) {
    if (op.kind != Operation::Kind::kCollective) continue;
    const auto& its = graph->collectives()[op.collective];
    parts.push_back({op.label, its.schedule->ranks(), its.schedule->Totals().bytes});
  }
  return parts;
}

TEST(TrainingGraphTest, DataParallelismSumsUpBuckets) {
  const std::vector<Part> parts = PartsOf(SmallModel(), 64);
  ASSERT_EQ(parts.size(), 515u);
  // All ranks of a ring send 2 (n - 1) times the bucket.
  EXPECT_EQ(parts.front().bytes, 2.0 * 63 * 26'214'400);
  EXPECT_EQ(parts.back().bytes, 2.0 * 63 * 2'629'632);

  TrainingSettings zero = SmallModel();
  zero.zero = 1;
  const std::vector<Part> divided = PartsOf(zero, 64);
  ASSERT_EQ(divided.size(), 2u * 515);
  EXPECT_EQ(divided[0], (Part{"reduce gradients", 64, 63.0 * 26'214'400}));
  EXPECT_EQ(divided[515], (Part{"gather parameters", 64, 63.0 * 26'214'400}));
}

TEST(TrainingGraphTest, FullyShardedLayersAreGatheredTwiceAndReducedOnce) {
  TrainingSettings settings = SmallModel();
  settings.zero = 3;
  std::map<std::string, int> count;
  for (const Part& part : PartsOf(settings, 64)) {
    ++count[part.label];
    EXPECT_EQ(part.bytes, 63.0 * 404'766'720) << part.label;
  }
  EXPECT_EQ(count,
            (std::map<std::string, int>{{"gather parameters", 64}, {"reduce gradients", 32}}));
}

MessageTimes NoTime(const Message& /*message*/) { return {Duration{0}, Duration{0}}; }

TEST(TrainingGraphTest, HasNoProblemsHoweverWorkIsShared) {
  for (const int64_t zero : {0, 1, 3}) {
    for (const int64_t tensor : {1, 2}) {
      for (const int64_t pipeline : {1, 2, 4}) {
        for (const int64_t expert : {1, 2}) {
          for (const int64_t prefetch : {0, 1, 3}) {
            TrainingSettings settings;
            settings.model.layers = 4;
            settings.model.micro_batches = 3;
            settings.parallel = {tensor, pipeline, 2, expert};
            settings.moe.every = 2;
            settings.zero = zero;
            settings.prefetch = prefetch;
            settings.sequence_parallel = pipeline == 2;
            settings.scale = 1e-4;
            const uint32_t ranks = static_cast<uint32_t>(tensor * pipeline * 2);
            const auto graph = MakeTrainingGraph(settings, ranks);
            const auto problems = GraphProblems(*graph);
            ASSERT_TRUE(problems.empty()) << problems.front().message;
            const auto schedule = MakeGraphSchedule(graph);
            EXPECT_NE(TimedPlay(*schedule, StarTimes).end(), kNever);
            EXPECT_EQ(ComputingTime(*schedule), CriticalPath(*schedule, NoTime));
          }
        }
      }
    }
  }
}

// --- Times ---

TrainingSettings Pipeline(int64_t stages, int64_t batches) {
  TrainingSettings settings;
  settings.model.layers = stages;
  settings.model.hidden = 500'000;  // A message of 1 MB.
  settings.model.seq = 1;
  settings.model.micro_batches = batches;
  settings.parallel.pipeline = stages;
  settings.compute = {Duration{100'000'000}, Duration{200'000'000}};
  return settings;
}

Time EndOf(const TrainingSettings& settings, uint32_t ranks, const TimedPlay::TimesOf& times) {
  const auto schedule = MakeGraphSchedule(MakeTrainingGraph(settings, ranks));
  return TimedPlay(*schedule, times).end();
}

TEST(TrainingTimesTest, APipelineHasItsBubble) {
  for (const int64_t stages : {1, 2, 4, 7}) {
    for (const int64_t batches : {1, 3, 8}) {
      EXPECT_EQ(EndOf(Pipeline(stages, batches), static_cast<uint32_t>(stages), NoTime).ps,
                (batches + stages - 1) * 300'000'000)
          << stages << " stages, " << batches << " micro batches";
    }
  }
}

// Two ranks with four layers of 1 us forwards, 2 us backwards; each collective takes two steps of a
// message, or one.
TrainingSettings TwoRanks(int64_t zero) {
  TrainingSettings settings;
  settings.model = {.layers = 4, .hidden = 10, .ffn = 10, .kv_hidden = 10, .vocab = 10, .seq = 1};
  settings.compute = {Duration{1'000'000}, Duration{2'000'000}};
  settings.zero = zero;
  return settings;
}

TEST(TrainingTimesTest, GradientsAreSummedUpBesideTheBackwardPass) {
  const auto messages_of = [](int64_t ns) {
    return [ns](const Message& /*message*/) {
      return MessageTimes{Duration{ns * 1000}, Duration{ns * 1000}};
    };
  };
  // A bucket for each layer but the embedding and the head's few bytes: 720 parameters of a layer.
  TrainingSettings settings = TwoRanks(0);
  settings.bucket = Bytes{1'000'000};  // One bucket, ready at the end of the backward pass.
  EXPECT_EQ(EndOf(settings, 2, messages_of(500)).ps, 4'000'000 + 8'000'000 + 2 * 500'000);
  settings.bucket = Bytes{1440};
  // Layers have 1440 bytes, the head 220 more and the embedding 200 more: buckets are full 2, 4, 6
  // and 8 us into the backward pass; the fifth, of 420 bytes, comes at the end, too. Each takes two
  // messages, so all but the last two are hidden.
  EXPECT_EQ(EndOf(settings, 2, messages_of(500)).ps, 12'000'000 + 2 * 2 * 500'000);
  // The network is slower than the computation: all but the first layer's 2 us are exposed.
  EXPECT_EQ(EndOf(settings, 2, messages_of(3000)).ps, 4'000'000 + 2'000'000 + 5 * 2 * 3'000'000);
  settings.optimizer = Duration{5'000'000};
  EXPECT_EQ(EndOf(settings, 2, messages_of(500)).ps, 12'000'000 + 2'000'000 + 5'000'000);
}

TEST(TrainingTimesTest, ParametersArePrefetched) {
  const auto half_us = [](const Message& /*message*/) {
    return MessageTimes{Duration{500'000}, Duration{500'000}};
  };
  TrainingSettings settings = TwoRanks(3);
  // The first gather of each pass is exposed, and so is the last reduce-scatter. With two ranks
  // each of them is one message.
  EXPECT_EQ(EndOf(settings, 2, half_us).ps, 500'000 + 4'000'000 + 500'000 + 8'000'000 + 500'000);
  // Without prefetching each gather is. The reduce-scatter of a layer goes before the next gather.
  settings.prefetch = 0;
  EXPECT_EQ(EndOf(settings, 2, half_us).ps,
            4 * 500'000 + 4'000'000 + 500'000 + 3 * 1'000'000 + 8'000'000 + 500'000);
}

TEST(TrainingTimesTest, TensorAndExpertParallelismBlock) {
  const auto half_us = [](const Message& /*message*/) {
    return MessageTimes{Duration{500'000}, Duration{500'000}};
  };
  TrainingSettings tensor = TwoRanks(0);
  tensor.parallel.tensor = 2;
  // Four all-reduces of two steps a layer, two in each direction.
  EXPECT_EQ(EndOf(tensor, 2, half_us).ps, 12'000'000 + 4 * 4 * 2 * 500'000);
  tensor.sequence_parallel = true;  // A reduce-scatter and an all-gather take as long.
  EXPECT_EQ(EndOf(tensor, 2, half_us).ps, 12'000'000 + 4 * 4 * 2 * 500'000);

  TrainingSettings experts = TwoRanks(0);
  experts.parallel.expert = 2;
  experts.moe.every = 2;
  experts.bucket = Bytes{1'000'000};
  // Two of the four layers exchange tokens twice in each direction; then the gradients' all-reduce.
  EXPECT_EQ(EndOf(experts, 2, half_us).ps, 12'000'000 + 2 * 4 * 500'000 + 2 * 500'000);
}

}  // namespace heddle::training_test
