// SPDX-License-Identifier: Apache-2.0
// How large packets are: a framing that has a name, such as Ethernet's, or sizes that an experiment
// gives itself, as a comparison with another simulator needs. TCP and RoCE have framings of their
// own; what they have in common is that the nameless kind holds exact sizes.

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

  // With IP packets of at most `mtu` bytes, of which `header` are IP's and TCP's.
  virtual PacketSizes Sizes(int64_t mtu, int64_t header) const = 0;
  virtual bool uses_mtu() const { return true; }
};

class RoceFraming {
 public:
  virtual ~RoceFraming() = default;
  virtual void Declare(Fields& /*fields*/) {}

  // With a payload of `mtu` bytes in full packets, or else the framing's own.
  virtual PacketSizes Sizes(std::optional<int64_t> mtu) const = 0;
  virtual bool uses_mtu() const { return true; }
};

// eth, ip1500, and the nameless kind.
const Kinds<TcpFraming>& TcpFramings();

// ip1500, ns3_rdma, rocev2, and the nameless kind.
const Kinds<RoceFraming>& RoceFramings();

}  // namespace heddle
