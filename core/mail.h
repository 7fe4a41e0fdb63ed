// SPDX-License-Identifier: Apache-2.0
// The mail between threads. During a window, wires leave news of packets for another thread, and
// nodes leave letters for any thread, their own too. It reads them at the start of the next window.
// Other threads may read a page once the border has run (core/shard.h). So the letters of inland
// nodes go to the page of the next window, except in the last window of a round.

#pragma once

#include <algorithm>
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

// A message from one node to another outside the simulated network: it takes no bandwidth. It is
// read one or two windows later, always before the next round runs. Which of the two, and the order
// in which the letters of one window reach a node, depend on the number of threads and on where
// nodes run, so the effects of letters must not depend on them.
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

// The mail from one thread to one thread, which may be the same: a page for each window. While the
// reader empties the page of the window before, the writer may fill those of this one and of the
// next.
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
  struct alignas(64) Page {  // One thread empties a page while another fills the next one.
    std::vector<News> news;
    std::vector<Letter> letters;
    std::vector<GrownRing> grown;
    // By the side of the receiving node: the earliest time at which any of this matters.
    std::array<Time, kSides> due = {kNever, kNever};
  };

  // Called by the writer only.
  void StartWindow(uint64_t number) { writing_ = number % kPages; }
  void EndWindow();  // Fills in `pushed` of the news.
  Page& Writing() { return pages_[writing_]; }

  // Called by the reader only. Returns the mail written in the window before this one.
  Page& Reading(uint64_t number) { return pages_[(number + kPages - 1) % kPages]; }

  // Between rounds of windows: the earliest time at which any unread mail matters on a side.
  Time Due(size_t side) const {
    Time due = kNever;
    for (const Page& page : pages_) due = std::min(due, page.due[side]);
    return due;
  }

 private:
  static constexpr size_t kPages = 3;

  std::array<Page, kPages> pages_;
  size_t writing_ = 0;
};

}  // namespace heddle
