// SPDX-License-Identifier: Apache-2.0
// A large table of which a run uses few rows, such as a switch's table of 65,536 flows when 100
// flows pass it. All elements are T{} at first. Only rows that have been asked for take memory:
// they lie in a hash table with linear probing, which doubles when it is half full, until it has a
// place for each row.
//
// The low bits of a row's number select its place in the hash table. So the numbers should be
// hashes, or all numbers from 0 on, such as those of leaves.

#pragma once

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace heddle {

template <class T>
class SparseRows {
 public:
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= alignof(std::max_align_t));

  SparseRows() : SparseRows(0, 0) {}
  // The table has `rows` rows, at most 2^31, of `width` elements each.
  SparseRows(size_t rows, size_t width)
      : rows_(rows), width_(width), places_(std::min(std::bit_ceil(rows), kFirstPlaces), width) {}

  // Returns the first element of the row, valid until the next call.
  T* operator[](size_t row) {
    const size_t place = PlaceIn(places_, row);
    if (places_.rows[place] == kNone) [[unlikely]]
      return Add(row);
    return At(place);
  }
  // Returns null if the row has never been asked for with operator[].
  const T* Find(size_t row) const {
    const size_t place = PlaceIn(places_, row);
    return places_.rows[place] == kNone ? nullptr : At(place);
  }
  // Visits the elements of all rows that have been asked for, in any order.
  template <class Visit>
  void ForEach(const Visit& visit) {
    for (size_t place = 0; place < places_.rows.size(); ++place) {
      if (places_.rows[place] == kNone) continue;
      std::for_each_n(At(place), width_, visit);
    }
  }

  // Returns where the row is likely to be, for a prefetch. Another may be there, or none.
  const T* Guess(size_t row) const { return At(row & places_.mask()); }

  size_t rows() const { return rows_; }
  size_t width() const { return width_; }
  // Rows that have been asked for with operator[].
  size_t used() const { return used_; }
  // Returns the size of all rows: a real switch has memory for the whole table.
  size_t memory_bytes() const { return rows_ * width_ * sizeof(T); }

 private:
  static constexpr size_t kFirstPlaces = 16;
  static constexpr uint32_t kNone = ~uint32_t{0};

  struct Free {
    void operator()(T* elements) const { std::free(elements); }
  };

  // A power of two of places for a row. The elements of empty places are not even written.
  struct Places {
    Places(size_t count, size_t width)
        : rows(count, kNone),
          elements(static_cast<T*>(std::malloc(std::max<size_t>(1, count * width * sizeof(T))))) {
      if (elements == nullptr) throw std::bad_alloc();
    }
    size_t mask() const { return rows.size() - 1; }

    std::vector<uint32_t> rows;  // The row at each place; kNone: empty.
    std::unique_ptr<T, Free> elements;
  };

  T* At(size_t place) const { return places_.elements.get() + place * width_; }

  // Returns the place of the row, or the empty one that it would take.
  static size_t PlaceIn(const Places& places, size_t row) {
    size_t place = row & places.mask();
    while (places.rows[place] != row && places.rows[place] != kNone) {
      place = (place + 1) & places.mask();
    }
    return place;
  }

  [[gnu::noinline]] T* Add(size_t row) {
    assert(row < rows_);
    if (2 * ++used_ > places_.rows.size() && places_.rows.size() < rows_) Grow();
    const size_t place = PlaceIn(places_, row);
    places_.rows[place] = static_cast<uint32_t>(row);
    std::uninitialized_value_construct_n(At(place), width_);
    return At(place);
  }

  void Grow() {
    Places grown(2 * places_.rows.size(), width_);
    for (size_t place = 0; place < places_.rows.size(); ++place) {
      const uint32_t row = places_.rows[place];
      if (row == kNone) continue;
      const size_t there = PlaceIn(grown, row);
      grown.rows[there] = row;
      std::uninitialized_copy_n(At(place), width_, grown.elements.get() + there * width_);
    }
    places_ = std::move(grown);
  }

  size_t rows_;
  size_t width_;
  size_t used_ = 0;
  Places places_;
};

}  // namespace heddle
