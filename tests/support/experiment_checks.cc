// SPDX-License-Identifier: Apache-2.0
// The part of random_experiment.h that checks.

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <exception>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiment/experiment.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/one_side.h"
#include "tests/support/random_experiment.h"
#include "topo/routing.h"

namespace heddle {
namespace {

const std::string kFile = "random.yaml";

// Keeps the first promises that do not hold; many rows may break the same one.
class Complaints {
 public:
  template <class... Args>
  void Expect(bool holds, fmt::format_string<Args...> promise, Args&&... args) {
    if (holds || ++count_ > 5) return;
    text_ += fmt::format(promise, std::forward<Args>(args)...) + "\n";
  }
  const std::string& text() const { return text_; }

 private:
  int count_ = 0;
  std::string text_;
};

// --- Errors ---

// Returns true for "PATH/halo.goal:4:1: takes longer than 1000 s", with a file that the experiment
// names.
bool IsOfAFile(std::string_view error) {
  if (!error.starts_with(HEDDLE_SOURCE_DIR "/")) return false;
  const size_t colon = error.find(':');
  return colon + 1 < error.size() &&
         std::isdigit(static_cast<unsigned char>(error[colon + 1])) != 0;
}

// "random.yaml:3:15: lb.gap: is not a number" or "random.yaml: lb is missing".
void CheckErrors(const Diagnostics& diagnostics, Complaints& complaints) {
  for (const std::string& error : diagnostics.errors()) {
    complaints.Expect(error.starts_with(kFile + ":") || IsOfAFile(error),
                      "an error does not say where: {}", error);
    complaints.Expect(error.find('\n') == std::string::npos, "an error is not a line: {}", error);
  }
}

// --- Files ---

std::map<std::string, std::string> ByName(const RunFiles& files) {
  std::map<std::string, std::string> all(files.series.begin(), files.series.end());
  all["flows.csv"] = files.flows;
  all["summary.csv"] = files.summary;
  all["reorder.csv"] = files.reorder;
  all["links.csv"] = files.links;
  all["lb.csv"] = files.lb;
  all["udp.csv"] = files.udp;
  all["queueing.csv"] = files.queueing;
  all["link_classes.csv"] = files.link_classes;
  all["resequencing.csv"] = files.resequencing;
  return all;
}

// The first line in which two texts differ, from both.
std::string FirstDifference(std::string_view a, std::string_view b) {
  const auto at = static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
  const size_t start = at == 0 ? 0 : a.rfind('\n', at - 1) + 1;
  const auto line = [&](std::string_view text) {
    return text.substr(std::min(start, text.size())).substr(0, text.find('\n', start) - start);
  };
  return fmt::format("\"{}\" and \"{}\"", line(a), line(b));
}

void ExpectEqual(const RunFiles& expected, const RunFiles& found, std::string_view how,
                 Complaints& complaints) {
  if (expected == found) return;
  const auto a = ByName(expected);
  const auto b = ByName(found);
  for (const auto& [name, text] : a) {
    const auto other = b.find(name);
    if (other == b.end()) {
      complaints.Expect(false, "{} is missing {}", name, how);
    } else if (other->second != text) {
      complaints.Expect(false, "{} differs {}: {}", name, how,
                        FirstDifference(text, other->second));
    }
  }
  for (const auto& [name, text] : b) {
    complaints.Expect(a.contains(name), "{} is there only {}", name, how);
  }
}

// --- One run ---

// Returns true if the shortest ways from `src` to `dst` differ in their uplinks, by which paths are
// numbered. Ways to a host with links to several switches may fork elsewhere: paths_used then
// counts several of them as one path.
bool PathsAreWays(const Routing& routing, HostId src, HostId dst) {
  std::vector<SwitchId> next;
  for (const Adjacency::Port& nic : routing.NicsOf(src)) next.push_back(routing.SwitchAt(nic.peer));
  std::set<SwitchId> seen(next.begin(), next.end());
  while (!next.empty()) {
    const SwitchId at = next.back();
    next.pop_back();
    const RoutingTable& table = routing.TableOf(at);
    const std::span<const PortIndex> ports = table.Towards(dst);
    const auto is_uplink = [&](PortIndex port) {
      return std::ranges::find(table.uplinks, port) != table.uplinks.end();
    };
    if (ports.size() > 1 && !std::ranges::all_of(ports, is_uplink)) return false;
    for (const PortIndex port : ports) {
      const VertexId peer = routing.PortsOf(at)[port].peer;
      if (routing.IsHost(peer) || !seen.insert(routing.SwitchAt(peer)).second) continue;
      next.push_back(routing.SwitchAt(peer));
    }
  }
  return true;
}

// Checks the counts of flows and packets. If links fail, flows may take detours, which may be
// faster than the shortest paths.
void CheckCounts(const Experiment& experiment, const FinishedRun& run, Complaints& complaints) {
  const Routing routing(experiment.graph);
  const bool links_fail = std::ranges::any_of(
      experiment.events, [](const LinkEvent& event) { return event.up.has_value(); });
  const SimulationResult& result = run.result;
  const PacketCounts& packets = result.packets;
  const int64_t known =
      packets.received + packets.consumed + packets.dropped_total() + packets.in_flight;
  complaints.Expect(packets.sent() == known, "{} packets sent, {} known", packets.sent(), known);
  complaints.Expect(packets.received >= 0 && packets.in_flight >= 0, "a negative count");

  const CsvTable flows(run.files.flows);
  const auto rows = static_cast<int64_t>(flows.rows.size());
  complaints.Expect(rows == result.flows_started, "{} rows of flows, {} started", rows,
                    result.flows_started);
  const bool has_subflows = std::ranges::find(flows.header, "reinjected") != flows.header.end();
  int64_t finished = 0;
  int64_t bytes = 0;
  int64_t sent = 0;
  for (size_t f = 0; f < flows.rows.size(); ++f) {
    const auto number = [&](const char* column) { return flows.Integer(f, column); };
    sent += number("pkts_sent");
    bytes += number("size_bytes");
    complaints.Expect(number("retx") == number("retx_spurious") + number("retx_loss"),
                      "flow {}: retransmissions do not add up", flows.At(f, "flow_id"));
    if (flows.At(f, "finished") != "1") continue;
    ++finished;
    // Subflows send data of each other, too.
    const int64_t copies = has_subflows ? number("reinjected") : 0;
    complaints.Expect(
        copies >= 0 && number("pkts_sent") == number("pkts") + number("retx") + copies,
        "flow {}: {} packets sent, of {}, {} again and {} on other subflows",
        flows.At(f, "flow_id"), number("pkts_sent"), number("pkts"), number("retx"), copies);
    complaints.Expect(number("rx_done_ps") <= number("tx_done_ps"),
                      "flow {}: its sender was done before its receiver", flows.At(f, "flow_id"));
    // A flow on several paths at once may be faster than alone on one of them; how much faster, the
    // run checks itself.
    complaints.Expect(links_fail || number("paths_used") > 1 || flows.Real(f, "slowdown") >= 1 ||
                          !PathsAreWays(routing, static_cast<HostId>(number("src")),
                                        static_cast<HostId>(number("dst"))),
                      "flow {}: slowdown {} on one path", flows.At(f, "flow_id"),
                      flows.At(f, "slowdown"));
  }
  complaints.Expect(finished == result.flows_finished, "{} rows of finished flows, {} finished",
                    finished, result.flows_finished);
  complaints.Expect(bytes == result.payload_started, "{} bytes in rows, {} started", bytes,
                    result.payload_started);
  complaints.Expect(sent <= packets.data_sent, "flows sent {} packets, hosts {}", sent,
                    packets.data_sent);  // A handshake may count as data.
  complaints.Expect(result.unfinished <= result.flows_started - result.flows_finished,
                    "{} measured flows unfinished, of {}", result.unfinished,
                    result.flows_started - result.flows_finished);
}

void CheckLinks(const FinishedRun& run, Complaints& complaints) {
  const CsvTable links(run.files.links);
  for (size_t row = 0; row < links.rows.size(); ++row) {
    complaints.Expect(links.Real(row, "util") <= 1.001,
                      "{} to {} is used more than all the time: {}", links.At(row, "node"),
                      links.At(row, "peer"), links.At(row, "util"));
    complaints.Expect(links.Integer(row, "payload_bytes") <= links.Integer(row, "wire_bytes"),
                      "{} to {} carries more payload than bytes", links.At(row, "node"),
                      links.At(row, "peer"));
  }
}

// Without a background there is no udp.csv, nor a datagram.
// Pauses block a flow for no longer than it lasts.
void CheckPauses(const FinishedRun& run, Complaints& complaints) {
  const CsvTable flows(run.files.flows);
  for (size_t f = 0; f < flows.rows.size(); ++f) {
    const double blocked_ns = flows.Real(f, "pause_blocked_ns");
    const int64_t start = flows.Integer(f, "start_ps");
    const int64_t end =
        flows.At(f, "tx_done_ps").empty() ? run.result.end.ps : flows.Integer(f, "tx_done_ps");
    complaints.Expect(blocked_ns >= 0 && blocked_ns * 1e3 <= static_cast<double>(end - start) + 1,
                      "flow {}: blocked by pauses for {} ns", f, blocked_ns);
  }
}

void CheckBackground(const FinishedRun& run, Complaints& complaints) {
  const CsvTable udp(run.files.udp.empty() ? "source\n" : run.files.udp);
  int64_t sent = 0;
  int64_t received = 0;
  for (size_t s = 0; s < udp.rows.size(); ++s) {
    sent += udp.Integer(s, "pkts_sent");
    received += udp.Integer(s, "pkts_received");
    complaints.Expect(udp.Integer(s, "pkts_received") + udp.Integer(s, "pkts_lost") <=
                          udp.Integer(s, "pkts_sent"),
                      "source {}: more datagrams arrive or are lost than are sent", s);
  }
  const PacketCounts& packets = run.result.packets;
  complaints.Expect(sent == packets.datagrams_sent, "{} datagrams in rows, {} sent", sent,
                    packets.datagrams_sent);
  complaints.Expect(received == packets.datagrams_received, "{} datagrams in rows, {} received",
                    received, packets.datagrams_received);
}

// Nothing fails for long, and there is time: all flows finish.
void CheckThatAllFinished(const SimulationResult& result, Complaints& complaints) {
  complaints.Expect(!result.reached_t_max, "the run did not end by itself");
  complaints.Expect(result.unfinished == 0, "{} flows are unfinished", result.unfinished);
  complaints.Expect(result.flows_finished == result.flows_started, "{} of {} flows finished",
                    result.flows_finished, result.flows_started);
  complaints.Expect(result.measured == result.flows_started, "{} of {} flows measured",
                    result.measured, result.flows_started);
  complaints.Expect(result.payload_finished == result.payload_started, "{} of {} bytes finished",
                    result.payload_finished, result.payload_started);
}

// `repeats`: RoCE may send the same packet twice without a timeout.
void CheckTameRun(const Experiment& experiment, const FinishedRun& run, bool repeats,
                  Complaints& complaints) {
  const SimulationResult& result = run.result;
  double expected = 0;
  for (const Forecast& forecast : experiment.forecasts) expected += forecast.flows;
  complaints.Expect(static_cast<double>(result.flows_started) == expected,
                    "{} flows started, {} expected", result.flows_started, expected);
  complaints.Expect(result.load.background_carried <= result.load.background_offered,
                    "more background is carried than offered");

  const CsvTable flows(run.files.flows);
  int64_t sent = 0;
  int64_t resent = 0;
  for (size_t f = 0; f < flows.rows.size(); ++f) {
    const auto number = [&](const char* column) { return flows.Integer(f, column); };
    sent += number("pkts_sent");
    resent += number("retx");
    complaints.Expect(number("fast_retx") >= number("dupack3_reorder"),
                      "flow {}: more fast retransmits are spurious than there are", f);
    if (experiment.settings.lb.kind != "ecmp") continue;
    complaints.Expect(flows.Real(f, "slowdown") >= 1, "flow {}: slowdown {}", f,
                      flows.At(f, "slowdown"));
    complaints.Expect(number("reordered_net") == 0, "flow {}: reordered on one path", f);
    complaints.Expect(number("paths_used") <= 1, "flow {}: on several paths", f);
    // After a timeout, a NACK that repeats, or IRN's next recovery, there may be copies that were
    // not needed.
    complaints.Expect(number("rto") > 0 || repeats || number("dupack3_reorder") == 0,
                      "flow {}: a spurious fast retransmit on one path", f);
  }
  // Copies that arrive after both ends have forgotten the flow are not received.
  const int64_t received = CsvTable(run.files.reorder).Integer(0, "n_pkts");
  complaints.Expect(received <= sent, "{} packets received of {} sent", received, sent);
  complaints.Expect(result.packets.dropped_total() > 0 || received >= sent - resent,
                    "{} packets received of {}, without a drop", received, sent - resent);
}

// --- One experiment ---

void CheckThatItRepeats(const Experiment& experiment, Complaints& complaints) {
  const std::string resolved = experiment.Resolved();
  const std::string errors = ErrorsOf(resolved);
  complaints.Expect(errors.empty(), "run.yaml is refused: {}", errors);
  if (!errors.empty()) return;
  const Experiment again = ExperimentFrom(resolved);
  complaints.Expect(again.Resolved() == resolved, "run.yaml reads differently: {}",
                    FirstDifference(resolved, again.Resolved()));
  complaints.Expect(again.Id() == experiment.Id(), "run.yaml is another experiment");
}

// Runs differ in what does not change results.
void CheckThatRunsAgree(const Experiment& experiment, const FinishedRun& run,
                        Complaints& complaints) {
  using Ports = NetworkPlan::Ports;
  const auto expect = [&](int threads, Ports ports, std::string_view how) {
    const FinishedRun other = RunExperiment(experiment, threads, ports);
    ExpectEqual(run.files, other.files, how, complaints);
    complaints.Expect(run.result.policies == other.result.policies,
                      "the load balancers' state differs {}", how);
  };
  expect(2, Ports::kCheapest, "with 2 threads");
  expect(3, Ports::kCheapest, "with 3 threads");
  expect(1, Ports::kQueued, "with queued ports");
  expect(2, Ports::kEager, "with eager ports and 2 threads");
  OneSide one_side;
  SimulationOptions options;
  options.instruments = {&one_side};
  ExpectEqual(run.files, RunExperiment(experiment, options).files, "with one side", complaints);
}

void CheckThatInstrumentsChangeNothing(const std::string& yaml, const FinishedRun& run,
                                       Complaints& complaints) {
  const size_t measure = yaml.find("record: {");
  if (measure == std::string::npos) return;
  const FinishedRun plain = RunExperiment(ExperimentFrom(
      yaml, {"measure.record={}", "measure.queueing=false", "measure.link_classes=false"}));
  RunFiles files = run.files;
  files.series.clear();
  files.queueing.clear();
  files.link_classes.clear();
  RunFiles plain_files = plain.files;
  plain_files.series.clear();
  ExpectEqual(files, plain_files, "without instruments", complaints);
}

Verdict Check(const std::string& yaml, bool is_tame) {
  Verdict verdict;
  Complaints complaints;
  Diagnostics diagnostics;
  const auto experiments = LoadExperimentsFromText(yaml, kFile, ".", LoadOptions{}, diagnostics);
  CheckErrors(diagnostics, complaints);
  verdict.refused = !diagnostics.ok();
  if (verdict.refused) verdict.errors = diagnostics.Report();
  if (verdict.refused) {
    complaints.Expect(!is_tame, "refused: {}", verdict.errors);
  } else if (experiments.size() != 1) {
    complaints.Expect(false, "{} experiments, without an error", experiments.size());
  } else {
    const Experiment& experiment = experiments.front();
    CheckThatItRepeats(experiment, complaints);
    const FinishedRun run = RunExperiment(experiment, 1);
    CheckCounts(experiment, run, complaints);
    CheckLinks(run, complaints);
    CheckBackground(run, complaints);
    CheckPauses(run, complaints);
    if (is_tame) {
      // IRN's recovery ends when all that had been sent at its beginning has arrived. A later
      // packet that it has sent again may be on its way then, and the next recovery begins with it.
      const bool repeats = yaml.find("nack: timer") != std::string::npos ||
                           yaml.find("recovery: irn") != std::string::npos;
      CheckTameRun(experiment, run, repeats, complaints);
      // Go-back-N at a fixed rate may lose the same packet for ever: each time it meets the queue
      // that the packets before it have filled. Swift may shrink its window until a timeout comes
      // before each packet.
      const bool may_livelock = yaml.find("recovery: gbn") != std::string::npos &&
                                (yaml.find("cc: none") != std::string::npos ||
                                 yaml.find("cc: swift") != std::string::npos);
      if (!may_livelock) CheckThatAllFinished(run.result, complaints);
    }
    CheckThatRunsAgree(experiment, run, complaints);
    CheckThatInstrumentsChangeNothing(yaml, run, complaints);
  }
  verdict.problem = complaints.text();
  return verdict;
}

Verdict CheckSafely(const std::string& yaml, bool is_tame) {
  try {
    return Check(yaml, is_tame);
  } catch (const std::exception& error) {
    return {
        .refused = false, .errors = "", .problem = fmt::format("an exception: {}\n", error.what())};
  }
}

}  // namespace

Verdict CheckTameExperiment(const std::string& yaml) { return CheckSafely(yaml, true); }

Verdict CheckWildExperiment(const std::string& yaml) { return CheckSafely(yaml, false); }

CheckedSeed CheckSeed(uint64_t seed, const std::function<void(const std::string&)>& show) {
  CheckedSeed checked;
  // Returns true if there is nothing more to draw for this seed.
  const auto take = [&](const Verdict& verdict) {
    checked.refused += verdict.refused ? 1 : 0;
    checked.ran = !verdict.refused;
    checked.problem = verdict.problem;
    return checked.ran || !checked.problem.empty();
  };
  if (seed % 4 == 0) {
    const std::string yaml = DrawTameExperiment(seed);
    show(yaml);
    take(CheckTameExperiment(yaml));
    return checked;
  }
  for (const double share : {0.15, 0.04, 0.0}) {
    const std::string yaml = DrawWildExperiment(seed, share);
    show(yaml);
    if (take(CheckWildExperiment(yaml))) break;
  }
  return checked;
}

}  // namespace heddle
