// SPDX-License-Identifier: Apache-2.0
// One port with queues, served late by a node that does nothing else.

#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "core/engine.h"
#include "core/node.h"
#include "core/random.h"
#include "fabric/fifo_port.h"
#include "fabric/queued_port.h"
#include "tests/support/packet_sink.h"
#include "tests/support/traces.h"
#include "tests/support/until_conductor.h"

namespace heddle {

class LatePort {
 public:
  LatePort(const PortSettings& settings, const QueueSettings& queues) : source_(settings, queues) {
    engine_.Add(source_, engine_.AddGroup());
    engine_.Add(sink_, engine_.AddGroup());
    engine_.Connect(source_, source_.out.wire(), sink_, settings.delay);
    engine_.Place(1);
  }

  // Calls `at_window_end` after each window, when all decisions before that time have been made.
  void Run(std::vector<Offer> offers, std::function<void(Time)> at_window_end = nullptr) {
    source_.offers = std::move(offers);
    source_.Wake(source_.Due());
    UntilConductor conductor(kNever, std::move(at_window_end));
    engine_.Run(conductor);
  }
  QueuedPort& port() { return source_.queued; }
  FifoPort& out() { return source_.out; }
  const std::vector<Packet>& received() const { return sink_.received; }

 private:
  struct Source final : Node {
    Source(const PortSettings& settings, const QueueSettings& queues)
        : out(settings), queued(out, queues, Rng::Stream(1, "marks", 0), 0) {}
    void Run(const Window& window) override {
      for (; next < offers.size() && offers[next].at < window.end; ++next) {
        CatchUp(offers[next].at, window);
        Take(offers[next].packet, offers[next].at, window);
      }
      CatchUp(window.end, window);
    }
    void CatchUp(Time time, const Window& window) {
      while (queued.NextService() < time) queued.Serve(window);
    }
    void Take(const Packet& packet, Time now, const Window& window) {
      if (packet.kind == PacketKind::kPause) {
        queued.SetPaused(packet.pause.classes, packet.pause.stop, now);
      } else if (packet.priority == 0 && queued.SendsControlAtOnce(now)) {
        out.Send(packet, 0, now, window);
      } else {
        queued.Enqueue(packet, nullptr, 0, 0, now);
      }
    }
    Time Due() const override {
      return std::min(queued.NextService(), next < offers.size() ? offers[next].at : kNever);
    }

    FifoPort out;
    QueuedPort queued;
    std::vector<Offer> offers;
    size_t next = 0;
  };

  Engine engine_;
  Source source_;
  PacketSink sink_;
};

}  // namespace heddle
