// SPDX-License-Identifier: Apache-2.0

#include "study/sweep/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

namespace heddle {

// Data in memory that parent and child share.
struct Child::Shared {
  std::atomic<double> progress{0};
  std::atomic<bool> returned{false};
};

namespace {

constexpr size_t kMaxPrinted = 16'384;
constexpr int kExitFailed = 1;

void* MapSharedPages(size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

int Run(const std::function<int(const Child::Inside&)>& function, const Child::Inside& inside) {
  try {
    return function(inside);
  } catch (const std::bad_alloc&) {
    std::fputs("out of memory\n", stderr);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  } catch (...) {
    std::fputs("something was thrown that is no std::exception\n", stderr);
  }
  return kExitFailed;
}

absl::Status NoProcess(int error) {
  return absl::UnavailableError(fmt::format("no process can be started: {}", std::strerror(error)));
}

void PrepareChild(pid_t parent, int errors) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) std::_Exit(kExitFailed);  // The parent has died meanwhile.
  for (const int signal : {SIGINT, SIGHUP, SIGUSR1}) std::signal(signal, SIG_IGN);
  dup2(errors, STDERR_FILENO);
}

}  // namespace

std::string NameOfSignal(int signal) {
  return fmt::format("signal {} ({})", signal, strsignal(signal));
}

absl::StatusOr<std::unique_ptr<Child>> Child::Start(
    const std::function<int(const Inside&)>& function) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return NoProcess(errno);
  void* memory = MapSharedPages(sizeof(Shared));
  const pid_t parent = getpid();
  // Otherwise the child would print buffered text a second time.
  std::fflush(nullptr);
  const pid_t process = memory == nullptr ? -1 : fork();
  if (process == 0) {
    PrepareChild(parent, ends[1]);
    Shared* shared = new (memory) Shared;
    const Inside inside{[shared](double progress) { shared->progress = progress; }};
    const int exit_code = Run(function, inside);
    shared->returned = true;
    std::fflush(stderr);
    // _Exit: the child must not clean up objects of the parent.
    std::_Exit(exit_code);
  }
  close(ends[1]);
  if (process < 0) {
    const int error = errno;
    close(ends[0]);
    if (memory != nullptr) munmap(memory, sizeof(Shared));
    return NoProcess(error);
  }
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return std::unique_ptr<Child>(new Child(process, ends[0], static_cast<Shared*>(memory)));
}

Child::~Child() {
  if (process_ > 0) {
    kill(process_, SIGKILL);
    while (waitpid(process_, &status_, 0) < 0 && errno == EINTR) {
    }
  }
  close(errors_);
  munmap(shared_, sizeof(Shared));
}

// The pipe ends when the child ends, since nobody else holds its other end.
bool Child::Poll() {
  std::array<char, 4096> buffer{};
  ssize_t length = 0;
  while ((length = read(errors_, buffer.data(), buffer.size())) > 0) {
    printed_.append(buffer.data(), static_cast<size_t>(length));
    if (printed_.size() > 2 * kMaxPrinted) printed_.erase(0, printed_.size() - kMaxPrinted);
  }
  if (length < 0) return false;
  while (waitpid(process_, &status_, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
  return true;
}

double Child::progress() const { return shared_->progress; }
void Child::Signal(int signal) const { kill(process_, signal); }
bool Child::exited() const { return WIFEXITED(status_); }
int Child::exit_code() const { return WEXITSTATUS(status_); }
bool Child::returned() const { return shared_->returned; }
int Child::signal() const { return WTERMSIG(status_); }

}  // namespace heddle
