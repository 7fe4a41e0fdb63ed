// SPDX-License-Identifier: Apache-2.0
// Quantities as types: an instant is not a length of time, and bytes are not bits per second.
//
// Time is a whole number of picoseconds: one byte at 800 Gbps lasts 10 ps, and 63 bits hold 106
// days. Mixing units, or adding two instants, does not compile.

#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace heddle {

// A length of time in picoseconds.
struct Duration {
  int64_t ps = 0;

  friend constexpr auto operator<=>(Duration, Duration) = default;
};

// An instant: picoseconds since the start of the simulation.
struct Time {
  int64_t ps = 0;

  friend constexpr auto operator<=>(Time, Time) = default;
};

// A rate in bits per second.
struct BitRate {
  int64_t bps = 0;

  friend constexpr auto operator<=>(BitRate, BitRate) = default;
};

// A number of bytes.
struct Bytes {
  int64_t count = 0;

  friend constexpr auto operator<=>(Bytes, Bytes) = default;
};

// Later than every event. It is a quarter of the range, so that adding a delay cannot overflow.
inline constexpr Time kNever{std::numeric_limits<int64_t>::max() / 4};

constexpr Duration operator+(Duration a, Duration b) { return {a.ps + b.ps}; }
constexpr Duration operator-(Duration a, Duration b) { return {a.ps - b.ps}; }
constexpr Duration operator*(Duration a, int64_t n) { return {a.ps * n}; }
constexpr Duration operator*(int64_t n, Duration a) { return {a.ps * n}; }
constexpr Duration operator/(Duration a, int64_t n) { return {a.ps / n}; }
constexpr int64_t operator/(Duration a, Duration b) { return a.ps / b.ps; }
constexpr Duration& operator+=(Duration& a, Duration b) { return a = a + b; }
constexpr Duration& operator-=(Duration& a, Duration b) { return a = a - b; }

constexpr Time operator+(Time t, Duration d) { return {t.ps + d.ps}; }
constexpr Time operator+(Duration d, Time t) { return {t.ps + d.ps}; }
constexpr Time operator-(Time t, Duration d) { return {t.ps - d.ps}; }
constexpr Duration operator-(Time a, Time b) { return {a.ps - b.ps}; }
constexpr Time& operator+=(Time& t, Duration d) { return t = t + d; }

constexpr Bytes operator+(Bytes a, Bytes b) { return {a.count + b.count}; }
constexpr Bytes operator-(Bytes a, Bytes b) { return {a.count - b.count}; }
constexpr Bytes operator*(Bytes a, int64_t n) { return {a.count * n}; }
constexpr Bytes& operator+=(Bytes& a, Bytes b) { return a = a + b; }
constexpr Bytes& operator-=(Bytes& a, Bytes b) { return a = a - b; }

inline constexpr int64_t kPicosecondsPerSecond = 1'000'000'000'000;

constexpr double Seconds(Duration d) { return static_cast<double>(d.ps) * 1e-12; }
constexpr double Microseconds(Duration d) { return static_cast<double>(d.ps) * 1e-6; }

// The time that `size`, below 1.15 MB, takes at `rate`. It is rounded up, so a packet is never
// early, and exact for every rate that divides 8e12, which all Ethernet rates up to 800 Gbps do.
constexpr Duration SerializationDelay(Bytes size, BitRate rate) {
  const int64_t bit_ps = size.count * 8 * kPicosecondsPerSecond;
  return {(bit_ps + rate.bps - 1) / rate.bps};
}

inline namespace literals {

constexpr Duration operator""_ps(unsigned long long n) { return {static_cast<int64_t>(n)}; }
constexpr Duration operator""_ns(unsigned long long n) {
  return 1'000_ps * static_cast<int64_t>(n);
}
constexpr Duration operator""_us(unsigned long long n) {
  return 1'000_ns * static_cast<int64_t>(n);
}
constexpr Duration operator""_ms(unsigned long long n) {
  return 1'000_us * static_cast<int64_t>(n);
}
constexpr Duration operator""_s(unsigned long long n) { return 1'000_ms * static_cast<int64_t>(n); }

constexpr BitRate operator""_Mbps(unsigned long long n) {
  return {static_cast<int64_t>(n) * 1'000'000};
}
constexpr BitRate operator""_Gbps(unsigned long long n) {
  return {static_cast<int64_t>(n) * 1'000'000'000};
}

constexpr Bytes operator""_B(unsigned long long n) { return {static_cast<int64_t>(n)}; }
constexpr Bytes operator""_KB(unsigned long long n) { return {static_cast<int64_t>(n) * 1'000}; }
constexpr Bytes operator""_MB(unsigned long long n) {
  return {static_cast<int64_t>(n) * 1'000'000};
}

}  // namespace literals
}  // namespace heddle
