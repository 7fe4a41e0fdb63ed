// SPDX-License-Identifier: Apache-2.0
// Tests load balancers from outside: heddle --plugin, and heddle new-policy.

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <iterator>
#include <string>
#include <utility>

#include "cli/plugins.h"
#include "tests/support/command.h"

namespace heddle::plugin_test {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

const std::string kHeddle = HEDDLE_BINARY;
const std::string kPlugins = HEDDLE_PLUGINS;

CommandResult Heddle(const std::string& arguments) { return RunCommand(kHeddle + " " + arguments); }
CommandResult ListWith(const std::string& plugin) {
  return Heddle("list --plugin " + kPlugins + plugin);
}

void ExpectRefused(const CommandResult& result, const std::string& why) {
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr(why));
}

TEST(PluginTest, IsListedDescribedAndChecked) {
  EXPECT_THAT(Heddle("list").out, Not(HasSubstr("my_spray")));
  EXPECT_THAT(ListWith("my_spray.so").out, AllOf(HasSubstr("\n  my_spray "), HasSubstr("letflow")));
  EXPECT_THAT(Heddle("describe my_spray --plugin " + kPlugins + "my_spray.so").out,
              HasSubstr("my_spray: Every packet takes a random path."));
  const std::string check =
      "check '" HEDDLE_SOURCE_DIR "/docs/examples/out_of_tree/experiment.yaml' --plugin ";
  EXPECT_EQ(Heddle(check + kPlugins + "my_spray.so").exit_code, 0);
}

// The example draws what `rps` draws.
TEST(PluginTest, RunsAsABuiltInLoadBalancerDoes) {
  const TemporaryFolder folder;
  const std::string run = "run '" HEDDLE_SOURCE_DIR
                          "/docs/examples/out_of_tree/experiment.yaml' -q --set "
                          "workload[0].flows=20 --out '" +
                          folder.path().string() + "/";
  ASSERT_EQ(Heddle(run + "built_in' --set lb=rps").exit_code, 0);
  const CommandResult result = Heddle(run + "plugin' --plugin " + kPlugins + "my_spray.so");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const char* file : {"flows.csv", "summary.csv", "reorder.csv", "links.csv"}) {
    EXPECT_EQ(ReadFile(folder / "built_in" / file), ReadFile(folder / "plugin" / file)) << file;
  }
}

TEST(PluginTest, MayHaveACongestionControlAlone) {
  const std::string list = ListWith("line_rate.so").out;
  EXPECT_THAT(list, HasSubstr("\n  line_rate "));
  const TemporaryFolder folder;
  folder.Write("e.yaml",
               "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 2}\n"
               "lb: ecmp\n"
               "transport: {kind: rocev2, cc: line_rate}\n"
               "workload: [{kind: permutation, size: 100KB}]\n");
  const std::string run = "'" + kHeddle + "' run e.yaml -q ";
  const CommandResult without = RunCommand(run + "-o without", folder.path());
  EXPECT_EQ(without.exit_code, 2);
  EXPECT_THAT(without.err, HasSubstr("if the name is that of a plug-in, load it with --plugin"));
  const CommandResult with =
      RunCommand(run + "-o with --plugin " + kPlugins + "line_rate.so", folder.path());
  ASSERT_EQ(with.exit_code, 0) << with.err;
  ASSERT_EQ(RunCommand(run + "-o none --set transport.cc=none", folder.path()).exit_code, 0);
  EXPECT_EQ(ReadFile(folder / "with/flows.csv"), ReadFile(folder / "none/flows.csv"));
}

class FailingPluginTest : public testing::Test {
 protected:
  FailingPluginTest() {
    folder_.Write("e.yaml",
                  "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 2}\n"
                  "workload: [{kind: permutation, size: 10KB}]\n");
  }
  std::string Command(const std::string& balancer) {
    return "'" + kHeddle + "' run e.yaml -o out --set lb=" + balancer + " --plugin " + kPlugins +
           "failing.so";
  }
  CommandResult Run(const std::string& balancer) {
    return RunCommand("ulimit -c 0; " + Command(balancer), folder_.path());
  }
  void ExpectNothingLeft() {
    const auto entries = fs::directory_iterator(folder_.path());
    EXPECT_EQ(std::distance(fs::begin(entries), fs::end(entries)), 1);
  }

  TemporaryFolder folder_;
};

TEST_F(FailingPluginTest, OneThatEndsTheProcessIsAFailureWhateverItSays) {
  const CommandResult result = Run("exiting");
  EXPECT_EQ(result.exit_code, 1);
  // Debug builds say that they are slow before it.
  EXPECT_THAT(result.err, EndsWith("heddle: e: the process ended itself with exit code 0 before "
                                   "there were results; does a plug-in call exit?\n"));
  ExpectNothingLeft();
}

TEST_F(FailingPluginTest, OneThatCrashesLeavesNothing) {
  const CommandResult result = Run("crashing");
  EXPECT_EQ(result.exit_code, 134);
  EXPECT_THAT(result.err, EndsWith("heddle: e: signal 6 (Aborted) ended the run; there are no "
                                   "results; does a plug-in crash?\n"));
  ExpectNothingLeft();
  const CommandResult broken = Run("breaking");
  EXPECT_EQ(broken.exit_code, 3);
  EXPECT_THAT(broken.err,
              EndsWith(" ps, e seed 1\n  The result would be wrong, so there is none. "
                       "Unless a plug-in caused it, this is a bug: please report it.\n"));
  ExpectNothingLeft();
}

TEST_F(FailingPluginTest, OneThatThrowsAtAPacketIsReportedWithTheRun) {
  const CommandResult result = Run("throwing_at_packets");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, EndsWith("heddle: e: an exception came out of the simulation, probably "
                                   "from a plug-in: no path pleases me\n"));
  ExpectNothingLeft();
}

// Settings are read before any run, and by commands that run nothing.
TEST_F(FailingPluginTest, OneThatEndsTheProcessBeforeTheRunIsAFailure) {
  const std::string plugin = " --plugin " + kPlugins + "failing.so";
  for (const std::string& command :
       {Command("exiting_early"), "'" + kHeddle + "' check e.yaml --set lb=exiting_early" + plugin,
        "'" + kHeddle + "' describe exiting_early" + plugin}) {
    const CommandResult result = RunCommand(command, folder_.path());
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, EndsWith("heddle: the process ended itself with exit code 0 before the "
                                     "command was done; does a plug-in call exit?\n"));
  }
  const CommandResult crashed = Run("crashing_early");
  EXPECT_EQ(crashed.exit_code, 134);
  EXPECT_THAT(crashed.err, EndsWith("heddle: signal 6 (Aborted) ended the command; does a plug-in "
                                    "crash?\n"));
  ExpectNothingLeft();
}

TEST_F(FailingPluginTest, OneThatHangsBeforeTheRunIsStoppedByTheFirstSignal) {
  const CommandResult result =
      RunCommand(Command("hanging_early") + " & pid=$!\nsleep 0.3; kill -TERM $pid; wait $pid",
                 folder_.path());
  EXPECT_EQ(result.exit_code, 143);
  ExpectNothingLeft();
}

TEST_F(FailingPluginTest, OneThatMakesNoPoliciesIsBadInput) {
  ExpectRefused(
      Run("throwing"),
      "heddle: load balancer \"throwing\": ForSwitch() has thrown something that is not a "
      "std::exception\n");
  ExpectRefused(Run("none"),
                "heddle: load balancer \"none\": ForSwitch() has returned no policy; every switch "
                "needs one\n");
  ExpectNothingLeft();
}

// The first signal stops the process, although the run does not hear it.
TEST_F(FailingPluginTest, OneThatHangsIsStopped) {
  for (const auto& [signal, code] : {std::pair{"TERM", 143}, {"INT", 130}}) {
    const CommandResult result =
        RunCommand(Command("hanging") +
                       " & pid=$!\nwhile [ ! -e .out.partial/flows.csv ]; do sleep 0.01; done\n"
                       "sleep 0.1; kill -" +
                       signal + " $pid; wait $pid",
                   folder_.path());
    EXPECT_EQ(result.exit_code, code);
    EXPECT_THAT(result.err, HasSubstr("heddle: stopped; the run did not react to the signal"));
    ExpectNothingLeft();
  }
}

// A run that hears the signal ends as any other run does.
TEST_F(FailingPluginTest, ARunWithAPluginStopsCleanly) {
  const CommandResult result = RunCommand(
      "'" + kHeddle +
          "' run e.yaml -o out --set lb=my_spray --set measure.t_max=900s --set "
          "'workload=[{kind: poisson, sizes: small, load: 0.5, duration: 800s}]' --plugin " +
          kPlugins +
          "my_spray.so & pid=$!\n"
          "while [ ! -e .out.partial/flows.csv ]; do sleep 0.01; done\n"
          "sleep 0.1; kill -TERM $pid; wait $pid",
      folder_.path());
  EXPECT_EQ(result.exit_code, 143);
  EXPECT_THAT(result.err, EndsWith("heddle: stopped; 0 of 1 runs are complete\n"));
  ExpectNothingLeft();
}

TEST(PluginTest, ForAnotherHeddleIsRefusedBeforeAnyOfItRuns) {
  ExpectRefused(ListWith("foreign.so"),
                "foreign.so: was built for heddle 0.0.1, headers 0123, g++ "
                "1; this is heddle ");
}

TEST(PluginTest, OfNobodyIsRefusedBeforeAnyOfItRuns) {
  ExpectRefused(ListWith("stranger.so"), "stranger.so: is no plug-in of Heddle; build it with ");
  ExpectRefused(Heddle("list --plugin " HEDDLE_SOURCE_DIR "/README.md"), "is no plug-in of Heddle");
}

TEST(PluginTest, ThatAddsNothingOrTakesANameIsRefused) {
  ExpectRefused(ListWith("empty.so"),
                "empty.so: registers no load balancer, congestion control or instrument\n");
  ExpectRefused(ListWith("second_ecmp.so"),
                "second_ecmp.so: another load balancer is called \"ecmp\" already\n");
}

TEST(PluginTest, ThatIsNotThereIsRefused) {
  ExpectRefused(ListWith("nothing.so"), "nothing.so: there is no such file\n");
  ExpectRefused(Heddle("list --plugin /"), "--plugin /: cannot be read\n");
}

TEST(PluginTest, SeveralAreLoadedInTurn) {
  ExpectRefused(
      Heddle("list --plugin " + kPlugins + "my_spray.so --plugin " + kPlugins + "empty.so"),
      "empty.so: registers no");
}

TEST(PluginTest, OneThatIsNamedTwiceIsLoadedAlready) {
  ExpectRefused(
      Heddle("list --plugin " + kPlugins + "my_spray.so --plugin " + kPlugins + "my_spray.so"),
      "my_spray.so: is loaded already\n");
}

// The reader stays within the file, however the file is cut off or changed.
TEST(ElfSectionTest, StaysWithinTheFile) {
  const std::string whole = ReadFile(kPlugins + "empty.so");
  EXPECT_THAT(std::string(ElfSection(whole, ".heddle_abi")), HasSubstr("heddle "));
  EXPECT_EQ(ElfSection(whole, ".no_such_section"), "");
  EXPECT_EQ(ElfSection("", ".heddle_abi"), "");
  for (size_t size = 0; size < whole.size(); size += 97) {
    const std::string part(whole, 0, size);
    const std::string_view found = ElfSection(part, ".heddle_abi");
    EXPECT_TRUE(found.empty() || found.data() + found.size() <= part.data() + part.size());
  }
  for (size_t at = 0; at + 8 <= sizeof(Elf64_Ehdr); ++at) {
    std::string changed = whole;
    std::memset(changed.data() + at, 0xff, 8);
    const std::string_view found = ElfSection(changed, ".heddle_abi");
    EXPECT_TRUE(found.empty() || (found.data() >= changed.data() &&
                                  found.data() + found.size() <= changed.data() + changed.size()));
  }
}

// --- heddle new-policy; what it writes in the tree is part of this program ---

class NewPolicyTest : public testing::Test {
 protected:
  CommandResult Run(const std::string& arguments) {
    return RunCommand(kHeddle + " new-policy " + arguments, folder_.path());
  }
  void MakeTree() {
    fs::create_directories(folder_ / "lb/parts");
    folder_.Write("lb/parts/load_balancer.h", "");
  }

  TemporaryFolder folder_;
};

TEST_F(NewPolicyTest, WritesThePolicyAndItsTest) {
  MakeTree();
  const CommandResult result = Run("two_words");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "lb/two_words.cc\ntests/lb/two_words_test.cc\n");
  EXPECT_THAT(ReadFile(folder_ / "lb/two_words.cc"),
              AllOf(HasSubstr("class TwoWordsScheme final"), HasSubstr("{\"two_words\", \"")));
  EXPECT_THAT(ReadFile(folder_ / "tests/lb/two_words_test.cc"), HasSubstr("TEST(TwoWordsTest, "));
}

TEST_F(NewPolicyTest, ReplacesNothing) {
  MakeTree();
  fs::create_directories(folder_ / "tests/lb");
  folder_.Write("tests/lb/mine_test.cc", "precious");
  ExpectRefused(Run("mine"), "tests/lb/mine_test.cc exists already");
  EXPECT_EQ(ReadFile(folder_ / "tests/lb/mine_test.cc"), "precious");
  EXPECT_FALSE(fs::exists(folder_ / "lb/mine.cc"));
}

TEST_F(NewPolicyTest, RefusesNamesThatAreNone) {
  MakeTree();
  for (const std::string name : {"Mine", "2fast", "my-policy", "../mine", "_mine", "''"}) {
    ExpectRefused(Run(name), "write it like_this");
  }
  ExpectRefused(Run("ecmp"), "a load balancer is called \"ecmp\" already");
  ExpectRefused(Run(""), "name is required");
  ExpectRefused(Run("main --out-of-tree where"), "is taken by the generated program");
  EXPECT_FALSE(fs::exists(folder_ / "where"));
}

TEST_F(NewPolicyTest, SaysWhereItIsToBeRun) {
  ExpectRefused(Run("mine"), "is not the root of Heddle's source tree; go there, or give --out-of");
}

// The written files equal the example under another name, except for the policy itself.
TEST_F(NewPolicyTest, OutOfTreeWritesWhatTheExampleHas) {
  const CommandResult result = Run("my_spray --out-of-tree some/where");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const fs::path example = fs::path(HEDDLE_SOURCE_DIR) / "docs/examples/out_of_tree";
  for (const char* file : {"main.cc", "CMakeLists.txt", "experiment.yaml"}) {
    EXPECT_EQ(ReadFile(folder_ / "some/where" / file), ReadFile(example / file)) << file;
  }
  EXPECT_TRUE(fs::exists(folder_ / "some/where/my_spray.cc"));
  ExpectRefused(Run("my_spray --out-of-tree some/where"), "exists already");
}

TEST_F(NewPolicyTest, SaysWhatItCannotWrite) {
  folder_.Write("file", "");
  const CommandResult result = Run("mine --out-of-tree file/in");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.err, "heddle: cannot write file/in/mine.cc: Not a directory\n");
}

// Half of its files would be in the way of the next attempt.
TEST_F(NewPolicyTest, LeavesNothingOnAFullDisk) {
  const std::string again = "'" + kHeddle + "' new-policy mine --out-of-tree mine";
  const CommandResult full =
      RunCommand("said=$( (ulimit -f 1; " + again + " 2>&1; echo \"code $?\") ); echo \"$said\"",
                 folder_.path());
  EXPECT_THAT(full.out, AllOf(HasSubstr("heddle: cannot write mine/"),
                              HasSubstr(": File too large\ncode 1\n")));
  EXPECT_TRUE(fs::is_empty(folder_ / "mine"));
  EXPECT_EQ(RunCommand(again, folder_.path()).exit_code, 0);
}

}  // namespace heddle::plugin_test
