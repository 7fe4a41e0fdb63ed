// SPDX-License-Identifier: Apache-2.0

#include "measure/trace/rank_trace.h"

#include <absl/container/flat_hash_map.h>
#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "measure/trace/event_trace.h"

namespace heddle {
namespace {

using Kind = Operation::Kind;

// The tracks of a rank, from top to bottom.
constexpr std::array kTracks = {Kind::kCompute, Kind::kCollective, Kind::kSend, Kind::kReceive};

struct Slice {
  const RankOperation* its;
  Time start;
  Time end;
};

// A message in an iteration of a job.
using MessageKey = std::tuple<uint32_t, uint32_t, uint64_t>;

MessageKey KeyOf(const RankOperation& operation) {
  return {operation.job->number(), operation.iteration, operation.message};
}

bool HasMessage(const RankOperation& operation) {
  return operation.is_message() && operation.message != RankOperation::kNoMessage;
}

// The sends and receives that an arrow joins: those with both ends, by message.
class Arrows {
 public:
  explicit Arrows(std::span<const RankOperation> operations) {
    for (const RankOperation& its : operations) {
      if (its.is_send() && its.start() != kNever) starts_.emplace(KeyOf(its), its.start());
    }
  }

  // When the message of a receive started; nothing if no send of it is known.
  std::optional<Time> StartOf(const RankOperation& receive) const {
    if (!HasMessage(receive)) return std::nullopt;
    const auto found = starts_.find(KeyOf(receive));
    return found == starts_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  absl::flat_hash_map<MessageKey, Time> starts_;
};

// Returns the slice of an operation that has started; nothing for others.
std::optional<Slice> SliceOf(const RankOperation& its, const Arrows& arrows, Time end) {
  Time start = its.start();
  if (start == kNever) return std::nullopt;
  if (its.kind == Kind::kReceive) start = std::max(start, arrows.StartOf(its).value_or(start));
  const Time last = std::min(its.times.end, end);
  return Slice{&its, std::min(start, last), last};
}

// Slices of one track must not overlap, so operations that are under way at once get lanes of their
// own: the first that is free.
class Lanes {
 public:
  size_t LaneFor(const Slice& slice) {
    for (size_t lane = 0; lane < free_.size(); ++lane) {
      if (free_[lane] > slice.start) continue;
      free_[lane] = slice.end;
      return lane;
    }
    free_.push_back(slice.end);
    return free_.size() - 1;
  }
  size_t count() const { return free_.size(); }

 private:
  std::vector<Time> free_;
};

// Names in traces are the user's.
std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      escaped += '\\';
      escaped += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      escaped += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string NameOf(const RankOperation& its) {
  std::string name(WordOf(its.kind));
  const std::optional<int64_t> peer = its.peer();
  if (peer) name += fmt::format(" {} {}", its.is_send() ? "to" : "from", *peer);
  if (const auto step = its.step()) name += fmt::format(", step {}", *step);
  return its.label().empty() ? name : fmt::format("{}: {}", Escaped(its.label()), name);
}

class RankWriter {
 public:
  RankWriter(const Arrows& arrows, std::string& json) : arrows_(arrows), json_(json) {}

  // All slices of one rank, by their start.
  void Write(int group, std::span<const Slice> slices) {
    const RankOperation& first = *slices.front().its;
    const std::string& label = first.job->settings().label;
    AddMetadata("process_name", group, 0,
                fmt::format("\"name\":\"job {}{}{} rank {} (host{})\"", first.job->number(),
                            label.empty() ? "" : " ", Escaped(label), first.rank,
                            first.job->HostOf(first.rank)));
    AddMetadata("process_sort_index", group, 0, fmt::format(R"("sort_index":{})", group));
    for (const Kind kind : kTracks) {
      Lanes lanes;
      for (const Slice& slice : slices) {
        if (slice.its->kind == kind) Add(slice, group, next_track_ + lanes.LaneFor(slice));
      }
      for (size_t lane = 0; lane < lanes.count(); ++lane, ++next_track_) {
        AddMetadata("thread_name", group, next_track_,
                    lane == 0 ? fmt::format(R"("name":"{}")", WordOf(kind))
                              : fmt::format(R"("name":"{} {}")", WordOf(kind), lane + 1));
        AddMetadata("thread_sort_index", group, next_track_,
                    fmt::format(R"("sort_index":{})", next_track_));
      }
    }
  }

 private:
  void AddMetadata(std::string_view what, int group, size_t track, const std::string& value) {
    fmt::format_to(std::back_inserter(json_),
                   FMT_COMPILE(",\n{{\"ph\":\"M\",\"name\":\"{}\",\"pid\":{},\"tid\":{},"
                               "\"args\":{{{}}}}}"),
                   what, group, track, value);
  }

  void Add(const Slice& slice, int group, size_t track) {
    const RankOperation& its = *slice.its;
    auto out = std::back_inserter(json_);
    fmt::format_to(out,
                   FMT_COMPILE(",\n{{\"ph\":\"X\",\"cat\":\"{}\",\"name\":\"{}\",\"pid\":{},"
                               "\"tid\":{},\"ts\":{},\"dur\":{}"),
                   WordOf(its.kind), NameOf(its), group, track, TraceStamp(slice.start),
                   TraceStamp(Time{} + (slice.end - slice.start)));
    AddArrow(its);
    fmt::format_to(out, FMT_COMPILE(",\"args\":{{\"job\":{},\"iter\":{},\"rank\":{},\"op\":{}"),
                   its.job->number(), its.iteration, its.rank, its.op);
    AddArgument("bytes", its.bytes());
    AddArgument("tag", its.tag());
    AddArgument("flow", its.flow());
    fmt::format_to(out, FMT_COMPILE(",\"finished\":{}}}}}"), its.times.end <= slice.end);
  }

  // The format's second version of flow events: slices with the same bind_id are joined.
  void AddArrow(const RankOperation& its) {
    if (!HasMessage(its)) return;
    if (!its.is_send() && !arrows_.StartOf(its)) return;
    const auto [job, iteration, message] = KeyOf(its);
    fmt::format_to(std::back_inserter(json_),
                   FMT_COMPILE(",\"bind_id\":\"{}.{}.{}\",\"flow_{}\":true"), job, iteration,
                   message, its.is_send() ? "out" : "in");
  }

  template <class T>
  void AddArgument(std::string_view name, const std::optional<T>& value) {
    if (!value) return;
    fmt::format_to(std::back_inserter(json_), FMT_COMPILE(",\"{}\":{}"), name, *value);
  }

  const Arrows& arrows_;
  std::string& json_;
  size_t next_track_ = 1;  // Viewers want numbers that no other process has.
};

std::tuple<uint32_t, uint32_t> RankOf(const Slice& slice) {
  return {slice.its->job->number(), slice.its->rank};
}

}  // namespace

RankTrace RanksAsJson(std::span<const RankOperation> operations,
                      const RankTraceSettings& settings) {
  const Arrows arrows(operations);
  std::vector<Slice> slices;
  for (const RankOperation& its : operations) {
    const std::optional<Slice> slice = SliceOf(its, arrows, settings.end);
    if (!slice || slice->start >= settings.to || slice->end < settings.from) continue;
    slices.push_back(*slice);
  }
  RankTrace trace;
  std::ranges::stable_sort(slices, {}, &Slice::start);
  if (static_cast<int64_t>(slices.size()) > settings.limit) {
    slices.resize(static_cast<size_t>(settings.limit));
    trace.is_whole = false;
  }
  std::ranges::stable_sort(slices, {}, RankOf);
  RankWriter writer(arrows, trace.json);
  int group = settings.first_group;
  for (size_t first = 0; first < slices.size(); ++group) {
    size_t last = first;
    while (last < slices.size() && RankOf(slices[last]) == RankOf(slices[first])) ++last;
    writer.Write(group, std::span(slices).subspan(first, last - first));
    first = last;
  }
  return trace;
}

}  // namespace heddle
