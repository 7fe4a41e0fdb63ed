// SPDX-License-Identifier: Apache-2.0

#include "workload/workload.h"

#include "settings/files.h"
#include "workload/flow_list.h"
#include "workload/incast.h"
#include "workload/jobs/collective.h"
#include "workload/jobs/training.h"
#include "workload/permutation.h"
#include "workload/poisson.h"
#include "workload/traces/trace.h"

namespace heddle {

std::string Stage::PathTo(const std::string& file) const { return AbsolutePath(folder, file); }

std::unique_ptr<Job> Workload::MakeJob(uint32_t /*number*/) const { return nullptr; }

void Workload::DeclareCommon(Fields& fields) {
  fields.Add("measured", measured, "Count the workload's flows in the statistics.");
}

const Kinds<Workload>& Workloads() {
  static const Kinds<Workload> kinds = [] {
    Kinds<Workload> all("workload");
    all.Add<Collective>({"collective", "Ranks on hosts perform a collective operation.",
                         "Thakur, Rabenseifner and Gropp, IJHPCA 2005"});
    all.Add<FlowList>({"flows", "The flows listed in a CSV file.", ""});
    all.Add<Incast>({"incast", "Many hosts send to one at once: the answers to a query.",
                     "Alizadeh et al., SIGCOMM 2010, section 2.2"});
    all.Add<Permutation>({"permutation", "Every host sends one flow and receives one.", ""});
    all.Add<Poisson>(
        {"poisson", "Every host starts flows as a Poisson process, at a given load.", ""});
    all.Add<Trace>({"trace", "Ranks on hosts do what an application's trace says.",
                    "Hoefler, Siebert and Lumsdaine, ICPP 2009"});
    all.Add<Training>({"training", "Ranks on hosts train a transformer, step by step.",
                       "Narayanan et al., SC 2021; Rajbhandari et al., SC 2020"});
    return all;
  }();
  return kinds;
}

}  // namespace heddle
