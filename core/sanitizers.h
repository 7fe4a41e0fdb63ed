// SPDX-License-Identifier: Apache-2.0
// HEDDLE_ASAN and HEDDLE_TSAN are defined in builds with AddressSanitizer and with ThreadSanitizer.
// g++ has macros for that, clang 16 has __has_feature alone.

#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define HEDDLE_ASAN
#elif defined(__SANITIZE_THREAD__)
#define HEDDLE_TSAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HEDDLE_ASAN
#elif __has_feature(thread_sanitizer)
#define HEDDLE_TSAN
#endif
#endif
