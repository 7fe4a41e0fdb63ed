// SPDX-License-Identifier: Apache-2.0
// IndexList is a doubly linked list of the elements of an array, by their indices. The links are
// part of the elements, so that joining and leaving a list allocates nothing. Resequencers order
// packets and flows with it.

#pragma once

#include <cstdint>

namespace heddle {

class IndexList {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};

  struct Link {
    uint32_t before = kNone;
    uint32_t after = kNone;
  };

  bool empty() const { return first_ == kNone; }
  uint32_t first() const { return first_; }

  // `link_of(i)` is the Link of element i, which must be in no list, or in this one.
  template <class LinkOf>
  void PushBack(uint32_t i, const LinkOf& link_of) {
    link_of(i) = {last_, kNone};
    (last_ == kNone ? first_ : link_of(last_).after) = i;
    last_ = i;
  }
  template <class LinkOf>
  void Remove(uint32_t i, const LinkOf& link_of) {
    const Link link = link_of(i);
    (link.before == kNone ? first_ : link_of(link.before).after) = link.after;
    (link.after == kNone ? last_ : link_of(link.after).before) = link.before;
  }

 private:
  uint32_t first_ = kNone;
  uint32_t last_ = kNone;
};

}  // namespace heddle
