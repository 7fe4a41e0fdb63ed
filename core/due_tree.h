// SPDX-License-Identifier: Apache-2.0
// Keeps the next due time of each of a set of things in a tree of minima. Shards use it to find the
// groups and nodes to run. The earliest time is at the root, and things due before a given time are
// found without looking at the others, so idle ones cost nothing.

#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <vector>

#include "core/units.h"

namespace heddle {

class DueTree {
 public:
  void Resize(size_t size) {
    leaves_ = std::bit_ceil(std::max<size_t>(size, 1));
    tree_.assign(2 * leaves_, kNever);
  }

  Time Min() const { return tree_[1]; }

  // The lowest index among the things due at Min().
  size_t First() const {
    size_t i = 1;
    while (i < leaves_) i = 2 * i + (tree_[2 * i] == tree_[1] ? 0 : 1);
    return i - leaves_;
  }

  // Makes `i` due at `at` unless it is due earlier. Returns true if its due time changed.
  bool Lower(size_t i, Time at) {
    i += leaves_;
    if (tree_[i] <= at) return false;
    for (; i >= 1 && at < tree_[i]; i >>= 1) tree_[i] = at;
    return true;
  }

  // Replaces the due time of `i` by `at`.
  void Set(size_t i, Time at) {
    i += leaves_;
    tree_[i] = at;
    while (i > 1) {
      const Time earliest = std::min(tree_[i], tree_[i ^ 1]);
      i >>= 1;
      if (tree_[i] == earliest) return;
      tree_[i] = earliest;
    }
  }

  // Calls visit(i) for each i due before `end`, in ascending order. A visit may Set and Lower,
  // but must not make anything due before `end`.
  template <class Visit>
  void ForEachBefore(Time end, const Visit& visit) const {
    Descend(1, end, visit);
  }

 private:
  template <class Visit>
  void Descend(size_t i, Time end, const Visit& visit) const {
    if (tree_[i] >= end) return;
    if (i >= leaves_) {
      visit(i - leaves_);
      return;
    }
    Descend(2 * i, end, visit);
    Descend(2 * i + 1, end, visit);
  }

  std::vector<Time> tree_ = std::vector<Time>(2, kNever);  // tree_[1] is the root.
  size_t leaves_ = 1;                                      // A power of two.
};

}  // namespace heddle
