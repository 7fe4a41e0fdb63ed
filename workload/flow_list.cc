// SPDX-License-Identifier: Apache-2.0

#include "workload/flow_list.h"

#include <absl/container/flat_hash_map.h>
#include <absl/strings/str_split.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>

#include "settings/csv.h"
#include "settings/files_read.h"
#include "settings/quantity.h"
#include "settings/status.h"
#include "workload/request_list.h"

namespace heddle {
namespace {

constexpr size_t kMaxFileBytes = size_t{4} << 30;
constexpr size_t kMaxErrors = 20;

std::string_view WithoutBlanks(std::string_view cell) {
  constexpr std::string_view kBlanks = " \t\r";
  const size_t first = cell.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return cell.substr(first, cell.find_last_not_of(kBlanks) - first + 1);
}

// Reads the rows of one file, noting every mistake in it.
class FlowReader {
 public:
  FlowReader(const Stage& stage, const std::string& source, Diagnostics& diagnostics)
      : stage_(stage), source_(source), diagnostics_(diagnostics) {}

  // Returns no flows if there is a mistake.
  std::vector<FlowRequest> Read(std::string_view text, std::vector<FlowList::Wish>& wishes) {
    std::vector<Row> rows;
    CsvReader reader(text);
    while (errors_ < kMaxErrors && reader.Next()) {
      line_ = reader.line();
      if (!reader.status().ok()) {
        Fail(MessageOf(reader.status()));
        if (line_ == 1) return {};
        continue;
      }
      std::vector<std::string_view> cells = reader.cells();
      for (std::string_view& cell : cells) cell = WithoutBlanks(cell);
      const bool is_blank = cells.size() == 1 && cells.front().empty();
      if (line_ == 1) {
        if (!ReadHeader(cells)) return {};
      } else if (!is_blank) {
        if (auto row = ReadRow(cells)) rows.push_back(std::move(*row));
      }
    }
    if (errors_ >= kMaxErrors) Fail("and perhaps more; reading stopped here");
    if (rows.empty() && errors_ == 0) Fail("lists no flows");
    if (errors_ > 0) return {};
    // Flows of one instant start in the order of their ids, so that the flows.csv of a run, which
    // is in the order of completion, repeats that run.
    std::ranges::stable_sort(rows, {}, &Row::order);
    std::vector<FlowRequest> requests;
    requests.reserve(rows.size());
    for (Row& row : rows) {
      row.wish.request = requests.size();
      const bool wishes_any = !row.wish.path.empty() || !row.wish.ack_path.empty();
      if (wishes_any) wishes.push_back(std::move(row.wish));
      requests.push_back(row.request);
    }
    return requests;
  }

 private:
  struct Row {
    int64_t order;  // 0 for all if the file gives none.
    FlowRequest request;
    FlowList::Wish wish;
  };

  bool ReadHeader(const std::vector<std::string_view>& names) {
    for (size_t i = 0; i < names.size(); ++i) {
      if (columns_.emplace(names[i], i).second) continue;
      Fail(fmt::format("the header names the column {} twice", names[i]));
      return false;
    }
    columns_count_ = names.size();
    size_ = OneOf({"size_bytes", "bytes"});
    start_ = OneOf({"start_ps", "start_ns", "start"});
    return OneOf({"src"}) && OneOf({"dst"}) && size_ && start_;
  }

  // Returns the one of `names` that the header has; null, and a mistake, if it has none or several.
  const char* OneOf(std::initializer_list<const char*> names) {
    const char* found = nullptr;
    for (const char* name : names) {
      if (!columns_.contains(name)) continue;
      if (found != nullptr) {
        Fail(fmt::format("the header has both {} and {}; leave one out", found, name));
        return nullptr;
      }
      found = name;
    }
    if (found == nullptr) {
      Fail(
          fmt::format("the header has no column {}; needed: src, dst, size_bytes or bytes, and "
                      "start_ps, start_ns or start",
                      fmt::join(names, " or ")));
    }
    return found;
  }

  std::optional<Row> ReadRow(const std::vector<std::string_view>& cells) {
    if (cells.size() != columns_count_) {
      Fail(fmt::format("has {} columns; the header has {}", cells.size(), columns_count_));
      return std::nullopt;
    }
    const size_t errors_before = errors_;
    const int64_t last_host = static_cast<int64_t>(stage_.hosts) - 1;
    constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
    const int64_t id = IsEmpty(cells, "id") ? -1 : Number(cells, "id", 0, kAny, -1);
    const int64_t order = Number(cells, "flow_id", 0, kAny, std::max<int64_t>(id, 0));
    const int64_t src = Number(cells, "src", 0, last_host, 0);
    const int64_t dst = Number(cells, "dst", 0, last_host, 0);
    const int64_t size = Number(cells, size_, 1, stage_.max_flow_size, 0);
    const int64_t start = StartOf(cells);
    const int64_t dport = Number(cells, "dport", 0, 65'535, 100);
    const int64_t sport = Number(cells, "sport", 0, 65'535, -1);
    if (const auto deps = columns_.find("deps");
        deps != columns_.end() && !cells[deps->second].empty()) {
      Fail("has deps; flows that wait for others are not supported");
    }
    if (errors_ == errors_before && src == dst) Fail(fmt::format("host {} sends to itself", src));
    if (errors_ == errors_before && id >= 0) CheckIsNew(id);
    Row row{.order = order,
            .request = {},
            .wish = {0, line_, Uplinks(cells, "path"), Uplinks(cells, "ack_path")}};
    if (errors_ > errors_before) return std::nullopt;
    row.request = FlowRequest{.start = Time{start},
                              .src = static_cast<HostId>(src),
                              .dst = static_cast<HostId>(dst),
                              .size = size,
                              .dport = static_cast<uint16_t>(dport)};
    if (sport >= 0) row.request.sport = static_cast<uint16_t>(sport);
    if (id >= 0) row.request.id = id;
    return row;
  }

  bool IsEmpty(const std::vector<std::string_view>& cells, const char* column) const {
    const auto found = columns_.find(column);
    return found != columns_.end() && cells[found->second].empty();
  }

  void CheckIsNew(int64_t id) {
    const auto [known, is_new] = line_of_id_.emplace(id, line_);
    if (!is_new) Fail(fmt::format("id: {} is the id of line {} too", id, known->second));
  }

  int64_t StartOf(const std::vector<std::string_view>& cells) {
    constexpr Duration kMost = 1'000_s;
    const std::string_view column = start_;
    if (column == "start_ps") return Number(cells, start_, 0, kMost.ps, 0);
    Duration start{0};
    const std::string text =
        fmt::format("{}{}", cells[columns_.at(start_)], column == "start_ns" ? "ns" : "");
    if (const ParseError error = ParseQuantity(text, start)) {
      Fail(fmt::format("{}: {}", column, *error));
    } else if (start < Duration{0} || start > kMost) {
      Fail(fmt::format("{}: {} is out of range; expected 0 to 1000 s", column, text));
    }
    return start.ps;
  }

  // Reads a path: "3/1" is uplink 3 of the leaf, then uplink 1 of the switch that it leads to. An
  // empty text names no path.
  std::vector<int64_t> Uplinks(const std::vector<std::string_view>& cells, const char* column) {
    const auto found = columns_.find(column);
    std::vector<int64_t> uplinks;
    if (found == columns_.end() || cells[found->second].empty()) return uplinks;
    const std::vector<std::string> words = absl::StrSplit(std::string(cells[found->second]), '/');
    for (const std::string& word : words) {
      const ParseError error = ParseQuantity(word, uplinks.emplace_back());
      if (!error) continue;
      Fail(fmt::format("{}: {}; expected an uplink's number for each tier, such as 3 or 3/1",
                       column, *error));
      return {};
    }
    return uplinks;
  }

  // Returns the number in a column, `absent` if there is no such column.
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
  const char* size_ = nullptr;   // The column of sizes,
  const char* start_ = nullptr;  // and that of starts.
  absl::flat_hash_map<int64_t, int> line_of_id_;
  int line_ = 0;
  size_t errors_ = 0;
};

}  // namespace

void FlowList::Declare(Fields& fields) {
  fields.Add(
      "file", file_,
      "The CSV file, relative to the experiment's folder. Columns: src, dst, size_bytes or bytes, "
      "and "
      "start_ps, start_ns or start with a unit; if you like, id, path, ack_path, sport, dport.",
      Fields::kRequired);
  fields.Add("start", start_, {.at_least = Duration{0}, .at_most = 1000_s},
             "Added to every start.");
  DeclareCommon(fields);
}

void FlowList::Prepare(const Stage& stage, std::string_view path, FilesRead& files,
                       Diagnostics& diagnostics) {
  stage_ = stage;
  file_ = stage.PathTo(file_);
  const absl::StatusOr<std::string> text = files.Read(file_, kMaxFileBytes);
  if (!text.ok()) {
    return diagnostics.ErrorAt(fmt::format("{}.file", path),
                               MessageOf(Within(text.status(), file_, " ")));
  }
  wishes_.clear();
  requests_ = FlowReader(stage, file_, diagnostics).Read(*text, wishes_);
  for (FlowRequest& request : requests_) request.start += start_;
}

void FlowList::PinFlows(const PathFinder& find, Diagnostics& diagnostics) {
  size_t errors = 0;
  const auto path_of = [&](HostId src, HostId dst, const std::vector<int64_t>& uplinks,
                           const Wish& wish, std::string_view column) {
    if (uplinks.empty() || errors == kMaxErrors) return kNoPath;
    const uint16_t path = find(src, dst, uplinks, [&](std::string_view why) {
      diagnostics.Error({file_, wish.line, 1}, "", fmt::format("{}: {}", column, why));
    });
    if (path != kNoPath) return path;
    if (++errors == kMaxErrors) {
      diagnostics.Error({file_, wish.line, 1}, "", "and perhaps more; reading stopped here");
    }
    return kNoPath;
  };
  for (const Wish& wish : wishes_) {
    FlowRequest& request = requests_[wish.request];
    request.pin.path = path_of(request.src, request.dst, wish.path, wish, "path");
    request.pin.ack_path = path_of(request.dst, request.src, wish.ack_path, wish, "ack_path");
  }
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
    forecast.gives_ids = forecast.gives_ids || request.id;
    forecast.pins_flows = forecast.pins_flows || request.pin.pins();
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
