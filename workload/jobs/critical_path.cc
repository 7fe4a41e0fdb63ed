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
    return std::max(end - Time{}, longest_computation_);
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
    std::vector<Duration> computed;  // By stream.
  };
  class Actions final : public RankActions {
   public:
    Actions(Walk& walk, uint32_t rank) : walk_(walk), rank_(rank) {}
    void Send(uint64_t index) override { walk_.Send(rank_, index); }
    // Waits for no stream: had a message come later, the stream might have taken the computations
    // in another order, and all might have ended earlier.
    void Compute(uint32_t stream, Duration time, uint64_t op) override {
      walk_.events_.push({walk_.now_ + time, Event::kComputed, rank_, op});
      if (stream != kNoStream) walk_.AddComputation(rank_, stream, time);
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

  void AddComputation(uint32_t rank, uint32_t stream, Duration time) {
    std::vector<Duration>& computed = ranks_[rank].computed;
    if (stream >= computed.size()) computed.resize(stream + 1);
    computed[stream] = computed[stream] + time;
    longest_computation_ = std::max(longest_computation_, computed[stream]);
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
  Duration longest_computation_{0};
};

}  // namespace

Duration CriticalPath(const Schedule& schedule,
                      const std::function<MessageTimes(const Message&)>& times_of,
                      const std::function<Duration(uint32_t from, uint32_t to)>& news_of) {
  return Walk(schedule, times_of, news_of).Length();
}

}  // namespace heddle
