// SPDX-License-Identifier: Apache-2.0
// Results must not depend on the number of threads.

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/lab.h"
#include "tests/support/thread_counts.h"

namespace heddle::transport_determinism_test {

// Everything that a run says of its flows, packets and ports.
std::string Trace(const std::string& topology, const std::string& balancer, int threads,
                  uint64_t seed) {
  Lab lab({.graph = LeafSpineFrom(topology),
           .transport = "{kind: dctcp, min_rto: 1ms}",
           .balancer = balancer,
           .port = "{buffer: 40pkts, ecn_above: 15pkts}",
           .threads = threads,
           .seed = seed});
  const uint32_t hosts = static_cast<uint32_t>(lab.network().hosts());
  Rng rng = Rng::Stream(seed, "flows", 0);
  Time start;
  for (int i = 0; i < 150; ++i) {
    start += Duration{rng.Below(4'000'000)};
    const uint32_t src = rng.Below(hosts);
    const uint32_t dst = (src + 1 + rng.Below(hosts - 1)) % hosts;
    lab.AddFlow(static_cast<HostId>(src), static_cast<HostId>(dst), 1 + rng.Below(100'000), start);
  }
  lab.Run();
  EXPECT_TRUE(lab.finished());
  EXPECT_GT(lab.Packets().dropped_total(), 0);
  EXPECT_GT(lab.Packets().marked, 0);
  std::string trace;
  for (const FlowRecord& record : lab.records()) trace += Describe(record) + "\n";
  for (const Network::Egress& egress : lab.network().egresses()) {
    const FifoPort::Counters sent = egress.fifo->Committed();
    trace += fmt::format("port {}.{} {} {} {} {} {} {}\n", egress.vertex.index(), egress.port,
                         sent.packets, sent.wire_bytes, sent.payload_bytes, sent.busy_ps,
                         egress.fifo->dropped(), egress.fifo->marked());
  }
  const ReorderingStats reordering = lab.Reordering();
  return trace + fmt::format("end {} reordered {} {} {} {} {}\n", lab.end().ps, reordering.degree1,
                             reordering.degree2, reordering.degree3_plus, reordering.extent.max(),
                             reordering.late_ps.mean());
}

const char* const kSymmetric = "{leaves: 4, spines: 4, hosts_per_leaf: 4}";
const char* const kAsymmetric =
    "{leaves: 3, spines: 3, hosts_per_leaf: 5, links_per_pair: 2, host_link: {delay: 100ns}, "
    "fabric_link: {rate: 10Gbps, delay: 2us}, asymmetry: [{spines: [0], rate: 3Gbps}, "
    "{random_links: 4, delay: 700ns}]}";

class DeterminismTest : public testing::TestWithParam<const char*> {};

TEST_P(DeterminismTest, HoldsForAnyNumberOfThreads) {
  for (const char* topology : {kSymmetric, kAsymmetric}) {
    SCOPED_TRACE(topology);
    const std::string alone = Trace(topology, GetParam(), 1, 1);
    for (const int threads : ThreadCounts({1, 2, 3, 8})) {
      EXPECT_EQ(Trace(topology, GetParam(), threads, 1), alone) << threads << " threads";
    }
    EXPECT_NE(Trace(topology, GetParam(), 1, 2), alone) << "another seed is another run";
  }
}

INSTANTIATE_TEST_SUITE_P(All, DeterminismTest,
                         testing::Values("{kind: ecmp}", "{kind: rps}",
                                         "{kind: letflow, gap: 10us}",
                                         "{kind: presto, cell: 10KB}"));

}  // namespace heddle::transport_determinism_test
