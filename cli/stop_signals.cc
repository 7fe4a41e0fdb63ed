// SPDX-License-Identifier: Apache-2.0

#include "cli/stop_signals.h"

#include <sys/mman.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <new>

namespace heddle {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};

struct Stops {
  std::atomic<bool> requested{false};
  std::atomic<int> count{0};
  std::atomic<int> signal{0};
  std::atomic<int> patience{0};
};

Stops of_this_process;
std::atomic<Stops*> stops{&of_this_process};
bool another_process_counts = false;

int ExitCodeOf(int signal) { return 128 + (signal == SIGUSR1 ? SIGTERM : signal); }

extern "C" void OnSignal(int signal) {
  Stops& counted = *stops;
  // Set first: a reader that sees the stop request may ask for the signal.
  int none = 0;
  counted.signal.compare_exchange_strong(none, signal);
  counted.requested = true;
  if (++counted.count > counted.patience) std::_Exit(ExitCodeOf(signal));
}

}  // namespace

void CountStopSignals(int patience) {
  stops.load()->patience = patience;
  if (another_process_counts) return;
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  for (const int signal : kSignals) sigaction(signal, &action, nullptr);
}

void ShareStopSignals() {
  if (stops != &of_this_process) return;
  void* memory =
      mmap(nullptr, sizeof(Stops), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;  // The copy then cannot see signals, and is killed.
  auto* shared = new (memory) Stops;
  shared->count = of_this_process.count.load();
  shared->signal = of_this_process.signal.load();
  shared->requested = of_this_process.requested.load();
  shared->patience = of_this_process.patience.load();
  stops = shared;
}

void LeaveStopSignalsToParent() {
  another_process_counts = true;
  for (const int signal : kSignals) std::signal(signal, SIG_IGN);
}

const std::atomic<int>& StopSignals() { return stops.load()->count; }
const std::atomic<bool>& StopRequested() { return stops.load()->requested; }
int StoppedExitCode() { return ExitCodeOf(stops.load()->signal); }

}  // namespace heddle
