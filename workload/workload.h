// SPDX-License-Identifier: Apache-2.0
// What asks for flows: who sends how much to whom, and when. Flows are drawn as time advances, from
// streams of random numbers that nothing in the network can shift, so every load balancer meets the
// same flows, and flows that wait to start take no memory.

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
#include "settings/files_read.h"
#include "settings/kinds.h"

namespace heddle {

// What a workload needs to know of the network.
struct Stage {
  size_t hosts = 0;
  std::vector<uint16_t> leaf_of_host;  // Numbered from 0; of hosts with several, all as one.
  size_t leaves = 0;
  std::vector<BitRate> host_rate;      // Of the links from each host together.
  std::vector<BitRate> downlink_rate;  // Of the links to each host together.
  std::vector<int64_t> uplink_bps;     // By leaf: the sum of its links to other switches.
  int64_t mss = 1460;
  int64_t packet_overhead = 78;  // Bytes on the wire of a packet beyond its payload.
  int64_t max_flow_size = 0;
  std::string folder;  // Where relative paths start: that of the experiment.
  uint64_t seed = 1;
  uint16_t index = 0;  // Of the workload in the experiment.

  // An absolute path, so that the resolved experiment works from anywhere.
  std::string PathTo(const std::string& file) const;

  // A stream of random numbers that belongs to this workload alone.
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
  std::optional<uint16_t> sport = std::nullopt;  // Not set: the next of the source host's.
  uint32_t job = 0;                              // Of an incast query, from 1; 0: of none.
  Time asked = {};                               // When that query was asked.
  std::optional<int64_t> id = std::nullopt;      // What a list calls it.
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

// What a workload will ask for, as far as it can be told beforehand.
struct Forecast {
  double flows = 0;
  std::optional<int64_t> most_flows;  // Whatever is drawn; unset: that is not known.
  double bytes = 0;                   // Payload.
  double packets = 0;
  int64_t large_flow = 0;  // The size that one flow in a hundred exceeds.
  Time first;              // When flows may start,
  Time last;               // and until when.
  bool open_loop = false;  // A load over a time, not a set of flows.
  double host_load = 0;    // Of open loops: payload on sending hosts' links,
  double fabric_load = 0;  // on leaf uplinks,
  double host_load_with_headers = 0;
  std::optional<double> crossing;  // The share of packets between leaves; unset: any hosts'.
  // Of open loops: payload in bits per second over the link to each host, and from each.
  std::vector<double> to_host_bps;
  std::vector<double> from_host_bps;
  bool overload = false;        // More than links carry is accepted.
  int64_t flows_per_query = 0;  // Not 0: flows come in queries of this many.
  bool gives_ids = false;       // Some requests have an id;
  bool pins_flows = false;      // some are pinned to paths.
};

// The id of the path from one host to another that takes these uplinks: the first of its leaf, the
// next of the switch that it leads to, and so on, each counted from 0. kNoPath if there is no such
// path; then `problem` says why.
using PathFinder = std::function<uint16_t(HostId src, HostId dst, std::span<const int64_t> uplinks,
                                          std::string& problem)>;

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

  // After Prepare: pins flows to the paths that were asked for. Those that don't exist go to
  // `diagnostics`.
  virtual void PinFlows(const PathFinder& /*find*/, Diagnostics& /*diagnostics*/) {}

  virtual Forecast Expect() const = 0;

  // Refers to this object, which must outlive it.
  virtual std::unique_ptr<FlowSource> Open() const = 0;

  bool measured = true;  // Its flows count in the statistics.

 protected:
  // What every workload can have set.
  void DeclareCommon(Fields& fields);
};

// flows, incast, permutation, poisson.
const Kinds<Workload>& Workloads();

}  // namespace heddle
