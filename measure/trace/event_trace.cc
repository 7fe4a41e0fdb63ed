// SPDX-License-Identifier: Apache-2.0

#include "measure/trace/event_trace.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>

#include "fabric/shared_memory.h"

namespace heddle {
namespace {

constexpr int kFlows = static_cast<int>(EventTrace::Group::kFlows);
constexpr int kQueues = static_cast<int>(EventTrace::Group::kQueues);
constexpr int kPauses = static_cast<int>(EventTrace::Group::kPauses);

constexpr std::string_view kBegin =
    "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"tid\":0,\"args\":{\"name\":\"Flows\"}},\n"
    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":2,\"tid\":0,\"args\":{\"name\":\"Queues\"}},\n"
    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":3,\"tid\":0,\"args\":{\"name\":\"Pauses\"}}";
constexpr std::string_view kEnd = "\n]}\n";

}  // namespace

std::string TraceStamp(Time at) {
  constexpr int64_t kPsPerUs = 1'000'000;
  return fmt::format(FMT_COMPILE("{}.{:06}"), at.ps / kPsPerUs, at.ps % kPsPerUs);
}

void EventTrace::AddFlow(const FlowSpec& spec, Time end) {
  if (!HasRoom(Group::kFlows)) return;
  const uint32_t index = static_cast<uint32_t>(flows_.size());
  flows_.push_back({spec, end});
  events_.push_back({spec.start, Kind::kFlowStart, index, 0});
  events_.push_back({end, Kind::kFlowEnd, index, 0});
}

void EventTrace::AddPause(uint32_t port, uint8_t cls, Time start, Time end) {
  if (!HasRoom(Group::kPauses)) return;
  events_.push_back({start, Kind::kPauseStart, port, cls});
  events_.push_back({end, Kind::kPauseEnd, port, cls});
}

void EventTrace::Append(const Event& event, const std::function<std::string(uint32_t)>& name,
                        std::string& text) const {
  auto out = std::back_inserter(text);
  const std::string at = TraceStamp(event.at);
  switch (event.kind) {
    case Kind::kQueue:
      fmt::format_to(out,
                     FMT_COMPILE(R"({{"ph":"C","name":"{}","pid":{},"tid":0,"ts":{},)"
                                 R"("args":{{"bytes":{}}}}})"),
                     name(event.id), kQueues, at, event.value);
      return;
    case Kind::kPauseStart:
    case Kind::kPauseEnd:
      fmt::format_to(out,
                     FMT_COMPILE(R"({{"ph":"{}","cat":"pause","id":{},"name":"{} class {}",)"
                                 R"("pid":{},"tid":0,"ts":{}}})"),
                     event.kind == Kind::kPauseStart ? 'b' : 'e', event.id * kClasses + event.value,
                     name(event.id), event.value, kPauses, at);
      return;
    case Kind::kFlowStart: {
      const FlowSpec& spec = flows_[event.id].spec;
      fmt::format_to(out,
                     FMT_COMPILE(R"({{"ph":"b","cat":"flow","id":{0},"name":"flow {0}",)"
                                 R"("pid":{1},"tid":0,"ts":{2},"args":{{"src":"host{3}",)"
                                 R"("dst":"host{4}","sport":{5},"dport":{6},"bytes":{7}}}}})"),
                     spec.id, kFlows, at, spec.src, spec.dst, spec.sport, spec.dport, spec.size);
      return;
    }
    case Kind::kFlowEnd: {
      const Flow& flow = flows_[event.id];
      fmt::format_to(out,
                     FMT_COMPILE(R"({{"ph":"e","cat":"flow","id":{0},"name":"flow {0}",)"
                                 R"("pid":{1},"tid":0,"ts":{2},"args":{{"finished":{3}}}}})"),
                     flow.spec.id, kFlows, at, flow.end != kNever);
      return;
    }
  }
}

void EventTrace::Write(Time end, const std::function<std::string(uint32_t)>& name,
                       const std::function<bool(std::string_view)>& write, std::string_view more) {
  constexpr size_t kPiece = size_t{1} << 16;
  for (Event& event : events_) event.at = std::min(event.at, end);
  // At the same instant, ends come before starts; otherwise events keep the order in which they
  // were added.
  std::ranges::stable_sort(events_, {},
                           [](const Event& event) { return std::tuple(event.at, event.kind); });
  std::string text(kBegin);
  for (const Event& event : events_) {
    text += ",\n";
    Append(event, name, text);
    if (text.size() < kPiece) continue;
    if (!write(text)) return;
    text.clear();
  }
  text += more;
  text += kEnd;
  write(text);
}

}  // namespace heddle
