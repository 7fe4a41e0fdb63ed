// SPDX-License-Identifier: Apache-2.0
// What the ranks of jobs do on hosts whose transport is scripted, against times worked out by hand.

#include "workload/jobs/host_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "tests/support/printers.h"
#include "tests/support/scripted_hosts.h"

namespace heddle::host_jobs_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using namespace scripted_hosts;

// Ranks that send all their messages, and tell all their news, when an iteration begins.
class ListSchedule final : public Schedule {
 public:
  struct Released {
    uint32_t from;
    uint32_t to;
    uint32_t op;
  };
  ListSchedule(uint32_t ranks, std::vector<Message> messages, std::vector<Released> news = {})
      : ranks_(ranks), messages_(std::move(messages)), news_(std::move(news)) {}

  ScheduleTotals Totals() const override { return {}; }
  uint32_t ranks() const override { return ranks_; }
  uint64_t slots() const override { return messages_.size(); }
  Message MessageOf(uint64_t index) const override { return messages_[index]; }
  uint64_t IncomingOf(uint32_t /*rank*/) const override { return messages_.size(); }
  uint64_t OrdinalOf(uint64_t index) const override { return index; }
  uint64_t ArrivalsAt(uint32_t rank) const override {
    return static_cast<uint64_t>(std::ranges::count(messages_, rank, &Message::dst));
  }
  std::unique_ptr<RankProgram> ProgramOf(uint32_t rank) const override {
    return std::make_unique<Program>(*this, rank);
  }

  // The operations of all ranks that have been released, in this order.
  const std::vector<uint32_t>& released() const { return released_; }

 private:
  class Program final : public RankProgram {
   public:
    Program(const ListSchedule& schedule, uint32_t rank) : schedule_(schedule), rank_(rank) {}
    void Begin(RankActions& actions) override {
      left_ = schedule_.ArrivalsAt(rank_) +
              static_cast<uint64_t>(std::ranges::count(schedule_.news_, rank_, &Released::to));
      for (uint64_t i = 0; i < schedule_.slots(); ++i) {
        if (schedule_.messages_[i].src == rank_) actions.Send(i);
      }
      for (const Released& its : schedule_.news_) {
        if (its.from == rank_) actions.ReleaseFar(its.to, its.op);
      }
    }
    void OnReceived(uint64_t /*index*/, RankActions& /*actions*/) override { --left_; }
    void OnReleased(uint32_t op, RankActions& /*actions*/) override {
      schedule_.released_.push_back(op);
      --left_;
    }
    bool finished() const override { return left_ == 0; }

   private:
    const ListSchedule& schedule_;
    const uint32_t rank_;
    uint64_t left_ = 0;
  };

  const uint32_t ranks_;
  const std::vector<Message> messages_;
  const std::vector<Released> news_;
  mutable std::vector<uint32_t> released_;
};

JobSettings OnHosts(std::vector<HostId> hosts) {
  JobSettings settings;
  settings.host_of_rank = std::move(hosts);
  return settings;
}

ScriptedHosts RunOne(JobSettings settings, std::shared_ptr<const Schedule> schedule,
                     bool records = false) {
  std::vector<std::unique_ptr<Job>> jobs;
  jobs.push_back(std::make_unique<Job>(1, std::move(settings), std::move(schedule)));
  return ScriptedHosts(std::move(jobs), RoundFate, records);
}

// What a schedule is unless it says so.
TEST(ScheduleTest, WaitsForNothingByDefault) {
  const ListSchedule schedule(2, {{.src = 0, .dst = 1}});
  EXPECT_FALSE(schedule.waits_for_sends());
  EXPECT_FALSE(schedule.waits_for_all());
  EXPECT_EQ(schedule.graph(), nullptr);
  EXPECT_EQ(&schedule.work(), &schedule);
  EXPECT_THAT(schedule.MissingAt(1, [](uint64_t) { return false; }), IsEmpty());
  EXPECT_THAT(schedule.ProgramOf(0)->operations(), IsEmpty());
  const ScheduleTotals none;
  EXPECT_EQ(none.messages + none.bytes + none.bytes_of_rank, 0);
  EXPECT_EQ(none.largest, 0);
  EXPECT_EQ(JobOperation().bytes, 0);
  EXPECT_EQ(JobOperation().bus_factor, 0);  // No collective, no bandwidth.
}

// News of one instant takes effect by the operation that it is for.
TEST(HostJobsTest, NewsOfOneInstantIsInTheOrderOfOperations) {
  const auto schedule = std::make_shared<ListSchedule>(
      4, std::vector<Message>(),
      std::vector<ListSchedule::Released>{{0, 3, 8}, {0, 3, 2}, {1, 3, 5}, {2, 3, 1}, {2, 3, 9}});
  JobSettings settings = OnHosts({0, 1, 2, 3});
  settings.release_delay = 1_us;
  const ScriptedHosts bench = RunOne(settings, schedule);
  EXPECT_THAT(schedule->released(), ElementsAre(1, 2, 5, 8, 9));
  EXPECT_EQ(bench.EndOf(3), Time{} + 1_us);
  EXPECT_EQ(bench.EndOf(0), Time{});
}

// Three hosts are one server. At one instant, the message of the lower rank begins to arrive first,
// whatever its number: 900 bytes at 8 Gbps take 900 ns.
TEST(HostJobsTest, MessagesOfAServerArriveInTheOrderOfRanks) {
  JobSettings settings = OnHosts({0, 1, 2});
  settings.domain_hosts = 3;
  settings.local_rate = 8_Gbps;
  settings.local_latency = 1_us;
  const ScriptedHosts bench = RunOne(
      settings,
      std::make_shared<ListSchedule>(3, std::vector<Message>{{.src = 1, .dst = 2, .bytes = 100},
                                                             {.src = 0, .dst = 2, .bytes = 900}}),
      /*records=*/true);
  const auto [jobs, place] = bench.Find(0, 2);
  const auto deeds = jobs.DeedsOf(place);
  ASSERT_EQ(deeds.size(), 2u);
  EXPECT_EQ(deeds[0].place.index, 1u);
  EXPECT_EQ(deeds[0].times.end, Time{} + 1'900_ns);
  EXPECT_EQ(deeds[1].place.index, 0u);
  EXPECT_EQ(deeds[1].times.end, Time{} + 2_us);
  EXPECT_THAT(bench.started(), IsEmpty());
}

// An empty message is a byte on its way.
TEST(HostJobsTest, AnEmptyMessageTakesTheTimeOfAByte) {
  JobSettings settings = OnHosts({0, 0});
  settings.local_rate = 8_Gbps;
  settings.local_latency = 1_us;
  const ScriptedHosts bench = RunOne(
      settings, std::make_shared<ListSchedule>(2, std::vector<Message>{{.src = 0, .dst = 1}}));
  EXPECT_EQ(bench.EndOf(1), Time{} + 1'001_ns);
}

// Messages of a connection follow each other: each is handed to the NIC 1 us after its start. With
// at most two unfinished ones, the third waits until the first is acknowledged, 5 us after its
// start.
TEST(HostJobsTest, MessagesOfAConnectionFollowEachOther) {
  const auto starts = [](const std::function<void(JobSettings&)>& change, uint32_t channels) {
    std::vector<Message> messages;
    for (uint32_t i = 0; i < 4; ++i) {
      messages.push_back({.src = 0, .dst = 1, .bytes = 10, .channel = i % channels});
    }
    JobSettings settings = OnHosts({0, 1});
    change(settings);
    const ScriptedHosts bench = RunOne(settings, std::make_shared<ListSchedule>(2, messages));
    std::vector<int64_t> us;
    for (const Started& its : bench.started()) us.push_back(its.at.ps / 1'000'000);
    return us;
  };
  const auto nothing = [](JobSettings&) {};
  EXPECT_THAT(starts(nothing, 1), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(starts(nothing, 2), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(starts([](JobSettings& its) { its.ordered = false; }, 1), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(starts([](JobSettings& its) { its.unfinished = 1; }, 1), ElementsAre(0, 5, 10, 15));
  EXPECT_THAT(starts([](JobSettings& its) { its.unfinished = 2; }, 1), ElementsAre(0, 1, 5, 6));
  EXPECT_THAT(starts([](JobSettings& its) { its.unfinished = 1; }, 2), ElementsAre(0, 0, 5, 5));
  EXPECT_THAT(starts([](JobSettings& its) { its.overhead = 7_us; }, 1), ElementsAre(7, 8, 9, 10));
}

// Each message is closed apart from the others: the bench asks for each before and after.
TEST(HostJobsTest, RemembersWhichOfManyMessagesAreClosed) {
  std::vector<Message> messages(200, {.src = 0, .dst = 1, .bytes = 10});
  JobSettings settings = OnHosts({0, 1});
  settings.iterations = 3;
  settings.ordered = false;
  const ScriptedHosts bench = RunOne(settings, std::make_shared<ListSchedule>(2, messages));
  const auto [jobs, place] = bench.Find(0, 1);
  for (uint32_t iteration = 0; iteration < 4; ++iteration) {
    for (uint64_t index = 0; index < 200; ++index) {
      EXPECT_EQ(jobs.IsClosed(place, {iteration, index}), iteration < 3);
    }
  }
  EXPECT_EQ(bench.started().size(), 600u);
}

// Ranks without anything to wait for run through all iterations, each a pause after the other.
TEST(HostJobsTest, PausesBeforeEachIteration) {
  JobSettings settings = OnHosts({0, 1});
  settings.start = Time{} + 3_us;
  settings.iterations = 4;
  settings.gap = 2_us;
  const auto nothing = std::make_shared<ListSchedule>(2, std::vector<Message>());
  EXPECT_THAT(RunOne(settings, nothing).BeginsOf(0, 1),
              ElementsAre(Time{} + 5_us, Time{} + 7_us, Time{} + 9_us, Time{} + 11_us));
  settings.gap = Duration{0};
  EXPECT_THAT(RunOne(settings, nothing).BeginsOf(0, 1),
              ElementsAre(Time{} + 3_us, Time{} + 3_us, Time{} + 3_us, Time{} + 3_us));
  settings.between = JobSettings::Between::kIdeal;  // The news takes 2 us.
  EXPECT_THAT(RunOne(settings, nothing).BeginsOf(0, 1),
              ElementsAre(Time{} + 3_us, Time{} + 5_us, Time{} + 7_us, Time{} + 9_us));
  settings.gap = 1_us;
  EXPECT_THAT(RunOne(settings, nothing).BeginsOf(0, 1),
              ElementsAre(Time{} + 4_us, Time{} + 7_us, Time{} + 10_us, Time{} + 13_us));
}

// Pauses are uniform from `gap` to `gap` + `jitter`, and each rank, job and seed has its own.
TEST(HostJobsTest, JitterIsUniformAndOfEachRankAlone) {
  const auto begins = [](uint32_t number, uint64_t seed) {
    JobSettings settings = OnHosts(std::vector<HostId>(50, 0));
    settings.iterations = 40;
    settings.seed = seed;
    settings.gap = 5_us;
    settings.jitter = 8_us;
    std::vector<std::unique_ptr<Job>> jobs;
    for (uint32_t other = 1; other <= number; ++other) {
      jobs.push_back(std::make_unique<Job>(
          other, settings, std::make_shared<ListSchedule>(50, std::vector<Message>())));
    }
    const ScriptedHosts bench(std::move(jobs), RoundFate);
    std::vector<int64_t> pauses;
    for (uint32_t rank = 0; rank < 50; ++rank) {
      Time before;
      for (const Time begin : bench.BeginsOf(number - 1, rank)) {
        pauses.push_back((begin - before).ps);
        before = begin;
      }
    }
    return pauses;
  };
  const std::vector<int64_t> pauses = begins(1, 1);
  ASSERT_EQ(pauses.size(), 2'000u);
  // Pauses are drawn in picoseconds: 0.25 coincidences are expected.
  EXPECT_GE(std::set(pauses.begin(), pauses.end()).size(), pauses.size() - 5);
  EXPECT_GE(std::ranges::min(pauses), 5'000'000);
  EXPECT_LT(std::ranges::max(pauses), 13'000'000);
  // The mean of 2000 has a standard deviation of 52 ns.
  const double mean = std::accumulate(pauses.begin(), pauses.end(), 0.0) / 2'000;
  EXPECT_NEAR(mean, 9e6, 4 * 52e3);
  EXPECT_EQ(begins(1, 1), pauses);
  EXPECT_NE(begins(1, 2), pauses);
  EXPECT_NE(begins(2, 1), pauses);
}

}  // namespace heddle::host_jobs_test
