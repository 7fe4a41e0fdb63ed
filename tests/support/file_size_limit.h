// SPDX-License-Identifier: Apache-2.0
// Limits the size of every file that this process writes, while an object lives. Writes then fail
// as on a full disk.

#pragma once

#include <sys/resource.h>

#include <csignal>

namespace heddle {

class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, signal_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  void (*const signal_)(int) = std::signal(SIGXFSZ, SIG_IGN);  // The signal would end the process.
  rlimit before_{};
};

}  // namespace heddle
