// SPDX-License-Identifier: Apache-2.0
// links.csv: the traffic that each direction of each link carried in the measured time. It also
// measures the load that hosts offered and received in that time, for summary.json.

#pragma once

#include <cstdint>
#include <vector>

#include "measure/link_time.h"

namespace heddle {

// One direction of a link.
struct LinkUse {
  VertexId vertex;
  PortIndex port;
  VertexId peer;
  BitRate rate;
  FifoPort::Counters sent;
  PauseTotals pauses;
};

// The traffic and load in [from, until).
struct LinkLoad {
  Time from;
  Time until;
  std::vector<LinkUse> links;      // In the order of Network::egresses().
  int64_t payload_offered = 0;     // Bytes of flows that started.
  int64_t payload_carried = 0;     // Bytes of flows that arrived, each byte once.
  int64_t background_offered = 0;  // Bytes on the wire of datagrams sent.
  int64_t background_carried = 0;  // Bytes on the wire of datagrams received.
};

class LinkTotals final : public LinkTime, public FlowObserver {
 public:
  void OnStart(const FlowSpec& spec) override;

  // Valid after the run.
  LinkLoad& load() { return load_; }

 private:
  void Start(Time now) override;
  void Stop(Time now) override;
  void Write(RunNotes& notes) override;

  std::vector<LinkUse> LinksAt(Time now);
  int64_t PayloadReceived();
  void AddBackground(int64_t sign);

  LinkLoad load_;
};

}  // namespace heddle
