// SPDX-License-Identifier: Apache-2.0
// The interface of the transports that an experiment may choose. The experiment reads a
// TransportModel's settings and asks what the transport needs; Network lets it make the transport
// of each host.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/packet.h"
#include "core/units.h"
#include "fabric/transport.h"
#include "settings/fields.h"
#include "settings/kinds.h"
#include "transport/auto_values.h"
#include "transport/packet_sizes.h"
#include "transport/wire_format.h"

namespace heddle {

class Host;

// The bandwidth-delay products, round trips and numbers of paths of the network, for transports
// whose windows or thresholds follow from them.
class BandwidthDelay {
 public:
  virtual ~BandwidthDelay() = default;
  virtual Bytes Between(HostId src, HostId dst) const = 0;
  virtual Bytes Largest() const = 0;

  // The time that a full packet and its ACK take on the idle network: between two hosts, and the
  // longest.
  virtual Duration RoundTrip(HostId src, HostId dst) const = 0;
  virtual Duration LongestRoundTrip() const = 0;

  // The queues that packets may meet, for transports whose timeouts follow from them.
  struct Queues {
    BitRate host_rate;            // The slowest link of a host.
    int64_t host_links = 1;       // The fewest links of a host.
    Bytes longest{0};             // At a port of that rate; 0: not fixed.
    bool trims = false;           // Switches trim packets.
    bool oversubscribed = false;  // A switch has less capacity upwards than downwards.
  };
  virtual Queues queues() const { return {}; }

  // The number of shortest paths between two hosts that begin at one link of `src`, and the most of
  // them between any hosts, for transports that count them.
  virtual uint32_t Paths(HostId /*src*/, HostId /*dst*/) const { return 1; }
  virtual uint32_t MostPaths() const { return 1; }
};

// Makes the transport of each host, and holds the values that these share.
class TransportMaker {
 public:
  virtual ~TransportMaker() = default;
  virtual std::unique_ptr<Transport> MakeFor(Host& host) const = 0;
};

class TransportModel {
 public:
  virtual ~TransportModel() = default;
  virtual void Declare(Fields& fields) = 0;

  virtual PacketSizes sizes() const = 0;
  virtual WireFormat wire_format() const = 0;

  // The largest flow that it can carry, in bytes.
  virtual int64_t max_flow_size() const = 0;

  // The priority classes of its data packets, and of ACKs and other control packets.
  struct Classes {
    uint8_t data;
    uint8_t control;
  };
  virtual Classes classes() const = 0;

  // Returns true if it expects ECN marking between two queue lengths rather than above one.
  virtual bool wants_red() const { return false; }
  // Returns true if these lengths are shares of the bandwidth-delay product (UsualMarking).
  virtual bool marks_by_bandwidth_delay() const { return false; }

  // The kind of resequencing at its receivers, such as "off".
  virtual const std::string& resequencing() const = 0;

  // Returns true if switches are to tell its data packets of the ports on their way.
  virtual bool wants_telemetry() const { return false; }

  // Returns true if a load balancer can hold its flows to a rate.
  virtual bool limits_rates() const { return false; }

  // Returns true if it needs in-order delivery: an early packet makes it resend (go-back-N).
  virtual bool needs_order() const { return false; }

  // Names the settings that let its flows bear reordering better, after words such as "you can".
  virtual std::string RemedyForReordering() const = 0;

  // Returns true if switches may mark its data packets (ECT).
  virtual bool is_ecn_capable() const { return true; }

  // Returns true if its ACKs tell congestion control of ECN marks.
  virtual bool echoes_marks() const { return false; }

  // Returns true if ECN marks at ports to hosts are of use to it.
  virtual bool wants_marks_at_last_hop() const { return true; }

  // Returns true if its receivers answer the headers of packets that switches have trimmed.
  virtual bool can_trim() const { return false; }

  // What a preset that stands for a published scheme expects of the switches.
  struct Switches {
    std::string_view preset;
    bool returns_headers;        // Headers that exceed the limit go back to their senders.
    std::optional<Bytes> queue;  // The longest queue before packets are trimmed.
  };
  virtual std::optional<Switches> expected_switches() const { return std::nullopt; }

  // Returns true if it sends a flow over several subflows, each with a 5-tuple of its own.
  virtual bool has_subflows() const { return false; }

  // Returns true if a flow may use several links of its hosts at once.
  virtual bool spreads() const { return has_subflows(); }
  // Returns true if it does so packet by packet, which needs topology: planes.
  virtual bool needs_planes() const { return false; }

  // Data packets may carry something of the transport's own in place of Packet::data.waited, which
  // measures how long they wait.
  struct Cargo {
    std::string_view name;    // Such as "their data's number".
    std::string_view remedy;  // The setting that makes room for the measurement.
  };
  virtual std::optional<Cargo> cargo_in_place_of_waiting() const { return std::nullopt; }

  virtual bool needs_bandwidth_delay() const { return false; }
  // Returns true if BandwidthDelay is to count paths, too.
  virtual bool counts_paths() const { return false; }

  // The name of its congestion control, such as "dcqcn".
  virtual std::string congestion_control() const { return ""; }

  // Returns the values of its settings that follow from others, at a host whose link has the rate
  // `nic`. `bandwidth_delay` is null if it is not needed.
  virtual AutoValues ValuesOfAuto(BitRate /*nic*/,
                                  const BandwidthDelay* /*bandwidth_delay*/) const {
    return {};
  }

  // `close_delay`: from the end of a flow's sender to the end of its receiver. `bandwidth_delay`
  // outlives the transport; null if it is not needed.
  virtual std::unique_ptr<TransportMaker> Prepare(Duration close_delay,
                                                  const BandwidthDelay* bandwidth_delay) const = 0;
};

// The registry of all transports, by name. A file that ends in _model.cc, in the folder of the
// transport, registers its model:
//
//   class MyModel final : public TransportModel { ... };
//   [[maybe_unused]] const bool registered = Transports().Add<MyModel>({"my", "A sentence.", ""});
Kinds<TransportModel>& Transports();

}  // namespace heddle
