// SPDX-License-Identifier: Apache-2.0
// JobWorkload is the base of closed-loop workloads: ranks on hosts send each other messages, each
// of which starts when others have arrived. It has the settings that all of them share, and places
// the ranks. What the ranks do is a schedule, which the derived class makes.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workload/jobs/job.h"
#include "workload/workload.h"

namespace heddle {

class JobWorkload : public Workload {
 public:
  enum class Placement { kPacked, kCyclic, kSpread, kRandom, kList };

  void Prepare(const Stage& stage, std::string_view path, FilesRead& files,
               Diagnostics& diagnostics) final;
  Forecast Expect() const final;
  std::unique_ptr<FlowSource> Open() const final;
  std::unique_ptr<Job> MakeJob(uint32_t number) const final;
  std::span<const HostId> HostsOfJob() const final { return host_of_rank_; }
  bool shares_hosts() const final { return share_hosts_; }

 protected:
  // Declares `ranks` and all other settings that jobs share.
  void DeclareJob(Fields& fields);
  // The same without `ranks`, which ReadFiles() sets.
  void DeclareJobOfFile(Fields& fields);
  void SetRanks(uint32_t ranks) { ranks_ = ranks; }

  uint32_t ranks() const { return static_cast<uint32_t>(ranks_); }
  uint32_t ranks_per_server() const {
    return static_cast<uint32_t>(ranks_per_host_ * domain_hosts_);
  }
  const Stage& stage() const { return stage_; }

  // Reads what the schedule depends on; called by Prepare(), before anything else. Returns false
  // if there is a mistake, which may belong to a file and to no setting.
  virtual bool ReadFiles(std::string_view /*path*/, FilesRead& /*files*/,
                         Diagnostics& /*diagnostics*/) {
    return true;
  }
  // Reports what is wrong with the derived class's settings; called by Prepare().
  virtual void CheckSchedule(std::string_view path, Diagnostics& diagnostics) const = 0;
  // `number`: of the job; where it changes nothing, Prepare() makes the schedule of all jobs.
  virtual std::unique_ptr<const Schedule> MakeSchedule(uint32_t number) const = 0;
  virtual bool depends_on_number() const { return false; }
  virtual std::string kind() const = 0;
  virtual JobOperation Operation() const { return {}; }
  // Warns of ranks whose servers do not suit the schedule; called by Prepare() once they have been
  // placed. `server_of_rank`: ranks of one server have a link of their own.
  virtual void CheckServers(std::span<const uint32_t> /*server_of_rank*/, std::string_view /*path*/,
                            Diagnostics& /*diagnostics*/) const {}
  // Warns of NICs that the schedule names and hosts do not have; called by Prepare() once the ranks
  // have been placed. Returns true if the schedule names the NIC of each message.
  virtual bool CheckNamedNics(Diagnostics& /*diagnostics*/) const { return false; }
  // Changes what follows from the derived class's settings.
  virtual void Adjust(JobSettings& /*settings*/) const {}
  // Returns true if ranks compute for more than the moment that an addition takes. The forecast of
  // the run's end then walks through the schedule.
  virtual bool computes() const { return false; }

 private:
  std::vector<HostId> Candidates(std::string_view path, Diagnostics& diagnostics) const;
  void Place(std::vector<HostId> candidates, std::string_view path, Diagnostics& diagnostics);
  std::vector<HostId> Spread(const std::vector<HostId>& candidates) const;
  void PlaceByList(const std::vector<HostId>& candidates, std::string_view path,
                   Diagnostics& diagnostics);
  void WarnOfNics(std::string_view path, Diagnostics& diagnostics) const;

  int64_t ranks_ = 0;
  std::vector<std::string> hosts_;
  Placement placement_ = Placement::kPacked;
  std::vector<int64_t> placement_list_;
  int64_t ranks_per_host_ = 1;
  Duration start_{0};
  int64_t iterations_ = 1;
  int64_t warm_up_ = 0;
  Duration gap_{0};
  Duration jitter_{0};
  bool ordered_ = true;
  JobSettings::Ports ports_ = JobSettings::Ports::kConnection;
  int64_t qps_ = 1;
  JobSettings::SendDone send_done_ = JobSettings::SendDone::kAcked;
  BitRate local_rate_ = 3'600_Gbps;
  Duration local_latency_ = 1_us;
  std::string label_;
  bool share_hosts_ = false;
  JobSettings::Between between_ = JobSettings::Between::kNone;
  std::optional<Duration> release_delay_;
  int64_t domain_hosts_ = 1;
  bool nic_by_rank_ = false;
  std::optional<int64_t> unfinished_;
  Duration overhead_{0};

  // Set by Prepare().
  Stage stage_;
  std::vector<HostId> host_of_rank_;
  std::shared_ptr<const Schedule> schedule_;  // Null if it depends on the job's number.
  ScheduleTotals totals_;
  Duration computing_{0};  // The longest chain of computations, without messages.
};

}  // namespace heddle
