// SPDX-License-Identifier: Apache-2.0
// Counts the warnings of many points, most of which are alike, so that each kind is printed once.

#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace heddle {

class WarningTally {
 public:
  // A point has a warning. Warnings with equal `kind` are one entry.
  void Add(const std::string& kind, const std::string& text, const std::string& label) {
    const auto [known, is_new] = index_.try_emplace(kind, entries_.size());
    if (is_new) entries_.push_back({text, label});
    ++entries_[known->second].points;
  }

  struct Entry {
    std::string text;  // The first point's.
    std::string label;
    size_t points = 0;
  };
  // In the order of their first points.
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;
  std::map<std::string, size_t> index_;
};

}  // namespace heddle
