// SPDX-License-Identifier: Apache-2.0

#include "experiment/run_jobs.h"

#include <algorithm>

#include "core/check.h"

namespace heddle {

RunJobs::RunJobs(const Experiment& experiment, const SizeClasses& classes) {
  for (const Chosen<Workload>& workload : experiment.settings.workload) {
    std::unique_ptr<Job> job = workload.settings->MakeJob(static_cast<uint32_t>(jobs_.size() + 1));
    if (job == nullptr) continue;
    job->SetBase(end_);
    end_ += static_cast<FlowId>(job->ids());
    job->SetClassOf([&classes](int64_t size, bool measured) {
      return static_cast<uint16_t>(measured ? classes.AtomOf(size) : classes.atoms());
    });
    first_ = std::min(first_, job->settings().start);
    jobs_.push_back(std::move(job));
  }
}

Time RunJobs::LastEnd() const {
  Time last;
  for (const HostJobs* host : hosts_) {
    for (size_t place = 0; place < host->ranks(); ++place) {
      if (!host->JobOf(place).settings().measured) continue;
      last = std::max(last, host->IterationsOf(place).back().end);
    }
  }
  return last;
}

FlowSpec RunJobs::SpecOf(FlowId message) const {
  for (const std::unique_ptr<Job>& job : jobs_) {
    if (!job->Owns(message)) continue;
    const Job::Place place = job->PlaceOf(message);
    return job->SpecOf(place, job->schedule().MessageOf(place.index));
  }
  HEDDLE_CHECK(false, "flow {} belongs to no job", message);
}

void RunJobs::PlaceOn(Network& network) {
  std::vector<bool> has_ranks(network.hosts(), false);
  for (const std::unique_ptr<Job>& job : jobs_) {
    for (const HostId host : job->settings().host_of_rank) has_ranks[host] = true;
  }
  for (size_t h = 0; h < network.hosts(); ++h) {
    if (!has_ranks[h]) continue;
    auto programs = std::make_unique<HostJobs>(network.host(h), jobs_, totals_);
    hosts_.push_back(programs.get());
    network.host(h).SetApplication(std::move(programs), end_);
  }
}

void RunJobs::Start() {
  started_ = true;
  for (HostJobs* host : hosts_) host->Start();
}

}  // namespace heddle
