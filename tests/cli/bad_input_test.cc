// SPDX-License-Identifier: Apache-2.0
// Every mistake a user can make ends with exit code 2, the place, what was read, what would work
// and how many mistakes there are; nothing is written.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "tests/support/command.h"

namespace heddle::bad_input_test {

using testing::EndsWith;
using testing::HasSubstr;

const std::string kTopology =
    "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4}\n";
const std::string kLb = "lb: ecmp\n";
const std::string kWorkload = "workload: [{kind: permutation, size: 1KB}]\n";
const std::string kGood = kTopology + kLb + kWorkload;

std::string WithTopology(const std::string& more) {
  return "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4, " + more + "}\n" +
         kLb + kWorkload;
}
std::string WithPort(const std::string& port) { return WithTopology("port: {" + port + "}"); }
// RDMA, with data in class 3 and ACKs in class 0.
std::string RdmaWithPort(const std::string& port) { return WithPort(port) + "transport: rocev2\n"; }
std::string OnFatTree(const std::string& settings) {
  return "topology: {kind: fat_tree, " + settings + "}\n" + kLb + kWorkload;
}
// Two hosts on one switch, plus the given links.
std::string Custom(const std::string& switches, const std::string& links, int hosts = 2) {
  return "topology: {kind: custom, hosts: " + std::to_string(hosts) + ", switches: [{name: tor}" +
         switches + "], links: [{a: host0, b: tor}, {a: host1, b: tor}" + links + "]}\n" + kLb +
         kWorkload;
}
std::string OnFile(const std::string& file) {
  return "topology: {kind: custom, file: " + file + "}\n" + kLb + kWorkload;
}
std::string WithWorkload(const std::string& workload) {
  return kTopology + kLb + "workload: [{" + workload + "}]\n";
}
std::string WithBackground(const std::string& entry) {
  return kGood + "background: [{" + entry + "}]\n";
}
std::string WithPoisson(const std::string& more) {
  return WithWorkload("kind: poisson, flows: 10, " + more);
}

struct BadInput {
  std::string name;
  std::string yaml;
  std::vector<std::string> expected;
  std::string arguments = "";
  std::string count = "1 error";
};

void PrintTo(const BadInput& input, std::ostream* out) { *out << input.name; }

// A list of `*a` ten times, and so on: 10^8 values.
std::string AliasBomb() {
  std::string yaml = "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n";
  for (char c = 'b'; c < 'i'; ++c) {
    const std::string before(1, static_cast<char>(c - 1));
    yaml += std::string(1, c) + ": &" + c + " [";
    for (int i = 0; i < 10; ++i) yaml += (i == 0 ? "*" : ", *") + before;
    yaml += "]\n";
  }
  return yaml;
}

std::string DeepBlockMap() {
  std::string yaml;
  for (int depth = 0; depth < 60; ++depth)
    yaml += std::string(static_cast<size_t>(depth), ' ') + "a:\n";
  return yaml;
}

const std::vector<BadInput> kBadInputs = {
    // The document.
    {"EmptyFile", "", {"x.yaml:1:1: nothing where a map of settings is expected"}},
    {"OnlyAComment", "# nothing yet\n", {"nothing where a map of settings is expected"}},
    {"AListInsteadOfAMap", "- lb\n", {"x.yaml:1:1: a list where a map of settings is expected"}},
    {"AWordInsteadOfAMap", "ecmp\n", {"x.yaml:1:1: \"ecmp\" where a map"}},
    {"UnclosedBracket", kTopology + "lb: [\n", {"x.yaml:3:1: not valid YAML"}},
    {"Tabs",
     "topology:\n\tkind: leaf_spine\n",
     {"x.yaml:2:1: not valid YAML: indented with a tab; use spaces"}},
    {"Tag", kGood + "seed: !!int 3\n", {"x.yaml:4:7: seed: the tag tag:yaml.org,2002:int"}},
    {"SeveralDocuments",
     kGood + "---\n" + kGood,
     {"x.yaml:4:1: not valid YAML: several documents (---)"}},
    {"TooMuchTogether",
     kTopology + kLb +
         "workload:\n- {kind: poisson, sizes: small, load: 0.7, flows: 100}\n"
         "- {kind: poisson, sizes: small, load: 0.7, flows: 100}\n",
     {"x.yaml:4:39: workload[0].load: with all traffic at that time", "to 1.4 times its capacity"},
     "",
     "2 errors"},
    {"TooMuchForOneReceiver",
     WithWorkload(
         "kind: incast, fan_in: 3, bytes_each: 1KB, load: 0.5, duration: 1ms, receiver: 0"),
     {"workload[0].load: with all traffic at that time, the link of host 0 would be loaded to 4 "
      "times"}},
    {"MistakesInDifferentParts",
     "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4}\nlb: ecmpp\n"
     "workload: [{kind: poisson, sizes: websaerch, load: 0.5, flows: 1}]\n"
     "measure: {classes: [foo]}\n",
     {"x.yaml:2:5: lb.kind", "x.yaml:3:35: workload[0].sizes", "x.yaml:4:21: measure.classes[0]"},
     "",
     "3 errors"},
    {"DuplicateKey", kGood + "lb: rps\n", {"x.yaml:4:1: lb: occurs twice in this map"}},
    {"MergeKey",
     "a: &a {kind: ecmp}\nlb: {<<: *a}\n",
     {"x.yaml:2:6: lb.<<: merge keys are not supported"}},
    {"KeyThatIsNoWord", kGood + "[a]: b\n", {"x.yaml:4:1: a key must be a word"}},
    {"AliasBomb", AliasBomb(), {"the document is too large", "aliases"}},
    {"UnknownAlias", "lb: *nowhere\n", {"x.yaml:1:5: not valid YAML"}},
    {"DeepFlowNesting",
     "lb: " + std::string(5'000, '['),
     {"x.yaml:1:21: not valid YAML: nested more than 32 deep"}},
    {"DeepBlockNesting", DeepBlockMap(), {"nested more than 32 deep"}},
    {"BinaryFile",
     std::string("\x7f"
                 "ELF\0\1\2",
                 7),
     {"x.yaml: is not a text file"}},

    // Keys and kinds.
    {"UnknownKeyAtTheTop",
     kGood + "sede: 1\n",
     {"x.yaml:4:1: sede: unknown key; did you mean \"seed\"?"}},
    {"UnknownNestedKey",
     WithTopology("host_link: {rat: 10Gbps}"),
     {"x.yaml:1:83: topology.host_link.rat: unknown key; did you mean \"rate\"?"}},
    {"UnknownKeyWithSwappedLetters",
     kTopology + "lb: {kind: letflow, gpa: 1us}\n" + kWorkload,
     {"x.yaml:2:21: lb.gpa: unknown key; did you mean \"gap\"?"}},
    {"UnknownKeyWithoutANearOne",
     kGood + "banana: 1\n",
     {"banana: unknown key; expected one of: name, seed, topology"}},
    {"MisspeltKind",
     kTopology + "lb: leflow\n" + kWorkload,
     {"x.yaml:2:5: lb.kind: no load balancer is called \"leflow\"; did you mean \"letflow\"?"}},
    {"UnknownWorkloadKind",
     WithWorkload("kind: torrent"),
     {"x.yaml:3:19: workload[0].kind: no workload is called \"torrent\"; expected one of: "
      "collective, flows"}},
    {"TraceWithASyntaxError",
     WithWorkload("kind: trace, format: goal, file: syntax.goal"),
     {"syntax.goal:3:1: expected \"b\", found \"x\""}},
    {"TraceWithACycle",
     WithWorkload("kind: trace, format: goal, file: cycle.goal"),
     {"cycle.goal:3:1: operations wait for each other: 0:a -> 0:b -> 0:a"}},
    {"TraceWithAWrongCount",
     WithWorkload("kind: trace, format: htsim_cm, file: short.cm"),
     {"short.cm:2:1: 2 connections announced, 1 found"}},
    {"TraceThatIsTooLarge",
     WithWorkload("kind: trace, format: hpcc, file: wide.txt"),
     {"workload[0].ranks: 10 ranks at 1 a host need 10 hosts, there are 8"}},
    {"TraceWithoutItsFile",
     WithWorkload("kind: trace, format: chakra, ranks: 2, file: app"),
     {"workload[0].file: ", "app.0.et"}},
    {"UnknownResequencing",
     kGood + "transport: {kind: dctcp, resequencing: jugler}\n",
     {"x.yaml:4:40: transport.resequencing.kind: no resequencing is called \"jugler\"; did you "
      "mean "
      "\"juggler\"?"}},
    {"ResequencingTimeoutOfNothing",
     kGood + "transport: {kind: rocev2, resequencing: {kind: timeout, timeout: 0us}}\n",
     {"transport.resequencing.timeout: \"0us\" is out of range; expected a duration > 0ps"}},
    {"ResequencingLimitWithoutARoom",
     kGood + "transport: {kind: dctcp, resequencing: {kind: timeout, flow_packets: 0}}\n",
     {"transport.resequencing.flow_packets: \"0\" is out of range"}},
    {"ResequencingWithAnothersSetting",
     kGood + "transport: {kind: dctcp, resequencing: {kind: timeout, ofo_timeout: 5us}}\n",
     {"transport.resequencing.ofo_timeout: unknown key"}},
    {"JugglerTimeoutsTheWrongWayRound",
     kGood + "transport: {kind: dctcp, resequencing: {kind: juggler, inseq_timeout: 200us}}\n",
     {"x.yaml:4:40: transport.resequencing.ofo_timeout: is less than inseq_timeout"}},
    {"PrestosReceiverWithoutPresto",
     kGood + "transport: {kind: dctcp, resequencing: presto_gro}\n",
     {"x.yaml:4:40: transport.resequencing: presto_gro needs flowcells, which only lb: presto "
      "makes; use timeout or juggler"}},
    {"MissingKind",
     kTopology + "lb: {gap: 1us}\n" + kWorkload,
     {"x.yaml:2:5: lb.kind: is missing; expected: ", " | ecmp | "}},
    {"AnotherKeyForTheKind",
     kTopology + "lb: {type: letflow}\n" + kWorkload,
     {"x.yaml:2:5: lb.kind: is missing; expected: ",
      "x.yaml:2:6: lb.type: unknown key; did you mean \"kind\"?"},
     "",
     "2 errors"},
    {"MissingRequiredKeys",
     kLb,
     {"x.yaml:1:1: topology: is missing", "x.yaml:1:1: workload: is missing"},
     "",
     "2 errors"},
    {"MissingRequiredNestedKey",
     WithWorkload("kind: permutation"),
     {"x.yaml:3:12: workload[0].size: is missing; expected: size"}},
    {"AMapWhereAValueBelongs", kGood + "seed: {a: 1}\n", {"4:7: seed: a map where a value"}},
    {"AMapWhereAListBelongs",
     kTopology + kLb + "workload: {kind: permutation, size: 1KB}\n",
     {"x.yaml:3:11: workload: a map where a list of maps is expected"}},
    {"ATextWhereAListBelongs",
     WithTopology("asymmetry: [{links: leaf0-spine1, rate: 1Gbps}]"),
     {"topology.asymmetry[0].links: \"leaf0-spine1\" where a list of text is expected; write "
      "[leaf0-spine1]"}},
    {"AListWhereAMapBelongs", kGood + "measure: [1]\n", {"4:10: measure: a list where a map"}},
    {"NothingWhereAValueBelongs", kGood + "seed:\n", {"seed: nothing where a value is expected"}},
    {"EmptyWorkload", kTopology + kLb + "workload: []\n", {"3:11: workload: names no workload"}},
    {"NameWithASlash", kGood + "name: ../../etc\n", {"4:7: name: cannot be the name of a folder"}},

    // Quantities.
    {"MissingUnit",
     WithTopology("host_link: {delay: 5}"),
     {"x.yaml:1:90: topology.host_link.delay: \"5\" has no unit; write \"5us\""}},
    {"UnknownUnit",
     WithTopology("host_link: {rate: 10gbps}"),
     {"topology.host_link.rate: \"10gbps\" has an unknown unit \"gbps\"; did you mean \"Gbps\"? "
      "(units: "
      "bps, Kbps"}},
    {"SpaceBeforeTheUnit", WithTopology("host_link: {rate: 10 Gbps}"), {"without a space"}},
    {"NegativeRate",
     WithTopology("host_link: {rate: -10Gbps}"),
     {"\"-10Gbps\" is out of range; expected a rate >= 1Mbps"}},
    {"ZeroRate", WithTopology("host_link: {rate: 0Gbps}"), {"out of range; expected a rate"}},
    {"ZeroDelay",
     WithTopology("host_link: {delay: 0us}"),
     {"\"0us\" is out of range; expected a duration > 0ps"}},
    {"FractionOfAPicosecond",
     WithTopology("host_link: {delay: 0.1ps}"),
     {"\"0.1ps\" is not a whole number of ps"}},
    {"HugeQuantity",
     WithTopology("host_link: {rate: 99999999999999999999999Tbps}"),
     {"is too large"}},
    {"EndlessDigits",
     WithTopology("host_link: {rate: " + std::string(60, '9') + "Gbps}"),
     {"x.yaml:1:89: topology.host_link.rate:"}},
    {"OctalInteger", kGood + "seed: 010\n", {"4:7: seed: \"010\" starts with a zero"}},
    {"HexInteger", kGood + "seed: 0x10\n", {"\"0x10\" is not a whole number in decimal digits"}},
    {"ExponentInteger", kGood + "seed: 1e3\n", {"\"1e3\" is not a whole number"}},
    {"FractionalInteger", kGood + "seed: 1.5\n", {"\"1.5\" is not a whole number"}},
    {"IntegerOverflow", kGood + "seed: 99999999999999999999\n", {"is too large"}},
    {"NegativeSeed", kGood + "seed: -1\n", {"4:7: seed: \"-1\" is out of range"}},
    {"NeitherTrueNorFalse",
     WithWorkload("kind: permutation, size: 1KB, measured: yes"),
     {"3:53: workload[0].measured: \"yes\" is neither true nor false"}},
    {"InfiniteNumber", WithPoisson("sizes: small, load: .inf"), {"\".inf\" is not a number"}},
    {"PercentageWhereANumberBelongs",
     WithPoisson("sizes: small, load: 50%"),
     {"workload[0].load: \"50%\" is not a number; write 0.5"}},
    {"DivisionByZero", WithPoisson("sizes: small, load: 1/0"), {"not a number or a fraction"}},

    // Networks.
    {"TooManyHosts",
     "topology: {kind: leaf_spine, leaves: 300, spines: 2, hosts_per_leaf: 300}\n" + kLb +
         kWorkload,
     {"topology.hosts_per_leaf: more than 65536 hosts in all"}},
    {"OneHost",
     "topology: {kind: leaf_spine, leaves: 1, spines: 1, hosts_per_leaf: 1}\n" + kLb + kWorkload,
     {"at least two hosts are needed"}},
    {"LinkThatDoesNotExist",
     WithTopology("asymmetry: [{links: [leaf0-spine9], rate: 1Gbps}]"),
     {"x.yaml:1:92: topology.asymmetry[0].links[0]: no link is called \"leaf0-spine9\"",
      "leaf0-spine0 to leaf1-spine1"}},
    {"SpineThatDoesNotExist",
     WithTopology("asymmetry: [{spines: [2], rate: 1Gbps}]"),
     {"topology.asymmetry[0].spines[0]: there is no spine 2; there are 2, numbered from 0"}},
    {"TooManyRandomSpines",
     WithTopology("asymmetry: [{random_spines: 3, rate: 1Gbps}]"),
     {"random_spines: 3 are to be chosen, but there are only 2"}},
    {"AsymmetryOfNothing",
     WithTopology("asymmetry: [{rate: 1Gbps}]"),
     {"topology.asymmetry[0].links: names no link"}},
    {"AsymmetryWithoutADifference",
     WithTopology("asymmetry: [{spines: [0]}]"),
     {"topology.asymmetry[0].rate: nothing differs"}},
    {"BufferSmallerThanAPacket",
     WithTopology("port: {buffer: 1KB}"),
     {"topology.port.buffer: holds 1000 bytes, less than a full packet of 1518"}},
    {"BufferOfNothing", WithTopology("port: {buffer: 0pkts}"), {"expected more than nothing"}},
    {"MixedUnitsOfBufferAndEcn",
     WithTopology("port: {buffer: 100pkts, ecn_above: 30KB}"),
     {"topology.port.ecn_above: counts in another unit than buffer"}},

    // Queues, memory and pauses.
    {"UnknownScheduler",
     WithPort("scheduler: wrr"),
     {"x.yaml:1:89: topology.port.scheduler: ", "(known: strict, strict0_rr, dwrr)"}},
    {"UnknownMarking",
     WithPort("marking: wred"),
     {"topology.port.marking: ", "(known: auto, step, red)"}},
    {"UnknownPlaceOfMarking",
     WithPort("mark_at: ingress"),
     {"topology.port.mark_at: ", "expected one of: auto, enqueue, dequeue"}},
    {"UnknownMemoryModel",
     WithPort("memory: {model: dynamic}"),
     {"x.yaml:1:94: topology.port.memory.model: ",
      "expected one of: static, dt, hpcc_mmu, broadcom_mmu"}},
    {"MaxBelowMin",
     WithPort("red: {min: 30KB, max: 20KB}"),
     {"x.yaml:1:100: topology.port.red.max: is less than min"}},
    {"MaxThatFollowsBelowMin",
     WithPort("marking: red, red: {min: 1MB}"),
     {"x.yaml:1:103: topology.port.red.min: at 10Gbps: max would be less than min; set max as "
      "well"}},
    {"ProbabilityAboveOne",
     WithPort("red: {probability: 1.1}"),
     {"topology.port.red.probability: \"1.1\" is out of range; expected a number >= 0 <= 1"}},
    {"QuantaOfNineClasses",
     WithPort("scheduler: dwrr, quanta: [1KB, 1KB, 1KB, 1KB, 1KB, 1KB, 1KB, 1KB, 1KB]"),
     {"x.yaml:1:103: topology.port.quanta: there are 8 classes"}},
    {"QuantumOfNothing",
     WithPort("scheduler: dwrr, quanta: [1KB, 0B]"),
     {"topology.port.quanta[1]: \"0B\" is out of range; expected a size >= 1B"}},
    {"QuantumWithoutAUnit",
     WithPort("scheduler: dwrr, quanta: [3]"),
     {"topology.port.quanta[0]: \"3\" has no unit"}},
    {"AlphaOfZero",
     WithPort("memory: {model: dt, alpha: 0}"),
     {"x.yaml:1:105: topology.port.memory.alpha: \"0\" is out of range; expected a number > 0 <= "
      "1024"}},
    {"AlphaInOfZero",
     WithPort("memory: {model: broadcom_mmu, alpha_in: 0}"),
     {"topology.port.memory.alpha_in: \"0\" is out of range"}},
    {"ReserveTooLarge",
     WithPort("memory: {model: hpcc_mmu, reserve: 2MB}"),
     {"topology.port.memory.reserve: \"2MB\" is out of range; expected a size >= 0B <= 1MB"}},
    {"MemoryWithoutAUnit",
     WithPort("memory: {model: dt, size: 9}"),
     {"topology.port.memory.size: \"9\" has no unit"}},
    {"MemoryLessThanItsReserves",
     WithPort("memory: {model: hpcc_mmu, size: 192KB}"),
     {"x.yaml:1:110: topology.port.memory.size: is 192KB, of which headroom and reserves take "
      "192000 at leaf0 with its 6 ports; set at least 201108B"}},
    {"MemoryLessThanItsHeadroom",
     RdmaWithPort("memory: {model: dt, size: 35KB}, pfc: {classes: [3]}"),
     {"topology.port.memory.size: is 35KB, of which headroom and reserves take 35172 at leaf0 with "
      "its 6 ports; set at least 41688B"}},
    {"LosslessControl",
     RdmaWithPort("pfc: {classes: [0]}"),
     {"topology.port.pfc.classes[0]: \"0\" is out of range; expected an integer >= 1 <= 7"}},
    {"LosslessClassThatDoesNotExist",
     RdmaWithPort("pfc: {classes: [3, 8]}"),
     {"topology.port.pfc.classes[1]: \"8\" is out of range"}},
    {"LosslessClassOfAcks",
     WithPort("pfc: {classes: [1]}"),
     {"x.yaml:1:93: topology.port.pfc.classes: ACKs are in class 1, and must not be paused; "
      "give them a class of their own by transport.control_priority"}},
    {"HeadroomTooSmall",
     RdmaWithPort("pfc: {classes: [3], headroom: 5KB}"),
     {"x.yaml:1:108: topology.port.pfc.headroom: is 5KB, but host0-leaf0 needs 5862 bytes so that "
      "nothing is lost; leave it auto, set at least that, or allow_loss: true"}},
    {"XoffOfLessThanAPacket",
     RdmaWithPort("pfc: {classes: [3], xoff: 1KB}"),
     {"x.yaml:1:104: topology.port.pfc.xoff: an input of leaf0 may hold 1000 bytes before it "
      "pauses its sender, and 5862 more as headroom; a packet has 1086 bytes, so set more"}},
    {"BufferThatHeadroomUsesUp",
     RdmaWithPort("buffer: 6KB, ecn_above: 3KB, pfc: {classes: [3]}"),
     {"x.yaml:1:86: topology.port.buffer: an input of leaf0 may hold 138 bytes before it "}},
    {"ResumeOffsetOfNothing",
     RdmaWithPort("pfc: {classes: [3], resume_offset: 0B}"),
     {"topology.port.pfc.resume_offset: \"0B\" is out of range; expected a size >= 1B"}},
    {"ResponseTooLong",
     RdmaWithPort("pfc: {classes: [3], response: 2ms}"),
     {"topology.port.pfc.response: \"2ms\" is out of range; expected a duration >= 0ps <= 1ms"}},
    {"PauseOfTooManyQuanta",
     RdmaWithPort("pfc: {classes: [3], quanta: 65536}"),
     {"topology.port.pfc.quanta: \"65536\" is out of range; expected an integer >= 1 <= 65535"}},
    {"RefreshOfPausesThatLast",
     RdmaWithPort("pfc: {classes: [3], refresh: never}"),
     {"topology.port.pfc.refresh: needs pauses that expire: set quanta, too"}},
    {"RefreshIntervalOfPausesThatLast",
     RdmaWithPort("pfc: {classes: [3], refresh_interval: 1us}"),
     {"topology.port.pfc.refresh_interval: needs pauses that expire: set quanta, too"}},
    {"RefreshIntervalWithoutTimer",
     RdmaWithPort("pfc: {classes: [3], quanta: 10, refresh: arrivals, refresh_interval: 1us}"),
     {"topology.port.pfc.refresh_interval: is only for refresh: timer"}},
    {"LimitOfLosslessQueuesElsewhere",
     RdmaWithPort("memory: {model: dt, limit_lossless: true}, pfc: {classes: [3]}"),
     {"topology.port.memory.limit_lossless: needs model: broadcom_mmu"}},
    {"PausesThatEndTooEarly",
     RdmaWithPort("pfc: {classes: [3], quanta: 100, refresh: never}"),
     {"topology.port.pfc.refresh: a pause can end while the input still holds too much; if "
      "lossless "
      "classes may lose packets set pfc.allow_loss: true"}},
    {"PausesThatAreRefreshedTooLate",
     RdmaWithPort("pfc: {classes: [3], quanta: 100, refresh_interval: 1ms}"),
     {"topology.port.pfc.refresh_interval: a pause of host0-leaf0 can end before the next one "
      "comes; if lossless"}},
    {"PausesShorterThanAPacket",
     RdmaWithPort("pfc: {classes: [3], quanta: 10}"),
     {"topology.port.pfc.quanta: a pause of host0-leaf0 can end before the next one comes"}},
    {"LimitOfLosslessQueues",
     RdmaWithPort("memory: {model: broadcom_mmu, limit_lossless: true}, pfc: {classes: [3]}"),
     {"topology.port.memory.limit_lossless: full queues drop packets; if lossless"}},
    {"NoLineRate",
     WithPort("buffer: 1MB") + "transport: {kind: rocev2, line_rate: 0bps}\n",
     {"transport.line_rate: \"0bps\" is out of range; expected a rate > 0bps"}},
    {"UnknownScan",
     RdmaWithPort("pfc: {classes: [3], resume_scan: some}"),
     {"topology.port.pfc.resume_scan: ", "expected one of: self, all"}},

    {"OddK", OnFatTree("k: 5"), {"x.yaml:1:31: topology.k: is 5, which is odd"}},
    {"FatTreeOfTooManyHosts",
     OnFatTree("k: 66"),
     {"x.yaml:1:31: topology.k: more than 65536 hosts in all"}},
    {"EdgesWithTooManyHosts",
     OnFatTree("k: 32, hosts_per_edge: 129"),
     {"x.yaml:1:51: topology.hosts_per_edge: more than 65536 hosts in all"}},
    {"FatTreeOfTooManyLinks",
     OnFatTree("k: 228, hosts_per_edge: 1"),
     {"topology.k: more than 4000000 links in all"}},
    {"FatTreeOfTooManyCores",
     OnFatTree("k: 4, core_links_per_agg: 32761"),
     {"topology.core_links_per_agg: more than 65535 switches in all"}},
    {"CoreThatDoesNotExist",
     OnFatTree("k: 4, asymmetry: [{cores: [4], rate: 1Gbps}]"),
     {"topology.asymmetry[0].cores[0]: there is no core 4; there are 4, numbered from 0"}},
    {"LinkThatAFatTreeDoesNotHave",
     OnFatTree("k: 4, asymmetry: [{links: [edge0-agg2], rate: 1Gbps}]"),
     {"no link is called \"edge0-agg2\"; links are called host0-edge0 to host15-edge7 and "
      "edge0-agg0 to edge7-agg7 and agg0-core0 to agg7-core3"}},
    {"SpinesInAFatTree",
     OnFatTree("k: 4, asymmetry: [{spines: [0], rate: 1Gbps}]"),
     {"topology.asymmetry[0].spines: unknown key"}},

    // Networks link by link.
    {"LinkOfAnUnknownSwitch",
     Custom("", ", {a: tor, b: tro}"),
     {"x.yaml:1:121: topology.links[2].b: no switch is called \"tro\", and hosts are host0 to "
      "host1; "
      "did you mean \"tor\"?"}},
    {"LinkOfAnUnknownHost",
     Custom("", ", {a: host2, b: tor}"),
     {"topology.links[2].a: no switch is called \"host2\", and hosts are host0 to host1"}},
    {"LinkWithoutAnEnd", Custom("", ", {a: tor}"), {"topology.links[2].b: is missing"}},
    {"LinkToItself", Custom("", ", {a: tor, b: tor}"), {"topology.links[2]: links tor to itself"}},
    {"LinkOfTwoHosts",
     Custom("", ", {a: host2, b: host3}", 4),
     {"topology.links[2]: links host2 to host3; a host must be linked to a switch"}},
    {"HostWithUnlikeLinks",
     Custom(", {name: other}", ", {a: other, b: host1, delay: 7us}"),
     {"topology.links[2]: has another rate or delay than the first link of host1; all links "
      "of a host must have the same"}},
    {"HostWithoutALink", Custom("", "", 3), {"topology.links: host2 has no link"}},
    {"HostsWithoutLinks", Custom("", "", 9), {"host2 has no link, nor have 6 more"}},
    {"SwitchWithoutAWayToAHost",
     Custom(", {name: x}, {name: y}", ", {a: x, b: y}"),
     {"topology.links: x has no path to any host"}},
    {"HostsThatCannotReachEachOther",
     Custom(", {name: other}", ", {a: other, b: host2}", 3),
     {"x.yaml:1:11: topology: other cannot reach tor, and 1 more pair"}},
    {"SwitchNamedTwice",
     Custom(", {name: tor}", ""),
     {"topology.switches[1].name: something else is called \"tor\""}},
    {"SwitchNamedAsAHost",
     Custom(", {name: host1}", ""),
     {"topology.switches[1].name: something else is called \"host1\""}},
    {"SwitchWithACommaInItsName",
     Custom(", {name: 'a,b'}", ""),
     {"topology.switches[1].name: \"a,b\" is no name; use letters"}},
    {"SwitchOfABadTier",
     Custom(", {name: x, tier: high}", ""),
     {"topology.switches[1].tier: \"high\" is not a whole number"}},
    {"LinkOfABadRate",
     Custom("", ", {a: tor, b: tor, rate: 10}"),
     {"topology.links[2].rate: \"10\" has no unit"}},
    {"CustomWithoutAnything",
     "topology: custom\n" + kLb + kWorkload,
     {"topology.links: set hosts, switches and links, or file"}},
    {"CustomOfBothKinds",
     "topology: {kind: custom, hosts: 2, file: net.txt}\n" + kLb + kWorkload,
     {"topology.file: describes the whole network; leave out hosts"}},

    // Errors in the loss of a schedule.
    {"LossOfNoProbability",
     kGood + "schedule:\n  - {at: 1us, links: [leaf0-spine0], loss: 2}\n",
     {"x.yaml:5:44: schedule[0].loss: \"2\" is out of range; expected a number >= 0 <= 1"}},
    {"DropOfALink",
     kGood + "schedule:\n  - {at: 1us, links: [leaf0-spine0], drop: 0.1}\n",
     {"x.yaml:5:22: schedule[0].links: drop and blackhole concern switches; name these in "
      "switches"}},
    {"BlackholeOfAnUnknownHost",
     kGood + "schedule:\n  - {at: 1us, switches: [spine0], blackhole: {to: [1, 8]}}\n",
     {"x.yaml:5:55: schedule[0].blackhole.to[1]: there is no host 8; hosts are 0 to 7"}},

    // Networks from files.
    {"MissingLinkFile",
     OnFile("no.txt"),
     {"x.yaml:1:32: topology.file: ", "no.txt cannot be read"}},
    {"LinkFileThatIsAFolder", OnFile("."), {"is a folder; a file is expected"}},
    {"EmptyLinkFile",
     OnFile("empty.cdf"),
     {"empty.cdf:1:1: topology.file: expected the numbers of nodes, switches and links"}},
    {"LinkFileOfManyMistakes",
     OnFile("net.txt"),
     {"net.txt:3:1: topology.file: \"7\" is out of range; expected an integer >= 0 <= 5",
      "net.txt:4:1: topology.file: 4 4 links switch4 to itself",
      "net.txt:5:1: topology.file: 0 1 links host0 to host1; a host must be linked to a switch",
      "net.txt:7:1: topology.file: 0 5 has another rate or delay than the first link of host0; "
      "all links of a host must have the same",
      "net.txt:8:5: topology.file: \"100\" has no unit",
      "net.txt:9:13: topology.file: \"1\" has no unit",
      "net.txt:10:17: topology.file: the error rate must be 0",
      "net.txt:11:1: topology.file: has 4 columns; expected two nodes",
      "net.txt:12:3: topology.file: \"five\" is not a whole number",
      "net.txt:13:1: topology.file: goes on after the 10 links"},
     "",
     "10 errors"},
    {"LinkFileThatEndsEarly",
     OnFile("short.txt"),
     {"short.txt:4:1: topology.file: ends after 2 links; the first line says 3"}},
    {"LinkFileWithAHostThatHasNoLink",
     OnFile("lonely.txt"),
     {"lonely.txt:4:1: topology.file: host2 has no link"}},
    {"LinkFileWithTooFewSwitches",
     OnFile("listed.txt"),
     {"listed.txt:2:1: topology.file: lists 1 switches; the first line says 2"}},
    {"LinkFileWithASwitchTwice",
     OnFile("twice.txt"),
     {"twice.txt:2:3: topology.file: lists switch 3 twice"}},
    {"LinkFileWithoutHosts",
     OnFile("hostless.txt"),
     {"hostless.txt:1:1: topology.file: leaves 1 hosts; at least two are needed"}},
    {"LinkFileOfWords", OnFile("bad.cdf"), {"bad.cdf:1:1: topology.file: expected the numbers"}},

    // Transports.
    {"MinRtoAboveMaxRto",
     kGood + "transport: {kind: dctcp, min_rto: 3s}\n",
     {"transport.max_rto: is less than min_rto"}},
    {"ProbesWithoutRack",
     kGood + "transport: {kind: dctcp, tlp: true}\n",
     {"transport.tlp: needs loss: rack"}},
    {"RackWithoutSack",
     kGood + "transport: {kind: tcp, loss: rack, recovery: newreno}\n",
     {"transport.recovery: loss: rack, tlp, rescue, prr, undo and reordering_adapt need sack"}},
    {"SettingOfAnotherTransport",
     kGood + "transport: {kind: tcp, alpha0: 1}\n",
     {"x.yaml:4:24: transport.alpha0: unknown key"}},
    {"HpccAimsAtMoreThanALink",
     kGood + "transport: {kind: rocev2, cc: {kind: hpcc, eta: 1.5}}\n",
     {"x.yaml:4:49: transport.cc.eta: \"1.5\" is out of range; expected a number > 0 <= 1"}},
    {"HpccIncreaseSetTwice",
     kGood + "transport: {kind: rocev2, cc: {kind: hpcc, w_ai: 80B, ai_rate: 50Mbps}}\n",
     {"x.yaml:4:64: transport.cc.ai_rate: w_ai says the same; leave one of them out"}},
    {"HpccOverTooManySwitches",
     Custom(", {name: b}, {name: c}, {name: d}, {name: e}, {name: f}, {name: g}",
            ", {a: tor, b: b}, {a: b, b: c}, {a: c, b: d}, {a: d, b: e}, {a: e, b: f}, {a: f, b: "
            "g}, {a: host2, b: g}",
            3) +
         "transport: {kind: rocev2, cc: hpcc}\n",
     {"x.yaml:4:31: transport.cc: needs telemetry from every switch on a path, and a packet "
      "carries telemetry of at most 6 switches; hosts are 7 switches apart"}},

    // Workloads.
    {"LoadOfZero", WithPoisson("sizes: small, load: 0"), {"load: \"0\" is out of range"}},
    {"TooMuchLoad",
     WithPoisson("sizes: small, load: 1.2"),
     {"workload[0].load: offers 1.2 of the hosts' links", "set overload: true"}},
    {"NoEnd",
     WithWorkload("kind: poisson, sizes: small, load: 0.5"),
     {"workload[0].duration: set duration, flows or both"}},
    {"UnknownSizes",
     WithPoisson("sizes: websaerch, load: 0.5"),
     {"workload[0].sizes: no size distribution is called \"websaerch\"; did you mean"}},
    {"MissingCdf",
     WithPoisson("sizes: 'file:no.cdf', load: 0.5"),
     {"no.cdf cannot be read: No such"}},
    {"EmptyCdf", WithPoisson("sizes: 'file:empty.cdf', load: 0.5"), {"at least two points"}},
    {"NonMonotoneCdf",
     WithPoisson("sizes: 'file:bad.cdf', load: 0.5"),
     {"bad.cdf:3: the share 0.2 is less than the one before"}},
    {"FlowTooLargeToNumber",
     WithWorkload("kind: permutation, size: 9TB"),
     {"x.yaml:3:38: workload[0].size: is more than the transport can number in one flow: "}},
    {"MissingFlowList", WithWorkload("kind: flows, file: no.csv"), {"no.csv cannot be read"}},
    {"FlowToItself",
     WithWorkload("kind: flows, file: self.csv"),
     {"self.csv:2:1: host 3 sends to itself"}},
    {"FlowListWithSemicolons",
     WithWorkload("kind: flows, file: semicolons.csv"),
     {"semicolons.csv:1:1: has semicolons between its cells; commas are expected"}},
    {"FlowOfAHostThatDoesNotExist",
     WithWorkload("kind: flows, file: far.csv"),
     {"far.csv:2:1: src: 8 is out of range; expected 0 to 7",
      "far.csv:3:1: dst: 9 is out of range"},
     "",
     "2 errors"},
    {"ReceiverThatDoesNotExist",
     WithWorkload("kind: incast, fan_in: 2, bytes_each: 1KB, receiver: 8"),
     {"workload[0].receiver: there is no host 8; there are 8, numbered from 0"}},
    {"FanInTooLarge",
     WithWorkload("kind: incast, fan_in: 8, bytes_each: 1KB"),
     {"workload[0].fan_in: 8 hosts are to answer, but only 7 can"}},
    {"NeitherBytesEachNorTotal",
     WithWorkload("kind: incast, fan_in: 2"),
     {"workload[0].bytes_each: set either bytes_each or bytes_total"}},
    {"BothBytesEachAndTotal",
     WithWorkload("kind: incast, fan_in: 2, bytes_each: 1KB, bytes_total: 1KB"),
     {"set either bytes_each or bytes_total"}},

    // Errors in `measure`.
    {"UnknownClassSet",
     kGood + "measure: {classes: [all, smlx]}\n",
     {"x.yaml:4:26: measure.classes[1]: no class set is called \"smlx\"; did you mean"}},
    {"NoClassSet", kGood + "measure: {classes: []}\n", {"classes: name at least one class set"}},
    {"NoIntervalToRecordAt",
     kGood + "measure: {record: {queues: 0us}}\n",
     {"x.yaml:4:28: measure.record.queues: \"0us\" is out of range"}},
    {"RecordUnknown",
     kGood + "measure: {record: {queue: 10us}}\n",
     {"x.yaml:4:20: measure.record.queue: unknown", "queues"}},
    {"PathsWithoutPauses",
     kGood + "measure: {record: {paths: true}}\n",
     {"x.yaml:4:27: measure.record.paths: needs an interval, such as \"pauses: 1ms\""}},
    {"WarmUpTooLong",
     WithPoisson("sizes: small, load: 0.5, duration: 1ms") + "measure: {warm_up: 2ms}\n",
     {"x.yaml:4:20: measure.warm_up: nothing is left to measure"}},
    {"TMaxBeforeAnythingIsMeasured",
     WithWorkload("kind: permutation, size: 1KB, start: 1ms") + "measure: {t_max: 500us}\n",
     {"x.yaml:4:18: measure.t_max: ends before anything is measured"}},
    {"NothingMeasured",
     WithWorkload("kind: permutation, size: 1KB, measured: false"),
     {"workload: nothing is measured"}},

    // Sweeps and the command line.
    {"SweepThatIsNoMap", kGood + "sweep: [lb]\n", {"x.yaml:4:8: sweep: expected a map"}},
    {"EmptySweepAxis", kGood + "sweep: {lb: []}\n", {"sweep.lb: expected a list of values"}},
    {"OneSeedWhereSeveralBelong",
     kGood + "sweep: {seed: 3}\n",
     {"sweep.seed: expected a list of values", "; for 3 seeds, write \"seeds: 3\"\n"}},
    {"MistakeInASweep",
     kGood + "sweep: {seed: [1, two]}\n",
     {"x.yaml:4:19: seed: \"two\" is not a whole number"}},
    {"SetWithoutAValue", kGood, {"--set seed: expected path.to.key=value"}, "--set seed"},
    {"SetOfABadPath", kGood, {"--set a..b=1: a..b: is not the path"}, "--set a..b=1"},
    {"SetOfABadIndex",
     kGood,
     {"--set workload[7].size=1KB: workload[7].size: there is no element 7; the list has 1"},
     "--set 'workload[7].size=1KB'"},
    {"SetOfANewElement",
     kGood,
     {"workload[1].kind: is missing", "; there is no workload[1] to change, so --set adds it"},
     "--set 'workload[1].load=0.2'"},
    {"SetOfAnUnknownKey", kGood, {"--set lb.gap=1us: lb.gap: unknown key"}, "--set lb.gap=1us"},
    {"SetBelowAValue", kGood, {"--set seed.a=1: seed: "}, "--set seed=1 --set seed.a=1"},
    {"SetOfABadValue",
     kGood,
     {"--set seed=[", "not valid YAML: end of sequence flow not found"},
     "--set 'seed=['"},
    {"SeedTooLarge",
     kGood,
     {"--seed: seed: \"18446744073709551615\" is too large"},
     "--seed 18446744073709551615"},

    // All at once.
    {"SeveralMistakes",
     "seed: x\n"
     "topology: {kind: leaf_spine, leaves: 0, spines: 2, hosts_per_leaf: 4}\n"
     "lb: {kind: letflow, gap: 100, slot: 3}\n"
     "workload:\n  - {kind: poisson, sizes: small, load: high}\n  - {kind: flow}\n"
     "measure: {unfinished: ignore}\n",
     {"x.yaml:1:7: seed: \"x\"", "x.yaml:2:38: topology.leaves: \"0\" is out of range",
      "x.yaml:3:26: lb.gap: \"100\" has no unit; write \"100us\"",
      "x.yaml:3:31: lb.slot: unknown key; did you mean \"slots\"?",
      "x.yaml:5:41: workload[0].load: \"high\" is not a number",
      "x.yaml:6:12: workload[1].kind: no workload is called \"flow\"; did you mean \"flows\"?",
      "x.yaml:6:5: workload[1].file: is missing", "x.yaml:7:23: measure.unfinished: "},
     "",
     "8 errors"},
    // A reader that stops at its first mistake would hide the next of these.
    {"MistakesOfEveryStep",
     "seed: 1\nseed: 2\n"
     "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4, host_link: {rate: "
     "10}}\n"
     "lb: {kind: letflw, gap: 100}\n"
     "workload: [{kind: poisson, sizes: websaerch, load: 0.5, flows: 10, duration: "
     "5}]\n",
     {"x.yaml:2:1: seed: occurs twice", "topology.host_link.rate: \"10\" has no unit",
      "lb.kind: no load balancer is called \"letflw\"", "lb.gap: \"100\" has no unit",
      "x.yaml:5:35: workload[0].sizes: no size distribution",
      "workload[0].duration: \"5\" has no unit"},
     "",
     "6 errors"},
    {"SeveralPointsOfASweep",
     WithPoisson("sizes: small, load: 0.5") +
         "sweep: {lb: [ecmp, {kind: letflow, gap: 10}], 'workload[0].load': [0.1, 1.2]}\n",
     {"x.yaml:4:41: lb.gap: \"10\" has no unit", "x.yaml:4:73: workload[0].load: "},
     "",
     "2 errors"},

    // The background.
    {"BackgroundThatIsNoList",
     kGood + "background: {rate: 1Gbps}\n",
     {"x.yaml:4:13: background: a map where a list of maps is expected"}},
    {"BackgroundFromNowhere",
     WithBackground("rate: 1Gbps"),
     {"x.yaml:4:14: background[0].from: set either from and to, or hosts"}},
    {"BackgroundFromHereAndThere",
     WithBackground("from: [0], to: [1], hosts: 0.5, rate: 1Gbps"),
     {"x.yaml:4:21: background[0].from: set either from and to, or hosts"}},
    {"BackgroundToNobody",
     WithBackground("from: [0], rate: 1Gbps"),
     {"background[0].to: goes with from"}},
    {"BackgroundThatDoesNotPair",
     WithBackground("from: [0, 1], to: [2, 3, 4], rate: 1Gbps"),
     {"x.yaml:4:33: background[0].to: names more or fewer hosts than from; name as many, or one"}},
    {"BackgroundOfUnknownHosts",
     WithBackground("from: [0, 9], to: [8], rate: 1Gbps"),
     {"x.yaml:4:25: background[0].from[1]: there is no host 9; there are 8, numbered from 0",
      "x.yaml:4:34: background[0].to[0]: there is no host 8"},
     "",
     "2 errors"},
    {"BackgroundToItself",
     WithBackground("from: [0, 1], to: [4, 1], rate: 1Gbps"),
     {"background[0].to[1]: host 1 sends to itself"}},
    {"BackgroundWithoutARate",
     WithBackground("from: [0], to: [1]"),
     {"background[0].rate: set either rate or load"}},
    {"BackgroundWithTwoRates",
     WithBackground("from: [0], to: [1], rate: 1Gbps, load: 0.1"),
     {"x.yaml:4:41: background[0].rate: set either rate or load"}},
    {"BackgroundWithoutAnything",
     WithBackground("from: [0], to: [1], rate: 0Gbps"),
     {"background[0].rate: \"0Gbps\" is out of range; expected a rate > 0bps"}},
    {"BackgroundFasterThanItsLink",
     WithBackground("from: [0], to: [1], rate: 11Gbps"),
     {"x.yaml:4:41: background[0].rate: with all traffic at that time, the link of host 0 would be "
      "loaded to 1.1 times its capacity; lower it, or set overload: true"}},
    {"BackgroundThatMeetsAtOneHost",
     WithBackground("from: [0, 1, 2], to: [4], load: 0.4"),
     {"background[0].load: with all traffic at that time, the link of host 4 would be loaded to "
      "1.2 times its capacity"}},
    {"BackgroundAndFlowsTogether",
     kTopology + kLb + "workload: [{kind: poisson, sizes: small, load: 0.7, flows: 9}]\n" +
         "background: [{hosts: 1, load: 0.5, start: 1us}]\n",
     {"x.yaml:4:31: background[0].load: with all traffic at that time",
      "to 1.2 times its capacity"}},
    {"BackgroundFasterThanItsLinkWhileOn",
     WithBackground("from: [0], to: [1], rate: 4Gbps, pattern: onoff, mean_off: 2ms"),
     {"background[0].rate: host 0 would send at 12 Gbps while on, more than 10Gbps; lower it, or "
      "make mean_on longer, or set overload: true"}},
    {"BackgroundFasterThanAnything",
     WithBackground(
         "from: [0], to: [1], rate: 4Gbps, pattern: onoff, mean_on: 1ns, overload: true"),
     {"background[0].rate: host 0 would send at 4e+06 Gbps while on, more than 10Tbps; lower "
      "it, or make mean_on longer\n"}},
    {"BackgroundThatMeetsAtOneSpine",
     WithBackground("from: [0, 1, 2], to: [4, 5, 6], load: 0.4, via: spine1"),
     {"background[0].load: with all background at that time, the link leaf0-spine1 would be loaded "
      "to 1.2 times the capacity; lower it, or set overload: true"}},
    {"BackgroundThatMeetsAtOneLeaf",
     WithBackground("hosts: 1, load: 0.6, cross_rack: true"),
     {"background[0].load: with all background at that time, the uplinks of leaf0 would be loaded "
      "to 1.2 times the capacity"}},
    {"BackgroundViaNowhere",
     WithBackground("from: [0], to: [4], rate: 1Gbps, via: spine7"),
     {"x.yaml:4:53: background[0].via: no switch is called \"spine7\"; switches are called leaf0 "
      "to "
      "spine1"}},
    {"BackgroundViaASpineOnOneLeaf",
     WithBackground("from: [0], to: [1], rate: 1Gbps, via: spine1"),
     {"background[0].via: hosts 0 and 1 are on one leaf, so there is no path to choose; send "
      "to another leaf, or leave via out"}},
    {"BackgroundPerPathOnOneLeaf",
     WithBackground("from: [0], to: [1], rate: 1Gbps, per_path: true"),
     {"background[0].per_path: hosts 0 and 1 are on one leaf", "leave per_path out"}},
    {"BackgroundViaAnotherLeaf",
     "topology: {kind: leaf_spine, leaves: 3, spines: 2, hosts_per_leaf: 4}\n" + kLb + kWorkload +
         "background: [{from: [0], to: [4, 5], rate: 1Gbps, via: leaf2}]\n",
     {"background[0].via: no shortest path from host 0 to host 4 leads through leaf2; name another "
      "switch"}},
    {"BackgroundThatEndsBeforeItBegins",
     WithBackground("from: [0], to: [1], rate: 1Gbps, start: 2ms, stop: 2ms"),
     {"background[0].stop: is not after start"}},
    {"BackgroundThatBeginsTooLate",
     WithBackground("from: [0], to: [1], rate: 1Gbps, start: 2ms") + "measure: {t_max: 2ms}\n",
     {"background[0].start: is not before 2ms, where the run ends at the latest"}},
    {"BackgroundOfGiants",
     WithBackground("from: [0], to: [1], rate: 1Gbps, payload: 64KiB"),
     {"background[0].payload: \"64KiB\" is out of range; expected a size >= 12B <= 65489B"}},
    {"BackgroundThatFitsNoBuffer",
     WithTopology("port: {buffer: 5KB}") +
         "background: [{from: [0], to: [1], rate: 1Gbps, payload: 8KB}]\n",
     {"background[0].payload: makes packets of 8046 bytes, but the buffer of a port holds only "
      "5000"}},
    {"BackgroundOfAnUnknownPattern",
     WithBackground("from: [0], to: [1], rate: 1Gbps, pattern: on_off"),
     {"background[0].pattern: "}},
    {"BackgroundOfAnUnknownPriority",
     WithBackground("from: [0], to: [1], rate: 1Gbps, priority: 8"),
     {"background[0].priority: \"8\" is out of range"}},
    {"BackgroundOfTwoPrioritiesOnOneHost",
     WithBackground("from: [0], to: [1], rate: 1Gbps}, {hosts: 1, load: 0.1, priority: 3"),
     {"background[1].priority: is 3, but host 0 also sends background of class 2, and its NIC has "
      "one queue for both; use the same class"}},
    {"BackgroundAcrossRacksThatAreNotDrawn",
     WithBackground("from: [0], to: [1], rate: 1Gbps, cross_rack: true"),
     {"background[0].cross_rack: goes with hosts"}},
    {"BackgroundAcrossOneRack",
     "topology: {kind: leaf_spine, leaves: 1, spines: 1, hosts_per_leaf: 4}\n" + kLb + kWorkload +
         "background: [{hosts: 1, load: 0.1, cross_rack: true}]\n",
     {"background[0].cross_rack: needs at least two leaves that have hosts"}},
};

class BadInputTest : public testing::TestWithParam<BadInput> {};

TEST_P(BadInputTest, IsRefusedWithItsPlaceAndNothingIsWritten) {
  const BadInput& input = GetParam();
  const TemporaryFolder folder;
  folder.Write("x.yaml", input.yaml);
  folder.Write("empty.cdf", "");
  folder.Write("bad.cdf", "0 0\n100 0.5\n200 0.2\n300 1\n");
  folder.Write("self.csv", "src,dst,size_bytes,start_ps\n3,3,1,0\n");
  folder.Write("far.csv", "src,dst,size_bytes,start_ps\n8,0,1,0\n0,9,1,0\n");
  folder.Write("semicolons.csv", "src;dst;size_bytes;start_ps\n0;1;1;0\n");
  folder.Write("syntax.goal", "num_ranks 1\nrank 0 {\nsend 1x to 0\n}\n");
  folder.Write("cycle.goal",
               "num_ranks 1\nrank 0 {\na: calc 1\nb: calc 1\na requires b\nb requires a\n}\n");
  folder.Write("short.cm", "Nodes 2\nConnections 2\n0->1 start 0 size 1\n");
  folder.Write("wide.txt", "1\n0 9 3 100 1000 2\n");
  folder.Write("net.txt",
               "6 2 10\n4 5\n7 4 1Gbps 1us 0\n4 4 1Gbps 1us 0\n0 1 1Gbps 1us 0\n0 4 1Gbps 1us 0\n"
               "0 5 2Gbps 1us 0\n1 4 100 1us 0\n2 5 100Gbps 1 0\n3 5 100Gbps 1us 0.01\n"
               "2 5 100Gbps 1us\n2 five 100Gbps 1us 0\n3 5 100Gbps 1us 0\n");
  folder.Write("short.txt", "4 1 3\n3\n0 3 1Gbps 1us 0\n1 3 1Gbps 1us 0\n");
  folder.Write("lonely.txt", "4 1 2\n3\n0 3 1Gbps 1us 0\n1 3 1Gbps 1us 0\n");
  folder.Write("listed.txt", "4 2 2\n3\n0 3 1Gbps 1us 0\n1 3 1Gbps 1us 0\n");
  folder.Write("twice.txt", "5 2 2\n3 3\n0 3 1Gbps 1us 0\n1 3 1Gbps 1us 0\n");
  folder.Write("hostless.txt", "3 2 2\n1 2\n0 1 1Gbps 1us 0\n1 2 1Gbps 1us 0\n");
  const CommandResult run = RunCommand(
      std::string(HEDDLE_BINARY) + " run x.yaml -o out " + input.arguments, folder.path());
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.out, "");
  for (const std::string& expected : input.expected) EXPECT_THAT(run.err, HasSubstr(expected));
  EXPECT_THAT(run.err, EndsWith("\n" + input.count + "\n"));
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    EXPECT_TRUE(entry.is_regular_file()) << entry.path();
  }
}

INSTANTIATE_TEST_SUITE_P(All, BadInputTest, testing::ValuesIn(kBadInputs),
                         [](const auto& test) { return test.param.name; });

TEST(BadFileTest, SaysWhatIsWrongWithTheFileItself) {
  const TemporaryFolder folder;
  const std::string heddle = std::string(HEDDLE_BINARY) + " run ";
  const CommandResult missing = RunCommand(heddle + "no.yaml", folder.path());
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_EQ(missing.err, "no.yaml: cannot be read: No such file or directory\n1 error\n");
  const CommandResult directory = RunCommand(heddle + ".", folder.path());
  EXPECT_EQ(directory.exit_code, 2);
  EXPECT_EQ(directory.err, ".: is a folder; a file is expected\n1 error\n");
  const CommandResult huge = RunCommand(heddle + "/dev/zero", folder.path());
  EXPECT_EQ(huge.exit_code, 2);
  EXPECT_THAT(huge.err, HasSubstr("/dev/zero: is larger than"));
  const CommandResult several = RunCommand(heddle + "no.yaml nor.yaml", folder.path());
  EXPECT_THAT(several.err, EndsWith("\n2 errors\n"));
}

TEST(BadFileTest, TwoExperimentsMayNotShareAFolder) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "b");
  folder.Write("a.yaml", kGood);
  folder.Write("b/a.yaml", kGood);
  const CommandResult run =
      RunCommand(std::string(HEDDLE_BINARY) + " run a.yaml b/a.yaml", folder.path());
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err,
              HasSubstr("two experiments would write to results/a; give them different names"));
  EXPECT_FALSE(std::filesystem::exists(folder / "results"));
}

}  // namespace heddle::bad_input_test
