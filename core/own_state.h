// SPDX-License-Identifier: Apache-2.0
// Room in a record for the state of another module: a congestion control's in the sender of each
// flow, a load balancer's in each flow of a host, a scheme's header in each packet. The record's
// owner decides how many bytes there are, and each user puts one type of its own there. A type that
// is too large, or that cannot be copied byte by byte with the record, does not compile.

#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>

namespace heddle {

template <size_t kBytes>
class OwnState {
 public:
  // Puts a T there, replacing the previous state.
  template <class T>
  T& Begin(const T& initial = T()) {
    Check<T>();
    return *new (bytes_.data()) T(initial);
  }

  // The T that is there. Before Begin() all its bytes are zero.
  template <class T>
  T& As() {
    Check<T>();
    return *std::launder(reinterpret_cast<T*>(bytes_.data()));
  }
  template <class T>
  const T& As() const {
    Check<T>();
    return *std::launder(reinterpret_cast<const T*>(bytes_.data()));
  }

  // A copy of the T that is there, and one put in its place: as one load and one store each, where
  // a copy of a T is one for each of its members. For what is copied once or twice for each packet.
  template <class T>
  T Copy() const {
    Check<T>();
    T state;
    std::memcpy(&state, bytes_.data(), sizeof(T));
    return state;
  }
  template <class T>
  void Assign(const T& state) {
    Check<T>();
    std::memcpy(bytes_.data(), &state, sizeof(T));
  }

  // The bytes, for code that prints or compares records without knowing T.
  static constexpr size_t size() { return kBytes; }
  auto begin() const { return bytes_.begin(); }
  auto end() const { return bytes_.end(); }
  friend bool operator==(const OwnState&, const OwnState&) = default;

 private:
  static constexpr size_t kAlign = 8;

  template <class T>
  static constexpr void Check() {
    static_assert(std::is_trivially_copyable_v<T>, "is copied with the record, byte by byte");
    static_assert(sizeof(T) <= kBytes, "is larger than the room in the record");
    static_assert(alignof(T) <= kAlign, "needs a stricter alignment than the record gives");
  }

  alignas(kAlign) std::array<std::byte, kBytes> bytes_ = {};
};

}  // namespace heddle
