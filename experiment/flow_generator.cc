// SPDX-License-Identifier: Apache-2.0

#include "experiment/flow_generator.h"

#include <algorithm>
#include <limits>

#include "core/check.h"
#include "workload/request_list.h"

namespace heddle {
namespace {

constexpr uint16_t kFirstFlowPort = 10'000;

}  // namespace

FlowGenerator::FlowGenerator(const Experiment& experiment, const SizeClasses& classes,
                             ListedFlows* listed, FlowId first)
    : experiment_(experiment),
      classes_(classes),
      listed_(listed),
      gives_ids_(std::ranges::any_of(experiment.forecasts, &Forecast::gives_ids)),
      next_sport_(experiment.graph.hosts, kFirstFlowPort),
      first_(first),
      next_id_(first) {
  if (listed_ != nullptr) listed_->first = first;
  for (const Chosen<Workload>& workload : experiment.settings.workload) {
    sources_.push_back({workload.settings->Open(), workload.settings->measured, {}});
  }
}

void FlowGenerator::Silence() {
  for (Source& source : sources_) {
    source.flows = std::make_unique<RequestList>(std::vector<FlowRequest>());
  }
}

// Returns the workload whose flow starts next; of several, the one that the experiment names first.
size_t FlowGenerator::FirstSource() const {
  size_t first = sources_.size();
  Time earliest = kNever;
  for (size_t i = 0; i < sources_.size(); ++i) {
    const FlowRequest* request = sources_[i].flows->Front();
    if (request == nullptr || request->start >= earliest) continue;
    earliest = request->start;
    first = i;
  }
  return first;
}

Time FlowGenerator::Next() const {
  const size_t source = FirstSource();
  return source == sources_.size() ? kNever : sources_[source].flows->Front()->start;
}

bool FlowGenerator::HasMeasured() const {
  for (const Source& source : sources_) {
    const FlowRequest* request = source.measured ? source.flows->Front() : nullptr;
    if (request != nullptr && request->start < experiment_.timeline.measure_until) return true;
  }
  return false;
}

void FlowGenerator::Note(const FlowRequest& request, FlowId id) {
  if (gives_ids_) listed_->ids.push_back(request.id);
  listed_->pins.Set(id, request.pin);
}

FlowSpec FlowGenerator::Take() {
  const size_t index = FirstSource();
  Source& source = sources_[index];
  const FlowRequest& request = *source.flows->Front();
  HEDDLE_CHECK(next_id_ < std::numeric_limits<FlowId>::max(), "more flows than ids");
  FlowSpec spec{.id = next_id_++,
                .src = request.src,
                .dst = request.dst,
                .sport = request.sport.value_or(next_sport_[request.src]),
                .dport = request.dport,
                .workload = static_cast<uint16_t>(index),
                .size = request.size,
                .start = request.start};
  if (!request.sport) {
    uint16_t& port = next_sport_[request.src];
    port = port == std::numeric_limits<uint16_t>::max() ? kFirstFlowPort
                                                        : static_cast<uint16_t>(port + 1);
  }
  const Timeline& timeline = experiment_.timeline;
  spec.measured =
      source.measured && spec.start >= timeline.measure_from && spec.start < timeline.measure_until;
  // Packets of flows that are not measured are counted apart.
  spec.size_class =
      static_cast<uint16_t>(spec.measured ? classes_.AtomOf(spec.size) : classes_.atoms());
  spec.job = request.job;
  // Jitter may let a later query's flow start before the first of an earlier one.
  if (request.job > source.asked.size()) source.asked.resize(request.job, kNever);
  if (request.job > 0) source.asked[request.job - 1] = request.asked;
  if (listed_ != nullptr) Note(request, spec.id);
  measured_ += spec.measured ? 1 : 0;
  if (source.measured && spec.start < timeline.measure_until) last_start_ = spec.start;
  bytes_ += spec.size;
  source.flows->Pop();
  return spec;
}

}  // namespace heddle
