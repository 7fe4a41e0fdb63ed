// SPDX-License-Identifier: Apache-2.0
// The instrument behind `heddle trace`: it records a run packet by packet, as a pcap for each link
// and a timeline of flows, queues and pauses. It changes nothing, so results are the same as
// without it.

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
#include "measure/rank_operations.h"
#include "measure/trace/capture.h"
#include "measure/trace/event_trace.h"
#include "measure/trace/frames.h"
#include "topo/graph.h"
#include "workload/workload.h"

namespace heddle {

struct TraceSettings {
  std::vector<FlowRange> flows = {};    // Empty: all.
  std::vector<std::string> links = {};  // Names; empty: all.
  Time from = {};
  Time to = kNever;
  int64_t limit =
      100'000;  // The most packets in all pcaps, and the most events of each group in the timeline.
  bool pcap = true;
  bool timeline = true;
  uint32_t snaplen = 262'144;  // Bytes kept of a frame.
  Duration every = 1_us;       // The interval between two samples of the queues.
};

// Returns what is wrong with `settings` for a run of these workloads on `graph`; nothing if no
// problem can be seen before the run.
std::optional<std::string> ProblemWith(const TraceSettings& settings, const Graph& graph,
                                       std::span<const Forecast> forecasts);

class Tracer final : public Instrument,
                     public FlowObserver,
                     public SenderObserver,
                     public WindowObserver {
 public:
  // `settings`, which have no problem, must outlive it.
  explicit Tracer(const TraceSettings& settings);

  // The time of the next sample of the queues.
  Time Next() const override { return next_; }
  void Act(Time now) override;

  void OnStart(const FlowSpec& spec) override;
  void OnEnd(const FlowRecord& record) override;
  void OnSenderDone(FlowId flow) override;

  // Records the packets that arrived in the window.
  void OnWindowClosed(Time end) override;

  // Adds a note if there is no trace, or if the trace is incomplete.
  void Finish(Time end, RunNotes& notes) override;

 private:
  // One direction of a link: point 2 * link holds the packets that end b receives, the next point
  // those that end a receives.
  struct Point {
    std::string link;
    LinkEnd from;
    LinkEnd to;
  };
  // The pcap of a link.
  struct File {
    std::string name;
    std::string text;  // Text that is not written yet.
    int64_t packets = 0;
    Time first{};
    Time last{};
  };
  struct Flow {
    FlowSpec spec;
    bool seen = false;  // True if a packet of the flow has been noted.
  };
  // A switch port whose queue is sampled.
  struct Queue {
    const Network::Egress* egress;
    uint32_t point;  // The point of the packets that the port sends.
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
  std::vector<RankOperation> ChosenOperations(Time end) const;

  const TraceSettings& settings_;
  Capture capture_;
  std::optional<FrameMaker> frames_;  // Set by Begin().
  std::map<uint32_t, Point> points_;
  absl::flat_hash_map<FlowId, Flow> flows_;  // The chosen flows.
  FlowSpec datagram_;                        // Addresses and ports of the datagram being recorded.
  std::map<uint32_t, File> files_;           // By link; only links that have packets or were named.
  int64_t packets_ = 0;
  Time cut_ = kNever;  // The arrival of the first packet above the limit, where the trace ends.

  int64_t started_ = 0;    // All flows that have started, chosen or not.
  int64_t under_way_ = 0;  // Chosen flows whose sender is not done.
  Time end_;

  EventTrace timeline_;
  bool has_all_operations_ = true;  // Of ranks.
  Time queues_until_ = kNever;      // The time from which there was no room for more samples.
  Time next_ = kNever;
  std::vector<Queue> queues_;
  std::vector<bool> links_seen_;  // By link: true if a packet has been noted on it.
  std::map<std::pair<uint32_t, uint8_t>, Time>
      pauses_;                // The start of each open pause, by point and class.
  std::set<FlowId> running_;  // Chosen flows that have not ended.
};

}  // namespace heddle
