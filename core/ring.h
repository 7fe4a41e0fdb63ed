// SPDX-License-Identifier: Apache-2.0
// A FIFO queue in one block of memory, for queues that reach a working size and keep it. The block
// doubles when it is full and never shrinks.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace heddle {

template <class T, size_t kFirstCapacity = 4>
class Ring {
 public:
  bool empty() const { return head_ == tail_; }
  size_t size() const { return tail_ - head_; }
  size_t capacity() const { return slots_.size(); }

  T& front() { return slots_[head_ & mask_]; }
  const T& front() const { return slots_[head_ & mask_]; }
  T& back() { return slots_[(tail_ - 1) & mask_]; }

  // The i-th element from the front.
  T& operator[](size_t i) { return slots_[(head_ + i) & mask_]; }
  const T& operator[](size_t i) const { return slots_[(head_ + i) & mask_]; }

  void push_back(const T& value) { *Take() = value; }
  // Makes the element in place, which is faster than a copy of a temporary: see Packet::Clear().
  template <class... Args>
  void emplace_back(Args... args) {
    static_assert(std::is_trivially_destructible_v<T>);
    std::construct_at(Take(), args...);
  }
  void pop_front() { ++head_; }
  void pop_front(size_t count) { head_ += count; }
  void pop_back() { --tail_; }
  // The next elements go to the beginning of the block, which is likely to be in the cache.
  void clear() { head_ = tail_ = 0; }

 private:
  [[gnu::always_inline]] T* Take() {
    if (size() == slots_.size()) [[unlikely]]
      Grow();
    return &slots_[tail_++ & mask_];
  }

  [[gnu::noinline]] void Grow() {
    std::vector<T> grown(slots_.empty() ? kFirstCapacity : 2 * slots_.size());
    const size_t count = size();
    for (size_t i = 0; i < count; ++i) grown[i] = (*this)[i];
    slots_ = std::move(grown);
    mask_ = slots_.size() - 1;
    head_ = 0;
    tail_ = count;
  }

  std::vector<T> slots_;
  size_t mask_ = 0;
  size_t head_ = 0;
  size_t tail_ = 0;
};

}  // namespace heddle
