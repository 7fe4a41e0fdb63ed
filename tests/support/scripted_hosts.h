// SPDX-License-Identifier: Apache-2.0
// Runs the ranks of jobs on hosts whose transport is scripted: each message is handed to the NIC,
// arrives and is acknowledged at times that a test says.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <tuple>
#include <utility>
#include <vector>

#include "core/engine.h"
#include "core/random.h"
#include "fabric/transport.h"
#include "tests/support/printers.h"
#include "workload/jobs/host_jobs.h"

namespace heddle::scripted_hosts {

inline constexpr Duration kWindow = 100_ns;  // No message and no news takes less.
inline constexpr Duration kIdealWay = 2_us;  // There and back, with between: ideal.

// What the network does with a message, from its start on.
struct Fate {
  Duration handed;
  Duration arrives;
  Duration acked;
};
using FateOf = std::function<Fate(const FlowSpec&)>;

// Random to a picosecond, so that two events hardly ever come together.
inline Fate RandomFate(const FlowSpec& spec) {
  Rng rng = Rng::Stream(1, "fate", spec.id);
  const Duration handed{100'000 + rng.Below(3'000'000)};
  const Duration arrives = handed + Duration{300'000 + rng.Below(20'000'000)};
  return {handed, arrives, arrives + Duration{300'000 + rng.Below(9'000'000)}};
}
// Handed after 1 us, there after 3 us, acknowledged after 5 us.
inline Fate RoundFate(const FlowSpec& /*spec*/) { return {1_us, 3_us, 5_us}; }

struct Started {
  Time at;
  FlowId id;

  friend auto operator<=>(const Started&, const Started&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Started& its) {
    return out << its.id << " at " << its.at.ps << " ps";
  }
};

// All hosts, with a HostJobs each.
class ScriptedHosts final : public Conductor {
 public:
  ScriptedHosts(std::vector<std::unique_ptr<Job>> jobs, FateOf fate, bool records = false)
      : jobs_(std::move(jobs)), fate_(std::move(fate)), meetings_(jobs_.size()) {
    size_t hosts = 0;
    FlowId end = 7;  // Ids below belong to no job.
    for (const std::unique_ptr<Job>& job : jobs_) {
      job->SetBase(end);
      end += static_cast<FlowId>(job->ids());
      for (const HostId host : job->settings().host_of_rank)
        hosts = std::max(hosts, size_t{host} + 1);
      if (job->settings().measured) ranks_left_ += job->schedule().ranks();
    }
    std::vector<std::vector<HostJobs::PlacedRank>> placed(hosts);
    for (size_t j = 0; j < jobs_.size(); ++j) {
      const Job& job = *jobs_[j];
      const bool meets = job.settings().between == JobSettings::Between::kIdeal;
      for (uint32_t rank = 0; rank < job.schedule().ranks(); ++rank) {
        placed[job.HostOf(rank)].push_back({&job, rank, meets ? &meetings_[j] : nullptr});
      }
    }
    for (size_t h = 0; h < hosts; ++h) {
      Host& host = *hosts_.emplace_back(std::make_unique<Host>(static_cast<HostId>(h), 1, nullptr));
      host_nodes_.push_back(&host);
      engine_.Add(host, engine_.AddGroup());
      host.AddNic({.rate = 10_Gbps, .delay = 1_us, .wire_overhead = 0_B});
      auto programs = std::make_unique<HostJobs>(host, jobs_, placed[h], ranks_left_);
      programs_.push_back(programs.get());
      host.SetApplication(std::move(programs), end);
      host.SetTransport(std::make_unique<Wire>(*this, host, *programs_.back()));
      host.SetLog(&log_);
    }
    for (const std::unique_ptr<Host>& host : hosts_) host->SetHosts(host_nodes_);
    engine_.LimitWindow(kWindow);
    engine_.Place(1);
    for (HostJobs* its : programs_) {
      if (records) its->RecordOperations();
      its->Start();
    }
    engine_.Run(*this);
    std::ranges::sort(started_);
  }

  const std::vector<Started>& started() const { return started_; }
  const Job& job(size_t number = 0) const { return *jobs_[number]; }
  const std::vector<std::unique_ptr<Job>>& jobs() const { return jobs_; }
  int64_t ranks_left() const { return ranks_left_; }

  // A rank and where its records are.
  struct Place {
    const HostJobs& jobs;
    size_t place;
  };
  Place Find(size_t job, uint32_t rank) const {
    const HostJobs& its = *programs_[jobs_[job]->HostOf(rank)];
    for (size_t place = 0; place < its.ranks(); ++place) {
      if (&its.JobOf(place) == jobs_[job].get() && its.RankOf(place) == rank) return {its, place};
    }
    ADD_FAILURE() << "no rank " << rank;
    return {its, 0};
  }
  std::vector<Time> BeginsOf(size_t job, uint32_t rank) const {
    const auto [jobs, place] = Find(job, rank);
    std::vector<Time> begins;
    for (const HostJobs::Iteration& its : jobs.IterationsOf(place)) begins.push_back(its.begin);
    return begins;
  }
  Time EndOf(uint32_t rank) const {
    const auto [jobs, place] = Find(0, rank);
    return jobs.EndOf(place);
  }

  // --- Conductor ---

  Time Next() override {
    Time next = kNever;
    for (const Arrival& its : arrivals_) next = std::min(next, its.at);
    return next;
  }
  Time Open(Time /*start*/, Time latest) override {
    for (const Arrival& its : arrivals_) {
      hosts_[its.host]->SetTimer(its.at, its.key);
      hosts_[its.host]->Wake(its.at);
    }
    arrivals_.clear();
    return latest;
  }
  void Close(Time /*end*/) override {
    for (size_t j = 0; j < jobs_.size(); ++j) {
      if (meetings_[j].arrived() < jobs_[j]->schedule().ranks()) continue;
      EXPECT_EQ(meetings_[j].arrived(), jobs_[j]->schedule().ranks());
      for (HostJobs* its : programs_) its->Release(*jobs_[j], meetings_[j].last() + kIdealWay);
      meetings_[j].Clear();
    }
  }
  Time End() const override { return kNever; }

 private:
  enum Event : uint64_t { kHanded, kArrived, kAcked, kClosed };
  static constexpr int kEventShift = 40;

  struct Arrival {
    HostId host;
    Time at;
    uint64_t key;
  };

  struct Log final : FlowLog {
    void MessageStarted(const FlowSpec& spec) override { started.push_back(spec.id); }
    void SenderDone(const FlowSpec&, Time) override {}
    void Add(const FlowRecord&) override {}
    void FastRetransmit(Time, bool) override {}
    ReorderingStats& Reordering(uint16_t) override { return reordering; }
    std::vector<FlowId> started;
    ReorderingStats reordering;
  };

  // The transport of one host.
  class Wire final : public Transport {
   public:
    Wire(ScriptedHosts& bench, Host& host, HostJobs& jobs)
        : bench_(bench), host_(host), jobs_(jobs) {}

    void StartFlow(const FlowSpec& spec) override {
      EXPECT_EQ(spec.src, host_.id());
      EXPECT_EQ(spec.start, host_.now());
      EXPECT_EQ(bench_.log_.started.back(), spec.id);
      bench_.started_.push_back({host_.now(), spec.id});
      bench_.specs_[spec.id] = spec;
      const Fate fate = bench_.fate_(spec);
      SetTimer(kHanded, spec.id, fate.handed);
      SetTimer(kAcked, spec.id, fate.acked);
      bench_.arrivals_.push_back({spec.dst, spec.start + fate.arrives, Key(kArrived, spec.id)});
    }
    void OnTimer(uint64_t key) override {
      const FlowId id = static_cast<FlowId>(key & 0xffffffff);
      switch (static_cast<Event>(key >> kEventShift)) {
        case kHanded:
          return jobs_.OnHanded(id);
        case kArrived:
          CheckExpected(id);
          SetTimer(kClosed, id, 4_us);
          return jobs_.OnReceived(id);
        case kAcked:
          return jobs_.OnAcked(id);
        case kClosed:
          EXPECT_TRUE(jobs_.Expect(id));  // A late packet opens it again until it is closed.
          EXPECT_FALSE(IsClosed(id));
          jobs_.OnClosed(id);
          EXPECT_FALSE(jobs_.Expect(id));
          EXPECT_TRUE(IsClosed(id));
          return;
      }
    }

    void ExpectFlow(const FlowSpec&) override {}
    void OnPacket(const Packet&) override {}
    Pulled Pull(uint32_t, Packet&) override { return {false, false}; }
    Tuple TupleOf(uint32_t) const override { return {}; }
    void OnDropNotice(const DropNotice&) override {}
    void OnFlowEnded(const FlowEnded&) override {}
    size_t most_flows() const override { return 0; }
    void CollectUnfinishedSenders(std::vector<FlowRecord>&) override {}
    void CollectUnfinishedReceivers(std::vector<FlowRecord>&) override {}
    size_t memory_bytes() const override { return 0; }

   private:
    static uint64_t Key(Event event, FlowId id) { return uint64_t{event} << kEventShift | id; }
    void SetTimer(Event event, FlowId id, Duration after) {
      host_.SetTimer(host_.now() + after, Key(event, id));
    }
    bool IsClosed(FlowId id) const {
      const JobMessage its = FindMessage(bench_.jobs_, id);
      const auto [jobs, place] = bench_.Find(its.job.number() - 1, its.message.dst);
      return jobs.IsClosed(place, its.place);
    }
    // The receiver knows all of a flow but its start.
    void CheckExpected(FlowId id) const {
      const std::optional<FlowSpec> expected = jobs_.Expect(id);
      ASSERT_TRUE(expected);
      const FlowSpec& sent = bench_.specs_.at(id);
      EXPECT_EQ(expected->id, id);
      EXPECT_EQ(expected->dst, host_.id());
      EXPECT_EQ(std::tuple(expected->src, expected->dst, expected->sport, expected->dport),
                std::tuple(sent.src, sent.dst, sent.sport, sent.dport));
      EXPECT_EQ(std::tuple(expected->job, expected->iter, expected->step, expected->size),
                std::tuple(sent.job, sent.iter, sent.step, sent.size));
    }

    ScriptedHosts& bench_;
    Host& host_;
    HostJobs& jobs_;
  };

  std::vector<std::unique_ptr<Job>> jobs_;
  const FateOf fate_;
  std::deque<HostJobs::Meeting> meetings_;  // By job.
  std::atomic<int64_t> ranks_left_ = 0;
  Engine engine_;
  Log log_;
  std::vector<std::unique_ptr<Host>> hosts_;
  std::vector<Node*> host_nodes_;
  std::vector<HostJobs*> programs_;
  std::vector<Arrival> arrivals_;  // That the hosts do not know of yet.
  std::vector<Started> started_;
  std::map<FlowId, FlowSpec> specs_;
};

}  // namespace heddle::scripted_hosts
