// SPDX-License-Identifier: Apache-2.0
// measure.record.flows: samples windows, rates and progress of chosen flows at each interval's end.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "measure/instruments.h"
#include "measure/series.h"

namespace heddle {
namespace {

// The chosen flows and the interval.
struct FlowChoice {
  std::vector<int64_t> ids;
  std::optional<Bytes> size_at_least;
  Duration every = 100_us;

  bool any() const { return !ids.empty() || size_at_least; }
  bool Has(const FlowSpec& flow) const {
    return (size_at_least && flow.size >= size_at_least->count) ||
           std::ranges::find(ids, int64_t{flow.id}) != ids.end();
  }

  void Declare(Fields& fields) {
    fields.List("ids", ids, Between<int64_t>(0, std::numeric_limits<uint32_t>::max()),
                "Flows by their flow_id in flows.csv.");
    fields.AddOr("none", "size_at_least", size_at_least, Above(Bytes{0}),
                 "Also all flows of at least this size.");
    fields.Add("every", every, kRecordingIntervals, "The interval.");
  }
};

struct FlowAt {
  Time now;
  FlowId id;
  FlowState state;
};

constexpr Column<FlowAt> kFlowColumns[] = {
    {"time_ns", [](const FlowAt& row) { return InNs(row.now); }},
    {"flow_id", [](const FlowAt& row) { return row.id; }},
    {"cwnd_bytes", [](const FlowAt& row) { return row.state.cwnd; }},
    {"rate_bps", [](const FlowAt& row) { return row.state.rate; }},
    {"alpha", [](const FlowAt& row) { return row.state.alpha; }},
    {"inflight_bytes", [](const FlowAt& row) { return row.state.in_flight; }},
    {"acked_bytes", [](const FlowAt& row) { return row.state.acked; }}};

class FlowSeries final : public Series, public FlowObserver {
 public:
  // `choice` outlives it.
  explicit FlowSeries(const FlowChoice& choice) : Series(choice.every), choice_(choice) {
    Keep(file_);
  }

  void OnStart(const FlowSpec& spec) override {
    if (choice_.Has(spec)) alive_.push_back({spec.id, spec.src, spec.start});
  }

 private:
  struct Flow {
    FlowId id;
    HostId src;
    Time start;
  };

  void Record(Time /*from*/, Time now) override {
    std::ranges::sort(alive_, {}, [](const Flow& flow) { return std::pair(flow.start, flow.id); });
    std::erase_if(alive_, [&](const Flow& flow) {
      if (flow.start >= now) return false;
      const auto state = network().host(flow.src).transport().StateOf(flow.id);
      if (state) file_.Add({now, flow.id, *state});
      return !state;
    });
  }

  const FlowChoice& choice_;
  TableFile<FlowAt> file_{"series_flow.csv", Table(kFlowColumns)};
  std::vector<Flow> alive_;  // Chosen flows that have not ended.
};

class FlowSeriesSettings final : public InstrumentSettings {
 public:
  void Declare(Fields& fields) override {
    fields.Section("flows", choice_,
                   "series_flow.csv: windows, rates and progress of flows that are being sent.");
  }
  std::unique_ptr<Instrument> Make(const RunPlan& /*plan*/) const override {
    return choice_.any() ? std::make_unique<FlowSeries>(choice_) : nullptr;
  }

 private:
  FlowChoice choice_;
};

[[maybe_unused]] const bool registered = Instruments().Add<FlowSeriesSettings>(
    {.name = "flows", .order = 70, .example = "flows: {size_at_least: 1B, every: 10us}"});

}  // namespace
}  // namespace heddle
