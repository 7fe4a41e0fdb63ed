// SPDX-License-Identifier: Apache-2.0
// Compares what the ranks of random jobs do with a slow model (tests/support/job_model.h).

#include "workload/jobs/host_jobs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "core/random.h"
#include "tests/support/graph_kit.h"
#include "tests/support/job_model.h"
#include "tests/support/printers.h"
#include "tests/support/scripted_hosts.h"
#include "workload/jobs/barrier.h"
#include "workload/jobs/collective.h"
#include "workload/jobs/graph_check.h"
#include "workload/jobs/graph_schedule.h"
#include "workload/jobs/graph_tables.h"

namespace heddle::host_jobs_model_test {

using namespace scripted_hosts;

using graph_kit::RequireEarlier;

// A rank begins its first iteration at the job's start, others when it has finished the one before,
// or when all have; each time after a pause.
void CheckBegins(const ScriptedHosts& bench, const JobModel& model, size_t j) {
  const JobSettings& settings = bench.job(j).settings();
  const uint32_t ranks = bench.job(j).schedule().ranks();
  const bool meets = settings.between == JobSettings::Between::kIdeal;
  std::vector<Time> before(ranks, settings.start);
  for (uint32_t iteration = 0; iteration < settings.iterations; ++iteration) {
    Time last;
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      const auto [jobs, place] = bench.Find(j, rank);
      const auto its = jobs.IterationsOf(place);
      ASSERT_EQ(its.size(), settings.iterations);
      EXPECT_GE(its[iteration].begin, before[rank] + settings.gap);
      EXPECT_LE(its[iteration].begin, before[rank] + settings.gap + settings.jitter);
      before[rank] = model.TurnsOf(j, rank)[iteration].left;
      last = std::max(last, before[rank]);
    }
    if (meets) before.assign(ranks, last + kIdealWay);
  }
}

void CompareRanks(const ScriptedHosts& bench, const JobModel& model, size_t j, bool records) {
  const GraphTables* graph = bench.job(j).schedule().graph();
  for (uint32_t rank = 0; rank < bench.job(j).schedule().ranks(); ++rank) {
    SCOPED_TRACE(rank);
    const auto [jobs, place] = bench.Find(j, rank);
    const auto iterations = jobs.IterationsOf(place);
    const std::vector<Turn>& turns = model.TurnsOf(j, rank);
    ASSERT_EQ(iterations.size(), turns.size());
    for (size_t i = 0; i < turns.size(); ++i) {
      EXPECT_EQ(iterations[i].end, turns[i].end);
      EXPECT_EQ(iterations[i].computed, turns[i].computed);
    }
    EXPECT_EQ(jobs.EndOf(place), model.EndOf(j, rank));
    const size_t ops = graph == nullptr ? 0 : graph->graph().OpsOf(rank).size();
    const size_t parts = graph == nullptr ? 0 : graph->PartsAt(rank).size();
    ASSERT_EQ(jobs.OperationsOf(place).size(), records ? ops * turns.size() : 0);
    ASSERT_EQ(jobs.PartsOf(place).size(), parts * turns.size());
    EXPECT_EQ(jobs.StatesOf(place).size(), ops);
    for (const auto& [key, times] : model.OperationsOf(j, rank)) {
      const auto [iteration, op] = key;
      if (records) {
        const HostJobs::OperationTimes& its = jobs.OperationsOf(place)[iteration * ops + op];
        EXPECT_EQ(std::tuple(its.ready, its.posted, its.sent, its.end),
                  std::tuple(times.ready, times.posted, times.sent, times.end));
      }
      if (graph->graph().At(rank, op).kind != Operation::Kind::kCollective) continue;
      const auto& its = jobs.PartsOf(place)[iteration * parts + graph->PartOf(rank, op)];
      EXPECT_EQ(std::pair(its.begin, its.end), std::pair(times.posted, times.end));
    }
    std::vector<JobModel::Deed> deeds;
    for (const HostJobs::Deed& its : jobs.DeedsOf(place)) {
      deeds.push_back({its.kind, its.place.iteration, its.place.index, its.times.ready,
                       its.times.posted, its.times.sent, its.times.end});
    }
    std::ranges::sort(deeds);
    EXPECT_EQ(deeds,
              records && graph == nullptr ? model.DeedsOf(j, rank) : std::vector<JobModel::Deed>());
  }
}

void Compare(std::vector<std::unique_ptr<Job>> jobs, bool records) {
  const ScriptedHosts bench(std::move(jobs), RandomFate, records);
  const JobModel model(bench, RandomFate);
  EXPECT_EQ(bench.started(), model.started());
  EXPECT_EQ(bench.ranks_left(), 0);
  for (size_t j = 0; j < bench.jobs().size(); ++j) {
    CheckBegins(bench, model, j);
    CompareRanks(bench, model, j, records);
  }
}

// --- Random jobs ---

// Operations come one after the other, and each may wait for earlier ones of its rank.
class RandomGraph {
 public:
  RandomGraph(Rng& rng, uint32_t ranks, bool has_news)
      : rng_(rng), ranks_(ranks), has_news_(has_news) {
    graph_ = std::make_shared<OperationGraph>(ranks);
    for (int i = 0; i < 25; ++i) AddOne();
  }
  std::shared_ptr<const OperationGraph> graph() const { return graph_; }

 private:
  void AddOne() {
    const uint32_t rank = rng_.Below(ranks_);
    switch (rng_.Below(4)) {
      case 0:
      case 1:
        return AddMessage(rank, (rank + 1 + rng_.Below(ranks_ - 1)) % ranks_);
      case 2:
        if (rng_.Below(2) == 0) return AddCollective();
        [[fallthrough]];
      default:
        Connect(rank, graph_->AddCompute(rank, Duration{rng_.Below(9'000'000)}, Stream()));
    }
  }
  uint32_t Stream() {
    const uint32_t stream = rng_.Below(3);
    return stream == 2 ? kNoStream : stream;
  }
  void AddMessage(uint32_t src, uint32_t dst) {
    const int64_t bytes = 1 + rng_.Below(90'000);
    const uint32_t send = graph_->AddSend(src, dst, bytes, ++tag_);
    graph_->At(src, send).posted = rng_.Below(3) == 0;
    graph_->At(src, send).channel = rng_.Below(2);
    graph_->At(src, send).stream = Stream();
    Connect(src, send);
    Connect(dst, graph_->AddReceive(dst, src, bytes, tag_));
  }
  void AddCollective() {
    CollectiveSettings settings;
    settings.size = Bytes{30'000 + rng_.Below(9'000)};
    settings.algorithm = CollectiveSettings::Algorithm::kRing;
    settings.channels = 1;
    std::vector<uint32_t> group(ranks_);
    std::iota(group.begin(), group.end(), 0);
    const uint32_t collective =
        graph_->AddCollective({settings.Make(ranks_, 1, 1), group, 4 + rng_.Below(2), ""});
    for (const uint32_t rank : group) Connect(rank, graph_->AddPart(rank, collective));
  }
  void Connect(uint32_t rank, uint32_t op) {
    RequireEarlier(*graph_, rank, op, rng_);
    const uint32_t other = (rank + 1) % ranks_;
    if (has_news_ && rng_.Below(4) == 0 && !graph_->OpsOf(other).empty()) {
      graph_->RequireFar(rank, op, other, 0);
    }
  }

  Rng& rng_;
  const uint32_t ranks_;
  const bool has_news_;
  std::shared_ptr<OperationGraph> graph_;
  int64_t tag_ = 0;
};

std::shared_ptr<const Schedule> RandomCollective(Rng& rng, uint32_t ranks) {
  using Op = CollectiveSettings::Op;
  CollectiveSettings settings;
  settings.op = std::vector{Op::kAllReduce, Op::kAllToAll, Op::kAllGather}[rng.Below(3)];
  settings.size = Bytes{ranks * (1 + rng.Below(60'000))};
  settings.channels = 1 + rng.Below(2);
  if (settings.op == Op::kAllReduce && rng.Below(2) == 0) {
    settings.algorithm = CollectiveSettings::Algorithm::kRing;
    settings.reduce_rate = 40_Gbps;
    settings.chunk = 20_KB;
  }
  return settings.Make(ranks, 1, 1);
}

JobSettings RandomSettings(Rng& rng, uint32_t ranks) {
  JobSettings settings;
  const uint32_t per_host = 1 + rng.Below(3);
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    settings.host_of_rank.push_back(static_cast<HostId>(rank / per_host));
  }
  if (rng.Below(2) == 0) Rng::Stream(rng.Next(), "x", 0).MoveToFront(settings.host_of_rank, ranks);
  settings.start = Time{} + Duration{rng.Below(5'000'000)};
  settings.iterations = 1 + rng.Below(4);
  settings.seed = rng.Next();
  settings.gap = Duration{rng.Below(2) * rng.Below(9'000'000)};
  settings.jitter = Duration{rng.Below(2) * rng.Below(9'000'000)};
  settings.ordered = rng.Below(4) > 0;
  settings.qps = 1 + rng.Below(3);
  using Done = JobSettings::SendDone;
  settings.send_done = std::vector{Done::kAcked, Done::kHanded, Done::kPosted}[rng.Below(3)];
  settings.local_rate = BitRate{int64_t{1 + rng.Below(90)} * 1'000'000'000};
  settings.local_latency = Duration{200'000 + rng.Below(3'000'000)};
  if (settings.ordered && rng.Below(2) == 0) settings.unfinished = 1 + rng.Below(3);
  if (rng.Below(2) == 0) settings.overhead = Duration{1 + rng.Below(3'000'000)};
  if (rng.Below(2) == 0) settings.local_overhead = Duration{1 + rng.Below(3'000'000)};
  using Between = JobSettings::Between;
  settings.between = std::vector{Between::kNone, Between::kNone, Between::kIdeal}[rng.Below(3)];
  settings.release_delay = Duration{200'000 + rng.Below(3'000'000)};
  settings.domain_hosts = 1 + rng.Below(2);
  settings.measured = rng.Below(4) > 0;
  return settings;
}

TEST(HostJobsModelTest, RandomGraphsDoWhatTheModelDoes) {
  int checked = 0;
  for (uint64_t seed = 1; seed <= 250; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng = Rng::Stream(seed, "host_jobs", 0);
    const uint32_t ranks = 2 + rng.Below(4);
    const auto graph = RandomGraph(rng, ranks, rng.Below(2) == 0).graph();
    if (!GraphProblems(*graph).empty()) continue;  // News may close a cycle.
    std::vector<std::unique_ptr<Job>> jobs;
    jobs.push_back(std::make_unique<Job>(1, RandomSettings(rng, ranks), MakeGraphSchedule(graph)));
    Compare(std::move(jobs), rng.Below(2) == 0);
    ++checked;
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(checked, 150);
}

// Several jobs may share hosts.
TEST(HostJobsModelTest, RandomCollectivesDoWhatTheModelDoes) {
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng = Rng::Stream(seed, "host_jobs", 1);
    std::vector<std::unique_ptr<Job>> jobs;
    const uint32_t count = 1 + rng.Below(3);
    for (uint32_t number = 1; number <= count; ++number) {
      const uint32_t ranks = 2 + rng.Below(5);
      JobSettings settings = RandomSettings(rng, ranks);
      std::shared_ptr<const Schedule> schedule = RandomCollective(rng, ranks);
      if (settings.between == JobSettings::Between::kNone && rng.Below(2) == 0) {
        schedule = MakeWithBarrier(schedule);
      }
      jobs.push_back(std::make_unique<Job>(number, std::move(settings), std::move(schedule)));
    }
    Compare(std::move(jobs), rng.Below(2) == 0);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace heddle::host_jobs_model_test
