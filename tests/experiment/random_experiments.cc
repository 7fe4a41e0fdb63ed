// SPDX-License-Identifier: Apache-2.0
// The program behind scripts/random-experiments: draws whole experiments at random and checks what
// must hold for all of them, for as long as one likes. Each seed has a process of its own, so a
// crash or an endless run is a failure like any other.

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "settings/number_text.h"
#include "tests/support/random_experiment.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr const char* kUsage =
    "random_experiments [--seconds N] [--seed S] [--experiments N] [--limit N] [--out DIR]\n"
    "random_experiments --file FILE\n"
    "  --seconds      for how long new experiments are drawn (60)\n"
    "  --seed         the first seed; each experiment has the next one (1)\n"
    "  --experiments  stop after so many seeds\n"
    "  --limit        seconds after which an experiment counts as endless (300)\n"
    "  --out          the folder for experiments that fail (.)\n"
    "  --file         checks this experiment instead of drawn ones\n";

struct Options {
  uint64_t seconds = 60;
  uint64_t seed = 1;
  uint64_t experiments = UINT64_MAX;
  uint64_t limit = 300;
  fs::path out = ".";
  std::string file;
};

// Nothing if the arguments are wrong.
std::optional<Options> Parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view name = argv[i];
    if (i + 1 == argc) return std::nullopt;
    const std::string value = argv[i + 1];
    if (name == "--out") {
      options.out = value;
    } else if (name == "--file") {
      options.file = value;
    } else {
      uint64_t* const number = name == "--seconds"       ? &options.seconds
                               : name == "--seed"        ? &options.seed
                               : name == "--experiments" ? &options.experiments
                               : name == "--limit"       ? &options.limit
                                                         : nullptr;
      const auto read = NumberFrom<uint64_t>(value);
      if (number == nullptr || !read) return std::nullopt;
      *number = *read;
    }
  }
  return options;
}

std::string TextOf(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The files of the experiment that is being checked.
struct Current {
  explicit Current(const fs::path& out)
      : yaml(out / fmt::format("current-{}.yaml", getpid())),
        log(out / fmt::format("current-{}.log", getpid())) {}
  ~Current() {
    std::error_code ignored;
    fs::remove(yaml, ignored);
    fs::remove(log, ignored);
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

  const fs::path yaml;
  const fs::path log;  // What the process prints.
};

// Runs in the child, and does not return.
[[noreturn]] void CheckInChild(uint64_t seed, const Options& options, const Current& current,
                               int to_parent) {
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, SIG_DFL);
  alarm(static_cast<unsigned>(options.limit));
  if (std::freopen(current.log.c_str(), "w", stderr) == nullptr) std::exit(70);
  const CheckedSeed checked = CheckSeed(
      seed, [&](const std::string& yaml) { std::ofstream(current.yaml) << yaml << std::flush; });
  const std::string report =
      fmt::format("{} {}\n{}", checked.refused, checked.ran ? 1 : 0, checked.problem);
  if (write(to_parent, report.data(), report.size()) < 0) std::exit(70);
  std::exit(0);  // Not _exit(): a sanitizer may have something to say.
}

std::string ReadAll(int descriptor) {
  std::string text;
  char buffer[4'096];
  for (ssize_t got = 0; (got = read(descriptor, buffer, sizeof(buffer))) > 0;) {
    text.append(buffer, static_cast<size_t>(got));
  }
  return text;
}

struct Checked {
  int refused = 0;
  bool ran = false;
  bool interrupted = false;
  std::string problem;
};

std::string HowItEnded(int status, const Options& options) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return "";
  if (WIFEXITED(status)) return fmt::format("exit code {}", WEXITSTATUS(status));
  if (WTERMSIG(status) == SIGALRM) return fmt::format("did not end within {} s", options.limit);
  return fmt::format("signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
}

Checked CheckApart(uint64_t seed, const Options& options, const Current& current) {
  int ends[2];
  if (pipe(ends) != 0) return {.problem = "there is no pipe"};
  const pid_t child = fork();
  if (child < 0) return {.problem = "there is no further process"};
  if (child == 0) {
    close(ends[0]);
    CheckInChild(seed, options, current, ends[1]);
  }
  close(ends[1]);
  const std::string report = ReadAll(ends[0]);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  Checked checked;
  if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGTERM)) {
    checked.interrupted = true;
    return checked;
  }
  int ran = 0;
  int used = 0;
  if (std::sscanf(report.c_str(), "%d %d\n%n", &checked.refused, &ran, &used) == 2) {
    checked.problem = report.substr(static_cast<size_t>(used));
  }
  checked.ran = ran != 0;
  const std::string end = HowItEnded(status, options);
  if (!end.empty()) checked.problem += end + "\n" + TextOf(current.log);
  return checked;
}

volatile std::sig_atomic_t stop = 0;

int CheckFile(const std::string& file) {
  const Verdict verdict = CheckWildExperiment(TextOf(file));
  fmt::print("{}", !verdict.problem.empty() ? verdict.problem
                   : verdict.refused        ? "refused:\n" + verdict.errors
                                            : "nothing is broken\n");
  return verdict.problem.empty() ? 0 : 1;
}

class Progress {
 public:
  void Add(const Checked& checked) {
    ran_ += checked.ran ? 1 : 0;
    refused_ += checked.refused;
    failed_ += checked.problem.empty() ? 0 : 1;
  }
  void Show(uint64_t seed, bool is_last) {
    const Clock::time_point now = Clock::now();
    const bool is_terminal = isatty(STDERR_FILENO) != 0;
    if (!is_last && now - shown_ < std::chrono::seconds(is_terminal ? 1 : 30)) return;
    shown_ = now;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - start_).count();
    fmt::print(stderr, "{}{} s, seed {}: {} experiments ran, {} were refused, {} failed{}",
               is_terminal ? "\r" : "", seconds, seed, ran_, refused_, failed_,
               is_terminal && !is_last ? "" : "\n");
    std::fflush(stderr);
  }
  bool failed() const { return failed_ > 0; }

 private:
  const Clock::time_point start_ = Clock::now();
  Clock::time_point shown_ = start_;
  int64_t ran_ = 0;
  int64_t refused_ = 0;
  int64_t failed_ = 0;
};

void Report(uint64_t seed, const Checked& checked, const Options& options, const Current& current) {
  const fs::path kept = options.out / fmt::format("seed-{}.yaml", seed);
  std::error_code error;
  fs::rename(current.yaml, kept, error);
  fmt::print(
      "\nseed {} failed: {}\n  the experiment: {}\n  again: random_experiments --seed {} "
      "--experiments 1\n",
      seed, checked.problem, error ? "not kept" : kept.string(), seed);
  std::fflush(stdout);
}

int Main(int argc, char** argv) {
  const std::optional<Options> options = Parse(argc, argv);
  if (!options) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  if (!options->file.empty()) return CheckFile(options->file);
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, [](int) { stop = 1; });
  fs::create_directories(options->out);
  const Current current(options->out);
  Progress progress;
  const Clock::time_point end = Clock::now() + std::chrono::seconds(options->seconds);
  uint64_t seed = options->seed;
  for (uint64_t i = 0; i < options->experiments && stop == 0 && Clock::now() < end; ++i, ++seed) {
    const Checked checked = CheckApart(seed, *options, current);
    if (checked.interrupted) break;
    progress.Add(checked);
    if (!checked.problem.empty()) Report(seed, checked, *options, current);
    progress.Show(seed, false);
  }
  progress.Show(seed - 1, true);
  return progress.failed() ? 1 : 0;
}

}  // namespace
}  // namespace heddle

int main(int argc, char** argv) { return heddle::Main(argc, argv); }
