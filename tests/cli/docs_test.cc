// SPDX-License-Identifier: Apache-2.0
// The commands in the documentation work, and the examples in it are valid.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/command.h"
#include "tests/support/experiment_kit.h"

namespace heddle::docs_test {

namespace fs = std::filesystem;

struct Block {
  std::string page;   // "metrics.md"
  std::string where;  // "metrics.md:12"
  std::string language;
  std::string file;         // The name under which a reader saves it, in "```yaml study.yaml".
  bool is_printed = false;  // "```text printed": commands of the page print these lines.
  std::string text;
};

std::vector<fs::path> AllPages() {
  const fs::path root = HEDDLE_SOURCE_DIR;
  std::vector<fs::path> pages = {root / "README.md", root / "CONTRIBUTING.md"};
  for (const auto& entry : fs::directory_iterator(root / "docs")) {
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  }
  return pages;
}

// The fenced blocks of every page.
std::vector<Block> BlocksOfAllPages() {
  std::vector<Block> blocks;
  for (const fs::path& page : AllPages()) {
    std::istringstream text(ReadFile(page));
    std::string line;
    bool inside = false;
    for (int number = 1; std::getline(text, line); ++number) {
      if (line.starts_with("```")) {
        inside = !inside;
        if (inside) {
          Block& block = blocks.emplace_back();
          block.page = page.filename().string();
          block.where = block.page + ":" + std::to_string(number);
          std::istringstream(line.substr(3)) >> block.language >> block.file;
          if (block.file == "printed") {
            block.is_printed = true;
            block.file.clear();
          }
        }
      } else if (inside) {
        blocks.back().text += line + "\n";
      }
    }
  }
  return blocks;
}

// A folder as a user has it after cloning and building, with the program in the path.
class Clone {
 public:
  Clone() {
    const fs::path source = HEDDLE_SOURCE_DIR;
    fs::create_symlink(source / "configs", folder_ / "configs");
    fs::create_symlink(source / "scripts", folder_ / "scripts");
    fs::create_directories(folder_ / "build");
    fs::create_directory_symlink(fs::path(HEDDLE_BINARY).parent_path(), folder_ / "build/release");
    // Copied, as commands may write beside it.
    fs::create_directories(folder_ / "lb/parts");
    fs::copy(source / "lb/parts/load_balancer.h", folder_ / "lb/parts");
  }
  CommandResult Run(const std::string& command) const {
    const std::string path = fs::path(HEDDLE_BINARY).parent_path().string();
    return RunCommand("PATH=" + path + ":$PATH; " + command, folder_.path());
  }
  const TemporaryFolder& folder() const { return folder_; }

 private:
  TemporaryFolder folder_;
};

// Google Benchmark's programs, and what compares their results.
bool IsBenchmark(const std::string& line) {
  return (line.starts_with("build/release/") && line.find("_bench ") != std::string::npos) ||
         line.starts_with("scripts/compare-benchmarks ") ||
         line.starts_with("/usr/bin/python3 /usr/share/benchmark/compare.py ");
}

// They need a build of their own, and half an hour or more; MutationTest runs what they consist of.
bool IsMutation(const std::string& line) {
  return line.starts_with("scripts/mutate ") || line == "scripts/setup python3-clang-16";
}

// The programs are built with HEDDLE_BENCH alone; compare.py is optional.
bool HasBenchmarks(const Clone& clone, const std::string& line) {
  return fs::exists(clone.folder() / "build/release/engine_bench") &&
         (line.find("compare.py") == std::string::npos ||
          fs::exists("/usr/share/benchmark/compare.py"));
}

// Returns a line of a table without the time that the run took.
std::string WithoutTime(const std::string& line) {
  return std::regex_replace(line, std::regex(" +[0-9.]+s$"), "");
}

// The commands of a page have printed these lines.
using Printed = std::set<std::string>;

void AddLines(const std::string& text, Printed& printed) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) printed.insert(WithoutTime(line));
}

void ExpectPrinted(const Block& block, const Printed& printed) {
  std::istringstream lines(block.text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(printed.contains(WithoutTime(line))) << block.where << ": " << line;
  }
}

// The tutorial shows means of its sweep as a table.
void ExpectMeansOfTutorial(const Clone& clone) {
  const std::string page = ReadFile(fs::path(HEDDLE_SOURCE_DIR) / "docs/tutorial.md");
  const CsvTable means(ReadFile(clone.folder() / "results/study/means.csv"));
  ASSERT_EQ(means.rows.size(), 15u);  // Five load balancers at three loads each.
  const std::vector<std::string> names = {"ECMP", "LetFlow", "CONGA", "DRILL", "ConWeave"};
  for (size_t lb = 0; lb < names.size(); ++lb) {
    std::string row = "| " + names[lb] + " |";
    for (const auto& [column, digits] :
         {std::pair("avg_slowdown", 2), std::pair("p99_slowdown", 1)}) {
      for (size_t load = 0; load < 3; ++load) {
        row += fmt::format(" {1:.{0}f} ± {2:.{0}f} |", digits, means.Real(3 * lb + load, column),
                           means.Real(3 * lb + load, std::string(column) + "_ci95"));
      }
    }
    EXPECT_THAT(page, testing::HasSubstr(row + "\n"));
  }
}

TEST(DocsTest, EveryCommandWorksAndPrintsWhatThePageSays) {
#ifndef NDEBUG
  GTEST_SKIP() << "The commands take minutes in a slow build; the release build runs them.";
#endif
  // These, and what they need, are run from a fresh clone by .ci/run.
  const std::vector<std::string> run_by_ci = {"make run",
                                              "make test",
                                              "scripts/bench",
                                              "scripts/cross-check build/release/heddle",
                                              "scripts/setup report",
                                              "pip install '.[parquet,dask]'",
                                              "HEDDLE_NO_BUILD=1 pip install '.[parquet,dask]'"};
  const std::vector<std::string> others = {"heddle", "cmake", "installed/bin/heddle",
                                           "mine/build/my_heddle", "tshark"};
  const Clone clone;
  const bool has_tshark = clone.Run("tshark --version").exit_code == 0;  // Optional, too.
  int commands = 0;
  std::map<std::string, Printed> printed;  // By page.
  for (const Block& block : BlocksOfAllPages()) {
    if (!block.file.empty()) clone.folder().Write(block.file, block.text);
    if (block.language != "sh") continue;
    std::istringstream lines(block.text);
    for (std::string line; std::getline(lines, line);) {
      SCOPED_TRACE(block.where + ": " + line);
      if (std::ranges::find(run_by_ci, line) != run_by_ci.end()) continue;
      const std::string program = line.substr(0, line.find(' '));
      if (IsMutation(line)) continue;
      const bool is_benchmark = IsBenchmark(line);
      ASSERT_TRUE(is_benchmark || std::ranges::find(others, program) != others.end());
      if (is_benchmark && !HasBenchmarks(clone, line)) continue;
      if (program == "tshark" && !has_tshark) continue;
      const CommandResult result = clone.Run(line);
      // Python's libraries are optional; .ci/run has them.
      if (result.err.find("no python3 has the modules that a report needs") != std::string::npos)
        continue;
      if (result.err.find("No module named 'scipy'") != std::string::npos) continue;
      EXPECT_EQ(result.exit_code, 0) << result.err;
      AddLines(result.out + result.err, printed[block.page]);
      ++commands;
    }
  }
  EXPECT_GE(commands, 16);
  for (const Block& block : BlocksOfAllPages()) {
    if (block.is_printed) ExpectPrinted(block, printed[block.page]);
  }
  ExpectMeansOfTutorial(clone);
}

TEST(DocsTest, EveryExperimentShownIsValid) {
  const Clone clone;
  int experiments = 0;
  for (const Block& block : BlocksOfAllPages()) {
    if (block.language != "yaml") continue;
    SCOPED_TRACE(block.where);
    clone.folder().Write("shown.yaml", block.text);
    const CommandResult result = clone.Run("heddle check shown.yaml");
    EXPECT_EQ(result.exit_code, 0) << result.err;
    ++experiments;
  }
  EXPECT_GE(experiments, 2);
}

// The experiments in a folder below configs.
std::vector<fs::path> ConfigsIn(const std::string& folder) {
  std::vector<fs::path> configs;
  for (const auto& entry :
       fs::directory_iterator(fs::path(HEDDLE_SOURCE_DIR) / "configs" / folder)) {
    if (entry.path().extension() == ".yaml") configs.push_back(entry.path());
  }
  return configs;
}

TEST(DocsTest, EveryConfigIsValid) {
  const Clone clone;
  for (const fs::path& config : ConfigsIn("")) {
    const CommandResult result = clone.Run("heddle check '" + config.string() + "'");
    EXPECT_EQ(result.exit_code, 0) << result.err;
  }
}

// Each has a small form, which runs in a second, and the paper's; a page shows its results.
TEST(DocsTest, EveryPublishedFigureRunsAndIsShown) {
  const std::string page = ReadFile(fs::path(HEDDLE_SOURCE_DIR) / "docs/published.md");
  const std::vector<fs::path> configs = ConfigsIn("published");
  EXPECT_GE(configs.size(), 6u);
  const Clone clone;
  for (const fs::path& config : configs) {
    SCOPED_TRACE(config);
    const std::string name = config.stem().string();
    EXPECT_THAT(page, testing::HasSubstr("configs/published/" + name + ".yaml"));
    EXPECT_TRUE(fs::exists(fs::path(HEDDLE_SOURCE_DIR) / "docs/published" / (name + ".png")));
    for (const char* scale : {"full", "paper"}) {
      const CommandResult check =
          clone.Run("heddle check '" + config.string() + "' --scale " + scale);
      EXPECT_EQ(check.exit_code, 0) << check.err;
    }
    const CommandResult run = clone.Run("heddle sweep '" + config.string() +
                                        "' --scale ci --quiet --out results/" + name);
    EXPECT_EQ(run.exit_code, 0) << run.err;
  }
}

// So do the experiments for comparisons with uet-htsim, and those with failures that nobody
// announces.
TEST(DocsTest, EveryExperimentWithUltraEthernetRuns) {
  std::vector<fs::path> configs = ConfigsIn("cross-check");
  EXPECT_EQ(configs.size(), 3u);
  for (const char* name : {"failed_links", "grey_links"}) {
    configs.push_back(fs::path(HEDDLE_SOURCE_DIR) / "configs" / (std::string(name) + ".yaml"));
  }
  const Clone clone;
  for (const fs::path& config : configs) {
    SCOPED_TRACE(config);
    const CommandResult check = clone.Run("heddle check '" + config.string() + "'");
    EXPECT_EQ(check.exit_code, 0) << check.err;
    const CommandResult run =
        clone.Run("heddle sweep '" + config.string() + "' --scale ci --quiet --out results/" +
                  config.stem().string());
    EXPECT_EQ(run.exit_code, 0) << run.err;
  }
}

// Where there is congestion control to forget.
TEST(DocsTest, CheckSaysThatMessagesStartAfresh) {
  const Clone clone;
  const std::string check = "heddle check configs/collectives/training_3d.yaml";
  EXPECT_THAT(clone.Run(check).out, testing::HasSubstr("\n  jobs        each message starts dcqcn "
                                                       "afresh; a real queue pair keeps its rate"));
  EXPECT_THAT(clone.Run(check + " --set transport.cc=none").out,
              testing::Not(testing::HasSubstr("afresh")));
  EXPECT_THAT(clone.Run("heddle check configs/permutation.yaml --verbose").out,
              testing::Not(testing::HasSubstr("afresh")));
}

// A trace that protobuf has written, and the same as JSON.
TEST(DocsTest, BothFormsOfTheChakraTraceGiveTheSameResults) {
  const Clone clone;
  for (const char* format : {"chakra", "chakra_json"}) {
    const CommandResult run =
        clone.Run(fmt::format("heddle run configs/chakra.yaml --set workload[0].format={} "
                              "--quiet --out results/{}",
                              format, format));
    EXPECT_EQ(run.exit_code, 0) << run.err;
  }
  for (const char* table :
       {"flows.csv", "jobs.csv", "iterations.csv", "collectives.csv", "operations.csv"}) {
    const std::string of_wire = ReadFile(clone.folder() / fmt::format("results/chakra/{}", table));
    EXPECT_THAT(of_wire, testing::HasSubstr("\n")) << table;
    EXPECT_EQ(of_wire, ReadFile(clone.folder() / fmt::format("results/chakra_json/{}", table)))
        << table;
  }
}

TEST(DocsTest, TheSettingsPageIsWhatTheProgramSays) {
  const CommandResult result = RunCommand(
      "scripts/settings-reference '" + std::string(HEDDLE_BINARY) + "'", HEDDLE_SOURCE_DIR);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, ReadFile(fs::path(HEDDLE_SOURCE_DIR) / "docs" / "settings.md"))
      << "run scripts/settings-reference build/release/heddle > docs/settings.md";
}

// A heading names each load balancer. The page calls a reconstruction so where the program does.
TEST(DocsTest, EveryLoadBalancerHasASection) {
  std::map<std::string, std::string> sections;  // By the words of their headings.
  std::istringstream text(ReadFile(fs::path(HEDDLE_SOURCE_DIR) / "docs/policies.md"));
  std::string line;
  std::vector<std::string> names;
  while (std::getline(text, line)) {
    if (line.starts_with("## ")) {
      std::istringstream heading(line.substr(3));
      names.assign(std::istream_iterator<std::string>(heading), {});
      for (std::string& name : names) std::erase(name, ',');
    }
    for (const std::string& name : names) sections[name] += line + "\n";
  }
  const std::string list = RunCommand(HEDDLE_BINARY " list", fs::temp_directory_path()).out;
  std::istringstream known(list.substr(0, list.find("\n\n")));
  std::getline(known, line);  // "Load balancers (lb:)"
  int found = 0;
  for (std::string name; known >> name; ++found) {
    std::getline(known, line);
    ASSERT_TRUE(sections.contains(name)) << name;
    const bool is_reconstruction = line.find("reconstruction") != std::string::npos;
    EXPECT_EQ(sections[name].find("reconstruction") != std::string::npos, is_reconstruction)
        << name;
  }
  EXPECT_GT(found, 30);
}

// A page without its fenced blocks and what stands between backticks, in which "](" is a lambda.
std::string ProseOf(const fs::path& page) {
  std::istringstream text(ReadFile(page));
  std::string prose;
  bool fenced = false;
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("```")) fenced = !fenced;
    if (!fenced) prose += std::regex_replace(line, std::regex("`[^`]*`"), "`") + "\n";
  }
  return prose;
}

TEST(DocsTest, EveryLinkBetweenPagesLeadsSomewhere) {
  for (const fs::path& file : AllPages()) {
    const std::string text = ProseOf(file);
    for (size_t at = text.find("]("); at != std::string::npos; at = text.find("](", at + 1)) {
      const std::string target = text.substr(at + 2, text.find(')', at) - at - 2);
      if (target.starts_with("http")) continue;
      EXPECT_TRUE(fs::exists(file.parent_path() / target.substr(0, target.find('#'))))
          << file << ": " << target;
    }
  }
}

}  // namespace heddle::docs_test
