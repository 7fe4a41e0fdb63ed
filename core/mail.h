// SPDX-License-Identifier: Apache-2.0
// The mail between threads. During a window, nodes and wires of one thread leave news and letters
// for another thread, which reads them at the start of the next window.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "core/packet.h"
#include "core/sides.h"
#include "core/units.h"

namespace heddle {

class Node;
class WireHead;
class WireTail;
struct PacketRing;

// A message from one node to another outside the simulated network: it takes no bandwidth and is
// there when the next window opens. The letters of one window reach a node in an order that depends
// on the number of threads and on where nodes run, so their effects must not depend on that order.
struct Letter {
  Node* to = nullptr;
  uint32_t kind = 0;  // The two nodes agree on its meaning.
  alignas(8) std::array<std::byte, 160> body = {};

  template <class T>
  T Body() const {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(body));
    T value;
    std::memcpy(&value, body.data(), sizeof(T));
    return value;
  }
  template <class T>
  static Letter Of(Node& to, uint32_t kind, const T& value) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(body));
    Letter letter{&to, kind};
    std::memcpy(letter.body.data(), &value, sizeof(T));
    return letter;
  }
};

// The mail from one thread to one other thread. In windows with an even number, the writer fills
// page 0 while the reader empties page 1; in odd windows it is the other way round.
class Outbox {
 public:
  // A wire on which packets have been put in this window.
  struct News {
    WireTail* wire;
    Node* node;
    PortIndex in_port;
    Time arrival;         // Arrival of the first new packet.
    uint64_t pushed = 0;  // Packets sent by the end of the window.
  };
  // The sender of a wire has replaced its ring.
  struct GrownRing {
    WireHead* head;
    PacketRing* ring;
  };
  struct Page {
    std::vector<News> news;
    std::vector<Letter> letters;
    std::vector<GrownRing> grown;
    // By the side of the receiving node: the earliest time at which any of this matters.
    std::array<Time, kSides> due = {kNever, kNever};
  };

  // Called by the writer only.
  void StartWindow(uint64_t number) { writing_ = number % 2; }
  void EndWindow();  // Fills in `pushed` of the news.
  Page& Writing() { return pages_[writing_]; }
  const Page& Writing() const { return pages_[writing_]; }

  // Called by the reader only. Returns the mail written in the window before this one.
  Page& Reading(uint64_t number) { return pages_[(number + 1) % 2]; }

 private:
  std::array<Page, 2> pages_;
  size_t writing_ = 0;
};

}  // namespace heddle
