// SPDX-License-Identifier: Apache-2.0
// What a plug-in and the program that loads it must have in common: the headers, and a compiler
// that lays out classes and their virtual functions alike. Sanitizers change the standard
// library's.

#pragma once

#include <cstddef>  // Any header of the standard library says which one it is.

#include "core/sanitizers.h"
#include "heddle_abi.h"  // Written by the build: HEDDLE_ABI_VERSION, HEDDLE_ABI_HEADERS.

#define HEDDLE_TEXT_OF(number) #number
#define HEDDLE_TEXT(number) HEDDLE_TEXT_OF(number)

#if defined(__clang__)
#define HEDDLE_ABI_COMPILER "clang " HEDDLE_TEXT(__clang_major__)
#else
#define HEDDLE_ABI_COMPILER "g++ " HEDDLE_TEXT(__GNUC__)
#endif

#if defined(_GLIBCXX_RELEASE)
#define HEDDLE_ABI_LIBRARY "libstdc++ " HEDDLE_TEXT(_GLIBCXX_RELEASE)
#else
#define HEDDLE_ABI_LIBRARY "libc++"
#endif

#if defined(HEDDLE_ASAN)
#define HEDDLE_ABI_SANITIZER ", address sanitizer"
#elif defined(HEDDLE_TSAN)
#define HEDDLE_ABI_SANITIZER ", thread sanitizer"
#else
#define HEDDLE_ABI_SANITIZER ""
#endif

// libstdc++'s debug mode changes the layout of containers.
#if defined(_GLIBCXX_DEBUG)
#define HEDDLE_ABI_DEBUG ", debug mode"
#else
#define HEDDLE_ABI_DEBUG ""
#endif

#define HEDDLE_ABI                                                                      \
  "heddle " HEDDLE_ABI_VERSION ", headers " HEDDLE_ABI_HEADERS ", " HEDDLE_ABI_COMPILER \
  ", " HEDDLE_ABI_LIBRARY HEDDLE_ABI_DEBUG HEDDLE_ABI_SANITIZER
