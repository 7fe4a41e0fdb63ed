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
#include "tests/support/traces.h"

namespace heddle {

class LatePort final : public Conductor {
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
    close_ = std::move(at_window_end);
    engine_.Run(*this);
  }
  QueuedPort& port() { return source_.queued; }
  FifoPort& out() { return source_.out; }
  const std::vector<Packet>& received() const { return sink_.received; }

  Time Next() override { return kNever; }
  Time Open(Time /*start*/, Time latest) override { return latest; }
  void Close(Time end) override {
    if (close_) close_(end);
  }
  Time End() const override { return kNever; }

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
  struct Sink final : Node {
    void Run(const Window& window) override {
      for (; arrivals_.Next() < window.end; arrivals_.Pop()) received.push_back(arrivals_.Front());
    }
    Time Due() const override { return arrivals_.Next(); }

    std::vector<Packet> received;
  };

  Engine engine_;
  Source source_;
  Sink sink_;
  std::function<void(Time)> close_;
};

}  // namespace heddle
