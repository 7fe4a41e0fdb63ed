// SPDX-License-Identifier: Apache-2.0

#include "workload/flow_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "settings/yaml.h"
#include "workload/request_list.h"

namespace heddle {
namespace {

constexpr size_t kMaxFileBytes = size_t{4} << 30;
constexpr size_t kMaxErrors = 20;

std::vector<std::string_view> Split(std::string_view line) {
  std::vector<std::string_view> cells;
  for (;;) {
    const size_t comma = line.find(',');
    std::string_view cell = line.substr(0, comma);
    const size_t first = cell.find_first_not_of(" \t\r\"");
    const size_t last = cell.find_last_not_of(" \t\r\"");
    cells.push_back(first == std::string_view::npos ? std::string_view()
                                                    : cell.substr(first, last - first + 1));
    if (comma == std::string_view::npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

// Some spreadsheets begin a file with one.
std::string_view WithoutByteOrderMark(std::string_view line) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (line.starts_with(kMark)) line.remove_prefix(kMark.size());
  return line;
}

// Reads the rows of one file, noting every mistake in it.
class FlowReader {
 public:
  FlowReader(const Stage& stage, const std::string& source, Diagnostics& diagnostics)
      : stage_(stage), source_(source), diagnostics_(diagnostics) {}

  std::vector<FlowRequest> Read(std::string_view text) {
    std::vector<Row> rows;
    for (size_t start = 0; start < text.size() && errors_ < kMaxErrors;) {
      const size_t end = std::min(text.find('\n', start), text.size());
      const std::string_view line = text.substr(start, end - start);
      start = end + 1;
      ++line_;
      if (line_ == 1) {
        if (!ReadHeader(WithoutByteOrderMark(line))) return {};
      } else if (line.find_first_not_of(" \t\r") != std::string_view::npos) {
        if (const auto row = ReadRow(Split(line))) rows.push_back(*row);
      }
    }
    if (errors_ == kMaxErrors) Fail("and perhaps more; reading stopped here");
    if (rows.empty() && errors_ == 0) Fail("lists no flows");
    // Flows of one instant start in the order of their ids, so that the flows.csv of a run, which
    // is in the order of completion, repeats that run.
    std::ranges::stable_sort(rows, {}, &Row::id);
    std::vector<FlowRequest> requests;
    requests.reserve(rows.size());
    for (const Row& row : rows) requests.push_back(row.request);
    return requests;
  }

 private:
  struct Row {
    int64_t id;  // 0 for all if the file gives none.
    FlowRequest request;
  };

  bool ReadHeader(std::string_view line) {
    const std::vector<std::string_view> names = Split(line);
    for (size_t i = 0; i < names.size(); ++i) {
      if (columns_.emplace(names[i], i).second) continue;
      Fail(fmt::format("the header names the column {} twice", names[i]));
      return false;
    }
    columns_count_ = names.size();
    bool complete = true;
    for (const char* name : {"src", "dst", "size_bytes", "start_ps"}) {
      if (columns_.contains(name)) continue;
      complete = false;
      Fail(fmt::format("the header has no column {}; needed: src,dst,size_bytes,start_ps", name));
    }
    return complete;
  }

  std::optional<Row> ReadRow(const std::vector<std::string_view>& cells) {
    if (cells.size() != columns_count_) {
      Fail(fmt::format("has {} columns; the header has {}", cells.size(), columns_count_));
      return std::nullopt;
    }
    const size_t errors_before = errors_;
    const int64_t last_host = static_cast<int64_t>(stage_.hosts) - 1;
    const int64_t id = Number(cells, "flow_id", 0, std::numeric_limits<int64_t>::max(), 0);
    const int64_t src = Number(cells, "src", 0, last_host, 0);
    const int64_t dst = Number(cells, "dst", 0, last_host, 0);
    const int64_t size = Number(cells, "size_bytes", 1, stage_.max_flow_size, 0);
    const int64_t start = Number(cells, "start_ps", 0, 1'000 * kPicosecondsPerSecond, 0);
    const int64_t dport = Number(cells, "dport", 0, 65'535, 100);
    const int64_t sport = Number(cells, "sport", 0, 65'535, -1);
    if (const auto deps = columns_.find("deps");
        deps != columns_.end() && !cells[deps->second].empty()) {
      Fail("has deps; flows that wait for others are not supported");
    }
    if (errors_ == errors_before && src == dst) Fail(fmt::format("host {} sends to itself", src));
    if (errors_ > errors_before) return std::nullopt;
    FlowRequest request{.start = Time{start},
                        .src = static_cast<HostId>(src),
                        .dst = static_cast<HostId>(dst),
                        .size = size,
                        .dport = static_cast<uint16_t>(dport)};
    if (sport >= 0) request.sport = static_cast<uint16_t>(sport);
    return Row{id, request};
  }

  // The number in a column, `absent` if there is no such column.
  int64_t Number(const std::vector<std::string_view>& cells, const char* column, int64_t least,
                 int64_t most, int64_t absent) {
    const auto found = columns_.find(column);
    if (found == columns_.end()) return absent;
    int64_t value = 0;
    const ParseError error = ParseQuantity(cells[found->second], value);
    if (error) {
      Fail(fmt::format("{}: {}", column, *error));
    } else if (value < least || value > most) {
      Fail(fmt::format("{}: {} is out of range; expected {} to {}", column, value, least, most));
    }
    return value;
  }

  void Fail(std::string_view message) {
    ++errors_;
    diagnostics_.Error({source_, line_, 1}, "", message);
  }

  const Stage& stage_;
  const std::string& source_;
  Diagnostics& diagnostics_;
  std::map<std::string, size_t, std::less<>> columns_;
  size_t columns_count_ = 0;
  int line_ = 0;
  size_t errors_ = 0;
};

}  // namespace

void FlowList::Declare(Fields& fields) {
  fields.Add("file", file_, "The CSV file, relative to the experiment's folder.",
             Fields::kRequired);
  fields.Add("start", start_, {.at_least = Duration{0}, .at_most = 1000_s},
             "Added to every start_ps.");
  DeclareCommon(fields);
}

void FlowList::Prepare(const Stage& stage, std::string_view path, Diagnostics& diagnostics) {
  stage_ = stage;
  file_ = stage.PathTo(file_);
  std::string message;
  const std::optional<std::string> text = ReadTextFile(file_, kMaxFileBytes, message);
  if (!text) {
    return diagnostics.ErrorAt(fmt::format("{}.file", path), fmt::format("{} {}", file_, message));
  }
  requests_ = FlowReader(stage, file_, diagnostics).Read(*text);
  for (FlowRequest& request : requests_) request.start += start_;
}

Forecast FlowList::Expect() const {
  Forecast forecast;
  double crossing = 0;
  forecast.first = requests_.empty() ? Time{} : requests_.front().start;
  for (const FlowRequest& request : requests_) {
    forecast.flows += 1;
    forecast.large_flow = std::max(forecast.large_flow, request.size);
    forecast.bytes += static_cast<double>(request.size);
    const double packets = static_cast<double>((request.size + stage_.mss - 1) / stage_.mss);
    forecast.packets += packets;
    crossing += stage_.leaf_of_host[request.src] != stage_.leaf_of_host[request.dst] ? packets : 0;
    forecast.first = std::min(forecast.first, request.start);
    forecast.last = std::max(forecast.last, request.start);
  }
  forecast.most_flows = static_cast<int64_t>(requests_.size());
  forecast.crossing = crossing / std::max(forecast.packets, 1.0);
  return forecast;
}

std::unique_ptr<FlowSource> FlowList::Open() const {
  return std::make_unique<RequestList>(requests_);
}

}  // namespace heddle
