// SPDX-License-Identifier: Apache-2.0
// Traces, compared with what the run's own results say of the same packets.

#include "measure/trace/tracer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "settings/yaml.h"
#include "tests/support/command.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/thread_counts.h"

namespace heddle::tracer_test {

using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;
using testing::SizeIs;

constexpr const char* kTcp = R"(
topology:
  kind: leaf_spine
  leaves: 2
  spines: 2
  hosts_per_leaf: 4
  host_link: {rate: 10Gbps, delay: 1us}
  fabric_link: {rate: 10Gbps, delay: 1us}
  port: {buffer: 30KB, ecn_above: 15KB}
transport: {kind: dctcp}
lb: rps
workload: [{kind: permutation, size: 100KB}]
measure: {warm_up: 0ps}
)";

constexpr const char* kLossless = R"(
topology:
  kind: leaf_spine
  leaves: 2
  spines: 2
  hosts_per_leaf: 4
  host_link: {rate: 100Gbps, delay: 1us}
  fabric_link: {rate: 100Gbps, delay: 1us}
  port: {buffer: 1MB, pfc: {classes: [3], xoff: 20KB}}
transport: {kind: rocev2, priority: 3, cc: {kind: dcqcn}}
lb: ecmp
workload: [{kind: incast, fan_in: 6, bytes_each: 200KB}]
measure: {warm_up: 0ps}
)";

// Links that fail, come back, slow down and damage packets while packets are on them.
constexpr const char* kFailing = R"(
topology:
  kind: leaf_spine
  leaves: 2
  spines: 2
  hosts_per_leaf: 4
  host_link: {rate: 10Gbps, delay: 1us}
  fabric_link: {rate: 10Gbps, delay: 1us}
  port: {buffer: 60KB, ecn_above: 15KB}
transport: {kind: dctcp, min_rto: 200us}
lb: rps
workload: [{kind: permutation, size: 200KB, cross_rack: true}]
schedule:
  - {at: 20us, links: [leaf0-spine1], state: down}
  - {at: 60us, links: [leaf0-spine1], state: up}
  - {at: 30us, links: [leaf1-spine0], rate: 5Gbps}
  - {at: 10us, links: [leaf0-spine0], loss: 0.02}
background: [{from: [0], to: [5], rate: 1Gbps, stop: 100us}]
measure: {warm_up: 0ps}
)";

struct Traced {
  FinishedRun run;
  std::map<std::string, std::string, std::less<>> files;
};

Traced Trace(const Experiment& experiment, const TraceSettings& settings, int threads = 1) {
  Traced traced;
  Tracer tracer(settings);
  SimulationOptions options;
  options.threads = threads;
  options.instruments = {&tracer};
  traced.run = RunExperiment(experiment, options);
  traced.files = traced.run.files.series;
  return traced;
}

struct Frame {
  Time at;
  std::string bytes;

  uint64_t Number(size_t from, size_t count) const {
    uint64_t value = 0;
    for (size_t i = 0; i < count; ++i) value = value << 8 | static_cast<uint8_t>(bytes[from + i]);
    return value;
  }
  bool IsPause() const { return Number(12, 2) == 0x8808; }
  bool IsFrom(HostId host) const { return Number(26, 4) == IpOf(host); }
  bool IsMarked() const { return (Number(15, 1) & 3) == 3; }
  size_t TcpPayload() const { return Number(16, 2) - 20 - (Number(46, 1) >> 4) * 4; }
};

std::vector<Frame> FramesOf(std::string_view pcap) {
  const auto little = [&](size_t at) {
    uint32_t value = 0;
    for (size_t i = 4; i > 0; --i) value = value << 8 | static_cast<uint8_t>(pcap[at + i - 1]);
    return value;
  };
  std::vector<Frame> frames;
  for (size_t at = 24; at < pcap.size();) {
    const uint32_t length = little(at + 8);
    const Time time = Time{} + 1_s * little(at) + 1_ns * little(at + 4);
    frames.push_back({time, std::string(pcap.substr(at + 16, length))});
    at += 16 + length;
  }
  return frames;
}

TraceSettings AllTime() {
  TraceSettings settings;
  settings.from = Time{} + 1_ps;
  settings.limit = 10'000'000;
  return settings;
}

// --- Against flows.csv ---

TEST(TracerTest, SeesEachPacketOfAFlowAtBothEnds) {
  const Experiment experiment = ExperimentFrom(kTcp);
  const Traced traced = Trace(experiment, AllTime());
  const CsvTable flows(traced.run.files.flows);
  ASSERT_THAT(flows.rows, SizeIs(8));
  for (size_t row = 0; row < flows.rows.size(); ++row) {
    const auto pcap_of = [&](const char* column) {
      const int64_t host = flows.Integer(row, column);
      return FramesOf(traced.files.at(fmt::format("host{}-leaf{}.pcap", host, host / 4)));
    };
    const HostId src = static_cast<HostId>(flows.Integer(row, "src"));
    int64_t sent = 0;
    for (const Frame& frame : pcap_of("src")) sent += frame.IsFrom(src) && frame.TcpPayload() > 0;
    EXPECT_EQ(sent, flows.Integer(row, "pkts_sent"));
    int64_t marked = 0;
    Time last;
    for (const Frame& frame : pcap_of("dst")) {
      if (!frame.IsFrom(src) || frame.TcpPayload() == 0) continue;
      marked += frame.IsMarked() ? 1 : 0;
      last = frame.at;
    }
    EXPECT_EQ(marked, flows.Integer(row, "ecn_marked"));
    EXPECT_GE(last.ps, flows.Integer(row, "rx_done_ps") / 1000 * 1000);
  }
}

TEST(TracerTest, ChangesNoResult) {
  for (const char* yaml : {kTcp, kLossless, kFailing}) {
    const Experiment experiment = ExperimentFrom(yaml);
    Traced traced = Trace(experiment, AllTime());
    traced.run.files.series.clear();
    EXPECT_EQ(traced.run.files, RunExperiment(experiment).files);
  }
}

TEST(TracerTest, HasTheSameBytesForAnyNumberOfThreads) {
  for (const char* yaml : {kTcp, kLossless, kFailing}) {
    const Experiment experiment = ExperimentFrom(yaml);
    const Traced one = Trace(experiment, AllTime(), 1);
    EXPECT_GT(one.files.at("trace.json").size(), 1'000u);
    for (const int threads : ThreadCounts({2, 4})) {
      EXPECT_EQ(Trace(experiment, AllTime(), threads).files, one.files);
    }
  }
}

// The kind of ports does not change it either.
TEST(TracerTest, HasTheSamePacketsForAnyPorts) {
  const Experiment experiment = ExperimentFrom(kFailing);
  const auto files = [&](NetworkPlan::Ports ports) {
    const TraceSettings settings = AllTime();
    Tracer tracer(settings);
    SimulationOptions options;
    options.instruments = {&tracer};
    options.ports = ports;
    return RunExperiment(experiment, options).files;
  };
  EXPECT_EQ(files(NetworkPlan::Ports::kEager), files(NetworkPlan::Ports::kCheapest));
}

TEST(TracerTest, FramesOfALinkAreInTheOrderOfTime) {
  const Traced traced = Trace(ExperimentFrom(kTcp), AllTime());
  int files = 0;
  for (const auto& [name, text] : traced.files) {
    if (!name.ends_with(".pcap")) continue;
    ++files;
    const std::vector<Frame> frames = FramesOf(text);
    EXPECT_TRUE(std::ranges::is_sorted(frames, {}, &Frame::at)) << name;
  }
  EXPECT_EQ(files, 8 + 4);
}

// --- What is chosen ---

TEST(TracerTest, HoldsTheChosenFlowsAndNoOther) {
  TraceSettings settings = AllTime();
  settings.from = Time{};
  settings.flows = {{2, 3}};
  const Traced traced = Trace(ExperimentFrom(kTcp), settings);
  const CsvTable flows(traced.run.files.flows);
  std::set<uint64_t> ports;
  std::set<uint64_t> expected;
  for (const char* id : {"2", "3"}) {
    expected.insert(static_cast<uint64_t>(flows.Integer(flows.Find("flow_id", id), "src")));
    expected.insert(static_cast<uint64_t>(flows.Integer(flows.Find("flow_id", id), "dst")));
  }
  for (const auto& [name, text] : traced.files) {
    if (!name.ends_with(".pcap")) continue;
    for (const Frame& frame : FramesOf(text)) ports.insert(frame.Number(26, 4) - IpOf(0));
  }
  EXPECT_EQ(ports, expected);
}

TEST(TracerTest, HoldsTheChosenLinksEvenIfNothingUsesThem) {
  TraceSettings settings = AllTime();
  settings.links = {"leaf0-spine1", "host3-leaf0"};
  settings.to = Time{} + 2_ps;  // Before anything arrives.
  const Traced traced = Trace(ExperimentFrom(kTcp), settings);
  EXPECT_EQ(traced.files.at("trace.csv"),
            "link,file,packets,first_ns,last_ns\n"
            "host3-leaf0,host3-leaf0.pcap,0,,\n"
            "leaf0-spine1,leaf0-spine1.pcap,0,,\n");
  EXPECT_EQ(traced.files.at("leaf0-spine1.pcap").size(), 24u);
}

TEST(TracerTest, HoldsTheChosenTime) {
  TraceSettings whole = AllTime();
  whole.links = {"host0-leaf0"};
  TraceSettings part = whole;
  part.from = Time{} + 40_us;
  part.to = Time{} + 60_us;
  const Experiment experiment = ExperimentFrom(kTcp);
  std::vector<Frame> expected = FramesOf(Trace(experiment, whole).files.at("host0-leaf0.pcap"));
  std::erase_if(expected,
                [&](const Frame& frame) { return frame.at < part.from || frame.at >= part.to; });
  const std::vector<Frame> frames = FramesOf(Trace(experiment, part).files.at("host0-leaf0.pcap"));
  ASSERT_GT(frames.size(), 5u);
  ASSERT_EQ(frames.size(), expected.size());
  for (size_t i = 0; i < frames.size(); ++i) EXPECT_EQ(frames[i].bytes, expected[i].bytes);
}

// The first packets of all links together, and a warning.
TEST(TracerTest, TheLimitIsSaid) {
  TraceSettings settings = AllTime();
  settings.limit = 100;
  const Experiment experiment = ExperimentFrom(kTcp);
  const Traced traced = Trace(experiment, settings, 2);
  const CsvTable index(traced.files.at("trace.csv"));
  int64_t packets = 0;
  for (size_t row = 0; row < index.rows.size(); ++row) packets += index.Integer(row, "packets");
  EXPECT_EQ(packets, 100);
  EXPECT_THAT(traced.run.result.notes.warnings, ElementsAre(HasSubstr("after 100 packets")));
  EXPECT_EQ(Trace(experiment, settings, 1).files, traced.files);
  EXPECT_THAT(Trace(experiment, AllTime()).run.result.notes.warnings, IsEmpty());
}

TEST(TracerTest, TheLimitOfEventsIsSaid) {
  TraceSettings settings = AllTime();
  settings.limit = 5;
  settings.pcap = false;
  EXPECT_THAT(Trace(ExperimentFrom(kTcp), settings).run.result.notes.warnings,
              ElementsAre(ContainsRegex("trace.json shows queues until [0-9.]+us only, 5 values"),
                          HasSubstr("trace.json lacks flows beyond the first 5")));
}

TEST(TracerTest, KeepsNoMoreOfAFrameThanAsked) {
  TraceSettings settings = AllTime();
  settings.snaplen = 64;
  const Traced traced = Trace(ExperimentFrom(kTcp), settings);
  for (const Frame& frame : FramesOf(traced.files.at("host0-leaf0.pcap"))) {
    EXPECT_LE(frame.bytes.size(), 64u);
  }
}

TEST(TracerTest, RefusesWhatItCannotDo) {
  const Experiment experiment = ExperimentFrom(kTcp);
  const auto problem = [&](const TraceSettings& settings) {
    return ProblemWith(settings, experiment.graph, experiment.forecasts);
  };
  EXPECT_THAT(problem(TraceSettings()), Optional(HasSubstr("a trace of everything is too much")));
  EXPECT_THAT(problem({.links = {"leaf0-spin1"}}),
              Optional(HasSubstr("did you mean \"leaf0-spine1\"")));
  EXPECT_THAT(problem({.from = Time{5}, .to = Time{5}}),
              Optional(HasSubstr("--from must be before --to")));
  EXPECT_THAT(problem({.from = Time{6}, .to = Time{5}}),
              Optional(HasSubstr("--from must be before --to")));
  EXPECT_EQ(problem({.links = {"leaf0-spine1"}}), std::nullopt);
  EXPECT_THAT(problem({.flows = {{7, 7}, {8, 9}}}),
              Optional(HasSubstr("there is no flow 8; flows are 0 to 7")));
  EXPECT_EQ(problem({.flows = {{7, 100}}}), std::nullopt);
}

// The number of flows of a load over some time is known only after the run.
TEST(TracerTest, SaysWhichFlowsThereHaveNotBeen) {
  const Experiment experiment = ExperimentFrom(
      kTcp, {"workload=[{kind: poisson, sizes: websearch, load: 0.3, duration: 1ms}]"});
  const auto trace = [&](std::vector<FlowRange> flows) {
    return Trace(experiment, {.flows = std::move(flows)}).run.result;
  };
  EXPECT_EQ(ProblemWith({.flows = {{9999, 9999}}}, experiment.graph, experiment.forecasts),
            std::nullopt);
  const SimulationResult nothing = trace({{9999, 9999}});
  EXPECT_EQ(nothing.notes.problem,
            fmt::format("--flow: there is no flow 9999; flows are 0 to {}, so there is nothing to "
                        "trace",
                        nothing.flows_started - 1));
  const SimulationResult some = trace({{0, 0}, {9999, 9999}});
  EXPECT_EQ(some.notes.problem, "");
  EXPECT_THAT(some.notes.warnings, ElementsAre(HasSubstr("there is no flow 9999")));
}

TEST(TracerTest, SaysThatNothingMatches) {
  TraceSettings settings;
  settings.from = Time{} + 100_s;
  EXPECT_THAT(Trace(ExperimentFrom(kTcp), settings).run.result.notes.warnings,
              ElementsAre(HasSubstr("no packet matches; the run ended at")));
}

// --- The timeline ---

// Events of trace.json, which our reader of YAML reads as well.
std::vector<Value> EventsOf(const std::string& json) {
  Diagnostics diagnostics;
  const std::optional<Value> document = ParseYaml(json, "trace.json", diagnostics);
  EXPECT_TRUE(document) << diagnostics.Report();
  return document ? document->Find("traceEvents")->items : std::vector<Value>();
}

std::string Text(const Value& event, std::string_view key) {
  const Value* value = event.Find(key);
  return value == nullptr ? "" : value->text;
}

// Exactly: stamps have six digits after the point.
int64_t PsOf(const Value& event) {
  std::string digits = Text(event, "ts");
  std::erase(digits, '.');
  return std::stoll(digits);
}

TEST(TracerTest, SlicesAreTheFlowsOfTheRun) {
  const Traced traced = Trace(ExperimentFrom(kTcp), AllTime());
  const CsvTable flows(traced.run.files.flows);
  const std::vector<Value> events = EventsOf(traced.files.at("trace.json"));
  int64_t last = 0;
  size_t starts = 0;
  size_t ends = 0;
  for (const Value& event : events) {
    if (event.Find("ts") == nullptr) continue;
    EXPECT_GE(PsOf(event), last);
    last = PsOf(event);
    if (Text(event, "cat") != "flow") continue;
    const size_t row = flows.Find("flow_id", Text(event, "id"));
    const bool begins = Text(event, "ph") == "b";
    EXPECT_EQ(PsOf(event), flows.Integer(row, begins ? "start_ps" : "rx_done_ps"));
    ++(begins ? starts : ends);
    if (begins) {
      EXPECT_EQ(Text(*event.Find("args"), "bytes"), flows.At(row, "size_bytes"));
    }
  }
  EXPECT_EQ(starts, flows.rows.size());
  EXPECT_EQ(ends, flows.rows.size());
}

TEST(TracerTest, SlicesAreOfFlowsThatWereSeen) {
  TraceSettings settings = AllTime();
  settings.links = {"host0-leaf0"};
  const Traced traced = Trace(ExperimentFrom(kTcp), settings);
  int slices = 0;
  for (const Value& event : EventsOf(traced.files.at("trace.json"))) {
    if (Text(event, "cat") != "flow" || Text(event, "ph") != "b") continue;
    ++slices;
    const Value& flow = *event.Find("args");
    EXPECT_TRUE(Text(flow, "src") == "host0" || Text(flow, "dst") == "host0");
  }
  EXPECT_EQ(slices, 2);
}

// The queues of a busy fabric leave room for what was asked for.
TEST(TracerTest, QueuesCrowdOutNoSlices) {
  TraceSettings settings = AllTime();
  settings.limit = 20;
  settings.pcap = false;
  for (const auto& [yaml, slices] : {std::pair(kTcp, 8), std::pair(kLossless, 6)}) {
    int flows = 0;
    int pauses = 0;
    for (const Value& event :
         EventsOf(Trace(ExperimentFrom(yaml), settings).files.at("trace.json"))) {
      if (Text(event, "ph") != "b") continue;
      ++(Text(event, "cat") == "flow" ? flows : pauses);
    }
    EXPECT_EQ(flows, slices);
    EXPECT_EQ(pauses > 0, yaml == kLossless);
  }
}

// The connection is long over by the time that both ends have forgotten the flow.
TEST(TracerTest, CountersAreOfTheTimeInWhichAChosenFlowIsUnderWay) {
  const Experiment experiment =
      ExperimentFrom(kTcp, {"workload=[{kind: poisson, sizes: websearch, load: 0.6, flows: 100}]"});
  TraceSettings settings;
  settings.flows = {{30, 30}};
  const Traced traced = Trace(experiment, settings);
  EXPECT_EQ(Trace(experiment, settings, 4).files, traced.files);
  const CsvTable flows(traced.run.files.flows);
  const size_t row = flows.Find("flow_id", "30");
  int counters = 0;
  for (const Value& event : EventsOf(traced.files.at("trace.json"))) {
    if (Text(event, "ph") != "C") continue;
    ++counters;
    EXPECT_GE(PsOf(event), flows.Integer(row, "start_ps"));
    EXPECT_LE(PsOf(event), flows.Integer(row, "tx_done_ps") + settings.every.ps);
  }
  EXPECT_GT(counters, 5);
  EXPECT_GT(traced.run.result.end.ps, 2 * flows.Integer(row, "tx_done_ps"));
}

// The same looks at the same queues, by what measure.record writes.
TEST(TracerTest, CountersAreTheQueuesOfTheRun) {
  const Experiment experiment = ExperimentFrom(kTcp, {"measure.record.queues=1us"});
  const Traced traced = Trace(experiment, AllTime());
  const CsvTable series(traced.files.at("series_queue.csv"));
  std::multiset<std::pair<int64_t, int64_t>> expected;  // Picoseconds and bytes.
  for (size_t row = 0; row < series.rows.size(); ++row) {
    expected.emplace(series.Integer(row, "time_ns") * 1000, series.Integer(row, "bytes"));
  }
  int64_t counters = 0;
  for (const Value& event : EventsOf(traced.files.at("trace.json"))) {
    if (Text(event, "ph") != "C") continue;
    const int64_t bytes = std::stoll(Text(*event.Find("args"), "bytes"));
    if (bytes == 0) continue;  // Empty queues have no row.
    ++counters;
    EXPECT_TRUE(expected.contains({PsOf(event), bytes})) << PsOf(event) << " " << bytes;
  }
  EXPECT_GT(counters, 100);
}

// Each pause begins and ends with a frame on the link.
TEST(TracerTest, PausesAreThoseOfTheFrames) {
  const Traced traced = Trace(ExperimentFrom(kLossless), AllTime());
  std::multiset<int64_t> stops;
  std::multiset<int64_t> resumes;
  for (const auto& [name, text] : traced.files) {
    if (!name.ends_with(".pcap")) continue;
    for (const Frame& frame : FramesOf(text)) {
      if (!frame.IsPause()) continue;
      EXPECT_EQ(frame.Number(16, 2), 1u << 3);
      (frame.Number(18 + 2 * 3, 2) == 0 ? resumes : stops).insert(frame.at.ps);
    }
  }
  std::multiset<int64_t> begins;
  std::multiset<int64_t> ends;
  for (const Value& event : EventsOf(traced.files.at("trace.json"))) {
    if (Text(event, "cat") != "pause") continue;
    EXPECT_THAT(Text(event, "name"), HasSubstr("class 3"));
    (Text(event, "ph") == "b" ? begins : ends).insert(PsOf(event) / 1000 * 1000);
  }
  EXPECT_GT(stops.size(), 0u);
  EXPECT_EQ(begins, stops);
  EXPECT_EQ(ends, resumes);
}

// --- Ranks of jobs ---

constexpr const char* kRing = R"(
topology:
  kind: leaf_spine
  leaves: 2
  spines: 2
  hosts_per_leaf: 4
  host_link: {rate: 100Gbps, delay: 1us}
  fabric_link: {rate: 100Gbps, delay: 1us}
transport: {kind: rocev2, cc: dcqcn}
lb: ecmp
workload:
  - {kind: collective, op: all_reduce, size: 60KB, ranks: 12, ranks_per_host: 2, hosts: ["0-5"],
     iterations: 2, reduce_rate: 400Gbps, label: "a \"b\""}
measure: {operations: true, warm_up: 0ps}
)";

// Duration of a slice, exactly.
int64_t LengthOf(const Value& event) {
  std::string digits = Text(event, "dur");
  std::erase(digits, '.');
  return std::stoll(digits);
}

TEST(TracerTest, SlicesOfRanksAreTheOperationsOfTheRun) {
  TraceSettings settings = AllTime();
  settings.from = Time{};
  settings.pcap = false;
  const Experiment experiment = ExperimentFrom(kRing);
  const Traced traced = Trace(experiment, settings);
  EXPECT_EQ(Trace(experiment, settings, 3).files, traced.files);
  const CsvTable ops(traced.files.at("operations.csv"));
  using Key = std::tuple<std::string, std::string, std::string>;  // Iteration, rank, operation.
  std::map<Key, size_t> rows;
  std::map<std::tuple<std::string, std::string, std::string, std::string>, size_t> sends;
  for (size_t row = 0; row < ops.rows.size(); ++row) {
    rows[{ops.At(row, "iter"), ops.At(row, "rank"), ops.At(row, "op")}] = row;
    if (ops.At(row, "kind") != "send") continue;
    sends[{ops.At(row, "iter"), ops.At(row, "rank"), ops.At(row, "peer"), ops.At(row, "step")}] =
        row;
  }
  std::map<std::string, std::set<std::string>> arrows;  // Their ends, by name.
  std::map<std::string, std::string> ranks;             // Names of processes.
  size_t slices = 0;
  for (const Value& event : EventsOf(traced.files.at("trace.json"))) {
    if (Text(event, "name") == "process_name") {
      ranks[Text(event, "pid")] = Text(*event.Find("args"), "name");
    }
    if (Text(event, "ph") != "X") continue;
    ++slices;
    const Value& its = *event.Find("args");
    const size_t row = rows.at({Text(its, "iter"), Text(its, "rank"), Text(its, "op")});
    EXPECT_EQ(Text(event, "cat"), ops.At(row, "kind"));
    EXPECT_EQ(Text(its, "bytes"), ops.At(row, "bytes"));
    EXPECT_EQ(Text(its, "flow"), ops.At(row, "flow_id"));
    int64_t start = ops.Integer(row, "start_ps");
    if (ops.At(row, "kind") == "recv") {
      const size_t send = sends.at(
          {ops.At(row, "iter"), ops.At(row, "peer"), ops.At(row, "rank"), ops.At(row, "step")});
      start = std::min(std::max(start, ops.Integer(send, "start_ps")), ops.Integer(row, "end_ps"));
    }
    EXPECT_EQ(PsOf(event), start);
    if (!ops.At(row, "end_ps").empty()) {
      EXPECT_EQ(PsOf(event) + LengthOf(event), ops.Integer(row, "end_ps"));
    }
    EXPECT_EQ(ranks.at(Text(event, "pid")), fmt::format("job 1 a \"b\" rank {} (host{})",
                                                        ops.At(row, "rank"), ops.At(row, "host")));
    if (ops.At(row, "kind") == "compute") continue;
    const bool is_send = Text(event, "flow_out") == "true";
    EXPECT_EQ(is_send, ops.At(row, "kind") == "send");
    EXPECT_NE(is_send, Text(event, "flow_in") == "true");
    EXPECT_TRUE(arrows[Text(event, "bind_id")].insert(ops.At(row, "kind")).second);
  }
  EXPECT_EQ(slices, ops.rows.size());
  EXPECT_THAT(arrows, SizeIs(2 * 22 * 12));
  for (const auto& [name, ends] : arrows) EXPECT_THAT(ends, ElementsAre("recv", "send")) << name;
}

// Slices on one track must not overlap: viewers would nest them.
TEST(TracerTest, SlicesOfATrackFollowEachOther) {
  TraceSettings settings = AllTime();
  settings.from = Time{};
  const Traced traced =
      Trace(ExperimentFrom(kRing, {"workload[0].op=all_to_all", "workload[0].reduce_rate=off"}),
            settings);
  std::map<std::string, int64_t> free;
  std::set<std::string> names;
  for (const Value& event : EventsOf(traced.files.at("trace.json"))) {
    if (Text(event, "name") == "thread_name") names.insert(Text(*event.Find("args"), "name"));
    if (Text(event, "ph") != "X") continue;
    int64_t& end = free[Text(event, "tid")];
    EXPECT_GE(PsOf(event), end);
    end = PsOf(event) + LengthOf(event);
  }
  EXPECT_TRUE(names.contains("send") && names.contains("send 2") && names.contains("recv"));
}

TEST(TracerTest, ChosenFlowsChooseRanksAndTheLimitIsSaid) {
  TraceSettings settings;
  settings.flows = {{1, 1}};  // Of rank 1, on host 0, to rank 2.
  const Experiment experiment = ExperimentFrom(kRing);
  std::set<std::string> ranks;
  for (const Value& event : EventsOf(Trace(experiment, settings).files.at("trace.json"))) {
    if (Text(event, "ph") == "X") ranks.insert(Text(*event.Find("args"), "rank"));
  }
  EXPECT_THAT(ranks, ElementsAre("1", "2"));
  settings.limit = 7;
  settings.pcap = false;
  const Traced cut = Trace(experiment, settings);
  EXPECT_THAT(cut.run.result.notes.warnings,
              testing::Contains(HasSubstr("lacks operations of ranks beyond the first 7")));
  size_t slices = 0;
  for (const Value& event : EventsOf(cut.files.at("trace.json")))
    slices += Text(event, "ph") == "X";
  EXPECT_EQ(slices, 7u);
}

// Traces of applications have labels, and receives that wait for their messages.
TEST(TracerTest, ShowsTheOperationsOfTraces) {
  const TemporaryFolder folder;
  const std::string file =
      folder
          .Write("a.goal",
                 "num_ranks 2\nrank 0 {\nl1: calc 1000\nl2: send 10000b to 1 tag 7\n"
                 "l2 requires l1\n}\nrank 1 {\nl1: recv 10000b from 0 tag 7\n}\n")
          .string();
  TraceSettings settings = AllTime();
  settings.from = Time{};
  const Traced traced =
      Trace(ExperimentFrom(OnAStar(2, "kind: trace, format: goal, file: " + file)), settings);
  const std::string& json = traced.files.at("trace.json");
  // 1 us of computation; 10 packets take 2083.84 + 10 x 83.84 ns.
  EXPECT_THAT(json,
              HasSubstr(R"("name":"l1: compute","pid":4,"tid":1,"ts":0.000000,"dur":1.000000)"));
  EXPECT_THAT(json, HasSubstr(R"("name":"l2: send to 1","pid":4,"tid":2,"ts":1.000000,)"));
  EXPECT_THAT(json, HasSubstr(R"("name":"l1: recv from 0","pid":5,"tid":3,"ts":1.000000,)"
                              R"("dur":2.922240,"bind_id":"1.0.0","flow_in":true)"));
}

}  // namespace heddle::tracer_test
