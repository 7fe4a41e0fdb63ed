// SPDX-License-Identifier: Apache-2.0
// Runs the ranks of jobs on hosts whose transport is scripted: each message is handed to the NIC,
// arrives and is acknowledged at times that a test says. What the ranks do is compared with a slow
// model that follows the rules of docs/experiments.md and docs/settings.md, event by event.

#include "workload/jobs/host_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <ostream>
#include <queue>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/engine.h"
#include "core/random.h"
#include "fabric/transport.h"
#include "tests/support/printers.h"
#include "workload/jobs/barrier.h"
#include "workload/jobs/collective.h"
#include "workload/jobs/graph_check.h"
#include "workload/jobs/graph_schedule.h"
#include "workload/jobs/graph_tables.h"

namespace heddle::host_jobs_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// --- The hosts ---

constexpr Duration kWindow = 100_ns;  // No message and no news takes less.
constexpr Duration kIdealWay = 2_us;  // There and back, with between: ideal.

// What the network does with a message, from its start on.
struct Fate {
  Duration handed;
  Duration arrives;
  Duration acked;
};
using FateOf = std::function<Fate(const FlowSpec&)>;

// Random to a picosecond, so that two events hardly ever come together.
Fate RandomFate(const FlowSpec& spec) {
  Rng rng = Rng::Stream(1, "fate", spec.id);
  const Duration handed{100'000 + rng.Below(3'000'000)};
  const Duration arrives = handed + Duration{300'000 + rng.Below(20'000'000)};
  return {handed, arrives, arrives + Duration{300'000 + rng.Below(9'000'000)}};
}
// Handed after 1 us, there after 3 us, acknowledged after 5 us.
Fate RoundFate(const FlowSpec& /*spec*/) { return {1_us, 3_us, 5_us}; }

struct Started {
  Time at;
  FlowId id;

  friend auto operator<=>(const Started&, const Started&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Started& its) {
    return out << its.id << " at " << its.at.ps << " ps";
  }
};

// All hosts, with a HostJobs each.
class Bench final : public Conductor {
 public:
  Bench(std::vector<std::unique_ptr<Job>> jobs, FateOf fate, bool records = false)
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
    Wire(Bench& bench, Host& host, HostJobs& jobs) : bench_(bench), host_(host), jobs_(jobs) {}

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

    Bench& bench_;
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

// --- The model ---

// What one rank does in one iteration.
struct Turn {
  Time end = kNever;
  Time left = kNever;  // With the barrier behind it.
  Duration computed{0};
};

class Model {
 public:
  Model(const Bench& bench, const FateOf& fate) : bench_(bench), fate_(fate) {
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
  // What happens at one instant: first what the network does, then what ranks wait for, in the
  // order of (job, rank, kind, number).
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
    Time egress_free = {};
    Time ingress_free = {};
    std::map<std::pair<uint32_t, uint64_t>, Deed> sends = {};
    std::vector<Deed> others = {};
    std::map<OperationKey, HostJobs::OperationTimes> operations = {};
  };
  class Actions final : public RankActions {
   public:
    Actions(Model& model, Rank& rank) : model_(model), rank_(rank) {}
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
    Model& model_;
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
    rank.is_running = false;
    turn.left = now_;
    if (++rank.iteration == SettingsOf(rank).iterations) {
      rank.end = now_;
    } else {
      BeginAt(rank);
    }
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

  void Compute(Rank& rank, uint32_t stream, Duration time, uint64_t op) {
    Time begins = now_;
    if (stream != kNoStream) {
      begins = std::max(now_, rank.stream_free[stream]);
      rank.stream_free[stream] = begins + time;
      if (stream == 0) rank.turns.back().computed += time;
    }
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

  const Bench& bench_;
  const FateOf fate_;
  std::vector<std::vector<Rank>> ranks_;  // By job and rank.
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  uint64_t turns_ = 0;
  Time now_;
  std::vector<Started> started_;
};

// A rank begins its first iteration at the job's start, others when it has finished the one before,
// or when all have; each time after a pause.
void CheckBegins(const Bench& bench, const Model& model, size_t j) {
  const JobSettings& settings = bench.job(j).settings();
  const uint32_t ranks = bench.job(j).schedule().ranks();
  const bool meets = settings.between == JobSettings::Between::kIdeal;
  std::vector<Time> before(ranks, settings.start);
  for (uint32_t iteration = 0; iteration < settings.iterations; ++iteration) {
    Time last;
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      const auto [jobs, place] = bench.Find(j, rank);
      const auto its = jobs.IterationsOf(place);
      ASSERT_EQ(its.size(), settings.iterations);
      EXPECT_GE(its[iteration].begin, before[rank] + settings.gap);
      EXPECT_LE(its[iteration].begin, before[rank] + settings.gap + settings.jitter);
      before[rank] = model.TurnsOf(j, rank)[iteration].left;
      last = std::max(last, before[rank]);
    }
    if (meets) before.assign(ranks, last + kIdealWay);
  }
}

void CompareRanks(const Bench& bench, const Model& model, size_t j, bool records) {
  const GraphTables* graph = bench.job(j).schedule().graph();
  for (uint32_t rank = 0; rank < bench.job(j).schedule().ranks(); ++rank) {
    SCOPED_TRACE(rank);
    const auto [jobs, place] = bench.Find(j, rank);
    const auto iterations = jobs.IterationsOf(place);
    const std::vector<Turn>& turns = model.TurnsOf(j, rank);
    ASSERT_EQ(iterations.size(), turns.size());
    for (size_t i = 0; i < turns.size(); ++i) {
      EXPECT_EQ(iterations[i].end, turns[i].end);
      EXPECT_EQ(iterations[i].computed, turns[i].computed);
    }
    EXPECT_EQ(jobs.EndOf(place), model.EndOf(j, rank));
    const size_t ops = graph == nullptr ? 0 : graph->graph().OpsOf(rank).size();
    const size_t parts = graph == nullptr ? 0 : graph->PartsAt(rank).size();
    ASSERT_EQ(jobs.OperationsOf(place).size(), records ? ops * turns.size() : 0);
    ASSERT_EQ(jobs.PartsOf(place).size(), parts * turns.size());
    EXPECT_EQ(jobs.StatesOf(place).size(), ops);
    for (const auto& [key, times] : model.OperationsOf(j, rank)) {
      const auto [iteration, op] = key;
      if (records) {
        const HostJobs::OperationTimes& its = jobs.OperationsOf(place)[iteration * ops + op];
        EXPECT_EQ(std::tuple(its.ready, its.posted, its.sent, its.end),
                  std::tuple(times.ready, times.posted, times.sent, times.end));
      }
      if (graph->graph().At(rank, op).kind != Operation::Kind::kCollective) continue;
      const auto& its = jobs.PartsOf(place)[iteration * parts + graph->PartOf(rank, op)];
      EXPECT_EQ(std::pair(its.begin, its.end), std::pair(times.posted, times.end));
    }
    std::vector<Model::Deed> deeds;
    for (const HostJobs::Deed& its : jobs.DeedsOf(place)) {
      deeds.push_back({its.kind, its.place.iteration, its.place.index, its.times.ready,
                       its.times.posted, its.times.sent, its.times.end});
    }
    std::ranges::sort(deeds);
    EXPECT_EQ(deeds,
              records && graph == nullptr ? model.DeedsOf(j, rank) : std::vector<Model::Deed>());
  }
}

void Compare(std::vector<std::unique_ptr<Job>> jobs, bool records) {
  const Bench bench(std::move(jobs), RandomFate, records);
  const Model model(bench, RandomFate);
  EXPECT_EQ(bench.started(), model.started());
  EXPECT_EQ(bench.ranks_left(), 0);
  for (size_t j = 0; j < bench.jobs().size(); ++j) {
    CheckBegins(bench, model, j);
    CompareRanks(bench, model, j, records);
  }
}

// --- Random jobs ---

// Operations come one after the other, and each may wait for earlier ones of its rank.
class RandomGraph {
 public:
  RandomGraph(Rng& rng, uint32_t ranks, bool has_news)
      : rng_(rng), ranks_(ranks), has_news_(has_news) {
    graph_ = std::make_shared<OperationGraph>(ranks);
    for (int i = 0; i < 25; ++i) AddOne();
  }
  std::shared_ptr<const OperationGraph> graph() const { return graph_; }

 private:
  void AddOne() {
    const uint32_t rank = rng_.Below(ranks_);
    switch (rng_.Below(4)) {
      case 0:
      case 1:
        return AddMessage(rank, (rank + 1 + rng_.Below(ranks_ - 1)) % ranks_);
      case 2:
        if (rng_.Below(2) == 0) return AddCollective();
        [[fallthrough]];
      default:
        Connect(rank, graph_->AddCompute(rank, Duration{rng_.Below(9'000'000)}, Stream()));
    }
  }
  uint32_t Stream() {
    const uint32_t stream = rng_.Below(3);
    return stream == 2 ? kNoStream : stream;
  }
  void AddMessage(uint32_t src, uint32_t dst) {
    const int64_t bytes = 1 + rng_.Below(90'000);
    const uint32_t send = graph_->AddSend(src, dst, bytes, ++tag_);
    graph_->At(src, send).posted = rng_.Below(3) == 0;
    graph_->At(src, send).channel = rng_.Below(2);
    graph_->At(src, send).stream = Stream();
    Connect(src, send);
    Connect(dst, graph_->AddReceive(dst, src, bytes, tag_));
  }
  void AddCollective() {
    CollectiveSettings settings;
    settings.size = Bytes{30'000 + rng_.Below(9'000)};
    settings.algorithm = CollectiveSettings::Algorithm::kRing;
    settings.channels = 1;
    std::vector<uint32_t> group(ranks_);
    std::iota(group.begin(), group.end(), 0);
    const uint32_t collective =
        graph_->AddCollective({settings.Make(ranks_, 1, 1), group, 4 + rng_.Below(2), ""});
    for (const uint32_t rank : group) Connect(rank, graph_->AddPart(rank, collective));
  }
  void Connect(uint32_t rank, uint32_t op) {
    for (int i = 0; op > 0 && i < 2; ++i) {
      const uint32_t before = rng_.Below(op);
      if (rng_.Below(4) == 0) {
        graph_->RequireStart(rank, op, before);
      } else {
        graph_->Require(rank, op, before);
      }
    }
    const uint32_t other = (rank + 1) % ranks_;
    if (has_news_ && rng_.Below(4) == 0 && !graph_->OpsOf(other).empty()) {
      graph_->RequireFar(rank, op, other, 0);
    }
  }

  Rng& rng_;
  const uint32_t ranks_;
  const bool has_news_;
  std::shared_ptr<OperationGraph> graph_;
  int64_t tag_ = 0;
};

std::shared_ptr<const Schedule> RandomCollective(Rng& rng, uint32_t ranks) {
  using Op = CollectiveSettings::Op;
  CollectiveSettings settings;
  settings.op = std::vector{Op::kAllReduce, Op::kAllToAll, Op::kAllGather}[rng.Below(3)];
  settings.size = Bytes{ranks * (1 + rng.Below(60'000))};
  settings.channels = 1 + rng.Below(2);
  if (settings.op == Op::kAllReduce && rng.Below(2) == 0) {
    settings.algorithm = CollectiveSettings::Algorithm::kRing;
    settings.reduce_rate = 40_Gbps;
    settings.chunk = 20_KB;
  }
  return settings.Make(ranks, 1, 1);
}

JobSettings RandomSettings(Rng& rng, uint32_t ranks) {
  JobSettings settings;
  const uint32_t per_host = 1 + rng.Below(3);
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    settings.host_of_rank.push_back(static_cast<HostId>(rank / per_host));
  }
  if (rng.Below(2) == 0) Rng::Stream(rng.Next(), "x", 0).MoveToFront(settings.host_of_rank, ranks);
  settings.start = Time{} + Duration{rng.Below(5'000'000)};
  settings.iterations = 1 + rng.Below(4);
  settings.seed = rng.Next();
  settings.gap = Duration{rng.Below(2) * rng.Below(9'000'000)};
  settings.jitter = Duration{rng.Below(2) * rng.Below(9'000'000)};
  settings.ordered = rng.Below(4) > 0;
  settings.qps = 1 + rng.Below(3);
  using Done = JobSettings::SendDone;
  settings.send_done = std::vector{Done::kAcked, Done::kHanded, Done::kPosted}[rng.Below(3)];
  settings.local_rate = BitRate{int64_t{1 + rng.Below(90)} * 1'000'000'000};
  settings.local_latency = Duration{200'000 + rng.Below(3'000'000)};
  if (settings.ordered && rng.Below(2) == 0) settings.unfinished = 1 + rng.Below(3);
  if (rng.Below(2) == 0) settings.overhead = Duration{1 + rng.Below(3'000'000)};
  if (rng.Below(2) == 0) settings.local_overhead = Duration{1 + rng.Below(3'000'000)};
  using Between = JobSettings::Between;
  settings.between = std::vector{Between::kNone, Between::kNone, Between::kIdeal}[rng.Below(3)];
  settings.release_delay = Duration{200'000 + rng.Below(3'000'000)};
  settings.domain_hosts = 1 + rng.Below(2);
  settings.measured = rng.Below(4) > 0;
  return settings;
}

TEST(HostJobsTest, RandomGraphsDoWhatTheModelDoes) {
  int checked = 0;
  for (uint64_t seed = 1; seed <= 250; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng = Rng::Stream(seed, "host_jobs", 0);
    const uint32_t ranks = 2 + rng.Below(4);
    const auto graph = RandomGraph(rng, ranks, rng.Below(2) == 0).graph();
    if (!GraphProblems(*graph).empty()) continue;  // News may close a cycle.
    std::vector<std::unique_ptr<Job>> jobs;
    jobs.push_back(std::make_unique<Job>(1, RandomSettings(rng, ranks), MakeGraphSchedule(graph)));
    Compare(std::move(jobs), rng.Below(2) == 0);
    ++checked;
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(checked, 150);
}

// Several jobs may share hosts.
TEST(HostJobsTest, RandomCollectivesDoWhatTheModelDoes) {
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng = Rng::Stream(seed, "host_jobs", 1);
    std::vector<std::unique_ptr<Job>> jobs;
    const uint32_t count = 1 + rng.Below(3);
    for (uint32_t number = 1; number <= count; ++number) {
      const uint32_t ranks = 2 + rng.Below(5);
      JobSettings settings = RandomSettings(rng, ranks);
      std::shared_ptr<const Schedule> schedule = RandomCollective(rng, ranks);
      if (settings.between == JobSettings::Between::kNone && rng.Below(2) == 0) {
        schedule = MakeWithBarrier(schedule);
      }
      jobs.push_back(std::make_unique<Job>(number, std::move(settings), std::move(schedule)));
    }
    Compare(std::move(jobs), rng.Below(2) == 0);
    if (testing::Test::HasFailure()) return;
  }
}

// --- By hand ---

// Ranks that send all their messages, and tell all their news, when an iteration begins.
class ListSchedule final : public Schedule {
 public:
  struct Released {
    uint32_t from;
    uint32_t to;
    uint32_t op;
  };
  ListSchedule(uint32_t ranks, std::vector<Message> messages, std::vector<Released> news = {})
      : ranks_(ranks), messages_(std::move(messages)), news_(std::move(news)) {}

  ScheduleTotals Totals() const override { return {}; }
  uint32_t ranks() const override { return ranks_; }
  uint64_t slots() const override { return messages_.size(); }
  Message MessageOf(uint64_t index) const override { return messages_[index]; }
  uint64_t IncomingOf(uint32_t /*rank*/) const override { return messages_.size(); }
  uint64_t OrdinalOf(uint64_t index) const override { return index; }
  uint64_t ArrivalsAt(uint32_t rank) const override {
    return static_cast<uint64_t>(std::ranges::count(messages_, rank, &Message::dst));
  }
  std::unique_ptr<RankProgram> ProgramOf(uint32_t rank) const override {
    return std::make_unique<Program>(*this, rank);
  }

  // The operations of all ranks that have been released, in this order.
  const std::vector<uint32_t>& released() const { return released_; }

 private:
  class Program final : public RankProgram {
   public:
    Program(const ListSchedule& schedule, uint32_t rank) : schedule_(schedule), rank_(rank) {}
    void Begin(RankActions& actions) override {
      left_ = schedule_.ArrivalsAt(rank_) +
              static_cast<uint64_t>(std::ranges::count(schedule_.news_, rank_, &Released::to));
      for (uint64_t i = 0; i < schedule_.slots(); ++i) {
        if (schedule_.messages_[i].src == rank_) actions.Send(i);
      }
      for (const Released& its : schedule_.news_) {
        if (its.from == rank_) actions.ReleaseFar(its.to, its.op);
      }
    }
    void OnReceived(uint64_t /*index*/, RankActions& /*actions*/) override { --left_; }
    void OnReleased(uint32_t op, RankActions& /*actions*/) override {
      schedule_.released_.push_back(op);
      --left_;
    }
    bool finished() const override { return left_ == 0; }

   private:
    const ListSchedule& schedule_;
    const uint32_t rank_;
    uint64_t left_ = 0;
  };

  const uint32_t ranks_;
  const std::vector<Message> messages_;
  const std::vector<Released> news_;
  mutable std::vector<uint32_t> released_;
};

JobSettings OnHosts(std::vector<HostId> hosts) {
  JobSettings settings;
  settings.host_of_rank = std::move(hosts);
  return settings;
}

Bench RunOne(JobSettings settings, std::shared_ptr<const Schedule> schedule, bool records = false) {
  std::vector<std::unique_ptr<Job>> jobs;
  jobs.push_back(std::make_unique<Job>(1, std::move(settings), std::move(schedule)));
  return Bench(std::move(jobs), RoundFate, records);
}

// What a schedule is unless it says so.
TEST(ScheduleTest, WaitsForNothingByDefault) {
  const ListSchedule schedule(2, {{.src = 0, .dst = 1}});
  EXPECT_FALSE(schedule.waits_for_sends());
  EXPECT_FALSE(schedule.waits_for_all());
  EXPECT_EQ(schedule.graph(), nullptr);
  EXPECT_EQ(&schedule.work(), &schedule);
  EXPECT_THAT(schedule.MissingAt(1, [](uint64_t) { return false; }), IsEmpty());
  EXPECT_THAT(schedule.ProgramOf(0)->operations(), IsEmpty());
}

// News of one instant takes effect by the operation that it is for.
TEST(HostJobsTest, NewsOfOneInstantIsInTheOrderOfOperations) {
  const auto schedule = std::make_shared<ListSchedule>(
      4, std::vector<Message>(),
      std::vector<ListSchedule::Released>{{0, 3, 8}, {0, 3, 2}, {1, 3, 5}, {2, 3, 1}, {2, 3, 9}});
  JobSettings settings = OnHosts({0, 1, 2, 3});
  settings.release_delay = 1_us;
  const Bench bench = RunOne(settings, schedule);
  EXPECT_THAT(schedule->released(), ElementsAre(1, 2, 5, 8, 9));
  EXPECT_EQ(bench.EndOf(3), Time{} + 1_us);
  EXPECT_EQ(bench.EndOf(0), Time{});
}

// Three hosts are one server. At one instant, the message of the lower rank begins to arrive first,
// whatever its number: 900 bytes at 8 Gbps take 900 ns.
TEST(HostJobsTest, MessagesOfAServerArriveInTheOrderOfRanks) {
  JobSettings settings = OnHosts({0, 1, 2});
  settings.domain_hosts = 3;
  settings.local_rate = 8_Gbps;
  settings.local_latency = 1_us;
  const Bench bench = RunOne(
      settings,
      std::make_shared<ListSchedule>(3, std::vector<Message>{{.src = 1, .dst = 2, .bytes = 100},
                                                             {.src = 0, .dst = 2, .bytes = 900}}),
      /*records=*/true);
  const auto [jobs, place] = bench.Find(0, 2);
  const auto deeds = jobs.DeedsOf(place);
  ASSERT_EQ(deeds.size(), 2u);
  EXPECT_EQ(deeds[0].place.index, 1u);
  EXPECT_EQ(deeds[0].times.end, Time{} + 1'900_ns);
  EXPECT_EQ(deeds[1].place.index, 0u);
  EXPECT_EQ(deeds[1].times.end, Time{} + 2_us);
  EXPECT_THAT(bench.started(), IsEmpty());
}

// An empty message is a byte on its way.
TEST(HostJobsTest, AnEmptyMessageTakesTheTimeOfAByte) {
  JobSettings settings = OnHosts({0, 0});
  settings.local_rate = 8_Gbps;
  settings.local_latency = 1_us;
  const Bench bench = RunOne(
      settings, std::make_shared<ListSchedule>(2, std::vector<Message>{{.src = 0, .dst = 1}}));
  EXPECT_EQ(bench.EndOf(1), Time{} + 1'001_ns);
}

// Messages of a connection follow each other: each is handed to the NIC 1 us after its start. With
// at most two unfinished ones, the third waits until the first is acknowledged, 5 us after its
// start.
TEST(HostJobsTest, MessagesOfAConnectionFollowEachOther) {
  const auto starts = [](const std::function<void(JobSettings&)>& change, uint32_t channels) {
    std::vector<Message> messages;
    for (uint32_t i = 0; i < 4; ++i) {
      messages.push_back({.src = 0, .dst = 1, .bytes = 10, .channel = i % channels});
    }
    JobSettings settings = OnHosts({0, 1});
    change(settings);
    const Bench bench = RunOne(settings, std::make_shared<ListSchedule>(2, messages));
    std::vector<int64_t> us;
    for (const Started& its : bench.started()) us.push_back(its.at.ps / 1'000'000);
    return us;
  };
  const auto nothing = [](JobSettings&) {};
  EXPECT_THAT(starts(nothing, 1), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(starts(nothing, 2), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(starts([](JobSettings& its) { its.ordered = false; }, 1), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(starts([](JobSettings& its) { its.unfinished = 1; }, 1), ElementsAre(0, 5, 10, 15));
  EXPECT_THAT(starts([](JobSettings& its) { its.unfinished = 2; }, 1), ElementsAre(0, 1, 5, 6));
  EXPECT_THAT(starts([](JobSettings& its) { its.unfinished = 1; }, 2), ElementsAre(0, 0, 5, 5));
  EXPECT_THAT(starts([](JobSettings& its) { its.overhead = 7_us; }, 1), ElementsAre(7, 8, 9, 10));
}

// Each message is closed apart from the others: the bench asks for each before and after.
TEST(HostJobsTest, RemembersWhichOfManyMessagesAreClosed) {
  std::vector<Message> messages(200, {.src = 0, .dst = 1, .bytes = 10});
  JobSettings settings = OnHosts({0, 1});
  settings.iterations = 3;
  settings.ordered = false;
  const Bench bench = RunOne(settings, std::make_shared<ListSchedule>(2, messages));
  const auto [jobs, place] = bench.Find(0, 1);
  for (uint32_t iteration = 0; iteration < 4; ++iteration) {
    for (uint64_t index = 0; index < 200; ++index) {
      EXPECT_EQ(jobs.IsClosed(place, {iteration, index}), iteration < 3);
    }
  }
  EXPECT_EQ(bench.started().size(), 600u);
}

// Ranks without anything to wait for run through all iterations, each a pause after the other.
TEST(HostJobsTest, PausesBeforeEachIteration) {
  JobSettings settings = OnHosts({0, 1});
  settings.start = Time{} + 3_us;
  settings.iterations = 4;
  settings.gap = 2_us;
  const auto nothing = std::make_shared<ListSchedule>(2, std::vector<Message>());
  EXPECT_THAT(RunOne(settings, nothing).BeginsOf(0, 1),
              ElementsAre(Time{} + 5_us, Time{} + 7_us, Time{} + 9_us, Time{} + 11_us));
  settings.gap = Duration{0};
  EXPECT_THAT(RunOne(settings, nothing).BeginsOf(0, 1),
              ElementsAre(Time{} + 3_us, Time{} + 3_us, Time{} + 3_us, Time{} + 3_us));
  settings.between = JobSettings::Between::kIdeal;  // The news takes 2 us.
  EXPECT_THAT(RunOne(settings, nothing).BeginsOf(0, 1),
              ElementsAre(Time{} + 3_us, Time{} + 5_us, Time{} + 7_us, Time{} + 9_us));
  settings.gap = 1_us;
  EXPECT_THAT(RunOne(settings, nothing).BeginsOf(0, 1),
              ElementsAre(Time{} + 4_us, Time{} + 7_us, Time{} + 10_us, Time{} + 13_us));
}

// Pauses are uniform from `gap` to `gap` + `jitter`, and each rank, job and seed has its own.
TEST(HostJobsTest, JitterIsUniformAndOfEachRankAlone) {
  const auto begins = [](uint32_t number, uint64_t seed) {
    JobSettings settings = OnHosts(std::vector<HostId>(50, 0));
    settings.iterations = 40;
    settings.seed = seed;
    settings.gap = 5_us;
    settings.jitter = 8_us;
    std::vector<std::unique_ptr<Job>> jobs;
    for (uint32_t other = 1; other <= number; ++other) {
      jobs.push_back(std::make_unique<Job>(
          other, settings, std::make_shared<ListSchedule>(50, std::vector<Message>())));
    }
    const Bench bench(std::move(jobs), RoundFate);
    std::vector<int64_t> pauses;
    for (uint32_t rank = 0; rank < 50; ++rank) {
      Time before;
      for (const Time begin : bench.BeginsOf(number - 1, rank)) {
        pauses.push_back((begin - before).ps);
        before = begin;
      }
    }
    return pauses;
  };
  const std::vector<int64_t> pauses = begins(1, 1);
  ASSERT_EQ(pauses.size(), 2'000u);
  // Pauses are drawn in picoseconds: 0.25 coincidences are expected.
  EXPECT_GE(std::set(pauses.begin(), pauses.end()).size(), pauses.size() - 5);
  EXPECT_GE(std::ranges::min(pauses), 5'000'000);
  EXPECT_LT(std::ranges::max(pauses), 13'000'000);
  // The mean of 2000 has a standard deviation of 52 ns.
  const double mean = std::accumulate(pauses.begin(), pauses.end(), 0.0) / 2'000;
  EXPECT_NEAR(mean, 9e6, 4 * 52e3);
  EXPECT_EQ(begins(1, 1), pauses);
  EXPECT_NE(begins(1, 2), pauses);
  EXPECT_NE(begins(2, 1), pauses);
}

}  // namespace heddle::host_jobs_test
