// SPDX-License-Identifier: Apache-2.0
// Runs a schedule without a network: each message takes the time that a test says, and none waits
// for another.

#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "workload/jobs/critical_path.h"
#include "workload/jobs/schedule.h"

namespace heddle {

class TimedPlay {
 public:
  using TimesOf = std::function<MessageTimes(const Message&)>;

  // `news`: the time that news needs between two ranks.
  TimedPlay(const Schedule& schedule, TimesOf times_of, Duration news = Duration{0})
      : schedule_(schedule), times_of_(std::move(times_of)), news_(news), ranks_(schedule.ranks()) {
    for (uint32_t rank = 0; rank < ranks_.size(); ++rank) {
      ranks_[rank].program = schedule.ProgramOf(rank);
      Do(rank, [&](RankProgram& its, RankActions& actions) { its.Begin(actions); });
    }
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.at;
      Handle(event);
    }
  }

  // When each rank has finished; kNever if it has not.
  std::vector<Time> ends() const {
    std::vector<Time> ends;
    for (const Rank& rank : ranks_) ends.push_back(rank.end);
    return ends;
  }
  Time end() const { return std::ranges::max(ends()); }

  struct Sent {
    Time at;
    uint64_t index;
  };
  const std::vector<Sent>& sent() const { return sent_; }

 private:
  enum class Kind { kReceived, kSent, kComputed, kReleased };
  struct Event {
    Time at;
    uint64_t turn;
    Kind kind;
    uint32_t rank;
    uint64_t number;

    friend bool operator>(const Event& a, const Event& b) {
      return std::tuple(a.at, a.turn) > std::tuple(b.at, b.turn);
    }
  };
  struct Rank {
    std::unique_ptr<RankProgram> program;
    std::vector<Time> stream_free;
    Time end = kNever;
  };
  class Actions final : public RankActions {
   public:
    Actions(TimedPlay& play, uint32_t rank) : play_(play), rank_(rank) {}
    void Send(uint64_t index) override { play_.Send(rank_, index); }
    void Compute(uint32_t stream, Duration time, uint64_t op) override {
      play_.Compute(rank_, stream, time, op);
    }
    void ReleaseFar(uint32_t rank, uint32_t op) override {
      play_.Push(play_.now_ + play_.news_, Kind::kReleased, rank, op);
    }

   private:
    TimedPlay& play_;
    const uint32_t rank_;
  };

  template <class Call>
  void Do(uint32_t rank, const Call& call) {
    Actions actions(*this, rank);
    call(*ranks_[rank].program, actions);
    const bool has_ended = ranks_[rank].end != kNever;
    if (ranks_[rank].program->finished() && !has_ended) ranks_[rank].end = now_;
  }

  void Send(uint32_t rank, uint64_t index) {
    const Message message = schedule_.MessageOf(index);
    const MessageTimes times = times_of_(message);
    sent_.push_back({now_, index});
    Push(now_ + times.arrives, Kind::kReceived, message.dst, index);
    if (schedule_.waits_for_sends()) Push(now_ + times.finished, Kind::kSent, rank, index);
  }

  void Compute(uint32_t rank, uint32_t stream, Duration time, uint64_t op) {
    if (stream == kNoStream) return Push(now_ + time, Kind::kComputed, rank, op);
    std::vector<Time>& free = ranks_[rank].stream_free;
    if (stream >= free.size()) free.resize(stream + 1);
    free[stream] = std::max(free[stream], now_) + time;
    Push(free[stream], Kind::kComputed, rank, op);
  }

  void Push(Time at, Kind kind, uint32_t rank, uint64_t number) {
    events_.push({at, turns_++, kind, rank, number});
  }

  void Handle(const Event& event) {
    Do(event.rank, [&event](RankProgram& its, RankActions& actions) {
      if (event.kind == Kind::kReceived) its.OnReceived(event.number, actions);
      if (event.kind == Kind::kSent) its.OnSent(event.number, actions);
      if (event.kind == Kind::kComputed) its.OnComputed(event.number, actions);
      if (event.kind == Kind::kReleased) {
        its.OnReleased(static_cast<uint32_t>(event.number), actions);
      }
    });
  }

  const Schedule& schedule_;
  const TimesOf times_of_;
  const Duration news_;
  std::vector<Rank> ranks_;
  std::vector<Sent> sent_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  uint64_t turns_ = 0;
  Time now_;
};

// Messages of the worked examples: the time of X(p) packets of 1000 B over two links of 100 Gb/s
// and 1 us each, with 48 B of headers, and the ACK's way back.
inline MessageTimes StarTimes(const Message& message) {
  const int64_t packets = std::max<int64_t>((message.bytes + 999) / 1000, 1);
  const Duration arrives{2'083'840 + 83'840 * packets};
  return {arrives, arrives + Duration{2'009'600}};
}

}  // namespace heddle
