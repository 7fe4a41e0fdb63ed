// SPDX-License-Identifier: Apache-2.0
// Shells, editors and man can use the files that the program generates for them.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/command.h"

namespace heddle::generated_test {

namespace fs = std::filesystem;

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

std::string Printed(const std::string& arguments) {
  const CommandResult result = RunCommand(fmt::format("'{}' {}", HEDDLE_BINARY, arguments));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return result.out;
}

bool IsInstalled(const std::string& program) {
  return RunCommand("command -v " + program).exit_code == 0;
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// A folder with something to complete, and what a shell offers there for a line that is being
// typed.
class CompletionTest : public testing::Test {
 protected:
  CompletionTest() {
    folder_.Write("mine.yaml", "");
    fs::create_directory(folder_ / "results");
    for (const char* shell : {"bash", "zsh", "fish"}) {
      folder_.Write(shell, Printed(fmt::format("completion {}", shell)));
    }
  }

  std::vector<std::string> Bash(const std::string& line) {
    return Offered(
        fmt::format("bash --norc -c '. ./bash; COMP_LINE=\"{0}\"; COMP_POINT=${{#COMP_LINE}}; "
                    "_heddle; printf \"%s\\n\" \"${{COMPREPLY[@]}}\"'",
                    line));
  }
  // Without a terminal zsh cannot complete, but it can say what it would add.
  std::vector<std::string> Zsh(const std::string& line) {
    return Offered(
        fmt::format("zsh -f -c 'compdef() {{ : }}; compadd() {{ shift; print -l -- \"$@\" }}; "
                    "_files() {{ print -l FILES "
                    "$* }}; . ./zsh; LBUFFER=\"{}\"; _heddle'",
                    line));
  }
  std::vector<std::string> Fish(const std::string& line) {
    return Offered(
        fmt::format("fish --no-config -c 'source fish; complete -C \"{}\" | cut -f 1'", line));
  }

  std::vector<std::string> Offered(const std::string& command) {
    const CommandResult result = RunCommand(command, folder_.path());
    EXPECT_EQ(result.err, "");
    return Lines(result.out);
  }

  TemporaryFolder folder_;
};

TEST_F(CompletionTest, BashCompletesWhatMayStandThere) {
  if (!IsInstalled("bash")) GTEST_SKIP() << "bash is not installed";
  EXPECT_THAT(Bash("heddle "), IsSupersetOf({"run", "trace", "check", "describe", "schema"}));
  EXPECT_THAT(Bash("heddle "), Not(Contains("man")));
  EXPECT_THAT(Bash("heddle tr"), ElementsAre("trace"));
  EXPECT_THAT(Bash("heddle bench "), ElementsAre("lb"));
  EXPECT_THAT(Bash("heddle trace --fl"), ElementsAre("--flow"));
  EXPECT_THAT(Bash("heddle trace x.yaml --format "), ElementsAre("pcap", "perfetto"));
  EXPECT_THAT(Bash("heddle describe letf"), ElementsAre("letflow"));
  EXPECT_THAT(Bash("heddle describe webs"), Contains("websearch"));
  EXPECT_THAT(Bash("heddle completion "), ElementsAre("bash", "zsh", "fish"));
  EXPECT_THAT(Bash("heddle run mi"), ElementsAre("mine.yaml"));
  EXPECT_THAT(Bash("heddle run --out "), AllOf(Contains("results"), Not(Contains("mine.yaml"))));
}

// Bash takes "=" for the end of a word.
TEST_F(CompletionTest, BashCompletesTheValueOfASetting) {
  if (!IsInstalled("bash")) GTEST_SKIP() << "bash is not installed";
  EXPECT_THAT(Bash("heddle run mine.yaml --set lb=letf"), ElementsAre("letflow"));
  EXPECT_THAT(Bash("heddle run mine.yaml --set transport=roce"), ElementsAre("rocev2"));
}

TEST_F(CompletionTest, ZshCompletesWhatMayStandThere) {
  if (!IsInstalled("zsh")) GTEST_SKIP() << "zsh is not installed: scripts/setup zsh";
  EXPECT_THAT(Zsh("heddle "), IsSupersetOf({"run", "trace", "check"}));
  EXPECT_THAT(Zsh("heddle bench "), ElementsAre("lb"));
  EXPECT_THAT(Zsh("heddle trace --fl"), IsSupersetOf({"--flow", "--link"}));
  EXPECT_THAT(Zsh("heddle trace --format "), ElementsAre("pcap", "perfetto"));
  EXPECT_THAT(Zsh("heddle run mi"), ElementsAre("FILES"));
  EXPECT_THAT(Zsh("heddle run --out "), ElementsAre("FILES", "-/"));
}

TEST_F(CompletionTest, FishCompletesWhatMayStandThere) {
  if (!IsInstalled("fish")) GTEST_SKIP() << "fish is not installed: scripts/setup fish";
  EXPECT_THAT(Fish("heddle "), IsSupersetOf({"run", "trace", "check"}));
  EXPECT_THAT(Fish("heddle bench "), ElementsAre("lb"));
  EXPECT_THAT(Fish("heddle trace --fl"), ElementsAre("--flow"));
  EXPECT_THAT(Fish("heddle trace --format "), IsSupersetOf({"pcap", "perfetto"}));
  EXPECT_THAT(Fish("heddle describe letf"), ElementsAre("letflow"));
  EXPECT_THAT(Fish("heddle run mi"), ElementsAre("mine.yaml"));
}

TEST(CompletionCommandTest, KnowsItsShells) {
  const CommandResult result = RunCommand(fmt::format("'{}' completion tcsh", HEDDLE_BINARY));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("bash"));
}

// --- The man page ---

TEST(ManPageTest, HasEveryCommandAndOption) {
  std::string page = Printed("man");
  std::erase(page, '\\');
  for (const char* section : {".TH HEDDLE 1", ".SH NAME", ".SH EXIT STATUS", ".SS heddle trace",
                              ".SS heddle bench lb", "fB--snaplenfR", ".B HEDDLE_THREADS"}) {
    EXPECT_THAT(page, HasSubstr(section));
  }
  EXPECT_THAT(page, Not(HasSubstr(".SS heddle man")));
}

TEST(ManPageTest, IsSoundRoff) {
  const TemporaryFolder folder;
  const fs::path page = folder.Write("heddle.1", Printed("man"));
  if (!IsInstalled("mandoc")) GTEST_SKIP() << "mandoc is not installed: scripts/setup mandoc";
  const CommandResult lint =
      RunCommand(fmt::format("mandoc -T lint -W warning '{}'", page.string()));
  // It has no date, so that each build of a version has the same page.
  std::vector<std::string> complaints = Lines(lint.out);
  std::erase_if(complaints, [](const std::string& line) {
    return line.find("missing date") != std::string::npos;
  });
  EXPECT_THAT(complaints, testing::IsEmpty());
  const CommandResult shown =
      RunCommand(fmt::format("mandoc -T utf8 '{}' | col -b", page.string()));
  EXPECT_THAT(shown.out, HasSubstr("simulate load balancing"));
}

// --- The schema ---

TEST(SchemaCommandTest, PrintsTheSchema) {
  EXPECT_THAT(Printed("schema"), AllOf(HasSubstr("http://json-schema.org/draft-07/schema#"),
                                       HasSubstr("\"load_balancer.letflow\"")));
}

TEST(SchemaCommandTest, EveryConfigNamesIt) {
  for (const auto& entry :
       fs::recursive_directory_iterator(fs::path(HEDDLE_SOURCE_DIR) / "configs")) {
    const bool is_experiment = entry.path().extension() == ".yaml" &&
                               entry.path().filename() != "claims.yaml";  // It belongs to a paper.
    if (!is_experiment) continue;
    const std::string first = Lines(ReadFile(entry.path())).front();
    const std::string mark = "# yaml-language-server: $schema=";
    ASSERT_TRUE(first.starts_with(mark)) << entry.path();
    // The schema is installed beside the folder of configs.
    const fs::path named = entry.path().parent_path() / first.substr(mark.size());
    EXPECT_EQ(named.lexically_normal(), fs::path(HEDDLE_SOURCE_DIR) / "experiment.schema.json");
  }
}

}  // namespace heddle::generated_test
