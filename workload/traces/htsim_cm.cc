// SPDX-License-Identifier: Apache-2.0

#include "workload/traces/htsim_cm.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "settings/quantity.h"
#include "workload/traces/goal_builder.h"
#include "workload/traces/text_lines.h"

namespace heddle {
namespace {

using CrossHost = HtsimCmSettings::CrossHost;

constexpr int64_t kMostCmNodes = 1 << 20;
constexpr int64_t kAnyNumber = std::numeric_limits<int64_t>::max();

struct CmConnection {
  uint32_t src = 0;
  uint32_t dst = 0;
  int line = 0;
  std::optional<int64_t> id;
  std::optional<int64_t> size;
  std::optional<int64_t> start;
  std::optional<int64_t> trigger;     // Starts this connection.
  std::optional<int64_t> send_fires;  // Triggers that it fires when it has been sent, and received.
  std::optional<int64_t> recv_fires;
};

struct CmTrigger {
  enum class Kind { kOneshot, kMultishot, kBarrier };
  Kind kind = Kind::kOneshot;
  int64_t count = 0;  // Barrier: activations that it needs; 0: one by each connection.
  int line = 0;
};

struct CmFile {
  int64_t nodes = 0;
  std::vector<CmConnection> connections;
  std::map<int64_t, CmTrigger> triggers;
};

// Reads the lines, and checks each by itself.
class CmReader {
 public:
  CmReader(std::string_view text, FileErrors& errors) : lines_(text), errors_(errors) {}

  CmFile Read() {
    TextLine line;
    while (!errors_.full() && lines_.Next(line)) {
      line_ = line.number;
      words_ = line.words;
      ReadLine();
    }
    if (errors_.any()) return {};
    if (file_.nodes == 0) errors_.Add(0, "has no line \"Nodes\" with a number");
    CheckCount("Connections", "connections", file_.connections.size());
    if (headers_.contains("Triggers")) CheckCount("Triggers", "triggers", file_.triggers.size());
    return std::move(file_);
  }

 private:
  void ReadLine() {
    const std::string_view first = words_.front();
    if (first.find("->") != std::string_view::npos) return ReadConnection(first);
    if (first == "trigger") return ReadTrigger();
    if (first == "failure") {
      return Fail("failures of links are not read from here; write them under schedule");
    }
    for (const char* header : {"Nodes", "Connections", "Triggers", "Failures"}) {
      if (first == header) return ReadHeader(header);
    }
    Fail(fmt::format("expected a connection such as 0->1, a trigger or a header, found \"{}\"",
                     first));
  }

  void ReadHeader(const char* header) {
    if (words_.size() != 2) return Fail(fmt::format("expected a number behind {}", header));
    if (headers_.contains(header)) return Fail(fmt::format("{} is there twice", header));
    const auto number = Number(header, words_[1], 0, kAnyNumber);
    if (!number) return;
    headers_[header] = {*number, line_};
    if (header != std::string_view("Nodes")) return;
    file_.nodes = *number;
    if (*number < 1 || *number > kMostCmNodes) {
      Fail(fmt::format("Nodes: {} is out of range; expected 1 to {}", *number, kMostCmNodes));
    }
  }

  void ReadConnection(std::string_view pair) {
    const size_t arrow = pair.find("->");
    const auto src = Number("the source", pair.substr(0, arrow), 0, kMostCmNodes - 1);
    const auto dst = Number("the destination", pair.substr(arrow + 2), 0, kMostCmNodes - 1);
    if (!src || !dst) return;
    CmConnection connection{.src = static_cast<uint32_t>(*src),
                            .dst = static_cast<uint32_t>(*dst),
                            .line = line_,
                            .id = {},
                            .size = {},
                            .start = {},
                            .trigger = {},
                            .send_fires = {},
                            .recv_fires = {}};
    if (*src == *dst) return Fail(fmt::format("node {} sends to itself", *src));
    if (!ReadPairs(connection) || !IsWhole(connection)) return;
    file_.connections.push_back(connection);
  }

  // Words and their numbers, in any order.
  bool ReadPairs(CmConnection& connection) {
    std::optional<int64_t> ignored;
    const std::map<std::string_view, std::optional<int64_t>*> values = {
        {"id", &connection.id},
        {"start", &connection.start},
        {"size", &connection.size},
        {"trigger", &connection.trigger},
        {"send_done_trigger", &connection.send_fires},
        {"recv_done_trigger", &connection.recv_fires},
        {"prio", &ignored},
        {"msg", &ignored}};
    for (size_t i = 1; i < words_.size(); i += 2) {
      const auto found = values.find(words_[i]);
      if (found == values.end()) {
        Fail(fmt::format("\"{}\" is no property of a connection", words_[i]));
        return false;
      }
      if (i + 1 == words_.size()) {
        Fail(fmt::format("expected a number behind {}", words_[i]));
        return false;
      }
      *found->second = Number(words_[i], words_[i + 1], 0, kAnyNumber);
      if (!*found->second) return false;
      if (found->second == &ignored) WarnOfIgnored(words_[i]);
    }
    return true;
  }

  void WarnOfIgnored(std::string_view word) {
    if (has_warned_) return;
    has_warned_ = true;
    errors_.Warn(line_, fmt::format("{} is ignored", word));
  }

  bool IsWhole(const CmConnection& connection) {
    if (!connection.size || *connection.size == 0) {
      Fail("has no size, and so never ends; give it one");
      return false;
    }
    if (connection.start.has_value() != connection.trigger.has_value()) return true;
    Fail(connection.start ? "has both start and trigger" : "has neither start nor trigger");
    return false;
  }

  void ReadTrigger() {
    if (words_.size() < 4 || words_[1] != "id") {
      return Fail("expected: trigger id NUMBER oneshot, multishot or barrier");
    }
    const auto id = Number("id", words_[2], 0, kAnyNumber);
    if (!id) return;
    CmTrigger trigger{.kind = CmTrigger::Kind::kOneshot, .count = 0, .line = line_};
    if (words_[3] == "multishot") {
      trigger.kind = CmTrigger::Kind::kMultishot;
    } else if (words_[3] == "barrier") {
      trigger.kind = CmTrigger::Kind::kBarrier;
    } else if (words_[3] != "oneshot") {
      return Fail(fmt::format("expected oneshot, multishot or barrier, found \"{}\"", words_[3]));
    }
    const bool has_count = words_.size() == 6 && words_[4] == "count";
    if (words_.size() > 4 && (!has_count || trigger.kind != CmTrigger::Kind::kBarrier)) {
      return Fail(fmt::format("expected the end of the line, found \"{}\"", words_[4]));
    }
    if (has_count) {
      const auto count = Number("count", words_[5], 1, kAnyNumber);
      if (!count) return;
      trigger.count = *count;
    }
    if (file_.triggers.emplace(*id, trigger).second) return;
    Fail(fmt::format("trigger {} is there twice", *id));
  }

  // "240 connections announced, 239 found".
  void CheckCount(const std::string& header, std::string_view noun, size_t found) {
    const auto announced = headers_.find(header);
    if (announced == headers_.end()) {
      errors_.Add(0, fmt::format("has no line \"{}\" with a number", header));
    } else if (announced->second.first != static_cast<int64_t>(found)) {
      errors_.Add(announced->second.second,
                  fmt::format("{} {} announced, {} found", announced->second.first, noun, found));
    }
  }

  std::optional<int64_t> Number(std::string_view what, std::string_view word, int64_t least,
                                int64_t most) {
    int64_t value = 0;
    if (const ParseError error = ParseQuantity(word, value)) {
      Fail(fmt::format("{}: {}", what, *error));
      return std::nullopt;
    }
    if (value >= least && value <= most) return value;
    Fail(fmt::format("{}: {} is out of range", what, value));
    return std::nullopt;
  }

  void Fail(std::string_view message) { errors_.Add(line_, message); }

  TextLines lines_;
  FileErrors& errors_;
  CmFile file_;
  std::map<std::string, std::pair<int64_t, int>, std::less<>> headers_;  // Number and line.
  int line_ = 0;
  std::vector<std::string_view> words_;
  bool has_warned_ = false;
};

// Connects sends, receives and triggers.
class CmGraph {
 public:
  CmGraph(const CmFile& file, const HtsimCmSettings& settings, FileErrors& errors)
      : file_(file),
        settings_(settings),
        errors_(errors),
        graph_(static_cast<uint32_t>(file.nodes)) {}

  std::optional<OperationGraph> Make() {
    CheckIds();
    if (errors_.any()) return std::nullopt;
    AddOperations();
    for (const auto& [id, trigger] : file_.triggers) Connect(id, trigger);
    if (errors_.any()) return std::nullopt;
    return std::move(graph_);
  }

 private:
  // The operation that fires a trigger.
  struct Firing {
    uint32_t rank;
    uint32_t op;
    size_t connection;
  };

  void CheckIds() {
    std::map<int64_t, int> lines;
    for (const CmConnection& its : file_.connections) {
      for (const uint32_t node : {its.src, its.dst}) {
        if (node < file_.nodes) continue;
        errors_.Add(its.line, fmt::format("there is no node {}; there are {}", node, file_.nodes));
      }
      for (const auto& trigger : {its.trigger, its.send_fires, its.recv_fires}) {
        if (!trigger || file_.triggers.contains(*trigger)) continue;
        errors_.Add(its.line, fmt::format("there is no trigger {}", *trigger));
      }
      if (!its.id) continue;
      const auto [known, is_new] = lines.emplace(*its.id, its.line);
      if (!is_new) {
        errors_.Add(its.line, fmt::format("id {} is that of line {}, too", *its.id, known->second));
      }
    }
  }

  // Each connection has a channel and a tag of its own, as it is no queue pair that others share.
  void AddOperations() {
    for (size_t i = 0; i < file_.connections.size(); ++i) {
      const CmConnection& its = file_.connections[i];
      const uint32_t send = graph_.AddSend(its.src, its.dst, *its.size, static_cast<int64_t>(i));
      graph_.At(its.src, send).channel = static_cast<uint32_t>(i);
      const uint32_t receive =
          graph_.AddReceive(its.dst, its.src, *its.size, static_cast<int64_t>(i));
      Name(its.src, send, its);
      Name(its.dst, receive, its);
      sends_.push_back(send);
      receives_.push_back(receive);
      if (its.start) AddStart(its, send);
    }
  }

  void Name(uint32_t rank, uint32_t op, const CmConnection& its) {
    graph_.At(rank, op).line = its.line;
    if (its.id) graph_.At(rank, op).label = fmt::format("id{}", *its.id);
  }

  void AddStart(const CmConnection& its, uint32_t send) {
    const int64_t unit = settings_.unit == HtsimCmSettings::Unit::kUs ? 1'000'000 : 1;
    if (*its.start > kLongestCalc.ps / unit) {
      return errors_.Add(its.line, "starts later than 1000 s");
    }
    if (*its.start == 0) return;
    const Duration start{*its.start * unit};
    graph_.Require(its.src, send, graph_.AddCompute(its.src, start, kNoStream));
  }

  void Connect(int64_t id, const CmTrigger& trigger) {
    std::vector<size_t> waiting;
    for (size_t i = 0; i < file_.connections.size(); ++i) {
      if (file_.connections[i].trigger == id) waiting.push_back(i);
    }
    if (waiting.empty()) return;
    const std::vector<Firing> firings = FiringsOf(id, waiting);
    if (firings.empty()) {
      return errors_.Add(trigger.line, fmt::format("no connection fires trigger {}", id));
    }
    if (trigger.count > static_cast<int64_t>(firings.size())) {
      return errors_.Add(trigger.line,
                         fmt::format("needs {} activations, but only {} connections fire it",
                                     trigger.count, firings.size()));
    }
    for (size_t turn = 0; turn < waiting.size(); ++turn) {
      LetStart(waiting[turn], NeedsOf(trigger, turn, firings.size()), firings, trigger);
    }
  }

  // How many activations the trigger's `turn`-th connection needs.
  static uint32_t NeedsOf(const CmTrigger& trigger, size_t turn, size_t firings) {
    switch (trigger.kind) {
      case CmTrigger::Kind::kOneshot:
        return 1;
      case CmTrigger::Kind::kMultishot:
        return static_cast<uint32_t>(turn + 1);
      case CmTrigger::Kind::kBarrier:
        break;
    }
    return static_cast<uint32_t>(trigger.count == 0 ? static_cast<int64_t>(firings)
                                                    : trigger.count);
  }

  std::vector<Firing> FiringsOf(int64_t id, std::span<const size_t> waiting) const {
    std::vector<Firing> firings;
    for (size_t i = 0; i < file_.connections.size(); ++i) {
      const CmConnection& its = file_.connections[i];
      if (its.send_fires == id) {
        const bool all_at_receiver = std::ranges::all_of(
            waiting, [&](size_t other) { return file_.connections[other].src == its.dst; });
        if (settings_.cross_host == CrossHost::kReceive && all_at_receiver) {
          firings.push_back({its.dst, receives_[i], i});
        } else {
          firings.push_back({its.src, sends_[i], i});
        }
      }
      if (its.recv_fires == id) firings.push_back({its.dst, receives_[i], i});
    }
    return firings;
  }

  void LetStart(size_t connection, uint32_t needs, std::span<const Firing> firings,
                const CmTrigger& trigger) {
    const CmConnection& its = file_.connections[connection];
    if (needs > firings.size()) {
      return errors_.Add(
          its.line,
          fmt::format("never starts: the trigger in line {} must fire {} times "
                      "before, but fires {} time{}",
                      trigger.line, needs, firings.size(), firings.size() == 1 ? "" : "s"));
    }
    const uint32_t send = sends_[connection];
    for (const Firing& firing : firings) {
      if (firing.rank == its.src) {
        graph_.Require(its.src, send, firing.op);
      } else if (settings_.cross_host == CrossHost::kRefuse) {
        return RefuseFar(its, firing, trigger);
      } else {
        graph_.RequireFar(its.src, send, firing.rank, firing.op);
      }
    }
    if (needs < firings.size()) graph_.At(its.src, send).needs = needs;
  }

  void RefuseFar(const CmConnection& its, const Firing& firing, const CmTrigger& trigger) {
    errors_.Add(
        its.line,
        fmt::format("starts at node {}, but its trigger (line {}) fires at node {}, when "
                    "the connection of line {} is done; cross_host: delay lets the news "
                    "travel",
                    its.src, trigger.line, firing.rank, file_.connections[firing.connection].line));
  }

  const CmFile& file_;
  const HtsimCmSettings& settings_;
  FileErrors& errors_;
  OperationGraph graph_;
  std::vector<uint32_t> sends_;     // By connection: the operation at its source,
  std::vector<uint32_t> receives_;  // and at its destination.
};

}  // namespace

std::optional<OperationGraph> ReadHtsimCm(std::string_view text, const HtsimCmSettings& settings,
                                          FileErrors& errors) {
  const CmFile file = CmReader(text, errors).Read();
  if (errors.any()) return std::nullopt;
  return CmGraph(file, settings, errors).Make();
}

}  // namespace heddle
