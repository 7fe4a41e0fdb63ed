// SPDX-License-Identifier: Apache-2.0
// A node that does nothing but note the packets that arrive.

#pragma once

#include <vector>

#include "core/node.h"

namespace heddle {

class PacketSink final : public Node {
 public:
  void Run(const Window& window) override {
    for (; arrivals_.Next() < window.end; arrivals_.Pop()) received.push_back(arrivals_.Front());
  }
  Time Due() const override { return arrivals_.Next(); }

  std::vector<Packet> received;
};

}  // namespace heddle
