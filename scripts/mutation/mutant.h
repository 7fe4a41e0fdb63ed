// SPDX-License-Identifier: Apache-2.0
// The run-time side of scripts/mutate, which writes calls of these functions into a copy of the
// sources. One program holds all mutants. The environment variable HEDDLE_MUTANT has the number of
// the one that is switched on; without it the program behaves as the original. If
// HEDDLE_MUTANTS_REACHED names a file, the program writes the numbers of the mutants whose code it
// executed to this file when it exits.

#pragma once

#include <concepts>
#include <type_traits>

namespace mutant {

inline constexpr int kMost = 1 << 16;
extern int active;
extern unsigned char reached[kMost];

inline bool On(int id) {
  reached[id] = 1;
  return active == id;
}

// Returns `value`; if the mutant is on, a value near it.
template <class T>
T Other(int id, T value) {
  if (!On(id)) return value;
  if constexpr (std::is_same_v<T, bool>) {
    return !value;
  } else if constexpr (std::is_floating_point_v<T>) {
    return value == 0 ? T{1} : value * T{1.25};
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(value + 1);
  } else if constexpr (requires { value.ps; }) {
    return T{value.ps == 0 ? 1'000'000 : 2 * value.ps};
  } else if constexpr (requires { value.bps; }) {
    return T{2 * value.bps};
  } else {
    return T{value.count == 0 ? 1 : 2 * value.count};
  }
}

// An operator with a mutant is written twice, with one of these between: `a < b` becomes `a < Lt{7}
// < b`. So it needs no parentheses and keeps its precedence. Mutant 7 is the first alternative,
// mutant 8 the second.
template <class A, class Operator>
struct Left {
  const A& a;
  int id;
};

// The type that stands between the two operators, and what the first of them returns.
#define MUTANT_LEFT(Name, op)                        \
  struct Name {                                      \
    int id;                                          \
  };                                                 \
  template <class A>                                 \
  Left<A, Name> operator op(const A& a, Name with) { \
    return {a, with.id};                             \
  }

// `<` becomes `<=`, or `>=`: the boundary, or the opposite.
#define MUTANT_ORDER(Name, op, boundary)                                \
  MUTANT_LEFT(Name, op)                                                 \
  template <class A, class B>                                           \
  bool operator op(const Left<A, Name>& left, const B& b) {             \
    const bool opposite = On(left.id + 1);                              \
    return On(left.id) ? left.a boundary b : opposite != (left.a op b); \
  }
MUTANT_ORDER(Lt, <, <=)
MUTANT_ORDER(Le, <=, <)
MUTANT_ORDER(Gt, >, >=)
MUTANT_ORDER(Ge, >=, >)
#undef MUTANT_ORDER

#define MUTANT_EQUALITY(Name, op)                           \
  MUTANT_LEFT(Name, op)                                     \
  template <class A, class B>                               \
  bool operator op(const Left<A, Name>& left, const B& b) { \
    return On(left.id) != (left.a op b);                    \
  }
MUTANT_EQUALITY(Eq, ==)
MUTANT_EQUALITY(Ne, !=)
#undef MUTANT_EQUALITY

// `+` becomes `-`, `*` becomes `/`, and the reverse. Where units forbid it, the operands change
// places: the difference of two instants becomes negative.
#define MUTANT_ARITHMETIC(Name, op, other)                               \
  MUTANT_LEFT(Name, op)                                                  \
  template <class A, class B>                                            \
  auto operator op(const Left<A, Name>& left, const B& b) {              \
    const A& a = left.a;                                                 \
    using Result = std::decay_t<decltype(a op b)>;                       \
    if constexpr (requires {                                             \
                    { a other b } -> std::convertible_to<Result>;        \
                  }) {                                                   \
      return On(left.id) ? static_cast<Result>(a other b) : a op b;      \
    } else if constexpr (requires {                                      \
                           { b other a } -> std::convertible_to<Result>; \
                         }) {                                            \
      return On(left.id) ? static_cast<Result>(b other a) : a op b;      \
    } else if constexpr (requires {                                      \
                           { b op a } -> std::convertible_to<Result>;    \
                         }) {                                            \
      return On(left.id) ? static_cast<Result>(b op a) : a op b;         \
    } else {                                                             \
      return a op b;                                                     \
    }                                                                    \
  }
MUTANT_ARITHMETIC(Add, +, -)
MUTANT_ARITHMETIC(Sub, -, +)
MUTANT_ARITHMETIC(Mul, *, /)
MUTANT_ARITHMETIC(Div, /, *)
#undef MUTANT_ARITHMETIC
#undef MUTANT_LEFT

}  // namespace mutant
