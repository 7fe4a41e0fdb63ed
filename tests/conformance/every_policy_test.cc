// SPDX-License-Identifier: Apache-2.0
// These tests hold for every registered load balancer, including those added later.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "core/sanitizers.h"
#include "settings/reader.h"
#include "settings/writer.h"
#include "settings/yaml.h"
#include "tests/conformance/tested_policies.h"
#include "tests/support/lb_bench.h"

namespace {

// Allocations of the whole program so far.
size_t allocations = 0;

[[maybe_unused]] void* Allocate(size_t size, size_t alignment) {
  ++allocations;
  const size_t rounded = (size + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, std::max(rounded, alignment));
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

// AddressSanitizer and its like have allocators of their own.
#if !defined(HEDDLE_ASAN) && !defined(HEDDLE_TSAN)
#define HEDDLE_COUNTS_ALLOCATIONS
// Not inlined: compilers warn of memory from new that ends in free.
[[gnu::noinline]] void* operator new(size_t size) {
  return Allocate(size, alignof(std::max_align_t));
}
[[gnu::noinline]] void* operator new(size_t size, std::align_val_t alignment) {
  return Allocate(size, static_cast<size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, size_t, std::align_val_t) noexcept {
  std::free(memory);
}

#endif

namespace heddle {

size_t Allocations() { return allocations; }

namespace {

class EveryPolicyTest : public testing::TestWithParam<std::string> {};
class EveryHostPolicyTest : public testing::TestWithParam<std::string> {};

// The load balancers that act at hosts.
std::vector<std::string> HostPolicies() {
  std::vector<std::string> names = TestedPolicies();
  std::erase_if(names, [](const std::string& name) {
    return LoadBalancers().Make(name).settings->ForHost(0, 1) == nullptr;
  });
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, EveryPolicyTest, testing::ValuesIn(TestedPolicies()),
                         [](const auto& name) { return name.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(EveryHostPolicyTest);  // A plug-in may have none.
INSTANTIATE_TEST_SUITE_P(All, EveryHostPolicyTest, testing::ValuesIn(HostPolicies()),
                         [](const auto& name) { return name.param; });

constexpr int kDecisions = 10'000;

// The i-th of a mix of packets: data and ACKs, with and without a path.
Packet Mixed(int i) {
  Packet packet = LbPacket(Mix64(static_cast<uint64_t>(i % 97)) & 0xffff'ffff);
  packet.kind = i % 3 == 0 ? PacketKind::kAck : PacketKind::kData;
  packet.path = i % 5 == 0 ? static_cast<uint16_t>(i % 7) : kNoPath;
  return packet;
}

TEST_P(EveryPolicyTest, PicksALivePortAsAFunctionOfSeedAndInputs) {
  LbSwitch one(GetParam(), {.id = 2, .seed = 42});
  LbSwitch two(GetParam(), {.id = 2, .seed = 42});
  const std::vector<PortIndex> lives[] = {{0, 1, 2, 3}, {0, 1, 3}, {2}, {0, 1, 2, 3}, {1, 2}};
  for (int i = 0; i < kDecisions; ++i) {
    const std::vector<PortIndex>& live = lives[i * 5 / kDecisions];
    const Time at = Time{} + 1_us * (i * int64_t{1} * i / 100);  // The gaps become longer.
    const Decision decision = one.Decide(Mixed(i), at, live);
    if (decision.kind == Decision::Kind::kForward) {
      ASSERT_TRUE(std::ranges::binary_search(live, decision.port));
    }
    const Decision same = two.Decide(Mixed(i), at, live);
    ASSERT_EQ(decision.kind, same.kind);
    ASSERT_EQ(decision.port, same.port);
  }
}

// A table may double when new flows come, which the first packets bring. All flows, in both
// directions, have come after 3 * 97 of them.
TEST_P(EveryPolicyTest, AllocatesNothingForFlowsThatItHasSeen) {
  LbSwitch leaf(GetParam());
  size_t allocated = 0;
  size_t for_new_flows = 0;
  for (int i = 0; i < kDecisions; ++i) {
    const Packet packet = Mixed(i);
    leaf.At(Time{} + 1_us * i, [&](SwitchView& view, SwitchPolicy& policy) {
      const size_t before = allocations;
      policy.OnPacket(view, packet, 4, {0, 1, leaf.uplinks()});
      if (i > 0) (i < 3 * 97 ? for_new_flows : allocated) += allocations - before;
    });
  }
  EXPECT_EQ(allocated, 0u);
  // Up to two blocks each time that one of at most three tables doubles, from 16 places to 256.
  EXPECT_LE(for_new_flows, 3 * 2 * 4u);
#ifdef HEDDLE_COUNTS_ALLOCATIONS
  EXPECT_GT(allocations, 0u);  // The hook works.
#endif
}

TEST_P(EveryPolicyTest, ReportsStateThatDoesNotGrowWithTheFlows) {
  LbSwitch leaf(GetParam());
  leaf.PortFor(LbPacket(0));
  const size_t bytes = leaf.policy().StateBytes();
  EXPECT_GT(bytes, 0u);
  for (const uint32_t tuple : RandomTuples(1, 10'000))
    leaf.Decide(LbPacket(tuple), {}, leaf.uplinks());
  EXPECT_EQ(leaf.policy().StateBytes(), bytes);
}

TEST_P(EveryHostPolicyTest, ItsHostSendsOnLivePathsAsAFunctionOfSeedAndInputs) {
  PathTable paths = PathsOfWeights({2, 1, 1, 2});
  LbHost one(GetParam(), paths, 0, 42);
  LbHost two(GetParam(), paths, 0, 42);
  for (FlowId id = 0; id < 50; ++id) {
    if (id == 25) paths.Set(0, 1, {{1, 1}, {3, 2}});
    HostFlow flow = one.Start(1, id, Time{} + 1_ms * id);
    HostFlow same = two.Start(1, id, Time{} + 1_ms * id);
    for (int i = 0; i < 200; ++i) {
      const Time at = Time{} + 1_ms * id + 1_us * i;
      const Packet packet = one.Send(flow, 1'460, at);
      if (packet.path != kNoPath) {
        const auto live = paths.Between(0, 1);
        ASSERT_NE(std::ranges::find(live, packet.path, &PathChoice::id), live.end());
      }
      const Packet other = two.Send(same, 1'460, at);
      ASSERT_EQ(packet.path, other.path);
      ASSERT_EQ(packet.entropy, other.entropy);
      ASSERT_EQ(packet.scheme, other.scheme);
    }
  }
  EXPECT_GT(one.policy().StateBytes(), 0u);
}

TEST_P(EveryHostPolicyTest, ItsHostAllocatesNothingOnceAFlowHasStarted) {
  const PathTable paths = PathsOfWeights({2, 1, 1, 2});
  LbHost host(GetParam(), paths);
  HostFlow flow = host.Start(1);
  host.Send(flow);
  size_t allocated = 0;
  for (int i = 0; i < 2'000; ++i) {
    host.At(Time{} + 1_us * i, [&](HostView& view, HostPolicy& policy) {
      Packet packet = LbPacket(1);
      const size_t before = allocations;
      policy.OnSend(view, flow, packet);
      allocated += allocations - before;
    });
  }
  EXPECT_EQ(allocated, 0u);
}

TEST_P(EveryPolicyTest, DescribesItselfAndItsSettings) {
  const KindInfo& info = LoadBalancers().InfoOf(GetParam());
  EXPECT_TRUE(info.summary.ends_with('.')) << info.summary;
  const Chosen<LoadBalancer> chosen = LoadBalancers().Make(GetParam());
  for (const FieldInfo& row :
       DescribeFields([&](Fields& fields) { chosen.settings->Declare(fields); })) {
    EXPECT_FALSE(row.path.empty() || row.type.empty() || row.preset.empty()) << row.path;
    EXPECT_TRUE(row.meaning.ends_with('.')) << row.path << ": " << row.meaning;
  }
}

TEST_P(EveryPolicyTest, ItsDefaultsReadBackAsWritten) {
  const auto declare = [](Chosen<LoadBalancer>& chosen) {
    return [&](Fields& fields) { fields.Kind("lb", chosen, LoadBalancers(), "The balancer."); };
  };
  Chosen<LoadBalancer> chosen = LoadBalancers().Make(GetParam());
  const std::string text = WriteYaml(declare(chosen));
  Diagnostics diagnostics;
  Chosen<LoadBalancer> read;
  ReadSettings(ParseYaml(text, "lb.yaml", diagnostics).value(), declare(read), diagnostics);
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.Report();
  EXPECT_EQ(WriteYaml(declare(read)), text);
}

}  // namespace
}  // namespace heddle
