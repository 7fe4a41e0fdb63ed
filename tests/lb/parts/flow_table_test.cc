// SPDX-License-Identifier: Apache-2.0
// Compares tables of flows with slow models and with theory, and tests their edges.

#include "lb/parts/flow_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <list>
#include <set>
#include <utility>
#include <vector>

#include "core/random.h"

namespace heddle::flow_table_test {

Packet Of(FlowId flow, HostId src = 0) {
  Packet packet;
  packet.flow = flow;
  packet.src = src;
  packet.tuple_hash = static_cast<uint32_t>(Mix64(uint64_t{flow} << 16 | src));
  return packet;
}

using Table = AgedFlowTable<int64_t>;

Table Small(int64_t entries, Duration age) { return Table({.entries = entries, .age = age}); }

// The plainest model of a table with a single set: a list from the least recently used flow to the
// newest.
class Model {
 public:
  Model(size_t capacity, Duration age) : capacity_(capacity), age_(age) {}

  std::pair<int64_t*, bool> Touch(FlowId flow, HostId src, Time now) {
    std::erase_if(flows_, [&](const Flow& other) { return now - other.last > age_; });
    const auto known = std::ranges::find_if(
        flows_, [&](const Flow& other) { return other.flow == flow && other.src == src; });
    Flow entry = known == flows_.end() ? Flow{flow, src, now, 0} : *known;
    const bool is_new = known == flows_.end();
    if (!is_new) {
      flows_.erase(known);
    } else if (flows_.size() == capacity_) {
      flows_.pop_front();
      ++evictions;
    }
    entry.last = now;
    flows_.push_back(entry);
    most = std::max(most, flows_.size());
    return {&flows_.back().state, is_new};
  }

  int64_t evictions = 0;
  size_t most = 0;

 private:
  struct Flow {
    FlowId flow;
    HostId src;
    Time last;
    int64_t state;
  };
  const size_t capacity_;
  const Duration age_;
  std::list<Flow> flows_;
};

class AgedFlowTableTest : public testing::TestWithParam<uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, AgedFlowTableTest, testing::Range(uint64_t{1}, uint64_t{9}));

TEST_P(AgedFlowTableTest, OfOneSetIsTheModelForRandomFlows) {
  Rng rng = Rng::Stream(GetParam(), "flow table", 0);
  const size_t capacity = 1 + rng.Below(15);
  const Duration age = 1_us * (20 + rng.Below(30));
  Table table = Small(static_cast<int64_t>(capacity), age);
  ASSERT_EQ(table.capacity(), capacity);
  Model model(capacity, age);
  Model a_32nd_longer(capacity, age * 33 / 32);
  Time now;
  for (int64_t i = 0; i < 20'000; ++i) {
    now += 1_us * rng.Below(4) + 1_ps;  // Ties may evict either flow.
    const FlowId flow = rng.Below(40);
    const HostId src = static_cast<HostId>(rng.Below(2));
    const auto [expected, is_new] = model.Touch(flow, src, now);
    a_32nd_longer.Touch(flow, src, now);
    const int64_t* const before = table.Find(Of(flow, src), now);
    ASSERT_EQ(before == nullptr, is_new);
    const Table::Found found = table.Touch(Of(flow, src), now);
    ASSERT_EQ(found.is_new, is_new);
    ASSERT_EQ(found.state, *expected);
    ASSERT_EQ(table.evictions(), model.evictions);
    ASSERT_GE(table.used(), model.most);
    ASSERT_LE(table.used(), a_32nd_longer.most);
    found.state = *expected = i;
  }
  EXPECT_GT(model.evictions, 0);
}

// The table may choose which flows share a set. It must not mix up flows, and must count every flow
// that it forgets.
TEST_P(AgedFlowTableTest, OfManySetsForgetsNoFlowButThoseItCounts) {
  Rng rng = Rng::Stream(GetParam(), "flow sets", 0);
  const Duration age = 100_us;
  Table table = Small(200, age);
  EXPECT_EQ(table.capacity(), 200u);
  struct Seen {
    Time last{-kNever.ps};
    int64_t state = 0;
  };
  std::vector<Seen> seen(300);
  int64_t forgotten = 0;
  int64_t remembered = 0;
  Time now;
  for (int64_t i = 1; i < 100'000; ++i) {
    now += 1_ns * rng.Below(2'000);
    const FlowId flow = rng.Below(rng.Below(2) == 0 ? 30 : 300);
    Seen& its = seen[flow];
    const Table::Found found = table.Touch(Of(flow), now);
    ASSERT_EQ(found.state, found.is_new ? 0 : its.state);
    if (now - its.last > age) {
      ASSERT_TRUE(found.is_new);
    } else {
      ++(found.is_new ? forgotten : remembered);
    }
    ASSERT_LE(forgotten, table.evictions());
    found.state = its.state = i;
    its.last = now;
  }
  EXPECT_GT(forgotten, 0);
  EXPECT_GT(remembered, 20 * forgotten);
}

// A flow has to make room when eight others were heard of in its set within the age: Poisson's
// tail.
TEST(AgedFlowTableTest, MakesRoomAsOftenAsSetsOfEightMust) {
  constexpr int64_t kEntries = 4'096;
  constexpr int64_t kFlows = 1'000'000;
  const auto evictions = [](int64_t live) {
    Table table = Small(kEntries, 1_us * live);
    for (int64_t i = 0; i < kFlows; ++i) table.Touch(Of(static_cast<FlowId>(i)), Time{} + 1_us * i);
    EXPECT_GE(static_cast<int64_t>(table.used()), live * 9 / 10);
    EXPECT_LE(static_cast<int64_t>(table.used()), live * 33 / 32 + 1);
    return static_cast<double>(table.evictions()) / kFlows;
  };
  EXPECT_NEAR(evictions(kEntries / 2), 0.0511, 0.0015);    // P(at least 8 of 4 on average).
  EXPECT_NEAR(evictions(kEntries / 4), 0.00110, 0.00015);  // The same for 2 on average.
  EXPECT_LE(evictions(kEntries / 8), 0.00004);             // The same for 1: 0.00001.
}

TEST(AgedFlowTableTest, RemembersAFlowThroughASilenceOfExactlyTheAge) {
  Table table = Small(4, 10_us);
  table.Touch(Of(1), Time{}).state = 7;
  EXPECT_EQ(table.Touch(Of(1), Time{} + 10_us).state, 7);
  EXPECT_EQ(table.Find(Of(1), Time{} + 20_us + 1_ps), nullptr);
  const Table::Found late = table.Touch(Of(1), Time{} + 20_us + 1_ps);
  EXPECT_TRUE(late.is_new);
  EXPECT_EQ(late.state, 0);
  EXPECT_EQ(table.evictions(), 0);  // It was not forgotten for lack of room.
}

TEST(AgedFlowTableTest, KeepsTheDirectionsOfAFlowApart) {
  Table table = Small(4, 1_s);
  table.Touch(Of(1, 0), Time{}).state = 7;
  EXPECT_TRUE(table.Touch(Of(1, 1), Time{}).is_new);
}

TEST(AgedFlowTableTest, HashedEntriesAreSharedByTheFlowsThatCollide) {
  AgedFlowTable<int64_t> table({.bits = 4, .age = 10_us});
  EXPECT_EQ(table.capacity(), 16u);
  std::set<const int64_t*> states;
  for (FlowId flow = 0; flow < 1'000; ++flow) states.insert(&table.Touch(Of(flow), Time{}).state);
  EXPECT_EQ(states.size(), 16u);
  EXPECT_EQ(table.used(), 16u);
  EXPECT_EQ(table.evictions(), 0);
  // Whoever comes keeps it alive, and finds what another has left.
  AgedFlowTable<int64_t> one({.bits = 0, .age = 10_us});
  one.Touch(Of(1), Time{}).state = 7;
  EXPECT_EQ(one.Touch(Of(2), Time{} + 10_us).state, 7);
  EXPECT_EQ(one.Touch(Of(1), Time{} + 20_us).state, 7);
  EXPECT_TRUE(one.Touch(Of(1), Time{} + 30_us + 1_ps).is_new);
}

TEST(AgedFlowTableTest, SaysHowMuchMemoryItIs) {
  // Each entry has a key, a time and a state.
  EXPECT_EQ(Small(65'536, 1_s).memory_bytes(), 65'536u * (8 + 8 + 8));
  // All sets have the same size: 12 sets of 9.
  EXPECT_EQ(Small(100, 1_s).capacity(), 108u);
  // Entries that flows share have a time and a state.
  EXPECT_EQ(AgedFlowTable<int64_t>({.bits = 10, .age = 1_s}).memory_bytes(), 1'024u * (8 + 8));
}

}  // namespace heddle::flow_table_test
