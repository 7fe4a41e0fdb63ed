// SPDX-License-Identifier: Apache-2.0
// Measures the cost of one decision for every registered load balancer: a Google Benchmark for each
// part of the cost (bench/decision/cost_meter.h), number of candidates and number of live flows, on
// the same packets and with the same clock as `heddle bench lb`.
//
// An iteration is one packet. Time covers the part in the benchmark's name; CPU covers the whole
// program. The iterations of one benchmark go on where the last ones ended, so that repetitions
// find filled tables; an untimed round over all packets has filled them.

#include <benchmark/benchmark.h>

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "bench/benchmark_main.h"
#include "bench/decision/cost_cases.h"
#include "bench/decision/cost_meter.h"
#include "bench/decision/recording.h"

namespace heddle {
namespace {

const std::vector<RecordedPacket>& PacketsOf(size_t flows) {
  static const std::vector<RecordedPacket> recorded = RecordLeaf();
  static std::map<size_t, std::vector<RecordedPacket>> packets;
  std::vector<RecordedPacket>& found = packets[flows];
  if (found.empty()) found = WithLiveFlows(recorded, flows);
  return found;
}

// A load balancer that has seen every packet once.
class WarmMeter {
 public:
  explicit WarmMeter(const CostCase& measured)
      : name_(measured.Name()),
        balancer_(PreparedBalancer(measured.balancer, measured.candidates)) {
    if (!balancer_) return;
    meter_.emplace(*balancer_->settings, measured.candidates, measured.part,
                   PacketsOf(measured.flows));
    meter_->Round();
  }

  const std::string& name() const { return name_; }
  CostMeter* meter() {
    return meter_ ? &*meter_ : nullptr;
  }  // Null: the scheme refuses such a fabric.

 private:
  const std::string name_;
  const std::optional<Chosen<LoadBalancer>> balancer_;
  std::optional<CostMeter> meter_;
};

// Only the last one is kept, since packets of a million flows take 100 MB.
CostMeter* MeterOf(const CostCase& measured) {
  static std::unique_ptr<WarmMeter> last;
  if (!last || last->name() != measured.Name()) {
    last.reset();
    last = std::make_unique<WarmMeter>(measured);
  }
  return last->meter();
}

void Decide(benchmark::State& state, const CostCase& measured) {
  CostMeter* meter = MeterOf(measured);
  if (meter == nullptr) return state.SkipWithError("the load balancer refuses such a fabric");
  while (state.KeepRunningBatch(static_cast<int64_t>(meter->packets_ahead()))) {
    state.SetIterationTime(meter->Visit() * 1e-9);
  }
  state.SetItemsProcessed(state.iterations());
  state.counters["state_bytes"] = static_cast<double>(meter->state_bytes());
}

}  // namespace
}  // namespace heddle

int main(int argc, char** argv) {
  using namespace heddle;
  for (const CostCase& one : AllCostCases()) {
    benchmark::RegisterBenchmark(one.Name().c_str(), [one](benchmark::State& state) {
      Decide(state, one);
    })->UseManualTime();
  }
  return BenchmarkMain(argc, argv, "0.1");
}
