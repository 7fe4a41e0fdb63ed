// SPDX-License-Identifier: Apache-2.0
// EcmpRoutes chooses the port that EcmpPort() chooses among the ports of the routing table.

#include "fabric/ecmp_routes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/random.h"

namespace heddle::ecmp_routes_test {

constexpr uint32_t kPorts = 12;  // Of which the last ones are uplinks.

class TableOfOneSwitch {
 public:
  explicit TableOfOneSwitch(Rng& rng) : rng_(rng) {
    const uint32_t uplinks = rng.Below(5);
    for (uint32_t i = kPorts - uplinks; i < kPorts; ++i) {
      table_.uplinks.push_back(static_cast<PortIndex>(i));
    }
    // Some uplinks are not neighbours, and some parts of a path's id do not fit into 16 bits.
    if (uplinks > 1 && rng.Below(4) == 0) table_.uplinks.front() = 0;
    table_.path_divisor = 1 + rng.Below(rng.Below(2) == 0 ? 40 : 1 << 20);
    const uint32_t groups = 1 + rng.Below(6);
    std::vector<HostGroup> hosts;
    for (uint32_t g = 0; g < groups; ++g) {
      const uint32_t members = 1 + rng.Below(4);
      for (uint32_t m = 0; m < members; ++m) {
        hosts.push_back({static_cast<uint16_t>(g), static_cast<uint16_t>(m)});
      }
      AddGroup(members);
    }
    // The leaf of hosts that are groups of their own has a group without members.
    if (rng.Below(4) == 0) {
      table_.sets_of_group.push_back({static_cast<uint16_t>(table_.sets.size()), 1});
    }
    table_.SetGroups(std::make_shared<const HostGroups>(std::move(hosts)));
    path_parts_.resize(kPorts, 0);
    for (size_t i = 0; i < table_.uplinks.size(); ++i) {
      path_parts_[table_.uplinks[i]] = static_cast<uint16_t>(i * table_.path_divisor);
    }
  }

  // Compares the choices for every host, with sets left out at random.
  void Check() {
    std::vector<bool> leaves_out;
    for (size_t i = 0; i < table_.sets.size(); ++i) leaves_out.push_back(rng_.Below(8) == 0);
    const EcmpRoutes routes(table_, path_parts_, leaves_out);
    bool has_choice = false;
    for (size_t i = 0; i < table_.sets.size(); ++i) {
      has_choice = has_choice || (table_.sets[i].count > 1 && !leaves_out[i]);
    }
    EXPECT_EQ(routes.has_choice(), has_choice);
    const uint64_t salt = rng_.Next();
    for (HostId host = 0; host < table_.groups->of_host.size(); ++host) {
      Packet packet;
      packet.dst = host;
      packet.tuple_hash = static_cast<uint32_t>(rng_.Next());
      packet.entropy = static_cast<uint16_t>(rng_.Next());
      const std::span<const PortIndex> ports = table_.Towards(host);
      const EcmpRoutes::Choice choice = routes.Choose<true>(packet, salt);
      const EcmpRoutes::Choice first = routes.Choose<false>(packet, salt);
      EXPECT_EQ(first.count, std::min(choice.count, 1u));
      if (ports.empty() || leaves_out[table_.SetOf(host)]) {
        EXPECT_EQ(choice.count, 0u);
        continue;
      }
      EXPECT_EQ(choice.count, ports.size());
      EXPECT_EQ(choice.hop().port, EcmpPort(packet, salt, ports));
      EXPECT_EQ(choice.hop().path_part, path_parts_[choice.hop().port]);
      EXPECT_EQ(first.hop().port, ports.front());
      EXPECT_EQ(first.hop().path_part, path_parts_[ports.front()]);
    }
  }

 private:
  uint16_t AddSet(const std::vector<PortIndex>& ports) {
    table_.sets.push_back(
        {static_cast<uint32_t>(table_.ports.size()), static_cast<uint32_t>(ports.size())});
    table_.ports.insert(table_.ports.end(), ports.begin(), ports.end());
    return static_cast<uint16_t>(table_.sets.size() - 1);
  }
  std::vector<PortIndex> RandomPorts() {
    std::vector<PortIndex> ports;
    for (PortIndex port = 0; port < kPorts; ++port) {
      if (rng_.Below(4) == 0) ports.push_back(port);
    }
    return ports;
  }

  // Half of the groups are as in a fabric without failures.
  void AddGroup(uint32_t members) {
    const PortIndex port = static_cast<PortIndex>(rng_.Below(kPorts - members));
    const uint16_t first = static_cast<uint16_t>(table_.sets.size());
    switch (rng_.Below(5)) {
      case 0:
        AddSet({port});
        break;
      case 1:
        AddSet(table_.uplinks);
        break;
      case 2:
        AddSet(RandomPorts());
        break;
      case 3:
        for (uint32_t m = 0; m < members; ++m) AddSet({static_cast<PortIndex>(port + m)});
        table_.sets_of_group.push_back({first, 1});
        return;
      case 4:
        for (uint32_t m = 0; m < members; ++m) AddSet(RandomPorts());
        table_.sets_of_group.push_back({first, 1});
        return;
    }
    table_.sets_of_group.push_back({first, 0});
  }

  Rng& rng_;
  RoutingTable table_;
  std::vector<uint16_t> path_parts_;
};

TEST(EcmpRoutesTest, ChooseThePortThatTheHashChoosesFromTheRoutingTable) {
  for (uint64_t i = 0; i < 2'000; ++i) {
    SCOPED_TRACE(i);
    Rng rng = Rng::Stream(1, "ecmp routes", i);
    TableOfOneSwitch(rng).Check();
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace heddle::ecmp_routes_test
