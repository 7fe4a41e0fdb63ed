// SPDX-License-Identifier: Apache-2.0
// No part of a run allocates per packet in steady state. This program counts its allocations.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>

#include "tests/support/experiment_kit.h"

namespace {

std::atomic<int64_t> allocations{0};

void* Counted(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

// Not inlined: the compiler would see free() meet new.
[[gnu::noinline]] void* operator new(std::size_t size) { return Counted(size); }
[[gnu::noinline]] void* operator new[](std::size_t size) { return Counted(size); }
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  try {
    return Counted(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
[[gnu::noinline]] void* operator new[](std::size_t size, const std::nothrow_t& tag) noexcept {
  return operator new(size, tag);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}

namespace heddle::allocation_test {

struct Cost {
  int64_t allocations;
  int64_t hops;
};

Cost CostOf(const std::string& transport, const std::string& lb, const std::string& t_max,
            const std::string& background = "[]") {
  const Experiment experiment = ExperimentFrom(
      "topology: {kind: leaf_spine, leaves: 2, spines: 4, hosts_per_leaf: 4}\n"
      "transport: " +
      transport + "\nlb: " + lb +
      "\n"
      "workload: [{kind: permutation, size: 1GB, cross_rack: true}]\n"
      "background: " +
      background +
      "\n"
      "measure: {unfinished: drop, t_max: " +
      t_max + "}\n");
  const int64_t before = allocations;
  const FinishedRun run = RunExperiment(experiment);
  return {allocations - before, run.result.packets.hops};
}

TEST(AllocationTest, APacketCostsNone) {
  for (const char* transport :
       {"dctcp", "{kind: dctcp, recovery: newreno}", "tcp", "{kind: rocev2, recovery: irn}",
        "rocev2", "{kind: dctcp, resequencing: timeout}",
        "{kind: rocev2, resequencing: {kind: juggler, flows: 1}}"}) {
    for (const char* lb : {"ecmp", "rps", "letflow", "presto"}) {
      SCOPED_TRACE(std::string(transport) + " " + lb);
      // Rings and tables have grown to their sizes after the shorter run.
      const Cost shorter = CostOf(transport, lb, "2ms");
      const Cost longer = CostOf(transport, lb, "4ms");
      const int64_t hops = longer.hops - shorter.hops;
      ASSERT_GT(hops, 10'000);
      EXPECT_LT(longer.allocations - shorter.allocations, hops / 1'000);
    }
  }
}

TEST(AllocationTest, ADatagramCostsNone) {
  for (const char* pattern : {"cbr", "poisson", "onoff"}) {
    for (const char* via : {"''", "spine1"}) {
      SCOPED_TRACE(std::string(pattern) + " " + via);
      const std::string background = fmt::format(
          "[{{hosts: 1, load: 0.1, cross_rack: true, pattern: {}, via: {}}}]", pattern, via);
      const Cost shorter = CostOf("dctcp", "rps", "6ms", background);
      const Cost longer = CostOf("dctcp", "rps", "12ms", background);
      const int64_t hops = longer.hops - shorter.hops;
      ASSERT_GT(hops, 10'000);
      EXPECT_LT(longer.allocations - shorter.allocations, hops / 1'000);
    }
  }
}

}  // namespace heddle::allocation_test
