// SPDX-License-Identifier: Apache-2.0
// Writes down what a run does packet by packet: a pcap for each link, and a timeline of flows,
// queues and pauses. It only looks, so results are those of a run without it.

#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/units.h"
#include "measure/instrument.h"
#include "measure/trace/capture.h"
#include "measure/trace/event_trace.h"
#include "measure/trace/frames.h"
#include "topo/graph.h"
#include "workload/workload.h"

namespace heddle {

struct TraceSettings {
  std::vector<FlowRange> flows = {};    // Empty: all.
  std::vector<std::string> links = {};  // By name; empty: all.
  Time from = {};
  Time to = kNever;
  int64_t limit = 100'000;  // Of packets in the pcaps, and of each group in the timeline.
  bool pcap = true;
  bool timeline = true;
  uint32_t snaplen = 262'144;  // Bytes kept of a frame.
  Duration every = 1_us;       // Between two looks at the queues.
};

// The problem with `settings` for a run of these workloads on `graph`; nothing if all is well, as
// far as can be known before it has been run.
std::optional<std::string> ProblemWith(const TraceSettings& settings, const Graph& graph,
                                       std::span<const Forecast> forecasts);

class Tracer final : public Instrument,
                     public FlowObserver,
                     public SenderObserver,
                     public WindowObserver {
 public:
  // `settings`, which have no problem, must outlive it.
  explicit Tracer(const TraceSettings& settings);

  // When it looks at the queues next.
  Time Next() const override { return next_; }
  void Act(Time now) override;

  void OnStart(const FlowSpec& spec) override;
  void OnEnd(const FlowRecord& record) override;
  void OnSenderDone(FlowId flow) override;

  // Writes down what arrived in the window.
  void OnWindowClosed(Time end) override;

  // Notes why there is no trace, or what it lacks.
  void Finish(Time end, RunNotes& notes) override;

 private:
  // What arrives at one end of a link: point 2 * link of what b receives, the next of what a does.
  struct Point {
    std::string link;
    LinkEnd from;
    LinkEnd to;
  };
  // The pcap of a link.
  struct File {
    std::string name;
    std::string text;  // Not written yet.
    int64_t packets = 0;
    Time first{};
    Time last{};
  };
  struct Flow {
    FlowSpec spec;
    bool seen = false;  // Packets of it have been noted.
  };
  // A port of a switch, as a queue.
  struct Queue {
    const Network::Egress* egress;
    uint32_t point;  // Of what it sends.
    int64_t bytes = 0;
  };

  void Begin() override;
  std::string Problem() const;
  std::vector<std::string> Warnings() const;
  bool Chosen(const Graph::Link& link) const;
  void NoteQueues(Time now);
  std::string NotStarted() const;
  bool Shows(const Queue& queue) const;
  LinkEnd EndOf(VertexId vertex, uint32_t link) const;
  void WatchLinks();
  int64_t BytesAt(const Network::Egress& egress, Time now);
  void OnArrival(uint32_t point, const Packet& packet);
  void Record(uint32_t point, const Packet& packet, const FlowSpec* flow);
  const FlowSpec* FlowOf(const Packet& packet);
  void OnPause(uint32_t point, const Packet& frame);
  void EndPause(uint32_t point, uint8_t cls, Time now);
  std::string NameOf(uint32_t point) const;
  void Flush(File& file);
  std::string Index() const;

  void WriteTimeline(Time end);

  const TraceSettings& settings_;
  Capture capture_;
  std::optional<FrameMaker> frames_;  // From when it is attached.
  std::map<uint32_t, Point> points_;
  absl::flat_hash_map<FlowId, Flow> flows_;  // Chosen ones.
  FlowSpec datagram_;                        // Addresses and ports of the one at hand.
  std::map<uint32_t, File> files_;           // By link, those that have packets or were named.
  int64_t packets_ = 0;
  Time cut_ = kNever;  // When there was one too many: the trace ends here.

  int64_t started_ = 0;    // Flows, chosen or not,
  int64_t under_way_ = 0;  // and chosen ones whose sender is not done.
  Time end_;

  EventTrace timeline_;
  Time queues_until_ = kNever;  // When there was no room for more.
  Time next_ = kNever;
  std::vector<Queue> queues_;
  std::vector<bool> links_seen_;                         // On which packets have been noted.
  std::map<std::pair<uint32_t, uint8_t>, Time> pauses_;  // Since when, by point and class.
  std::set<FlowId> running_;                             // Chosen flows that have not ended.
};

}  // namespace heddle
