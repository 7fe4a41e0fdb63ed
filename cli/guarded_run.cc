// SPDX-License-Identifier: Apache-2.0

#include "cli/guarded_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <new>
#include <optional>

#include "cli/commands.h"
#include "cli/stop_signals.h"

namespace heddle {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kTickMs = 100;

[[noreturn]] void RunInChild(const std::function<int()>& work, pid_t parent,
                             std::atomic<bool>& returned) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) std::_Exit(kExitFailed);  // The parent has died meanwhile.
  LeaveStopSignalsToParent();
  const int exit_code =
      FinishOutput(CatchAll(work, "", "an exception was thrown, probably by a plug-in"));
  std::fflush(stderr);
  returned = true;
  std::_Exit(exit_code);
}

// Waits until the process that holds the other end of `pipe` ends. Returns true if it had to be
// killed.
bool WaitFor(pid_t process, int pipe, std::optional<std::chrono::seconds> patience) {
  std::optional<Clock::time_point> asked;
  bool killed = false;
  for (;;) {
    pollfd end{pipe, POLLIN, 0};
    if (poll(&end, 1, kTickMs) > 0) return killed;
    if (!patience || !StopRequested()) continue;
    if (!asked) asked = Clock::now();
    if (killed || Clock::now() < *asked + *patience) continue;
    kill(process, SIGKILL);
    killed = true;
  }
}

absl::Status NoProcess(int error) {
  return absl::UnavailableError(fmt::format("no process can be started: {}", std::strerror(error)));
}

}  // namespace

absl::StatusOr<Guarded> RunGuarded(const std::function<int()>& work,
                                   std::optional<std::chrono::seconds> patience) {
  std::array<int, 2> ends{};
  void* memory = mmap(nullptr, sizeof(std::atomic<bool>), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || pipe2(ends.data(), O_CLOEXEC) != 0) {
    return NoProcess(errno);
  }
  auto& returned = *new (memory) std::atomic<bool>(false);
  ShareStopSignals();
  const pid_t parent = getpid();
  std::fflush(nullptr);  // Otherwise the copy would print buffered text a second time.
  const pid_t process = fork();
  if (process == 0) RunInChild(work, parent, returned);
  const int error = errno;
  close(ends[1]);
  if (process < 0) {
    close(ends[0]);
    return NoProcess(error);
  }
  Guarded guarded;
  guarded.hung = WaitFor(process, ends[0], patience);
  close(ends[0]);
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  guarded.returned = returned;
  guarded.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  munmap(memory, sizeof(std::atomic<bool>));
  return guarded;
}

bool IsDebugged() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word == "TracerPid:") return status >> word && word != "0";
  }
  return false;
}

int FinishOutput(int exit_code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_code;
  std::fputs("heddle: cannot write to the standard output\n", stderr);
  std::clearerr(stdout);  // It is reported once.
  return exit_code == kExitDone ? kExitFailed : exit_code;
}

int CatchAll(const std::function<int()>& work, const std::string& what, const std::string& origin) {
  // Nothing is allocated here, since memory may have run out.
  const auto behind = [](const std::string& text) { return text.empty() ? "" : ": "; };
  const auto print = [&](const char* message) {
    std::fprintf(stderr, "heddle: %s%s%s\n", what.c_str(), behind(what), message);
  };
  const auto print_exception = [&](const char* message) {
    std::fprintf(stderr, "heddle: %s%s%s%s%s\n", what.c_str(), behind(what), origin.c_str(),
                 behind(origin), message);
  };
  try {
    return work();
  } catch (const std::bad_alloc&) {
    print("out of memory");
  } catch (const std::exception& error) {
    print_exception(error.what());
  } catch (...) {
    print("an exception that is no std::exception was thrown; by a plug-in?");
  }
  return kExitFailed;
}

}  // namespace heddle
