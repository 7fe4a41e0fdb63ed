// SPDX-License-Identifier: Apache-2.0
// A slow model of what the ranks of jobs do, event by event, by the rules of docs/experiments.md
// and docs/settings.md.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/support/printers.h"
#include "tests/support/scripted_hosts.h"
#include "workload/jobs/graph_tables.h"
#include "workload/jobs/host_jobs.h"

namespace heddle::scripted_hosts {

// A turn is one rank's part of one iteration.
struct Turn {
  Time end = kNever;
  Time left = kNever;  // With the barrier behind it.
  Duration computed{0};
};

class JobModel {
 public:
  JobModel(const ScriptedHosts& bench, const FateOf& fate) : bench_(bench), fate_(fate) {
    for (size_t j = 0; j < bench.jobs().size(); ++j) {
      const Job& job = bench.job(j);
      std::vector<Rank>& ranks = ranks_.emplace_back();
      for (uint32_t r = 0; r < job.schedule().ranks(); ++r) {
        ranks.push_back({.job = j,
                         .rank = r,
                         .program = job.schedule().ProgramOf(r),
                         .begins = bench.BeginsOf(j, r)});
      }
    }
    for (std::vector<Rank>& ranks : ranks_) {
      for (Rank& rank : ranks) BeginAt(rank);
    }
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.at;
      event.act();
    }
    std::ranges::sort(started_);
  }

  struct Deed {
    HostJobs::Deed::Kind kind;
    uint32_t iteration;
    uint64_t index;
    Time ready;
    Time posted;
    Time sent = kNever;
    Time end = kNever;

    friend auto operator<=>(const Deed&, const Deed&) = default;
    friend std::ostream& operator<<(std::ostream& out, const Deed& its) {
      return out << static_cast<int>(its.kind) << ' ' << its.iteration << ' ' << its.index << ' '
                 << its.ready.ps << ' ' << its.posted.ps << ' ' << its.sent.ps << ' ' << its.end.ps;
    }
  };
  using OperationKey = std::pair<uint32_t, uint32_t>;  // Iteration, operation.

  const std::vector<Started>& started() const { return started_; }
  const std::vector<Turn>& TurnsOf(size_t job, uint32_t rank) const {
    return ranks_[job][rank].turns;
  }
  Time EndOf(size_t job, uint32_t rank) const { return ranks_[job][rank].end; }
  std::vector<Deed> DeedsOf(size_t job, uint32_t rank) const {
    std::vector<Deed> deeds = ranks_[job][rank].others;
    for (const auto& [index, deed] : ranks_[job][rank].sends) deeds.push_back(deed);
    std::ranges::sort(deeds);
    return deeds;
  }
  const std::map<OperationKey, HostJobs::OperationTimes>& OperationsOf(size_t job,
                                                                       uint32_t rank) const {
    return ranks_[job][rank].operations;
  }

 private:
  // Orders the events of one instant: those of the network come first, then those that ranks wait
  // for, by (job, rank, kind, number).
  struct Order {
    uint64_t rank = 0;  // From 1; 0: the network.
    int kind = 0;
    uint64_t first = 0;
    uint64_t second = 0;

    friend auto operator<=>(const Order&, const Order&) = default;
  };
  enum Kind { kBegin, kComputed, kLocalSent, kLocalReceived, kDelayed, kReleased, kArrives };
  struct Event {
    Time at;
    Order order;
    uint64_t turn;
    std::function<void()> act;

    friend bool operator>(const Event& a, const Event& b) {
      return std::tie(a.at, a.order, a.turn) > std::tie(b.at, b.order, b.turn);
    }
  };
  struct Connection {
    bool is_sending = false;
    uint32_t unfinished = 0;
    std::deque<Job::Place> waiting;
  };
  struct Rank {
    size_t job;
    uint32_t rank;
    std::unique_ptr<RankProgram> program;
    std::vector<Time> begins;  // Of the iterations, as the ranks have begun them.
    uint32_t iteration = 0;
    bool is_running = false;
    std::vector<Turn> turns = {};
    Time end = kNever;
    std::deque<uint64_t> posted = {};
    std::map<uint32_t, std::vector<uint64_t>> early = {};  // By iteration: messages,
    std::map<uint32_t, std::vector<uint32_t>> told = {};   // and news.
    std::map<std::pair<uint32_t, uint32_t>, Connection> connections = {};
    std::map<uint32_t, Time> stream_free = {};
    std::vector<std::pair<Time, Time>> computations = {};  // From when until when.
    Time egress_free = {};
    Time ingress_free = {};
    std::map<std::pair<uint32_t, uint64_t>, Deed> sends = {};
    std::vector<Deed> others = {};
    std::map<OperationKey, HostJobs::OperationTimes> operations = {};
  };
  class Actions final : public RankActions {
   public:
    Actions(JobModel& model, Rank& rank) : model_(model), rank_(rank) {}
    void Send(uint64_t index) override { model_.Send(rank_, {rank_.iteration, index}); }
    void Compute(uint32_t stream, Duration time, uint64_t op) override {
      model_.Compute(rank_, stream, time, op);
    }
    void ReleaseFar(uint32_t rank, uint32_t op) override { model_.Tell(rank_, rank, op); }
    void Note(uint32_t op, OperationStep step) override {
      HostJobs::OperationTimes& its = rank_.operations[{rank_.iteration, op}];
      if (step == OperationStep::kReady) its.ready = model_.now_;
      if (step == OperationStep::kStarted) its.posted = model_.now_;
      if (step == OperationStep::kFinished) its.end = model_.now_;
    }

   private:
    JobModel& model_;
    Rank& rank_;
  };

  static Order OrderOf(const Rank& rank, Kind kind, uint64_t first = 0, uint64_t second = 0) {
    return {uint64_t{rank.job} << 32 | (rank.rank + 1), kind, first, second};
  }
  void At(Time at, const Order& order, std::function<void()> act) {
    events_.push({at, order, turns_++, std::move(act)});
  }
  const Job& JobOf(const Rank& rank) const { return bench_.job(rank.job); }
  const JobSettings& SettingsOf(const Rank& rank) const { return JobOf(rank).settings(); }
  Message MessageOf(const Rank& rank, Job::Place place) const {
    return JobOf(rank).schedule().MessageOf(place.index);
  }

  // --- Iterations ---

  void BeginAt(Rank& rank) {
    if (rank.iteration >= rank.begins.size()) return;
    At(rank.begins[rank.iteration], OrderOf(rank, kBegin), [&] { Begin(rank); });
  }

  void Begin(Rank& rank) {
    rank.is_running = true;
    rank.turns.emplace_back();
    rank.posted.clear();
    Actions actions(*this, rank);
    rank.program->Begin(actions);
    for (const uint64_t index : rank.early[rank.iteration]) Deliver(rank, index);
    for (const uint32_t op : rank.told[rank.iteration]) rank.program->OnReleased(op, actions);
    GoOn(rank);
  }

  void GoOn(Rank& rank) {
    Actions actions(*this, rank);
    while (rank.is_running && !rank.posted.empty()) {
      const uint64_t index = rank.posted.front();
      rank.posted.pop_front();
      rank.program->OnSent(index, actions);
    }
    Turn& turn = rank.turns.back();
    if (turn.end == kNever && rank.program->is_over()) turn.end = now_;
    if (!rank.program->finished()) return;
    const bool goes_on = rank.iteration + 1 < SettingsOf(rank).iterations;
    const bool meets = SettingsOf(rank).between == JobSettings::Between::kIdeal;
    const bool waits =
        JobOf(rank).schedule().goes_down_a_tree() && !meets && !AllAcknowledged(rank);
    if (goes_on && waits) return;
    rank.is_running = false;
    turn.left = now_;
    if (++rank.iteration == SettingsOf(rank).iterations) {
      rank.end = now_;
    } else {
      BeginAt(rank);
    }
  }

  static bool AllAcknowledged(const Rank& rank) {
    return std::ranges::all_of(rank.sends,
                               [](const auto& its) { return its.second.end != kNever; });
  }

  // --- Messages ---

  bool IsLocal(const Rank& rank, const Message& message) const {
    const std::vector<HostId>& host = SettingsOf(rank).host_of_rank;
    std::vector<HostId> order;  // In which ranks name hosts.
    for (const HostId its : host) {
      if (std::ranges::find(order, its) == order.end()) order.push_back(its);
    }
    const auto server = [&](uint32_t of) {
      return (std::ranges::find(order, host[of]) - order.begin()) /
             static_cast<int64_t>(SettingsOf(rank).domain_hosts);
    };
    return server(message.src) == server(message.dst);
  }

  void Send(Rank& rank, Job::Place place) {
    const Message message = MessageOf(rank, place);
    rank.sends[{place.iteration, place.index}] = {HostJobs::Deed::Kind::kSend, place.iteration,
                                                  place.index, now_, now_};
    const bool is_local = IsLocal(rank, message);
    const Duration wait = is_local ? SettingsOf(rank).local_overhead : SettingsOf(rank).overhead;
    if (wait == Duration{0}) {
      Post(rank, place, message);
      if (IsDone(rank, JobSettings::SendDone::kPosted)) rank.posted.push_back(place.index);
      return;
    }
    At(now_ + wait, OrderOf(rank, kDelayed, is_local ? 1 : 0), [this, &rank, place, message] {
      Post(rank, place, message);
      if (IsDone(rank, JobSettings::SendDone::kPosted)) Sent(rank, place);
    });
  }

  void Post(Rank& rank, Job::Place place, const Message& message) {
    if (IsLocal(rank, message)) return SendLocally(rank, place, message);
    if (!SettingsOf(rank).ordered) return StartFlow(rank, place, message);
    Connection& its = rank.connections[{message.dst, message.channel}];
    its.waiting.push_back(place);
    Serve(rank, its);
  }

  void Serve(Rank& rank, Connection& its) {
    const uint32_t most = SettingsOf(rank).unfinished;
    if (its.waiting.empty() || its.is_sending || (most > 0 && its.unfinished >= most)) return;
    const Job::Place place = its.waiting.front();
    its.waiting.pop_front();
    its.is_sending = true;
    ++its.unfinished;
    StartFlow(rank, place, MessageOf(rank, place));
  }

  void StartFlow(Rank& rank, Job::Place place, const Message& message) {
    const FlowSpec spec = JobOf(rank).SpecOf(place, message);
    started_.push_back({now_, spec.id});
    rank.sends.at({place.iteration, place.index}).sent = now_;
    const GraphTables* graph = JobOf(rank).schedule().graph();
    if (graph != nullptr && !graph->IsOfCollective(place.index)) {
      rank.operations[{place.iteration, graph->SendOf(place.index)}].sent = now_;
    }
    const Fate fate = fate_(spec);
    Connection& its = rank.connections[{message.dst, message.channel}];
    At(now_ + fate.handed, {}, [this, &rank, &its, place] {
      if (IsDone(rank, JobSettings::SendDone::kHanded)) Sent(rank, place);
      its.is_sending = false;
      Serve(rank, its);
    });
    Rank& to = ranks_[rank.job][message.dst];
    At(now_ + fate.arrives, {}, [this, &to, place] { Receive(to, place); });
    At(now_ + fate.acked, {}, [this, &rank, &its, place] {
      rank.sends.at({place.iteration, place.index}).end = now_;
      if (IsDone(rank, JobSettings::SendDone::kAcked)) Sent(rank, place);
      if (rank.is_running) GoOn(rank);
      --its.unfinished;
      Serve(rank, its);
    });
  }

  // Each rank sends, and receives, one message after the other over the link.
  void SendLocally(Rank& rank, Job::Place place, const Message& message) {
    const JobSettings& settings = SettingsOf(rank);
    const Duration takes = TimeOf(rank, message);
    const Time begins = std::max(now_, rank.egress_free);
    rank.egress_free = begins + takes;
    At(rank.egress_free, OrderOf(rank, kLocalSent), [this, &rank, place] {
      rank.sends.at({place.iteration, place.index}).end = now_;
      if (!IsDone(rank, JobSettings::SendDone::kPosted)) Sent(rank, place);
      if (rank.is_running) GoOn(rank);
    });
    Rank& to = ranks_[rank.job][message.dst];
    const Time arrives = begins + settings.local_latency;
    const auto receive = [this, &to, place, arrives, takes] {
      to.ingress_free = std::max(arrives, to.ingress_free) + takes;
      At(to.ingress_free, OrderOf(to, kLocalReceived), [this, &to, place] { Receive(to, place); });
    };
    // On one host messages are received in the order in which they begin to leave, between hosts in
    // that in which they begin to arrive.
    if (settings.domain_hosts == 1) return receive();
    At(arrives, OrderOf(to, kArrives, rank.rank, place.index), receive);
  }

  // Rounded up to a picosecond.
  Duration TimeOf(const Rank& rank, const Message& message) const {
    const int64_t bits = 8 * std::max<int64_t>(message.bytes, 1);
    const int64_t gbps = SettingsOf(rank).local_rate.bps / 1'000'000'000;
    return Duration{(bits * 1'000 + gbps - 1) / gbps};
  }

  bool IsDone(const Rank& rank, JobSettings::SendDone moment) const {
    return JobOf(rank).schedule().waits_for_sends() && SettingsOf(rank).send_done == moment;
  }

  void Sent(Rank& rank, Job::Place place) {
    if (!JobOf(rank).schedule().waits_for_sends()) return;
    if (!rank.is_running || place.iteration != rank.iteration) return;
    Actions actions(*this, rank);
    rank.program->OnSent(place.index, actions);
    GoOn(rank);
  }

  void Receive(Rank& rank, Job::Place place) {
    if (!rank.is_running || place.iteration != rank.iteration) {
      rank.early[place.iteration].push_back(place.index);
      return;
    }
    Deliver(rank, place.index);
    GoOn(rank);
  }

  void Deliver(Rank& rank, uint64_t index) {
    const Time begin = rank.begins[rank.iteration];
    rank.others.push_back(
        {HostJobs::Deed::Kind::kReceive, rank.iteration, index, begin, begin, kNever, now_});
    Actions actions(*this, rank);
    rank.program->OnReceived(index, actions);
  }

  // --- Computations and news ---

  // The length of the union of these intervals.
  static Duration Covered(std::vector<std::pair<Time, Time>> intervals) {
    std::ranges::sort(intervals);
    Duration covered{0};
    Time until{};
    for (const auto& [begin, end] : intervals) {
      covered += std::max(end, until) - std::max(begin, until);
      until = std::max(until, end);
    }
    return covered;
  }

  void Compute(Rank& rank, uint32_t stream, Duration time, uint64_t op) {
    Time begins = now_;
    if (stream != kNoStream) {
      begins = std::max(now_, rank.stream_free[stream]);
      rank.stream_free[stream] = begins + time;
    }
    const Duration before = Covered(rank.computations);
    rank.computations.emplace_back(begins, begins + time);
    rank.turns.back().computed += Covered(rank.computations) - before;
    rank.others.push_back(
        {HostJobs::Deed::Kind::kCompute, rank.iteration, op, now_, begins, kNever, begins + time});
    At(begins + time, OrderOf(rank, kComputed, op), [this, &rank, op] {
      Actions actions(*this, rank);
      rank.program->OnComputed(op, actions);
      GoOn(rank);
    });
  }

  void Tell(Rank& rank, uint32_t other, uint32_t op) {
    const JobSettings& settings = SettingsOf(rank);
    const bool is_here = settings.host_of_rank[rank.rank] == settings.host_of_rank[other];
    const Duration way = is_here ? Duration{0} : settings.release_delay.value_or(Duration{0});
    Rank& to = ranks_[rank.job][other];
    At(now_ + way, OrderOf(to, kReleased, op, rank.rank),
       [this, &to, op, iteration = rank.iteration] {
         if (iteration < to.iteration) return;
         if (iteration > to.iteration || !to.is_running) {
           to.told[iteration].push_back(op);
           return;
         }
         Actions actions(*this, to);
         to.program->OnReleased(op, actions);
         GoOn(to);
       });
  }

  const ScriptedHosts& bench_;
  const FateOf fate_;
  std::vector<std::vector<Rank>> ranks_;  // By job and rank.
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  uint64_t turns_ = 0;
  Time now_;
  std::vector<Started> started_;
};

}  // namespace heddle::scripted_hosts
