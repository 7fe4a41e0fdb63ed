// SPDX-License-Identifier: Apache-2.0
// Runs a function in a process of its own, so that a crash harms nothing else. The sweep's runner
// starts one for each point. The process is a copy of this one (fork), which takes a fraction of a
// millisecond; so this process must have no threads.

#pragma once

#include <absl/status/statusor.h>
#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

namespace heddle {

// "signal 11 (Segmentation fault)", for a process that a signal has ended.
std::string NameOfSignal(int signal);

class Child {
 public:
  // The calls that a child's function may use.
  struct Inside {
    // Reports the child's progress, from 0 to 1.
    std::function<void(double)> report;
  };

  // Fails if no process can be started. The function's return value is the exit code; its output to
  // stderr is kept. The child is killed if this process dies. It ignores signals from the terminal:
  // this process must stop it.
  static absl::StatusOr<std::unique_ptr<Child>> Start(
      const std::function<int(const Inside&)>& function);
  // Kills the child if it still runs.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Readable when Poll() has something to do.
  int descriptor() const { return errors_; }
  // Takes the child's output. Returns true once the child has ended.
  bool Poll();
  double progress() const;
  void Signal(int signal) const;

  // Valid when the child has ended:
  bool exited() const;    // False if a signal killed it.
  int exit_code() const;  // Valid if it exited.
  int signal() const;     // Valid if a signal killed it.
  // True if its function returned. Code that it calls may also end the process.
  bool returned() const;
  // The child's output; only the end if it was long.
  const std::string& printed() const { return printed_; }

 private:
  struct Shared;

  Child(pid_t process, int errors, Shared* shared)
      : process_(process), errors_(errors), shared_(shared) {}

  pid_t process_;
  int errors_;
  Shared* shared_;
  int status_ = 0;
  std::string printed_;
};

}  // namespace heddle
