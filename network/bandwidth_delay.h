// SPDX-License-Identifier: Apache-2.0
// Computes the bandwidth-delay product between two hosts, which is the window that fills the path.
// Network makes it for transports whose windows or rates follow from it; they ask when a flow
// starts.
//
// The round trip is that of other RDMA simulators (HPCC's, ConWeave's): propagation both ways, and
// one packet's payload over each link on the way there. Where several shortest paths differ, the
// slowest round trip and the widest bottleneck count, so that the window fits every path.
//
// For transports that bear the reordering of several paths it counts these, too.

#pragma once

#include <cstdint>
#include <vector>

#include "topo/queue_plan.h"
#include "topo/routing.h"
#include "transport/transports.h"

namespace heddle {

class PairBandwidthDelay final : public BandwidthDelay {
 public:
  // `graph` and `routing` outlive this.
  PairBandwidthDelay(const Graph& graph, const Routing& routing, const PacketSizes& sizes);

  // Likewise, with the queues of the network, and what else the transport asks for.
  PairBandwidthDelay(const Graph& graph, const Routing& routing, const TransportModel& transport,
                     const QueuePlan& queues);

  Bytes Between(HostId src, HostId dst) const override;

  // The largest product between the first hosts of any two leaves.
  Bytes Largest() const override { return largest_; }

  Duration RoundTrip(HostId src, HostId dst) const override { return WayOf(src, dst).idle_rtt; }
  Duration LongestRoundTrip() const override { return longest_; }

  // Paths() and MostPaths() return 1 before this is called. They count up to 65535 paths.
  void CountPaths();
  uint32_t Paths(HostId src, HostId dst) const override;
  uint32_t MostPaths() const override;

  void SetQueues(const Queues& queues) { queues_ = queues; }
  Queues queues() const override { return queues_; }

 private:
  struct Way {
    Duration round_trip{0};  // The round trip as defined above.
    Duration idle_rtt{0};    // All bytes of a packet and its ACK on the wire.
    BitRate bottleneck;
  };

  Way WayOf(HostId src, HostId dst) const;
  Way Cross(const Channel& there, const Channel& back) const;
  static Way Join(const Way& a, const Way& b);
  static Way Worse(const Way& a, const Way& b);
  Way WorstOf(const std::vector<Way>& ways, HostId src, HostId dst) const;
  std::vector<Way> WaysTo(HostId dst) const;
  uint32_t PathsFrom(SwitchId s, HostId dst, std::vector<uint32_t>& known) const;
  Way Onward(SwitchId s, HostId dst, std::vector<Way>& ways, std::vector<bool>& known) const;

  const Graph& graph_;
  const Routing& routing_;
  const PacketSizes sizes_;
  size_t leaves_;
  std::vector<Way> inner_;       // Between leaves: by source leaf, then by destination leaf.
  std::vector<uint16_t> paths_;  // Likewise; empty before CountPaths().
  Queues queues_;
  Bytes largest_;
  Duration longest_{0};
};

}  // namespace heddle
