// SPDX-License-Identifier: Apache-2.0
// What a host asks of those who send and receive through its NIC: its transport, and the datagrams
// in the background. One object holds all flows of one host, as sender and as receiver.
//
// Sending is pull, not push (the NIC owns the only transmit queue): a flow that may send says so
// with Host::Ready, and when its turn comes the NIC pulls one packet, which is built at that
// instant. So no packet is lost in the host, an elephant blocks nobody, and a flow that waits
// builds no state.

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

// Those who share a NIC. Each has its own round of flows, which take turns; the lanes that have
// something to send take turns too, one packet each.
enum class Lane : uint8_t { kTransport, kBackground };
inline constexpr size_t kLanes = 2;

class Endpoint {
 public:
  virtual ~Endpoint() = default;

  // A packet has arrived, whole.
  virtual void OnPacket(const Packet& packet) = 0;

  // It is the turn of a flow that had called Ready with `slot`. Builds its next packet, whose first
  // bit leaves now, into `packet`.
  struct Pulled {
    bool sent;  // False: the flow may not send any more, and has built nothing.
    bool more;  // It may send another one when its turn comes again.
  };
  virtual Pulled Pull(uint32_t slot, Packet& packet) = 0;

  virtual void OnTimer(uint64_t key) = 0;

  // Where the flow at `slot` goes, and the hash of its packets; for hosts with several links.
  struct Tuple {
    HostId dst;
    uint32_t hash;
  };
  virtual Tuple TupleOf(uint32_t slot) const = 0;

  // The flow at `slot` could not send for so long, only because its class was paused.
  virtual void AddBlocked(uint32_t /*slot*/, Duration /*blocked*/) {}

  virtual size_t memory_bytes() const = 0;
};

// A flow that is being sent, at one instant. What the transport does not have is not set.
struct FlowState {
  std::optional<double> cwnd;   // Bytes that may be in flight.
  std::optional<double> rate;   // At which it is paced, bits per second on the wire.
  std::optional<double> alpha;  // DCTCP's share of marked bytes.
  int64_t in_flight = 0;        // Payload sent and not acknowledged,
  int64_t acked = 0;            // and acknowledged, as the receiver has it without a hole.
};

class Transport : public Endpoint {
 public:
  // `spec` starts now and is sent from this host.
  virtual void StartFlow(const FlowSpec& spec) = 0;

  // `spec` is sent to this host, from spec.start on.
  virtual void ExpectFlow(const FlowSpec& spec) = 0;

  virtual void OnDropNotice(const DropNotice& notice) = 0;
  virtual void OnFlowEnded(const FlowEnded& ended) = 0;

  // The load balancer asks that a flow sent from here be no faster than this; 0: not at all; the
  // line's rate: no more than that. A transport that has no rates does nothing.
  virtual void SetRateLimit(FlowId /*flow*/, BitRate /*limit*/) {}

  // Between windows: of a flow that has started and not ended, nothing of others.
  virtual std::optional<FlowState> StateOf(FlowId /*flow*/) const { return std::nullopt; }

  // Congestion notifications that have come, as packets or in ACKs, for flows sent from here.
  virtual int64_t cnps() const { return 0; }

  // The most flows that have been sent from here at once.
  virtual size_t most_flows() const = 0;

  // At the end of the run: what is known of flows that have not been logged.
  virtual void CollectUnfinishedSenders(std::vector<FlowRecord>& records) = 0;
  virtual void CollectUnfinishedReceivers(std::vector<FlowRecord>& records) = 0;

  // Packets that came for flows that had been closed.
  virtual int64_t late_packets() const { return 0; }

  // Nothing if packets go up as they arrive. `end`: that of the run.
  virtual std::optional<ResequencingStats> Resequencing(Time /*end*/) const { return std::nullopt; }
};

}  // namespace heddle
