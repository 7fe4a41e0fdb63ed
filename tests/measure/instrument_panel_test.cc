// SPDX-License-Identifier: Apache-2.0
// A run promises its instruments when they act and what they hear of, and it heeds their answers.

#include "measure/instrument_panel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "experiment/warnings.h"
#include "measure/instruments.h"
#include "tests/support/experiment_kit.h"
#include "tests/support/thread_counts.h"

namespace heddle::instrument_panel_test {

using testing::ElementsAre;

constexpr const char* kYaml =
    "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4}\nlb: rps\n"
    "workload: [{kind: poisson, sizes: small, load: 0.4, flows: 80}]\nmeasure: {warm_up: 0ps}\n";

FinishedRun RunWith(Instrument& instrument, int threads = 1) {
  SimulationOptions options;
  options.threads = threads;
  options.instruments = {&instrument};
  return RunExperiment(ExperimentFrom(kYaml), options);
}

// An instrument that acts at given times.
class Alarm final : public Instrument {
 public:
  explicit Alarm(std::vector<Time> times) : times_(std::move(times)) {}

  Time Next() const override {
    return acted_.size() < times_.size() ? times_[acted_.size()] : kNever;
  }
  void Act(Time now) override { acted_.push_back(now); }
  void Finish(Time end, RunNotes& /*notes*/) override { end_ = end; }

  const std::vector<Time>& acted() const { return acted_; }
  Time end() const { return end_; }

 private:
  const std::vector<Time> times_;
  std::vector<Time> acted_;
  Time end_;
};

TEST(InstrumentPanelTest, InstrumentsActExactlyWhenTheyWantTo) {
  const std::vector<Time> times = {Time{}, Time{1}, Time{} + 7_us, Time{} + 7'000'001_ps,
                                   Time{} + 31_us};
  for (const int threads : ThreadCounts({1, 3})) {
    Alarm alarm(times);
    const FinishedRun run = RunWith(alarm, threads);
    EXPECT_EQ(alarm.acted(), times);
    EXPECT_EQ(alarm.end(), run.result.end);
  }
}

// An instrument that hears of everything.
class Listener final : public Instrument,
                       public FlowObserver,
                       public SenderObserver,
                       public WindowObserver {
 public:
  void OnStart(const FlowSpec& spec) override { started.push_back(spec.id); }
  void OnEnd(const FlowRecord& record) override { ended.push_back(record); }
  void OnSenderDone(FlowId flow) override { done.push_back(flow); }
  void OnWindowClosed(Time end) override { windows.push_back(end); }

  std::vector<FlowId> started;
  std::vector<FlowRecord> ended;
  std::vector<FlowId> done;
  std::vector<Time> windows;
};

TEST(InstrumentPanelTest, ObserversHearOfEachFlowSenderAndWindow) {
  for (const int threads : ThreadCounts({1, 3})) {
    Listener heard;
    const FinishedRun run = RunWith(heard, threads);
    const CsvTable flows(run.files.flows);
    ASSERT_EQ(heard.started.size(), 80u);
    EXPECT_TRUE(std::ranges::is_sorted(heard.started));
    ASSERT_EQ(heard.ended.size(), flows.rows.size());
    for (size_t row = 0; row < flows.rows.size(); ++row) {
      EXPECT_EQ(heard.ended[row].spec.id, flows.Integer(row, "flow_id"));
      EXPECT_EQ(heard.ended[row].receiver.done.ps, flows.Integer(row, "rx_done_ps"));
      EXPECT_EQ(heard.ended[row].sender.packets_sent, flows.Integer(row, "pkts_sent"));
    }
    std::ranges::sort(heard.done);
    EXPECT_EQ(heard.done, heard.started);
    EXPECT_TRUE(std::ranges::is_sorted(heard.windows));
    EXPECT_EQ(heard.windows.size(), run.result.windows);
  }
}

// An instrument that ends the run, with a reason.
class Stop final : public Instrument {
 public:
  Time Next() const override { return next_; }
  void Act(Time /*now*/) override {
    next_ = kNever;
    run().End();
  }
  void Finish(Time /*end*/, RunNotes& notes) override {
    notes.incomplete = true;
    notes.warnings.emplace_back("seen enough");
    run().Write("stop.csv", "reason\nenough\n");
  }

 private:
  Time next_ = Time{} + 20_us;
};

TEST(InstrumentPanelTest, AnInstrumentMayEndTheRunAndSayWhy) {
  Stop stop;
  const FinishedRun run = RunWith(stop);
  const Experiment experiment = ExperimentFrom(kYaml);
  EXPECT_GE(run.result.end, Time{} + 20_us);
  EXPECT_LT(run.result.end, Time{} + 25_us);
  EXPECT_FALSE(IsComplete(experiment, run.result));
  EXPECT_THAT(WarningsOf(experiment, run.result, Summarise(experiment, run.result)),
              testing::Contains("seen enough"));
  EXPECT_EQ(run.files.series.at("stop.csv"), "reason\nenough\n");
}

// --- The registry ---

class Nothing final : public InstrumentSettings {
 public:
  std::unique_ptr<Instrument> Make(const RunPlan& /*plan*/) const override { return nullptr; }
};

TEST(InstrumentKindsTest, StandByOrderThenName) {
  InstrumentKinds kinds;
  EXPECT_TRUE(kinds.Add<Nothing>({.name = "new"}));
  EXPECT_TRUE(kinds.Add<Nothing>({.name = "second", .order = 2}));
  EXPECT_TRUE(kinds.Add<Nothing>({.name = "added"}));
  EXPECT_TRUE(kinds.Add<Nothing>({.name = "first", .order = 1}));
  std::vector<std::string> names;
  for (const InstrumentInfo& info : kinds.infos()) names.push_back(info.name);
  EXPECT_THAT(names, ElementsAre("first", "second", "added", "new"));
}

TEST(InstrumentKindsTest, ANameIsTakenInItsPlaceOnly) {
  InstrumentKinds kinds;
  EXPECT_TRUE(kinds.Add<Nothing>({.name = "lb"}));
  EXPECT_FALSE(kinds.Add<Nothing>({.name = "lb"}));
  EXPECT_TRUE(kinds.Add<Nothing>({.name = "lb", .place = InstrumentPlace::kMeasure}));
  EXPECT_EQ(kinds.infos().size(), 2u);
  EXPECT_EQ(kinds.MakeSettings(InstrumentPlace::kRecord).size(), 1u);
}

}  // namespace heddle::instrument_panel_test
