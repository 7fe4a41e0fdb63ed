// SPDX-License-Identifier: Apache-2.0

#include "transport/transports.h"

namespace heddle {

// Made on first use: the files that register run their initialisers in no particular order.
Kinds<TransportModel>& Transports() {
  static Kinds<TransportModel> kinds("transport");
  return kinds;
}

}  // namespace heddle
