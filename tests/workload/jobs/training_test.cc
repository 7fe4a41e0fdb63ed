// SPDX-License-Identifier: Apache-2.0
// Training steps: what they compute and send, against worked numbers and closed forms.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/printers.h"
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
  EXPECT_EQ(small.ForwardFlop(false), 1'932'802'392'064.0);
  EXPECT_EQ(small.forward(false), Duration{4'832'005'980});
  EXPECT_EQ(small.backward(false), 2 * Duration{4'832'005'980});
  EXPECT_EQ(small.ParametersOf(0, 1), 404'766'720);

  const TrainingModel large(LargeModel(), 1024);
  EXPECT_EQ(large.ParametersOfLayer(), 855'654'400);
  EXPECT_EQ(large.Parameters(), 68'976'648'192);
  EXPECT_EQ(large.forward(false), Duration{2'362'273'955});
  EXPECT_EQ(large.Activation(), 67'108'864);
  EXPECT_EQ(large.PipelineMessage(), 67'108'864);
  int64_t inner = 0;
  for (uint32_t layer = 0; layer < 10; ++layer) inner += large.GradientsOf(3, layer);
  EXPECT_EQ(inner, 2'139'136'000);
  TrainingSettings scattered = LargeModel();
  scattered.scatter = true;
  EXPECT_EQ(TrainingModel(scattered, 1024).PipelineMessage(), 8'388'608);
}

// The gradients of all layers of all stages are those of all parameters. The embedding is in the
// first layer of all; the head, and the last norm, in the last.
TEST(TrainingModelTest, GradientsOfAllLayersAreThoseOfTheModel) {
  TrainingSettings settings;
  settings.model = {.layers = 12, .hidden = 6, .ffn = 10, .kv_hidden = 4, .vocab = 100, .seq = 3};
  settings.model.grad_element = Bytes{4};
  const int64_t layer = 2 * 6 * 6 + 2 * 6 * 4 + 3 * 6 * 10 + 2 * 6;
  for (const int64_t pipeline : {1, 2, 3, 12}) {
    settings.parallel.pipeline = pipeline;
    const TrainingModel model(settings, static_cast<uint32_t>(pipeline));
    EXPECT_EQ(model.ParametersOfLayer(), layer);
    EXPECT_EQ(model.Parameters(), 12 * layer + 2 * 100 * 6 + 6);
    EXPECT_EQ(model.layers_of_stage(), 12 / pipeline);
    int64_t all = 0;
    for (uint32_t stage = 0; stage < pipeline; ++stage) {
      for (uint32_t l = 0; l < model.layers_of_stage(); ++l) {
        const bool is_first = stage == 0 && l == 0;
        const bool is_last = stage + 1 == pipeline && l + 1 == model.layers_of_stage();
        const int64_t its = layer + (is_first ? 100 * 6 : 0) + (is_last ? 100 * 6 + 6 : 0);
        EXPECT_EQ(model.GradientsOf(stage, l), 4 * its) << pipeline << stage << l;
        all += model.GradientsOf(stage, l);
      }
    }
    EXPECT_EQ(all, 4 * model.Parameters());
  }
  // Ranks of a tensor group have a part each, rounded down to a parameter.
  settings.parallel.pipeline = 1;
  settings.parallel.tensor = 5;
  const TrainingModel shared(settings, 5);
  EXPECT_EQ(shared.ParametersOf(0, 1), layer / 5 * 2);
  EXPECT_EQ(shared.GradientsOf(0, 1), layer / 5 * 4);
  EXPECT_EQ(shared.GradientsOf(0, 0), (layer + 600) / 5 * 4);
}

TEST(TrainingModelTest, BytesFollowFromTokensAndElements) {
  TrainingSettings settings;
  settings.model = {.layers = 1, .hidden = 10, .ffn = 1, .kv_hidden = 1, .vocab = 1, .seq = 7};
  settings.model.micro_batch = 3;
  settings.model.element = Bytes{4};
  settings.parallel.tensor = 4;
  settings.moe.top_k = 6;
  const TrainingModel model(settings, 4);
  EXPECT_EQ(model.Activation(), 3 * 7 * 10 * 4);
  EXPECT_EQ(model.Dispatch(), 6 * 3 * 7 * 10 * 4);
  EXPECT_EQ(model.PipelineMessage(), 840);
  settings.scatter = true;
  EXPECT_EQ(TrainingModel(settings, 4).PipelineMessage(), 210);
  // Gradients have 2 bytes, parameters 4.
  EXPECT_EQ(model.ParametersFor(50), 100);
  settings.model.grad_element = Bytes{16};
  EXPECT_EQ(TrainingModel(settings, 4).ParametersFor(50), 13);  // 12.5, rounded.
  EXPECT_EQ(TrainingModel(settings, 4).ParametersFor(1), 1);    // At least a byte.
}

// A token takes two operations for each parameter, and 4 * hidden for each token of its sequence.
TEST(TrainingModelTest, TimesFollowFromTheModelOrAreGiven) {
  TrainingSettings settings;
  settings.model = {.layers = 1, .hidden = 10, .ffn = 6, .kv_hidden = 5, .vocab = 1, .seq = 7};
  settings.model.micro_batch = 3;
  settings.tera_flops = 0.5;
  const double flop = 21 * (2 * (200 + 100 + 180 + 20) + 4 * 7 * 10);
  EXPECT_EQ(TrainingModel(settings, 1).ForwardFlop(false), flop);
  EXPECT_EQ(TrainingModel(settings, 1).forward(false), Duration{2 * static_cast<int64_t>(flop)});
  EXPECT_EQ(TrainingModel(settings, 1).backward(false), Duration{4 * static_cast<int64_t>(flop)});
  // Each token goes through the networks of three experts, with 180 parameters each.
  settings.moe.top_k = 3;
  EXPECT_EQ(TrainingModel(settings, 1).ForwardFlop(true), flop + 21 * 2 * 2 * 180);
  EXPECT_EQ(TrainingModel(settings, 1).backward(true),
            Duration{4 * static_cast<int64_t>(flop + 21 * 2 * 2 * 180)});
  settings.parallel.tensor = 4;
  EXPECT_EQ(TrainingModel(settings, 4).forward(false), Duration{static_cast<int64_t>(flop) / 2});
  settings.compute.forward = 5_us;
  EXPECT_EQ(TrainingModel(settings, 4).forward(false), 5_us);
  EXPECT_EQ(TrainingModel(settings, 4).backward(false), 10_us);
  settings.compute.backward = 7_us;
  settings.optimizer = 3_us;
  EXPECT_EQ(TrainingModel(settings, 4).backward(false), 7_us);
  EXPECT_EQ(TrainingModel(settings, 4).optimizer(), 3_us);
  settings.compute.forward.reset();
  EXPECT_EQ(TrainingModel(settings, 4).backward(false), 7_us);
  // A layer that takes for ever takes 10^18 ps.
  settings.model.seq = 1 << 24;
  settings.tera_flops = 1e-12;
  EXPECT_EQ(TrainingModel(settings, 4).forward(false), Duration{1'000'000'000'000'000'000});
}

TEST(TrainingModelTest, AllBytesAndTimesAreScaled) {
  TrainingSettings settings;
  settings.model = {.layers = 1, .hidden = 10, .ffn = 1, .kv_hidden = 1, .vocab = 1, .seq = 7};
  settings.compute = {4_us, 9_us};
  settings.optimizer = 2_us;
  settings.bucket = Bytes{1'999};
  settings.scale = 0.25;
  const TrainingModel model(settings, 1);
  EXPECT_EQ(model.forward(false), 1_us);
  EXPECT_EQ(model.backward(false), Duration{2'250'000});
  EXPECT_EQ(model.optimizer(), 500_ns);
  EXPECT_EQ(model.Activation(), 35);
  EXPECT_EQ(model.ParametersOf(0, 0), (200 + 20 + 30 + 20 + 10 + 10 + 10) * 2 / 4);
  EXPECT_EQ(model.GradientsOf(0, 0), 150);
  EXPECT_EQ(model.Bucket(), 500);  // 499.75, rounded.
  settings.scale = 1e-9;
  EXPECT_EQ(TrainingModel(settings, 1).Activation(), 1);  // A byte at least.
  EXPECT_EQ(TrainingModel(settings, 1).Bucket(), 1);
}

// Every so many layers have experts, counted from the first stage's first.
TEST(TrainingModelTest, EverySoManyLayersHaveExperts) {
  TrainingSettings settings;
  settings.model.layers = 12;
  for (const int64_t every : {1, 2, 3, 5, 13}) {
    for (const int64_t pipeline : {1, 3}) {
      for (const int64_t expert : {1, 2}) {
        settings.moe.every = every;
        settings.parallel = {.tensor = 1, .pipeline = pipeline, .data = 2, .expert = expert};
        const TrainingModel model(settings, static_cast<uint32_t>(2 * pipeline));
        for (uint32_t layer = 0; layer < 12; ++layer) {
          const uint32_t of_stage = model.layers_of_stage();
          EXPECT_EQ(model.HasExperts(layer / of_stage, layer % of_stage),
                    expert > 1 && (layer + 1) % every == 0);
        }
      }
    }
  }
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
  std::map<std::string, double> bytes;
  int inner = 0;
  for (const Part& part : PartsOf(settings, 64)) {
    ++count[part.label];
    bytes[part.label] += part.bytes;
    inner += part.bytes == 63.0 * 404'766'720 ? 1 : 0;
  }
  EXPECT_EQ(count,
            (std::map<std::string, int>{{"gather parameters", 64}, {"reduce gradients", 32}}));
  EXPECT_EQ(inner, 3 * 30);  // The first layer has the embedding, too, and the last the head.
  EXPECT_EQ(bytes["reduce gradients"], 63 * 2 * 6'738'415'616.0);
  EXPECT_EQ(bytes["gather parameters"], 2 * 63 * 2 * 6'738'415'616.0);
}

// Two groups of two ranks share four experts. Ranks 0 and 2 have the same two of them, and so have
// 1 and 3; all four have the rest of the layer.
TEST(TrainingGraphTest, GradientsOfExpertsAreSummedByTheRanksThatHaveThem) {
  TrainingSettings settings;
  settings.model = {.layers = 1, .hidden = 10, .ffn = 7, .kv_hidden = 5, .vocab = 3, .seq = 1};
  settings.parallel = {.tensor = 1, .pipeline = 1, .data = 4, .expert = 2};
  settings.moe.experts = 4;
  const double shared = 2 * (200 + 100 + 20 + 2 * 30 + 10);  // With embedding, head and last norm.
  const double experts = 2 * 2 * 210;
  const auto labelled = [&](int64_t zero, const std::string& label) {
    settings.zero = zero;
    std::vector<Part> parts = PartsOf(settings, 4, /*rank=*/1);
    std::erase_if(parts, [&](const Part& part) { return part.label != label; });
    return parts;
  };
  using Parts = std::vector<Part>;
  EXPECT_EQ(labelled(0, "reduce gradients"), (Parts{{"reduce gradients", 4, 2 * 3 * shared},
                                                    {"reduce gradients", 2, 2 * 1 * experts}}));
  for (const int64_t zero : {1, 3}) {
    EXPECT_EQ(labelled(zero, "reduce gradients"),
              (Parts{{"reduce gradients", 4, 3 * shared}, {"reduce gradients", 2, experts}}));
  }
  EXPECT_EQ(labelled(1, "gather parameters"),
            (Parts{{"gather parameters", 4, 3 * shared}, {"gather parameters", 2, experts}}));
  EXPECT_EQ(labelled(3, "gather parameters").size(), 4u);  // Before both passes.
  const auto graph = MakeTrainingGraph(settings, 4);
  std::set<std::vector<uint32_t>> groups;
  for (const auto& its : graph->collectives()) {
    if (its.group_name.starts_with("expert_data")) groups.insert(its.group);
  }
  EXPECT_EQ(groups, (std::set<std::vector<uint32_t>>{{0, 2}, {1, 3}}));
  // Each rank has experts of its own: nothing to sum up.
  settings.parallel.expert = 4;
  EXPECT_EQ(labelled(0, "reduce gradients"), (Parts{{"reduce gradients", 4, 2 * 3 * shared}}));
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

// What a rank does, operation by operation, written apart from the simulator: 1F1B as in Narayanan
// et al. (SC 2021), and the layers of docs/experiments.md, for zero 0 to 2.
class Script {
 public:
  Script(const TrainingSettings& settings, uint32_t ranks, uint32_t rank)
      : settings_(settings), model_(settings, ranks), rank_(rank) {
    const uint32_t stage = Stage();
    const uint32_t batches = static_cast<uint32_t>(settings.model.micro_batches);
    const uint32_t stages = static_cast<uint32_t>(settings.parallel.pipeline);
    uint32_t forwards = 0;
    uint32_t backwards = 0;
    // A stage has at most so many micro batches under way as there are stages from it on.
    while (backwards < batches) {
      if (forwards < batches && forwards - backwards < stages - stage) {
        Forward(forwards++);
      } else {
        Backward(backwards++);
      }
    }
    Add(fmt::format("compute optimizer {}", settings.optimizer.ps));
    if (settings.zero == 0) return;
    for (const auto& [kind, bytes] : buckets_) {
      Collective(kind, "all_gather", model_.ParametersFor(bytes), "gather parameters");
    }
  }

  const std::vector<std::string>& lines() const { return lines_; }

 private:
  uint32_t Tensor() const { return static_cast<uint32_t>(settings_.parallel.tensor); }
  uint32_t Data() const { return static_cast<uint32_t>(*settings_.parallel.data); }
  uint32_t Expert() const { return static_cast<uint32_t>(settings_.parallel.expert); }
  uint32_t Stage() const { return rank_ / (Tensor() * Data()); }
  bool IsLastStage() const { return Stage() + 1 == settings_.parallel.pipeline; }

  void Add(std::string line) { lines_.push_back(std::move(line)); }

  // The ranks of the group: rank = (stage * data + d) * tensor + t.
  std::vector<uint32_t> GroupOf(const std::string& kind) const {
    std::vector<uint32_t> group;
    const auto d_of = [&](uint32_t rank) { return rank / Tensor() % Data(); };
    const uint32_t of_stage = Tensor() * Data();
    for (uint32_t other = Stage() * of_stage; other < (Stage() + 1) * of_stage; ++other) {
      const bool same_t = other % Tensor() == rank_ % Tensor();
      const bool same_d = d_of(other) == d_of(rank_);
      const bool same_e = d_of(other) / Expert() == d_of(rank_) / Expert();
      const bool same_experts = d_of(other) % Expert() == d_of(rank_) % Expert();
      const bool is_in = kind == "tensor"        ? same_d
                         : kind == "data"        ? same_t
                         : kind == "expert_data" ? same_t && same_experts
                                                 : same_t && same_e;
      if (is_in) group.push_back(other);
    }
    return group;
  }

  void Collective(const std::string& kind, const std::string& op, int64_t bytes,
                  const std::string& label) {
    const std::vector<uint32_t> group = GroupOf(kind);
    if (group.size() == 1) return;
    Add(fmt::format("{} {} {} of {}:{} [{}] bytes {}", label, op, turns_[kind]++, kind,
                    group.front(), fmt::join(group, ","), bytes));
  }
  void Sum() {
    const int64_t bytes = model_.Activation();
    if (!settings_.sequence_parallel) return Collective("tensor", "all_reduce", bytes, "tensor");
    Collective("tensor", "reduce_scatter", bytes, "tensor");
    Collective("tensor", "all_gather", bytes, "tensor");
  }

  void Message(const char* what, uint32_t stage, uint32_t batch, bool is_forward) {
    const uint32_t other = rank_ + stage * Tensor() * Data() - Stage() * Tensor() * Data();
    Add(fmt::format("{} {} tag {} bytes {}", what, other, 2 * batch + (is_forward ? 0 : 1),
                    model_.PipelineMessage()));
  }

  void Forward(uint32_t batch) {
    if (Stage() > 0) Message("recv", Stage() - 1, batch, true);
    Layers(true, false);
    if (!IsLastStage()) Message("send", Stage() + 1, batch, true);
  }
  void Backward(uint32_t batch) {
    if (!IsLastStage()) Message("recv", Stage() + 1, batch, false);
    Layers(false, batch + 1 == settings_.model.micro_batches && Data() > 1);
    if (Stage() > 0) Message("send", Stage() - 1, batch, false);
  }

  void Layers(bool is_forward, bool sums_up) {
    const std::string label = is_forward ? "forward" : "backward";
    const auto time = [&](bool has_experts) {
      return (is_forward ? model_.forward(has_experts) : model_.backward(has_experts)).ps;
    };
    const uint32_t layers = model_.layers_of_stage();
    if (Tensor() == 1 && Expert() == 1 && !sums_up) {
      return Add(fmt::format("compute {} {}", label, time(false) * layers));
    }
    std::map<std::string, int64_t> filled;  // By kind of group.
    for (uint32_t i = 0; i < layers; ++i) {
      const uint32_t layer = is_forward ? i : layers - 1 - i;
      const uint32_t number = Stage() * layers + layer + 1;
      const bool has_experts = Expert() > 1 && number % settings_.moe.every == 0;
      const int64_t ps = time(has_experts);
      if (Tensor() == 1 && !has_experts) {
        Add(fmt::format("compute {} {}", label, ps));
      } else {
        const std::string of = is_forward ? "" : " gradients";
        Add(fmt::format("compute {} {}", label, ps / 2));
        Sum();
        const std::string before = is_forward ? "dispatch" : "combine gradients";
        if (has_experts) Collective("expert", "all_to_all", model_.Dispatch(), before);
        Add(fmt::format("compute {} {}", label, ps - ps / 2));
        Sum();
        const std::string after = is_forward ? "combine" : "dispatch gradients";
        if (has_experts) Collective("expert", "all_to_all", model_.Dispatch(), after);
      }
      if (!sums_up) continue;
      filled["data"] += model_.GradientsOf(Stage(), layer);
      if (has_experts && Data() > Expert()) filled["expert_data"] += model_.ExpertGradients();
      for (auto& [kind, bytes] : filled) {
        while (bytes >= model_.Bucket()) SumUp(kind, bytes, model_.Bucket());
        if (i + 1 == layers && bytes > 0) SumUp(kind, bytes, bytes);
      }
    }
  }
  void SumUp(const std::string& kind, int64_t& filled, int64_t bytes) {
    filled -= bytes;
    buckets_.emplace_back(kind, bytes);
    Collective(kind, settings_.zero == 0 ? "all_reduce" : "reduce_scatter", bytes,
               "reduce gradients");
  }

  const TrainingSettings& settings_;
  const TrainingModel model_;
  const uint32_t rank_;
  std::map<std::string, int> turns_;                      // By kind of group.
  std::vector<std::pair<std::string, int64_t>> buckets_;  // With the kind of group.
  std::vector<std::string> lines_;
};

std::vector<std::string> LinesOf(const OperationGraph& graph, uint32_t rank) {
  std::vector<std::string> lines;
  for (const Operation& op : graph.OpsOf(rank)) {
    switch (op.kind) {
      case Operation::Kind::kCompute:
        EXPECT_EQ(op.stream, 0u);
        lines.push_back(fmt::format("compute {} {}", op.label, op.time.ps));
        break;
      case Operation::Kind::kCollective: {
        const auto& its = graph.collectives()[op.collective];
        lines.push_back(fmt::format("{} {} {} of {} [{}] bytes {}", op.label, its.operation.name,
                                    its.turn, its.group_name, fmt::join(its.group, ","),
                                    its.operation.bytes));
        break;
      }
      default:
        lines.push_back(
            fmt::format("{} {} tag {} bytes {}", WordOf(op.kind), op.peer, op.tag, op.bytes));
    }
  }
  return lines;
}

TEST(TrainingGraphTest, RanksDoWhatTheScriptSays) {
  for (const int64_t zero : {0, 1, 2}) {
    for (const int64_t tensor : {1, 2}) {
      for (const int64_t pipeline : {1, 2, 4}) {
        for (const int64_t data : {1, 2, 4}) {
          for (const int64_t expert : {1, 2}) {
            for (const int64_t batches : {1, 2, 5}) {
              if (data % expert != 0) continue;
              TrainingSettings settings;
              settings.model = {.layers = 4, .hidden = 6, .ffn = 5, .kv_hidden = 4, .vocab = 9};
              settings.model.seq = 3;
              settings.model.micro_batches = batches;
              settings.model.grad_element = Bytes{4};
              settings.parallel = {tensor, pipeline, data, expert};
              settings.moe.every = 2;
              settings.zero = zero;
              settings.sequence_parallel = batches == 2;
              settings.scatter = batches == 5;
              settings.compute = {Duration{1'001}, Duration{3'003}};
              settings.optimizer = Duration{77};
              // A last bucket of a byte, of several, and none.
              const int64_t gradients = TrainingModel(settings, 1).GradientsOf(0, 2);
              settings.bucket = Bytes{batches == 1 ? gradients - 1 : gradients / 2};
              const uint32_t ranks = static_cast<uint32_t>(tensor * pipeline * data);
              const auto graph = MakeTrainingGraph(settings, ranks);
              for (uint32_t rank = 0; rank < ranks; ++rank) {
                ASSERT_EQ(LinesOf(*graph, rank), Script(settings, ranks, rank).lines())
                    << zero << tensor << pipeline << data << expert << batches << " " << rank;
              }
            }
          }
        }
      }
    }
  }
}

// Each kind of group, and the pipeline, have channels of their own, so that none of their messages
// waits for one of the others.
TEST(TrainingGraphTest, GroupsHaveChannelsOfTheirOwn) {
  TrainingSettings settings;
  settings.model = {.layers = 2, .hidden = 6, .ffn = 5, .kv_hidden = 4, .vocab = 9, .seq = 3};
  settings.parallel = {2, 2, 4, 2};
  const auto graph = MakeTrainingGraph(settings, 16);
  std::map<std::string, std::set<uint32_t>> channels;
  for (const auto& collective : graph->collectives()) {
    for (uint64_t slot = 0; slot < collective.schedule->slots(); ++slot) {
      channels[collective.group_name.substr(0, collective.group_name.find(':'))].insert(
          collective.channel + collective.schedule->MessageOf(slot).channel);
    }
  }
  for (const Operation& op : graph->OpsOf(0)) {
    if (op.kind == Operation::Kind::kSend) channels["pipeline"].insert(op.channel);
  }
  EXPECT_EQ(channels.size(), 5u);
  std::set<uint32_t> all;
  size_t count = 0;
  for (const auto& [kind, its] : channels) {
    all.insert(its.begin(), its.end());
    count += its.size();
  }
  EXPECT_EQ(all.size(), count);
}

// ZeRO stage 3 (Rajbhandari et al., SC 2020), which PyTorch calls FSDP: each layer is gathered
// before each pass. Its gradients are reduced after the last backward pass.
TEST(TrainingGraphTest, ShardedLayersAreGatheredBeforeEachPass) {
  for (const int64_t prefetch : {0, 1, 2, 9}) {
    TrainingSettings settings;
    settings.model = {.layers = 3, .hidden = 6, .ffn = 5, .kv_hidden = 4, .vocab = 9, .seq = 3};
    settings.model.micro_batches = 2;
    settings.parallel.data = 2;
    settings.zero = 3;
    settings.prefetch = prefetch;
    settings.compute = {Duration{1'001}, Duration{3'003}};
    const auto graph = MakeTrainingGraph(settings, 2);
    std::map<std::string, int> count;
    for (const std::string& line : LinesOf(*graph, 1)) ++count[line.substr(0, line.find(" of"))];
    std::map<std::string, int> expected = {
        {"compute forward 1001", 6}, {"compute backward 3003", 6}, {"compute optimizer 0", 1}};
    // 3 gathers in each of 4 passes, and 3 sums.
    int gathers = 0;
    int sums = 0;
    for (const auto& [line, times] : count) {
      if (line.starts_with("compute")) continue;
      expected[line] = 1;
      (line.find(" all_gather ") != std::string::npos ? gathers : sums) += times;
    }
    EXPECT_EQ(gathers, 12);
    EXPECT_EQ(sums, 3);
    EXPECT_EQ(count, expected);
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

// Gathers take 100 ns. The first `prefetch` of them begin at once, one behind the other; each of
// the others begins with the layer that is so many before its own, if those before it are through.
TEST(TrainingTimesTest, AGatherBeginsSoManyLayersBefore) {
  const auto begins = [](int64_t prefetch) {
    TrainingSettings settings = TwoRanks(3);
    settings.prefetch = prefetch;
    const auto schedule = MakeGraphSchedule(MakeTrainingGraph(settings, 2));
    const TimedPlay play(*schedule, [](const Message& /*message*/) {
      return MessageTimes{Duration{100'000}, Duration{100'000}};
    });
    std::vector<int64_t> ns;
    for (const TimedPlay::Sent& sent : play.sent()) {
      if (schedule->MessageOf(sent.index).src == 0 && ns.size() < 4)
        ns.push_back(sent.at.ps / 1'000);
    }
    return ns;
  };
  EXPECT_EQ(begins(0), (std::vector<int64_t>{0, 1'100, 2'200, 3'300}));
  EXPECT_EQ(begins(1), (std::vector<int64_t>{0, 100, 1'100, 2'100}));
  EXPECT_EQ(begins(2), (std::vector<int64_t>{0, 100, 200, 1'100}));
  EXPECT_EQ(begins(3), (std::vector<int64_t>{0, 100, 200, 300}));
  EXPECT_EQ(begins(9), (std::vector<int64_t>{0, 100, 200, 300}));
}

// A rank without others that have the same part of the model has nothing to gather.
TEST(TrainingGraphTest, ARankAloneGathersNothing) {
  for (const int64_t zero : {0, 1, 2, 3}) {
    TrainingSettings settings = TwoRanks(zero);
    settings.parallel.pipeline = 2;
    EXPECT_TRUE(PartsOf(settings, 2).empty()) << zero;
  }
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
