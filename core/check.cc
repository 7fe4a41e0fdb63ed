// SPDX-License-Identifier: Apache-2.0

#include "core/check.h"

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <utility>

namespace heddle {
namespace {

void (*handler_)() = nullptr;
bool has_plugins_ = false;

std::string& Description() {
  static std::string description;
  return description;
}

thread_local Time check_time;

}  // namespace

void SetBrokenInvariantHandler(void (*handler)()) { handler_ = handler; }

void SetRunDescription(std::string description) { Description() = std::move(description); }

void SuspectPlugins() { has_plugins_ = true; }

void SetCheckTime(Time now) { check_time = now; }

void BrokenInvariant(const char* file, int line, const char* condition,
                     const std::string& message) {
  // Two threads may fail at once; the first report is the one that counts.
  static std::mutex reporting;
  reporting.lock();
  fmt::print(stderr,
             "heddle: broken invariant: {}\n"
             "  {}:{}: {}\n"
             "  simulated time at or after {} ps{}{}\n"
             "  The result would be wrong, so there is none. {} is a bug: please report it.\n",
             message, file, line, condition, check_time.ps, Description().empty() ? "" : ", ",
             Description(), has_plugins_ ? "Unless a plug-in caused it, this" : "This");
  std::fflush(stderr);
  if (handler_ != nullptr) handler_();
  std::_Exit(kExitBrokenInvariant);
}

}  // namespace heddle
