// SPDX-License-Identifier: Apache-2.0
// Keeps the next due time of each node of a group; the shard uses it to find the nodes to run. Most
// groups are one node, whose time is Min(). Others run very many short windows, each of a few
// nodes: for some dozens of nodes, looking at all of them costs less than keeping a tree.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/due_tree.h"
#include "core/units.h"

namespace heddle {

class DueNodes {
 public:
  static constexpr size_t kListed = 64;  // Groups of 2 to this many nodes keep a list.

  void Resize(size_t size) {
    kind_ = size <= 1 ? Kind::kOne : size <= kListed ? Kind::kList : Kind::kTree;
    if (kind_ == Kind::kList) {
      list_.reserve(8);  // A cache line: other threads' groups lie beside this one.
      list_.assign(size, kNever);
    } else if (kind_ == Kind::kTree) {
      tree_.Resize(size);
    }
    min_ = kNever;
  }

  Time Min() const { return min_; }

  // Makes `i` due at `at` unless it is due earlier. Returns true if its due time changed.
  bool Lower(size_t i, Time at) {
    switch (kind_) {
      case Kind::kOne:
        if (min_ <= at) return false;
        break;
      case Kind::kList:
        if (list_[i] <= at) return false;
        list_[i] = at;
        break;
      case Kind::kTree:
        if (!tree_.Lower(i, at)) return false;
        break;
    }
    min_ = std::min(min_, at);
    return true;
  }

  // Writes the nodes due before `end` to the front of `due`, in ascending order, and returns their
  // number. `due` has room for all nodes and one more.
  size_t CollectBefore(Time end, std::vector<uint32_t>& due) const {
    if (kind_ == Kind::kList) return CollectBefore(end, 0, list_.size(), due);
    if (kind_ == Kind::kOne) {
      due[0] = 0;
      return min_ < end ? 1 : 0;
    }
    size_t count = 0;
    tree_.ForEachBefore(end, [&](size_t i) { due[count++] = static_cast<uint32_t>(i); });
    return count;
  }

  // The same for nodes [first, last) of a list, and their earliest time.
  size_t CollectBefore(Time end, size_t first, size_t last, std::vector<uint32_t>& due) const {
    size_t count = 0;
    // Without branches: which nodes are due follows no pattern.
    for (size_t i = first; i < last; ++i) {
      due[count] = static_cast<uint32_t>(i);
      count += list_[i] < end ? 1 : 0;
    }
    return count;
  }
  Time MinOf(size_t first, size_t last) const {
    // Numbers, not references to times: for those of std::min(), a compiler would keep the least
    // one in memory.
    int64_t min = kNever.ps;
    for (size_t i = first; i < last; ++i) min = list_[i].ps < min ? list_[i].ps : min;
    return {min};
  }

  // Replaces the due time of `i` by `at`. Min() is right again after Refresh().
  void Set(size_t i, Time at) {
    switch (kind_) {
      case Kind::kOne:
        min_ = at;
        break;
      case Kind::kList:
        list_[i] = at;
        break;
      case Kind::kTree:
        tree_.Set(i, at);
        break;
    }
  }
  void Refresh() {
    if (kind_ == Kind::kList) min_ = MinOf(0, list_.size());
    if (kind_ == Kind::kTree) min_ = tree_.Min();
  }

 private:
  enum class Kind : uint8_t { kOne, kList, kTree };

  Kind kind_ = Kind::kOne;
  Time min_ = kNever;
  std::vector<Time> list_;
  DueTree tree_;
};

}  // namespace heddle
