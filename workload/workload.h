// SPDX-License-Identifier: Apache-2.0
// Workload is the base of everything that asks for flows: who sends how much to whom, and when.
// Flows are drawn as time advances, from streams of random numbers that nothing in the network can
// shift. So every load balancer meets the same flows, and flows that wait to start take no memory.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/packet.h"
#include "core/random.h"
#include "core/units.h"
#include "fabric/pins.h"
#include "settings/diagnostics.h"
#include "settings/fields.h"
#include "settings/kinds.h"

namespace heddle {

class FilesRead;
class Job;
class PathTable;

// The facts about the network that a workload needs.
struct Stage {
  size_t hosts = 0;
  std::vector<uint16_t> leaf_of_host;  // From 0; several switches of a host count as one.
  size_t leaves = 0;
  std::vector<uint16_t> links_of_host;   // By host.
  std::vector<bool> has_several_leaves;  // By host: its links lead to different switches.
  std::vector<BitRate> host_rate;        // By host: the sum of the links from it.
  std::vector<BitRate> downlink_rate;    // By host: the sum of the links to it.
  std::vector<int64_t> uplink_bps;       // By leaf: the sum of its links to other switches.

  double AllHostsBps() const {
    double bps = 0;
    for (const BitRate rate : host_rate) bps += static_cast<double>(rate.bps);
    return bps;
  }
  double AllUplinksBps() const {
    double bps = 0;
    for (const int64_t uplinks : uplink_bps) bps += static_cast<double>(uplinks);
    return bps;
  }

  int64_t mss = 1460;
  int64_t packet_overhead = 78;  // Bytes on the wire of a packet beyond its payload.
  int64_t max_flow_size = 0;
  std::string folder;  // The experiment's folder, where relative paths start.
  uint64_t seed = 1;
  uint16_t index = 0;  // The workload's number in the experiment.
  // Makes the table of the paths between hosts at the start of the run. Only while workloads are
  // prepared.
  std::function<std::shared_ptr<const PathTable>()> paths = nullptr;

  // Returns an absolute path, so that the resolved experiment works from anywhere.
  std::string PathTo(const std::string& file) const;

  // Returns a stream of random numbers that belongs to this workload alone.
  Rng Stream(std::string_view purpose, uint64_t id) const {
    return Rng::Stream(seed, purpose, uint64_t{index} << 32 | id);
  }
};

struct FlowRequest {
  Time start;
  HostId src = 0;
  HostId dst = 0;
  int64_t size = 1;
  uint16_t dport = 100;
  std::optional<uint16_t> sport = std::nullopt;  // Not set: the source host's next one.
  uint32_t job = 0;                              // Number of the incast query, from 1; 0: no query.
  Time asked = {};                               // When that query was asked.
  std::optional<int64_t> id = std::nullopt;      // The id that a flow list gives it.
  Pin pin = {};
};

// The flows of one workload, in the order of their start.
class FlowSource {
 public:
  virtual ~FlowSource() = default;

  // The next flow; it stays until Pop. Nothing if there are no more.
  virtual const FlowRequest* Front() = 0;
  virtual void Pop() = 0;
};

// A forecast of the flows that a workload will ask for, as far as it can be told beforehand.
struct Forecast {
  double flows = 0;
  std::optional<int64_t> most_flows;  // The most that any draw can give; unset: not known.
  double bytes = 0;                   // Payload.
  double packets = 0;
  int64_t large_flow = 0;  // The size that one flow in a hundred exceeds.
  Time first;              // The earliest time at which a flow may start.
  Time last;               // The latest time at which a flow may start.
  bool open_loop = false;  // A load over a time, not a set of flows.
  // Open loops: payload as a share of what all hosts' links, or all leaves' uplinks, can carry. So
  // the loads of several workloads add up. Incasts count on the uplinks if all senders are in other
  // racks.
  double host_load = 0;
  double fabric_load = 0;
  double host_load_with_headers = 0;
  std::optional<double> crossing;  // Share of packets between leaves; unset: as of any two hosts.
  // Open loops: payload in bits per second over the link to each host, and from each.
  std::vector<double> to_host_bps;
  std::vector<double> from_host_bps;
  bool overload = false;        // The user accepts a load beyond the links' rates.
  int64_t flows_per_query = 0;  // Not 0: flows come in queries of this many,
  Duration query_spread{0};     // and start at most so long after their query.
  bool gives_ids = false;       // Some requests have an id.
  bool pins_flows = false;      // Some requests are pinned to paths.
};

// Returns the id of the path from one host to another that takes these uplinks: the first of its
// leaf, the next of the switch that it leads to, and so on, each counted from 0. Returns kNoPath if
// there is no such path; then `refuse` is told why, and adds the place.
using PathFinder = std::function<uint16_t(HostId src, HostId dst, std::span<const int64_t> uplinks,
                                          const std::function<void(std::string_view)>& refuse)>;

class Workload {
 public:
  virtual ~Workload() = default;

  virtual void Declare(Fields& fields) = 0;

  // Reads the files and names that do not depend on the network; of `stage`, only the folder is
  // known. Other settings may be wrong. Errors go to `diagnostics` below `path`; without any there,
  // Prepare follows. Both read files through `files`.
  virtual void Load(const Stage& /*stage*/, std::string_view /*path*/, FilesRead& /*files*/,
                    Diagnostics& /*diagnostics*/) {}

  // Prepares for `stage`. Errors that only show now, such as hosts that don't exist or files that
  // cannot be read, go to `diagnostics` below `path`; without any, the functions below may be
  // called.
  virtual void Prepare(const Stage& stage, std::string_view path, FilesRead& files,
                       Diagnostics& diagnostics) = 0;

  // Pins flows to the paths that were asked for; called after Prepare(). Paths that don't exist go
  // to `diagnostics`.
  virtual void PinFlows(const PathFinder& /*find*/, Diagnostics& /*diagnostics*/) {}

  virtual Forecast Expect() const = 0;

  // Makes the source of one run's flows. It refers to this object, which must outlive it.
  virtual std::unique_ptr<FlowSource> Open() const = 0;

  // Makes the closed-loop job that this workload asks for; null if it asks for flows by time. Jobs
  // are numbered from 1. The job refers to nothing of this object.
  virtual std::unique_ptr<Job> MakeJob(uint32_t number) const;

  // The hosts of that job's ranks, and whether those of other jobs may be on the same hosts.
  virtual std::span<const HostId> HostsOfJob() const { return {}; }
  virtual bool shares_hosts() const { return false; }

  bool measured = true;  // Its flows count in the statistics.

 protected:
  // Declares the settings that every workload has.
  void DeclareCommon(Fields& fields);
};

// collective, flows, incast, permutation, poisson, trace, training.
const Kinds<Workload>& Workloads();

}  // namespace heddle
