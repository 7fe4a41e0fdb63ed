// SPDX-License-Identifier: Apache-2.0
// Long flows and bursts: queues, shares and rates against what theory says.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "tests/support/lab.h"
#include "tests/support/scripted_policy.h"

namespace heddle::steady_state_test {

constexpr int64_t kForever = 1'000'000'000'000;

// --- Random loss ---

TEST(RandomLossTest, LeavesTheThroughputOfTheSquareRootLaw) {
  constexpr double kLoss = 1e-3;
  Lab lab({.graph = Line(2, {400_Gbps, 25_us}),
           .switch_policy = Scripted({DropAt(0, WithProbability(kLoss, 1, AllData(0)))})});
  lab.AddFlow(0, 1, 100'000 * 1'460);
  lab.Run();
  const double measured =
      static_cast<double>(lab.Record(0).spec.size) * 8 / Seconds(FctRx(lab.Record(0)));
  const double law = 1'460 * 8 / 100e-6 * std::sqrt(1.5 / kLoss);
  EXPECT_NEAR(measured / law, 1, 0.15);
}

// --- DCTCP ---

struct SteadyState {
  std::vector<int64_t> queue;  // Samples in packets, ascending.
  double alpha = 0;
  double utilization = 0;
  double period = 0;  // Round trips between two reductions of one flow.
  int64_t drops = 0;

  int64_t Quantile(double p) const {
    return queue[static_cast<size_t>(p * static_cast<double>(queue.size() - 1))];
  }
};

// `n` flows from a host each to one more, through one switch.
SteadyState RunLongFlows(BitRate rate, Duration round_trip, HostId n, int k, Duration until) {
  Lab lab({.graph = Star(n + size_t{1}, {rate, round_trip / 4}),
           .transport = "{kind: dctcp, framing: ip1500}",
           .port = "{buffer: unlimited, ecn_above: " + std::to_string(k) + "pkts}"});
  for (HostId h = 0; h < n; ++h) lab.AddFlow(h, n, kForever);
  FifoPort& port = lab.PortTo(lab.SwitchVertex(0), lab.HostVertex(n));
  const Time from = Time{} + until / 4;
  SteadyState seen;
  double cwnd = 0;
  int64_t reductions = 0;
  FifoPort::Counters at_start;
  FifoPort::Counters at_end;
  lab.SampleEvery(10_us, [&](Time now) {
    if (now < from) return;
    if (now == from) at_start = port.SentBy(now);
    at_end = port.SentBy(now);
    seen.queue.push_back(port.QueueAt(now).packets);
    for (FlowId f = 0; f < n; ++f) seen.alpha += lab.Sender(f)->state().alpha.value() / n;
    const CongestionWindow& window = lab.Sender(0)->window();
    reductions += window.cwnd < cwnd ? 1 : 0;
    cwnd = window.cwnd;
  });
  lab.Run(Time{} + until);
  const double samples = static_cast<double>(seen.queue.size());
  const double mean_queue = std::accumulate(seen.queue.begin(), seen.queue.end(), 0.0) / samples;
  const double rtt = Seconds(round_trip) + mean_queue * Seconds(SerializationDelay(1500_B, rate));
  seen.alpha /= samples;
  seen.utilization = Seconds({at_end.busy_ps - at_start.busy_ps}) / ((samples - 1) * 10e-6);
  seen.period = (samples - 1) * 10e-6 / static_cast<double>(reductions) / rtt;
  seen.drops = lab.Packets().dropped_total();
  std::ranges::sort(seen.queue);
  return seen;
}

struct DctcpCase {
  BitRate rate;
  Duration round_trip;
  HostId flows;
  int k;
  double amplitude;  // The queue's amplitude, in packets.
  double alpha;      // An independent program's result.
  Duration until;
};

class DctcpSteadyStateTest : public testing::TestWithParam<DctcpCase> {};

TEST_P(DctcpSteadyStateTest, SwingsBelowKPlusNAsPredicted) {
  const DctcpCase& c = GetParam();
  const SteadyState seen = RunLongFlows(c.rate, c.round_trip, c.flows, c.k, c.until);
  EXPECT_NEAR(static_cast<double>(seen.queue.back()), c.k + c.flows, 1);
  const double depth = static_cast<double>(c.k + c.flows - seen.Quantile(0.01));
  EXPECT_NEAR(depth / c.amplitude, 1, 0.35);
  EXPECT_NEAR(seen.alpha / c.alpha, 1, 0.2);
  EXPECT_GT(seen.utilization, 0.9995);
  EXPECT_EQ(seen.drops, 0);
}

INSTANTIATE_TEST_SUITE_P(
    All, DctcpSteadyStateTest,
    testing::Values(DctcpCase{10_Gbps, 100_us, 2, 65, 67 - 54.6, 0.137, 40_ms},
                    DctcpCase{10_Gbps, 100_us, 10, 65, 75 - 45.8, 0.324, 40_ms},
                    DctcpCase{10_Gbps, 100_us, 40, 65, 105 - 35.6, 0.43, 40_ms},
                    DctcpCase{10_Gbps, 12_us, 2, 65, 67 - 58.0, 0.184, 20_ms},
                    DctcpCase{1_Gbps, 100_us, 2, 20, 22 - 16.1, 0.298, 100_ms}));

TEST(DctcpTest, ReducesItsWindowEveryDRoundTrips) {
  EXPECT_NEAR(RunLongFlows(10_Gbps, 100_us, 2, 65, 40_ms).period, 6.2, 0.2 * 6.2);
}

TEST(DctcpTest, NeverQueuesBehindItsOwnNic) {
  const SteadyState seen = RunLongFlows(10_Gbps, 100_us, 1, 65, 10_ms);
  EXPECT_EQ(seen.queue.back(), 1);
}

// Round trips of 4 us without queueing. Over 100 us, five flows take most of the 100 ms to
// converge: the paper's section 4.1 reports 80 to 150 ms at 10 Gbps.
TEST(DctcpTest, SharesTheLinkFairly) {
  for (const HostId n : std::array<HostId, 3>{2, 5, 10}) {
    Lab lab({.graph = Star(n + size_t{1}, {10_Gbps, 1_us}),
             .transport = "{kind: dctcp}",
             .port = "{buffer: unlimited, ecn_above: 65pkts}"});
    std::vector<uint32_t> starts(n);
    Rng rng = Rng::Stream(1, "starts", n);
    for (uint32_t& start : starts) start = rng.Below(200);
    std::ranges::sort(starts);
    for (HostId h = 0; h < n; ++h) lab.AddFlow(h, n, kForever, Time{} + 1_us * starts[h]);
    lab.Run(Time{} + 100_ms);
    double sum = 0;
    double squares = 0;
    for (const FlowRecord& flow : lab.records()) {
      const double packets = static_cast<double>(flow.receiver.packets);
      sum += packets;
      squares += packets * packets;
    }
    EXPECT_GT(sum * sum / (n * squares), 0.99) << n << " flows";
  }
}

// --- Incast ---

Lab::Plan Incast(HostId senders, const std::string& buffer) {
  return {.graph = Star(senders + size_t{1}, {10_Gbps, 1_us}),
          .port = "{buffer: " + buffer + ", ecn_above: unlimited}"};
}

void AddBursts(Lab& lab, HostId senders) {
  for (HostId h = 0; h < senders; ++h) lab.AddFlow(h, senders, 14'600);
}

TEST(IncastTest, QueuesAllButWhatHasLeftMeanwhile) {
  for (const HostId n : std::array<HostId, 2>{20, 25}) {
    Lab lab(Incast(n, "unlimited"));
    AddBursts(lab, n);
    FifoPort& port = lab.PortTo(lab.SwitchVertex(0), lab.HostVertex(n));
    const PacketSizes sizes = TransportFrom("{kind: tcp}").settings->sizes();
    int64_t peak = 0;
    lab.SampleEvery(500_ns, [&](Time now) { peak = std::max(peak, port.QueueAt(now).bytes); });
    lab.Run();
    EXPECT_EQ(peak, (10 * n - 9) * sizes.DataPacket(sizes.mss));
    Time last;
    for (const FlowRecord& flow : lab.records()) last = std::max(last, flow.receiver.done);
    EXPECT_EQ(last, Time{} + 2'230'400_ps + 1'230'400_ps * (10 * n) + 1_us);
  }
}

// A burst leaves 10 N - 9 packets in the port.
TEST(IncastTest, DropsWhatIsBeyondTheBuffer) {
  for (const char* buffer : {"250pkts", "379.5KB"}) {
    for (const auto& [senders, drops] : {std::pair(25, 0), std::pair(26, 1), std::pair(40, 141)}) {
      Lab lab(Incast(static_cast<HostId>(senders), buffer));
      AddBursts(lab, static_cast<HostId>(senders));
      lab.Run(Time{} + 14_us);  // The first flight.
      EXPECT_EQ(lab.Drops(DropReason::kTail), drops) << senders << " senders, " << buffer;
    }
  }
}

TEST(IncastTest, EndsForEverySenderDespiteItsDrops) {
  Lab lab(Incast(40, "250pkts"));
  AddBursts(lab, 40);
  lab.Run();
  EXPECT_TRUE(lab.finished());
  int64_t needed = 0;
  for (const FlowRecord& flow : lab.records()) {
    needed += flow.sender.retransmissions_loss;
    EXPECT_EQ(flow.receiver.packets, 10 + flow.receiver.duplicates);
  }
  EXPECT_EQ(needed, lab.Drops(DropReason::kTail));
}

}  // namespace heddle::steady_state_test
