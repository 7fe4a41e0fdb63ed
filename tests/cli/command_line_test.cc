// SPDX-License-Identifier: Apache-2.0
// Commands and options, as a user types them.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "tests/support/command.h"

namespace heddle::command_line_test {

using testing::AllOf;
using testing::ContainsRegex;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const std::string kHeddle = HEDDLE_BINARY;

const std::string kSmall =
    "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4}\n"
    "lb: ecmp\nworkload: [{kind: permutation, size: 20KB}]\n";

// This experiment takes hours.
const std::string kLong =
    "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4}\n"
    "lb: ecmp\nworkload: [{kind: poisson, sizes: small, load: 0.5, duration: 100s}]\n"
    "measure: {t_max: 200s}\n";

CommandResult Heddle(const std::string& arguments) { return RunCommand(kHeddle + " " + arguments); }

class RunTest : public testing::Test {
 protected:
  RunTest() { folder_.Write("small.yaml", kSmall); }

  CommandResult Run(const std::string& arguments, const std::string& before = "") {
    return RunCommand(before + kHeddle + " run " + arguments, folder_.path());
  }

  TemporaryFolder folder_;
};

TEST(CommandLineTest, WithoutACommandHelpsOnStderr) {
  const CommandResult result = Heddle("");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("Usage:"), HasSubstr("describe"), HasSubstr("Exit codes")));
}

TEST(CommandLineTest, HelpsOnStdoutWhenAsked) {
  for (const std::string command :
       {"", "run ", "check ", "list ", "describe ", "model ", "model pdlb ", "model tr ",
        "new-policy ", "bench ", "bench lb ", "sweep ", "sweep status ", "collect ", "compare "}) {
    const CommandResult result = Heddle(command + "--help");
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_THAT(result.out, HasSubstr("Usage: heddle " + command));
    EXPECT_EQ(result.err, "");
  }
}

TEST(CommandLineTest, KeepsOptionsApartFromTheirMeaning) {
  EXPECT_THAT(Heddle("sweep --help").out,
              ContainsRegex("\n  --dry-run Excludes: --slurm  +List the points"));
  EXPECT_THAT(Heddle("compare --help").out,
              AllOf(HasSubstr("Usage: heddle compare [OPTIONS] what...\n"),
                    HasSubstr("\n  what DIR A B ... REQUIRED  ")));
}

TEST(CommandLineTest, TellsItsVersion) {
  const CommandResult result = Heddle("--version");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, ContainsRegex("^heddle [0-9]+\\.[0-9]+\\.[0-9]+.* build\n$"));
}

// The header that names the commit of a build of `folder`.
std::string CommitOf(const TemporaryFolder& folder) {
  const CommandResult result = RunCommand(
      "cmake -DSOURCE=\"$PWD\" -DHEADER=commit.h -P " HEDDLE_SOURCE_DIR "/cmake/commit.cmake",
      folder.path());
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return ReadFile(folder / "commit.h");
}

// Results of one build must not pass for those of another one, whether or not git knows the change.
TEST(CommandLineTest, ItsCommitNamesTheSources) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "lb");
  folder.Write("lb/ecmp.cc", "1");
  folder.Write("README.md", "1");
  const std::string outside = CommitOf(folder);
  EXPECT_THAT(outside, ContainsRegex("\"sources-[0-9a-f]{12}\""));
  if (RunCommand("git --version").exit_code != 0) GTEST_SKIP() << "needs git";
  const CommandResult commit =
      RunCommand("git init -q . && git add . && git -c user.name=a -c user.email=b commit -q -m c",
                 folder.path());
  ASSERT_EQ(commit.exit_code, 0) << commit.err;
  const std::string clean = CommitOf(folder);
  EXPECT_THAT(clean, ContainsRegex("\"[0-9a-f]+\""));
  folder.Write("README.md", "2");
  EXPECT_EQ(CommitOf(folder), clean);
  std::set<std::string> commits = {outside, clean};
  const auto expect_new = [&] {
    const std::string dirty = CommitOf(folder);
    EXPECT_THAT(dirty, ContainsRegex("\"[0-9a-f]+-dirty-[0-9a-f]{12}\""));
    EXPECT_TRUE(commits.insert(dirty).second) << dirty;
  };
  folder.Write("lb/ecmp.cc", "2");
  expect_new();
  folder.Write("lb/mine.cc", "1");
  expect_new();
  folder.Write("lb/mine.cc", "2");
  expect_new();
  std::filesystem::remove(folder / "lb/mine.cc");
  folder.Write("lb/ecmp.cc", "1");
  EXPECT_EQ(CommitOf(folder), clean);
}

TEST(CommandLineTest, WrongUsageIsExitCode2) {
  for (const std::string wrong :
       {"--bogus", "run", "run --bogus x.yaml", "describe", "describe a b", "list x", "check",
        "run x.yaml -j 0", "sweep", "sweep status", "sweep x.yaml --submit",
        "sweep x.yaml --only 1 --shard 1/2", "sweep x.yaml --jobs 0", "collect", "compare a",
        "run x.yaml -j many", "run x.yaml --seed -1", "run x.yaml --out"}) {
    const CommandResult result = Heddle(wrong);
    EXPECT_EQ(result.exit_code, 2) << wrong;
    EXPECT_EQ(result.out, "") << wrong;
    EXPECT_NE(result.err, "") << wrong;
  }
}

TEST(CommandLineTest, SuggestsTheCommandThatWasMeant) {
  const CommandResult result = Heddle("lst");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(
      result.err,
      HasSubstr("no command is called \"lst\"; did you mean \"list\"? (known: run, trace, check"));
}

// The names that `heddle list` prints: the first word of indented lines.
std::vector<std::string> ListedNames() {
  std::istringstream lines(Heddle("list").out);
  std::vector<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("  ")) names.push_back(line.substr(2, line.find(' ', 2) - 2));
  }
  return names;
}

TEST(ListTest, NamesWhatThereIs) {
  const std::vector<std::string> names = ListedNames();
  for (const char* name : {"ecmp", "rps", "letflow", "presto", "dctcp", "tcp", "leaf_spine",
                           "fat_tree", "poisson", "incast", "websearch", "datamining"}) {
    EXPECT_THAT(names, testing::Contains(name));
  }
}

TEST(DescribeTest, KnowsEverythingThatIsListed) {
  std::vector<std::string> names = ListedNames();
  names.push_back("experiment");
  for (const std::string& name : names) {
    const CommandResult result = Heddle("describe " + name);
    EXPECT_EQ(result.exit_code, 0) << name;
    EXPECT_THAT(result.out, StartsWith(name + ": "));
    EXPECT_EQ(result.err, "");
  }
}

TEST(DescribeTest, ShowsTypeDefaultAndMeaning) {
  EXPECT_THAT(Heddle("describe letflow").out,
              AllOf(HasSubstr("lb: {kind: letflow, ...}"), HasSubstr("\n  gap\n      type     dur"),
                    HasSubstr("default  500us"), HasSubstr("meaning  Flowlet gap")));
  EXPECT_THAT(Heddle("describe poisson").out, HasSubstr("workload: [{kind: poisson, ...}]"));
  EXPECT_THAT(Heddle("describe websearch").out, HasSubstr("mean 1711250 bytes with linear"));
}

// dctcp is a transport, and the congestion control that this transport is short for.
TEST(DescribeTest, ShowsAllThatANameStandsFor) {
  const std::string out = Heddle("describe dctcp").out;
  EXPECT_THAT(out, AllOf(HasSubstr("In an experiment: transport: {kind: dctcp, ...}\n"),
                         HasSubstr("In an experiment: transport.cc: {kind: dctcp, ...}\n"),
                         HasSubstr("\n  min_rto\n"), HasSubstr("\n  alpha0\n")));
}

TEST(DescribeTest, SuggestsTheNearestName) {
  const CommandResult result = Heddle("describe lteflow");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("nothing is called \"lteflow\"; did you mean \"letflow\"?"));
  EXPECT_THAT(result.err, Not(HasSubstr("--plugin")));
}

TEST(DescribeTest, HintsAtPluginsIfNoNameIsNear) {
  EXPECT_THAT(
      Heddle("describe something_else").err,
      EndsWith("heddle: if the name is that of a plug-in, load it with --plugin FILE.so\n"));
}

// --- heddle model ---

size_t LinesOf(const std::string& text) {
  return static_cast<size_t>(std::ranges::count(text, '\n'));
}

TEST(ModelTest, PrintsTheCurveOfPdlbAsCsv) {
  const CommandResult result = Heddle("model pdlb --slow 2 --ratio 3");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(LinesOf(result.out), 1u + 44u);
  EXPECT_THAT(result.out, AllOf(StartsWith("granularity,mean_window,mean_cells,fct_ms,best\n1,"),
                                ContainsRegex("\n27,28.06[0-9]+,1.41[0-9]+,144.09[0-9]+,1\n"),
                                ContainsRegex("\n28,[0-9.]+,[0-9.]+,163.72[0-9]+,0\n")));
  EXPECT_THAT(Heddle("model pdlb --form literal").out, ContainsRegex("\n34,.*,33.93[0-9]*,1\n"));
  EXPECT_THAT(Heddle("model pdlb --rate 10Gbps --queue 65 --slow 1").out,
              ContainsRegex("\n44,.*,26.33[0-9]*,1\n"));
  // Ten flows on eight paths get 0.8 of each.
  EXPECT_EQ(Heddle("model pdlb --slow 0 --flows 8").out, Heddle("model pdlb --slow 0").out);
  EXPECT_NE(Heddle("model pdlb --slow 0 --flows 10").out, Heddle("model pdlb --slow 0").out);
}

TEST(ModelTest, PrintsTheCurvesOfTrAsCsv) {
  const CommandResult result =
      Heddle("model tr --sizes 100KB,350KB --ratios 1.5,3.5 --flows 10,20");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(LinesOf(result.out), 1u + 8u);
  EXPECT_THAT(result.out, AllOf(StartsWith("flows,size_bytes,ratio,p_fr,window,round_us,f_rps_ms,"),
                                HasSubstr("\n20,350000,3.5,1.000000,62.5000,2200.0000,11.264000,"
                                          "10.069333,7.552000\n")));
}

TEST(ModelTest, RefusesWhatMakesNoSense) {
  for (const auto& [wrong, message] : {std::pair{"", "subcommand"},
                                       {"prlb", "did you mean \"pdlb\"?"},
                                       {"pdlb --delay 100", "no unit"},
                                       {"pdlb --slow 9", "9 slow paths of 8"},
                                       {"pdlb --form x", "corrected"},
                                       {"pdlb --paths 0", "out of range"},
                                       {"tr --good 0 --bad 0", "no path"},
                                       {"tr --sizes 1KB,x", "--sizes"}}) {
    const CommandResult result = Heddle(std::string("model ") + wrong);
    EXPECT_EQ(result.exit_code, 2) << wrong;
    EXPECT_EQ(result.out, "") << wrong;
    EXPECT_THAT(result.err, HasSubstr(message)) << wrong;
  }
}

// --- heddle bench ---

TEST(BenchTest, ComparesWithRandomSprayingInTheSameRun) {
  const CommandResult result = Heddle(
      "bench lb rps ecmp presto '{kind: letflow, gap: 50us}' --candidates 4 "
      "--flows 1000 --rounds 1");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("4 candidates, 1000 live flows\n"));
  EXPECT_THAT(result.out, ContainsRegex("\nrps +[0-9.]+ +1\\.00 +[0-9.]+ +1\\.00 +- "));
  EXPECT_THAT(result.out, ContainsRegex("\npresto +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ "));
  EXPECT_THAT(result.out, HasSubstr("\n{kind: letflow, gap: 50us} "));
}

TEST(BenchTest, RefusesWhatIsNotThere) {
  EXPECT_THAT(Heddle("bench lb lteflow").err, HasSubstr("\"lteflow\"; did you mean \"letflow\"?"));
  EXPECT_THAT(Heddle("bench lb nosuch").err,
              StartsWith("argument \"nosuch\":1:1: lb.kind: no load balancer is called"));
  EXPECT_THAT(Heddle("bench lb '{kind: letflow, gaps: 1us}'").err, HasSubstr(":1:17: lb.gaps: "));
  for (const std::string wrong : {"bench", "bench lbs", "bench lb lteflow", "bench lb --flows 0",
                                  "bench lb '{kind: letflow, gaps: 1us}'"}) {
    EXPECT_EQ(Heddle(wrong).exit_code, 2) << wrong;
  }
}

TEST(CheckTest, SaysWhatWouldBeSimulated) {
  const CommandResult result =
      Heddle("check " HEDDLE_SOURCE_DIR "/configs/quickstart.yaml --verbose");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("lb=ecmp valid"), HasSubstr("lb=presto valid"),
                    HasSubstr("48 hosts, 8 switches, 64 links"), HasSubstr("base RTT    9.298 us"),
                    HasSubstr("3 thousand, 5.13 billion bytes of payload"),
                    HasSubstr("0.6 of host links"), HasSubstr("packet-hops")));
}

TEST(CheckTest, SummarisesASweep) {
  const std::string check = "check " HEDDLE_SOURCE_DIR "/configs/";
  EXPECT_THAT(Heddle(check + "quickstart.yaml").out,
              AllOf(HasSubstr(": 4 points valid\n"), HasSubstr("ecmp, rps, letflow, presto\n"),
                    HasSubstr("leaf_spine with 48 hosts\n"), HasSubstr("on one thread\n")));
  EXPECT_THAT(Heddle(check + "rdma_spraying.yaml").err,
              HasSubstr("(in 1 of 6 points, such as recovery=gbn,lb=rps)\n"));
}

TEST(CheckTest, PrintsLoadsAndFailuresOnlyWhereThereAreAny) {
  const TemporaryFolder folder;
  folder.Write("x.yaml", kSmall + "sweep: {seeds: 2}\n");
  folder.Write("y.yaml", kSmall + "schedule: [{at: 1us, links: [leaf0-spine0], state: down}]\n");
  const auto check = [&](const std::string& arguments) {
    return RunCommand(kHeddle + " check " + arguments, folder.path()).out;
  };
  EXPECT_THAT(check("x.yaml"), AllOf(HasSubstr(": 2 points valid\n"), Not(HasSubstr("\n  load ")),
                                     Not(HasSubstr("\n  failures "))));
  const std::string at_once =
      "\n  failures    routing knows of them at once (routing.convergence is 0ps)\n";
  EXPECT_THAT(check("y.yaml"), HasSubstr(at_once));
  EXPECT_THAT(check("y.yaml --set sweep.routing.convergence='[0ps, 100us]'"),
              HasSubstr("\n  failures    routing knows of them at once (routing.convergence is "
                        "0ps), routing knows of them after 100us\n"));
}

TEST(CheckTest, WarnsOfWhatCannotHappenBeforeTheEnd) {
  const TemporaryFolder folder;
  folder.Write("x.yaml", kSmall +
                             "measure: {t_max: 1ms}\n"
                             "schedule: [{at: 2ms, links: [leaf0-spine0], state: down}]\n");
  EXPECT_THAT(RunCommand(kHeddle + " check x.yaml", folder.path()).err,
              HasSubstr("warning: schedule: the run ends at 1ms at the latest, so what is "
                        "scheduled at 2ms or later does not happen in it\n"));
}

TEST(CheckTest, HintsAtWhatWasMeant) {
  const std::string check = "check " HEDDLE_SOURCE_DIR "/configs/quickstart.yaml --set ";
  EXPECT_THAT(Heddle(check + "'lb=[ecmp, rps]'").err, HasSubstr("below sweep: (\"lb: [...]\""));
  EXPECT_EQ(Heddle(check + "'sweep.workload[0].load=[0.3, 0.5]'").exit_code, 0);
  EXPECT_THAT(Heddle(check + "workload.load=0.5").err, HasSubstr("did you mean workload[0].load?"));
  EXPECT_THAT(Heddle(check + "lb=unheard_of").err, HasSubstr("--plugin FILE.so"));
  EXPECT_THAT(Heddle(check + "workload[0].sizes=file:no.cdf").err,
              HasSubstr("also those of --set, start at the folder of the experiment's file"));
}

TEST(DescribeTest, KnowsSectionsOfSettings) {
  EXPECT_THAT(Heddle("describe pfc").out, HasSubstr("topology.port.pfc: settings of "));
  EXPECT_THAT(Heddle("describe port").out, HasSubstr("topology.port.ecn_above"));
}

// The section `resolved` of run.yaml has them, too.
TEST_F(RunTest, CheckPrintsTheValuesOfDefaultsThatRunYamlHas) {
  ASSERT_EQ(Run("small.yaml -q --out out").exit_code, 0);
  const std::string yaml = ReadFile(folder_ / "out/run.yaml");
  const std::string checked = RunCommand(kHeddle + " check small.yaml", folder_.path()).out;
  EXPECT_THAT(checked, HasSubstr("\n  congestion  dctcp\n"));
  EXPECT_THAT(yaml, HasSubstr("\n  transport: {cc: {kind: dctcp}}\n"));
  for (const char* tier : {"leaf_down", "leaf_up", "spine_down"}) {
    EXPECT_THAT(checked, ContainsRegex(fmt::format("\n  ports       [48] {} of 10Gbps: buffer "
                                                   "379.5KB, ECN marks above 97.5KB at enqueue\n",
                                                   tier)));
    EXPECT_THAT(yaml,
                ContainsRegex(fmt::format("tier: {}\n *ports: [48]\n *rate: 10Gbps\n *buffer: "
                                          "379.5KB\n *marking: step\n *ecn_above: 97.5KB\n "
                                          "*mark_at: enqueue\n",
                                          tier)));
  }
}

TEST(CheckTest, RefusesAsRunDoes) {
  const TemporaryFolder folder;
  folder.Write("x.yaml", kSmall + "sede: 1\n");
  const CommandResult result = RunCommand(kHeddle + " check x.yaml", folder.path());
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("x.yaml:4:1: sede: unknown key; did you mean \"seed\"?"));
  EXPECT_THAT(result.err, HasSubstr("\n1 error\n"));
}

TEST_F(RunTest, WritesResultsNamedAfterTheFile) {
  const CommandResult result = Run("small.yaml");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const auto files = ReadResults(folder_ / "results");
  EXPECT_TRUE(files.contains("small/flows.csv"));
  EXPECT_TRUE(files.contains("small/run.yaml"));
  EXPECT_THAT(result.out, AllOf(HasSubstr("Slowdown"), HasSubstr("Results: results/small\n")));
}

TEST_F(RunTest, PrintsNoProgressAndNoEscapeCodesInAPipe) {
  const CommandResult result = Run("small.yaml");
  for (const std::string& text : {result.out, result.err}) {
    EXPECT_EQ(text.find('\r'), std::string::npos);
    EXPECT_EQ(text.find('\033'), std::string::npos);
  }
}

TEST_F(RunTest, ShowsProgressOnATerminal) {
  if (RunCommand("command -v script").exit_code != 0) GTEST_SKIP() << "no program `script`";
  const CommandResult result = RunCommand(
      "TERM=xterm timeout 1 script -qec '" + kHeddle + " run long.yaml -o out' /dev/null",
      (folder_.Write("long.yaml", kLong), folder_.path()));
  EXPECT_THAT(result.out, ContainsRegex("\rlong  [0-9.]+ ms simulated, [0-9]+ flows done"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
}

TEST_F(RunTest, IsSilentIfQuiet) {
  const CommandResult result = Run("small.yaml --quiet");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "");
  // A Debug build writes its warning at every start.
  EXPECT_TRUE(result.err.empty() || result.err.ends_with("Debug build; expect it to be slow\n"));
}

TEST_F(RunTest, RunsItsOwnRunYamlToTheSameBytes) {
  ASSERT_EQ(Run("small.yaml --out first --set workload[0].size=30KB --seed 5").exit_code, 0);
  ASSERT_EQ(Run("first/run.yaml --out second").exit_code, 0);
  EXPECT_EQ(ReadResults(folder_ / "first"), ReadResults(folder_ / "second"));
  const std::string resolved = ReadFile(folder_ / "first/run.yaml");
  EXPECT_THAT(resolved, AllOf(HasSubstr("seed: 5\n"), HasSubstr("size: 30KB\n")));
}

TEST_F(RunTest, ResultsAreTheSameForEveryNumberOfThreads) {
  ASSERT_EQ(Run("small.yaml -o one").exit_code, 0);
  ASSERT_EQ(Run("small.yaml -o three -j 3").exit_code, 0);
  ASSERT_EQ(Run("small.yaml -o two", "HEDDLE_THREADS=2 ").exit_code, 0);
  EXPECT_EQ(ReadResults(folder_ / "one"), ReadResults(folder_ / "three"));
  EXPECT_EQ(ReadResults(folder_ / "one"), ReadResults(folder_ / "two"));
  EXPECT_THAT(ReadFile(folder_ / "two/summary.json"), HasSubstr("\"threads\": 2,"));
  EXPECT_THAT(ReadFile(folder_ / "three/summary.json"), HasSubstr("\"threads\": 3,"));
}

TEST_F(RunTest, RecordsOverTimeIfAsked) {
  ASSERT_EQ(Run("small.yaml --quiet --out plain").exit_code, 0);
  ASSERT_EQ(
      Run("small.yaml --quiet --set measure.record.links=10us --set measure.record.queues=1us "
          "--out recorded")
          .exit_code,
      0);
  const auto plain = ReadResults(folder_ / "plain");
  const auto recorded = ReadResults(folder_ / "recorded");
  EXPECT_EQ(recorded.size(), plain.size() + 2);
  EXPECT_EQ(recorded.at("flows.csv"), plain.at("flows.csv"));
  EXPECT_THAT(recorded.at("series_link.csv"),
              StartsWith("time_ns,node,port,wire_bytes,util\n10000,host0,0,"));
  EXPECT_THAT(recorded.at("series_queue.csv"),
              StartsWith("time_ns,node,port,class,bytes,pkts,paused\n"));
}

TEST_F(RunTest, RefusesToReplaceResultsUnlessForced) {
  ASSERT_EQ(Run("small.yaml").exit_code, 0);
  const auto before = ReadResults(folder_ / "results");
  const CommandResult refused = Run("small.yaml --seed 9");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("results/small: exists; choose another --out"));
  EXPECT_EQ(ReadResults(folder_ / "results"), before);
  EXPECT_EQ(Run("small.yaml --seed 9 --force").exit_code, 0);
  EXPECT_NE(ReadResults(folder_ / "results"), before);
}

TEST_F(RunTest, ForcesNothingAwayThatIsNoResult) {
  std::filesystem::create_directory(folder_ / "work");
  folder_.Write("work/thesis.tex", "years");
  const CommandResult result = Run("small.yaml -o work --force");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("work: has no results of a run"));
  EXPECT_EQ(ReadFile(folder_ / "work/thesis.tex"), "years");
}

TEST_F(RunTest, RunsASweepAsHeddleSweepDoes) {
  folder_.Write("sweep.yaml", kSmall + "sweep: {lb: [ecmp, {kind: letflow, gap: 50us}]}\n");
  const CommandResult result = Run("sweep.yaml -o out");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, AllOf(HasSubstr("\nlb=ecmp "), HasSubstr("\nlb=letflow.gap=50us "),
                                HasSubstr("Results: out\n")));
  const CommandResult again = RunCommand(kHeddle + " sweep sweep.yaml -o out", folder_.path());
  EXPECT_THAT(again.err, HasSubstr("2 of 2 points have results already"));
  EXPECT_EQ(again.out, result.out);
}

TEST_F(RunTest, RunsSeveralFiles) {
  folder_.Write("other.yaml", kSmall + "name: renamed\n");
  EXPECT_EQ(Run("small.yaml other.yaml -o out").exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "out/small/flows.csv"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "out/renamed/flows.csv"));
}

TEST_F(RunTest, FindsFilesBesideTheExperiment) {
  std::filesystem::create_directory(folder_ / "sub");
  folder_.Write("sub/flows.csv", "src,dst,size_bytes,start_ps\n0,5,1000,0\n");
  folder_.Write("sub/x.yaml",
                "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4}\n"
                "lb: ecmp\nworkload: [{kind: flows, file: flows.csv}]\n");
  EXPECT_EQ(Run("sub/x.yaml -o out").exit_code, 0);
  EXPECT_EQ(Run("out/run.yaml -o again").exit_code, 0);
  EXPECT_EQ(ReadResults(folder_ / "out"), ReadResults(folder_ / "again"));
}

TEST_F(RunTest, UnfinishedFlowsAreExitCode1) {
  const CommandResult result = Run("small.yaml --set measure.t_max=5us");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("small: some measured flows are unfinished"));
  EXPECT_THAT(ReadFile(folder_ / "results/small/summary.csv"), HasSubstr("all,all,8,8,inf,inf"));
  EXPECT_EQ(Run("small.yaml --set measure.t_max=5us --set measure.unfinished=inf -o b").exit_code,
            0);
}

TEST_F(RunTest, SaysWhyResultsCannotBeWritten) {
  const CommandResult result = Run("small.yaml -o small.yaml/out");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("--out: small.yaml is not a folder"));
  EXPECT_EQ(Run("small.yaml -o /proc/heddle").exit_code, 1);
}

TEST_F(RunTest, LeavesNothingOnAFullDisk) {
  const CommandResult result =
      Run("small.yaml --set workload[0].size=1KB --set topology.hosts_per_leaf=100 -o out",
          "ulimit -f 8; ");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("heddle: out/flows.csv: File too large"));
  size_t entries = 0;
  for ([[maybe_unused]] const auto& e : std::filesystem::directory_iterator(folder_.path()))
    ++entries;
  EXPECT_EQ(entries, 1u);
}

class InterruptedRunTest : public testing::Test {
 protected:
  // Starts a run of hours, sends it `signal` once it has begun, and waits for it.
  CommandResult Interrupt(const std::string& signal) {
    folder_.Write("long.yaml", kLong);
    return RunCommand(
        fmt::format("{} run long.yaml -o out & pid=$!\n"
                    "while [ ! -e .out.partial/flows.csv ]; do sleep 0.01; done; sleep 0.05\n"
                    "kill -{} $pid; wait $pid",
                    kHeddle, signal),
        folder_.path());
  }
  size_t Entries() const {
    size_t entries = 0;
    for ([[maybe_unused]] const auto& e : std::filesystem::directory_iterator(folder_.path())) {
      ++entries;
    }
    return entries;
  }

  TemporaryFolder folder_;
};

TEST_F(InterruptedRunTest, StopsCleanlyOnSigint) {
  const CommandResult result = Interrupt("INT");
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_THAT(result.err, HasSubstr("heddle: stopped; 0 of 1 runs are complete"));
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(Entries(), 1u);
}

TEST_F(InterruptedRunTest, StopsCleanlyOnSigterm) {
  EXPECT_EQ(Interrupt("TERM").exit_code, 143);
  EXPECT_EQ(Entries(), 1u);
}

TEST_F(InterruptedRunTest, KeepsASecondRunOutOfItsFolder) {
  folder_.Write("small.yaml", kSmall);
  folder_.Write("long.yaml", kLong);
  const CommandResult result =
      RunCommand(fmt::format("{0} run long.yaml -q -o out & pid=$!\n"
                             "while [ ! -e .out.partial/flows.csv ]; do sleep 0.01; done\n"
                             "{0} run small.yaml -o out; echo $?\n"
                             "kill -INT $pid; wait $pid",
                             kHeddle),
                 folder_.path());
  EXPECT_EQ(result.out, "1\n");
  EXPECT_THAT(result.err, HasSubstr("out: another process is writing these results"));
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_EQ(Entries(), 2u);
}

TEST_F(InterruptedRunTest, LeavesNoResultsIfKilledAndTheNextRunTidiesUp) {
  EXPECT_EQ(Interrupt("KILL").exit_code, 137);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
  folder_.Write("small.yaml", kSmall);
  const CommandResult next = RunCommand(kHeddle + " run small.yaml -o out", folder_.path());
  EXPECT_EQ(next.exit_code, 0) << next.err;
  EXPECT_EQ(ReadResults(folder_ / "out").size(), 7u);
  EXPECT_EQ(Entries(), 3u);
}

}  // namespace heddle::command_line_test
