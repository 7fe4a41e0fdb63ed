// SPDX-License-Identifier: Apache-2.0

#include "workload/permutation.h"

#include <fmt/format.h>

#include "workload/derangement.h"
#include "workload/request_list.h"

namespace heddle {

void Permutation::Declare(Fields& fields) {
  fields.Add("size", size_, {.at_least = 1_B}, "Size of every flow.", Fields::kRequired);
  fields.Add("cross_rack", cross_rack_, "Only between hosts on different leaves.");
  fields.Choice("pattern", pattern_, {{"random", Pattern::kRandom}, {"shift", Pattern::kShift}},
                "random: pairs are drawn by the seed. shift: every host sends to the one half of "
                "all hosts further on, so racks send to racks.");
  fields.Add("start", start_, {.at_least = Duration{0}, .at_most = 1000_s},
             "When the flows start.");
  fields.Add("jitter", jitter_, {.at_least = Duration{0}, .at_most = 1000_s},
             "Each flow starts up to this much later, at random.");
  DeclareCommon(fields);
}

void Permutation::Prepare(const Stage& stage, std::string_view path, FilesRead& /*files*/,
                          Diagnostics& diagnostics) {
  stage_ = stage;
  CheckFlowSize(size_, stage, fmt::format("{}.size", path), diagnostics);
  if (cross_rack_ && stage.leaves < 2) {
    diagnostics.ErrorAt(fmt::format("{}.cross_rack", path),
                        "needs at least two leaves that have hosts");
  } else if (cross_rack_ && !CanCross(stage)) {
    diagnostics.ErrorAt(fmt::format("{}.cross_rack", path),
                        "cannot be: one leaf has more than half of all hosts");
  } else if (cross_rack_ && pattern_ == Pattern::kShift) {
    const std::vector<HostId> destinations = HalfShift(stage);
    for (size_t h = 0; h < stage.hosts; ++h) {
      if (stage.leaf_of_host[h] != stage.leaf_of_host[destinations[h]]) continue;
      return diagnostics.ErrorAt(fmt::format("{}.pattern", path),
                                 "a shift leaves hosts of one rack as partners here; use random");
    }
  }
}

Forecast Permutation::Expect() const {
  Forecast forecast;
  forecast.flows = static_cast<double>(stage_.hosts);
  forecast.most_flows = static_cast<int64_t>(stage_.hosts);
  forecast.bytes = forecast.flows * static_cast<double>(size_.count);
  forecast.packets =
      forecast.flows * static_cast<double>((size_.count + stage_.mss - 1) / stage_.mss);
  forecast.large_flow = size_.count;
  forecast.first = Time{start_.ps};
  forecast.last = forecast.first + jitter_;
  if (cross_rack_) forecast.crossing = 1;
  return forecast;
}

std::unique_ptr<FlowSource> Permutation::Open() const {
  const std::vector<HostId> destinations =
      pattern_ == Pattern::kShift ? HalfShift(stage_) : Derangement(stage_, cross_rack_);
  Rng rng = stage_.Stream("jitter", 0);
  std::vector<FlowRequest> requests;
  for (size_t h = 0; h < stage_.hosts; ++h) {
    requests.push_back({.start = Time{start_.ps} + Jitter(jitter_, rng),
                        .src = static_cast<HostId>(h),
                        .dst = destinations[h],
                        .size = size_.count});
  }
  return std::make_unique<RequestList>(std::move(requests));
}

}  // namespace heddle
