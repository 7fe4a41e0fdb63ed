// SPDX-License-Identifier: Apache-2.0

#include "cli/stop_signals.h"

#include <csignal>
#include <cstdlib>

namespace heddle {
namespace {

std::atomic<bool> stop_requested{false};
std::atomic<int> stop_count{0};
std::atomic<int> stop_signal{0};
std::atomic<int> most_stops{1};

int ExitCodeOf(int signal) { return 128 + (signal == SIGUSR1 ? SIGTERM : signal); }

extern "C" void OnSignal(int signal) {
  if (!stop_requested.exchange(true)) stop_signal = signal;
  if (++stop_count > most_stops) std::_Exit(ExitCodeOf(signal));
}

}  // namespace

void CountStopSignals(int patience) {
  most_stops = patience;
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) sigaction(signal, &action, nullptr);
  // A file that grows too large is an error to report, not a reason to die.
  std::signal(SIGXFSZ, SIG_IGN);
}

const std::atomic<int>& StopSignals() { return stop_count; }
const std::atomic<bool>& StopRequested() { return stop_requested; }
int StoppedExitCode() { return ExitCodeOf(stop_signal); }

}  // namespace heddle
