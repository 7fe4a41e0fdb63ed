// SPDX-License-Identifier: Apache-2.0
// Whole runs of training steps.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>

#include "tests/support/experiment_kit.h"
#include "tests/support/thread_counts.h"

namespace heddle::training_test {

std::string TrainingOn(int hosts, const std::string& job) {
  return OnAStar(hosts, "kind: training, " + job);
}

// Four stages, eight micro batches of 100 us forwards and 200 us backwards, messages of 1 MB. An
// event-driven model, written apart from the simulator, gives this time; without messages it would
// be 11 * 300 us.
TEST(TrainingTest, APipelineTakesTheTimeOfAnIndependentModel) {
  const FinishedRun run = RunExperiment(ExperimentFrom(
      TrainingOn(4,
                 "ranks: 4, model: {layers: 4, hidden: 500000, seq: 1, micro_batches: 8},\n"
                 "  parallel: {pipeline: 4}, compute: {forward: 100us, backward: 200us}")));
  EXPECT_EQ(run.result.unfinished, 0);
  const CsvTable iterations(run.files.series.at("iterations.csv"));
  ASSERT_EQ(iterations.rows.size(), 1u);
  EXPECT_EQ(iterations.Integer(0, "end_ps"), 4'674'815'040);
  const CsvTable jobs(run.files.series.at("jobs.csv"));
  EXPECT_EQ(jobs.At(0, "kind"), "training");
  EXPECT_GE(jobs.Real(0, "slowdown"), 1);
  // Each stage computes 8 * 300 us; the rest of its time is exposed.
  EXPECT_DOUBLE_EQ(jobs.Real(0, "compute_us"), 2400);
  EXPECT_EQ(CsvTable(run.files.flows).rows.size(), 2u * 3 * 8);
}

const std::string kMixed =
    "topology: {kind: rail, pods: 2, servers: 2, rails: 4, spines: 2,\n"
    "  host_link: {rate: 100Gbps, delay: 100ns}, fabric_link: {rate: 100Gbps, delay: 500ns}}\n"
    "transport: {kind: rocev2, cc: dcqcn}\n"
    "lb: letflow\n"
    "workload:\n"
    "  - {kind: training, ranks: 16, model: {layers: 4, hidden: 256, ffn: 512, kv_hidden: 256,\n"
    "     vocab: 1000, seq: 128, micro_batches: 2}, parallel: {tensor: 2, pipeline: 2, expert: "
    "2},\n"
    "     tera_flops: 10, scale: 1/10, iterations: 2, warm_up: 1, zero: {zero}}\n";

std::string Mixed(int zero) {
  std::string yaml = kMixed;
  return yaml.replace(yaml.find("{zero}"), 6, std::to_string(zero));
}

TEST(TrainingTest, ThreadsDoNotChangeResults) {
  for (const int zero : {0, 1, 3}) {
    const Experiment experiment = ExperimentFrom(Mixed(zero));
    const FinishedRun one = RunExperiment(experiment);
    EXPECT_EQ(one.result.unfinished, 0);
    EXPECT_GE(CsvTable(one.files.series.at("jobs.csv")).Real(0, "slowdown"), 1);
    for (const int threads : ThreadCounts({2, 3})) {
      EXPECT_TRUE(RunExperiment(experiment, threads).files == one.files) << zero << threads;
    }
  }
}

// FSDP of two ranks and two layers: parameters are gathered for the forward and the backward pass,
// gradients are summed up behind it.
TEST(TrainingTest, CollectivesOfAStepHaveRows) {
  const FinishedRun run = RunExperiment(ExperimentFrom(
      TrainingOn(4,
                 "ranks: 4, model: {layers: 2, hidden: 100, ffn: 100, kv_hidden: 100, vocab: 10,\n"
                 "  seq: 10}, parallel: {tensor: 2}, zero: 3, iterations: 2, between: barrier,\n"
                 "  compute: {forward: 100us, backward: 200us}, algorithms: {all_gather: pat}")));
  const CsvTable table(run.files.series.at("collectives.csv"));
  // Each of the two groups of data parallelism gathers four times and sums up twice; each of the
  // two groups of tensor parallelism sums up twice a layer, forwards and backwards.
  ASSERT_EQ(table.rows.size(), 2u * (2 * 6 + 2 * 8));
  std::map<std::string, int64_t> turns;
  std::map<std::string, int> operations;
  for (size_t row = 0; row < table.rows.size(); ++row) {
    const std::string group(table.At(row, "group"));
    const std::string iteration(table.At(row, "iter"));
    EXPECT_EQ(table.Integer(row, "seq"), turns[iteration + group]++);
    EXPECT_EQ(table.Integer(row, "ranks"), 2);
    EXPECT_GE(table.Real(row, "slowdown"), 1);
    EXPECT_EQ(table.Integer(row, "messages"),
              group.starts_with("data") && table.At(row, "op") != "all_reduce" ? 2 : 4);
    EXPECT_DOUBLE_EQ(
        table.Real(row, "cct_us"),
        static_cast<double>(table.Integer(row, "end_ps") - table.Integer(row, "start_ps")) * 1e-6);
    ++operations[group + " " + std::string(table.At(row, "op")) + " " +
                 std::string(table.At(row, "algorithm"))];
  }
  EXPECT_EQ(operations, (std::map<std::string, int>{{"data:0 all_gather pat", 8},
                                                    {"data:0 reduce_scatter ring", 4},
                                                    {"data:1 all_gather pat", 8},
                                                    {"data:1 reduce_scatter ring", 4},
                                                    {"tensor:0 all_reduce ring", 16},
                                                    {"tensor:2 all_reduce ring", 16}}));
  // The first gather of the first layer begins with the step, and the layer waits for it.
  EXPECT_EQ(table.Integer(0, "start_ps"), 0);
  // It has the embedding, too, of 10 words.
  EXPECT_EQ(table.Integer(0, "bytes"), (7 * 100 * 100 + 2 * 100 + 10 * 100) / 2 * 2);
}

// Retransmissions of a step's collectives, of pipeline messages and of barriers are told apart.
TEST(TrainingTest, RetransmissionsBelongToTheirCollectives) {
  const Experiment experiment = ExperimentFrom(
      "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4}\n"
      "transport: {kind: rocev2, recovery: irn}\n"
      "lb: ecmp\n"
      "workload:\n"
      "  - {kind: training, ranks: 8, model: {layers: 2, hidden: 200, ffn: 100, kv_hidden: 100,\n"
      "     vocab: 10, seq: 100}, parallel: {pipeline: 2}, iterations: 2, between: barrier}\n"
      "schedule: [{at: 0ps, switches: [leaf0, leaf1], loss: 0.02}]\n");
  const FinishedRun run = RunExperiment(experiment);
  EXPECT_EQ(run.result.unfinished, 0);
  const CsvTable collectives(run.files.series.at("collectives.csv"));
  const CsvTable flows(run.files.flows);
  // A pipeline's message goes from one stage to the other, that of a barrier has one byte.
  std::map<std::string, int64_t> expected;
  int64_t others = 0;
  for (size_t row = 0; row < flows.rows.size(); ++row) {
    const int64_t src = flows.Integer(row, "src");
    const bool crosses = src / 4 != flows.Integer(row, "dst") / 4;
    const bool is_part = !crosses && flows.Integer(row, "size_bytes") > 1;
    (is_part ? expected[std::string(flows.At(row, "iter")) + " data:" + std::to_string(src / 4 * 4)]
             : others) += flows.Integer(row, "retx");
  }
  std::map<std::string, int64_t> counted;
  for (size_t row = 0; row < collectives.rows.size(); ++row) {
    counted[std::string(collectives.At(row, "iter")) + " " +
            std::string(collectives.At(row, "group"))] += collectives.Integer(row, "retx");
  }
  EXPECT_EQ(counted, expected);
  EXPECT_GT(others, 0);
  EXPECT_GT(counted["0 data:0"], 0);
}

TEST(TrainingTest, WarnsOfATensorGroupOverSeveralServers) {
  const auto warnings = [](const std::string& servers) {
    const Experiment experiment =
        ExperimentFrom(TrainingOn(8, "ranks: 8, parallel: {tensor: 4}, scale: 1/1000, " + servers));
    return fmt::format("{}", fmt::join(experiment.warnings, "\n"));
  };
  EXPECT_NE(warnings("ranks_per_host: 1")
                .find("the tensor group of ranks 0 to 3 is on several "
                      "servers"),
            std::string::npos);
  EXPECT_NE(warnings("domain_hosts: 2").find("the tensor group of ranks 0 to 3"),
            std::string::npos);
  for (const char* server : {"ranks_per_host: 4", "domain_hosts: 4", "domain_hosts: 8",
                             "ranks_per_host: 2, domain_hosts: 2"}) {
    EXPECT_EQ(warnings(server).find("tensor group"), std::string::npos) << server;
  }
  // Of three hosts a server, the second begins within the first group.
  EXPECT_NE(warnings("domain_hosts: 3").find("ranks 0 to 3"), std::string::npos);
}

TEST(TrainingTest, RefusesWhatDoesNotDivide) {
  const auto errors = [](const std::string& job) { return ErrorsOf(TrainingOn(8, job)); };
  EXPECT_NE(errors("ranks: 8, parallel: {tensor: 2, data: 3}")
                .find("tensor 2 x pipeline 1 x data 3 is 6, not the 8 ranks"),
            std::string::npos);
  EXPECT_NE(errors("ranks: 6, parallel: {pipeline: 3}").find("32 layers do not divide into 3"),
            std::string::npos);
  EXPECT_NE(errors("ranks: 8, parallel: {expert: 3}").find("do not divide into groups of 3"),
            std::string::npos);
}

}  // namespace heddle::training_test
