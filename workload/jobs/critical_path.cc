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
  Walk(const Schedule& schedule, const std::function<Duration(const Message&)>& time_of,
       const std::function<Duration(const Message&)>& acked)
      : schedule_(schedule), time_of_(time_of), acked_(acked) {
    for (uint32_t rank = 0; rank < schedule.ranks(); ++rank) {
      ranks_.push_back({schedule.ProgramOf(rank), {}});
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
      if (event.kind != Event::kSent) end = std::max(end, now_);
      Handle(event);
    }
    return end - Time{};
  }

 private:
  struct Event {
    enum Kind { kReceived, kComputed, kSent };
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
      std::vector<Time>& free = walk_.ranks_[rank_].stream_free;
      if (stream >= free.size()) free.resize(stream + 1);
      free[stream] = std::max(free[stream], walk_.now_) + time;
      walk_.events_.push({free[stream], Event::kComputed, rank_, op});
    }

   private:
    Walk& walk_;
    const uint32_t rank_;
  };

  void Send(uint32_t rank, uint64_t index) {
    const Message message = schedule_.MessageOf(index);
    const Time arrives = now_ + time_of_(message);
    events_.push({arrives, Event::kReceived, message.dst, index});
    if (schedule_.waits_for_sends()) {
      events_.push({arrives + acked_(message), Event::kSent, rank, index});
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
    }
  }

  const Schedule& schedule_;
  const std::function<Duration(const Message&)>& time_of_;
  const std::function<Duration(const Message&)>& acked_;
  std::vector<Rank> ranks_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  Time now_;
};

}  // namespace

Duration CriticalPath(const Schedule& schedule,
                      const std::function<Duration(const Message&)>& time_of,
                      const std::function<Duration(const Message&)>& acked) {
  return Walk(schedule, time_of, acked).Length();
}

}  // namespace heddle
