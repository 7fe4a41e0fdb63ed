// SPDX-License-Identifier: Apache-2.0
// The workload `trace`: its formats, its settings, and what it says about its files.

#include "workload/traces/trace.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "settings/files_read.h"
#include "tests/support/chakra_file.h"
#include "tests/support/command.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/goal_file.h"
#include "tests/support/gzip.h"
#include "tests/support/printers.h"
#include "tests/support/timed_play.h"
#include "workload/jobs/graph_schedule.h"

namespace heddle::trace_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// --- One message of 1000 bytes from rank 0 to rank 1, in every format ---

std::string BinaryGoal() {
  const auto schedule = [](uint8_t type, uint32_t peer) {
    return goal_file::ScheduleOf(
        {{.type = type, .peer = peer, .size = 1'000, .tag = 0, .after = {}}});
  };
  return goal_file::FileOf({schedule(1, 1), schedule(2, 0)});
}

// A file of one send or receive.
std::string ChakraFile(bool is_send) {
  using chakra_file::Attribute;
  using chakra_file::Number;
  return chakra_file::kMetadata + chakra_file::Node(1, is_send ? 5 : 6,
                                                    Attribute(is_send ? "comm_dst" : "comm_src",
                                                              Number(7, is_send ? 1 : 0)) +
                                                        Attribute("comm_size", Number(9, 1'000)));
}
std::string JsonFile(bool is_send) {
  return fmt::format(
      "{{\"workload_graph\": [{{\"Id\": 1, \"NodeType\": {}, \"{}\": {}, \"comm_size\": 1000}}]}}",
      is_send ? 5 : 6, is_send ? "comm_dst" : "comm_src", is_send ? 1 : 0);
}

const char* const kGoal =
    "num_ranks 2\nrank 0 {\nsend 1000b to 1\n}\nrank 1 {\nrecv 1000b from 0\n}\n";

struct Form {
  std::string settings;                      // Without the file.
  std::map<std::string, std::string> files;  // By what follows the name of the trace.
};
const std::map<std::string, Form> kForms = {
    {"goal", {"format: goal", {{"", kGoal}}}},
    {"goal_binary", {"format: goal_binary", {{"", BinaryGoal()}}}},
    {"chakra",
     {"format: chakra, ranks: 2", {{".0.et", ChakraFile(true)}, {".1.et", ChakraFile(false)}}}},
    {"chakra_json",
     {"format: chakra_json, ranks: 2",
      {{".0.json", JsonFile(true)}, {".1.json", JsonFile(false)}}}},
    {"htsim_cm", {"format: htsim_cm", {{"", "Nodes 2\nConnections 1\n0->1 start 0 size 1000\n"}}}},
    {"hpcc", {"format: hpcc", {{"", "1\n0 1 3 100 1000 2\n"}}}}};

class TraceTest : public testing::Test {
 protected:
  TraceTest() { stage_.folder = folder_.path(); }

  // The trace of `settings`; its file is relative to the folder of the experiment.
  const Trace& Read(const std::string& settings, const std::string& file = "app") {
    chosen_ = WorkloadFrom(fmt::format("{{kind: trace, file: {}, {}}}", file, settings), stage_);
    return dynamic_cast<const Trace&>(*chosen_.settings);
  }
  std::string Errors(const std::string& settings, const std::string& file = "app") const {
    return WorkloadErrors(fmt::format("{{kind: trace, file: {}, {}}}", file, settings), stage_);
  }
  std::vector<std::string> Warnings(const std::string& settings) {
    Read(settings);
    return WarningsOf(*chosen_.settings, stage_);
  }
  void WriteForm(const std::string& name) {
    for (const auto& [end, text] : kForms.at(name).files) folder_.Write("app" + end, text);
  }
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }

  // The JSON traces of two ranks: `nodes` and no nodes.
  void WriteNodes(const std::string& nodes, const std::string& of_rank_1 = "") {
    folder_.Write("app.0.json", "{\"workload_graph\": [\n" + nodes + "]}");
    folder_.Write("app.1.json", "{\"workload_graph\": [\n" + of_rank_1 + "]}");
  }

  TemporaryFolder folder_;
  Stage stage_ = StageOf(2, 4);
  Chosen<Workload> chosen_;
};

std::vector<Time> Ends(const Trace& trace, Duration news = Duration{0}) {
  const auto schedule = MakeGraphSchedule(std::make_shared<const OperationGraph>(*trace.graph()));
  return TimedPlay(*schedule, StarTimes, news).ends();
}

const Time kArrived = Time{} + StarTimes({.bytes = 1'000}).arrives;

TEST_F(TraceTest, EveryFormatIsReadPlainAndCompressed) {
  for (const auto& [name, form] : kForms) {
    for (const bool is_packed : {false, true}) {
      SCOPED_TRACE(name + (is_packed ? ", packed" : ""));
      for (const auto& [end, text] : form.files) {
        folder_.Write(name + end, is_packed ? Gzipped(text) : text);
      }
      const Trace& trace = Read(form.settings, name);
      ASSERT_NE(trace.graph(), nullptr);
      EXPECT_EQ(trace.graph()->ranks(), 2u);
      const Operation& send = trace.graph()->OpsOf(0).back();
      EXPECT_EQ(send.kind, Operation::Kind::kSend);
      EXPECT_EQ(send.bytes, 1'000);
      EXPECT_EQ(send.peer, 1u);
      EXPECT_EQ(trace.graph()->At(1, 0).kind, Operation::Kind::kReceive);
      EXPECT_EQ(Ends(trace)[1], kArrived);
      EXPECT_EQ(trace.HostsOfJob().size(), 2u);
      const auto job = trace.MakeJob(1);
      EXPECT_EQ(job->settings().kind, "trace");
      EXPECT_EQ(job->settings().iterations, 1u);
    }
  }
}

// A trace has the settings of all jobs, too.
TEST_F(TraceTest, ItsJobIsSetAsOthersAre) {
  WriteForm("goal");
  const Trace& trace = Read("format: goal, iterations: 3, placement: spread, label: mine");
  const auto job = trace.MakeJob(1);
  EXPECT_EQ(job->settings().iterations, 3u);
  EXPECT_EQ(job->settings().label, "mine");
  EXPECT_EQ(job->settings().host_of_rank, (std::vector<HostId>{0, 4}));
}

TEST_F(TraceTest, FormatAndFileAreNeeded) {
  EXPECT_THAT(WorkloadErrors("{kind: trace, file: app}", stage_), HasSubstr("format: "));
  EXPECT_THAT(WorkloadErrors("{kind: trace, format: goal}", stage_), HasSubstr("file: "));
}

// --- Settings of the formats ---

TEST_F(TraceTest, EachSettingGoesWithItsFormats) {
  folder_.Write("groups", "{}");
  struct Setting {
    std::string name;
    std::string value;
    std::string is_default;  // Empty: none can be written.
    std::string formats;     // As the message names them.
  };
  const std::string chakra = "chakra and chakra_json";
  const std::vector<Setting> settings = {{"goal", "{S: 1KB}", "{S: 0B}", "goal and goal_binary"},
                                         {"goal", "{o: 1ns}", "{o: 0ns}", "goal and goal_binary"},
                                         {"cm_time", "us", "ps", "htsim_cm"},
                                         {"cross_host", "refuse", "delay", "htsim_cm"},
                                         {"cross_host", "receive", "delay", "htsim_cm"},
                                         {"t0", "2s", "auto", "hpcc"},
                                         {"memory", "ignore", "refuse", chakra},
                                         {"ctrl_deps", "true", "false", chakra},
                                         {"streams", "free", "astra", chakra},
                                         {"comm_groups", "groups", "\"\"", chakra},
                                         {"algorithms", "{all_reduce: tree}", "{}", chakra}};
  for (const auto& [format, form] : kForms) {
    WriteForm(format);
    for (const Setting& its : settings) {
      const std::string with = form.settings + ", " + its.name + ": ";
      SCOPED_TRACE(with + its.value);
      EXPECT_EQ(Errors(with + its.is_default), "");
      const bool goes = its.formats == format || its.formats.starts_with(format + " and ") ||
                        its.formats.ends_with(" and " + format);
      if (goes) {
        EXPECT_EQ(Errors(with + its.value), "");
      } else {
        const std::string error = Errors(with + its.value);
        EXPECT_THAT(error, HasSubstr(fmt::format(
                               "workload.{}: has no effect on format: {}; it goes with {}",
                               its.name, format, its.formats)));
        EXPECT_THAT(error, HasSubstr("\n1 error\n"));
      }
    }
  }
}

TEST_F(TraceTest, ChakraNeedsTheNumberOfRanks) {
  for (const std::string format : {"chakra", "chakra_json"}) {
    WriteForm(format);
    EXPECT_THAT(Errors("format: " + format), HasSubstr("workload.ranks: chakra needs it"));
  }
}

// Other formats than hpcc say the number themselves.
TEST_F(TraceTest, TheNumberOfRanksIsThatOfTheFile) {
  WriteForm("goal");
  const std::string differs = ": workload.ranks: is {}; " + Path("app") + " has 2";
  EXPECT_EQ(Errors("format: goal, ranks: 2"), "");
  for (const int64_t ranks : {1, 3, 1 << 20}) {
    const std::string error = Errors(fmt::format("format: goal, ranks: {}", ranks));
    EXPECT_THAT(error, HasSubstr(fmt::format(fmt::runtime(differs), ranks)));
    EXPECT_THAT(error, HasSubstr("\n1 error\n"));
  }
  for (const int64_t ranks : {0, (1 << 20) + 1}) {
    EXPECT_THAT(Errors(fmt::format("format: goal, ranks: {}", ranks)), Not(HasSubstr("has 2")));
  }
  WriteForm("hpcc");
  EXPECT_EQ(Read("format: hpcc, ranks: 5").graph()->ranks(), 5u);
}

TEST_F(TraceTest, TheStartOfAListOfFlowsMayBeSet) {
  folder_.Write("app", "1\n0 1 3 100 1000 2.000003\n");
  EXPECT_EQ(Ends(Read("format: hpcc"))[1], kArrived + 3_us);
  EXPECT_EQ(Ends(Read("format: hpcc, t0: 0s"))[1], kArrived + 3_us + 2_s);
  EXPECT_EQ(Ends(Read("format: hpcc, t0: 1s"))[1], kArrived + 3_us + 1_s);
  EXPECT_EQ(Ends(Read("format: hpcc, t0: 1000s"))[1], kArrived);
  EXPECT_THAT(Errors("format: hpcc, t0: 1000000000001ns"), HasSubstr("workload.t0: "));
  EXPECT_THAT(Errors("format: hpcc, t0: -1ns"), HasSubstr("workload.t0: "));
}

TEST_F(TraceTest, ConnectionMatricesHaveAUnit) {
  folder_.Write("app", "Nodes 2\nConnections 1\n0->1 start 7 size 1000\n");
  EXPECT_EQ(Ends(Read("format: htsim_cm"))[1], kArrived + Duration{7});
  EXPECT_EQ(Ends(Read("format: htsim_cm, cm_time: ps"))[1], kArrived + Duration{7});
  EXPECT_EQ(Ends(Read("format: htsim_cm, cm_time: us"))[1], kArrived + 7_us);
}

// The trigger fires at node 0, when the ACK is there, or at node 1.
TEST_F(TraceTest, TriggersStartConnectionsOfOtherNodes) {
  folder_.Write("app",
                "Nodes 3\nConnections 2\nTriggers 1\n0->1 start 0 size 1000 send_done_trigger 1\n"
                "1->2 trigger 1 size 1000\ntrigger id 1 oneshot\n");
  const Time late = Time{} + StarTimes({.bytes = 1'000}).finished + 5_us + (kArrived - Time{});
  EXPECT_EQ(Ends(Read("format: htsim_cm"), 5_us)[2], late);
  EXPECT_EQ(Ends(Read("format: htsim_cm, cross_host: delay"), 5_us)[2], late);
  EXPECT_EQ(Ends(Read("format: htsim_cm, cross_host: receive"), 5_us)[2],
            kArrived + (kArrived - Time{}));
  EXPECT_THAT(Errors("format: htsim_cm, cross_host: refuse"),
              HasSubstr(Path("app") + ":5:1: starts at node 1"));
}

TEST_F(TraceTest, GoalMayHaveOverheads) {
  WriteForm("goal");
  EXPECT_EQ(Ends(Read("format: goal, goal: {o: 3us}"))[1], kArrived + 6_us);
}

TEST_F(TraceTest, TheCostsOfGoalHaveLimits) {
  WriteForm("goal");
  const auto errors = [&](const std::string& key, const std::string& value) {
    return Errors("format: goal, goal: {" + key + ": " + value + "}");
  };
  for (const std::string key : {"calc_unit", "o", "O", "g"}) {
    const std::string refused = "workload.goal." + key + ": ";
    EXPECT_EQ(errors(key, "1ps"), "") << key;
    if (key != "O") {
      EXPECT_EQ(errors(key, "1s"), "") << key;
    }
    EXPECT_THAT(errors(key, "1000000000001ps"), HasSubstr(refused));
    EXPECT_THAT(errors(key, "-1ps"), HasSubstr(refused));
    if (key == "calc_unit") {
      EXPECT_THAT(errors(key, "0ps"), HasSubstr(refused));
    } else {
      EXPECT_EQ(errors(key, "0ps"), "") << key;
    }
  }
  EXPECT_THAT(errors("O", "1s"), Not(HasSubstr("workload.goal.O")));  // 999 s for 1000 bytes.
  EXPECT_EQ(errors("S", "0B"), "");
  EXPECT_THAT(errors("S", "-1B"), HasSubstr("workload.goal.S: "));
  EXPECT_TRUE(Read("format: goal, goal: {S: 1000B}").graph()->At(0, 0).posted);
  EXPECT_FALSE(Read("format: goal, goal: {S: 999B}").graph()->At(0, 0).posted);
}

TEST_F(TraceTest, MemoryAccessesAreIgnoredIfToldTo) {
  WriteNodes("{\"Id\": 1, \"NodeType\": 2, \"runtime\": 9}");
  EXPECT_THAT(Errors("format: chakra_json, ranks: 2"), HasSubstr("accesses memory"));
  EXPECT_THAT(Errors("format: chakra_json, ranks: 2, memory: refuse"), HasSubstr("accesses"));
  EXPECT_EQ(Ends(Read("format: chakra_json, ranks: 2, memory: ignore"))[0], Time{});
}

// Two computations of the GPU, and one of the CPU that has a ctrl_dep on the first.
TEST_F(TraceTest, StreamsAndControlDependenciesAreChosen) {
  WriteNodes(
      "{\"Id\": 1, \"NodeType\": 4, \"runtime\": 5}, {\"Id\": 2, \"NodeType\": 4, \"runtime\": 3},"
      "{\"Id\": 3, \"NodeType\": 4, \"runtime\": 4, \"is_cpu_op\": true, \"ctrl_deps\": [1]}");
  const std::string chakra = "format: chakra_json, ranks: 2";
  EXPECT_EQ(Ends(Read(chakra))[0], Time{} + 8_us);
  EXPECT_EQ(Ends(Read(chakra + ", streams: astra"))[0], Time{} + 8_us);
  EXPECT_EQ(Ends(Read(chakra + ", streams: free"))[0], Time{} + 5_us);
  EXPECT_EQ(Ends(Read(chakra + ", ctrl_deps: true"))[0], Time{} + 9_us);
  EXPECT_EQ(Ends(Read(chakra + ", ctrl_deps: false"))[0], Time{} + 8_us);
}

const char* const kAllReduce =
    "{\"Id\": 1, \"NodeType\": 7, \"comm_type\": 0, \"comm_size\": 20000, \"pg_name\": \"tp\"}";

TEST_F(TraceTest, GroupsStandInAFileOfTheExperimentsFolder) {
  WriteNodes(kAllReduce, kAllReduce);
  const std::string chakra = "format: chakra_json, ranks: 2";
  EXPECT_THAT(Errors(chakra), HasSubstr("there is no group tp"));
  folder_.Write("groups.json", "{\"tp\": [1, 0]}");
  const Trace& trace = Read(chakra + ", comm_groups: groups.json");
  ASSERT_EQ(trace.graph()->collectives().size(), 1u);
  EXPECT_THAT(trace.graph()->collectives()[0].group, ElementsAre(1u, 0u));
  EXPECT_EQ(trace.graph()->collectives()[0].operation.algorithm, "ring");
  EXPECT_EQ(Read(chakra + ", comm_groups: groups.json, algorithms: {all_reduce: tree}")
                .graph()
                ->collectives()[0]
                .operation.algorithm,
            "tree");
  folder_.Write("groups.json", "{\"tp\": [2, 0]}");
  const std::string error = Errors(chakra + ", comm_groups: groups.json");
  EXPECT_THAT(error, HasSubstr(Path("groups.json") + ":1:1: group tp: \"2\" is no rank of 2"));
  EXPECT_THAT(error, HasSubstr("\n1 error\n"));
  const std::string missing = Errors(chakra + ", comm_groups: nowhere.json");
  EXPECT_THAT(missing,
              HasSubstr("workload.comm_groups: " + Path("nowhere.json") + " cannot be read"));
  EXPECT_THAT(missing, HasSubstr("\n1 error\n"));
}

// --- Scale ---

// Half of the bytes and times of each operation, at every rank.
TEST_F(TraceTest, BytesAndTimesAreScaled) {
  folder_.Write("app",
                "num_ranks 2\nrank 0 {\ncalc 1000\nsend 1001b to 1\n}\n"
                "rank 1 {\nrecv 1001b from 0\ncalc 7\n}\n");
  for (const auto& [scale, bytes, ps] :
       {std::tuple{"1/2", 501, 3'500}, {"1", 1'001, 7'000}, {"1/4", 250, 1'750}}) {
    const Trace& trace = Read(std::string("format: goal, scale: ") + scale);
    EXPECT_EQ(trace.graph()->At(0, 0).time, Duration{ps * 1'000 / 7});
    EXPECT_EQ(trace.graph()->At(0, 1).bytes, bytes);
    EXPECT_EQ(trace.graph()->At(1, 0).bytes, bytes);
    EXPECT_EQ(trace.graph()->At(1, 1).time, Duration{ps});
  }
  EXPECT_THAT(Errors("format: goal, scale: 0"), HasSubstr("workload.scale: "));
  EXPECT_THAT(Errors("format: goal, scale: 1.0001"), HasSubstr("workload.scale: "));
  EXPECT_EQ(Errors("format: goal, scale: 0.0001"), "");
}

TEST_F(TraceTest, CollectivesAreScaledOnce) {
  std::string node = kAllReduce;
  node.replace(node.find("tp"), 2, "0");
  WriteNodes(node, node);
  const Trace& trace = Read("format: chakra_json, ranks: 2, scale: 1/4");
  EXPECT_EQ(trace.graph()->collectives()[0].operation.bytes, 5'000);
}

// --- What is wrong ---

TEST_F(TraceTest, FilesThatCannotBeReadAreNamed) {
  EXPECT_THAT(Errors("format: goal"),
              HasSubstr("workload.file: " + Path("app") + " cannot be read"));
  EXPECT_THAT(Errors("format: goal"), HasSubstr("\n1 error\n"));
  EXPECT_THAT(Errors("format: chakra, ranks: 2"),
              HasSubstr("workload.file: " + Path("app") + ".0.et cannot be read"));
  EXPECT_THAT(Errors("format: chakra_json, ranks: 2"),
              HasSubstr("workload.file: " + Path("app") + ".0.json cannot be read"));
  EXPECT_THAT(Errors("format: chakra_json, ranks: 2"), HasSubstr("\n1 error\n"));
  WriteForm("chakra_json");
  EXPECT_THAT(Errors("format: chakra_json, ranks: 3"),
              HasSubstr("workload.file: " + Path("app") + ".2.json cannot be read"));
  folder_.Write("app", Gzipped(kGoal).substr(0, 20));
  EXPECT_THAT(Errors("format: goal"),
              HasSubstr("workload.file: " + Path("app") + " is compressed by gzip, and cut off"));
}

// Mistakes in the file, and those that show only when all ranks are known.
TEST_F(TraceTest, MistakesNameTheirFileAndLine) {
  const auto errors = [&](const std::string& nodes, const std::string& of_rank_1) {
    WriteNodes(nodes, of_rank_1);
    return Errors("format: chakra_json, ranks: 2");
  };
  const std::string zero = Path("app.0.json:2:1: ");
  const std::string one = Path("app.1.json:2:1: ");
  EXPECT_THAT(errors("", "{\"Id\": 1, \"NodeType\": 9}"),
              HasSubstr(one + "node 1: is of unknown type 9"));
  EXPECT_THAT(errors("{\"Id\": 1, \"NodeType\": 9}", "{\"Id\": 1, \"NodeType\": 9}"),
              HasSubstr("\n1 error\n"));  // The files behind one with mistakes are not read.
  EXPECT_THAT(errors("{\"NodeType\": 4}", ""), HasSubstr(zero + "a node has no Id"));
  const std::string send = "{\"Id\": 3, \"NodeType\": 5, \"comm_dst\": 1, \"comm_size\": 20}";
  const std::string no_recv = errors(send, "");
  EXPECT_THAT(no_recv, HasSubstr(zero + "1 send from 0 to 1 with tag 0 has no recv"));
  EXPECT_THAT(no_recv, HasSubstr("\n1 error\n"));
  EXPECT_THAT(errors(send, "{\"Id\": 4, \"NodeType\": 6, \"comm_src\": 0, \"comm_size\": 30}"),
              HasSubstr("send node 3 of rank 0 has 20 bytes, recv node 4 of rank 1 30"));
  folder_.Write("app", "num_ranks 2\nrank 0 {\na: send 5b to 1\n}\nrank 1 {\n}\n");
  const std::string goal = Errors("format: goal");
  EXPECT_THAT(goal, HasSubstr(Path("app:3:1: 1 send from 0 to 1 with tag 0 has no recv: a")));
  EXPECT_THAT(goal, HasSubstr("\n1 error\n"));
}

// A trace is read anew whenever it is prepared.
TEST_F(TraceTest, ATraceWithMistakesHasNoGraph) {
  WriteForm("goal");
  for (const char* text :
       {"num_ranks 2\nrank 0 {\nsend 1b to 1\n}\nrank 1 {\n}\n", "num_ranks x"}) {
    WriteForm("goal");
    const Trace& trace = Read("format: goal");
    EXPECT_NE(trace.graph(), nullptr);
    folder_.Write("app", text);
    Diagnostics diagnostics;
    FilesRead files;
    chosen_.settings->Prepare(stage_, "workload", files, diagnostics);
    EXPECT_EQ(diagnostics.errors().size(), 1u);
    EXPECT_EQ(trace.graph(), nullptr);
  }
}

TEST_F(TraceTest, WhatIsIgnoredIsNamedForTheTraceAsAWhole) {
  WriteNodes("{\"Id\": 1, \"NodeType\": 4, \"colour\": 5}");
  EXPECT_THAT(Warnings("format: chakra_json, ranks: 2"),
              ElementsAre(Path("app") + ": ignored: attributes colour"));
  WriteForm("chakra_json");
  EXPECT_THAT(Warnings("format: chakra_json, ranks: 2"), IsEmpty());
}

// --- NICs ---

TEST_F(TraceTest, NicsThatAHostDoesNotHaveAreWarnedOf) {
  const auto warnings = [&](int nic, uint16_t links) {
    folder_.Write("app",
                  fmt::format("num_ranks 2\nrank 0 {{\ncalc 5\na: send 1b to 1\nsend 1b to "
                              "1 nic {}\n}}\nrank 1 {{\nrecv 1b from 0\nrecv 1b from 0\n}}\n",
                              nic));
    stage_.links_of_host.assign(stage_.hosts, links);
    return Warnings("format: goal");
  };
  EXPECT_THAT(warnings(0, 1), IsEmpty());
  EXPECT_THAT(warnings(1, 1),
              ElementsAre(Path("app:5:1: 0:op2 has nic 1, but the host of rank 0 has 1 link, so "
                               "this is its link 0: a nic is taken modulo the number of links")));
  EXPECT_THAT(warnings(1, 2), IsEmpty());
  EXPECT_THAT(warnings(5, 3),
              ElementsAre(Path("app:5:1: 0:op2 has nic 5, but the host of rank 0 has 3 links, so "
                               "this is its link 2: a nic is taken modulo the number of links")));
}

// The first of several; at the last rank, too.
TEST_F(TraceTest, OneNicIsWarnedOf) {
  folder_.Write("app",
                "num_ranks 2\nrank 0 {\nsend 1b to 1\n}\nrank 1 {\nrecv 1b from 0 nic 7\n"
                "calc 1\n}\n");
  ASSERT_THAT(Warnings("format: goal"), testing::SizeIs(1));
  EXPECT_THAT(Warnings("format: goal")[0], HasSubstr("app:6:1: 1:op0 has nic 7"));
  folder_.Write(
      "app", "num_ranks 2\nrank 0 {\nsend 1b to 1 nic 7\n}\nrank 1 {\nrecv 1b from 0 nic 7\n}\n");
  ASSERT_THAT(Warnings("format: goal"), testing::SizeIs(1));
  EXPECT_THAT(Warnings("format: goal")[0], HasSubstr("app:3:1: 0:op0 has nic 7"));
}

TEST_F(TraceTest, ATraceThatNamesNicsLeavesNoneToTheRanks) {
  stage_.links_of_host.assign(stage_.hosts, 2);
  const std::string named = "workload.nic: changes nothing: the trace names the nic";
  const auto warnings = [&](const std::string& nic) {
    folder_.Write(
        "app", "num_ranks 2\nrank 0 {\nsend 1b to 1" + nic + "\n}\nrank 1 {\nrecv 1b from 0\n}\n");
    return Warnings("format: goal, nic: by_rank");
  };
  EXPECT_THAT(warnings(""), IsEmpty());
  EXPECT_THAT(warnings(" nic 1"), ElementsAre(HasSubstr(named)));
  // With a nic that is not there, both are said.
  EXPECT_THAT(warnings(" nic 2"), ElementsAre(HasSubstr("has nic 2"), HasSubstr(named)));
}

// --- Forecast ---

// The last message may start only when the ranks have computed.
TEST_F(TraceTest, TheForecastCountsComputations) {
  folder_.Write("app",
                "num_ranks 2\nrank 0 {\na: calc 9000000\nb: send 1000b to 1\nb requires a\n}\n"
                "rank 1 {\nrecv 1000b from 0\n}\n");
  const Forecast forecast = Read("format: goal").Expect();
  EXPECT_EQ(forecast.flows, 1);
  EXPECT_EQ(forecast.bytes, 1'000);
  EXPECT_GE(forecast.last, Time{} + 9_ms);
  EXPECT_LT(forecast.last, Time{} + 10_ms);
}

}  // namespace heddle::trace_test
