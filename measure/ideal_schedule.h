// SPDX-License-Identifier: Apache-2.0
// The time that a schedule needs at least if nothing else uses the network: an iteration of a job,
// or one collective in it.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/units.h"
#include "network/ideal_fct.h"
#include "topo/routing.h"
#include "transport/packet_sizes.h"
#include "workload/jobs/job.h"
#include "workload/jobs/schedule.h"

namespace heddle {

class IdealSchedule {
 public:
  struct Result {
    Duration time{0};
    int64_t messages = 0;  // Over the network,
    int64_t bytes_network = 0;
    int64_t bytes_local = 0;  // and between ranks of one server.
  };

  // `may_detour`: links fail, and messages then take other paths. `spreads`: a message uses several
  // links of its hosts at once. `routing` outlives this.
  IdealSchedule(const Routing& routing, const PacketSizes& sizes, bool may_detour, bool spreads)
      : routing_(routing), sizes_(sizes), ideal_(routing, sizes, may_detour, spreads) {}

  // The time is the largest of three lower bounds: the longest chain of messages, and the bytes
  // that each host's links must send, and receive. Walks through all messages. `schedule` is a part
  // of the job's: its rank i is rank `ranks[i]` of the job; the same number if `ranks` is empty.
  Result Of(const Schedule& schedule, const Job& job, std::span<const uint32_t> ranks = {});

 private:
  class Sums;
  struct KnownTimes {
    HostId src = 0;
    HostId dst = 0;
    int64_t size = 0;  // 0: none.
    IdealFct::Times times{};
  };

  // Most schedules repeat messages, such as the steps of a ring. Each place of the table keeps the
  // last message that had it.
  IdealFct::Times TimesOf(HostId src, HostId dst, int64_t size);

  const Routing& routing_;
  const PacketSizes sizes_;
  IdealFct ideal_;
  std::vector<KnownTimes> known_ = std::vector<KnownTimes>(4'096);
};

}  // namespace heddle
