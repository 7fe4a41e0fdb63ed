// SPDX-License-Identifier: Apache-2.0
// When a network learns of failures and repairs. Network reports each change of a link that is not
// silent; the ends of the link notice it after a time, if it lasts, and all others route
// accordingly when routing has converged. Without a time of detection, everyone learns at once when
// routing has converged.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "core/packet.h"
#include "core/units.h"
#include "fabric/switch.h"

namespace heddle {

struct RoutingTimes {
  Duration convergence{0};         // From a failure or repair to new routes everywhere.
  std::optional<Duration> detect;  // From a failure until the ends of the link stop using it.
  Duration hold_up{0};             // From a repair until the link counts as up.
};

class LinkNews {
 public:
  LinkNews(const RoutingTimes& times, size_t links) : times_(times), changes_(links) {}

  struct News {
    uint32_t link;
    bool up;
    Time routes;  // When everyone routes accordingly.
  };

  // A link has gone up or down. Supersedes what was not yet noticed about this link.
  void Report(uint32_t link, bool up, Time now);

  // Take() returns the next news that the ends of a link notice by `now`; Next() is its time.
  std::optional<News> Take(Time now);
  Time Next() const { return pending_.empty() ? kNever : pending_.begin()->first; }

 private:
  struct Pending {
    News news;
    uint32_t change;
  };

  const RoutingTimes times_;
  std::vector<uint32_t> changes_;         // By link: how often it has changed.
  std::multimap<Time, Pending> pending_;  // By the time at which it is noticed.
};

// Returns `table` as a switch changes it by itself when it notices that `port` is down.
RoutingTable WithoutPort(const RoutingTable& table, PortIndex port);

// The same for the descriptions of next hops. `hosts` has one host of each leaf, by leaf index,
// that has the leaf's next hops; `table` still has the port.
NextHopTable WithoutPort(const NextHopTable& next_hops, const RoutingTable& table, PortIndex port,
                         std::span<const HostId> hosts);

}  // namespace heddle
