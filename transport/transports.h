// SPDX-License-Identifier: Apache-2.0
// The transports that an experiment may choose.

#pragma once

#include <memory>

#include "core/units.h"
#include "fabric/transport.h"
#include "settings/fields.h"
#include "settings/kinds.h"
#include "transport/packet_sizes.h"

namespace heddle {

class Host;

// Makes the transport of each host; holds what they share.
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

  // The largest flow that it can carry, in bytes.
  virtual int64_t max_flow_size() const = 0;

  // `close_delay`: from the end of a flow's sender to the end of its receiver.
  virtual std::unique_ptr<TransportMaker> Prepare(Duration close_delay) const = 0;
};

// dctcp, tcp.
const Kinds<TransportModel>& Transports();

}  // namespace heddle
