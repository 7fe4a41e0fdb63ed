// SPDX-License-Identifier: Apache-2.0
// The interface between a host and what sends and receives through its NIC: the transport, and the
// background datagrams. One object holds all flows of one host, as sender and as receiver.
//
// Sending is pull, not push (the NIC owns the only transmit queue): a flow that may send says so
// with Host::Ready, and when its turn comes the NIC pulls one packet, which is built at that
// instant. So the host loses no packets, a large flow blocks no other flow, and a waiting flow
// builds no packets.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/packet.h"
#include "core/units.h"
#include "fabric/flow.h"
#include "fabric/letters.h"
#include "fabric/resequencing.h"

namespace heddle {

// The two users of a NIC. Within a lane, flows take turns with one packet each. Lanes that have
// something to send take turns too.
enum class Lane : uint8_t { kTransport, kBackground };
inline constexpr size_t kLanes = 2;

class Endpoint {
 public:
  virtual ~Endpoint() = default;

  // A packet has arrived, whole.
  virtual void OnPacket(const Packet& packet) = 0;

  // The NIC calls this when the turn of the flow at `slot` comes, which had called Ready. The
  // endpoint builds the flow's next packet into `packet`; its first bit leaves now.
  struct Pulled {
    bool sent;  // False: the flow may not send any more, and has built nothing.
    bool more;  // It may send another one when its turn comes again.
  };
  virtual Pulled Pull(uint32_t slot, Packet& packet) = 0;

  virtual void OnTimer(uint64_t key) = 0;

  // The destination of the flow at `slot`, the hash of its packets, and its NIC
  // (FlowSpec::src_nic). Hosts with several links use it to choose a NIC.
  struct Tuple {
    HostId dst;
    uint32_t hash;
    uint8_t nic = kAnyNic;
  };
  virtual Tuple TupleOf(uint32_t slot) const = 0;

  // For the time `blocked`, only the pause of its class kept the flow at `slot` from sending. If
  // the flow begins to wait during a pause, it is told at once how much of the pause it has missed,
  // as a negative time, and at the end how long the whole pause was.
  virtual void AddBlocked(uint32_t /*slot*/, Duration /*blocked*/) {}

  virtual size_t memory_bytes() const = 0;
};

// The state of a sending flow at one instant. Values that the transport does not have are not set.
struct FlowState {
  std::optional<double> cwnd;   // Bytes that may be in flight.
  std::optional<double> rate;   // Pacing rate in bits per second on the wire.
  std::optional<double> alpha;  // DCTCP's share of marked bytes.
  int64_t in_flight = 0;        // Payload bytes sent and not acknowledged.
  int64_t acked = 0;            // Payload bytes acknowledged cumulatively.
};

class Transport : public Endpoint {
 public:
  // `spec` starts now and is sent from this host.
  virtual void StartFlow(const FlowSpec& spec) = 0;

  // `spec` is sent to this host, from spec.start on.
  virtual void ExpectFlow(const FlowSpec& spec) = 0;

  virtual void OnDropNotice(const DropNotice& notice) = 0;
  virtual void OnFlowEnded(const FlowEnded& ended) = 0;

  // The load balancer limits the rate of a flow sent from here. At 0 the flow must not send; the
  // rate of the link lifts the limit. A transport without rates ignores the call.
  virtual void SetRateLimit(FlowId /*flow*/, BitRate /*limit*/) {}

  // A link of this host has another rate or delay. Called between windows.
  virtual void OnNewLineRate() {}

  // Returns the state of a flow that has started and not ended, and nothing for other flows. Called
  // between windows.
  virtual std::optional<FlowState> StateOf(FlowId /*flow*/) const { return std::nullopt; }

  // The congestion notifications that arrived, as packets or in ACKs, for flows sent from here.
  virtual int64_t cnps() const { return 0; }

  // The most flows that have been sent from here at once.
  virtual size_t most_flows() const = 0;

  // Called at the end of the run. They append the records of flows that have not been logged.
  virtual void CollectUnfinishedSenders(std::vector<FlowRecord>& records) = 0;
  virtual void CollectUnfinishedReceivers(std::vector<FlowRecord>& records) = 0;

  // Packets that arrived for flows already closed.
  virtual int64_t late_packets() const { return 0; }

  // Statistics of resequencing; nothing if packets go up as they arrive. `end` is the end of the
  // run.
  virtual std::optional<ResequencingStats> Resequencing(Time /*end*/) const { return std::nullopt; }
};

}  // namespace heddle
