// SPDX-License-Identifier: Apache-2.0

#include "workload/jobs/critical_path.h"

#include <algorithm>
#include <memory>
#include <queue>
#include <tuple>
#include <vector>

namespace heddle {
namespace {

class Walk {
 public:
  Walk(const Schedule& schedule, const std::function<MessageTimes(const Message&)>& times_of,
       const std::function<Duration(uint32_t, uint32_t)>& news_of)
      : schedule_(schedule), times_of_(times_of), news_of_(news_of) {
    for (uint32_t rank = 0; rank < schedule.ranks(); ++rank) {
      ranks_.push_back({schedule.BoundOf(rank), {}});
    }
  }

  Duration Length() {
    for (uint32_t rank = 0; rank < ranks_.size(); ++rank) {
      Actions actions(*this, rank);
      ranks_[rank].program->Begin(actions);
    }
    Time end;
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.at;
      if (event.kind <= Event::kComputed) end = std::max(end, now_);
      Handle(event);
    }
    return std::max(end - Time{}, schedule_.LongestComputation());
  }

 private:
  struct Event {
    enum Kind { kReceived, kComputed, kSent, kReleased };
    Time at;
    Kind kind;
    uint32_t rank;
    uint64_t number;

    friend bool operator>(const Event& a, const Event& b) {
      return std::tuple(a.at, a.kind, a.rank, a.number) >
             std::tuple(b.at, b.kind, b.rank, b.number);
    }
  };
  struct Rank {
    std::unique_ptr<RankProgram> program;
    std::vector<Time> stream_free;
  };
  class Actions final : public RankActions {
   public:
    Actions(Walk& walk, uint32_t rank) : walk_(walk), rank_(rank) {}
    void Send(uint64_t index) override { walk_.Send(rank_, index); }
    void Compute(uint32_t stream, Duration time, uint64_t op) override {
      if (stream == kNoStream) {
        return walk_.events_.push({walk_.now_ + time, Event::kComputed, rank_, op});
      }
      std::vector<Time>& free = walk_.ranks_[rank_].stream_free;
      if (stream >= free.size()) free.resize(stream + 1);
      free[stream] = std::max(free[stream], walk_.now_) + time;
      walk_.events_.push({free[stream], Event::kComputed, rank_, op});
    }
    void ReleaseFar(uint32_t rank, uint32_t op) override {
      walk_.events_.push({walk_.now_ + walk_.news_of_(rank_, rank), Event::kReleased, rank, op});
    }

   private:
    Walk& walk_;
    const uint32_t rank_;
  };

  void Send(uint32_t rank, uint64_t index) {
    const Message message = schedule_.MessageOf(index);
    const MessageTimes times = times_of_(message);
    events_.push({now_ + times.arrives, Event::kReceived, message.dst, index});
    if (schedule_.waits_for_sends()) {
      events_.push({now_ + times.finished, Event::kSent, rank, index});
    }
  }

  void Handle(const Event& event) {
    Actions actions(*this, event.rank);
    RankProgram& program = *ranks_[event.rank].program;
    switch (event.kind) {
      case Event::kReceived:
        return program.OnReceived(event.number, actions);
      case Event::kComputed:
        return program.OnComputed(event.number, actions);
      case Event::kSent:
        return program.OnSent(event.number, actions);
      case Event::kReleased:
        return program.OnReleased(static_cast<uint32_t>(event.number), actions);
    }
  }

  const Schedule& schedule_;
  const std::function<MessageTimes(const Message&)>& times_of_;
  const std::function<Duration(uint32_t, uint32_t)>& news_of_;
  std::vector<Rank> ranks_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  Time now_;
};

}  // namespace

Duration CriticalPath(const Schedule& schedule,
                      const std::function<MessageTimes(const Message&)>& times_of,
                      const std::function<Duration(uint32_t from, uint32_t to)>& news_of) {
  return Walk(schedule, times_of, news_of).Length();
}

}  // namespace heddle
