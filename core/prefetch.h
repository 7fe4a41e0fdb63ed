// SPDX-License-Identifier: Apache-2.0
// Asks for memory that will be touched soon, so that it is in the cache by then.

#pragma once

#include <cstddef>
#include <vector>

namespace heddle {

inline constexpr size_t kCacheLine = 64;

// Prefetches `lines` cache lines from `memory` on, which will be written.
template <size_t lines>
void PrefetchLines(const void* memory) {
  for (size_t line = 0; line < lines; ++line) {
    __builtin_prefetch(static_cast<const char*>(memory) + kCacheLine * line, /*rw=*/1);
  }
}

// Prefetches the elements of a vector.
template <class T>
void PrefetchElements(const std::vector<T>& elements) {
  const char* const memory = reinterpret_cast<const char*>(elements.data());
  for (size_t at = 0; at < elements.size() * sizeof(T); at += kCacheLine) {
    PrefetchLines<1>(memory + at);
  }
}

}  // namespace heddle
