// SPDX-License-Identifier: Apache-2.0
// jobs.csv, iterations.csv and collectives.csv: how long the iterations of closed-loop jobs took,
// and how much longer than they would in an idle network. The instrument reads the ranks' records
// once, at the end of the run; while it lasts, it counts retransmissions.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/statistics.h"
#include "measure/instrument.h"
#include "transport/packet_sizes.h"
#include "workload/jobs/host_jobs.h"
#include "workload/jobs/job.h"

namespace heddle {

// A measured job in a few figures; unset if no measured iteration was finished.
struct JobFigures {
  uint32_t number = 0;
  std::string label;
  std::string operation;   // If each iteration is one collective.
  int64_t iterations = 0;  // The measured ones that were finished.
  std::optional<Duration> mean_iter;
  std::optional<Duration> p99_iter;
  std::optional<Duration> straggler;  // From the first rank's end to the last one's; the mean.
  std::optional<double> algbw_gbs;
  std::optional<double> busbw_gbs;
  std::optional<double> neighbour_cost;  // See jobs.csv.
};

class JobResults final : public Instrument, public FlowObserver {
 public:
  // `jobs` and `hosts` outlive it. Hosts may be added until the run begins.
  // `may_detour`: links fail, and messages then take other paths. `spreads`: a message uses several
  // links of its hosts at once.
  JobResults(std::span<const std::unique_ptr<Job>> jobs, const std::vector<HostJobs*>& hosts,
             const PacketSizes& sizes, PercentileMethod percentiles, bool may_detour, bool spreads)
      : jobs_(jobs),
        hosts_(hosts),
        sizes_(sizes),
        percentiles_(percentiles),
        may_detour_(may_detour),
        spreads_(spreads) {}

  // The mean iteration of each job without its neighbours, by its number less 1.
  void SetAlone(std::vector<std::optional<Duration>> mean_iter) { alone_ = std::move(mean_iter); }

  void OnEnd(const FlowRecord& record) override;
  void Finish(Time end, RunNotes& notes) override;

  // The figures of measured jobs, in their order; after Finish().
  const std::vector<JobFigures>& figures() const { return figures_; }

 private:
  int64_t RetransmissionsOf(const Job& job, size_t iteration, size_t collective) const;
  // Adds to `notes` what measured jobs wait for that have not finished.
  void NoteWaits(Time end, RunNotes& notes);

  const std::span<const std::unique_ptr<Job>> jobs_;
  const std::vector<HostJobs*>& hosts_;
  const PacketSizes sizes_;
  const PercentileMethod percentiles_;
  const bool may_detour_;
  const bool spreads_;
  std::vector<std::optional<Duration>> alone_;
  std::vector<Time> last_arrivals_;  // Of messages over the network, by job; 0: none.
  // By job, iteration and collective; only those with retransmissions.
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, int64_t> retransmissions_;
  std::vector<JobFigures> figures_;
};

}  // namespace heddle
