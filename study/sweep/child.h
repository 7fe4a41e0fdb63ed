// SPDX-License-Identifier: Apache-2.0
// A function that runs in a process of its own, so that whatever becomes of it is no danger to
// others. The process is a copy of this one (fork), which costs a fraction of a millisecond; so
// this one must have no threads.

#pragma once

#include <absl/status/statusor.h>
#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

namespace heddle {

class Child {
 public:
  // What a child's function may use.
  struct Inside {
    // Says how far it is, from 0 to 1.
    std::function<void(double)> report;
  };

  // Fails if there can be no process. The function's return value is the exit code;
  // what it prints to stderr is kept. The child is killed if this process dies, and ignores what
  // ends programs from a terminal: it is this process's to stop it.
  static absl::StatusOr<std::unique_ptr<Child>> Start(
      const std::function<int(const Inside&)>& function);
  // Kills it if it still runs.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Readable when there is something to do for Poll().
  int descriptor() const { return errors_; }
  // Takes what it printed. True once it has ended.
  bool Poll();
  double progress() const;
  void Signal(int signal) const;

  // When it has ended:
  bool exited() const;    // Rather than killed by a signal.
  int exit_code() const;  // If it exited,
  int signal() const;     // and if not.
  bool returned() const;  // Whether its function did: what it runs may end the process by itself.
  const std::string& printed() const { return printed_; }  // The last of it, if it was much.

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
