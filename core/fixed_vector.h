// SPDX-License-Identifier: Apache-2.0
// A vector whose elements never move, such as the ports of switches and hosts. It allocates room
// for all of them at the start, and Add() must not exceed that capacity.

#pragma once

#include <cassert>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>

namespace heddle {

template <class T>
class FixedVector {
 public:
  explicit FixedVector(size_t capacity)
      : memory_(static_cast<T*>(::operator new(capacity * sizeof(T), kAlignment))),
        capacity_(capacity) {}
  ~FixedVector() {
    std::destroy_n(memory_, size_);
    ::operator delete(memory_, kAlignment);
  }
  FixedVector(const FixedVector&) = delete;
  FixedVector& operator=(const FixedVector&) = delete;

  template <class... Args>
  T& Add(Args&&... args) {
    assert(size_ < capacity_);
    return *std::construct_at(memory_ + size_++, std::forward<Args>(args)...);
  }

  T& operator[](size_t i) { return memory_[i]; }
  const T& operator[](size_t i) const { return memory_[i]; }
  T* data() { return memory_; }
  T* begin() { return memory_; }
  T* end() { return memory_ + size_; }
  const T* begin() const { return memory_; }
  const T* end() const { return memory_ + size_; }
  size_t size() const { return size_; }

 private:
  static constexpr std::align_val_t kAlignment{alignof(T)};

  T* memory_;
  size_t capacity_;
  size_t size_ = 0;
};

}  // namespace heddle
