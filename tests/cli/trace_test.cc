// SPDX-License-Identifier: Apache-2.0
// heddle trace as users run it: its options reach the tracer, the command ends as it should, and
// Wireshark's dissectors can read its files. tests/measure/trace says what the tracer itself does.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/command.h"
#include "tests/support/experiment_kit.h"

namespace heddle::trace_test {

namespace fs = std::filesystem;

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;
using testing::UnorderedElementsAre;

constexpr const char* kFabric = R"(
topology:
  kind: leaf_spine
  leaves: 2
  spines: 2
  hosts_per_leaf: 4
  host_link: {rate: 10Gbps, delay: 1us}
  fabric_link: {rate: 10Gbps, delay: 1us}
  port: {buffer: 60KB, ecn_above: 15KB}
workload: [{kind: incast, fan_in: 6, bytes_each: 200KB}]
)";

constexpr const char* kLossless = R"(
topology:
  kind: leaf_spine
  leaves: 2
  spines: 2
  hosts_per_leaf: 4
  host_link: {rate: 100Gbps, delay: 1us}
  fabric_link: {rate: 100Gbps, delay: 1us}
  port: {buffer: 1MB, ecn_above: 50KB, pfc: {classes: [3], xoff: 20KB}}
transport: {kind: rocev2, priority: 3, cc: {kind: dcqcn}}
lb: rps
workload: [{kind: incast, fan_in: 6, bytes_each: 200KB}]
)";

class TraceTest : public testing::Test {
 protected:
  // Runs heddle trace of `yaml` with `arguments`; the folder of its results.
  fs::path Trace(const std::string& yaml, const std::string& arguments) {
    folder_.Write("traced.yaml", yaml);
    const CommandResult result = RunCommand(
        fmt::format("'{}' trace traced.yaml --out out --force -q {}", HEDDLE_BINARY, arguments),
        folder_.path());
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return folder_ / "out";
  }

  CommandResult Refused(const std::string& arguments) {
    folder_.Write("traced.yaml", std::string(kFabric) + "lb: ecmp\n");
    const CommandResult result =
        RunCommand(fmt::format("'{}' trace traced.yaml --out out {}", HEDDLE_BINARY, arguments),
                   folder_.path());
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_FALSE(fs::exists(folder_ / "out"));
    return result;
  }

  TemporaryFolder folder_;
};

TEST_F(TraceTest, WritesBesideTheResults) {
  const fs::path out =
      Trace(std::string(kFabric) + "lb: ecmp\n", "--flow 0,2-3 --format pcap,perfetto");
  for (const char* name : {"flows.csv", "summary.json", "trace.csv", "trace.json"}) {
    EXPECT_TRUE(fs::exists(out / name)) << name;
  }
}

TEST_F(TraceTest, WritesWhatIsAskedFor) {
  fs::path out = Trace(std::string(kFabric) + "lb: ecmp\n", "--flow 0 --format perfetto");
  EXPECT_FALSE(fs::exists(out / "trace.csv"));
  EXPECT_TRUE(fs::exists(out / "trace.json"));
  out = Trace(std::string(kFabric) + "lb: ecmp\n", "--link host0-leaf0,leaf0-spine1 --format pcap");
  EXPECT_TRUE(fs::exists(out / "host0-leaf0.pcap"));
  EXPECT_TRUE(fs::exists(out / "leaf0-spine1.pcap"));
  EXPECT_FALSE(fs::exists(out / "leaf0-spine0.pcap"));
  EXPECT_FALSE(fs::exists(out / "trace.json"));
}

// One case for each option that says what to trace.
TEST_F(TraceTest, HandsItsOptionsToTheTracer) {
  EXPECT_THAT(Refused("--flow 0,6").err, HasSubstr("there is no flow 6; flows are 0 to 5"));
  EXPECT_THAT(Refused("--link leaf0-spin1").err, HasSubstr("leaf0-spin1"));
  EXPECT_THAT(Refused("--from 2ms --to 1ms").err, HasSubstr("--from must be before --to"));
}

TEST_F(TraceTest, RefusesOptionsThatItCannotRead) {
  EXPECT_THAT(Refused("--flow x").err, HasSubstr("--flow: \"x\" is no flow"));
  EXPECT_THAT(Refused("--flow 5-3").err, HasSubstr("--flow: \"5-3\" is no flow"));
  EXPECT_THAT(Refused("--from 5").err, HasSubstr("--from: \"5\" has no unit"));
  EXPECT_THAT(Refused("--flow 0 --format png").err, HasSubstr("--format"));
}

TEST_F(TraceTest, NamesWhatIsStillToBeChosen) {
  const std::string sweep =
      "--flow 0 --set 'sweep.lb=[{kind: letflow, gap: 50us}, rps]' --set 'sweep.seeds=3' ";
  EXPECT_THAT(
      Refused(sweep).err,
      HasSubstr("this is a sweep of 6 points; choose one with --set 'lb={kind: letflow, gap: "
                "50us}' (or rps) --seed 1 (or 2, 3)"));
  EXPECT_THAT(Refused(sweep + "--seed 2").err, HasSubstr("this is a sweep of 2 points; choose"));
}

// In a sweep with several seeds, --seed chooses one; the default is the first.
TEST_F(TraceTest, TakesOneOfTheSeeds) {
  const fs::path out = Trace(std::string(kFabric) + "sweep: {lb: [ecmp, rps], seeds: 3}\n",
                             "--set lb=rps --seed 2 --flow 0");
  const std::string settings = ReadFile(out / "run.yaml");
  EXPECT_THAT(settings, HasSubstr("seed: 2\n"));
  EXPECT_THAT(settings, HasSubstr("rps"));
}

TEST_F(TraceTest, LeavesNothingIfThereIsNothingToTrace) {
  folder_.Write("traced.yaml",
                std::string(kFabric) +
                    "lb: ecmp\nsweep: {workload: [[{kind: poisson, sizes: small, load: 0.2, "
                    "duration: 100us}]]}\n");
  const CommandResult result =
      RunCommand(fmt::format("'{}' trace traced.yaml --out out --flow 9999 -q", HEDDLE_BINARY),
                 folder_.path());
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("there is no flow 9999; flows are 0 to"));
  EXPECT_FALSE(fs::exists(folder_ / "out"));
}

TEST_F(TraceTest, WarnsOfWhatIsCutOff) {
  folder_.Write("traced.yaml", std::string(kFabric) + "lb: ecmp\n");
  const CommandResult result = RunCommand(
      fmt::format("'{}' trace traced.yaml --out out --flow 0 --packets 10", HEDDLE_BINARY),
      folder_.path());
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("after 10 packets"));
}

// --- With tshark ---

class TsharkTest : public TraceTest {
 protected:
  void SetUp() override {
    if (RunCommand("tshark --version").exit_code != 0) {
      GTEST_SKIP() << "tshark is not installed: scripts/setup tshark";
    }
  }

  // Returns the lines that tshark prints for the frames that `arguments` select in all pcaps of
  // `folder`.
  std::vector<std::string> Tshark(const fs::path& folder, const std::string& arguments) {
    constexpr const char* kStrict =
        "-o ip.check_checksum:TRUE -o tcp.check_checksum:TRUE -o udp.check_checksum:TRUE";
    const CommandResult result = RunCommand(
        fmt::format("tshark -r '{}' {} {}", Merged(folder).string(), kStrict, arguments));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    std::vector<std::string> lines;
    std::istringstream text(result.out);
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  }

  // All pcaps of `folder`, one after the other, in one: tshark takes long to start.
  fs::path Merged(const fs::path& folder) {
    constexpr size_t kHeader = 24;
    std::string all;
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.path().extension() != ".pcap") continue;
      all += ReadFile(entry.path()).substr(all.empty() ? 0 : kHeader);
    }
    EXPECT_GT(all.size(), kHeader);
    return folder_.Write("merged.pcap", all);
  }

  std::set<std::string> Values(const fs::path& folder, const std::string& field,
                               const std::string& filter = "frame") {
    std::set<std::string> values;
    for (const std::string& line :
         Tshark(folder, fmt::format("-Y '{}' -T fields -E occurrence=f -e {}", filter, field))) {
      if (!line.empty()) values.insert(line);
    }
    return values;
  }

  // The same for several fields in one run: a row a frame.
  std::vector<std::map<std::string, std::string>> Rows(const fs::path& folder,
                                                       const std::vector<std::string>& fields) {
    const std::string arguments =
        fmt::format("-T fields -E occurrence=f -E 'separator=;' -e {}", fmt::join(fields, " -e "));
    std::vector<std::map<std::string, std::string>> rows;
    for (const std::string& line : Tshark(folder, arguments)) {
      std::istringstream cells(line);
      auto& row = rows.emplace_back();
      for (const std::string& field : fields) std::getline(cells, row[field], ';');
    }
    return rows;
  }

  // No dissector complains, and each checksum that is there is right.
  void ExpectSound(const fs::path& folder) {
    EXPECT_THAT(Tshark(folder,
                       "-Y '_ws.malformed || _ws.short || ip.checksum.status == 0 || "
                       "tcp.checksum.status == 0 || udp.checksum.status == 0'"),
                IsEmpty());
  }
};

TEST_F(TsharkTest, ReadsTcp) {
  const fs::path out =
      Trace(std::string(kFabric) +
                "lb: rps\ntransport: {kind: dctcp, setup: handshake, timestamps: true, "
                "priority: 2}\n",
            "--from 1ps");
  ExpectSound(out);
  EXPECT_THAT(Values(out, "ip.dsfield.ecn"), IsSupersetOf({"2", "3"}));
  EXPECT_THAT(Values(out, "ip.dsfield.dscp"), Contains("16"));
  EXPECT_THAT(Values(out, "tcp.flags.ece"), IsSupersetOf({"0", "1"}));
  EXPECT_THAT(Values(out, "tcp.flags.syn"), IsSupersetOf({"0", "1"}));
  EXPECT_THAT(Values(out, "tcp.options.sack_le"), Not(IsEmpty()));
  EXPECT_THAT(Values(out, "tcp.options.timestamp.tsval"), Not(IsEmpty()));
  // The simulated full segments have 1518 bytes, of which 4 are the frame check sequence.
  EXPECT_THAT(Values(out, "frame.len", "tcp.len == 1448"), ElementsAre("1514"));
  EXPECT_THAT(Values(out, "tcp.len", "frame.len == 1514"), ElementsAre("1448"));
}

// The example of docs/traces.md: tshark finds as many segments out of order as Heddle counts.
TEST_F(TsharkTest, FindsTheReorderingOfThePage) {
  const CommandResult traced =
      RunCommand(fmt::format("'{}' trace '{}/configs/quickstart.yaml' --set lb=rps --set "
                             "'workload[0].flows=200' --flow 0,3 --out out",
                             HEDDLE_BINARY, HEDDLE_SOURCE_DIR),
                 folder_.path());
  ASSERT_EQ(traced.exit_code, 0) << traced.err;
  const CommandResult found =
      RunCommand("tshark -r out/host35-leaf2.pcap -Y tcp.analysis.out_of_order", folder_.path());
  const CsvTable flows(ReadFile(folder_ / "out/flows.csv"));
  const size_t row = flows.Find("flow_id", "3");
  EXPECT_EQ(std::ranges::count(found.out, '\n'), flows.Integer(row, "reordered_net"));
  EXPECT_EQ(flows.Integer(row, "reordered_net"), 79);
}

// Beside a sender all its data comes by before what acknowledges it; and tshark finds what was sent
// twice.
TEST_F(TsharkTest, FollowsSequenceNumbers) {
  const fs::path out = Trace(std::string(kFabric) + "lb: ecmp\ntransport: {kind: tcp}\n",
                             "--set workload[0].fan_in=7 --set workload[0].receiver=0 "
                             "--link host4-leaf1 --format pcap");
  ExpectSound(out);
  EXPECT_THAT(Tshark(out, "-Y 'tcp.analysis.retransmission || tcp.analysis.fast_retransmission'"),
              Not(IsEmpty()));
  EXPECT_THAT(Tshark(out, "-Y 'tcp.analysis.ack_lost_segment || tcp.analysis.lost_segment'"),
              IsEmpty());
}

TEST_F(TsharkTest, ReadsRoceAndPauses) {
  const fs::path out = Trace(kLossless, "--from 1ps");
  ExpectSound(out);
  std::map<std::string, std::set<std::string>> values;
  std::map<std::string, std::set<std::string>> lengths;  // By opcode.
  std::map<std::string, std::set<std::string>> numbers;  // Likewise.
  for (const auto& row :
       Rows(out, {"frame.len", "infiniband.bth.opcode", "infiniband.bth.psn",
                  "infiniband.bth.destqp", "infiniband.aeth.syndrome", "udp.srcport", "udp.dstport",
                  "macc.opcode", "macc.cbfc.pause_time.c2", "macc.cbfc.pause_time.c3"})) {
    for (const auto& [field, value] : row) {
      if (!value.empty()) values[field].insert(value);
    }
    lengths[row.at("infiniband.bth.opcode")].insert(row.at("frame.len"));
    numbers[row.at("infiniband.bth.opcode")].insert(row.at("infiniband.bth.psn"));
  }
  // Sends: first, middle and last; acknowledgements and congestion notifications.
  EXPECT_THAT(values["infiniband.bth.opcode"], UnorderedElementsAre("0", "1", "2", "17", "129"));
  EXPECT_THAT(numbers["0"], ElementsAre("0"));
  EXPECT_THAT(numbers["2"], ElementsAre("195"));  // 200,000 bytes are 196 packets.
  EXPECT_THAT(lengths["1"], ElementsAre("1082"));
  EXPECT_THAT(lengths[""], ElementsAre("60"));  // Pauses.
  EXPECT_THAT(values["infiniband.bth.destqp"], Contains("0x000010"));
  EXPECT_THAT(values["infiniband.aeth.syndrome"], Contains("31"));
  EXPECT_THAT(values["udp.srcport"], Not(IsEmpty()));
  EXPECT_THAT(values["udp.dstport"], ElementsAre("4791"));
  EXPECT_THAT(values["macc.opcode"], ElementsAre("0x0101"));
  EXPECT_THAT(values["macc.cbfc.pause_time.c2"], ElementsAre("0"));
  EXPECT_THAT(values["macc.cbfc.pause_time.c3"], UnorderedElementsAre("0", "65535"));
}

TEST_F(TsharkTest, ReadsNacks) {
  std::string lossy(kLossless);
  lossy.replace(lossy.find(", pfc: {classes: [3], xoff: 20KB}"),
                std::string(", pfc: {classes: [3], xoff: 20KB}").size(), "");
  for (const char* recovery : {"gbn", "irn"}) {
    const fs::path out =
        Trace(lossy, fmt::format("--set transport.recovery={} --from 1ps --format pcap", recovery));
    ExpectSound(out);
    EXPECT_THAT(Values(out, "infiniband.aeth.syndrome"), Contains("96")) << recovery;
  }
}

TEST_F(TsharkTest, ReadsEveryFraming) {
  for (const char* transport : {"{kind: tcp, framing: ip1500}", "{kind: rocev2, framing: ns3_rdma}",
                                "{kind: rocev2, framing: ip1500}", "{kind: rocev2, cc: hpcc}",
                                "{kind: rocev2, cc: swift}"}) {
    SCOPED_TRACE(transport);
    ExpectSound(Trace(std::string(kFabric) + "lb: rps\ntransport: " + transport + "\n",
                      "--from 1ps --packets 5000 --format pcap"));
  }
}

TEST_F(TsharkTest, ReadsProbesAndDatagrams) {
  const fs::path out =
      Trace(std::string(kFabric) +
                "lb: hula\nbackground: [{from: [0], to: [5], rate: 1Gbps, stop: 100us}]\n",
            "--from 1ps --to 300us --format pcap");
  ExpectSound(out);
  EXPECT_THAT(Values(out, "udp.dstport"), IsSupersetOf({"9", "61454"}));
}

TEST_F(TsharkTest, TakesTruncatedTcp) {
  const fs::path out = Trace(std::string(kFabric) + "lb: ecmp\n", "--flow 0 --snaplen 96");
  EXPECT_THAT(Tshark(out, "-Y _ws.malformed"), IsEmpty());
  EXPECT_THAT(Values(out, "frame.cap_len", "tcp.len == 1460"), ElementsAre("96"));
}

}  // namespace heddle::trace_test
