// SPDX-License-Identifier: Apache-2.0
// EcmpRoutes chooses the port that EcmpPort() chooses among the ports of the routing table.

#include "fabric/ecmp_routes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/random.h"

namespace heddle::ecmp_routes_test {

constexpr uint32_t kPorts = 12;  // Of which the last ones are uplinks.

class TableOfOneSwitch {
 public:
  explicit TableOfOneSwitch(Rng& rng, bool in_fabric) : rng_(rng) {
    const uint32_t uplinks = rng.Below(5);
    for (uint32_t i = kPorts - uplinks; i < kPorts; ++i) {
      table_.uplinks.push_back(static_cast<PortIndex>(i));
    }
    // Some uplinks are not neighbours, and some parts of a path's id do not fit into 16 bits.
    if (uplinks > 1 && rng.Below(4) == 0) table_.uplinks.front() = 0;
    table_.path_divisor = 1 + rng.Below(rng.Below(2) == 0 ? 40 : 1 << 20);
    in_fabric ? AddGroupsOfFabric() : AddAnyGroups();
    // The leaf of hosts that are groups of their own has a group without members.
    if (rng.Below(4) == 0) {
      table_.sets_of_group.push_back({static_cast<uint16_t>(table_.sets.size()), 1});
    }
    table_.SetGroups(std::make_shared<const HostGroups>(std::move(hosts_)));
    CheckSets();
    path_parts_.resize(kPorts, 0);
    for (size_t i = 0; i < table_.uplinks.size(); ++i) {
      path_parts_[table_.uplinks[i]] = static_cast<uint16_t>(i * table_.path_divisor);
    }
  }

  // Compares the choices for every host, with sets left out at random. Returns true if the choices
  // needed no table.
  bool Check() {
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
    return !routes.needs_tables();
  }

 private:
  // The sets of an interval are those of the table.
  void CheckSets() {
    std::vector<uint32_t> sets;
    const size_t hosts = table_.groups->of_host.size();
    for (HostId host = 0; host < hosts; ++host) sets.push_back(table_.SetOf(host));
    table_.FindBelow();
    for (HostId host = 0; host < hosts; ++host) EXPECT_EQ(table_.SetOf(host), sets[host]) << host;
  }

  void AddAnyGroups() {
    const uint32_t groups = 1 + rng_.Below(6);
    for (uint32_t g = 0; g < groups; ++g) AddGroup(AddHosts(g, 1 + rng_.Below(4)));
  }

  // As in a leaf-spine or a fat-tree: the hosts of some leaves lie below the switch, those of
  // others behind all uplinks. In some tables, one leaf has other ports.
  void AddGroupsOfFabric() {
    const uint32_t members = 1 + rng_.Below(4);
    const uint32_t groups = 1 + rng_.Below(12);
    const uint32_t begin = rng_.Below(groups + 1);
    const uint32_t end = begin + rng_.Below(groups - begin + 1);
    const uint32_t groups_of_port = std::max(rng_.Below(5), (end - begin) / 6);
    const uint32_t odd = rng_.Below(4 * groups);
    // In some tables, the last leaf has fewer hosts.
    const uint32_t of_last = rng_.Below(3) == 0 ? 1 + rng_.Below(members) : members;
    for (uint32_t g = 0; g < groups; ++g) {
      const uint32_t its = AddHosts(g, g + 1 == groups ? of_last : members);
      const bool is_below = begin <= g && g < end;
      if (g == odd) {
        AddGroup(its);
      } else if (is_below && groups_of_port == 0) {
        AddAttached(its, (g - begin) * members % (kPorts - members));
      } else {
        AddShared(is_below ? std::vector{static_cast<PortIndex>((g - begin) / groups_of_port)}
                           : table_.uplinks);
      }
    }
  }

  uint32_t AddHosts(uint32_t group, uint32_t members) {
    for (uint32_t m = 0; m < members; ++m) {
      hosts_.push_back({static_cast<uint16_t>(group), static_cast<uint16_t>(m)});
    }
    return members;
  }

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

  // Adds a group whose members share one set, with other groups of the same ports.
  void AddShared(const std::vector<PortIndex>& ports) {
    const auto found = shared_.find(ports);
    const uint16_t set = found != shared_.end() ? found->second : shared_[ports] = AddSet(ports);
    table_.sets_of_group.push_back({set, 0});
  }
  // Adds a group whose members are behind one port each.
  void AddAttached(uint32_t members, uint32_t first_port) {
    table_.sets_of_group.push_back({static_cast<uint16_t>(table_.sets.size()), 1});
    for (uint32_t m = 0; m < members; ++m) AddSet({static_cast<PortIndex>(first_port + m)});
  }

  // Half of the groups are as in a fabric without failures.
  void AddGroup(uint32_t members) {
    const PortIndex port = static_cast<PortIndex>(rng_.Below(kPorts - members));
    switch (rng_.Below(5)) {
      case 0:
        return AddShared({port});
      case 1:
        return AddShared(table_.uplinks);
      case 2:
        return AddShared(RandomPorts());
      case 3:
        return AddAttached(members, port);
      case 4:
        table_.sets_of_group.push_back({static_cast<uint16_t>(table_.sets.size()), 1});
        for (uint32_t m = 0; m < members; ++m) AddSet(RandomPorts());
    }
  }

  Rng& rng_;
  std::vector<HostGroup> hosts_;
  std::map<std::vector<PortIndex>, uint16_t> shared_;
  RoutingTable table_;
  std::vector<uint16_t> path_parts_;
};

TEST(EcmpRoutesTest, ChooseThePortThatTheHashChoosesFromTheRoutingTable) {
  for (uint64_t i = 0; i < 2'000; ++i) {
    SCOPED_TRACE(i);
    Rng rng = Rng::Stream(1, "ecmp routes", i);
    TableOfOneSwitch(rng, /*in_fabric=*/false).Check();
    if (testing::Test::HasFailure()) return;
  }
}

TEST(EcmpRoutesTest, NeedNoTableIfTheHostsBelowAreAnInterval) {
  int without_tables = 0;
  for (uint64_t i = 0; i < 4'000; ++i) {
    SCOPED_TRACE(i);
    Rng rng = Rng::Stream(1, "ecmp routes in a fabric", i);
    without_tables += TableOfOneSwitch(rng, /*in_fabric=*/true).Check() ? 1 : 0;
    if (testing::Test::HasFailure()) return;
  }
  // The others have a leaf with other ports, sets left out or a group without members.
  EXPECT_GT(without_tables, 500);
  EXPECT_LT(without_tables, 3'000);
}

}  // namespace heddle::ecmp_routes_test
