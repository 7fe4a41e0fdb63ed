// SPDX-License-Identifier: Apache-2.0
// Framings say how large packets are. A framing has a name, such as Ethernet's, or is nameless and
// takes exact sizes from the experiment, as a comparison with another simulator needs. TCP and RoCE
// have framings of their own; the settings of a transport ask theirs for the sizes.

#pragma once

#include <cstdint>
#include <optional>

#include "settings/fields.h"
#include "settings/kinds.h"
#include "transport/packet_sizes.h"

namespace heddle {

class TcpFraming {
 public:
  virtual ~TcpFraming() = default;
  virtual void Declare(Fields& /*fields*/) {}

  // Returns the sizes for IP packets of at most `mtu` bytes, of which `header` are IP's and TCP's.
  virtual PacketSizes Sizes(int64_t mtu, int64_t header) const = 0;
  virtual bool uses_mtu() const { return true; }
};

class RoceFraming {
 public:
  virtual ~RoceFraming() = default;
  virtual void Declare(Fields& /*fields*/) {}

  // Returns the sizes for a payload of `mtu` bytes in full packets; not set: the framing's own
  // payload.
  virtual PacketSizes Sizes(std::optional<int64_t> mtu) const = 0;
  virtual bool uses_mtu() const { return true; }
};

// eth, ip1500, and the nameless kind.
const Kinds<TcpFraming>& TcpFramings();

// ip1500, ns3_rdma, rocev2, and the nameless kind.
const Kinds<RoceFraming>& RoceFramings();

}  // namespace heddle
