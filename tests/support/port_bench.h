// SPDX-License-Identifier: Apache-2.0
// One port between two nodes that do nothing else. A test offers packets, and reads what comes out.

#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "core/engine.h"
#include "core/node.h"
#include "fabric/fifo_port.h"
#include "tests/support/packet_sink.h"
#include "tests/support/until_conductor.h"

namespace heddle {

class PortBench {
 public:
  struct Offer {
    Time at;
    Packet packet;
    uint16_t path_part = 0;
  };

  explicit PortBench(const PortSettings& settings) : source_(settings) {
    const Engine::GroupId left = engine_.AddGroup();
    const Engine::GroupId right = engine_.AddGroup();
    engine_.Add(source_, left);
    engine_.Add(sink_, right);
    engine_.Connect(source_, source_.port.wire(), sink_, settings.delay);
    engine_.Place(1);
  }

  // Offers everything, in this order, and runs until it has all passed. Calls `at_window_end` after
  // each window.
  void Run(std::vector<Offer> offers, std::function<void(Time)> at_window_end = nullptr) {
    source_.offers = std::move(offers);
    if (!source_.offers.empty()) source_.Wake(source_.offers.front().at);
    UntilConductor conductor(kNever, std::move(at_window_end));
    engine_.Run(conductor);
  }

  FifoPort& port() { return source_.port; }
  const std::vector<bool>& accepted() const { return source_.accepted; }  // By offer.
  const std::vector<Packet>& received() const { return sink_.received; }

 private:
  struct Source final : Node {
    explicit Source(const PortSettings& settings) : port(settings) {}
    void Run(const Window& window) override {
      for (; next < offers.size() && offers[next].at < window.end; ++next) {
        const Offer& offer = offers[next];
        accepted.push_back(port.Send(offer.packet, offer.path_part, offer.at, window));
      }
    }
    Time Due() const override { return next < offers.size() ? offers[next].at : kNever; }

    FifoPort port;
    std::vector<Offer> offers;
    std::vector<bool> accepted;
    size_t next = 0;
  };

  Engine engine_;
  Source source_;
  PacketSink sink_;
};

}  // namespace heddle
