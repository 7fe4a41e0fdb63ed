// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "cli/plugins.h"
#include "settings/files_read.h"
#include "settings/reader.h"
#include "settings/status.h"
#include "settings/yaml.h"
#include "tests/fuzz/checks.h"
#include "tests/fuzz/targets.h"
#include "topo/link_file.h"
#include "workload/flow_list.h"
#include "workload/sizes.h"

namespace heddle {
namespace {

// --- Sizes ---

constexpr SizeOptions kSizeOptions[] = {
    {},
    {.interpolation = Interpolation::kStep},
    {.largest = Bytes{1'000}},
    {.interpolation = Interpolation::kStep, .largest = Bytes{1'000}},
};

void RequireShares(const SizeDistribution& sizes) {
  double before = 1 + 1e-9;
  for (double bytes = 0.5; bytes < 1e13; bytes *= 3) {
    const double above = sizes.ShareAbove(bytes);
    Require(above >= -1e-9 && above <= before + 1e-9,
            fmt::format("the share above falls from 1 to 0: {} at {}", above, bytes));
    before = above;
  }
  const double at_end = sizes.ShareAbove(static_cast<double>(sizes.max() + 1));
  Require(at_end <= 1e-9, fmt::format("no flow is larger than any can be: {}", at_end));
}

void RequireDistribution(const SizeDistribution& sizes, const SizeOptions& options) {
  const int64_t max = sizes.max();
  Require(max >= 1, "flows have a byte");
  Require(!options.largest || max <= options.largest->count, "no flow is larger than is allowed");
  const double mean = sizes.mean();
  // Samples are rounded to whole bytes, the mean is not.
  Require(mean >= 0 && mean <= (static_cast<double>(max) + 0.5) * (1 + 1e-9),
          fmt::format("the mean, {}, is at most the largest, {}", mean, max));
  Rng rng = Rng::Stream(1, "fuzz sizes", 0);
  for (int i = 0; i < 16; ++i) {
    const int64_t size = sizes.Sample(rng);
    Require(size >= 1 && size <= max, fmt::format("{} is from 1 to {}", size, max));
  }
  RequireShares(sizes);
  const int64_t large = sizes.LargeFlow();
  Require(large >= 1 && large <= max, "one flow in a hundred is larger than this");
}

// --- Flow lists ---

constexpr size_t kHosts = 8;

Stage SmallStage() {
  Stage stage;
  stage.hosts = kHosts;
  stage.leaf_of_host = {0, 0, 0, 0, 1, 1, 1, 1};
  stage.leaves = 2;
  stage.host_rate.assign(kHosts, 10_Gbps);
  stage.downlink_rate.assign(kHosts, 10_Gbps);
  stage.uplink_bps = {40'000'000'000, 40'000'000'000};
  stage.max_flow_size = int64_t{1} << 40;
  stage.folder = FuzzFolder();
  return stage;
}

// A list of the flows in `name`, with its mistakes.
FlowList ReadFlowList(const std::string& name, const Stage& stage, Diagnostics& diagnostics) {
  FlowList list;
  const auto document = ParseYaml("file: " + name, "fuzz.yaml", diagnostics);
  ReadSettings(
      *document, [&](Fields& fields) { list.Declare(fields); }, diagnostics);
  FilesRead files;
  list.Prepare(stage, "workload[0]", files, diagnostics);
  return list;
}

void RequireFlow(const FlowRequest& flow, const Stage& stage, Time before) {
  Require(flow.src < kHosts && flow.dst < kHosts && flow.src != flow.dst, "hosts exist");
  Require(flow.size >= 1 && flow.size <= stage.max_flow_size, "sizes are in bounds");
  Require(flow.start >= before, "flows come in the order of their start");
}

// All flows as a list that has them in their order.
std::string FlowsCsv(const FlowList& list, const Stage& stage) {
  std::string csv = "src,dst,size_bytes,start_ps,dport,sport\n";
  bool has_ports = true;
  Time before{};
  const auto source = list.Open();
  for (; const FlowRequest* flow = source->Front(); source->Pop()) {
    RequireFlow(*flow, stage, before);
    before = flow->start;
    has_ports = flow->sport.has_value();
    csv += fmt::format("{},{},{},{},{},{}\n", flow->src, flow->dst, flow->size, flow->start.ps,
                       flow->dport, flow->sport.value_or(0));
  }
  if (has_ports) return csv;
  csv.replace(csv.find("sport"), 5, "other");  // A column that nobody reads.
  return csv;
}

// --- Networks ---

void RequireGraph(const Graph& graph) {
  Require(graph.hosts >= 2 && !graph.switches.empty(), "a network has hosts and switches");
  std::vector<size_t> links(graph.vertices());
  for (const Graph::Link& link : graph.links) {
    Require(
        link.a.index() < graph.vertices() && link.b.index() < graph.vertices() && link.a != link.b,
        "a link has two ends");
    Require(link.a_to_b.rate.bps > 0 && link.b_to_a.rate.bps > 0, "links have a rate");
    Require(link.a_to_b.delay.ps >= 0 && link.b_to_a.delay.ps >= 0, "and no negative delay");
    ++links[link.a.index()];
    ++links[link.b.index()];
  }
  for (size_t host = 0; host < graph.hosts; ++host) {
    Require(links[graph.VertexOfHost(host).index()] > 0, "hosts have a link");
  }
}

// Hosts have the first numbers there, whatever numbers they had.
std::string LinkFileOf(const Graph& graph) {
  std::string text =
      fmt::format("{} {} {}\n", graph.vertices(), graph.switches.size(), graph.links.size());
  for (size_t s = 0; s < graph.switches.size(); ++s) {
    text += fmt::format("{} ", graph.VertexOfSwitch(s).index());
  }
  for (const Graph::Link& link : graph.links) {
    text += fmt::format("\n{} {} {} {} 0", link.a.index(), link.b.index(),
                        FormatQuantity(link.a_to_b.rate), FormatQuantity(link.a_to_b.delay));
  }
  return text + "\n";
}

bool AreAlike(const Graph& a, const Graph& b) {
  return a.hosts == b.hosts &&
         std::ranges::equal(a.switches, b.switches, {}, &Graph::SwitchVertex::tier,
                            &Graph::SwitchVertex::tier) &&
         std::ranges::equal(a.links, b.links, [](const Graph::Link& x, const Graph::Link& y) {
           return x.a == y.a && x.b == y.b && x.a_to_b == y.a_to_b && x.b_to_a == y.b_to_a;
         });
}

}  // namespace

void FuzzSizes(FuzzInput input) {
  const std::string text = TextOf(input);
  if (text.find("file") != std::string::npos) return;  // It names files of this machine.
  for (const SizeOptions& options : kSizeOptions) {
    FilesRead files;
    const auto sizes = ParseSizes(text, options, files);
    Require(sizes.ok() == sizes.status().message().empty(), "sizes, or an error");
    if (sizes.ok()) RequireDistribution(**sizes, options);
  }
}

void FuzzSizeTable(FuzzInput input) {
  const absl::StatusOr<CdfPoints> parsed = ParseCdf(TextOf(input), "sizes.cdf");
  if (!parsed.ok()) {
    const std::string error = MessageOf(parsed.status());
    Require(error.starts_with("sizes.cdf:"), "an error starts with its place: " + error);
    return;
  }
  const CdfPoints& points = *parsed;
  Require(points.size() > 1, "a distribution has points");
  Require(std::ranges::is_sorted(points, {}, &CdfPoints::value_type::first), "sizes ascend");
  Require(std::ranges::is_sorted(points, {}, &CdfPoints::value_type::second), "so do shares");
  Require(points.back().second == 1, "the last share is 1");
  std::string written;
  for (const auto& [size, share] : points) written += fmt::format("{} {}\n", size, share);
  const auto again = ParseCdf(written, "sizes.cdf");
  Require(again.ok() && *again == points, "it reads the same: " + written);
  for (const SizeOptions& options : kSizeOptions) {
    RequireDistribution(*MakeCdf(points, options), options);
  }
}

void FuzzFlowList(FuzzInput input) {
  const Stage stage = SmallStage();
  const std::string file = WriteInput("flows.csv", TextOf(input));
  Diagnostics diagnostics;
  const FlowList list = ReadFlowList("flows.csv", stage, diagnostics);
  RequirePlaces(diagnostics);
  if (!diagnostics.ok()) return;
  const Forecast forecast = list.Expect();
  Require(forecast.flows >= 1 && forecast.bytes >= forecast.flows, "flows have bytes");
  Require(forecast.first <= forecast.last, "the first flow is before the last");
  const std::string written = FlowsCsv(list, stage);
  WriteInput("written.csv", written);
  const FlowList again = ReadFlowList("written.csv", stage, diagnostics);
  Require(diagnostics.ok(), "what is written can be read: " + diagnostics.Report());
  Require(FlowsCsv(again, stage) == written, "what is written reads the same");
}

void FuzzLinkFile(FuzzInput input) {
  FilesRead files;
  Diagnostics diagnostics;
  const Graph graph =
      ReadLinkFile(WriteInput("links.txt", TextOf(input)), "topology.file", files, diagnostics);
  RequirePlaces(diagnostics);
  if (!diagnostics.ok()) return;
  RequireGraph(graph);
  const std::string written = LinkFileOf(graph);
  const Graph again =
      ReadLinkFile(WriteInput("links.txt", written), "topology.file", files, diagnostics);
  Require(diagnostics.ok(), "what is written can be read: " + diagnostics.Report() + written);
  Require(AreAlike(graph, again), "what is written reads the same: " + written);
}

void FuzzPlugin(FuzzInput input) {
  const std::string_view file(reinterpret_cast<const char*>(input.data()), input.size());
  for (const char* name : {".heddle_abi", ".text", ""}) {
    const std::string_view section = ElfSection(file, name);
    if (section.empty()) continue;
    Require(
        section.data() >= file.data() && section.size() <= file.size() &&
            section.data() - file.data() <= static_cast<ptrdiff_t>(file.size() - section.size()),
        "a section lies within its file");
  }
}

}  // namespace heddle
