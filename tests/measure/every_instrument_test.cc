// SPDX-License-Identifier: Apache-2.0
// These tests hold for every registered instrument, including those added later: results are the
// same with it and for every number of threads, it refuses nonsense, and its files are described
// and documented, column by column.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "measure/instruments.h"
#include "settings/writer.h"
#include "tests/support/experiment_kit.h"

namespace heddle::every_instrument_test {

using testing::HasSubstr;
using Files = std::map<std::string, std::string, std::less<>>;

// Buffers that overflow, marks, packets that overtake, a link that fails, a background.
constexpr const char* kLossy = R"(
topology:
  kind: leaf_spine
  leaves: 2
  spines: 2
  hosts_per_leaf: 4
  asymmetry: [{spines: [1], rate: 5Gbps}]
  port: {buffer: 20KB, ecn_above: 15KB}
transport: {kind: dctcp, min_rto: 500us}
lb: tdlb
workload:
  - {kind: poisson, sizes: small, load: 0.5, flows: 60}
  - {kind: incast, fan_in: 6, bytes_each: 20KB, queries: 3, period: 300us}
background: [{from: [0], to: [5], rate: 1Gbps, stop: 100us}]
schedule:
  - {at: 200us, links: [leaf0-spine1], state: down}
  - {at: 400us, links: [leaf0-spine1], state: up}
)";

// Pauses, congestion notifications, and receivers that put packets in order.
constexpr const char* kLossless = R"(
topology:
  kind: leaf_spine
  leaves: 2
  spines: 2
  hosts_per_leaf: 4
  host_link: {rate: 100Gbps, delay: 1us}
  fabric_link: {rate: 100Gbps, delay: 1us}
  port: {buffer: 1MB, pfc: {classes: [3], xoff: 20KB}}
transport: {kind: rocev2, priority: 3, cc: {kind: dcqcn}, resequencing: timeout}
lb: rps
workload: [{kind: incast, fan_in: 6, bytes_each: 200KB}]
)";

// Ranks that compute, and send when others have answered.
constexpr const char* kJobs = R"(
topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 2}
transport: rocev2
lb: ecmp
workload:
  - kind: training
    ranks: 4
    model: {layers: 2, hidden: 64, ffn: 128, kv_hidden: 64, vocab: 1000, seq: 64}
    parallel: {data: 4}
)";

const std::vector<std::string> kNetworks = {kLossy, kLossless, kJobs};

std::string Asking(const std::string& network, const InstrumentInfo& info) {
  constexpr const char* kRest = "warm_up: 0ps, t_max: 3ms, unfinished: inf";
  const bool whole = info.place == InstrumentPlace::kMeasure;
  return fmt::format("{}measure: {{{}, {}}}\n", network, kRest,
                     whole ? info.example : "record: {" + info.example + "}");
}

// All files of a run but summary.json and run.yaml.
Files FilesOf(const std::string& yaml, int threads = 1) {
  Files files;
  SimulationOptions options;
  options.threads = threads;
  const auto run = Simulate(
      ExperimentFrom(yaml), options,
      [&](std::string_view text) {
        files["flows.csv"] += text;
        return true;
      },
      [&](std::string_view file, std::string_view text) {
        files[std::string(file)] += text;
        return true;
      });
  EXPECT_TRUE(run.ok()) << run.status();
  return files;
}

// Each network without any instrument that has to be asked for.
const Files& PlainFiles(size_t network) {
  static const std::vector<Files> files = [] {
    std::vector<Files> all;
    for (const std::string& yaml : kNetworks) {
      all.push_back(FilesOf(Asking(yaml, {.name = "", .example = ""})));
    }
    return all;
  }();
  return files[network];
}

// The settings of one instrument, as `heddle describe` shows them.
std::vector<FieldInfo> FieldsOf(const InstrumentInfo& info) {
  const auto all = Instruments().MakeSettings(info.place);
  for (const auto& settings : all) {
    const auto fields = DescribeFields([&](Fields& f) { settings->Declare(f); });
    if (std::ranges::find(fields, info.name, &FieldInfo::path) != fields.end()) return fields;
  }
  return {};
}

std::string PathOf(const InstrumentInfo& info, const std::string& field) {
  return (info.place == InstrumentPlace::kRecord ? "measure.record." : "measure.") + field;
}

// The pages that say what files hold. The second shows an instrument that this program has too.
std::string Pages() {
  std::string text;
  for (const char* page : {"metrics.md", "writing-an-instrument.md"}) {
    std::ifstream file(fmt::format("{}/docs/{}", HEDDLE_SOURCE_DIR, page));
    text.append(std::istreambuf_iterator<char>(file), {});
  }
  return text;
}

// Returns what the pages say about one file: a section whose heading names it, or its row in a
// table.
std::string DocumentationOf(const std::string& file) {
  static const std::string pages = Pages();
  size_t section = pages.find("\n## ");
  while (section != std::string::npos &&
         pages.substr(section + 4, pages.find('\n', section + 1) - section).find(file) ==
             std::string::npos) {
    section = pages.find("\n## ", section + 1);
  }
  if (section != std::string::npos) {
    return pages.substr(section, pages.find("\n## ", section + 1) - section);
  }
  const size_t row = pages.find("\n| `" + file + "`");
  return row == std::string::npos ? "" : pages.substr(row, pages.find('\n', row + 1) - row);
}

std::vector<std::string> UndocumentedColumns(const std::string& file, const std::string& text) {
  const std::string documentation = DocumentationOf(file);
  std::vector<std::string> missing;
  for (const std::string& column : CsvTable(text.substr(0, text.find('\n') + 1)).header) {
    const bool is_common = column == "time_ns";  // Explained once, for all that is over time.
    const std::string quoted = "`" + column + "`";
    if (!is_common && documentation.find(quoted) == std::string::npos) missing.push_back(column);
  }
  return missing;
}

TEST(StandingInstrumentsTest, DocumentEveryColumn) {
  std::set<std::string> names;
  for (size_t network = 0; network < kNetworks.size(); ++network) {
    for (const auto& [file, text] : PlainFiles(network)) {
      names.insert(file);
      EXPECT_THAT(UndocumentedColumns(file, text), testing::IsEmpty()) << file;
    }
  }
  EXPECT_THAT(names, testing::ElementsAre("collectives.csv", "flows.csv", "iterations.csv",
                                          "jobs.csv", "lb.csv", "links.csv", "reorder.csv",
                                          "resequencing.csv", "udp.csv"));
}

class EveryInstrumentTest : public testing::TestWithParam<InstrumentInfo> {};

std::vector<InstrumentInfo> ThoseToAskFor() {
  std::vector<InstrumentInfo> infos = Instruments().infos();
  std::erase_if(infos, [](const InstrumentInfo& info) { return info.example.empty(); });
  return infos;
}

INSTANTIATE_TEST_SUITE_P(All, EveryInstrumentTest, testing::ValuesIn(ThoseToAskFor()),
                         [](const auto& test) { return test.param.name; });

TEST_P(EveryInstrumentTest, IsTheSameForEveryNumberOfThreads) {
  for (const std::string& network : kNetworks) {
    const std::string yaml = Asking(network, GetParam());
    const Files one = FilesOf(yaml);
    EXPECT_EQ(FilesOf(yaml, 2), one);
    EXPECT_EQ(FilesOf(yaml, 3), one);
  }
}

TEST_P(EveryInstrumentTest, AddsFilesWithRowsAndChangesNoOther) {
  std::map<std::string, size_t> rows;  // The largest number of rows in any network, by file.
  for (size_t network = 0; network < kNetworks.size(); ++network) {
    Files files = FilesOf(Asking(kNetworks[network], GetParam()));
    for (const auto& [name, text] : PlainFiles(network)) {
      EXPECT_EQ(files[name], text) << name;
      files.erase(name);
    }
    for (const auto& [name, text] : files) {
      rows[name] = std::max(rows[name], CsvTable(text).rows.size());
    }
  }
  EXPECT_FALSE(rows.empty());
  for (const auto& [name, count] : rows) EXPECT_GT(count, 0u) << name;
}

TEST_P(EveryInstrumentTest, DescribesItsFilesAndDocumentsEveryColumn) {
  std::string meanings;
  for (const FieldInfo& field : FieldsOf(GetParam())) meanings += field.meaning + "\n";
  for (const auto& [name, text] : FilesOf(Asking(kLossless, GetParam()))) {
    if (PlainFiles(1).contains(name)) continue;
    EXPECT_THAT(meanings, HasSubstr(name)) << "in what heddle describe says";
    EXPECT_THAT(UndocumentedColumns(name, text), testing::IsEmpty()) << name;
  }
}

TEST_P(EveryInstrumentTest, RefusesNonsense) {
  const std::vector<FieldInfo> fields = FieldsOf(GetParam());
  EXPECT_FALSE(fields.empty());
  const std::string yaml = Asking(kLossy, GetParam());
  for (const FieldInfo& field : fields) {
    if (field.type == "text") continue;
    const std::string path = PathOf(GetParam(), field.path);
    EXPECT_THAT(ErrorsOf(yaml, {path + "=nonsense"}), HasSubstr(path)) << path;
  }
}

}  // namespace heddle::every_instrument_test
