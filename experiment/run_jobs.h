// SPDX-License-Identifier: Apache-2.0
// The closed-loop jobs of one run: makes them from the workloads, puts their ranks on the hosts of
// a network, and knows when they are done.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "experiment/experiment.h"
#include "measure/size_classes.h"
#include "network/network.h"
#include "topo/graph.h"
#include "workload/jobs/host_jobs.h"
#include "workload/jobs/job.h"

namespace heddle {

class RunJobs {
 public:
  // If `only` is not 0, the ranks of job `only` alone are placed.
  RunJobs(const Experiment& experiment, const SizeClasses& classes, uint32_t only);

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

  // When the first job starts or ranks that have waited for each other go on; kNever if neither is
  // due.
  Time Next() const;
  // Call it between windows, when Next() lies before the end of the next one.
  void Wake(Time end);

  // Returns true if each rank of each measured job has finished. Some of the messages that they
  // have sent may be under way.
  bool done() const { return ranks_left_.load() == 0; }
  // When the last rank of a measured job has finished; needs done().
  Time LastEnd() const;

 private:
  // The ranks of a job that wait for each other between iterations.
  struct Pause {
    const Job* job;
    Duration delay;  // From the last rank's arrival to the next iteration.
    std::unique_ptr<HostJobs::Meeting> meeting;

    bool is_over() const { return meeting->arrived() == job->schedule().ranks(); }
    Time end() const { return is_over() ? meeting->last() + delay : kNever; }
  };

  void AddPause(const Job& job, Network& network);
  static void LimitWindow(const Job& job, Network& network);
  void Start();

  std::vector<std::unique_ptr<Job>> jobs_;
  const Graph& graph_;
  const uint32_t only_;
  std::vector<Pause> pauses_;
  std::vector<HostJobs*> hosts_;
  std::atomic<int64_t> ranks_left_ = 0;  // Of measured jobs, that have not finished.
  FlowId end_ = 0;
  Time first_ = kNever;
  bool started_ = false;
};

}  // namespace heddle
