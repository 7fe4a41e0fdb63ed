// SPDX-License-Identifier: Apache-2.0
// A run as its instruments see it. Before the network is built they are given the plan. Later they
// are given the run itself, through which they write files and may end the run.

#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "measure/flow_recorder.h"
#include "measure/size_classes.h"
#include "measure/timeline.h"
#include "network/network.h"
#include "topo/queue_rule.h"
#include "topo/trim_rule.h"
#include "transport/transports.h"
#include "transport/udp.h"

namespace heddle {

class HostJobs;

// The part that is known before the network is built. Everything that it points at outlives the
// run.
struct RunPlan {
  const SizeClasses* classes = nullptr;
  const TransportModel* transport = nullptr;
  const PauseRule* pfc = nullptr;
  const TrimRule* trim = nullptr;  // Null: switches do not trim.
  std::string_view lb;             // The kind of load balancer.
  Timeline timeline = {};
  std::span<const UdpSource> background = {};  // By id.
  // Flows before this id are messages of jobs. `message` returns the flow of one, without its
  // start.
  FlowId messages_end = 0;
  std::function<FlowSpec(FlowId)> message = nullptr;
  // The programs of jobs, by host; filled once the network has been built. Null: there are no jobs.
  const std::vector<HostJobs*>* jobs = nullptr;
};

// Appends `text` to the file `file`. Returns false if it cannot write it.
using FileWriter = std::function<bool(std::string_view file, std::string_view text)>;

class MeasuredRun {
 public:
  // `network` and `recorders` outlive the run. Without `write`, files are dropped.
  MeasuredRun(const RunPlan& plan, Network& network,
              std::span<const std::unique_ptr<FlowRecorder>> recorders, FileWriter write)
      : plan_(plan), network_(network), recorders_(recorders), write_(std::move(write)) {}

  const RunPlan& plan() const { return plan_; }
  Network& network() { return network_; }

  // The recorders of flows, one for each thread. Read them only between windows.
  std::span<const std::unique_ptr<FlowRecorder>> recorders() const { return recorders_; }

  // Appends `text` to the file `file`. After a failure nothing more is written, and the run stops.
  void Write(std::string_view file, std::string_view text) {
    writable_ = writable_ && (!write_ || write_(file, text));
  }
  bool writable() const { return writable_; }

  // Ends the run with this window.
  void End() { ends_ = true; }
  bool ends() const { return ends_; }

 private:
  const RunPlan plan_;
  Network& network_;
  const std::span<const std::unique_ptr<FlowRecorder>> recorders_;
  const FileWriter write_;
  bool writable_ = true;
  bool ends_ = false;
};

}  // namespace heddle
