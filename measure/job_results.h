// SPDX-License-Identifier: Apache-2.0
// jobs.csv, iterations.csv and collectives.csv: how long the iterations of closed-loop jobs took,
// and how much longer than they would in an idle network. The instrument reads the ranks' records
// once, at the end of the run.

#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/statistics.h"
#include "measure/instrument.h"
#include "network/ideal_fct.h"
#include "transport/packet_sizes.h"
#include "workload/jobs/host_jobs.h"
#include "workload/jobs/job.h"

namespace heddle {

class JobResults final : public Instrument {
 public:
  // `jobs` and `hosts` outlive it. Hosts may be added until the run begins.
  // `may_detour`: links fail, and messages then take other paths.
  JobResults(std::span<const std::unique_ptr<Job>> jobs, const std::vector<HostJobs*>& hosts,
             const PacketSizes& sizes, PercentileMethod percentiles, bool may_detour)
      : jobs_(jobs),
        hosts_(hosts),
        sizes_(sizes),
        percentiles_(percentiles),
        may_detour_(may_detour) {}

  void Finish(Time end, RunNotes& notes) override;

 private:
  // Adds to `notes` what measured jobs wait for that have not finished.
  void NoteWaits(RunNotes& notes) const;

  const std::span<const std::unique_ptr<Job>> jobs_;
  const std::vector<HostJobs*>& hosts_;
  const PacketSizes sizes_;
  const PercentileMethod percentiles_;
  const bool may_detour_;
};

}  // namespace heddle
