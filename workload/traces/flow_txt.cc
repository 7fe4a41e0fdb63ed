// SPDX-License-Identifier: Apache-2.0

#include "workload/traces/flow_txt.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "settings/quantity.h"
#include "workload/traces/goal_builder.h"
#include "workload/traces/text_lines.h"

namespace heddle {
namespace {

// The generators of both simulators let the first flows start at this time.
constexpr Duration kGeneratorStart{2'000'000'000'000};

class FlowTxtReader {
 public:
  FlowTxtReader(std::string_view text, const FlowTxtSettings& settings, FileErrors& errors)
      : lines_(text), settings_(settings), errors_(errors) {}

  std::optional<OperationGraph> Read() {
    TextLine line;
    int64_t announced = 0;
    if (!lines_.Next(line)) {
      errors_.Add(1, "expected the number of flows, found the end of the file");
      return std::nullopt;
    }
    if (line.words.size() != 1) {
      errors_.Add(line.number, fmt::format("expected the number of flows alone, found {} words",
                                           line.words.size()));
      return std::nullopt;
    }
    line_ = line.number;
    if (!Number(line.words[0], "the number of flows", 1, 1 << 30, announced)) return std::nullopt;
    while (!errors_.full() && lines_.Next(line)) ReadFlow(line);
    if (!errors_.any() && static_cast<int64_t>(flows_.size()) != announced) {
      errors_.Add(1, fmt::format("{} flows announced, {} found", announced, flows_.size()));
    }
    if (errors_.any()) return std::nullopt;
    return Graph();
  }

 private:
  struct Flow {
    uint32_t src;
    uint32_t dst;
    int64_t bytes;
    Duration start;
    int line;
  };

  bool Number(std::string_view word, std::string_view what, int64_t least, int64_t most,
              int64_t& value) {
    if (const ParseError error = ParseQuantity(word, value)) {
      errors_.Add(line_, fmt::format("{}: {}", what, *error));
      return false;
    }
    if (value >= least && value <= most) return true;
    errors_.Add(line_,
                fmt::format("{}: {} is out of range; expected {} to {}", what, value, least, most));
    return false;
  }

  // HPCC: src dst pg dport size start. ConWeave: the same without dport.
  void ReadFlow(const TextLine& line) {
    line_ = line.number;
    const size_t words = line.words.size();
    if (words != 5 && words != 6) {
      errors_.Add(line_, fmt::format("has {} words; expected src dst pg dport bytes seconds, or "
                                     "the same without dport",
                                     words));
      return;
    }
    const int64_t last_rank = settings_.ranks ? int64_t{*settings_.ranks} - 1 : 65'535;
    int64_t src = 0;
    int64_t dst = 0;
    int64_t group = 0;
    int64_t port = 0;
    int64_t bytes = 0;
    Flow flow{.src = 0, .dst = 0, .bytes = 0, .start = Duration{0}, .line = line_};
    if (!Number(line.words[0], "src", 0, last_rank, src) ||
        !Number(line.words[1], "dst", 0, last_rank, dst) ||
        !Number(line.words[2], "pg", 0, 255, group) ||
        (words == 6 && !Number(line.words[3], "dport", 0, 65'535, port)) ||
        !Number(line.words[words - 2], "bytes", 0, std::numeric_limits<int64_t>::max(), bytes) ||
        !Start(line.words.back(), flow.start)) {
      return;
    }
    if (src == dst) return errors_.Add(line_, fmt::format("host {} sends to itself", src));
    flow.src = static_cast<uint32_t>(src);
    flow.dst = static_cast<uint32_t>(dst);
    flow.bytes = bytes;
    NoteGroup(group);
    flows_.push_back(flow);
  }

  bool Start(std::string_view word, Duration& start) {
    const ParseError error = ParseQuantity(fmt::format("{}s", word), start);
    if (!error && start >= Duration{0} && start <= kLongestCalc) return true;
    errors_.Add(line_, fmt::format("start: \"{}\" is not a number of seconds up to 1000", word));
    return false;
  }

  void NoteGroup(int64_t group) {
    if (flows_.empty()) group_ = group;
    if (group == group_ || has_warned_) return;
    has_warned_ = true;
    errors_.Warn(line_, "priority groups (pg) differ; they are ignored");
  }

  OperationGraph Graph() {
    uint32_t ranks = settings_.ranks.value_or(0);
    for (const Flow& flow : flows_) ranks = std::max({ranks, flow.src + 1, flow.dst + 1});
    const Duration earliest = std::ranges::min_element(flows_, {}, &Flow::start)->start;
    const Duration base =
        settings_.t0.value_or(earliest >= kGeneratorStart ? kGeneratorStart : Duration{0});
    std::ranges::stable_sort(flows_, {}, &Flow::start);
    OperationGraph graph(ranks);
    for (size_t i = 0; i < flows_.size(); ++i) {
      const Flow& flow = flows_[i];
      const Duration start = std::max(flow.start - base, Duration{0});
      const uint32_t wait = graph.AddCompute(flow.src, start, kNoStream);
      // Each flow is a connection, and a message, of its own.
      const uint32_t send = graph.AddSend(flow.src, flow.dst, flow.bytes, static_cast<int64_t>(i));
      graph.At(flow.src, send).channel = static_cast<uint32_t>(i);
      graph.At(flow.src, send).line = flow.line;
      graph.Require(flow.src, send, wait);
      graph.AddReceive(flow.dst, flow.src, flow.bytes, static_cast<int64_t>(i));
    }
    return graph;
  }

  TextLines lines_;
  const FlowTxtSettings settings_;
  FileErrors& errors_;
  std::vector<Flow> flows_;
  int line_ = 0;
  int64_t group_ = 0;
  bool has_warned_ = false;
};

}  // namespace

std::optional<OperationGraph> ReadFlowTxt(std::string_view text, const FlowTxtSettings& settings,
                                          FileErrors& errors) {
  return FlowTxtReader(text, settings, errors).Read();
}

}  // namespace heddle
