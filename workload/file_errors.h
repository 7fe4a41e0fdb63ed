// SPDX-License-Identifier: Apache-2.0
// The mistakes in a file of a trace or a traffic matrix. After a number of them, reading stops:
// what follows is mostly their consequence.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "settings/diagnostics.h"

namespace heddle {

class FileErrors {
 public:
  static constexpr size_t kMost = 20;

  FileErrors(std::string source, Diagnostics& diagnostics)
      : source_(std::move(source)), diagnostics_(diagnostics) {}

  // `line` counts from 1; 0: the file as a whole.
  void Add(int line, std::string_view message) { AddIn(source_, line, message); }
  // The same for a mistake in another file of the trace.
  void AddIn(const std::string& source, int line, std::string_view message) {
    const Place place = PlaceIn(source, line);
    if (count_ < kMost) diagnostics_.Error(place, "", message);
    if (++count_ == kMost) diagnostics_.Error(place, "", "and perhaps more; reading stopped here");
  }
  // Adds the mistakes that another reader has found in the same file.
  void Take(const Diagnostics& others) {
    diagnostics_.Take(others);
    count_ += others.errors().size();
  }
  void Warn(int line, std::string_view message) {
    diagnostics_.Warning(PlaceIn(source_, line), "", message);
  }

  bool any() const { return count_ > 0; }
  bool full() const { return count_ >= kMost; }
  const std::string& source() const { return source_; }

 private:
  static Place PlaceIn(const std::string& source, int line) {
    return {source, line, line == 0 ? 0 : 1};
  }

  const std::string source_;
  Diagnostics& diagnostics_;
  size_t count_ = 0;
};

}  // namespace heddle
