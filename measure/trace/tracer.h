// SPDX-License-Identifier: Apache-2.0
// Writes down what a run does packet by packet: a pcap for each link, and a timeline of flows,
// queues and pauses. It only looks, so results are those of a run without it.

#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/units.h"
#include "experiment/experiment.h"
#include "measure/series.h"
#include "measure/trace/capture.h"
#include "measure/trace/event_trace.h"
#include "measure/trace/frames.h"
#include "network/network.h"

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

// What is wrong with `settings` for this experiment; nothing if all is well, as far as can be known
// before it has been run.
std::optional<std::string> ProblemWith(const TraceSettings& settings, const Experiment& experiment);

class Tracer {
 public:
  // All of these must outlive it. Before the run; `settings` have no problem.
  Tracer(const TraceSettings& settings, const Experiment& experiment, Network& network,
         const SeriesWriter& write);

  // When it looks at the queues next, which it does between windows; and to do so.
  Time Next() const { return next_; }
  void Take(Time now);

  // A flow will start at spec.start; and has come whole at `done`, kNever: it has not, or it is not
  // known yet.
  void OnStart(const FlowSpec& spec);
  void OnEnd(FlowId flow, Time done);

  // All of a flow's bytes have been acknowledged, in the window that ends now. Known long before
  // OnEnd(), which waits for what may still be on its way.
  void OnSenderDone(FlowId flow);

  // A window has ended: writes down what arrived in it.
  void Close();

  // The run ends at `end`.
  void Finish(Time end);

  bool writable() const { return writable_; }
  // After Finish(): why there is no trace, empty if there is one; and what it lacks, for the user.
  std::string problem() const;
  std::vector<std::string> warnings() const;

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
  void Write(std::string_view file, std::string_view text);
  std::string Index() const;

  const TraceSettings& settings_;
  const Experiment& experiment_;
  Network& network_;
  const SeriesWriter& write_;
  bool writable_ = true;

  Capture capture_;
  FrameMaker frames_;
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
