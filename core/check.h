// SPDX-License-Identifier: Apache-2.0
// Invariants that hold in every build. A wrong number is worse than no number: a broken invariant
// stops the program on the spot with exit code 3, saying what broke and at which simulated time.

#pragma once

#include <fmt/core.h>

#include <string>

#include "core/units.h"

namespace heddle {

inline constexpr int kExitBrokenInvariant = 3;

// Sets a function that runs before the program stops, to remove half-written results.
void SetBrokenInvariantHandler(void (*handler)());

// Sets the experiment and seed named in every report of a broken invariant.
void SetRunDescription(std::string description);

// Says in every report that a plug-in may be the cause. Call it before a plug-in is loaded.
void SuspectPlugins();

// Sets the simulated time of this thread's current window, for the same report.
void SetCheckTime(Time now);

[[noreturn]] void BrokenInvariant(const char* file, int line, const char* condition,
                                  const std::string& message);

}  // namespace heddle

// HEDDLE_CHECK(condition, "format", ...): the arguments are formatted only on failure.
#define HEDDLE_CHECK(condition, ...)                                                         \
  do {                                                                                       \
    if (!(condition)) [[unlikely]] {                                                         \
      ::heddle::BrokenInvariant(__FILE__, __LINE__, #condition, ::fmt::format(__VA_ARGS__)); \
    }                                                                                        \
  } while (false)
