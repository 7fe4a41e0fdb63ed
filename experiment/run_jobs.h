// SPDX-License-Identifier: Apache-2.0
// The closed-loop jobs of one run: makes them from the workloads, puts their ranks on the hosts of
// a network, and knows when they are done.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "experiment/experiment.h"
#include "measure/size_classes.h"
#include "network/network.h"
#include "workload/jobs/host_jobs.h"
#include "workload/jobs/job.h"

namespace heddle {

class RunJobs {
 public:
  RunJobs(const Experiment& experiment, const SizeClasses& classes);

  bool empty() const { return jobs_.empty(); }
  std::span<const std::unique_ptr<Job>> jobs() const { return jobs_; }

  // Returns the flow of a message, without its start.
  FlowSpec SpecOf(FlowId message) const;

  // The first id that no message has.
  FlowId end() const { return end_; }

  // Puts the ranks on the network's hosts; this must outlive the network. No thread may run.
  void PlaceOn(Network& network);

  // The ranks' programs by host, without hosts that have none; filled by PlaceOn().
  const std::vector<HostJobs*>& hosts() const { return hosts_; }

  // When the first job starts, until Start() has been called; kNever from then on.
  Time Next() const { return started_ ? kNever : first_; }
  void Start();

  // Returns true if each rank of each measured job has finished. Some of the messages that they
  // have sent may be under way.
  bool done() const { return totals_.ranks_left.load() == 0; }
  // When the last rank of a measured job has finished; needs done().
  Time LastEnd() const;
  int64_t messages() const { return totals_.messages.load(); }
  int64_t measured_messages() const { return totals_.measured_messages.load(); }
  int64_t payload() const { return totals_.payload.load(); }

 private:
  std::vector<std::unique_ptr<Job>> jobs_;
  std::vector<HostJobs*> hosts_;
  JobTotals totals_;
  FlowId end_ = 0;
  Time first_ = kNever;
  bool started_ = false;
};

}  // namespace heddle
