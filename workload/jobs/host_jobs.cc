// SPDX-License-Identifier: Apache-2.0

#include "workload/jobs/host_jobs.h"

#include <algorithm>
#include <deque>
#include <set>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "core/check.h"
#include "core/random.h"
#include "core/ring.h"
#include "fabric/letters.h"
#include "workload/jobs/busy_time.h"
#include "workload/jobs/graph_tables.h"
#include "workload/jobs/transfer_time.h"

namespace heddle {
namespace {

// Timers of ranks. Those of one instant fire in the order of (rank, kind, op).
enum class TimerKind : uint8_t { kBegin, kComputed, kLocalSent, kLocalReceived, kDelayed, kNews };
constexpr int kRankShift = 35;
constexpr int kKindShift = 32;

uint64_t TimerKeyOf(size_t place, TimerKind kind, uint64_t op) {
  return uint64_t{place} << kRankShift | static_cast<uint64_t>(kind) << kKindShift | op;
}

}  // namespace

class HostJobs::Rank final : public RankActions {
 public:
  Rank(HostJobs& all, size_t place, const PlacedRank& placed)
      : Rank(all, place, *placed.job, placed.rank, placed.meeting) {}
  Rank(HostJobs& all, size_t place, const Job& job, uint32_t rank, Meeting* meeting)
      : all_(all),
        host_(all.host_),
        job_(job),
        meeting_(meeting),
        place_(place),
        rank_(rank),
        program_(job.schedule().ProgramOf(rank)),
        waits_for_acks_(job.schedule().goes_down_a_tree() && meeting == nullptr),
        arrivals_(job.schedule().ArrivalsAt(rank)),
        jitter_(
            Rng::Stream(job.settings().seed, "job_jitter", uint64_t{job.number()} << 32 | rank)),
        graph_(job.schedule().graph()),
        parts_(graph_ == nullptr ? 0 : graph_->PartsAt(rank).size()) {}

  const Job& job() const { return job_; }
  uint32_t rank() const { return rank_; }
  std::span<const Iteration> iterations() const { return iterations_; }
  Time end() const { return end_; }
  std::span<const OperationTimes> operations() const { return operations_; }
  std::span<const Deed> deeds() const { return deeds_; }
  std::span<const PartTimes> parts() const { return part_times_; }
  std::span<const RankProgram::OperationState> states() const { return program_->operations(); }
  void RecordOperations() {
    records_deeds_ = graph_ == nullptr;
    if (graph_ != nullptr) recorded_ = graph_->graph().OpsOf(rank_).size();
  }

  Time FirstBegin() { return job_.settings().start + Pause(); }

  // --- RankActions ---

  void Send(uint64_t index) override {
    const Message message = job_.schedule().MessageOf(index);
    const Job::Place place{iteration_, index};
    if (records_deeds_) RecordSend(place);
    if (waits_for_acks_) ++unacknowledged_;
    const bool is_local = job_.AreLocal(rank_, message.dst);
    const Duration overhead = is_local ? job_.settings().local_overhead : job_.settings().overhead;
    if (overhead == Duration{0}) {
      Post(place, message);
      if (IsDone(JobSettings::SendDone::kPosted)) posted_.push_back(index);
      return;
    }
    (is_local ? delayed_local_ : delayed_).push_back(place);
    host_.SetApplicationTimer(host_.now() + overhead,
                              TimerKeyOf(place_, TimerKind::kDelayed, is_local ? 1 : 0));
  }

  void Compute(uint32_t stream, Duration time, uint64_t op) override {
    const uint64_t key = TimerKeyOf(place_, TimerKind::kComputed, op);
    Time end = host_.now() + time;
    if (stream != kNoStream) {
      if (stream >= stream_free_.size()) stream_free_.resize(stream + 1);
      end = std::max(stream_free_[stream], host_.now()) + time;
      stream_free_[stream] = end;
    }
    iterations_.back().computed += busy_.Add(host_.now(), end - time, end);
    if (records_deeds_) {
      deeds_.push_back({Deed::Kind::kCompute,
                        {iteration_, op},
                        {.ready = host_.now(), .posted = end - time, .end = end}});
    }
    host_.SetApplicationTimer(end, key);
  }

  void ReleaseFar(uint32_t rank, uint32_t op) override {
    Tell({.at = host_.now() + job_.NewsDelay(rank_, rank),
          .kind = News::Kind::kReleased,
          .job = job_.number(),
          .iteration = iteration_,
          .from = rank_,
          .to = rank,
          .number = op});
  }

  void Note(uint32_t op, OperationStep step) override {
    if (parts_ > 0 && step != OperationStep::kReady) NotePart(op, step);
    if (recorded_ == 0) return;
    OperationTimes& times = operations_[operations_.size() - recorded_ + op];
    if (step == OperationStep::kReady) times.ready = host_.now();
    if (step == OperationStep::kStarted) times.posted = host_.now();
    if (step == OperationStep::kFinished) times.end = host_.now();
  }

  // --- Events ---

  void Begin() {
    BeginIteration();
    Proceed();
  }

  void OnReceived(Job::Place place) {
    if (!is_running_ || place.iteration != iteration_) return early_.push_back(place);
    Deliver(place);
    Proceed();
  }

  void OnHanded(Job::Place place) {
    if (IsDone(JobSettings::SendDone::kHanded)) NoteSent(place);
    if (!job_.settings().ordered) return;
    const auto at = ConnectionOf(place);
    at->second.is_sending = false;
    Serve(at);
  }

  void OnAcked(Job::Place place) {
    if (records_deeds_) RecordSent(place);
    if (IsDone(JobSettings::SendDone::kAcked)) NoteSent(place);
    if (waits_for_acks_) NoteAcknowledged();
    if (job_.settings().unfinished == 0) return;
    const auto at = ConnectionOf(place);
    --at->second.unfinished;
    Serve(at);
  }

  void OnNews(const News& news) {
    news_.insert(news);
    host_.SetApplicationTimer(news.at, TimerKeyOf(place_, TimerKind::kNews, 0));
  }

  // All ranks have finished their iterations; the next one begins at `at`. Call it between windows.
  void Release(Time at) {
    host_.WakeApplication(at + Pause(), TimerKeyOf(place_, TimerKind::kBegin, 0));
  }

  void OnTimer(TimerKind kind, uint64_t op) {
    switch (kind) {
      case TimerKind::kBegin:
        return Begin();
      case TimerKind::kComputed:
        program_->OnComputed(op, *this);
        return Proceed();
      case TimerKind::kDelayed: {
        Ring<Job::Place>& delayed = op == 1 ? delayed_local_ : delayed_;
        const Job::Place place = delayed.front();
        delayed.pop_front();
        Post(place, job_.schedule().MessageOf(place.index));
        if (IsDone(JobSettings::SendDone::kPosted)) NoteSent(place);
        return;
      }
      case TimerKind::kLocalSent: {
        const Job::Place place = local_sent_.front();
        local_sent_.pop_front();
        if (records_deeds_) RecordSent(place);
        // The link takes a message as soon as it acknowledges it.
        if (IsDone(JobSettings::SendDone::kAcked) || IsDone(JobSettings::SendDone::kHanded)) {
          NoteSent(place);
        }
        if (waits_for_acks_) NoteAcknowledged();
        return;
      }
      case TimerKind::kLocalReceived: {
        const Job::Place place = local_received_.front();
        local_received_.pop_front();
        OnClosed(place);
        return OnReceived(place);
      }
      case TimerKind::kNews: {
        const News news = *news_.begin();
        news_.erase(news_.begin());
        return TakeEffect(news);
      }
    }
  }

  // --- Receiving halves ---

  bool IsClosed(Job::Place place) {
    if (place.iteration < first_live_) return true;
    return LiveAt(place.iteration).Has(job_.schedule().OrdinalOf(place.index));
  }

  bool HasClosed(Job::Place place) const {
    if (place.iteration < first_live_) return true;
    const size_t live = place.iteration - first_live_;
    return live < live_.size() && live_[live].Has(job_.schedule().OrdinalOf(place.index));
  }

  void OnClosed(Job::Place place) {
    LiveAt(place.iteration).Add(job_.schedule().OrdinalOf(place.index));
    while (!live_.empty() && live_.front().has_all()) {
      live_.pop_front();
      ++first_live_;
    }
  }

 private:
  // News takes effect in this order, whatever the order in which it comes: messages of one instant
  // by their sender, releases by operation.
  struct TakesEffectBefore {
    bool operator()(const News& a, const News& b) const { return KeyOf(a) < KeyOf(b); }

    static std::tuple<Time, News::Kind, uint64_t, uint64_t, uint32_t> KeyOf(const News& news) {
      const bool by_sender = news.kind == News::Kind::kMessage;
      const uint64_t first = by_sender ? news.from : news.number;
      const uint64_t second = by_sender ? news.number : news.from;
      return {news.at, news.kind, first, second, news.iteration};
    }
  };

  // The messages of an iteration to one rank whose receivers have been closed.
  class ClosedMessages {
   public:
    ClosedMessages(uint64_t numbers, uint64_t arrivals)
        : words_((numbers + 63) / 64), left_(arrivals) {}

    bool Has(uint64_t ordinal) const { return (words_[ordinal / 64] >> ordinal % 64 & 1) != 0; }
    void Add(uint64_t ordinal) {
      words_[ordinal / 64] |= uint64_t{1} << ordinal % 64;
      --left_;
    }
    bool has_all() const { return left_ == 0; }

   private:
    std::vector<uint64_t> words_;
    uint64_t left_;
  };

  // The messages from this rank to another one on one channel, of which one has not been handed to
  // the NIC completely, or has not been acknowledged if their number is limited.
  struct Connection {
    bool is_sending = false;
    uint32_t unfinished = 0;  // Counted if they are limited.
    Ring<Job::Place> waiting;
  };
  using Connections = absl::flat_hash_map<uint64_t, Connection>;

  static uint64_t KeyOf(const Message& message) {
    return uint64_t{message.dst} << 32 | message.channel;
  }

  Duration Pause() {
    const JobSettings& settings = job_.settings();
    if (settings.jitter == Duration{0}) return settings.gap;
    const double share = jitter_.Uniform();
    return settings.gap +
           Duration{static_cast<int64_t>(share * static_cast<double>(settings.jitter.ps))};
  }

  void Enqueue(Job::Place place, const Message& message) {
    if (!job_.settings().ordered) return StartMessage(place, message);
    Connection& connection = connections_[KeyOf(message)];
    if (connection.waiting.empty() && MayStart(connection)) {
      StartOn(connection, place, message);
    } else {
      connection.waiting.push_back(place);
    }
  }

  Connections::iterator ConnectionOf(Job::Place place) {
    return connections_.find(KeyOf(job_.schedule().MessageOf(place.index)));
  }

  bool MayStart(const Connection& connection) const {
    const uint32_t most = job_.settings().unfinished;
    return !connection.is_sending && (most == 0 || connection.unfinished < most);
  }

  void StartOn(Connection& connection, Job::Place place, const Message& message) {
    connection.is_sending = true;
    if (job_.settings().unfinished > 0) ++connection.unfinished;
    StartMessage(place, message);
  }

  // Starts the connection's next message if it may start.
  void Serve(Connections::iterator at) {
    Connection& connection = at->second;
    if (!MayStart(connection)) return;
    if (connection.waiting.empty()) {
      if (connection.unfinished == 0) connections_.erase(at);
      return;
    }
    const Job::Place next = connection.waiting.front();
    connection.waiting.pop_front();
    StartOn(connection, next, job_.schedule().MessageOf(next.index));
  }

  void Post(Job::Place place, const Message& message) {
    if (job_.AreLocal(rank_, message.dst)) return SendLocally(place, message);
    Enqueue(place, message);
  }

  // Tells a rank of any host. There is one timer for each piece of news.
  void Tell(const News& news) {
    const HostId host = job_.HostOf(news.to);
    if (host == host_.id()) return all_.RankAt(job_, news.to).OnNews(news);
    host_.Tell(host, kNews, news, news.at);
  }

  void TakeEffect(const News& news) {
    if (news.kind == News::Kind::kMessage) {
      return ArriveLocally({news.iteration, news.number});
    }
    if (!is_running_ || news.iteration > iteration_) return early_releases_.push_back(news);
    // An operation that needs only some of those it waits for may be of an earlier iteration.
    if (news.iteration < iteration_) return;
    program_->OnReleased(static_cast<uint32_t>(news.number), *this);
    Proceed();
  }

  void StartMessage(Job::Place place, const Message& message) {
    FlowSpec spec = job_.SpecOf(place, message);
    spec.start = host_.now();
    if (records_deeds_) deeds_[unsent_.at(job_.IdOf(place))].times.sent = host_.now();
    if (recorded_ > 0) RecordStart(place);
    host_.log().MessageStarted(spec);
    host_.StartMessage(spec);
  }

  // Messages of collectives belong to no send. Those of an earlier iteration may start late.
  void RecordStart(Job::Place place) {
    if (graph_->IsOfCollective(place.index)) return;
    operations_[place.iteration * recorded_ + graph_->SendOf(place.index)].sent = host_.now();
  }

  void NotePart(uint32_t op, OperationStep step) {
    if (graph_->graph().At(rank_, op).kind != Operation::Kind::kCollective) return;
    PartTimes& times = part_times_[part_times_.size() - parts_ + graph_->PartOf(rank_, op)];
    (step == OperationStep::kStarted ? times.begin : times.end) = host_.now();
  }

  // --- Records of schedules that are no graphs ---

  void RecordSend(Job::Place place) {
    unsent_.emplace(job_.IdOf(place), deeds_.size());
    deeds_.push_back({Deed::Kind::kSend, place, {.ready = host_.now(), .posted = host_.now()}});
  }

  void RecordSent(Job::Place place) {
    deeds_[unsent_.at(job_.IdOf(place))].times.end = host_.now();
    unsent_.erase(job_.IdOf(place));
  }

  // A rank expects all messages of an iteration from its begin on.
  void RecordReceived(Job::Place place) {
    const Time begin = iterations_.back().begin;
    deeds_.push_back(
        {Deed::Kind::kReceive, place, {.ready = begin, .posted = begin, .end = host_.now()}});
  }

  // A link of its own between the ranks of a server: each rank sends, and receives, one message
  // after the other. On one host they are received in the order in which they begin to leave; if
  // servers have several hosts, in the order in which they begin to arrive.
  void SendLocally(Job::Place place, const Message& message) {
    const JobSettings& settings = job_.settings();
    const Time begins = std::max(host_.now(), egress_free_);
    egress_free_ = begins + LocalTime(message);
    local_sent_.push_back(place);
    host_.SetApplicationTimer(egress_free_, TimerKeyOf(place_, TimerKind::kLocalSent, 0));
    const Time arrives = begins + settings.local_latency;
    if (!job_.has_domains()) {
      return all_.RankAt(job_, message.dst).ReceiveLocally(place, message, arrives);
    }
    Tell({.at = arrives,
          .kind = News::Kind::kMessage,
          .job = job_.number(),
          .iteration = place.iteration,
          .from = rank_,
          .to = message.dst,
          .number = place.index});
  }

  void ArriveLocally(Job::Place place) {
    ReceiveLocally(place, job_.schedule().MessageOf(place.index), host_.now());
  }

  // The message begins to arrive at `arrives`.
  void ReceiveLocally(Job::Place place, const Message& message, Time arrives) {
    ingress_free_ = std::max(arrives, ingress_free_) + LocalTime(message);
    local_received_.push_back(place);
    host_.SetApplicationTimer(ingress_free_, TimerKeyOf(place_, TimerKind::kLocalReceived, 0));
  }

  Duration LocalTime(const Message& message) const {
    return TransferTime(std::max<int64_t>(message.bytes, 1), job_.settings().local_rate);
  }

  // Returns true if the program waits for its messages and `moment` ends them.
  bool IsDone(JobSettings::SendDone moment) const {
    return job_.schedule().waits_for_sends() && job_.settings().send_done == moment;
  }

  // Nothing waits for the messages of an earlier iteration.
  void NoteSent(Job::Place place) {
    if (!is_running_ || place.iteration != iteration_) return;
    program_->OnSent(place.index, *this);
    Proceed();
  }

  void NoteAcknowledged() {
    --unacknowledged_;
    Proceed();
  }

  void BeginIteration() {
    is_running_ = true;
    posted_.clear();
    iterations_.push_back({.begin = host_.now()});
    operations_.resize(operations_.size() + recorded_);
    part_times_.resize(part_times_.size() + parts_);
    program_->Begin(*this);
    DeliverEarly();
  }

  void DeliverEarly() {
    std::vector<Job::Place> due;
    std::erase_if(early_, [&](Job::Place place) {
      if (place.iteration == iteration_) due.push_back(place);
      return place.iteration == iteration_;
    });
    for (const Job::Place place : due) Deliver(place);
    DeliverEarlyReleases();
  }

  // A message of this iteration has arrived.
  void Deliver(Job::Place place) {
    if (records_deeds_) RecordReceived(place);
    program_->OnReceived(place.index, *this);
  }

  void DeliverEarlyReleases() {
    std::vector<News> due;
    std::erase_if(early_releases_, [&](const News& news) {
      if (news.iteration == iteration_) due.push_back(news);
      return news.iteration <= iteration_;
    });
    for (const News& news : due) program_->OnReleased(static_cast<uint32_t>(news.number), *this);
  }

  // Does all that is due after an event. A rank without anything to wait for runs through all its
  // iterations at once, so this is no recursion.
  void Proceed() {
    while (is_running_) {
      if (!posted_.empty()) {
        const uint64_t index = posted_.front();
        posted_.pop_front();
        program_->OnSent(index, *this);
        continue;
      }
      Iteration& its = iterations_.back();
      if (its.end == kNever && program_->is_over()) its.end = host_.now();
      if (!program_->finished()) return;
      const bool is_last = iteration_ + 1 == job_.settings().iterations;
      if (unacknowledged_ > 0 && !is_last) return;
      is_running_ = false;
      ++iteration_;
      if (is_last) return EndJob();
      if (meeting_ != nullptr) return meeting_->Arrive(host_.now());
      const Duration pause = Pause();
      if (pause > Duration{0}) {
        return host_.SetApplicationTimer(host_.now() + pause,
                                         TimerKeyOf(place_, TimerKind::kBegin, 0));
      }
      BeginIteration();
    }
  }

  void EndJob() {
    end_ = host_.now();
    if (job_.settings().measured) all_.ranks_left_.fetch_sub(1, std::memory_order_relaxed);
  }

  ClosedMessages& LiveAt(uint32_t iteration) {
    while (first_live_ + live_.size() <= iteration) {
      live_.emplace_back(job_.schedule().IncomingOf(rank_), arrivals_);
    }
    return live_[iteration - first_live_];
  }

  HostJobs& all_;
  Host& host_;
  const Job& job_;
  Meeting* const meeting_;  // Null if the ranks do not wait for each other.
  const size_t place_;      // In HostJobs::ranks_.
  const uint32_t rank_;
  const std::unique_ptr<RankProgram> program_;
  const bool waits_for_acks_;    // Before it begins another iteration.
  uint32_t unacknowledged_ = 0;  // Messages, if it does.
  const uint64_t arrivals_;      // Messages that come in an iteration.
  Rng jitter_;
  uint32_t iteration_ = 0;
  bool is_running_ = false;
  std::vector<Iteration> iterations_;
  const GraphTables* const graph_;  // Null if the schedule is no graph.
  size_t recorded_ = 0;             // Operations of an iteration, if they are recorded.
  std::vector<OperationTimes> operations_;
  bool records_deeds_ = false;
  std::vector<Deed> deeds_;
  absl::flat_hash_map<FlowId, size_t> unsent_;  // Sends in deeds_ that have not finished.
  const size_t parts_;                          // In collectives, in an iteration.
  std::vector<PartTimes> part_times_;
  std::vector<Job::Place> early_;     // Messages of iterations that have not begun here,
  std::vector<News> early_releases_;  // and news.
  std::set<News, TakesEffectBefore> news_;
  Ring<uint64_t> posted_;  // Messages that are finished because they were asked for.
  Connections connections_;
  Time end_ = kNever;  // Of the job.
  std::vector<Time> stream_free_;
  BusyTime busy_;
  Time egress_free_;
  Time ingress_free_;
  Ring<Job::Place> delayed_;         // In the order of their timers.
  Ring<Job::Place> delayed_local_;   // In the order of their timers.
  Ring<Job::Place> local_sent_;      // In the order of their timers.
  Ring<Job::Place> local_received_;  // In the order of their timers.
  uint32_t first_live_ = 0;
  std::deque<ClosedMessages> live_;  // By iteration, from first_live_ on.
};

HostJobs::HostJobs(Host& host, std::span<const std::unique_ptr<Job>> jobs,
                   std::span<const PlacedRank> placed, std::atomic<int64_t>& ranks_left)
    : host_(host), jobs_(jobs), ranks_left_(ranks_left) {
  for (const PlacedRank& its : placed) {
    ranks_.push_back(std::make_unique<Rank>(*this, ranks_.size(), its));
  }
}

HostJobs::~HostJobs() = default;

void HostJobs::RecordOperations() {
  for (const std::unique_ptr<Rank>& rank : ranks_) rank->RecordOperations();
}

void HostJobs::Start() {
  for (size_t place = 0; place < ranks_.size(); ++place) {
    host_.WakeApplication(ranks_[place]->FirstBegin(), TimerKeyOf(place, TimerKind::kBegin, 0));
  }
}

void HostJobs::Release(const Job& job, Time at) {
  for (const std::unique_ptr<Rank>& rank : ranks_) {
    if (&rank->job() == &job) rank->Release(at);
  }
}

HostJobs::Rank& HostJobs::RankAt(const Job& job, uint32_t rank) {
  const auto at = std::ranges::lower_bound(ranks_, std::tuple(job.number(), rank), {},
                                           [](const std::unique_ptr<Rank>& its) {
                                             return std::tuple(its->job().number(), its->rank());
                                           });
  HEDDLE_CHECK(at != ranks_.end() && &(*at)->job() == &job && (*at)->rank() == rank,
               "rank {} of job {} is not on host {}", rank, job.number(), host_.id());
  return **at;
}

// All messages of a host with one rank are that rank's, which spares the look-up of their ends.
HostJobs::Found HostJobs::Find(FlowId message, uint32_t Message::*end) {
  if (ranks_.size() == 1) {
    Rank& rank = *ranks_.front();
    HEDDLE_CHECK(rank.job().Owns(message), "flow {} belongs to no rank of host {}", message,
                 host_.id());
    return {rank, rank.job().PlaceOf(message)};
  }
  const JobMessage its = FindMessage(jobs_, message);
  return {RankAt(its.job, its.message.*end), its.place};
}

void HostJobs::OnReceived(FlowId message) {
  const Found found = Find(message, &Message::dst);
  found.rank.OnReceived(found.place);
}

void HostJobs::OnHanded(FlowId message) {
  const Found found = Find(message, &Message::src);
  found.rank.OnHanded(found.place);
}

void HostJobs::OnAcked(FlowId message) {
  const Found found = Find(message, &Message::src);
  found.rank.OnAcked(found.place);
}

void HostJobs::OnTimer(uint64_t key) {
  const TimerKind kind = static_cast<TimerKind>(key >> kKindShift & 7);
  ranks_[key >> kRankShift]->OnTimer(kind, key & 0xffffffff);
}

void HostJobs::OnNews(const News& news) {
  const Job& job = *jobs_[news.job - 1];  // By number.
  RankAt(job, news.to).OnNews(news);
}

std::optional<FlowSpec> HostJobs::Expect(FlowId message) {
  const Found found = Find(message, &Message::dst);
  if (found.rank.IsClosed(found.place)) return std::nullopt;
  const Job& job = found.rank.job();
  return job.SpecOf(found.place, job.schedule().MessageOf(found.place.index));
}

void HostJobs::OnClosed(FlowId message) {
  const Found found = Find(message, &Message::dst);
  found.rank.OnClosed(found.place);
}

const Job& HostJobs::JobOf(size_t place) const { return ranks_[place]->job(); }
uint32_t HostJobs::RankOf(size_t place) const { return ranks_[place]->rank(); }
std::span<const HostJobs::Iteration> HostJobs::IterationsOf(size_t place) const {
  return ranks_[place]->iterations();
}
Time HostJobs::EndOf(size_t place) const { return ranks_[place]->end(); }
std::span<const HostJobs::OperationTimes> HostJobs::OperationsOf(size_t place) const {
  return ranks_[place]->operations();
}
std::span<const HostJobs::Deed> HostJobs::DeedsOf(size_t place) const {
  return ranks_[place]->deeds();
}
std::span<const HostJobs::PartTimes> HostJobs::PartsOf(size_t place) const {
  return ranks_[place]->parts();
}
bool HostJobs::IsClosed(size_t place, Job::Place message) const {
  return ranks_[place]->HasClosed(message);
}
std::span<const RankProgram::OperationState> HostJobs::StatesOf(size_t place) const {
  return ranks_[place]->states();
}

}  // namespace heddle
