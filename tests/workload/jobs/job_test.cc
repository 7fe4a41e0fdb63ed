// SPDX-License-Identifier: Apache-2.0
// The flows of a job's messages: ids, ports, NICs and classes; and who is local to whom.

#include "workload/jobs/job.h"

#include <absl/numeric/int128.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "core/random.h"
#include "tests/support/printers.h"
#include "workload/jobs/graph_schedule.h"
#include "workload/jobs/operation_graph.h"
#include "workload/jobs/transfer_time.h"

namespace heddle::job_test {

using ::testing::ElementsAre;

// Each of four ranks sends `each` messages to the next one.
std::shared_ptr<const Schedule> Messages(uint32_t each) {
  auto graph = std::make_shared<OperationGraph>(4);
  for (uint32_t rank = 0; rank < 4; ++rank) {
    for (uint32_t i = 0; i < each; ++i) {
      graph->AddSend(rank, (rank + 1) % 4, 1'000 * i, i);
      graph->AddReceive((rank + 1) % 4, rank, 1'000 * i, i);
    }
  }
  return MakeGraphSchedule(graph);
}

JobSettings Settings() {
  JobSettings settings;
  settings.host_of_rank = {7, 5, 5, 9};
  return settings;
}

TEST(JobTest, NumbersItsMessagesWithoutGaps) {
  JobSettings settings = Settings();
  settings.iterations = 3;
  Job job(1, settings, Messages(5));
  job.SetBase(100);
  EXPECT_EQ(job.base(), 100u);
  EXPECT_EQ(job.ids(), 60u);
  FlowId id = 100;
  EXPECT_FALSE(job.Owns(id - 1));
  EXPECT_FALSE(job.Owns(0));
  for (uint32_t iteration = 0; iteration < 3; ++iteration) {
    for (uint64_t index = 0; index < 20; ++index, ++id) {
      EXPECT_EQ(job.IdOf({iteration, index}), id);
      EXPECT_EQ(job.PlaceOf(id).iteration, iteration);
      EXPECT_EQ(job.PlaceOf(id).index, index);
      EXPECT_TRUE(job.Owns(id));
    }
  }
  EXPECT_FALSE(job.Owns(id));
}

TEST(JobTest, MessagesAreFoundAmongJobs) {
  std::vector<std::unique_ptr<Job>> jobs;
  for (uint32_t number = 1; number <= 3; ++number) {
    jobs.push_back(std::make_unique<Job>(number, Settings(), Messages(number)));
    jobs.back()->SetBase(10 * number);
  }
  for (const auto& [id, number, index] :
       {std::tuple(10u, 1u, 0u), {13u, 1u, 3u}, {20u, 2u, 0u}, {41u, 3u, 11u}}) {
    const JobMessage found = FindMessage(jobs, id);
    EXPECT_EQ(found.job.number(), number);
    EXPECT_EQ(found.place.index, index);
    EXPECT_EQ(found.message, found.job.schedule().MessageOf(index));
  }
}

TEST(JobTest, AMessageIsAFlowOfItsRanksHosts) {
  JobSettings settings = Settings();
  settings.iterations = 3;
  settings.warm_up = 1;
  settings.workload = 6;
  Job job(4, settings, Messages(2));
  job.SetBase(1'000);
  job.SetClassOf([](int64_t size, bool measured) {
    return static_cast<uint16_t>(size + (measured ? 10'000 : 0));
  });
  for (uint32_t iteration = 0; iteration < 3; ++iteration) {
    for (uint64_t index = 0; index < 8; ++index) {
      const Message message = job.schedule().MessageOf(index);
      const FlowSpec spec = job.SpecOf({iteration, index}, message);
      const int64_t size = index % 2 == 0 ? 1 : 1'000;  // An empty message has a byte.
      EXPECT_EQ(spec.id, 1'000 + 8 * iteration + index);
      EXPECT_EQ(spec.src, settings.host_of_rank[index / 2]);
      EXPECT_EQ(spec.dst, settings.host_of_rank[(index / 2 + 1) % 4]);
      EXPECT_EQ(spec.dport, 300);  // docs/metrics.md
      EXPECT_EQ(spec.workload, 6);
      EXPECT_EQ(spec.size, size);
      EXPECT_EQ(spec.measured, iteration > 0);
      EXPECT_EQ(spec.size_class, size + (iteration > 0 ? 10'000 : 0));
      EXPECT_EQ(std::tuple(spec.src_nic, spec.dst_nic, spec.lane),
                std::tuple(kAnyNic, kAnyNic, kNoLane));
      EXPECT_EQ(std::tuple(spec.job, spec.iter, spec.step),
                std::tuple(4u, iteration, message.step));
      EXPECT_EQ(spec.start, Time{});
    }
  }
}

TEST(JobTest, MeasuresIterationsBehindTheWarmUp) {
  for (const bool measured : {true, false}) {
    for (const uint32_t warm_up : {0u, 1u, 3u}) {
      JobSettings settings = Settings();
      settings.iterations = 4;
      settings.warm_up = warm_up;
      settings.measured = measured;
      const Job job(1, settings, Messages(1));
      for (uint32_t i = 0; i < 4; ++i) EXPECT_EQ(job.IsMeasured(i), measured && i >= warm_up);
    }
  }
}

// --- Ports ---

uint16_t PortOf(const Job& job, uint32_t iteration, uint64_t index, const Message& message) {
  return job.SpecOf({iteration, index}, message).sport;
}

// The queue pairs of a connection take turns with its messages, over all iterations.
TEST(JobPortTest, QueuePairsTakeTurns) {
  for (const uint32_t qps : {1u, 2u, 5u, 256u}) {
    JobSettings settings = Settings();
    settings.qps = qps;
    settings.iterations = 10;
    const Job job(1, settings, Messages(1));
    std::vector<uint16_t> ports;
    for (uint32_t turn = 0; turn < qps; ++turn) {
      ports.push_back(PortOf(job, 0, 0, {.src = 0, .dst = 1, .turn = turn}));
    }
    // 256 of 55536 ports drawn at random: hardly more than four come twice.
    EXPECT_GE(std::set(ports.begin(), ports.end()).size(), qps - qps / 64);
    for (uint32_t iteration = 0; iteration < 10; ++iteration) {
      for (uint32_t turn = 0; turn < 20; ++turn) {
        EXPECT_EQ(PortOf(job, iteration, turn, {.src = 0, .dst = 1, .turn = turn}),
                  ports[(iteration + turn) % qps]);
      }
    }
  }
}

// Unless a job says otherwise, all messages of a connection have one port.
TEST(JobPortTest, AConnectionHasOnePortByDefault) {
  const Job job(1, Settings(), Messages(1));
  const Message first{.src = 0, .dst = 1};
  for (uint32_t turn = 1; turn < 9; ++turn) {
    EXPECT_EQ(PortOf(job, 0, turn, {.src = 0, .dst = 1, .turn = turn}), PortOf(job, 0, 0, first));
  }
}

// Pairs of ranks, either way, channels and jobs have ports of their own.
TEST(JobPortTest, ConnectionsHavePortsOfTheirOwn) {
  std::set<uint16_t> ports;
  for (uint32_t number = 1; number <= 3; ++number) {
    const Job job(number, Settings(), Messages(1));
    for (uint32_t src = 0; src < 4; ++src) {
      for (uint32_t dst = 0; dst < 4; ++dst) {
        for (const uint32_t channel : {0u, 1u, 0x1000u, 0x4000u}) {
          if (src != dst) {
            ports.insert(PortOf(job, 0, 0, {.src = src, .dst = dst, .channel = channel}));
          }
        }
      }
    }
  }
  EXPECT_GE(ports.size(), 3u * 12 * 4 - 3);  // 144 of 55536: 0.2 come twice on average.
}

// With ports: message each message has one of its own, out of all from 10000 on.
TEST(JobPortTest, MessagesMayHavePortsOfTheirOwn) {
  JobSettings settings = Settings();
  settings.ports = JobSettings::Ports::kMessage;
  const Job job(1, settings, Messages(1));
  std::vector<int> count(65'536, 0);
  constexpr int kMessages = 800'000;
  for (uint64_t index = 0; index < kMessages; ++index) {
    ++count[PortOf(job, 0, index, {.src = 0, .dst = 1})];
  }
  int below = 0;
  int most = 0;
  for (int port = 0; port < 65'536; ++port) {
    if (port < 10'000) below += count[static_cast<size_t>(port)];
    most = std::max(most, count[static_cast<size_t>(port)]);
  }
  EXPECT_EQ(below, 0);
  // 14.4 messages a port: none stays out, and none has 50.
  EXPECT_GT(count[10'000], 0);
  EXPECT_GT(count[65'535], 0);
  EXPECT_LT(most, 50);
}

// --- Servers and NICs ---

TEST(JobTest, ServersAreHostsInARowAsRanksNameThem) {
  const std::vector<HostId> hosts = {7, 7, 5, 9, 5, 1, 7, 0};
  EXPECT_THAT(ServersOf(hosts, 1), ElementsAre(0, 0, 1, 2, 1, 3, 0, 4));
  EXPECT_THAT(ServersOf(hosts, 2), ElementsAre(0, 0, 0, 1, 0, 1, 0, 2));
  EXPECT_THAT(ServersOf(hosts, 3), ElementsAre(0, 0, 0, 0, 0, 1, 0, 1));
  for (const uint32_t domain : {1u, 2u, 3u}) {
    JobSettings settings;
    settings.host_of_rank = {7, 5, 5, 9};
    settings.domain_hosts = domain;
    const Job job(1, settings, Messages(1));
    EXPECT_EQ(job.has_domains(), domain > 1);
    for (uint32_t a = 0; a < 4; ++a) {
      for (uint32_t b = 0; b < 4; ++b) {
        const auto server = [&](uint32_t rank) { return (rank + 1) / 2 / domain; };
        EXPECT_EQ(job.AreLocal(a, b), server(a) == server(b)) << domain << a << b;
      }
    }
  }
}

TEST(JobTest, NewsTakesTheTimeThatIsSetOrFound) {
  JobSettings settings = Settings();
  Job found(1, settings, Messages(1));
  found.SetNewsDelay(7, 5, 3_us);
  found.SetNewsDelay(5, 7, 4_us);
  EXPECT_EQ(found.NewsDelay(0, 1), 3_us);
  EXPECT_EQ(found.NewsDelay(2, 0), 4_us);
  EXPECT_EQ(found.NewsDelay(1, 2), Duration{0});  // On one host.
  settings.release_delay = 9_us;
  Job set(1, settings, Messages(1));
  set.SetNewsDelay(7, 5, 3_us);
  EXPECT_EQ(set.NewsDelay(0, 1), 9_us);
  EXPECT_EQ(set.NewsDelay(1, 2), Duration{0});
}

TEST(JobTest, RanksOrMessagesNameNics) {
  Job job(1, Settings(), Messages(1));
  const auto nics = [&](uint16_t src_nic, uint16_t dst_nic) {
    const FlowSpec spec =
        job.SpecOf({0, 0}, {.src = 0, .dst = 3, .src_nic = src_nic, .dst_nic = dst_nic});
    return std::pair(int{spec.src_nic}, int{spec.dst_nic});
  };
  const std::pair any(int{kAnyNic}, int{kAnyNic});
  EXPECT_EQ(nics(kUnnamedNic, kUnnamedNic), any);
  EXPECT_EQ(nics(1, 1), any);  // Nobody has said how many NICs hosts have.
  job.SetNics({2, 0, 0, 1});
  EXPECT_EQ(nics(kUnnamedNic, kUnnamedNic), std::pair(2, 1));
  EXPECT_EQ(nics(0, 0), std::pair(2, 1));
  // A host with fewer NICs takes the number modulo those it has.
  job.SetNicCounts({4, 1, 1, 3});
  EXPECT_EQ(nics(3, 3), std::pair(3, 0));
  EXPECT_EQ(nics(6, 5), std::pair(2, 2));
  EXPECT_EQ(nics(kUnnamedNic, 4), std::pair(2, 1));
  EXPECT_EQ(nics(5, kUnnamedNic), std::pair(1, 1));
}

// --- Times ---

// The least whole number of picoseconds in which so many bits pass.
TEST(TransferTimeTest, IsRoundedUpForAnySize) {
  Rng rng = Rng::Stream(1, "transfer", 0);
  for (int i = 0; i < 2'000; ++i) {
    const int64_t bytes = static_cast<int64_t>(rng.Next() >> (24 + rng.Below(40)));
    const int64_t bps = 1 + static_cast<int64_t>(rng.Next() >> (20 + rng.Below(40)));
    const absl::int128 needed = absl::int128(bytes) * 8 * 1'000'000'000'000;
    if (needed / bps > 4'000'000'000'000'000'000) continue;  // Beyond any time.
    const int64_t ps = TransferTime(bytes, BitRate{bps}).ps;
    EXPECT_GE(absl::int128(ps) * bps, needed) << bytes << " " << bps;
    EXPECT_LT(absl::int128(ps - 1) * bps, needed) << bytes << " " << bps;
  }
  EXPECT_EQ(TransferTime(0, 100_Gbps), Duration{0});
  EXPECT_EQ(TransferTime(1'250, 10_Gbps), 1_us);
  EXPECT_EQ(TransferTime(1, BitRate{3}), Duration{2'666'666'666'667});
}

}  // namespace heddle::job_test
