// SPDX-License-Identifier: Apache-2.0
// The settings of jobs and of training steps: defaults and limits as docs/settings.md has them,
// what is wrong with settings that do not fit together, and where ranks are placed.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "settings/files_read.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/printers.h"
#include "workload/jobs/critical_path.h"
#include "workload/jobs/job.h"
#include "workload/workload.h"

namespace heddle::job_settings_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// --- Defaults and limits ---

// Notes every scalar of a workload by its path.
class Scalars final : public Fields {
 public:
  explicit Scalars(const std::string& kind) : workload_(Workloads().Make(kind)) {
    workload_.settings->Declare(*this);
  }

  const Scalar& At(const std::string& path) const { return all_.at(path); }
  bool Takes(const std::string& path, const std::string& text) const {
    return !At(path).parse(text);
  }

 protected:
  void OnScalar(std::string_view name, const Scalar& scalar, Presence /*presence*/,
                std::string_view /*meaning*/) override {
    all_.emplace(prefix_ + std::string(name), scalar);
  }
  void OnScalars(std::string_view name, size_t /*count*/,
                 const std::function<void(size_t)>& /*resize*/,
                 const std::function<Scalar(size_t)>& /*at*/, Presence /*presence*/,
                 std::string_view /*meaning*/, const std::string& type) override {
    lists_.emplace(name, type);
  }
  void OnBlock(std::string_view name, const Block& block, Presence /*presence*/,
               std::string_view /*meaning*/) override {
    const std::string outer = prefix_;
    prefix_ += std::string(name) + ".";
    block.declare(*this);
    prefix_ = outer;
  }
  void OnBlocks(std::string_view /*name*/, size_t /*count*/,
                const std::function<void(size_t)>& /*resize*/,
                const std::function<Block(size_t)>& /*at*/, Presence /*presence*/,
                std::string_view /*meaning*/) override {}

 private:
  Chosen<Workload> workload_;
  std::map<std::string, Scalar> all_;
  std::map<std::string, std::string> lists_;
  std::string prefix_;
};

// The values at the ends of the range are allowed, those just beyond are not.
struct Limits {
  std::string path;
  std::string preset;
  std::string least;
  std::string too_small;
  std::string most = {};  // Empty: no limit.
  std::string too_large = {};
};

void Check(const Scalars& scalars, const Limits& its) {
  SCOPED_TRACE(its.path);
  EXPECT_EQ(scalars.At(its.path).text(), its.preset);
  EXPECT_TRUE(scalars.Takes(its.path, its.least));
  EXPECT_FALSE(scalars.Takes(its.path, its.too_small));
  if (its.most.empty()) return;
  EXPECT_TRUE(scalars.Takes(its.path, its.most));
  EXPECT_FALSE(scalars.Takes(its.path, its.too_large));
}

TEST(TrainingSettingsTest, HaveTheDocumentedDefaultsAndLimits) {
  const Scalars scalars("training");
  for (const Limits& its : std::vector<Limits>{
           {"model.layers", "32", "1", "0", "10000", "10001"},
           {"model.hidden", "4096", "1", "0", "16777216", "16777217"},
           {"model.ffn", "11008", "1", "0", "16777216", "16777217"},
           {"model.kv_hidden", "4096", "1", "0", "16777216", "16777217"},
           {"model.vocab", "32000", "1", "0", "16777216", "16777217"},
           {"model.seq", "4096", "1", "0", "16777216", "16777217"},
           {"model.micro_batch", "1", "1", "0", "65536", "65537"},
           {"model.micro_batches", "1", "1", "0", "65536", "65537"},
           {"model.element", "2B", "1B", "0B", "16B", "17B"},
           {"model.grad_element", "2B", "1B", "0B", "16B", "17B"},
           {"parallel.tensor", "1", "1", "0", "65536", "65537"},
           {"parallel.pipeline", "1", "1", "0", "65536", "65537"},
           {"parallel.data", "auto", "1", "0", "1048576", "1048577"},
           {"parallel.expert", "1", "1", "0", "65536", "65537"},
           {"zero", "0", "0", "-1", "3", "4"},
           {"bucket", "26214400B", "1B", "0B"},
           {"prefetch", "1", "0", "-1", "10000", "10001"},
           {"moe.top_k", "2", "1", "0", "64", "65"},
           {"moe.every", "1", "1", "0", "10000", "10001"},
           {"tera_flops", "400", "1e-9", "0", "1e9", "1000000001"},
           {"compute.forward", "auto", "0ps", "-1ps", "1000s", "1000000000001ns"},
           {"compute.backward", "auto", "0ps", "-1ps", "1000s", "1000000000001ns"},
           {"optimizer", "0ps", "0ps", "-1ps", "1000s", "1000000000001ns"},
           {"scale", "1", "1e-9", "0", "1", "1.001"},
       }) {
    Check(scalars, its);
  }
  for (const char* path : {"all_reduce", "all_gather", "reduce_scatter"}) {
    EXPECT_EQ(scalars.At("algorithms." + std::string(path)).text(), "ring");
  }
  EXPECT_TRUE(scalars.Takes("algorithms.all_reduce", "tree"));
  EXPECT_TRUE(scalars.Takes("algorithms.all_gather", "bruck"));
  EXPECT_TRUE(scalars.Takes("algorithms.reduce_scatter", "pat"));
  EXPECT_EQ(scalars.At("sequence_parallel").text(), "false");
  EXPECT_EQ(scalars.At("scatter").text(), "false");
}

TEST(JobSettingsTest, HaveTheDocumentedDefaultsAndLimits) {
  for (const char* kind : {"training", "collective"}) {
    SCOPED_TRACE(kind);
    const Scalars scalars(kind);
    for (const Limits& its : std::vector<Limits>{
             {"ranks", "0", "2", "1", "1048576", "1048577"},
             {"ranks_per_host", "1", "1", "0", "65536", "65537"},
             {"domain_hosts", "1", "1", "0", "65536", "65537"},
             {"start", "0ps", "0ps", "-1ps", "1000s", "1000000000001ns"},
             {"iterations", "1", "1", "0", "4294967295", "4294967296"},
             {"warm_up", "0", "0", "-1", "4294967295", "4294967296"},
             {"release_delay", "auto", "1ps", "0ps", "1s", "1000000001ns"},
             {"gap", "0ps", "0ps", "-1ps", "1000s", "1000000000001ns"},
             {"jitter", "0ps", "0ps", "-1ps", "1000s", "1000000000001ns"},
             {"qps", "1", "1", "0", "256", "257"},
             {"unfinished", "unlimited", "1", "0", "1048576", "1048577"},
             {"overhead", "0ps", "0ps", "-1ps", "1s", "1000000001ns"},
             {"local_rate", "3600Gbps", "1bps", "0bps"},
             {"local_latency", "1us", "0ps", "-1ps", "1s", "1000000001ns"},
         }) {
      Check(scalars, its);
    }
    for (const auto& [path, words] : std::map<std::string, std::vector<std::string>>{
             {"placement", {"packed", "cyclic", "spread", "random", "list"}},
             {"nic", {"hash", "by_rank"}},
             {"share_hosts", {"false", "true"}},
             {"between", {"none", "barrier", "ideal"}},
             {"connections", {"ordered", "free"}},
             {"ports", {"connection", "message"}},
             {"send_done", {"acked", "handed", "posted"}}}) {
      SCOPED_TRACE(path);
      EXPECT_EQ(scalars.At(path).text(), words.front());
      for (const std::string& word : words) {
        EXPECT_TRUE(scalars.Takes(path, word)) << word;
        EXPECT_EQ(scalars.At(path).text(), word);
      }
    }
    EXPECT_EQ(scalars.At("label").text(), "");
  }
}

// --- What does not fit together ---

std::string TrainingErrors(const std::string& settings) {
  return WorkloadErrors("{kind: training, " + settings + "}", StageOf(4, 4));
}

TEST(TrainingSettingsTest, WorkIsSharedByAllRanks) {
  const std::string small = "model: {layers: 4, hidden: 8, ffn: 8, kv_hidden: 8, vocab: 8, seq: 8}";
  // tensor x pipeline x data; data is the rest if nothing is said.
  for (int64_t tensor = 1; tensor <= 4; ++tensor) {
    for (int64_t pipeline = 1; pipeline <= 5; ++pipeline) {
      for (int64_t data = 0; data <= 4; ++data) {  // 0: auto.
        for (const int64_t ranks : {2, 4, 6, 8, 12, 16}) {
          const int64_t groups =
              data > 0 ? data : std::max<int64_t>(ranks / (tensor * pipeline), 1);
          const std::string its =
              fmt::format("ranks: {}, {}, parallel: {{tensor: {}, pipeline: {}, data: {}}}", ranks,
                          small, tensor, pipeline, data > 0 ? std::to_string(data) : "auto");
          std::string expected;
          if (tensor * pipeline * groups != ranks) {
            expected += fmt::format(
                "workload.parallel: tensor {} x pipeline {} x data {} is {}, "
                "not the {} ranks\n",
                tensor, pipeline, groups, tensor * pipeline * groups, ranks);
          }
          if (4 % pipeline != 0) {
            expected += fmt::format(
                "workload.parallel.pipeline: 4 layers do not divide into {} stages\n", pipeline);
          }
          const std::string errors = TrainingErrors(its);
          if (expected.empty()) {
            EXPECT_EQ(errors, "") << its;
            continue;
          }
          for (size_t at = 0; at < expected.size();) {
            const size_t end = expected.find('\n', at);
            EXPECT_THAT(errors, HasSubstr(expected.substr(at, end - at))) << its;
            at = end + 1;
          }
          EXPECT_EQ(std::ranges::count(errors, '\n'), std::ranges::count(expected, '\n') + 1)
              << its << errors;
        }
      }
    }
  }
}

TEST(TrainingSettingsTest, GroupsOfExpertsDivideDataParallelism) {
  const std::string small = "model: {layers: 2, hidden: 8, ffn: 8, kv_hidden: 8, vocab: 8, seq: 8}";
  for (int64_t expert = 1; expert <= 9; ++expert) {
    const std::string errors =
        TrainingErrors(fmt::format("ranks: 8, {}, parallel: {{expert: {}}}", small, expert));
    if (8 % expert == 0) {
      EXPECT_EQ(errors, "") << expert;
    } else {
      EXPECT_THAT(errors, HasSubstr(fmt::format("workload.parallel.expert: 8 ranks of data "
                                                "parallelism do not divide into groups of {}",
                                                expert)));
    }
  }
}

// All ranks of a group of experts send to each other at once, so it has 256 ranks at most.
TEST(TrainingSettingsTest, AGroupOfExpertsHas256RanksAtMost) {
  const auto errors = [](int64_t expert) {
    return WorkloadErrors(
        fmt::format("{{kind: training, ranks: {0}, ranks_per_host: 65, parallel: {{expert: {0}}}, "
                    "model: {{layers: 1, hidden: 1, ffn: 1, kv_hidden: 1, vocab: 1, seq: 1}}, "
                    "moe: {{every: 2}}}}",
                    expert),
        StageOf(4, 4));
  };
  EXPECT_EQ(errors(256), "");
  EXPECT_THAT(errors(257), HasSubstr("workload.parallel.expert: is more than 256"));
}

std::vector<std::string> JobWarnings(const std::string& yaml, const Stage& stage) {
  const auto workload = WorkloadFrom(yaml, stage);
  const std::vector<std::string> warnings = WarningsOf(*workload.settings, stage);
  // What has been prepared twice is as if once.
  EXPECT_EQ(workload.settings->HostsOfJob().size(),
            workload.settings->MakeJob(1)->schedule().ranks());
  return warnings;
}

// A tensor group is `tensor` ranks in a row; it belongs on one server.
TEST(TrainingSettingsTest, ATensorGroupOnSeveralServersIsWarnedOf) {
  const auto warnings = [](int64_t tensor, const std::string& where) {
    return JobWarnings(
        fmt::format("{{kind: training, ranks: 8, parallel: {{tensor: {}}}, {}, model: {{layers: 2, "
                    "hidden: 8, ffn: 8, kv_hidden: 8, vocab: 8, seq: 8}}}}",
                    tensor, where),
        StageOf(2, 4));
  };
  // The first group that is divided is named.
  const auto warned = [](uint32_t first, int64_t tensor) {
    return ElementsAre(HasSubstr(fmt::format(
        "workload.parallel.tensor: the tensor group of ranks {} to {} is on several servers, so "
        "its all-reduces go over the network; set ranks_per_host or domain_hosts so that {} ranks "
        "share a server",
        first, first + tensor - 1, tensor)));
  };
  EXPECT_THAT(warnings(1, "ranks_per_host: 1"), IsEmpty());
  EXPECT_THAT(warnings(2, "ranks_per_host: 1"), warned(0, 2));
  EXPECT_THAT(warnings(4, "ranks_per_host: 2"), warned(0, 4));
  EXPECT_THAT(warnings(2, "ranks_per_host: 2"), IsEmpty());
  EXPECT_THAT(warnings(4, "ranks_per_host: 4"), IsEmpty());
  EXPECT_THAT(warnings(8, "ranks_per_host: 4"), warned(0, 8));
  EXPECT_THAT(warnings(4, "domain_hosts: 4"), IsEmpty());
  EXPECT_THAT(warnings(8, "domain_hosts: 4, ranks_per_host: 2"), IsEmpty());
  EXPECT_THAT(warnings(8, "domain_hosts: 4"), warned(0, 8));
  // Three ranks on a host: only the second group (ranks 2 and 3) is divided.
  EXPECT_THAT(warnings(2, "ranks_per_host: 3"), warned(2, 2));
  const std::string listed = "ranks_per_host: 4, placement: list, placement_list: [0, 0, 0, 0, ";
  EXPECT_THAT(warnings(4, listed + "1, 1, 1, 1]"), IsEmpty());
  EXPECT_THAT(warnings(4, listed + "1, 1, 1, 2]"), warned(4, 4));
  EXPECT_THAT(warnings(2, listed + "1, 2, 2, 2]"), warned(4, 2));
  // The first of two divided groups is named.
  EXPECT_THAT(
      warnings(2, "ranks_per_host: 4, placement: list, placement_list: [0, 0, 0, 1, 1, 2, 2, 2]"),
      warned(2, 2));
}

std::string JobErrors(const std::string& settings, const Stage& stage = StageOf(2, 4)) {
  return WorkloadErrors("{kind: collective, op: all_reduce, size: 64KB, " + settings + "}", stage);
}

TEST(JobSettingsTest, SomeGoOnlyWithOthers) {
  const std::string unfinished = "workload.unfinished: goes with connections: ordered";
  EXPECT_EQ(JobErrors("ranks: 4, unfinished: 1"), "");
  EXPECT_EQ(JobErrors("ranks: 4, connections: free"), "");
  EXPECT_THAT(JobErrors("ranks: 4, unfinished: 1, connections: free"), HasSubstr(unfinished));
  const std::string latency =
      "workload.local_latency: must be at least 100ns if servers have several hosts (domain_hosts)";
  EXPECT_EQ(JobErrors("ranks: 4, local_latency: 0ps"), "");
  EXPECT_EQ(JobErrors("ranks: 4, domain_hosts: 2, local_latency: 100ns"), "");
  EXPECT_THAT(JobErrors("ranks: 4, domain_hosts: 2, local_latency: 99999ps"), HasSubstr(latency));
  EXPECT_EQ(JobErrors("ranks: 4, iterations: 3, warm_up: 2"), "");
  EXPECT_THAT(JobErrors("ranks: 4, iterations: 3, warm_up: 3"),
              HasSubstr("workload.warm_up: leaves no iteration to measure"));
  const std::string list = "workload.placement_list: goes with placement: list";
  EXPECT_THAT(JobErrors("ranks: 4, placement: list"), HasSubstr(list));
  EXPECT_THAT(JobErrors("ranks: 4, placement_list: [0, 1, 2, 3]"), HasSubstr(list));
  EXPECT_EQ(JobErrors("ranks: 4, placement: list, placement_list: [0, 1, 2, 3]"), "");
}

TEST(JobSettingsTest, HostsAreNumbersAndRanges) {
  const auto refused = [](const std::string& text) {
    return HasSubstr(
        fmt::format("workload.hosts[1]: \"{}\" is neither a host's number nor a range "
                    "such as \"0-15\"",
                    text));
  };
  for (const char* text : {"x", "", "1x", "5-4", "-", "3-", "-3", "1-2-3", "1 ", "99999999999"}) {
    EXPECT_THAT(JobErrors(fmt::format("ranks: 2, hosts: [\"0-7\", \"{}\"]", text)), refused(text));
  }
  for (const char* text : {"8", "0-8", "65543"}) {
    EXPECT_THAT(JobErrors(fmt::format("ranks: 2, hosts: [\"0-7\", \"{}\"]", text)),
                HasSubstr("workload.hosts[1]: there is no host"));
  }
  EXPECT_THAT(JobErrors("ranks: 2, hosts: [\"3-8\"]"),
              HasSubstr("there is no host 8; there are 8, numbered from 0"));
  EXPECT_EQ(JobErrors("ranks: 2, hosts: [\"7\", \"3-3\"]"), "");
}

TEST(JobSettingsTest, RanksNeedHosts) {
  const auto refused = [](int ranks, int per_host, int needed, int there) {
    return HasSubstr(
        fmt::format("workload.ranks: {} ranks at {} a host need {} hosts, there are {}", ranks,
                    per_host, needed, there));
  };
  EXPECT_EQ(JobErrors("ranks: 8"), "");
  EXPECT_THAT(JobErrors("ranks: 9"), refused(9, 1, 9, 8));
  EXPECT_EQ(JobErrors("ranks: 16, ranks_per_host: 2"), "");
  EXPECT_THAT(JobErrors("ranks: 17, ranks_per_host: 2"), refused(17, 2, 9, 8));
  EXPECT_EQ(JobErrors("ranks: 5, ranks_per_host: 2, hosts: [\"2-4\"]"), "");
  EXPECT_EQ(JobErrors("ranks: 6, ranks_per_host: 2, hosts: [\"2-4\"]"), "");
  EXPECT_THAT(JobErrors("ranks: 7, ranks_per_host: 2, hosts: [\"2-4\"]"), refused(7, 2, 4, 3));
}

TEST(JobSettingsTest, AListNamesAHostOfTheJobForEachRank) {
  const std::string list = "placement: list, placement_list: ";
  EXPECT_THAT(JobErrors("ranks: 4, " + list + "[0, 1, 2]"),
              HasSubstr("workload.placement_list: names 3 hosts for 4 ranks"));
  EXPECT_THAT(JobErrors("ranks: 2, " + list + "[0, 1, 2]"),
              HasSubstr("workload.placement_list: names 3 hosts for 2 ranks"));
  for (const int64_t host : {1, 5, 8, 65'535, 65'536, 65'538}) {  // 65538 is 2 in 16 bits.
    EXPECT_THAT(JobErrors(fmt::format("ranks: 2, hosts: [\"2-4\"], {}[3, {}]", list, host)),
                HasSubstr(fmt::format(
                    "workload.placement_list[1]: host {} is not among the job's hosts", host)));
  }
  EXPECT_EQ(JobErrors("ranks: 2, hosts: [\"2-4\"], " + list + "[4, 2]"), "");
  EXPECT_THAT(JobErrors("ranks: 3, " + list + "[0, 1, 0]"),
              HasSubstr("workload.placement_list[2]: gives host 0 more than 1 rank; "
                        "ranks_per_host allows no more"));
  EXPECT_THAT(JobErrors("ranks: 5, ranks_per_host: 2, " + list + "[0, 1, 0, 1, 0]"),
              HasSubstr("workload.placement_list[4]: gives host 0 more than 2 ranks; "
                        "ranks_per_host allows no more"));
  EXPECT_EQ(JobErrors("ranks: 4, ranks_per_host: 2, " + list + "[0, 1, 0, 1]"), "");
}

// --- Placement ---

std::vector<HostId> HostsOf(const std::string& settings, const Stage& stage = StageOf(2, 4)) {
  const auto workload =
      WorkloadFrom("{kind: collective, op: all_reduce, size: 64KB, " + settings + "}", stage);
  const auto hosts = workload.settings->HostsOfJob();
  return {hosts.begin(), hosts.end()};
}

TEST(PlacementTest, IsAsTheSettingsSay) {
  const std::string two = "ranks_per_host: 2, ";
  EXPECT_THAT(HostsOf("ranks: 4"), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(HostsOf(two + "ranks: 5"), ElementsAre(0, 0, 1, 1, 2));
  // Ranks go round as many hosts as they need.
  EXPECT_THAT(HostsOf(two + "ranks: 5, placement: cyclic"), ElementsAre(0, 1, 2, 0, 1));
  EXPECT_THAT(HostsOf("ranks: 3, placement: cyclic"), ElementsAre(0, 1, 2));
  // Leaves have hosts 0 to 3 and 4 to 7.
  EXPECT_THAT(HostsOf("ranks: 5, placement: spread"), ElementsAre(0, 4, 1, 5, 2));
  EXPECT_THAT(HostsOf(two + "ranks: 6, placement: spread"), ElementsAre(0, 0, 4, 4, 1, 1));
  EXPECT_THAT(HostsOf("ranks: 5, placement: spread, hosts: [\"1-2\", \"5-7\"]"),
              ElementsAre(1, 5, 2, 6, 7));
  EXPECT_THAT(HostsOf("ranks: 4, hosts: [\"6\", \"1-3\"]"), ElementsAre(1, 2, 3, 6));
  EXPECT_THAT(HostsOf(two + "ranks: 4, placement: list, placement_list: [7, 0, 0, 7]"),
              ElementsAre(7, 0, 0, 7));
}

// Each host is as likely as any other to be the first; which it is depends on the seed.
TEST(PlacementTest, RandomIsARandomOrderOfAllHosts) {
  std::set<HostId> firsts;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Stage stage = StageOf(2, 4);
    stage.seed = seed;
    const std::vector<HostId> hosts =
        HostsOf("ranks: 16, ranks_per_host: 2, placement: random", stage);
    EXPECT_EQ(hosts, HostsOf("ranks: 16, ranks_per_host: 2, placement: random", stage));
    std::set<HostId> all;
    for (size_t rank = 0; rank < 16; rank += 2) {
      EXPECT_EQ(hosts[rank], hosts[rank + 1]);
      all.insert(hosts[rank]);
    }
    EXPECT_EQ(all.size(), 8u);
    firsts.insert(hosts.front());
  }
  EXPECT_GT(firsts.size(), 5u);  // Of 8, in 40 draws; fewer than six would be a chance of 1e-8.
}

// --- NICs ---

TEST(JobSettingsTest, NicsByRankNeedHostsWithSeveral) {
  const std::string yaml = "{kind: collective, op: all_reduce, size: 64KB, ranks: 4, nic: ";
  Stage stage = StageOf(2, 4);
  const auto changes_nothing =
      ElementsAre(HasSubstr("workload.nic: changes nothing: each host of the job has one link"));
  EXPECT_THAT(JobWarnings(yaml + "hash}", stage), IsEmpty());
  EXPECT_THAT(JobWarnings(yaml + "by_rank}", stage), changes_nothing);
  stage.links_of_host[4] = 2;  // A host without ranks.
  EXPECT_THAT(JobWarnings(yaml + "by_rank}", stage), changes_nothing);
  stage.links_of_host[3] = 2;
  EXPECT_THAT(JobWarnings(yaml + "by_rank}", stage), IsEmpty());
  stage.has_several_leaves[4] = true;
  EXPECT_THAT(JobWarnings(yaml + "by_rank}", stage), IsEmpty());
  stage.has_several_leaves[3] = true;
  EXPECT_THAT(JobWarnings(yaml + "by_rank}", stage),
              ElementsAre(HasSubstr("workload.nic: links of a host lead to different leaves")));
  EXPECT_THAT(JobWarnings(yaml + "hash}", stage), IsEmpty());
}

// --- What follows ---

// A ring of 4 ranks sends 2 * 3 messages of a quarter each, so a rank sends 1.5 times the size.
TEST(JobForecastTest, OfARingHasItsMessagesAndTheTimeOfItsBytes) {
  Stage stage = StageOf(2, 4);
  stage.mss = 1'000;
  const std::string yaml = "{kind: collective, op: all_reduce, size: 4MB, ranks: 4, channels: 1";
  const Forecast one = WorkloadFrom(yaml + "}", stage).settings->Expect();
  EXPECT_EQ(one.flows, 24);
  EXPECT_EQ(one.most_flows, 24);
  EXPECT_EQ(one.bytes, 24e6);
  EXPECT_EQ(one.packets, 24'000 + 24);
  EXPECT_EQ(one.large_flow, 1'000'000);
  EXPECT_EQ(one.first, Time{});
  EXPECT_EQ(one.last, Time{} + 480_us);  // 6 MB at 100 Gbps.
  EXPECT_FALSE(one.open_loop);
  stage.host_rate[7] = 50_Gbps;  // The slowest host counts.
  const Forecast more =
      WorkloadFrom(yaml + ", iterations: 3, start: 5us, gap: 20us, jitter: 2us}", stage)
          .settings->Expect();
  EXPECT_EQ(more.flows, 72);
  EXPECT_EQ(more.most_flows, 72);
  EXPECT_EQ(more.bytes, 72e6);
  EXPECT_EQ(more.packets, 72'000 + 72);
  EXPECT_EQ(more.first, Time{} + 5_us);
  EXPECT_EQ(more.last, Time{} + 5_us + 3 * (960_us + 22_us));
}

// One rank of each stage, without data parallelism: the first stage's forward pass, then the
// second's, and back.
TEST(JobForecastTest, OfATrainingStepHasTheTimeOfItsComputations) {
  const std::string yaml =
      "{kind: training, ranks: 2, parallel: {pipeline: 2}, iterations: 5, model: {layers: 2, "
      "hidden: 8, ffn: 8, kv_hidden: 8, vocab: 8, seq: 1}, compute: {forward: 100us, backward: "
      "200us}, optimizer: 7us}";
  const Forecast forecast = WorkloadFrom(yaml, StageOf(2, 4)).settings->Expect();
  // A message of 16 bytes forwards, one backwards: 1.28 ns at 100 Gbps for that of one rank.
  EXPECT_EQ(forecast.flows, 10);
  EXPECT_EQ(forecast.last, Time{} + 5 * (607_us + Duration{1'280}));
}

// Nothing else is looked at if the file cannot be read.
TEST(JobSettingsTest, AFileThatIsMissingIsTheOnlyError) {
  const std::string errors =
      WorkloadErrors("{kind: trace, format: goal, file: nowhere.goal}", StageOf(2, 4));
  EXPECT_THAT(errors, HasSubstr("nowhere.goal"));
  EXPECT_THAT(errors, HasSubstr("\n1 error"));
}

// Messages that are longer than the transport's longest flow cannot be sent.
TEST(JobSettingsTest, MessagesFitTheTransport) {
  Stage stage = StageOf(2, 4);
  stage.max_flow_size = 16'000;
  EXPECT_EQ(JobErrors("ranks: 4", stage), "");  // Messages of 16 kB.
  stage.max_flow_size = 15'999;
  EXPECT_THAT(JobErrors("ranks: 4", stage),
              HasSubstr("workload: has messages of 16000 bytes; the transport's longest flow has "
                        "15999; use more channels, or chunks"));
}

TEST(JobTest, HasTheSettingsOfItsWorkload) {
  Stage stage = StageOf(2, 4);
  stage.index = 3;
  stage.seed = 77;
  const auto preset =
      WorkloadFrom("{kind: collective, op: all_reduce, size: 64KB, ranks: 4}", stage)
          .settings->MakeJob(2);
  EXPECT_EQ(preset->number(), 2u);
  EXPECT_EQ(preset->settings().qps, 1u);
  EXPECT_EQ(preset->settings().kind, "collective");
  EXPECT_EQ(preset->settings().label, "");
  EXPECT_EQ(preset->settings().placement, "packed");
  EXPECT_EQ(preset->settings().operation.name, "all_reduce");
  EXPECT_EQ(preset->settings().workload, 3);
  EXPECT_EQ(preset->settings().seed, 77u);
  EXPECT_EQ(preset->settings().unfinished, 0u);
  EXPECT_TRUE(preset->settings().measured);
  EXPECT_TRUE(preset->settings().ordered);
  EXPECT_FALSE(preset->settings().release_delay);
  EXPECT_FALSE(preset->settings().share_hosts);
  EXPECT_FALSE(preset->settings().nic_by_rank);
  const auto workload = WorkloadFrom(
      "{kind: collective, op: all_reduce, size: 64KB, ranks: 4, label: mine, placement: cyclic, "
      "start: 3us, iterations: 9, warm_up: 2, measured: false, gap: 4us, jitter: 5us, "
      "connections: free, ports: message, qps: 6, send_done: handed, local_rate: 7Gbps, "
      "local_latency: 8us, overhead: 9us, share_hosts: true, between: ideal, release_delay: 10us, "
      "domain_hosts: 2, nic: by_rank}",
      stage);
  EXPECT_TRUE(workload.settings->shares_hosts());
  const auto job = workload.settings->MakeJob(1);
  const JobSettings& its = job->settings();
  EXPECT_EQ(its.label, "mine");
  EXPECT_EQ(its.placement, "cyclic");
  EXPECT_THAT(its.host_of_rank, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(its.start, Time{} + 3_us);
  EXPECT_EQ(its.iterations, 9u);
  EXPECT_EQ(its.warm_up, 2u);
  EXPECT_FALSE(its.measured);
  EXPECT_EQ(its.gap, 4_us);
  EXPECT_EQ(its.jitter, 5_us);
  EXPECT_FALSE(its.ordered);
  EXPECT_EQ(its.ports, JobSettings::Ports::kMessage);
  EXPECT_EQ(its.qps, 6u);
  EXPECT_EQ(its.send_done, JobSettings::SendDone::kHanded);
  EXPECT_EQ(its.local_rate, 7_Gbps);
  EXPECT_EQ(its.local_latency, 8_us);
  EXPECT_EQ(its.overhead, 9_us);
  EXPECT_EQ(its.local_overhead, 9_us);
  EXPECT_TRUE(its.share_hosts);
  EXPECT_EQ(its.between, JobSettings::Between::kIdeal);
  EXPECT_EQ(its.release_delay, 10_us);
  EXPECT_EQ(its.domain_hosts, 2u);
  EXPECT_TRUE(its.nic_by_rank);
  EXPECT_EQ(
      WorkloadFrom("{kind: collective, op: all_reduce, size: 64KB, ranks: 4, unfinished: 5}", stage)
          .settings->MakeJob(1)
          ->settings()
          .unfinished,
      5u);
}

// Where the schedule does not depend on the job's number, all jobs share one.
TEST(JobTest, SharesItsSchedule) {
  const auto workload = WorkloadFrom(
      "{kind: training, ranks: 2, model: {layers: 1, hidden: 8, ffn: 8, kv_hidden: 8, vocab: 8, "
      "seq: 8}}",
      StageOf(2, 4));
  EXPECT_EQ(&workload.settings->MakeJob(1)->schedule(), &workload.settings->MakeJob(2)->schedule());
}

// A dissemination barrier of 4 ranks has two steps, in each of which every rank sends a message.
TEST(JobTest, HasABarrierOnlyBetweenIterations) {
  const auto slots = [](const std::string& more) {
    const auto job =
        WorkloadFrom(
            "{kind: collective, op: all_reduce, size: 64KB, ranks: 4, channels: 1, " + more + "}",
            StageOf(2, 4))
            .settings->MakeJob(1);
    return job->schedule().Totals().messages;
  };
  EXPECT_EQ(slots("iterations: 2, between: none"), 24);
  EXPECT_EQ(slots("iterations: 2, between: ideal"), 24);
  EXPECT_EQ(slots("iterations: 1, between: barrier"), 24);
  EXPECT_EQ(slots("iterations: 2, between: barrier"), 24 + 8);
}

}  // namespace heddle::job_settings_test
