// SPDX-License-Identifier: Apache-2.0
// An array of elements that are all zero at first. Its memory costs nothing until it is written:
// the system has zero pages at hand, and a large table of a switch that sees no flow stays
// untouched.

#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

namespace heddle {

template <class T>
class ZeroedArray {
 public:
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= alignof(std::max_align_t));

  explicit ZeroedArray(size_t size)
      : elements_(static_cast<T*>(std::calloc(size, sizeof(T)))), size_(size) {
    if (elements_ == nullptr) throw std::bad_alloc();
  }

  T& operator[](size_t i) { return elements_.get()[i]; }
  const T& operator[](size_t i) const { return elements_.get()[i]; }
  size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(T* elements) const { std::free(elements); }
  };
  std::unique_ptr<T, Free> elements_;
  size_t size_;
};

}  // namespace heddle
