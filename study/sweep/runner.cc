// SPDX-License-Identifier: Apache-2.0

#include "study/sweep/runner.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <deque>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "experiment/run.h"
#include "experiment/run_folder.h"
#include "settings/status.h"
#include "study/sweep/child.h"

namespace heddle {
namespace {

// The exit codes of a child. 3 is a broken invariant, see core/check.h.
constexpr int kWritten = 0;
constexpr int kFailed = 1;
constexpr int kBusy = 75;    // Try again later; EX_TEMPFAIL of sysexits.h.
constexpr int kNoRoom = 74;  // EX_IOERR of sysexits.h.
constexpr int kStopped = 143;

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kTick(100);
constexpr std::chrono::milliseconds kWaitForOthers(500);
// The time that a child has to stop before it is killed, since it may hang.
constexpr std::chrono::seconds kPatience(5);

std::atomic<bool> child_stop{false};
extern "C" void OnStopInChild(int /*signal*/) { child_stop = true; }

// `path` ends in the point's id, which the files that the experiment reads are part of.
int RunPoint(const ExperimentFile& file, size_t point, const std::filesystem::path& path,
             int threads, bool replace, const Child::Inside& inside) {
  std::signal(SIGTERM, OnStopInChild);
  Diagnostics diagnostics;
  const Experiment experiment = file.Load(point, diagnostics);
  if (!diagnostics.ok()) {  // The point had no errors when the plan was made.
    fmt::print(stderr, "{}", diagnostics.Report());
    return kFailed;
  }
  if (experiment.Id() != path.filename()) {
    fmt::print(stderr,
               "a file that the experiment reads has changed since the sweep began; repeat the "
               "sweep, with --retry-failed if the file is as before\n");
    return kFailed;
  }
  SimulationOptions simulation;
  simulation.threads = threads;
  simulation.stop = &child_stop;
  simulation.progress = [&](const Progress& progress) {
    if (progress.flows_expected <= 0) return;
    inside.report(
        std::min(1.0, static_cast<double>(progress.flows_done) / progress.flows_expected));
  };
  const absl::Status status = RunToFolder(experiment, simulation, path, replace).status();
  if (status.ok()) return kWritten;
  if (absl::IsCancelled(status)) return kStopped;
  if (absl::IsAborted(status)) return kBusy;
  fmt::print(stderr, "{}\n", MessageOf(status));
  return absl::IsResourceExhausted(status) ? kNoRoom : kFailed;
}

std::string LastLine(std::string text) {
  text.erase(text.find_last_not_of('\n') + 1);
  return text.substr(text.find_last_of('\n') + 1);
}

class Runner {
 public:
  Runner(const ExperimentFile& file, const Plan& plan, const SweepFolder& folder,
         const RunnerOptions& options)
      : file_(file), plan_(plan), folder_(folder), options_(options) {}

  absl::Status Run(const std::vector<size_t>& points) {
    for (const size_t point : points) {
      work_ += WorkOf(point);
      queue_.push_back(point);
    }
    // The longest points go first, so that none of them runs alone at the end.
    std::ranges::stable_sort(queue_, std::ranges::greater{},
                             [&](size_t point) { return WorkOf(point); });
    all_ = points.size();
    while (no_process_.ok() && (!stopping() || !running_.empty())) {
      if (!stopping()) StartMore();
      if (running_.empty()) break;
      Wait();
      Stop();
      Report();
    }
    return no_process_.ok() ? no_room_ : no_process_;
  }

 private:
  struct Running {
    size_t point;
    std::unique_ptr<Child> child;
  };

  int stops() const { return options_.stops == nullptr ? 0 : options_.stops->load(); }
  // A full disk stops the sweep: the user is told once, makes room, and repeats the command.
  bool stopping() const { return stops() > 0 || !no_room_.ok(); }
  double WorkOf(size_t point) const { return std::max(1.0, plan_.points[point].work); }

  void StartMore() {
    while (no_process_.ok() && !queue_.empty() && std::ssize(running_) < options_.jobs) {
      const size_t point = queue_.front();
      queue_.pop_front();
      Start(point);
    }
    if (!queue_.empty() || !running_.empty()) return;
    // The remaining points: first those that were killed, one by one, then those that other
    // processes run.
    std::deque<size_t>& rest = killed_.empty() ? busy_ : killed_;
    if (rest.empty()) return;
    const size_t point = rest.front();
    rest.pop_front();
    const bool was_busy = &rest == &busy_;
    if (was_busy) std::this_thread::sleep_for(kWaitForOthers);
    Start(point);
  }

  void Start(size_t point) {
    const std::string& id = plan_.points[point].id;
    const auto path = folder_.PointPath(id);
    // Looked up now, since another process may have repaired the point meanwhile.
    const bool replace = options_.replace || folder_.Inspect(id).state == PointState::kDamaged;
    auto child = Child::Start([&](const Child::Inside& inside) {
      return RunPoint(file_, point, path, options_.threads, replace, inside);
    });
    no_process_ = child.status();
    if (child.ok()) running_.push_back({point, *std::move(child)});
  }

  // Waits until a child has ended or printed, or a tick has passed.
  void Wait() {
    std::vector<pollfd> ends;
    for (const Running& running : running_) {
      ends.push_back({running.child->descriptor(), POLLIN, 0});
    }
    poll(ends.data(), ends.size(), static_cast<int>(kTick.count()));
    std::vector<Running> left;
    for (Running& running : std::exchange(running_, {})) {
      if (running.child->Poll()) {
        End(running.point, *running.child);
      } else {
        left.push_back(std::move(running));
      }
    }
    running_ = std::move(left);
  }

  // Called repeatedly: a child that has just started may miss the first signal.
  void Stop() {
    if (!stopping()) return;
    if (!stopped_) stopped_ = Clock::now();
    const bool at_once = stops() > 1 || Clock::now() > *stopped_ + kPatience;
    for (const Running& running : running_) running.child->Signal(at_once ? SIGKILL : SIGTERM);
  }

  void End(size_t point, const Child& child) {
    const bool says = child.exited() && child.returned();  // Not a plug-in's exit(0).
    const bool is_written = says && child.exit_code() == kWritten;
    if (stopping() && !is_written) return LeaveNothingOf(point, child);
    if (says && child.exit_code() == kBusy) return busy_.push_back(point);
    const PointState state = folder_.Inspect(plan_.points[point].id).state;
    const bool is_there = state == PointState::kDone || state == PointState::kIncomplete;
    // Another process may have written the result first, unless results were to be replaced.
    if (is_there && (is_written || !options_.replace)) return Written(point);
    if (says && child.exit_code() == kNoRoom) {
      no_room_ = absl::ResourceExhaustedError(LastLine(child.printed()) +
                                              " (make room, then repeat the command)");
      return;
    }
    if (!says) RunFolder::RemoveLeftOvers(folder_.PointPath(plan_.points[point].id));
    const bool was_killed = !child.exited() && child.signal() == SIGKILL;
    if (was_killed && std::ranges::find(tried_again_, point) == tried_again_.end()) {
      tried_again_.push_back(point);
      killed_.push_back(point);
      return;
    }
    Failed(point, child);
  }

  void LeaveNothingOf(size_t point, const Child& child) {
    if (!child.returned()) RunFolder::RemoveLeftOvers(folder_.PointPath(plan_.points[point].id));
  }

  void Written(size_t point) {
    folder_.RemoveFailure(plan_.points[point].id);
    Done(point);
  }

  void Failed(size_t point, const Child& child) {
    std::string status = fmt::format("exit code {}", child.exit_code());
    if (!child.exited()) {
      status = NameOfSignal(child.signal());
    }
    std::string message = child.printed();
    if (!child.exited() && child.signal() == SIGKILL && message.empty()) {
      message = "killed twice from outside; was there too little memory?";
    }
    if (!child.exited() && message.empty() && options_.has_plugins) {
      message = "does a plug-in crash?";
    }
    if (child.exited() && !child.returned() && message.empty()) {
      message = "the process ended itself before there were results; does a plug-in call exit?";
    }
    if (child.returned() && child.exit_code() == kWritten) {
      message = "the written results are no longer there; was the folder removed?";
    }
    ++failed_;
    // If the failure cannot be written, the point counts as missing.
    const absl::Status written = folder_.WriteFailure(plan_.points[point], status, message);
    Count(point);
    options_.ended(point, {.state = PointState::kFailed,
                           .version = "",
                           .status = status,
                           .message = message + MessageOf(written)});
  }

  void Done(size_t point) {
    Count(point);
    options_.ended(point, folder_.Inspect(plan_.points[point].id));
  }

  void Count(size_t point) {
    ++done_;
    work_done_ += WorkOf(point);
  }

  void Report() {
    const auto now = Clock::now();
    if (!options_.progress || now < reported_ + kTick) return;
    reported_ = now;
    RunnerProgress progress{.done = done_, .failed = failed_, .all = all_, .running = {}};
    double work = work_done_;
    for (const Running& running : running_) {
      progress.running.push_back(running.point);
      work += WorkOf(running.point) * running.child->progress();
    }
    progress.share = work / work_;
    progress.seconds = std::chrono::duration<double>(now - started_).count();
    options_.progress(progress);
  }

  const ExperimentFile& file_;
  const Plan& plan_;
  const SweepFolder& folder_;
  const RunnerOptions& options_;

  std::deque<size_t> queue_;
  std::vector<Running> running_;
  std::deque<size_t> killed_;  // Killed points, to be tried once more when nothing else runs.
  std::deque<size_t> busy_;    // Points that other processes run.
  std::vector<size_t> tried_again_;
  size_t all_ = 0;
  size_t done_ = 0;
  size_t failed_ = 0;
  double work_ = 0;
  double work_done_ = 0;
  Clock::time_point started_ = Clock::now();
  Clock::time_point reported_ = started_;
  std::optional<Clock::time_point> stopped_;
  absl::Status no_process_;
  absl::Status no_room_;
};

}  // namespace

absl::Status RunPoints(const ExperimentFile& file, const Plan& plan,
                       const std::vector<size_t>& points, const SweepFolder& folder,
                       const RunnerOptions& options) {
  return Runner(file, plan, folder, options).Run(points);
}

}  // namespace heddle
